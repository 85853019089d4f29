//! The GPUs that an image is for, by its target alone.
//!
//! CUDA Programming Guide, Compute Capabilities (Binary Compatibility, Family-Specific and Architecture-Specific Feature Sets); PTX
//! ISA, .target; CUDA C++ Programming Guide 12.9, Binary Compatibility (Tegra).

use super::gpu::{Gpu, is_tegra};

/// Thor, as CUDA 12 numbers it.
const THOR_OF_CUDA_12: u32 = 101;
const THOR: u32 = 110;

/// The loading of machine code on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It was made for this GPU.
    Exact,
    /// It was made for an older GPU of the same generation.
    Older,
    /// Documents and reports contradict each other.
    Unsure,
    /// It does not load.
    No,
}

/// Machine code for `sm_<number><suffix>` on a GPU.
pub(super) fn machine_code(number: u32, suffix: &str, gpu: Gpu) -> Fit {
    let wanted = gpu.number();
    if number == wanted {
        return Fit::Exact;
    }
    if number == THOR_OF_CUDA_12 {
        return if wanted == THOR { Fit::Unsure } else { Fit::No };
    }
    if suffix == "a" || number / 10 != wanted / 10 || number > wanted {
        return Fit::No;
    }
    if gpu.is_tegra() || is_tegra(number) {
        Fit::Unsure
    } else {
        Fit::Older
    }
}

/// True if the driver compiles PTX for `sm_<number><suffix>` on a GPU.
pub(super) fn ptx(number: u32, suffix: &str, gpu: Gpu) -> bool {
    let wanted = gpu.number();
    let is_thor = number == THOR_OF_CUDA_12 && wanted == THOR;
    match suffix {
        "a" => number == wanted || is_thor,
        "f" => number <= wanted && family(number) == family(wanted),
        _ => number <= wanted,
    }
}

/// The family of a target: the generation, but for Thor, which CUDA 12 counts as another.
const fn family(number: u32) -> u32 {
    match number {
        THOR_OF_CUDA_12 => THOR / 10,
        _ => number / 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(number: u32) -> Gpu {
        Gpu::of_number(number).unwrap()
    }

    /// The numbers of the GPUs of CUDA 13 that a test holds for.
    fn gpus_where(test: impl Fn(Gpu) -> bool) -> Vec<u32> {
        let gpus = Gpu::of_cuda_13().filter(|gpu| test(*gpu));
        gpus.map(Gpu::number).collect()
    }

    #[test]
    fn machine_code_runs_on_its_own_generation() {
        let loads = |number, suffix| {
            gpus_where(|gpu| matches!(machine_code(number, suffix, gpu), Fit::Exact | Fit::Older))
        };
        assert_eq!(loads(80, ""), [80, 86, 88, 89]);
        assert_eq!(loads(86, ""), [86, 88, 89]);
        assert_eq!(loads(87, ""), [87]);
        assert_eq!(loads(90, ""), [90]);
        assert_eq!(loads(90, "a"), [90]);
        assert_eq!(loads(100, ""), [100, 103, 107]);
        assert_eq!(loads(100, "f"), [100, 103, 107]);
        assert_eq!(loads(100, "a"), [100]);
        assert_eq!(loads(103, "f"), [103, 107]);
        assert_eq!(loads(101, ""), [0; 0]);
        assert_eq!(loads(110, "f"), [110]);
        assert_eq!(loads(120, ""), [120, 121]);
        assert_eq!(loads(121, "a"), [121]);
    }

    #[test]
    fn integrated_gpus_are_not_promised() {
        assert_eq!(machine_code(80, "", gpu(87)), Fit::Unsure);
        assert_eq!(machine_code(80, "a", gpu(87)), Fit::No);
        assert_eq!(machine_code(87, "", gpu(89)), Fit::Unsure);
        assert_eq!(machine_code(101, "a", gpu(110)), Fit::Unsure);
        assert_eq!(machine_code(101, "", gpu(103)), Fit::No);
        assert_eq!(machine_code(70, "", gpu(72)), Fit::Unsure);
        assert_eq!(machine_code(60, "", gpu(61)), Fit::Older);
    }

    #[test]
    fn ptx_runs_on_later_gpus() {
        let loads = |number, suffix| gpus_where(|gpu| ptx(number, suffix, gpu));
        assert_eq!(loads(80, "").len(), 12);
        assert_eq!(loads(30, "").len(), 13);
        assert_eq!(loads(101, ""), [103, 107, 110, 120, 121]);
        assert_eq!(loads(90, "a"), [90]);
        assert_eq!(loads(101, "a"), [110]);
        assert_eq!(loads(101, "f"), [110]);
        assert_eq!(loads(100, "f"), [100, 103, 107]);
        assert_eq!(loads(103, "f"), [103, 107]);
        assert_eq!(loads(120, "f"), [120, 121]);
        assert_eq!(loads(121, ""), [121]);
    }
}

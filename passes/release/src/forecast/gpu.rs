//! GPUs, by their compute capability.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A GPU, by its compute capability.
///
/// ```
/// use ptxcheck_release::forecast::Gpu;
///
/// let spark: Gpu = "12.1".parse()?;
/// assert_eq!(spark.number(), 121);
/// assert_eq!("sm_86".parse::<Gpu>()?.to_string(), "8.6");
/// assert!("8".parse::<Gpu>().is_err());
/// # Ok::<(), ptxcheck_release::forecast::UnknownGpu>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Gpu(u32);

/// A text that names no GPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no compute capability of a GPU such as `8.6` or `12.0`")]
pub struct UnknownGpu(String);

/// A row of the table of GPUs.
struct About {
    number: u32,
    /// The branch of the first driver that knows it.
    driver: u32,
    is_tegra: bool,
    /// Products by which people know it.
    products: &'static str,
}

const fn desktop(number: u32, driver: u32, products: &'static str) -> About {
    About {
        number,
        driver,
        is_tegra: false,
        products,
    }
}

const fn tegra(number: u32, driver: u32, products: &'static str) -> About {
    About {
        is_tegra: true,
        ..desktop(number, driver, products)
    }
}

/// All GPUs from Maxwell on. PTX ISA, Release Notes (the version of PTX that brought a target, and so its driver); CUDA Programming
/// Guide, Compute Capabilities.
const GPUS: [About; 21] = [
    desktop(50, 331, "GTX 750"),
    desktop(52, 340, "GTX 900, M40"),
    tegra(53, 346, "Jetson Nano"),
    desktop(60, 367, "P100"),
    desktop(61, 367, "GTX 10, P4, P40"),
    tegra(62, 367, "Jetson TX2"),
    desktop(70, 384, "V100"),
    tegra(72, 390, "Jetson Xavier"),
    desktop(75, 410, "T4, RTX 20, GTX 16"),
    desktop(80, 450, "A100"),
    desktop(86, 455, "RTX 30, A10, A40"),
    tegra(87, 470, "Jetson Orin"),
    desktop(88, 580, ""),
    desktop(89, 520, "RTX 40, L4, L40"),
    desktop(90, 520, "H100, GH200"),
    desktop(100, 570, "B200, GB200"),
    desktop(103, 575, "B300, GB300"),
    desktop(107, 615, "Rubin"),
    desktop(110, 580, "Jetson Thor"),
    desktop(120, 570, "RTX 50, RTX PRO Blackwell"),
    desktop(121, 575, "DGX Spark"),
];

/// Jetson Thor. Its machine code follows the rules of other GPUs.
const THOR: u32 = 110;

/// The oldest GPU that CUDA 13 compiles for.
const OLDEST_OF_CUDA_13: u32 = 75;

impl Gpu {
    /// The GPU with this number, 86 of `sm_86`; `None` if there is none from Maxwell on.
    #[must_use]
    pub fn of_number(number: u32) -> Option<Self> {
        GPUS.iter()
            .any(|gpu| gpu.number == number)
            .then_some(Self(number))
    }

    /// All from Maxwell on, in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        GPUS.iter().map(|gpu| Self(gpu.number))
    }

    /// All that CUDA 13 compiles for, from 7.5 on, in their order.
    pub fn of_cuda_13() -> impl Iterator<Item = Self> {
        let numbers = GPUS.iter().map(|gpu| gpu.number);
        numbers.filter(|number| *number >= OLDEST_OF_CUDA_13).map(Self)
    }

    /// 86 for 8.6.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Products by which people know it: `RTX 40, L4, L40`. Empty where there are none.
    #[must_use]
    pub fn products(self) -> &'static str {
        self.about().map_or("", |about| about.products)
    }

    /// The branch of the first Linux driver that knows it, 520 for 9.0.
    #[must_use]
    pub fn first_branch(self) -> u32 {
        self.about().map_or(0, |about| about.driver)
    }

    /// True for the integrated GPUs that other machine code of the same generation is not documented to run on.
    #[must_use]
    pub fn is_tegra(self) -> bool {
        is_tegra(self.0)
    }

    /// True for the GPUs of boards without another host than their own: Jetson.
    #[must_use]
    pub fn is_embedded(self) -> bool {
        self.is_tegra() || self.0 == THOR
    }

    /// 8 for 8.6.
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.0 / 10
    }

    fn about(self) -> Option<&'static About> {
        GPUS.iter().find(|gpu| gpu.number == self.0)
    }
}

/// True for the numbers of targets that are such GPUs.
pub(super) fn is_tegra(number: u32) -> bool {
    GPUS.iter().any(|gpu| gpu.number == number && gpu.is_tegra)
}

impl fmt::Display for Gpu {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0 / 10, self.0 % 10)
    }
}

impl FromStr for Gpu {
    type Err = UnknownGpu;

    fn from_str(text: &str) -> Result<Self, UnknownGpu> {
        let bare = text.strip_prefix("sm_").unwrap_or(text);
        let number = match bare.split_once('.') {
            Some((major, minor)) if minor.len() == 1 => format!("{major}{minor}").parse(),
            Some(_) => return Err(UnknownGpu(text.to_owned())),
            None => bare.parse(),
        };
        let known = number.ok().and_then(Self::of_number);
        known.ok_or_else(|| UnknownGpu(text.to_owned()))
    }
}

impl TryFrom<String> for Gpu {
    type Error = UnknownGpu;

    fn try_from(text: String) -> Result<Self, UnknownGpu> {
        text.parse()
    }
}

impl From<Gpu> for String {
    fn from(gpu: Gpu) -> Self {
        gpu.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_have_names_and_numbers() {
        for (text, number) in [("7.5", 75), ("12.0", 120), ("121", 121), ("sm_90", 90)] {
            assert_eq!(text.parse::<Gpu>().map(Gpu::number), Ok(number));
        }
        for wrong in [
            "",
            "8",
            "12",
            "9.00",
            "8.5",
            "90a",
            "sm_",
            "-7.5",
            "4294967296",
            "7.5.1",
        ] {
            assert!(wrong.parse::<Gpu>().is_err(), "{wrong}");
        }
        assert!(GPUS.is_sorted_by_key(|gpu| gpu.number));
        assert_eq!(Gpu::of_cuda_13().count(), 13);
    }
}

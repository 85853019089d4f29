//! The blocks and the dynamic shared memory that kernels are launched with, as stated by the user or by host code.

use std::sync::Arc;

use ptxcheck_common::names;
use ptxcheck_common::patterns::Pattern;
use ptxcheck_ir::LaunchBounds;

/// Threads of a block in x, y and z.
pub type Shape = [u32; 3];

/// Most threads of a block (CUDA C++ Programming Guide, Compute Capabilities).
pub const MAX_BLOCK_THREADS: u32 = 1_024;

/// Limit on the block shapes of a kernel's launches, as stated by the user or available host code. For a kernel with more,
/// nothing is definite.
pub const MAX_LAUNCHED_SHAPES: usize = 16;

/// Most bytes of dynamic shared memory for a block, on any GPU: 227 KB (CUDA C++ Programming Guide, Compute Capabilities).
pub const MAX_DYNAMIC_SHARED: u32 = 232_448;

/// The block shapes that the user states, and those of available host code. A kernel's own `.reqntid` wins over all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Launches {
    /// For this run: they win over the following.
    pub run: Vec<Shape>,
    /// For kernels with such names ([`names::is_called`]): at least one shape each. The last matching pattern counts.
    pub kernels: Vec<(Pattern, Vec<Shape>)>,
    /// The shapes with which available host code launches kernels, by their names in their module: each once, at least one.
    /// They win over the following.
    pub launched: Vec<(String, Vec<Shape>)>,
    /// The launches found in available compiled host code, sorted by kernel. For kernels whose launches are all known, they
    /// win over the following, too.
    pub shown: Arc<Vec<ShownKernel>>,
    /// The blocks for all other kernels.
    pub others: Vec<Shape>,
    /// The dynamic shared memory that the user states.
    pub shared: StatedShared,
}

/// Bytes of dynamic shared memory for a block, as the user states them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StatedShared {
    /// For this run: it wins over the following.
    pub run: Option<u32>,
    /// For kernels with such names. The last matching pattern counts. They win over host code.
    pub kernels: Vec<(Pattern, u32)>,
    /// For all kernels of whose launches nothing else is known.
    pub others: Option<u32>,
}

/// The most dynamic shared memory that a kernel is launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicShared {
    /// Bytes for a block.
    pub bytes: u64,
    /// Host code says so, not the settings.
    pub is_of_host: bool,
}

/// The launches of a kernel that were found in compiled host code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ShownKernel {
    /// The kernel's name in its module, normalised ([`names::normalised`]).
    pub kernel: String,
    /// The shapes of its blocks, each once.
    pub shapes: Vec<Shape>,
    /// For each shape, a host function that launches it, and its file: "`run_forces` in app.o".
    pub places: Vec<String>,
    /// The most dynamic shared memory that one of them gives a block, in bytes; `None` if a launch has an unknown size.
    pub shared: Option<u64>,
    /// A host function that launches it with that size, and its file.
    pub shared_place: String,
    /// It is launched with no other shapes.
    pub is_all: bool,
}

impl ShownKernel {
    /// The host function that launches it with blocks of this shape.
    #[must_use]
    pub fn host_function_for(&self, block: Shape) -> Option<&str> {
        let number = self.shapes.iter().position(|shape| *shape == block)?;
        self.places.get(number).map(String::as_str)
    }
}

impl Launches {
    /// The blocks that the user states for the kernel with this name in its module.
    #[must_use]
    pub fn stated_blocks(&self, kernel: &str) -> &[Shape] {
        if !self.run.is_empty() {
            return &self.run;
        }
        last_fitting(&self.kernels, kernel).map_or(&[], Vec::as_slice)
    }

    /// The most dynamic shared memory that a kernel of this name is launched with, if that is known. `has_host_launches`: host code alone
    /// launches it.
    #[must_use]
    pub fn dynamic_shared(&self, kernel: &str, has_host_launches: bool) -> Option<DynamicShared> {
        let of_settings = |bytes: u32| DynamicShared {
            bytes: bytes.into(),
            is_of_host: false,
        };
        let stated = self
            .shared
            .run
            .or_else(|| last_fitting(&self.shared.kernels, kernel).copied());
        if let Some(bytes) = stated {
            return Some(of_settings(bytes));
        }
        // Blocks that the user states are of launches that this host code may not show.
        let shown = self
            .shown_kernel(kernel)
            .filter(|shown| shown.is_all && has_host_launches && self.stated_blocks(kernel).is_empty());
        match shown {
            Some(shown) => shown.shared.map(|bytes| DynamicShared {
                bytes,
                is_of_host: true,
            }),
            None => self.shared.others.map(of_settings),
        }
    }

    /// The blocks with which available host code launches the kernel of this name, if all its launches are known.
    #[must_use]
    pub fn launched_blocks(&self, kernel: &str) -> &[Shape] {
        let mut known = self.launched.iter();
        if let Some((_, shapes)) = known.find(|(name, _)| name == kernel) {
            return shapes;
        }
        let shown = self.shown_kernel(kernel).filter(|shown| shown.is_all);
        shown.map_or(&[], |shown| &shown.shapes)
    }

    /// The launches of the kernel of this name that were found in compiled host code.
    #[must_use]
    pub fn shown_kernel(&self, kernel: &str) -> Option<&ShownKernel> {
        if self.shown.is_empty() {
            return None;
        }
        let name = names::normalised(kernel);
        let found = self
            .shown
            .binary_search_by(|shown| shown.kernel.as_str().cmp(&name));
        found.ok().map(|number| &self.shown[number])
    }
}

/// What the last of these patterns that fits a kernel is for.
fn last_fitting<'l, T>(all: &'l [(Pattern, T)], kernel: &str) -> Option<&'l T> {
    let mut last_first = all.iter().rev().peekable();
    last_first.peek()?;
    let names = names::spellings(kernel);
    let found = last_first.find(|(pattern, _)| names.iter().any(|name| pattern.fits(name)));
    found.map(|(_, stated)| stated)
}

/// The most threads of a block that a kernel with these bounds can be launched with, from 1 to [`MAX_BLOCK_THREADS`].
#[must_use]
pub fn most_block_threads(bounds: &LaunchBounds) -> u32 {
    let sides = bounds.required_threads.or(bounds.max_threads);
    let product = |sides: [u32; 3]| {
        sides
            .iter()
            .fold(1_u32, |all, &side| all.saturating_mul(side.max(1)))
    };
    sides.map_or(MAX_BLOCK_THREADS, product).min(MAX_BLOCK_THREADS)
}

/// The block with these sides. y and z may be missing; `None` without sides, or for more than [`MAX_BLOCK_THREADS`] threads.
#[must_use]
pub fn shape_with_sides(sides: &[u32]) -> Option<Shape> {
    let (&x, rest) = sides.split_first()?;
    let shape = match *rest {
        [] => [x, 1, 1],
        [y] => [x, y, 1],
        [y, z] => [x, y, z],
        _ => return None,
    };
    let threads = shape.iter().try_fold(1_u32, |all, &side| all.checked_mul(side))?;
    (1..=MAX_BLOCK_THREADS).contains(&threads).then_some(shape)
}

#[cfg(test)]
mod tests {
    use super::{
        LaunchBounds, Launches, MAX_BLOCK_THREADS, ShownKernel, StatedShared, most_block_threads,
        shape_with_sides,
    };
    use ptxcheck_common::patterns::Pattern;
    use std::sync::Arc;

    #[test]
    fn shapes_of_a_run_override_patterns_and_later_patterns_override_earlier_ones() {
        let mut launches = Launches {
            kernels: [
                ("_Z3foo*", vec![[32, 4, 1]]),
                ("foo", vec![[8, 8, 1], [64, 1, 1]]),
            ]
            .map(|(text, shapes)| (Pattern::name(text).unwrap(), shapes))
            .to_vec(),
            launched: vec![("_Z3barv".to_owned(), vec![[48, 1, 1]])],
            others: vec![[256, 1, 1]],
            ..Launches::default()
        };
        let none: [[u32; 3]; 0] = [];
        assert_eq!(launches.stated_blocks("_Z3fooPi"), [[8, 8, 1], [64, 1, 1]]);
        assert_eq!(launches.stated_blocks("_Z3fooIfEvPT_"), [[32, 4, 1]]);
        assert_eq!(launches.stated_blocks("_Z3barv"), none);
        assert_eq!(launches.launched_blocks("_Z3barv"), [[48, 1, 1]]);
        assert_eq!(launches.launched_blocks("_Z3fooPi"), none);
        launches.run = vec![[64, 1, 1]];
        assert_eq!(launches.stated_blocks("_Z3fooPi"), [[64, 1, 1]]);
        assert_eq!(Launches::default().stated_blocks("_Z3fooPi"), none);
    }

    #[test]
    fn host_launches_count_only_if_all_are_known() {
        let shown = |kernel: &str, is_all| ShownKernel {
            kernel: kernel.to_owned(),
            shapes: vec![[16, 16, 1], [48, 1, 1]],
            places: vec!["`a` in k.o".to_owned(), "`b` in k.o".to_owned()],
            shared: Some(512),
            shared_place: "`b` in k.o".to_owned(),
            is_all,
        };
        let launches = Launches {
            shown: Arc::new(vec![shown("_Z1kPi", true), shown("_Z1lPi", false)]),
            ..Launches::default()
        };
        assert_eq!(launches.launched_blocks("_Z1kPi"), [[16, 16, 1], [48, 1, 1]]);
        assert_eq!(launches.launched_blocks("_Z1lPi"), [[0; 3]; 0]);
        let place = launches
            .shown_kernel("_Z1lPi")
            .and_then(|shown| shown.host_function_for([48, 1, 1]));
        assert_eq!(place, Some("`b` in k.o"));
        assert_eq!(launches.shown_kernel("_Z1mPi"), None);
    }

    #[test]
    fn sizes_of_a_run_override_patterns_and_those_override_host_code() {
        let shown = |kernel: &str, shared, is_all| ShownKernel {
            kernel: kernel.to_owned(),
            shapes: vec![[32, 1, 1]],
            places: vec![String::new()],
            shared,
            shared_place: String::new(),
            is_all,
        };
        let mut launches = Launches {
            shown: Arc::new(vec![
                shown("_Z1kPi", Some(512), true),
                shown("_Z1lPi", None, true),
                shown("_Z1mPi", Some(64), false),
            ]),
            ..Launches::default()
        };
        let of = |launches: &Launches, kernel: &str, is_host: bool| {
            let known = launches.dynamic_shared(kernel, is_host);
            known.map(|known| (known.bytes, known.is_of_host))
        };
        assert_eq!(of(&launches, "_Z1kPi", true), Some((512, true)));
        // Device code launches it, a launch has an unknown size, other launches are not known, nothing is.
        assert_eq!(of(&launches, "_Z1kPi", false), None);
        assert_eq!(
            ["_Z1lPi", "_Z1mPi", "_Z1nPi"].map(|kernel| of(&launches, kernel, true)),
            [None; 3]
        );
        launches.shared.others = Some(96);
        assert_eq!(of(&launches, "_Z1kPi", true), Some((512, true)));
        assert_eq!(of(&launches, "_Z1lPi", true), None);
        assert_eq!(of(&launches, "_Z1nPi", true), Some((96, false)));
        launches.shared.kernels = [("k*", 16), ("_Z1kPi", 32), ("m", 8)]
            .map(|(text, bytes)| (Pattern::name(text).unwrap(), bytes))
            .to_vec();
        assert_eq!(of(&launches, "_Z1kPi", true), Some((32, false)));
        assert_eq!(of(&launches, "_Z1mPi", true), Some((8, false)));
        launches.shared.run = Some(1);
        assert_eq!(of(&launches, "_Z1kPi", true), Some((1, false)));
        launches.shared = StatedShared::default();
        launches.run = vec![[64, 1, 1]];
        assert_eq!(of(&launches, "_Z1kPi", true), None);
    }

    #[test]
    fn blocks_have_up_to_three_sides_and_1024_threads() {
        assert_eq!(shape_with_sides(&[32, 4]), Some([32, 4, 1]));
        assert_eq!(shape_with_sides(&[1024]), Some([1024, 1, 1]));
        let wrong: [&[u32]; 6] = [&[], &[0], &[64, 32], &[1, 1, 1, 1], &[8, 0, 8], &[u32::MAX, 2]];
        for sides in wrong {
            assert_eq!(shape_with_sides(sides), None, "{sides:?}");
        }
    }

    #[test]
    fn bounds_of_any_size_give_the_threads_of_a_block() {
        let most = |required_threads, max_threads| {
            most_block_threads(&LaunchBounds {
                required_threads,
                max_threads,
                ..LaunchBounds::default()
            })
        };
        assert_eq!(most(None, None), MAX_BLOCK_THREADS);
        assert_eq!(most(None, Some([16, 8, 1])), 128);
        assert_eq!(most(Some([64, 1, 1]), Some([128, 1, 1])), 64);
        assert_eq!(most(None, Some([u32::MAX; 3])), MAX_BLOCK_THREADS);
        assert_eq!(most(None, Some([0, 4, 1])), 4);
    }
}

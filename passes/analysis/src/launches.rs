//! The blocks that kernels are launched with, as stated by the user or by host code.

use std::sync::Arc;

use ptxcheck_common::names;
use ptxcheck_common::patterns::Pattern;

/// Threads of a block in x, y and z.
pub type Shape = [u32; 3];

/// Most threads of a block (CUDA C++ Programming Guide, Compute Capabilities).
pub const MAX_BLOCK_THREADS: u32 = 1_024;

/// Limit on the block shapes of a kernel's launches, as stated by the user or available host code. For a kernel with more,
/// nothing is definite.
pub const MAX_LAUNCHED_SHAPES: usize = 16;

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
        let named = || {
            let mut last_first = self.kernels.iter().rev().peekable();
            last_first.peek()?;
            let names = names::spellings(kernel);
            last_first.find(|(pattern, _)| names.iter().any(|name| pattern.fits(name)))
        };
        named().map_or(&[], |(_, shapes)| shapes)
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
    use super::{Launches, ShownKernel, shape_with_sides};
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
    fn blocks_have_up_to_three_sides_and_1024_threads() {
        assert_eq!(shape_with_sides(&[32, 4]), Some([32, 4, 1]));
        assert_eq!(shape_with_sides(&[1024]), Some([1024, 1, 1]));
        let wrong: [&[u32]; 6] = [&[], &[0], &[64, 32], &[1, 1, 1, 1], &[8, 0, 8], &[u32::MAX, 2]];
        for sides in wrong {
            assert_eq!(shape_with_sides(sides), None, "{sides:?}");
        }
    }
}

//! `nvvm.annotations`: the properties of kernels and variables in named metadata (NVVM IR Specification, Global Property
//! Annotation).
//!
//! LLVM 22 converts those of functions to calling conventions and attributes when it reads a module; LLVM 19 does
//! not, and none does for variables.

use rustc_hash::FxHashMap;

use super::raw::{Module, Value};

/// The properties of each global that has some.
pub(super) struct Annotations<'m>(FxHashMap<Value<'m>, Vec<(&'m str, i64)>>);

impl<'m> Annotations<'m> {
    pub(super) fn of(module: Module<'m>) -> Self {
        let mut all: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for node in module.named_metadata(c"nvvm.annotations") {
            let Some((Some(global), properties)) = node.split_first() else {
                continue;
            };
            let of_one = all.entry(*global).or_default();
            for pair in properties.chunks_exact(2) {
                if let [Some(name), Some(number)] = pair
                    && let (Some(name), Some(number)) = (name.string(), number.int())
                {
                    of_one.push((name, number));
                }
            }
        }
        Self(all)
    }

    /// The number that a property has.
    pub(super) fn number(&self, global: Value<'m>, property: &str) -> Option<u32> {
        let (_, number) = self.0.get(&global)?.iter().find(|(name, _)| *name == property)?;
        u32::try_from(*number).ok()
    }

    /// True if a property is there and not 0.
    pub(super) fn has(&self, global: Value<'m>, property: &str) -> bool {
        self.number(global, property).is_some_and(|number| number != 0)
    }

    /// `maxntidx`, `maxntidy`, `maxntidz` and their like; the dimensions that are not said are 1.
    pub(super) fn sizes(&self, global: Value<'m>, property: &str) -> Option<[u32; 3]> {
        let size = |dimension| self.number(global, &format!("{property}{dimension}"));
        let sizes = [size('x'), size('y'), size('z')];
        sizes
            .iter()
            .any(Option::is_some)
            .then(|| sizes.map(|size| size.unwrap_or(1)))
    }
}

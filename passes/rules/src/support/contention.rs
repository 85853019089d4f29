//! Memory that several threads write, in words.

use crate::analysis::contention::SharedObject;
use crate::conditional::{ConditionalContention, ContendedPair};
use crate::context::{Draft, ModuleContext};
use crate::finding::Value;
use crate::ir::FunctionId;

use super::{addresses, witness, wording};

/// Calls `report` with the findings about each object of each kernel, in the order of the first ones. If a run has shown one of them, that
/// one comes first, with its witness. `about`: the kernel and the object; `is_of_pair`: a finding about a kernel is about a pair.
pub(crate) fn each_object<T>(
    all: &[T],
    shown: &[ConditionalContention],
    about: impl Fn(&T) -> (FunctionId, SharedObject),
    is_of_pair: impl Fn(&T, FunctionId, &ContendedPair) -> bool,
    mut report: impl FnMut(&[&T], Option<&ConditionalContention>),
) {
    let mut left: Vec<&T> = all.iter().collect();
    while let Some(&first) = left.first() {
        let (mut same, others): (Vec<&T>, Vec<&T>) =
            left.into_iter().partition(|one| about(one) == about(first));
        let with_witness = shown.iter().find_map(|shown| {
            let pair = shown.pairs.first()?;
            let place = same
                .iter()
                .position(|found| is_of_pair(found, shown.kernel, pair))?;
            Some((place, shown))
        });
        if let Some((place, _)) = with_witness {
            same[..=place].rotate_right(1);
        }
        report(&same, with_witness.map(|(_, shown)| shown));
        left = others;
    }
}

/// Adds the witness and its run.
pub(crate) fn tell_witness(module: &ModuleContext<'_>, draft: &mut Draft, shown: &ConditionalContention) {
    witness::tell(module, draft, shown.kernel, &shown.witness, None);
    witness::tell_run(module, draft, &shown.run);
    if let Some(pair) = shown.pairs.first() {
        let numbers = |(first, second): (u32, u32)| Value::Numbers(vec![first.into(), second.into()]);
        draft
            .data("threads", numbers(pair.threads))
            .data("blocks", numbers(pair.blocks));
    }
}

/// The object that threads of a kernel share: "`best` in global memory", "memory that parameter `best` points to".
pub(crate) fn object_in_words(
    module: &ModuleContext<'_>,
    kernel: FunctionId,
    object: SharedObject,
) -> String {
    match object {
        SharedObject::Variable(symbol) => {
            addresses::named(module, module.module.symbol(symbol).space, symbol)
        }
        SharedObject::Parameter(number) => {
            let number = usize::from(number);
            let params = &module.module.function(kernel).params;
            let name = params.get(number).map_or("", |param| param.name);
            let parameter = wording::parameter(module.module.function_name(kernel), number, name);
            format!("memory that {parameter} points to")
        }
    }
}

//! Memory that several threads write, in words.

use crate::analysis::contention::SharedObject;
use crate::conditional::{ConditionalContention, ContendedPair};
use crate::context::{Draft, ModuleContext};
use crate::finding::Value;
use crate::ir::FunctionId;

use super::{addresses, witness, wording};

/// Calls `report` with the findings about each object of each kernel, in the order of the first ones. `about`: the kernel and the object.
pub(crate) fn each_object<T>(
    all: &[T],
    about: impl Fn(&T) -> (FunctionId, SharedObject),
    mut report: impl FnMut(&[&T]),
) {
    let mut left: Vec<&T> = all.iter().collect();
    while let Some(&first) = left.first() {
        let (same, others): (Vec<&T>, Vec<&T>) = left.into_iter().partition(|one| about(one) == about(first));
        report(&same);
        left = others;
    }
}

/// The findings about an object of which a run has shown one: that one first, with its witness. `is_of_pair`: a finding about a kernel is
/// about a pair.
pub(crate) fn of_object<'a, T>(
    all: &[&'a T],
    shown: &'a [ConditionalContention],
    is_of_pair: impl Fn(&T, FunctionId, &ContendedPair) -> bool,
) -> Option<(Vec<&'a T>, &'a ConditionalContention)> {
    shown.iter().find_map(|shown| {
        let pair = shown.pairs.first()?;
        let first = all
            .iter()
            .position(|found| is_of_pair(found, shown.kernel, pair))?;
        let mut sorted = all.to_vec();
        sorted[..=first].rotate_right(1);
        Some((sorted, shown))
    })
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
pub(crate) fn object(module: &ModuleContext<'_>, kernel: FunctionId, object: SharedObject) -> String {
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

//! Memory that several threads write, in words.

use crate::analysis::contention::SharedObject;
use crate::context::ModuleContext;
use crate::ir::FunctionId;

use super::{addresses, wording};

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

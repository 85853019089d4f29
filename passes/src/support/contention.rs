//! Memory that several threads write, in words.

use crate::analysis::contention::SharedObject;
use crate::context::ModuleContext;
use crate::ir::FunctionId;

use super::{addresses, wording};

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

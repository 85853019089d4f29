//! Recognises modules of PTX among the texts in the data of a host file.

use crate::deadline::Deadline;
use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};

/// True if a text can be taken for a module: nothing in it is malformed, all that it names is declared, and it has code. Programs
/// keep templates of modules, and pieces that they put together, which only look like one.
#[must_use]
pub fn is_module(text: &[u8], deadline: &Deadline) -> bool {
    let Ok((tree, code)) = ptx::read(text, deadline) else {
        return false;
    };
    if !tree.errors().is_empty() || !tree.functions().iter().any(|function| function.has_body) {
        return false;
    }
    let origin = PtxOrigin::new(&tree);
    let module = code.module(&tree, &origin, deadline);
    let is_declared = module.bodies().all(|(.., body)| body.undeclared.is_empty());
    !deadline.is_over() && module.errors.is_empty() && !module.is_damaged && is_declared
}

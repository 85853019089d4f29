//! What tests of analyses begin with.

use ptxcheck_ptx_parser::parse;

use crate::module::ModuleAnalyses;
use crate::shared::Asked;
use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};

/// Looks at a module of PTX that has no error.
pub(crate) fn with_ptx<R>(text: &str, look: impl FnOnce(&ModuleAnalyses<'_>) -> R) -> R {
    with_asked(text, Asked::default(), look)
}

/// The same, where this is asked for.
pub(crate) fn with_asked<R>(text: &str, asked: Asked, look: impl FnOnce(&ModuleAnalyses<'_>) -> R) -> R {
    let tree = parse(text.as_bytes()).unwrap_or_else(|_| panic!("{text}"));
    assert!(tree.errors().is_empty(), "{text}");
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    look(&ModuleAnalyses::new(&module, asked))
}

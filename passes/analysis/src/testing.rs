//! Modules for tests of analyses.

use ptxcheck_ptx_parser::parse;

use crate::module::ModuleAnalyses;
use crate::shared::AnalysisOptions;
use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};

/// Calls `check` with the analyses of a module of PTX, which must have no error.
pub(crate) fn with_ptx<R>(text: &str, check: impl FnOnce(&ModuleAnalyses<'_>) -> R) -> R {
    with_options(text, AnalysisOptions::default(), check)
}

/// Calls `check` with the analyses of a module of PTX under these options.
pub(crate) fn with_options<R>(
    text: &str,
    options: AnalysisOptions,
    check: impl FnOnce(&ModuleAnalyses<'_>) -> R,
) -> R {
    let tree = parse(text.as_bytes()).unwrap_or_else(|_| panic!("{text}"));
    assert!(tree.errors().is_empty(), "{text}");
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    check(&ModuleAnalyses::new(&module, options))
}

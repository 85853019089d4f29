//! What tests of analyses begin with.

use ptxcheck_ptx_parser::parse;

use crate::context::ModuleContext;
use crate::frontend::ptx::{self, PtxOrigin};
use crate::settings::Settings;

/// Looks at a module of PTX that has no error.
pub fn with_ptx<R>(text: &str, look: impl FnOnce(&ModuleContext<'_>) -> R) -> R {
    with_settings(text, &Settings::default(), look)
}

/// The same, with settings.
pub fn with_settings<R>(text: &str, settings: &Settings, look: impl FnOnce(&ModuleContext<'_>) -> R) -> R {
    let tree = parse(text.as_bytes()).unwrap_or_else(|_| panic!("{text}"));
    assert!(tree.errors.is_empty(), "{text}");
    let origin = PtxOrigin::new(&tree);
    let module = ptx::lower(&tree, &origin);
    look(&ModuleContext::new(&module, settings))
}

//! The check of a rule.

use crate::context::{FunctionContext, ImagePlace, ImagesContext, ModuleContext, Report};

/// When a rule looks, and at what.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Check {
    /// Once a module.
    Module(fn(&ModuleContext<'_>, &mut Report<'_>)),
    /// Once for every function with a body; functions of large modules in parallel.
    Function(fn(&FunctionContext<'_>, &mut Report<'_>)),
    /// Once a run, at what the images of all inputs declare.
    Images(fn(&ImagesContext<'_>, &mut Report<'_, ImagePlace>)),
    /// Once a module, and once a run at what the images of all inputs declare.
    Linked(
        fn(&ModuleContext<'_>, &mut Report<'_>),
        fn(&ImagesContext<'_>, &mut Report<'_, ImagePlace>),
    ),
}

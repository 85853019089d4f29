//! What a check sees, and where it puts what it found.

/// A module under analysis.
pub struct ModuleContext<'a> {
    _stub: &'a (),
}

/// A function under analysis.
pub struct FunctionContext<'a> {
    _stub: &'a (),
}

/// Where a check puts what it found.
pub struct Report<'a> {
    _stub: &'a (),
}

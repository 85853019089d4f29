//! What all layers share, and no more: how names and texts are shown to people, when work has to end, and which symbols the
//! toolchain provides.
//!
//! It knows nothing of PTX, LLVM, files or findings.

pub mod deadline;
pub mod externs;
pub mod groups;
pub mod limits;
pub mod maps;
pub mod names;
pub mod shown;

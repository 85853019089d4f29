//! The parts that all layers share.
//!
//! | module | what |
//! | --- | --- |
//! | [`names`] | names of C++ and Rust as people read them |
//! | [`patterns`] | patterns of names and paths: globs and regular expressions |
//! | [`shown`] | bytes of an input as text for a terminal |
//! | [`deadline`] | when the work on an input has to end |
//! | [`callers`] | which functions of an image make a use needed |
//! | [`groups`] | lists sorted by counting |
//! | [`maps`] | maps whose keys come from inputs |
//! | [`externs`] | which symbols the toolchain provides, from tables of its own |
//!
//! It depends on no other crate of the workspace, and knows nothing of PTX, LLVM, files or findings. Code that only one layer needs does
//! not belong here.
//!
//! ```
//! use ptxcheck_common::names;
//! use ptxcheck_common::patterns::Pattern;
//!
//! assert_eq!(names::readable("_Z6kernelPi"), "kernel(int*)");
//! assert!(names::is_called("_Z6kernelPi", &Pattern::name("ker*").unwrap()));
//! ```

#![warn(unreachable_pub, unnameable_types)]

pub mod callers;
pub mod deadline;
pub mod externs;
pub mod groups;
pub mod limits;
pub mod maps;
pub mod names;
pub mod patterns;
pub mod shown;

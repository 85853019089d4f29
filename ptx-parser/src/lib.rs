//! PTX text to a borrowed, flat syntax tree, and back.
//!
//! [`parse`] reads a module of any PTX ISA version. It never fails on what it does not know: an instruction is a
//! guard, a dotted opcode and operands, whatever the opcode. What is malformed becomes a [`SyntaxError`] with a
//! place, the parser goes on after the next `;` or `}`, and the rest of the module is in the tree.

pub mod ast;
pub mod error;
pub mod limits;
pub mod span;

pub use ast::Tree;
pub use error::{Cause, SyntaxError};
pub use span::{LineIndex, Position, Span};

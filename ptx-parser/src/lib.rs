//! PTX text to a borrowed, flat syntax tree, and back.
//!
//! [`parse`] reads a module of any PTX ISA version. It never fails on what it does not know: an instruction is a
//! guard, a dotted opcode and operands, whatever the opcode. What is malformed becomes a [`SyntaxError`] with a
//! place, the parser goes on after the next `;` or `}`, and the rest of the module is in the tree.

pub mod ast;
pub mod debug_info;
pub mod error;
pub mod limits;
pub mod operand;
pub mod printer;
pub mod span;

mod comparison;
mod declaration;
mod directive;
mod expression;
mod function;
mod initializer;
mod instruction;
mod lexer;
mod module;
mod tree;

pub use ast::Tree;
pub use error::{Cause, SyntaxError};
pub use initializer::{Address, Element, Elements};
pub use module::parse;
pub use operand::{OperandRef, Operands};
pub use span::{LineIndex, Position, Span};
pub use tree::{Guard, Instruction};

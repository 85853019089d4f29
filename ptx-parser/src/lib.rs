//! PTX text to a borrowed, flat syntax tree, and back.
//!
//! [`parse`] reads a module of any PTX ISA version. It never fails on unknown instructions: an instruction is a guard, a dotted opcode and
//! operands, for any opcode. A malformed statement becomes a [`SyntaxError`] with a place, the parser goes on after the next `;` or `}`,
//! and the rest of the module is in the tree.
//!
//! ```
//! let source = b".version 8.5\n.target sm_90\n.entry k() { @!%p1 ld.global.u32 %r1, [%rd1+4]; ret; }";
//! let tree = ptxcheck_ptx_parser::parse(source)?;
//! assert!(tree.errors().is_empty());
//! assert_eq!(tree.version(), Some((8, 5)));
//!
//! let kernel = &tree.functions()[0];
//! let load = tree.instruction(&tree.body(kernel)[0]);
//! assert_eq!(load.opcode, b"ld.global.u32");
//! assert!(load.guard.is_some_and(|guard| guard.negated && guard.name == b"%p1"));
//! let address = load.operands.last().unwrap();
//! assert_eq!(address.children().last().unwrap().constant(), Some(4));
//! # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
//! ```
//!
//! # Where things are
//!
//! * [`Tree`] is what parsing gives; [`ast`] has its records, and [`OperandRef`] is an operand of it.
//! * A [`Visitor`] sees all parts of a tree in source order.
//! * [`ast::ScalarType`] and [`ast::Variable`] know sizes and alignments.
//! * [`operand`] has the values of literals and constant expressions, and the elements of initialisers.
//! * [`debug_info`] reads the data of `.section`, and the comments in which clang names inlined calls.
//! * [`printer`] prints a tree, and says whether two trees are the same.
//! * [`Span`] is a range of bytes in the source; [`LineIndex`] and [`Position`] turn offsets into lines and columns.
//! * [`limits`] has every limit.
//!
//! The parser says what a module contains, not whether it makes sense: types, scopes and the rules for each instruction
//! are no concern of it.
//!
//! # Units
//!
//! Offsets, lengths, sizes and alignments are in bytes unless the name says bits. Lines and columns are 1-based; columns
//! count bytes. Text is `&[u8]`, since PTX may hold anything in comments and strings; names and opcodes are ASCII.

#![warn(unreachable_pub, unnameable_types)]

pub mod ast;
pub mod debug_info;
pub mod error;
pub mod limits;
pub mod operand;
pub mod printer;
pub mod scan;
pub mod span;

mod body_reader;
mod bytes;
mod comparison;
mod declaration;
mod directive;
mod expression;
mod function;
mod initializer;
mod instruction;
mod layout;
mod lexer;
mod module;
mod pieces;
mod scalar;
mod tree;
mod visitor;

pub use ast::Tree;
pub use body_reader::BodyReader;
pub use error::{Cause, LocatedError, SyntaxError};
pub use initializer::{Address, Element, Elements};
pub use module::{parse, parse_declarations, parse_heads};
pub use operand::{OperandRef, Operands};
pub use pieces::{Piece, parse_in_pieces};
pub use span::{LineIndex, Position, Span};
pub use tree::{Guard, Instruction};
pub use visitor::{Visitor, Walk};

/// The examples of the file for people are compiled, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

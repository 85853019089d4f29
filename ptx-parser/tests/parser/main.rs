//! The parser: texts that it accepts and refuses, what it says of them, and trees that are walked, edited and printed.

mod common;
mod debug_info;
mod declarations;
mod errors;
mod pieces;
mod sizes;
mod syntax;
mod visitor;

//! Compilations that are done again, with PTX as their output: `--compile-commands`, `launch`.

mod database;
mod invocation;
mod options_file;
mod process;
mod recompiler;
mod rewrite;

pub use database::Database;
pub use invocation::Invocation;
pub use recompiler::Recompiler;

//! The commands, one file each.

pub mod audit;
pub mod capacity;
pub mod check;
pub mod cmake_dir;
pub mod completions;
pub mod config;
pub mod diff;
pub mod explain;
pub mod extract;
pub mod init;
pub mod launch;
mod launched;
pub mod lsp;
pub mod merge;
pub mod replay;
pub mod rules;
pub mod serve;
pub mod worker;

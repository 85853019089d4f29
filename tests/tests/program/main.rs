//! The program as its users run it: commands, options, settings, reports, exit codes.

mod adoption;
mod assumptions;
mod cache;
mod callers;
mod capacity;
mod cli;
mod configuration;
mod engine;
mod guidance;
mod link_sets;
mod lsp;
mod messages;
mod policies;
mod project;
#[cfg(unix)]
mod readers;
mod refusals;
mod releases;
mod reports;
#[cfg(unix)]
mod robust;
mod serve;
mod shards;
mod shells;
mod witnesses;

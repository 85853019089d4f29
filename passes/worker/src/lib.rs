//! Processes that read what their libraries may crash on: LLVM IR, MLIR.
//!
//! LLVM and MLIR abort or crash on malformed input, run out of memory on hostile input, and can loop on it. So they read
//! inputs in workers: processes that are handed one input after the other over a pipe, and that answer with bytes. One that dies loses the
//! input it was analysing, and nothing else: the next input starts another. Each thread has one of each command, so that a thousand inputs
//! do not start a thousand processes.
//!
//! ```text
//! caller ── time, task, bytes ──────► worker
//!        ◄────────── length, answer ──
//!        ◄── greeting, before the next ── once its memory is given back
//! ```
//!
//! `client.rs` starts workers and asks them, [`serve`] is one, `pipe.rs` has the messages on the pipe, `greeting.rs` the first
//! of them. Tasks and answers are opaque bytes here; only client and worker interpret them: a [`Protocol`] names them, and a process that
//! greets with another one is refused. A worker ends when its standard input does.

#![warn(unreachable_pub, unnameable_types)]

mod client;
mod greeting;
mod limits;
mod pipe;
mod server;

pub use client::{Command, Lost, ask, start};
pub use greeting::Protocol;
pub use server::{Answer, serve};

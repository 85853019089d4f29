//! Processes that read what their libraries may crash on: LLVM IR, MLIR.
//!
//! LLVM and MLIR abort or crash on malformed input, run out of memory on hostile input, and can loop on it. So they read
//! inputs in workers: processes that are handed one input after the other over a pipe, and that answer with bytes. One that
//! dies costs the input it was looking at, and nothing else: the next input starts another. Each thread has one of each
//! command, so that a thousand inputs do not start a thousand processes.
//!
//! ```text
//! caller ── time, task, bytes ──────► worker
//!        ◄────────── length, answer ──
//!        ◄── "ready", before the next ── once its memory is given back
//! ```
//!
//! `client.rs` starts workers and asks them, [`serve`] is one, `pipe.rs` has the messages on the pipe. What task and answer
//! say is the business of those who ask and answer. A worker ends when its standard input does.

#![warn(unreachable_pub, unnameable_types)]

mod client;
mod limits;
mod pipe;
mod server;

pub use client::{Command, Lost, ask};
pub use server::{Answer, serve};

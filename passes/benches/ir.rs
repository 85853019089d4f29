//! How long LLVM IR takes, and how much of that is LLVM's own reading.
//!
//! `cargo bench -p ptxcheck-passes --bench ir -- FILE…` prints a line for each file: milliseconds of LLVM's parser, of
//! the lowering to the device IR and of analyses and rules, the last two as a share of the first, and how much faster
//! two threads are than one. The best of five.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use ptxcheck_passes::frontend::llvm;
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::worker;

const ROUNDS: usize = 5;

fn main() {
    println!(
        "{:>9} {:>9} {:>9} {:>11} {:>12}  file",
        "parse", "lower", "analyse", "beyond", "two threads"
    );
    for path in std::env::args().skip(1).filter(|arg| !arg.starts_with("--")) {
        match std::fs::read(&path) {
            Ok(bytes) => measure(&path, &bytes),
            Err(error) => println!("{path}: {error}"),
        }
    }
}

fn measure(path: &str, bytes: &[u8]) {
    let settings = Settings::default();
    let parse = best(|| {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "input");
        context.create_module_from_ir(buffer).is_ok()
    });
    let read = best(|| llvm::with_module(bytes, |_| ()).is_ok());
    let check = || worker::check(bytes, &settings).failure.is_none();
    let all = best(check);
    let two = best(|| {
        std::thread::scope(|scope| {
            let other = scope.spawn(check);
            check() && other.join().unwrap_or(false)
        })
    });
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let share = |time: Duration| time.as_secs_f64() / parse.as_secs_f64() * 100.0;
    let (lower, analyse) = (read.saturating_sub(parse), all.saturating_sub(read));
    println!(
        "{:>9.1} {:>9.1} {:>9.1} {:>4.0}+{:>4.0} % {:>12.2}  {path}",
        ms(parse),
        ms(lower),
        ms(analyse),
        share(lower),
        share(analyse),
        2.0 * all.as_secs_f64() / two.as_secs_f64(),
    );
}

fn best(work: impl Fn() -> bool) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            assert!(work(), "the file cannot be read");
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

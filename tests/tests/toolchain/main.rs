//! Tests with what `make toolchain` installs: compilers, Python, a browser, mdBook, callgrind. Where it is missing, they are counted as
//! ignored.

mod baseline;
mod browser;
mod image_builds;
mod instructions;
mod live;
#[cfg(feature = "llvm")]
mod llvm_plugin;
mod page;
mod pytest_plugin;
mod site;
mod terminal;

use libtest_mimic::Arguments;

/// A compiler takes up to a gigabyte.
const THREADS: usize = 2;

fn main() {
    let mut args = Arguments::from_args();
    args.test_threads.get_or_insert(THREADS);
    let mut trials = image_builds::trials();
    #[cfg(feature = "llvm")]
    trials.extend(llvm_plugin::trials());
    trials.extend(baseline::trials());
    trials.extend(page::trials());
    trials.extend(site::trials());
    trials.extend(terminal::trials());
    trials.extend(pytest_plugin::trials());
    trials.extend(instructions::trials());
    trials.extend(live::trials());
    libtest_mimic::run(&args, trials).exit();
}

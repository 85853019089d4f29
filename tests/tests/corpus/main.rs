//! Holds what the program finds in the files of `corpus/` against what they say. A test is a file dropped in a folder.

mod cases;
mod compiled;
mod defects;
#[cfg(feature = "ir")]
mod llvm;
#[cfg(feature = "mlir")]
mod mlir;
#[cfg(feature = "ir")]
mod python_ir;

use libtest_mimic::Arguments;

fn main() {
    let args = Arguments::from_args();
    let mut trials = cases::trials();
    trials.extend(compiled::trials());
    trials.extend(defects::trials());
    #[cfg(feature = "ir")]
    trials.extend(llvm::trials());
    #[cfg(feature = "mlir")]
    trials.extend(mlir::trials());
    #[cfg(feature = "ir")]
    trials.extend(python_ir::trials());
    if defects::is_blessing() {
        // The table of the defects is made of what their sources say, so these are written first.
        let conclusion = libtest_mimic::run(&args, trials);
        if conclusion.has_failed() {
            conclusion.exit();
        }
        trials = Vec::new();
    }
    trials.push(defects::table_trial());
    libtest_mimic::run(&args, trials).exit();
}

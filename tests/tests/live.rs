//! Compiles the CUDA sources of the corpus with the compilers that are installed, and holds the findings against
//! the markers in the sources. Where a compiler is missing, its tests are counted as ignored.
//!
//! Each source is compiled by each compiler in each mode for one target, in turn from source to source, or for all targets if its
//! text names one. `sm_90a` and `sm_100a` are among them for sources that list them. With `LIVE_TARGETS=all` (`make live`), every source is compiled for all targets.

use std::process::Command;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use ptxcheck_tests::cases::{Case, files};
use ptxcheck_tests::expectation::{difference, expected, tags};
use ptxcheck_tests::{missing, report, root};

const COMPILERS: [&str; 2] = ["nvcc", "clang"];
const TARGETS: [&str; 3] = ["sm_75", "sm_90", "sm_120"];
/// Targets with instructions of their own, for the sources that name them.
const OF_ONE_ARCHITECTURE: [&str; 2] = ["sm_90a", "sm_100a"];
const MODES: [&str; 2] = ["O3", "G"];

/// Exit code of `compile.sh` where the compiler is not installed.
const NOT_INSTALLED: i32 = 3;

/// A compiler takes up to a gigabyte.
const THREADS: usize = 2;

fn main() {
    let mut args = Arguments::from_args();
    args.test_threads.get_or_insert(THREADS);
    let mut trials = Vec::new();
    let all_targets = std::env::var_os("LIVE_TARGETS").is_some_and(|value| value == "all");
    for (number, path) in files("corpus/cuda", "cu").into_iter().enumerate() {
        let case = match Case::read(&path) {
            Ok(case) => case,
            Err(problem) => {
                trials.push(Trial::test(path.display().to_string(), || Err(problem.into())));
                continue;
            }
        };
        let mut targets: Vec<&str> = TARGETS
            .into_iter()
            .filter(|target| case.wants("targets", target))
            .collect();
        let named = case.directive("targets").unwrap_or_default();
        targets.extend(
            OF_ONE_ARCHITECTURE
                .into_iter()
                .filter(|target| named.iter().any(|name| name == target)),
        );
        let mut turn = number;
        for compiler in COMPILERS
            .into_iter()
            .filter(|compiler| case.wants("compilers", compiler))
        {
            for mode in MODES {
                let chosen = if all_targets || names_target(&case) {
                    &targets[..]
                } else {
                    turn += 1;
                    let place = turn % targets.len().max(1);
                    &targets[place..(place + 1).min(targets.len())]
                };
                for &target in chosen {
                    let case = case.clone();
                    let name = format!("{} {compiler} {target} {mode}", case.name);
                    trials.push(Trial::ignorable_test(name, move || {
                        try_case(&case, compiler, target, mode)
                    }));
                }
            }
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

/// True if the code or the markers of a case depend on the target.
fn names_target(case: &Case) -> bool {
    let is_directive = |line: &&str| line.starts_with("//") && !line.starts_with("//~");
    let lines = case.text.lines().skip_while(is_directive);
    let names =
        |line: &str| line.contains("__CUDA_ARCH__") || TARGETS.iter().any(|target| line.contains(target));
    lines.into_iter().any(names)
}

fn try_case(case: &Case, compiler: &str, target: &str, mode: &str) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let compiled = folder.path().join(format!("{}.{target}.{mode}.ptx", case.stem()));
    let output = Command::new(root().join("tools/toolchain/compile.sh"))
        .args([compiler, target, mode])
        .args([&case.path, &compiled])
        .output()?;
    if output.status.code() == Some(NOT_INSTALLED) {
        return missing::skip(&format!("{compiler} is not installed"));
    }
    if !output.status.success() {
        return Err(format!("compile.sh failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let mut args: Vec<_> = case.args().into_iter().map(std::ffi::OsString::from).collect();
    args.pop();
    args.push(compiled.clone().into());
    let (code, document) = report::check(args)?;
    let source = format!("{}.cu", case.stem());
    let mut wanted = expected(&case.text, &tags(compiler, target, mode))?;
    wanted.dedup();
    let mut problems = difference(&wanted, &report::by_source_line(&document, &source)?);
    if code == 2 {
        problems.push(format!("the exit code is 2: {:#}", document["inputs"]));
    }
    if problems.is_empty() {
        Ok(Completion::Completed)
    } else {
        Err(problems.join("\n").into())
    }
}

//! The CUDA sources of the corpus: what their markers say is what clang reports, and opt of the IR that clang writes.
//!
//! Each source is compiled in one mode, in turn from source to source. With `LIVE_TARGETS=all`, in both.

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::cases::{Case, files};
use ptxcheck_tests::expectation::{Expected, difference, expected, tags_of_ir};
use ptxcheck_tests::{binary, missing, root};

use super::compilers::{Project, Said};

/// The mode whose markers hold, and the flags.
const MODES: [(&str, &str); 2] = [("G", "-O0"), ("O3", "-O2")];

/// Exit code of `compile.sh` where the compiler is not installed.
const NOT_INSTALLED: i32 = 3;

pub fn trials() -> Vec<Trial> {
    let all = std::env::var_os("LIVE_TARGETS").is_some_and(|value| value == "all");
    let mut trials = Vec::new();
    for (number, path) in files("corpus/cuda", "cu").into_iter().enumerate() {
        let case = match Case::read(&path) {
            Ok(case) => case,
            Err(problem) => {
                trials.push(Trial::test(path.display().to_string(), || Err(problem.into())));
                continue;
            }
        };
        if !case.wants("compilers", "clang") {
            continue;
        }
        for (turn, (mode, level)) in MODES.into_iter().enumerate() {
            if all || turn == number % MODES.len() {
                let case = case.clone();
                let name = format!("{} {level}", case.name);
                trials.push(Trial::ignorable_test(name, move || try_case(&case, mode, level)));
            }
        }
    }
    trials
}

fn try_case(case: &Case, mode: &str, level: &str) -> Result<Completion, Failed> {
    let target = ["sm_90", "sm_75", "sm_120", "sm_90a", "sm_100a"]
        .into_iter()
        .find(|target| case.wants("targets", target))
        .ok_or("no target is wanted")?;
    let project = Project::new("")?;
    let compiled = project.path("k.ll");
    // opt ends at the first error, and clang at the twentieth.
    let mut options = case.args();
    options.pop();
    options.extend(["--fail-on".to_owned(), "never".to_owned()]);
    let options = options.join(" ");
    let output = Command::new(root().join("tools/toolchain/compile.sh"))
        .args(["--as-is", "clang", target, "O3"])
        .args([&case.path, &compiled])
        .args(["-emit-llvm", "-g", level])
        .arg(format!("-fpass-plugin={}", binary::plugin().display()))
        .env("PTXCHECK", binary::path())
        .env("PTXCHECK_ARGS", &options)
        .output()?;
    if output.status.code() == Some(NOT_INSTALLED) {
        return missing::skip("clang is not installed");
    }
    let source = format!("{}.cu", case.stem());
    hold(case, target, mode, &source, &Said::of(&output)).map_err(|problem| format!("clang: {problem}"))?;
    let Some(mut opt) = project.opt(&["-passes=ptxcheck", "k.ll"]) else {
        return missing::skip("opt-22 is not installed");
    };
    let output = opt.env("PTXCHECK_ARGS", &options).output()?;
    hold(case, target, mode, &source, &Said::of(&output)).map_err(|problem| format!("opt: {problem}"))?;
    Ok(Completion::Completed)
}

/// Holds what a compiler said against the case's markers.
fn hold(case: &Case, target: &str, mode: &str, source: &str, said: &Said) -> Result<(), String> {
    if said.code != Some(0) || said.text.contains("ptxcheck:") {
        return Err(format!("exit code {:?}\n{}", said.code, said.text));
    }
    let mut found = reported(&said.text, source);
    let mut wanted = expected(&case.text, &tags_of_ir(target, mode))?;
    wanted.dedup();
    // As in `llvm.rs`: IR may have what a code generator loses.
    for (other, _) in MODES {
        let allowed = expected(&case.text, &tags_of_ir(target, other))?;
        wanted.extend(allowed.into_iter().filter(|one| found.contains(one)));
    }
    let has_cast = |line| found.iter().any(|one| one.line == line && one.code == "PTX202");
    wanted.retain(|one| one.code != "PTX210" || found.contains(one) || !has_cast(one.line));
    // Where a finding has no line, its diagnostic has that of its function, if it is in one.
    for one in wanted.iter_mut().filter(|one| one.line == 0) {
        let place = found.iter().find(|found| found.code == one.code);
        one.line = place.map_or(0, |found| found.line);
    }
    // A diagnostic does not say how certain it is.
    for one in &mut wanted {
        one.is_potential = false;
    }
    for list in [&mut wanted, &mut found] {
        list.sort();
        list.dedup();
    }
    let problems = difference(&wanted, &found);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("{}\n{}", problems.join("\n"), said.text))
    }
}

/// The findings: `k.cu:4:8: warning: … [PTX407 zero-mask]` of clang, `warning: k.cu:4:8: …` of opt, with line 0 where
/// they name none of the source.
fn reported(text: &str, source: &str) -> Vec<Expected> {
    let finding = |line: &str| {
        let (place, _) = line.trim_start_matches("warning: ").split_once(' ')?;
        let mut parts = place.split(':');
        let is_here = Path::new(parts.next()?).file_name()? == source;
        let number = parts.next().and_then(|number| number.parse().ok());
        let (_, code) = line.split_once("[PTX")?;
        Some(Expected {
            line: number.filter(|_| is_here).unwrap_or(0),
            code: format!("PTX{}", code.get(..3)?),
            is_potential: false,
        })
    };
    text.lines().filter_map(finding).collect()
}

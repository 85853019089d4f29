//! The CUDA sources of the corpus: what their markers say is what opt reports of the IR that clang wrote, and clang itself.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::expectation::{Expected, difference};
use ptxcheck_tests::outputs::{self, Output, Outputs};
use ptxcheck_tests::{binary, ir, missing};

use super::super::live;
use super::compilers::{Project, Said};

/// A trial for each IR that is committed, with opt; and with `LIVE` set, one for each CUDA source, with clang.
pub fn trials() -> Vec<Trial> {
    let read = Outputs::read().and_then(|table| Ok((Arc::new(table), outputs::committed()?)));
    let (table, all) = match read {
        Ok(read) => read,
        Err(problem) => return vec![Trial::test("the outputs are read", || Err(problem.into()))],
    };
    let mut trials = Vec::new();
    for output in all.into_iter().filter(Output::is_ir) {
        if live::part().is_ok_and(|part| part.is_some_and(|part| part.has(&output))) {
            let (name, output) = (
                format!("live clang with the plugin {}", output.path),
                output.clone(),
            );
            trials.push(Trial::ignorable_test(name, move || try_clang(&output)));
        }
        let table = Arc::clone(&table);
        let name = format!("opt with the plugin {}", output.path);
        trials.push(Trial::ignorable_test(name, move || try_opt(&table, &output)));
    }
    trials
}

/// Options for the check inside a compiler: opt ends at the first error, and clang at the twentieth.
fn options(output: &Output) -> String {
    let mut options = output.case.options();
    options.extend(["--fail-on".to_owned(), "never".to_owned()]);
    options.join(" ")
}

fn try_opt(table: &Outputs, output: &Output) -> Result<Completion, Failed> {
    let project = Project::new("")?;
    fs::write(project.path("k.ll"), table.content(output)?)?;
    let Some(mut opt) = project.opt(&["-passes=ptxcheck", "k.ll"]) else {
        return missing::skip("opt-22 is not installed");
    };
    let said = opt.env("PTXCHECK_ARGS", options(output)).output()?;
    hold(output, &Said::of(&said))?;
    Ok(Completion::Completed)
}

fn try_clang(output: &Output) -> Result<Completion, Failed> {
    let plugin = format!("-fpass-plugin={}", binary::plugin().display());
    let project = Project::new("")?;
    let mut command = output.command(&project.path("k.ll"));
    command
        .arg(plugin)
        .env("PTXCHECK", binary::path())
        .env("PTXCHECK_ARGS", options(output));
    let said = command.output()?;
    if said.status.code() == Some(outputs::NOT_INSTALLED) {
        return missing::skip("clang is not installed");
    }
    hold(output, &Said::of(&said))?;
    Ok(Completion::Completed)
}

/// Holds what a compiler said against the markers of the source.
fn hold(output: &Output, said: &Said) -> Result<(), String> {
    if said.code != Some(0) || said.text.contains("ptxcheck:") {
        return Err(format!("exit code {:?}\n{}", said.code, said.text));
    }
    let mut found = reported(&said.text, &format!("{}.cu", output.case.stem()));
    // A diagnostic does not say how certain it is.
    let certain = |mut one: Expected| {
        one.is_potential = false;
        one
    };
    let potential = |one: &Expected| Expected {
        is_potential: true,
        ..one.clone()
    };
    let either: Vec<Expected> = found.iter().cloned().chain(found.iter().map(potential)).collect();
    let mut wanted: Vec<Expected> = ir::wanted(output, &either)?.into_iter().map(certain).collect();
    // Where a finding has no line, its diagnostic has that of its function, if it is in one.
    for one in wanted.iter_mut().filter(|one| one.line == 0) {
        let place = found.iter().find(|found| found.code == one.code);
        one.line = place.map_or(0, |found| found.line);
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

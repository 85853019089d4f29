//! `ptxcheck diff`: the kernels of two releases, compared.

use std::path::Path;

use anstream::ColorChoice;
use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::release::{ChangeKind, Contents, Diff};
use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::{check, shown};
use ptxcheck_report::diff::{self, Releases};
use ptxcheck_report::{escape, summary};

use crate::args::{DiffArgs, DiffFormat, GpuList};
use crate::exit::Exit;
use crate::{config, inputs, output};

/// Prints the differences.
#[must_use]
pub fn run(args: &DiffArgs) -> Exit {
    let settings = match config::read(args.config.as_deref()) {
        Ok(config) => config.settings(),
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let gpus = if args.gpu.is_empty() {
        settings.policy.gpus.clone()
    } else {
        GpuList::all(&args.gpu)
    };
    let settings = Settings {
        threads: args.jobs,
        timeout: args.timeout,
        images_only: true,
        digest_kernels: true,
        policy: ptxcheck_passes::policy::Policy::default(),
        worker: super::worker::command(),
        mlir_worker: super::worker::mlir_command(),
        ..settings
    };
    let old = match Side::read(&args.old, &gpus, &settings) {
        Ok(side) => side,
        Err(problem) => return output::complain(&problem),
    };
    let new = match Side::read(&args.new, &gpus, &settings) {
        Ok(side) => side,
        Err(problem) => return output::complain(&problem),
    };
    let diff = Diff::new(&old.contents, &new.contents);
    let releases = Releases {
        old: &old.name,
        new: &new.name,
        diff: &diff,
    };
    let printed = match args.format {
        DiffFormat::Text => output::print(&diff::text(&releases), args.color.into()),
        DiffFormat::Markdown => output::print(&diff::markdown(&releases), ColorChoice::AlwaysAnsi),
        DiffFormat::Json => match diff::json(&releases) {
            Ok(text) => output::print(&text, ColorChoice::AlwaysAnsi),
            Err(error) => output::complain(&error.to_string()),
        },
    };
    let denied: Vec<ChangeKind> = args.deny.iter().flat_map(|list| list.0.iter().copied()).collect();
    let judged = if is_denied(&diff, &denied) {
        Exit::Findings
    } else {
        Exit::Clean
    };
    printed.worst(judged).worst(old.exit).worst(new.exit)
}

/// True if a change of these kinds is there. A target that a whole release gained or lost is one of all its kernels.
fn is_denied(diff: &Diff<'_>, denied: &[ChangeKind]) -> bool {
    let of_kernels = diff.counts().into_keys().any(|kind| denied.contains(&kind));
    let mut targets = diff.targets.iter();
    let of_targets = targets.any(|target| match (target.old, target.new) {
        (Some(_), None) => denied.contains(&ChangeKind::TargetRemoved),
        (None, Some(_)) => denied.contains(&ChangeKind::TargetAdded),
        _ => false,
    });
    of_kernels || of_targets
}

/// One of the two releases.
struct Side {
    name: String,
    contents: Contents,
    exit: Exit,
}

impl Side {
    fn read(path: &Path, gpus: &[Gpu], settings: &Settings) -> Result<Self, String> {
        let name = shown::path(path.as_os_str()).into_owned();
        let (inputs, _) = inputs::collect(&[path.to_owned()], settings);
        let outcome = check(inputs, settings);
        let problems = problems(&outcome);
        if !problems.is_empty() {
            output::write_stderr(&problems, ColorChoice::Auto);
        }
        if outcome.inputs.iter().all(|input| input.status == Status::Skipped) {
            return Err(format!("no device code in `{}`", escape::line(&name)));
        }
        let exit = if outcome.inputs.iter().any(summary::is_undone) {
            Exit::Undone
        } else {
            Exit::Clean
        };
        Ok(Self {
            name,
            contents: Contents::of(&outcome.inputs, gpus),
            exit,
        })
    }
}

/// The problems of inputs, a line each.
fn problems(outcome: &Outcome) -> String {
    let mut lines = String::new();
    for input in &outcome.inputs {
        for problem in &input.problems {
            lines.push_str(&escape::line(&format!("{}: {}", input.name, problem.message)));
            lines.push('\n');
        }
    }
    lines
}

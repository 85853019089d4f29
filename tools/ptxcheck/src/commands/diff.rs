//! `ptxcheck diff`: the kernels of two releases, compared.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::ColorChoice;
use clap::{Args, ValueEnum};
use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::release::{ChangeKind, Contents, Diff};
use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::{check, shown};
use ptxcheck_report::diff::{self, Releases};
use ptxcheck_report::{escape, summary};

use crate::exit::Exit;
use crate::gpus::{GpuList, parse_gpus};
use crate::options::{Color, parse_seconds};
use crate::{config, inputs, output};

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The old release: a file, package or folder
    #[arg(value_name = "OLD")]
    pub old: PathBuf,

    /// The new release
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// Also compare what these GPUs load, as in `7.5,8.6,12.0`; `all` for all that CUDA 13 compiles for. Without this option,
    /// those of the policy
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = parse_gpus)]
    pub gpu: Vec<GpuList>,

    /// Kinds of change that make the exit code 1, as in `removed,target-removed,signature,stub,forecast`; `all` for all
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = parse_kinds)]
    pub deny: Vec<KindList>,

    /// Format of the output
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// Read the GPUs from this configuration, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Threads; 0 for one a core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,

    /// Longest that one input may take, from opening it to its last image
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
}

/// A format of `diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// Tables
    Text,
    /// For the summary of a job, or a comment
    Markdown,
    /// One document for programs
    Json,
    /// One page for a browser
    Html,
}

/// The kinds of change that one word stands for.
#[derive(Clone, Debug)]
pub struct KindList(pub Vec<ChangeKind>);

fn parse_kinds(text: &str) -> Result<KindList, String> {
    let fits = |kind: &ChangeKind| text == "all" || kind.as_str() == text;
    let kinds: Vec<ChangeKind> = ChangeKind::ALL.into_iter().filter(fits).collect();
    if kinds.is_empty() {
        let known: Vec<&str> = ChangeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        return Err(format!("the kinds are {}, and `all`", known.join(", ")));
    }
    Ok(KindList(kinds))
}

/// Prints the differences.
#[must_use]
pub fn run(args: &DiffArgs) -> Exit {
    let compared = match Compared::of(args) {
        Ok(compared) => compared,
        Err(problem) => return output::complain(&problem),
    };
    for side in [&compared.old, &compared.new] {
        if !side.problems.is_empty() {
            output::write_stderr(&side.problems, ColorChoice::Auto);
        }
    }
    let diff = compared.diff();
    let releases = compared.releases(&diff);
    let printed = match args.format {
        DiffFormat::Text => output::print(&diff::text(&releases), args.color.into()),
        DiffFormat::Markdown => output::print(&diff::markdown(&releases), ColorChoice::AlwaysAnsi),
        DiffFormat::Json => match diff::json(&releases) {
            Ok(text) => output::print(&text, ColorChoice::AlwaysAnsi),
            Err(error) => output::complain(&error.to_string()),
        },
        DiffFormat::Html => output::print(&diff::html(&releases), ColorChoice::AlwaysAnsi),
    };
    let denied: Vec<ChangeKind> = args.deny.iter().flat_map(|list| list.0.iter().copied()).collect();
    let denied = diff::denied(&diff, &denied);
    let judged = if denied.is_empty() {
        Exit::Clean
    } else {
        output::write_stderr(&format!("denied: {denied}\n"), ColorChoice::Auto);
        Exit::Findings
    };
    printed
        .worst(judged)
        .worst(compared.old.exit)
        .worst(compared.new.exit)
}

/// Two releases that were read.
pub(super) struct Compared {
    old: Side,
    new: Side,
}

impl Compared {
    /// Reads the releases that the arguments name.
    ///
    /// # Errors
    ///
    /// A sentence for the terminal: about the configuration, or a release without device code.
    pub(super) fn of(args: &DiffArgs) -> Result<Self, String> {
        let config =
            config::read(args.config.as_deref()).map_err(|problem| escape::line(&problem).into_owned())?;
        let settings = config.settings();
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
            ir_reader: super::worker::ir_reader(),
            mlir_worker: super::worker::mlir_command(),
            ..settings
        };
        // Before minutes go into reading one of them.
        if let Some(problem) = [&args.old, &args.new]
            .into_iter()
            .find_map(|path| inputs::absence(path))
        {
            return Err(problem);
        }
        Ok(Self {
            old: Side::read(&args.old, &gpus, &settings)?,
            new: Side::read(&args.new, &gpus, &settings)?,
        })
    }

    /// A sentence about what could not be read, if that is so.
    pub(super) fn problem(&self) -> Option<&str> {
        let mut problems = [&self.old, &self.new]
            .into_iter()
            .map(|side| side.problems.trim_end());
        problems.find(|problem| !problem.is_empty())
    }

    /// The differences.
    pub(super) fn diff(&self) -> Diff<'_> {
        Diff::new(&self.old.contents, &self.new.contents)
    }

    /// Both, with their differences, to be written.
    pub(super) fn releases<'a>(&'a self, diff: &'a Diff<'a>) -> Releases<'a> {
        Releases {
            old: &self.old.name,
            new: &self.new.name,
            diff,
        }
    }
}

/// One of the two releases.
struct Side {
    name: String,
    contents: Contents,
    /// Problems with reading it, a line each.
    problems: String,
    exit: Exit,
}

impl Side {
    fn read(path: &Path, gpus: &[Gpu], settings: &Settings) -> Result<Self, String> {
        let name = shown::path(path.as_os_str()).into_owned();
        let inputs = inputs::collect(&[path.to_owned()], settings).inputs;
        let outcome = check(inputs, settings);
        let problems = problems(&outcome);
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
            problems,
            exit,
        })
    }
}

/// The problems of inputs, a line each.
pub(super) fn problems(outcome: &Outcome) -> String {
    let mut lines = String::new();
    for input in &outcome.inputs {
        for problem in &input.problems {
            lines.push_str(&escape::line(&format!("{}: {}", input.name, problem.message)));
            lines.push('\n');
        }
    }
    lines
}

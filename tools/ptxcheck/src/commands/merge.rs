//! `ptxcheck merge`: the shards of several machines as one run.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use ptxcheck_passes::Registry;
use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shard::Shard;
use ptxcheck_report::audit::Shown;
use ptxcheck_report::coverage::Coverage;
use ptxcheck_report::format::Audit;
use ptxcheck_report::{escape, known, summary};

use crate::baseline::{BaselineArgs, Prepared};
use crate::exit::Exit;
use crate::gpus::ForecastArgs;
use crate::reports::{Report, ReportArgs};
use crate::{config, output, shards};

/// Arguments of `merge`.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// The files that `--shard I/N --output shard=FILE` has written, all of one run, in any order; one may hold several of them, one
    /// behind the other; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// `--format` and the like.
    #[command(flatten)]
    pub report: ReportArgs,

    /// Say what became of each input, and show the findings that a baseline has
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,

    /// No summary, and no tables of an audit
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// The forecast, of shards of an audit.
    #[command(flatten)]
    pub forecast: ForecastArgs,

    /// List the kernels that take most registers, by target, of shards of an audit
    #[arg(long)]
    pub resources: bool,

    /// List bytes by target and use, and the kernels with most code, of shards of an audit
    #[arg(long)]
    pub sizes: bool,

    /// Report entries of a baseline that no longer occur (PTX906)
    #[arg(long)]
    pub strict_config: bool,

    /// `--baseline`, `--write-baseline`.
    #[command(flatten)]
    pub baseline: BaselineArgs,

    /// Shards without any device code are not an error
    #[arg(long)]
    pub allow_empty: bool,
}

/// Merges shards, and prints what was found as `check` or `audit` would have.
#[must_use]
pub fn run(args: &MergeArgs) -> Exit {
    let started = Instant::now();
    let read: Result<Vec<Vec<Shard>>, String> = args.files.iter().map(|file| shards::read(file)).collect();
    let read = match read {
        Ok(shards) => shards.concat(),
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let Some(first) = read.first() else {
        return output::complain("there are no shards to merge");
    };
    let (is_audit, policy) = (first.is_audit(), first.policy().clone());
    if !is_audit && (args.forecast.is_given() || args.resources || args.sizes) {
        return output::complain(
            "a forecast and `--resources` are of an audit, and these are shards of a check",
        );
    }
    let columns = args.forecast.columns(&policy);
    let settings = first.settings(&Registry::default());
    let config = match config::read(None) {
        Ok(config) => config,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let baseline = args.baseline.or(config.baseline.clone());
    let has_baseline = baseline.is_given();
    let baseline = match Prepared::of(&baseline) {
        Ok(baseline) => baseline,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let mut outcome = match Shard::merge(read, &Registry::default()) {
        Ok(outcome) => outcome,
        Err(problem) => return output::complain(&escape::line(&problem.to_string())),
    };
    let pages = config.pages.clone();
    let root = config.settings().root;
    let settings = Settings {
        root: root.clone(),
        is_strict: args.strict_config,
        ..settings
    };
    let baseline = baseline.settle(&mut outcome, &settings, args.quiet);
    args.report.places.apply(&mut outcome);
    let elapsed = started.elapsed();
    let audit = is_audit.then_some(Audit {
        policy: &policy,
        forecast: &columns,
        ratchet: None,
        tables: (!args.quiet).then_some(Shown {
            resources: args.resources,
            sizes: args.sizes,
        }),
    });
    let report = Report {
        outcome: &outcome,
        elapsed,
        audit,
        root: &root,
        args: &args.report,
        shard: None,
        has_baseline,
        pages: &pages,
    };
    let exit = report.write();
    if args.verbose {
        output::write_stderr(&known::render(&outcome, &report.view()), args.report.color.into());
        output::write_stderr(&summary::render_inputs(&outcome), args.report.color.into());
    }
    if !baseline.said.is_empty() {
        output::write_stderr(&baseline.said, args.report.color.into());
    }
    if !args.quiet && args.report.format.has_summary() {
        let coverage = Coverage::of(&outcome);
        let unanalysed = if is_audit {
            String::new()
        } else {
            coverage.render()
        };
        let view = report.view_on_stderr(args.report.color.into());
        let summary = summary::render(&outcome, &coverage, &unanalysed, &view, elapsed);
        output::write_stderr(&summary, args.report.color.into());
    }
    exit.worst(baseline.exit).worst(judge(&outcome, args))
}

fn judge(outcome: &Outcome, args: &MergeArgs) -> Exit {
    if outcome.inputs.iter().any(summary::is_undone) {
        return Exit::Undone;
    }
    if !args.allow_empty && outcome.inputs.iter().all(|input| input.status == Status::Skipped) {
        return output::complain("no device code in the inputs (--allow-empty makes this a success)");
    }
    if args.report.fail_on.is_reached(outcome) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

//! `ptxcheck merge`: the shards of several machines as one run.

use std::time::Instant;

use ptxcheck_passes::Registry;
use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shard::Shard;
use ptxcheck_report::audit::Shown;
use ptxcheck_report::coverage::Coverage;
use ptxcheck_report::{escape, known, summary};

use crate::args::MergeArgs;
use crate::baseline::Prepared;
use crate::exit::Exit;
use crate::reports::{Kind, Report};
use crate::{config, output, shards};

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
    let kind = if is_audit {
        Kind::Audit {
            policy: &policy,
            forecast: &columns,
            ratchet: None,
            has_tables: !args.quiet,
            shown: Shown {
                resources: args.resources,
                sizes: args.sizes,
            },
        }
    } else {
        Kind::Check
    };
    let report = Report {
        outcome: &outcome,
        elapsed,
        kind,
        root: &root,
        args: &args.report,
        fail_on: args.fail_on,
        shard: None,
        has_baseline,
        pages: &pages,
    };
    let exit = report.write(args.format, &args.output, args.color.into());
    if args.verbose {
        output::write_stderr(&known::render(&outcome, &report.view()), args.color.into());
        output::write_stderr(&summary::render_inputs(&outcome), args.color.into());
    }
    if !baseline.said.is_empty() {
        output::write_stderr(&baseline.said, args.color.into());
    }
    if !args.quiet && args.format.has_summary() {
        let coverage = Coverage::of(&outcome);
        let unanalysed = if is_audit {
            String::new()
        } else {
            coverage.render()
        };
        let view = report.view_on_stderr(args.color.into());
        let summary = summary::render(&outcome, &coverage, &unanalysed, &view, elapsed);
        output::write_stderr(&summary, args.color.into());
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
    if args.fail_on.is_reached(outcome) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

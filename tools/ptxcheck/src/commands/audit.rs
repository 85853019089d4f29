//! `ptxcheck audit`: compares the images of files with a policy.

mod options;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::progress::Progress;
use ptxcheck_passes::release::Comparison;
use ptxcheck_passes::rule::{Family, Level};
use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_passes::shard::Shard;
use ptxcheck_passes::{Certainty, Input, rules};
use ptxcheck_report::audit::Shown;
use ptxcheck_report::coverage::Coverage;
use ptxcheck_report::forecast::Columns;
use ptxcheck_report::format::Audit;
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::{escape, known, pinned, summary};

use crate::baseline::{Prepared, Settled};
use crate::exit::Exit;
use crate::gpus::GpuList;
use crate::inputs::Collected;
use crate::progress::Display;
use crate::reports::Report;
use crate::{config, file_list, inputs, output, ratchet, releases, shards};

pub use options::AuditArgs;

/// Prints tables of what the files hold, then what is wrong with it.
#[must_use]
pub fn run(args: &AuditArgs) -> Exit {
    let audited = match Audited::of(args, Vec::new()) {
        Ok(audited) => audited,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let outcome = &audited.outcome;
    let report = audited.report(args);
    let exit = report.write();
    if args.verbose {
        output::write_stderr(&known::render(outcome, &report.view()), args.report.color.into());
    }
    let is_pinned = args.ratchet.pin.is_some();
    let gpus = &audited.columns.gpus;
    let pinned = match audited.ratchet.pin(&args.ratchet, &outcome.inputs, gpus) {
        Ok(said) => {
            let told = audited.comparison.as_ref();
            let told = told
                .map(|found| pinned::told(found, is_pinned))
                .unwrap_or_default();
            output::write_stderr(&(said + &told), args.report.color.into());
            Exit::Clean
        }
        Err(problem) => output::complain(&escape::line(&problem)),
    };
    let baseline = &audited.baseline;
    if !baseline.said.is_empty() {
        output::write_stderr(&baseline.said, args.report.color.into());
    }
    if !args.quiet && args.report.format.has_summary() {
        // An audit analyses no code of any kind.
        let view = report.view_on_stderr(args.report.color.into());
        let summary = summary::render(outcome, &Coverage::of(outcome), "", &view, audited.elapsed);
        output::write_stderr(&summary, args.report.color.into());
    }
    exit.worst(baseline.exit)
        .worst(pinned)
        .worst(judge(outcome, args))
}

/// The outcome of an audit.
pub(super) struct Audited {
    outcome: Outcome,
    shard: Option<Shard>,
    settings: Settings,
    columns: Columns,
    ratchet: ratchet::Prepared,
    /// The comparison of the release with pinned figures.
    comparison: Option<Comparison>,
    /// Lines about the baseline, and its exit code.
    baseline: Settled,
    elapsed: Duration,
    pages: RulePages,
    has_baseline: bool,
}

impl Audited {
    /// Audits the inputs that the arguments name, and more of them.
    ///
    /// # Errors
    ///
    /// A sentence about an error in the configuration or in a list of inputs.
    pub(super) fn of(args: &AuditArgs, more: Vec<Input>) -> Result<Self, String> {
        let started = Instant::now();
        let config = config::read(args.config.as_deref())?;
        let baseline = args
            .baseline
            .or(config.baseline.clone().filter(|_| args.shard.shard.is_none()));
        let (pages, has_baseline) = (config.pages.clone(), baseline.is_given());
        let settings = config.settings();
        let ratchet = ratchet::Prepared::of(&args.ratchet)?;
        let policy = Policy {
            // What is pinned anew is no finding.
            ratchet: ratchet.figures.clone().filter(|_| args.ratchet.pin.is_none()),
            ..policy(args, settings.policy)
        };
        let settings = Settings { policy, ..settings };
        let baseline = Prepared::of(&baseline)?;
        let paths = file_list::with_listed(&args.paths, args.files_from.as_deref())?;
        // Before minutes go into reading the others.
        let named = paths.iter().filter(|path| !releases::is_release(path));
        for problem in named.filter_map(|path| inputs::absence(path)) {
            output::complain(&problem);
        }
        let (paths, packages) = releases::fetch(paths)?;
        let Collected {
            mut inputs, left_out, ..
        } = inputs::collect(&paths, &settings);
        inputs.extend(packages);
        inputs.extend(more);
        let progress = Arc::new(Progress::default());
        let settings = Settings {
            base_levels: levels(&settings.base_levels),
            levels: args.levels.0.clone(),
            threads: args.jobs,
            timeout: args.timeout,
            images_only: true,
            path_maps: args.path_map.clone(),
            is_strict: args.strict_config,
            ir_reader: super::worker::ir_reader(),
            mlir_worker: super::worker::mlir_command(),
            progress: Some(Arc::clone(&progress)),
            left_out,
            ..settings
        };
        let display = Display::of(progress, args.quiet);
        let (mut outcome, shard) = shards::check(inputs, &settings, &args.shard);
        drop(display);
        let baseline = baseline.settle(&mut outcome, &settings, args.quiet);
        args.report.places.apply(&mut outcome);
        Ok(Self {
            comparison: ratchet.compare(&outcome.inputs),
            ratchet,
            outcome,
            shard,
            columns: args.forecast.columns(&settings.policy),
            settings,
            baseline,
            elapsed: started.elapsed(),
            pages,
            has_baseline,
        })
    }

    /// The run, to be written.
    pub(super) fn report<'a>(&'a self, args: &'a AuditArgs) -> Report<'a> {
        Report {
            outcome: &self.outcome,
            elapsed: self.elapsed,
            audit: Some(Audit {
                policy: &self.settings.policy,
                forecast: &self.columns,
                ratchet: self.comparison.as_ref(),
                tables: (!args.quiet).then_some(Shown {
                    resources: args.resources,
                    sizes: args.sizes,
                }),
            }),
            root: &self.settings.root,
            args: &args.report,
            shard: self.shard.as_ref(),
            has_baseline: self.has_baseline,
            pages: &self.pages,
        }
    }
}

/// The policy of the configuration file, with the options of the command line over it.
fn policy(args: &AuditArgs, of_file: Policy) -> Policy {
    let mut policy = of_file;
    if !args.require_sm.is_empty() {
        policy.require_sm.clone_from(&args.require_sm);
    }
    if !args.require_ptx.is_empty() {
        policy.require_ptx.clone_from(&args.require_ptx);
    }
    if !args.require_gpu.is_empty() {
        policy.gpus = GpuList::all(&args.require_gpu);
    }
    if let Some(lists) = &args.allow_jit {
        policy.allow_jit = Some(GpuList::all(lists));
        policy.jit_written.allow = None;
    }
    if args.max_jit.is_some() {
        policy.jit_written.max = None;
    }
    policy.max_jit_bytes = args.max_jit.or(policy.max_jit_bytes);
    policy.stubs = args.stubs.map_or(policy.stubs, Into::into);
    policy.same_virtual_target |= args.same_virtual_target;
    policy.check_variants |= args.check_variants;
    policy.min_driver = args.min_driver.max(args.min_cuda).or(policy.min_driver);
    policy.max_target_bytes = args.max_target_size.or(policy.max_target_bytes);
    policy.forbid_duplicates |= args.forbid_duplicates;
    args.package.apply(&mut policy);
    let budget = args.budget.budget();
    if !budget.is_empty() {
        policy.budgets.push(budget);
    }
    policy
        .required_blocks
        .extend(args.budget.require_block.iter().cloned());
    policy
}

/// An audit checks images; the rules about code are for `check`. Findings that `check` allows because they may be intended are warnings
/// here, unless the configuration says something else.
fn levels(of_file: &[LevelSetting]) -> Vec<LevelSetting> {
    let warn = |rule| LevelSetting {
        selector: Selector::rule(rule),
        level: Level::Warning,
        change: Change::Raise,
    };
    let potential = rules::ALL
        .iter()
        .filter(|rule| rule.family == Family::Image && !rule.can_be(Certainty::Definite));
    potential
        .map(|rule| warn(*rule))
        .chain(of_file.iter().copied())
        .collect()
}

fn judge(outcome: &Outcome, args: &AuditArgs) -> Exit {
    if outcome.inputs.iter().any(summary::is_undone) {
        return Exit::Undone;
    }
    if args.shard.shard.is_none() && outcome.inputs.iter().all(|input| input.status == Status::Skipped) {
        return output::complain("no device code in the inputs");
    }
    if args.report.fail_on.is_reached(outcome) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}

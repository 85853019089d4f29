//! `ptxcheck check`: the analysis.

mod options;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::progress::Progress;
use ptxcheck_passes::recompile::Recompile;
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::settings::Settings;
use ptxcheck_passes::shard::Shard;
use ptxcheck_passes::{Input, rules};
use ptxcheck_report::coverage::Coverage;
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::{escape, hints, known, summary};

use crate::baseline::{BaselineArgs, Prepared, Settled};
use crate::compile::{Database, Recompiler};
use crate::exit::Exit;
use crate::inputs::{Collected, Unread};
use crate::progress::Display;
use crate::reports::Report;
use crate::verdict::Verdict;
use crate::{cache, config, file_list, inputs, output, shards};

pub use options::CheckArgs;

/// Analyses the inputs and prints what was found.
#[must_use]
pub fn run(args: &CheckArgs) -> Exit {
    let recompiler = args.compile_commands.as_deref().map(Database::read).transpose();
    let recompiler = match recompiler {
        Ok(database) => database.map(|database| Recompiler::by_database(database, args.timeout)),
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let checked = match Checked::of(args, recompiler, Vec::new()) {
        Ok(checked) => checked,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let Checked { outcome, elapsed, .. } = &checked;
    let report = checked.report(args);
    let exit = report.write();
    if args.verbose {
        output::write_stderr(&known::render(outcome, &report.view()), args.report.color.into());
        output::write_stderr(&summary::render_inputs(outcome), args.report.color.into());
    }
    if !checked.baseline.said.is_empty() {
        output::write_stderr(&checked.baseline.said, args.report.color.into());
    }
    let coverage = Coverage::of(outcome);
    if !args.quiet && args.report.format.has_summary() {
        let view = report.view_on_stderr(args.report.color.into());
        let summary = summary::render(outcome, &coverage, &coverage.render(), &view, *elapsed);
        let hints = hints::render(outcome, checked.searchable(&coverage));
        output::write_stderr(&(summary + &view.wrap_lines(&hints, 4)), args.report.color.into());
    }
    let verdict = Verdict::of(
        outcome,
        &coverage,
        checked.recompiler.as_deref(),
        &checked.unread,
        args,
    );
    if !verdict.said.is_empty() {
        output::write_stderr(&verdict.said, args.report.color.into());
    }
    exit.worst(checked.baseline.exit).worst(verdict.exit)
}

/// The outcome of a check.
pub(super) struct Checked {
    pub(super) outcome: Outcome,
    pub(super) recompiler: Option<Arc<Recompiler>>,
    /// MLIR that nothing here reads.
    pub(super) unread: Unread,
    /// Lines about the baseline, and its exit code.
    pub(super) baseline: Settled,
    elapsed: Duration,
    pub(super) root: Root,
    shard: Option<Shard>,
    /// No configuration was read, and conditional findings were not asked for.
    is_by_default: bool,
    pub(super) pages: RulePages,
    has_baseline: bool,
}

impl Checked {
    /// Checks the inputs that the arguments name, and more of them.
    ///
    /// # Errors
    ///
    /// A sentence about an error in the configuration or in a list of inputs.
    pub(super) fn of(
        args: &CheckArgs,
        recompiler: Option<Recompiler>,
        more: Vec<Input>,
    ) -> Result<Self, String> {
        let started = Instant::now();
        let Configured {
            settings,
            pages,
            baseline,
        } = Configured::of(args)?;
        let has_baseline = baseline.is_given();
        let baseline = Prepared::of(&baseline)?;
        let paths = file_list::with_listed(&args.paths, args.files_from.as_deref())?;
        let recompiler = recompiler.map(Arc::new);
        let progress = Arc::new(Progress::default());
        let Collected {
            mut inputs,
            left_out,
            unread,
        } = inputs::collect(&paths, &settings);
        inputs.extend(more);
        let settings = Settings {
            ir_reader: super::worker::ir_reader(),
            mlir_worker: super::worker::mlir_command(),
            progress: Some(Arc::clone(&progress)),
            left_out,
            report_cache: cache::reports(args.cache.as_deref())?,
            recompile: recompiler
                .clone()
                .map(|recompiler| recompiler as Arc<dyn Recompile>),
            ..settings
        };
        let display = Display::of(progress, args.quiet);
        let (mut outcome, shard) = shards::check(inputs, &settings, &args.shard);
        drop(display);
        let baseline = baseline.settle(&mut outcome, &settings, args.quiet);
        args.report.places.apply(&mut outcome);
        Ok(Self {
            outcome,
            recompiler,
            unread,
            baseline,
            elapsed: started.elapsed(),
            is_by_default: settings.file.is_none() && !wants_conditional(&settings),
            root: settings.root,
            shard,
            pages,
            has_baseline,
        })
    }

    /// The number of kernels that `-W conditional` would search, where nobody has decided about it.
    fn searchable(&self, coverage: &Coverage<'_>) -> usize {
        let analysed = coverage.kernels.saturating_sub(coverage.unanalysed_kernels);
        if self.is_by_default { analysed } else { 0 }
    }

    /// The run, to be written.
    pub(super) fn report<'a>(&'a self, args: &'a CheckArgs) -> Report<'a> {
        Report {
            outcome: &self.outcome,
            elapsed: self.elapsed,
            audit: None,
            root: &self.root,
            args: &args.report,
            shard: self.shard.as_ref(),
            has_baseline: self.has_baseline,
            pages: &self.pages,
        }
    }
}

/// True if some rule reports conditional findings.
fn wants_conditional(settings: &Settings) -> bool {
    let mut rules = rules::ALL
        .iter()
        .filter(|rule| rule.can_be(Certainty::Conditional));
    rules.any(|rule| settings.level(rule, Certainty::Conditional, rule.definite) > Level::Allow)
}

/// A check as the configuration file and the options of the command line make it.
struct Configured {
    settings: Settings,
    pages: RulePages,
    baseline: BaselineArgs,
}

impl Configured {
    /// Reads the configuration file; options win over it.
    ///
    /// # Errors
    ///
    /// A sentence about an error in the file.
    fn of(args: &CheckArgs) -> Result<Self, String> {
        let config = config::read(args.config.as_deref())?;
        // Shards are compared with a baseline when they are merged.
        let of_config = config.baseline.clone().filter(|_| args.shard.shard.is_none());
        let (pages, baseline) = (config.pages.clone(), args.baseline.or(of_config));
        let settings = super::launched::apply(&args.launched, config.settings())?;
        Ok(Self {
            settings: Settings {
                levels: args.levels.0.clone(),
                link_set: args.link_set,
                whole_program: args.whole_program,
                // Policies for releases are for audits.
                policy: Policy::default(),
                kernels: args.kernel.clone(),
                path_maps: args.path_map.clone(),
                is_strict: args.strict_config,
                timeout: args.timeout,
                threads: args.jobs,
                ..settings
            },
            pages,
            baseline,
        })
    }
}

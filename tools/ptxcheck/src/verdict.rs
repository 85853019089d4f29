//! The exit code that a check deserves, and what is to be said of it.

use ptxcheck_passes::recompile::Architecture;
use ptxcheck_passes::run::{Outcome, Status};
use ptxcheck_report::coverage::{Coverage, gaps};
use ptxcheck_report::summary;

use crate::commands::check::CheckArgs;
use crate::compile::Recompiler;
use crate::exit::Exit;
use crate::inputs::Unread;
use crate::unanalysed;

/// The head of what is said with `--require-analysed`.
const NOT_ALL: &str = "not everything was analysed (--require-analysed): ";

/// An exit code, and lines for standard error.
#[derive(Debug)]
pub struct Verdict {
    /// The exit code.
    pub exit: Exit,
    /// Lines; empty where nothing is to be said.
    pub said: String,
}

impl Verdict {
    /// The verdict on a run.
    #[must_use]
    pub fn of(
        outcome: &Outcome,
        coverage: &Coverage<'_>,
        recompiler: Option<&Recompiler>,
        unread: &Unread,
        args: &CheckArgs,
    ) -> Self {
        let mut verdict = Self {
            exit: Exit::Clean,
            said: String::new(),
        };
        verdict.account_for(unread, args);
        verdict.account(outcome, coverage, recompiler, args);
        verdict.judge(outcome, unread, args);
        verdict
    }

    fn complain(&mut self, problem: &str) {
        self.said.push_str("ptxcheck: ");
        self.said.push_str(problem);
        self.said.push('\n');
        self.exit = Exit::Undone;
    }

    /// Says that LLVM IR or MLIR was not read.
    fn account_for(&mut self, unread: &Unread, args: &CheckArgs) {
        for sentence in unread.sentences() {
            if args.require_analysed {
                self.complain(&format!("{NOT_ALL}{sentence}"));
            } else {
                self.warn(&sentence);
            }
        }
    }

    fn warn(&mut self, warning: &str) {
        self.said.push_str("ptxcheck: warning: ");
        self.said.push_str(warning);
        self.said.push('\n');
    }

    /// Says which code was not analysed.
    fn account(
        &mut self,
        outcome: &Outcome,
        coverage: &Coverage<'_>,
        recompiler: Option<&Recompiler>,
        args: &CheckArgs,
    ) {
        if recompiler.is_none() && !args.require_analysed {
            if let Some(warning) = coverage.warning() {
                self.warn(&warning);
            }
            return;
        }
        let failures = recompiler.map(Recompiler::failures).unwrap_or_default();
        let is_failed = |input: &str, architecture: &Architecture| {
            failures.contains_key(&(input.to_owned(), architecture.clone()))
        };
        let gaps = gaps(outcome, is_failed);
        let mut sentences = unanalysed::sentences(&gaps, failures, recompiler.is_some());
        if args.require_analysed {
            sentences.extend(coverage.reasons());
        }
        let head = if args.require_analysed { NOT_ALL } else { "" };
        for sentence in sentences {
            self.complain(&format!("{head}{sentence}"));
        }
    }

    fn judge(&mut self, outcome: &Outcome, unread: &Unread, args: &CheckArgs) {
        if outcome.inputs.iter().any(summary::is_undone) {
            self.exit = Exit::Undone;
            return;
        }
        let is_empty = outcome.inputs.iter().all(|input| input.status == Status::Skipped);
        // Another shard may have what there is.
        if is_empty && !args.allow_empty && args.shard.shard.is_none() {
            let sources = unread.sentence_about_sources();
            if let Some(sentence) = sources.filter(|_| outcome.inputs.is_empty()) {
                return self.complain(&format!("no input found: {sentence}"));
            }
            return self.complain(
                if outcome.inputs.is_empty() && outcome.decisions.excluded_inputs > 0 {
                    "all inputs are excluded by the configuration (--allow-empty makes this a success)"
                } else if outcome.inputs.is_empty() {
                    "no input found (--allow-empty makes this a success)"
                } else {
                    "no device code in the inputs: they hold code of the host alone (--allow-empty makes this a success)"
                },
            );
        }
        if args.report.fail_on.is_reached(outcome) {
            self.exit = self.exit.worst(Exit::Findings);
        }
    }
}

//! A run: inputs in, findings out.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Instant;

use ptxcheck_ptx_parser::{Cause, Span, Tree};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::context::{Draft, FunctionContext, ModuleContext, Report};
use crate::finding::{Certainty, Finding};
use crate::frontend::ptx::{self, PtxOrigin};
use crate::image::{self, Form};
use crate::ir::Module;
use crate::limits::{PARALLEL_STATEMENTS, SHOWN_SYNTAX_ERRORS};
use crate::locate::{self, Locator};
use crate::rule::{Check, Level, ProblemKind, Rule};
use crate::settings::Settings;
use crate::{fingerprint, rules};

/// One thing to look at.
#[derive(Debug)]
pub struct Input {
    /// The name to show, as the user gave it (`-` for standard input).
    pub name: String,
    /// Where its bytes come from.
    pub bytes: Bytes,
}

/// Where an input's bytes come from.
#[derive(Debug)]
pub enum Bytes {
    /// A file, read when its turn comes.
    File(PathBuf),
    /// Bytes at hand.
    Memory(Vec<u8>),
}

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All of it was analysed.
    Checked,
    /// Some of it could not be.
    Partly,
    /// None of it could be.
    Failed,
    /// It holds no device code.
    Skipped,
}

impl Status {
    /// The word in documents: `checked`, `partly`, `failed`, `skipped`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Partly => "partly",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What could not be done for an input. Each is also a finding of the 9xx rule for its kind.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Which kind.
    pub kind: ProblemKind,
    /// One sentence.
    pub message: String,
    /// 1-based line in the input, where there is one.
    pub line: Option<u32>,
}

/// One image of an input.
#[derive(Clone, Debug)]
pub struct ImageReport {
    /// `ptx`, …
    pub kind: &'static str,
    /// `sm_90a`; empty if the module does not say.
    pub target: String,
    /// PTX ISA version, `9.2`; empty if the module does not say.
    pub isa: String,
    /// Size in bytes, unpacked.
    pub bytes: u64,
    /// Kernels defined.
    pub kernels: u32,
    /// Functions defined, without the kernels.
    pub functions: u32,
    /// How it was packed.
    pub compression: Option<&'static str>,
    /// The section it lay in.
    pub section: Option<String>,
}

/// What the run says of one input.
#[derive(Debug)]
pub struct InputReport {
    /// The name to show.
    pub name: String,
    /// What became of it.
    pub status: Status,
    /// Its images.
    pub images: Vec<ImageReport>,
    /// What could not be done.
    pub problems: Vec<Problem>,
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    /// One per input, in the order given.
    pub inputs: Vec<InputReport>,
    /// Findings at warning level or above, suppressed ones included, sorted by input, image, offset and code.
    pub findings: Vec<Finding>,
}

/// Analyses `inputs`, in parallel. The result does not depend on the number of threads.
///
/// Whatever goes wrong with one input becomes a [`Problem`] of that input and leaves the others alone.
#[must_use]
pub fn check(inputs: Vec<Input>, settings: &Settings) -> Outcome {
    let work = || {
        inputs
            .into_par_iter()
            .enumerate()
            .map(|(index, input)| one(index, input, settings))
            .collect()
    };
    let checked: Vec<(InputReport, Vec<Finding>)> = match rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
    {
        Ok(pool) => pool.install(work),
        // The machine has no threads to give: rayon's own pool runs on what there is.
        Err(_) => work(),
    };
    let mut outcome = Outcome {
        inputs: Vec::with_capacity(checked.len()),
        findings: Vec::new(),
    };
    for (report, findings) in checked {
        outcome.inputs.push(report);
        outcome.findings.extend(findings);
    }
    locate::sort(&mut outcome.findings);
    number(&mut outcome.findings);
    outcome
}

/// Findings alike in code, function and text are told apart by their order.
fn number(findings: &mut [Finding]) {
    let mut seen: FxHashMap<String, u32> = FxHashMap::default();
    for finding in findings {
        let ordinal = seen.entry(finding.fingerprint.clone()).or_default();
        finding.fingerprint = fingerprint::with_ordinal(&finding.fingerprint, *ordinal);
        *ordinal += 1;
    }
}

/// One input.
fn one(index: usize, input: Input, settings: &Settings) -> (InputReport, Vec<Finding>) {
    guarded(index, input.name, settings, |analysis| analysis.run(input.bytes))
}

/// Runs `work` on a new analysis; a panic inside is a problem of this input.
fn guarded(
    index: usize,
    name: String,
    settings: &Settings,
    work: impl FnOnce(&mut Analysis<'_>),
) -> (InputReport, Vec<Finding>) {
    let analysis = catch_unwind(AssertUnwindSafe(|| {
        let mut analysis = Analysis::new(index, name.clone(), settings);
        work(&mut analysis);
        analysis
    }));
    let analysis = analysis.unwrap_or_else(|payload| {
        let said = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let mut failed = Analysis::new(index, name, settings);
        failed.fail(ProblemKind::Internal, format!("the analysis failed: {said}"));
        failed
    });
    (analysis.report, analysis.findings)
}

/// The analysis of one input.
struct Analysis<'a> {
    index: usize,
    settings: &'a Settings,
    deadline: Option<Instant>,
    report: InputReport,
    findings: Vec<Finding>,
}

impl<'a> Analysis<'a> {
    fn new(index: usize, name: String, settings: &'a Settings) -> Self {
        let report = InputReport {
            name,
            status: Status::Checked,
            images: Vec::new(),
            problems: Vec::new(),
        };
        let deadline = settings
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        Self {
            index,
            settings,
            deadline,
            report,
            findings: Vec::new(),
        }
    }

    fn run(&mut self, bytes: Bytes) {
        let bytes = match bytes {
            Bytes::Memory(bytes) => bytes,
            Bytes::File(path) => match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) => return self.fail(ProblemKind::Unreadable, format!("cannot read it: {error}")),
            },
        };
        match image::form(&self.report.name, &bytes) {
            Form::Ptx => self.ptx(&bytes),
            Form::Unknown => {
                self.fail(
                    ProblemKind::Unreadable,
                    "it holds no device code that this release reads".to_owned(),
                );
            }
            #[cfg(feature = "llvm")]
            Form::LlvmText | Form::LlvmBitcode => self.llvm(&bytes),
            form => {
                let message = format!("it is {}; this release reads PTX text only", form.describe());
                self.fail(ProblemKind::Unreadable, message);
            }
        }
    }

    fn ptx(&mut self, bytes: &[u8]) {
        let tree = match ptxcheck_ptx_parser::parse(bytes) {
            Ok(tree) => tree,
            Err(error) => return self.fail(ProblemKind::Limit, error.message(bytes)),
        };
        if tree.statements.is_empty() && tree.errors.is_empty() {
            self.report.status = Status::Skipped;
            return;
        }
        let origin = PtxOrigin::new(&tree);
        self.syntax_errors(&tree, &origin);
        if self.is_late() {
            return;
        }
        let module = ptx::lower(&tree, &origin);
        self.image(&module, bytes.len());
        let context = ModuleContext::new(&module, self.settings);
        let mut drafts = Vec::new();
        for rule in rules::ALL.iter().filter(|rule| self.settings.wants(rule)) {
            if self.is_late() {
                break;
            }
            apply(rule, &context, &mut drafts);
        }
        let name = self.report.name.clone();
        let locator = Locator {
            module: &module,
            name: &name,
            input: self.index,
            image: 0,
        };
        let findings = drafts
            .into_iter()
            .filter_map(|draft| locator.finding(draft, self.settings));
        self.findings.extend(findings);
    }

    /// LLVM IR, which a worker looks at.
    #[cfg(feature = "llvm")]
    fn llvm(&mut self, bytes: &[u8]) {
        let checked = crate::worker::check(bytes, self.settings);
        if let Some((kind, message)) = checked.failure {
            return self.fail(kind, message);
        }
        self.report.images.push(ImageReport {
            kind: "llvm-ir",
            target: checked.target,
            isa: checked.isa,
            bytes: bytes.len() as u64,
            kernels: checked.kernels,
            functions: checked.functions,
            compression: None,
            section: None,
        });
        let index = self.index;
        self.findings
            .extend(checked.findings.into_iter().map(|finding| Finding {
                input: index,
                ..finding
            }));
    }

    fn image(&mut self, module: &Module<'_>, bytes: usize) {
        let kernels = module
            .bodies()
            .filter(|(_, function, _)| function.is_kernel())
            .count();
        let functions = module.bodies().count() - kernels;
        self.report.images.push(ImageReport {
            kind: "ptx",
            target: module.target.name.to_owned(),
            isa: module.isa.map(|version| version.to_string()).unwrap_or_default(),
            bytes: bytes as u64,
            kernels: kernels as u32,
            functions: functions as u32,
            compression: None,
            section: None,
        });
    }

    fn syntax_errors(&mut self, tree: &Tree<'_>, origin: &PtxOrigin<'_>) {
        for error in tree.errors.iter().take(SHOWN_SYNTAX_ERRORS) {
            let kind = match error.cause {
                Cause::Malformed => ProblemKind::Syntax,
                Cause::Limit => ProblemKind::Limit,
            };
            self.problem(kind, error.message(tree.source), Some((error.span, origin)));
        }
        let left_out = tree.errors.len().saturating_sub(SHOWN_SYNTAX_ERRORS) + tree.errors_left_out as usize;
        if let (1.., Some(last)) = (left_out, self.findings.last_mut()) {
            last.notes
                .push(format!("{left_out} more errors in this module are not shown"));
        }
        if !tree.errors.is_empty() {
            self.report.status = Status::Partly;
        }
    }

    /// Whether the time for this input is over; the first time, says so.
    fn is_late(&mut self) -> bool {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late {
            self.report.status = Status::Partly;
            let seconds = self.settings.timeout.unwrap_or_default().as_secs_f64();
            let message = format!("the analysis took longer than {seconds} s and was cut short");
            self.problem(ProblemKind::Limit, message, None);
        }
        late
    }

    fn fail(&mut self, kind: ProblemKind, message: String) {
        self.report.status = Status::Failed;
        self.problem(kind, message, None);
    }

    /// Notes a problem, and makes the finding of the rule for its kind.
    fn problem(&mut self, kind: ProblemKind, message: String, place: Option<(Span, &PtxOrigin<'_>)>) {
        let spot = place.map(|(span, origin)| locate::text(origin, span, &self.report.name));
        let line = spot
            .as_ref()
            .and_then(|(location, _)| location.as_ref())
            .map(|location| location.line);
        self.report.problems.push(Problem {
            kind,
            message: message.clone(),
            line,
        });
        let of_kind = |rule: &&&'static Rule| matches!(rule.check, Check::Problem(own) if own == kind);
        let Some(rule) = rules::ALL.iter().find(of_kind) else {
            return;
        };
        let level = self.settings.level(rule, Certainty::Definite, rule.definite);
        if level == Level::Allow {
            return;
        }
        let (location, line_text) = spot.unwrap_or_default();
        self.findings.push(Finding {
            rule,
            certainty: Certainty::Definite,
            level,
            fingerprint: fingerprint::of_instruction(rule.code, "", message.as_bytes()),
            message,
            notes: Vec::new(),
            help: Vec::new(),
            input: self.index,
            image: place.map(|_| 0),
            offset: place.map_or(0, |(span, _)| span.start),
            function: None,
            kernel: None,
            location,
            line_text,
            source: None,
            related: Vec::new(),
            data: BTreeMap::new(),
            suppressed: None,
        });
    }
}

/// Runs one rule over a module.
pub(crate) fn apply(rule: &'static Rule, context: &ModuleContext<'_>, drafts: &mut Vec<Draft>) {
    match rule.check {
        Check::Module(check) => check(context, &mut Report::new(rule, drafts)),
        Check::Function(check) => {
            let of_one = |(id, function, body)| {
                let mut drafts = Vec::new();
                let function = FunctionContext {
                    module: context,
                    id,
                    function,
                    body,
                };
                check(&function, &mut Report::new(rule, &mut drafts));
                drafts
            };
            let bodies: Vec<_> = context.module.bodies().collect();
            let size: usize = bodies.iter().map(|(_, _, body)| body.instructions.len()).sum();
            if size < PARALLEL_STATEMENTS {
                drafts.extend(bodies.into_iter().flat_map(of_one));
            } else {
                drafts.par_extend(bodies.into_par_iter().flat_map_iter(of_one));
            }
        }
        Check::Problem(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_finding() {
        let settings = Settings::default();
        let (report, findings) = guarded(3, "a.ptx".to_owned(), &settings, |_| panic!("a broken invariant"));
        assert_eq!(report.status, Status::Failed);
        assert_eq!(report.problems.len(), 1);
        let finding = &findings[0];
        assert_eq!(
            (finding.rule.code, finding.input, findings.len()),
            ("PTX904", 3, 1)
        );
        assert!(
            finding.message.contains("a broken invariant"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn a_late_analysis_is_cut_short() {
        let settings = Settings {
            timeout: Some(std::time::Duration::ZERO),
            ..Settings::default()
        };
        let bytes = Bytes::Memory(b".version 9.2\n.target sm_90\n.visible .entry k() { }\n".to_vec());
        let (report, findings) = one(
            0,
            Input {
                name: "a.ptx".to_owned(),
                bytes,
            },
            &settings,
        );
        assert_eq!(report.status, Status::Partly);
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.rule.code)
                .collect::<Vec<_>>(),
            ["PTX903"]
        );
    }
}

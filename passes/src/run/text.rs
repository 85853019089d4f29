//! The analysis of one text, PTX or LLVM IR. Its findings name no file: the same text may lie in many places.

use std::sync::Arc;

use ptxcheck_cache::Key;
use ptxcheck_ptx_parser::{Cause, SyntaxError};

use super::definitions::Definitions;
use super::kept_report::{KeptReport, KeptReportLink, Language};
use super::problem::{TextPlace, finding, out_of_time};
use crate::comments::{self, Comment};
use crate::deadline::Deadline;
use crate::driver::{self, ModuleReport};
use crate::finding::{Finding, left_out};
use crate::image::InputError;
use crate::inventory::{Facts, Problem};
use crate::ir::Module;
use crate::ir::linked::{self, LinkedOrigin};
use crate::limits::{MAX_IMPORTED_INSTRUCTIONS, SHOWN_SYNTAX_ERRORS};
use crate::rule::ProblemKind;
use crate::settings::Settings;
use crate::worker::{self, Answer, Start};
use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};

/// The result of the analysis of one text.
#[derive(Default)]
pub(super) struct TextReport {
    pub(super) target: String,
    pub(super) isa: String,
    pub(super) is_64_bit: bool,
    pub(super) facts: Arc<Facts>,
    /// Of input 0 and image 0, in a file without a name.
    pub(super) findings: Vec<Finding>,
    pub(super) problems: Vec<Problem>,
    /// Some of it was not analysed.
    pub(super) is_partial: bool,
    /// Nothing of it was.
    pub(super) is_failed: bool,
    /// It is LLVM IR for something other than NVIDIA's GPUs.
    pub(super) is_for_other_target: bool,
    /// A sentence about code that was too much work to analyse.
    pub(super) limit: Option<String>,
    /// Number of kernels in which the search for witnesses ended at a limit.
    pub(super) unsearched: u32,
    /// Its comments that suppress findings.
    pub(super) comments: Vec<Comment>,
}

/// Options of the analysis of one text.
#[derive(Clone, Copy)]
pub(super) struct TextOptions<'a> {
    pub(super) settings: &'a Settings,
    pub(super) deadline: &'a Deadline,
    /// It is linked with others: functions that the linker merges count.
    pub(super) with_weak: bool,
    /// The functions that other inputs define; `None` if it is not linked with them.
    pub(super) definitions: Option<&'a Definitions<'a>>,
    /// A key of all that it is linked with; `None` if it is not linked, or that is not known.
    pub(super) link_key: Option<Key>,
}

impl<'a> TextOptions<'a> {
    /// The place of the report about a text in a language among those that are kept.
    fn kept_report(self, language: Language, text: &[u8]) -> Option<KeptReport<'a>> {
        let is_link_known = self.definitions.is_some() == self.link_key.is_some();
        let linked = KeptReportLink {
            with_weak: self.with_weak,
            key: self.link_key,
        };
        is_link_known
            .then(|| KeptReport::new(language, text, self.settings, linked))
            .flatten()
    }
}

/// Analyses a text of PTX.
pub(super) fn analyse_ptx(bytes: &[u8], options: TextOptions<'_>) -> TextReport {
    let settings = options.settings;
    let mut report = TextReport::unanalysed(bytes, settings);
    let kept = options.kept_report(Language::Ptx, bytes);
    if let Some((is_64_bit, of_module)) = kept.as_ref().and_then(KeptReport::find) {
        report.is_64_bit = is_64_bit;
        report.add_module(of_module, settings, String::new);
        return report;
    }
    let read = if settings.images_only {
        ptxcheck_ptx_parser::parse_declarations(bytes).map(|tree| (tree, None))
    } else {
        ptx::read(bytes, options.deadline).map(|(tree, code)| (tree, Some(code)))
    };
    let (tree, code) = match read {
        Ok(read) => read,
        Err(error) => {
            report.is_failed = true;
            report.add_problem(settings, ProblemKind::Limit, error.message(bytes), None);
            return report;
        }
    };
    let origin = PtxOrigin::new(&tree);
    let left_out = tree.errors_left_out() as usize;
    report.add_syntax_errors(tree.errors(), left_out, &origin, settings);
    let module = match code {
        Some(code) => code.module(&tree, &origin, options.deadline),
        None => ptx::declarations(&tree, &origin),
    };
    if options.deadline.is_over() {
        // Incomplete facts do not prove that a declaration is missing.
        report.facts = Arc::new(Facts {
            is_damaged: true,
            ..Facts::default()
        });
        report.cut_short(settings, out_of_time(settings).message);
        return report;
    }
    report.add_syntax_errors(&module.errors, module.errors_left_out, &origin, settings);
    report.is_64_bit = tree.address_size() != Some(32);
    let mut facts = ptx::facts(&tree, &module, options.with_weak);
    if settings.digest_kernels {
        ptx::digest_kernels(&tree, &mut facts);
    }
    let of_module = if settings.images_only {
        // Bodies have not been read, so the symbols that they use are unknown.
        let facts = Facts {
            illegal: ptx::illegal(&tree),
            ..facts
        };
        ModuleReport::of(&module, facts)
    } else {
        let facts = driver::with_declarations(&module, facts);
        let linked_origin = LinkedOrigin::new(&origin);
        let module = link(module, &linked_origin, options);
        driver::check_until(&module, facts, settings, options.deadline)
    };
    if let Some(kept) = kept
        && report.problems.is_empty()
    {
        kept.keep(report.is_64_bit, &of_module);
    }
    report.add_module(of_module, settings, || out_of_time(settings).message);
    report
}

/// Has a worker analyse LLVM IR.
pub(super) fn analyse_ir(bytes: &[u8], start: &Start, options: TextOptions<'_>) -> TextReport {
    let settings = options.settings;
    let mut report = TextReport::unanalysed(bytes, settings);
    let kept = options.kept_report(Language::Ir, bytes);
    if let Some((_, of_module)) = kept.as_ref().and_then(KeptReport::find) {
        report.add_module(of_module, settings, String::new);
        return report;
    }
    match worker::check(bytes, settings, start, options.deadline) {
        Answer::Failed(kind, message) => return TextReport::failed(InputError { kind, message }, settings),
        Answer::OtherTarget => report.is_for_other_target = true,
        Answer::Checked(of_module) => {
            if let Some(kept) = kept {
                kept.keep(report.is_64_bit, &of_module);
            }
            report.add_module(*of_module, settings, || {
                worker::message_about_late_module(bytes.len(), settings)
            });
        }
    }
    report
}

/// Copies the functions that other inputs define and the module calls into the module.
fn link<'a>(mut module: Module<'a>, origin: &'a LinkedOrigin<'a>, options: TextOptions<'a>) -> Module<'a> {
    if let Some(definitions) = options.definitions {
        let target = module.target.name;
        let find = |name: &str| definitions.find(target, name);
        linked::link(&mut module, origin, find, MAX_IMPORTED_INSTRUCTIONS);
    }
    module
}

impl TextReport {
    /// The report about a text before anything but its comments has been read.
    fn unanalysed(bytes: &[u8], settings: &Settings) -> Self {
        Self {
            is_64_bit: true,
            comments: if settings.reads_comments {
                comments::of_module(bytes)
            } else {
                Vec::new()
            },
            ..Self::default()
        }
    }

    /// The report about a text whose analysis failed for this reason.
    pub(super) fn failed(error: InputError, settings: &Settings) -> Self {
        let mut report = Self {
            is_64_bit: true,
            is_failed: true,
            ..Self::default()
        };
        report.add_problem(settings, error.kind, error.message, None);
        report
    }

    /// The report about a text whose analysis failed for this reason, at a place in it.
    pub(super) fn failed_at(error: InputError, settings: &Settings, place: Option<TextPlace<'_>>) -> Self {
        let mut report = Self {
            is_64_bit: true,
            is_failed: true,
            ..Self::default()
        };
        report.add_problem(settings, error.kind, error.message, place);
        report
    }

    /// Adds the report about the module in the text; `too_long` is the message for one that was cut short.
    fn add_module(&mut self, report: ModuleReport, settings: &Settings, too_long: impl FnOnce() -> String) {
        self.target = report.target;
        self.isa = report.isa;
        self.facts = Arc::new(report.facts);
        self.limit = report.limit;
        self.unsearched = report.unsearched;
        self.add_left_out(settings, report.left_out);
        if report.is_cut_short {
            self.cut_short(settings, too_long());
        }
        self.findings.extend(report.findings);
    }

    /// Adds a problem, and the finding about it.
    fn add_problem(
        &mut self,
        settings: &Settings,
        kind: ProblemKind,
        message: String,
        place: Option<TextPlace<'_>>,
    ) {
        let place = place.map(TextPlace::locate).unwrap_or_default();
        self.problems
            .push(Problem::new(kind, message.clone(), Some(0), place.line()));
        self.findings.extend(finding(settings, kind, message, place));
    }

    /// Adds the syntax errors, which `left_out` more were found with.
    fn add_syntax_errors(
        &mut self,
        errors: &[SyntaxError],
        left_out: usize,
        origin: &PtxOrigin<'_>,
        settings: &Settings,
    ) {
        let shown = SHOWN_SYNTAX_ERRORS.saturating_sub(self.problems.len());
        for error in errors.iter().take(shown) {
            let kind = match error.cause {
                Cause::Malformed => ProblemKind::Syntax,
                Cause::Limit => ProblemKind::Limit,
            };
            let place = TextPlace {
                span: error.span,
                origin,
            };
            self.add_problem(settings, kind, error.message(origin.source()), Some(place));
        }
        let left_out = errors.len().saturating_sub(shown) + left_out;
        if let (1.., Some(last)) = (left_out, self.findings.last_mut()) {
            last.notes
                .push(format!("{left_out} more errors in this module are not shown"));
        }
        self.is_partial |= !errors.is_empty();
    }

    /// Adds a problem if findings were left out.
    fn add_left_out(&mut self, settings: &Settings, count: usize) {
        if count > 0 {
            self.is_partial = true;
            self.add_problem(settings, ProblemKind::Limit, left_out(count), None);
        }
    }

    /// Adds the problem that the time was over.
    fn cut_short(&mut self, settings: &Settings, message: String) {
        self.is_partial = true;
        self.add_problem(settings, ProblemKind::Limit, message, None);
    }
}

//! The analysis of one PTX text. Where the text lies is not yet known: the same text may lie in many places.

use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptxcheck_ptx_parser::{Cause, SyntaxError};
use rustc_hash::FxHashMap;

use super::definitions::Definitions;
use super::problem::{Placed, Trouble, finding, panic};
use crate::comments::{self, Comment};
use crate::deadline::{Deadline, too_long};
use crate::driver::{self, ModuleReport};
use crate::finding::{Finding, left_out};
use crate::inventory::{Facts, Problem};
use crate::ir::Module;
use crate::ir::linked::{self, LinkedOrigin};
use crate::limits::{MAX_IMPORTED_INSTRUCTIONS, SHOWN_SYNTAX_ERRORS};
use crate::rule::ProblemKind;
use crate::settings::Settings;
#[cfg(feature = "ir")]
use crate::worker::{self, Answer};
use ptxcheck_frontend_ptx::{self as ptx, PtxOrigin};

/// What an analysis of a text says.
#[derive(Default)]
pub(super) struct Read {
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
    /// It is no device code.
    pub(super) is_elsewhere: bool,
    /// What was too much work to analyse, as a sentence.
    pub(super) limit: Option<String>,
    /// What it says of findings that do not count.
    pub(super) comments: Vec<Comment>,
}

/// How a text is looked at.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub(super) settings: &'a Settings,
    pub(super) deadline: &'a Deadline,
    /// It is linked with others: what the linker merges counts.
    pub(super) with_weak: bool,
    /// The bytes of the file are those that others see, and change.
    pub(super) is_mapped: bool,
    /// Where texts go that are analysed with those of other inputs.
    pub(super) waiting: Option<&'a Mutex<Vec<Waiting>>>,
    /// The functions that other inputs define.
    pub(super) definitions: Option<&'a Definitions<'a>>,
}

impl How<'_> {
    fn comments(self, text: &[u8]) -> Vec<Comment> {
        if self.settings.reads_comments {
            comments::of_module(text)
        } else {
            Vec::new()
        }
    }

    /// What to say when the time for the input is over.
    pub(super) fn late(self) -> (ProblemKind, String) {
        (
            ProblemKind::Limit,
            too_long(self.settings.timeout.unwrap_or_default()),
        )
    }
}

/// Analyses a text.
pub(super) fn read(bytes: &[u8], how: How<'_>) -> Read {
    let mut read = Read {
        is_64_bit: true,
        comments: how.comments(bytes),
        ..Read::default()
    };
    let parsed = if how.settings.images_only {
        ptxcheck_ptx_parser::parse_declarations(bytes)
    } else {
        ptxcheck_ptx_parser::parse(bytes)
    };
    let tree = match parsed {
        Ok(tree) => tree,
        Err(error) => {
            read.is_failed = true;
            read.problem(how.settings, ProblemKind::Limit, error.message(bytes), None);
            return read;
        }
    };
    let origin = PtxOrigin::new(&tree);
    read.syntax_errors(
        tree.errors(),
        tree.errors_left_out() as usize,
        &origin,
        how.settings,
    );
    let module = if how.settings.images_only {
        ptx::declarations(&tree, &origin)
    } else {
        ptx::lower_until(&tree, &origin, how.deadline)
    };
    if how.deadline.is_over() {
        // What is missing proves nothing.
        read.facts = Arc::new(Facts {
            is_damaged: true,
            ..Facts::default()
        });
        read.cut_short(how.settings, how.late().1);
        return read;
    }
    read.syntax_errors(&module.errors, module.errors_left_out, &origin, how.settings);
    read.is_64_bit = tree.address_size() != Some(32);
    let facts = ptx::facts(&tree, &module, how.with_weak);
    if how.settings.images_only {
        // What bodies refer to has not been read.
        read.take(ModuleReport::of(&module, facts), how.settings, || how.late().1);
        return read;
    }
    let facts = driver::declared(&module, facts);
    let linked = LinkedOrigin::new(&origin);
    let module = link(module, &linked, how);
    let report = driver::analyse_until(&module, facts, how.settings, how.deadline);
    read.take(report, how.settings, || how.late().1);
    read
}

/// A module with the functions that it calls and other inputs define.
fn link<'a>(mut module: Module<'a>, origin: &'a LinkedOrigin<'a>, how: How<'a>) -> Module<'a> {
    if let Some(definitions) = how.definitions {
        let target = module.target.name;
        let find = |name: &str| definitions.find(target, name);
        linked::link(&mut module, origin, find, MAX_IMPORTED_INSTRUCTIONS);
    }
    module
}

impl Read {
    /// Takes what was found; `late` says that the time is over.
    fn take(&mut self, report: ModuleReport, settings: &Settings, late: impl FnOnce() -> String) {
        self.target = report.target;
        self.isa = report.isa;
        self.facts = Arc::new(report.facts);
        self.limit = report.limit;
        self.left_out(settings, report.left_out);
        if report.is_cut_short {
            self.cut_short(settings, late());
        }
        self.findings.extend(report.findings);
    }

    fn problem(
        &mut self,
        settings: &Settings,
        kind: ProblemKind,
        message: String,
        place: Option<Placed<'_>>,
    ) {
        let placed = place.map(Placed::locate).unwrap_or_default();
        self.problems.push(Problem {
            kind,
            message: message.clone(),
            image: Some(0),
            line: placed.line(),
        });
        self.findings.extend(finding(settings, kind, message, placed));
    }

    /// Reports what is malformed, of which so many more were left out.
    fn syntax_errors(
        &mut self,
        errors: &[SyntaxError],
        left_out: usize,
        origin: &PtxOrigin<'_>,
        settings: &Settings,
    ) {
        let room = SHOWN_SYNTAX_ERRORS.saturating_sub(self.problems.len());
        for error in errors.iter().take(room) {
            let kind = match error.cause {
                Cause::Malformed => ProblemKind::Syntax,
                Cause::Limit => ProblemKind::Limit,
            };
            let place = Placed {
                span: error.span,
                origin,
            };
            self.problem(settings, kind, error.message(origin.source()), Some(place));
        }
        let left_out = errors.len().saturating_sub(room) + left_out;
        if let (1.., Some(last)) = (left_out, self.findings.last_mut()) {
            last.notes
                .push(format!("{left_out} more errors in this module are not shown"));
        }
        self.is_partial |= !errors.is_empty();
    }

    /// Says that there is more to find, if there is.
    fn left_out(&mut self, settings: &Settings, count: usize) {
        if count > 0 {
            self.is_partial = true;
            self.problem(settings, ProblemKind::Limit, left_out(count), None);
        }
    }

    /// Says that the time for this input is over.
    fn cut_short(&mut self, settings: &Settings, message: String) {
        self.is_partial = true;
        self.problem(settings, ProblemKind::Limit, message, None);
    }
}

/// Has a worker analyse IR.
#[cfg(feature = "ir")]
pub(super) fn of_ir(bytes: &[u8], how: How<'_>) -> Read {
    let settings = how.settings;
    let mut read = Read {
        is_64_bit: true,
        comments: how.comments(bytes),
        ..Read::default()
    };
    match worker::check(bytes, settings, how.deadline) {
        Answer::Failed(kind, message) => return failed((kind, message), settings),
        Answer::Elsewhere => read.is_elsewhere = true,
        Answer::Checked(report) => read.take(*report, settings, || worker::too_long(bytes.len(), settings)),
    }
    read
}

/// The texts of a run: each is analysed where it comes up first, and nowhere else.
#[derive(Default)]
pub(super) struct Texts {
    hasher: RandomState,
    read: Mutex<FxHashMap<Key, Arc<Read>>>,
    /// How many places hold each.
    claimed: Mutex<FxHashMap<Key, u32>>,
    /// Those that are analysed together, by input.
    waiting: Mutex<Vec<Vec<Waiting>>>,
}

/// A text and the way it is analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Digest (keyed, so that nobody can make two texts meet) and length.
    pub(super) digest: u128,
    /// With what the linker merges.
    pub(super) with_weak: bool,
    /// With functions of other inputs.
    pub(super) is_linked: bool,
}

/// A text that is analysed when those of the other inputs are there.
pub(super) struct Waiting {
    pub(super) key: Key,
    pub(super) text: Vec<u8>,
}

impl Texts {
    /// A digest of bytes, for this run.
    pub(super) fn digest(&self, bytes: &[u8]) -> u128 {
        u128::from(self.hasher.hash_one(bytes)) << 64 | bytes.len() as u128
    }

    /// True if the caller is to analyse the text: nobody did before.
    pub(super) fn claim(&self, key: Key) -> bool {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let places = claimed.entry(key).or_default();
        *places += 1;
        *places == 1
    }

    /// Keeps the texts of an input for later.
    pub(super) fn wait(&self, texts: Vec<Waiting>) {
        if !texts.is_empty() {
            self.waiting().push(texts);
        }
    }

    /// Those that are kept for later.
    pub(super) fn take_waiting(&self) -> Vec<Vec<Waiting>> {
        std::mem::take(&mut self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Analyses a text that was claimed; a panic inside is a problem of the text.
    pub(super) fn analyse(&self, key: Key, text: &[u8], how: How<'_>) {
        let analysed = catch_unwind(AssertUnwindSafe(|| read(text, how)));
        self.put(
            key,
            analysed.unwrap_or_else(|payload| failed(panic(payload.as_ref()), how.settings)),
        );
    }

    pub(super) fn put(&self, key: Key, read: Read) {
        let mut map = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        map.insert(key, Arc::new(read));
    }

    /// What was found out about a text, once all inputs have been looked at: to be asked once for each place, and gone
    /// with the last. `None` if whoever claimed it never said: a mistake in this program.
    pub(super) fn take(&self, key: Key) -> Option<Arc<Read>> {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut map = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let places = claimed.entry(key).or_default();
        *places = places.saturating_sub(1);
        match places {
            0 => map.remove(&key),
            _ => map.get(&key).cloned(),
        }
    }
}

/// What is known of a text whose analysis failed.
fn failed((kind, message): Trouble, settings: &Settings) -> Read {
    let mut read = Read {
        is_64_bit: true,
        is_failed: true,
        ..Read::default()
    };
    read.problem(settings, kind, message, None);
    read
}

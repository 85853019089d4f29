//! The texts of a run, each analysed once, in however many places it lies.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use ptxcheck_common::maps::TextHasher;

use super::problem::panic;
use super::text::{self, TextOptions, TextReport};
use crate::settings::Settings;
use crate::worker::Start;

/// The index of an input, and the number of a member of the package that it is.
pub(super) type Place = (usize, usize);

/// The texts of a run: each is analysed in the place where it comes up first.
#[derive(Default)]
pub(super) struct TextCache {
    hasher: TextHasher,
    reports: Mutex<FxHashMap<TextKey, Arc<TextReport>>>,
    /// Number of places that each text lies in and whose findings have not been taken.
    places: Mutex<FxHashMap<TextKey, u32>>,
    /// The texts that are linked with those of other inputs, by the index of their input.
    pending: Mutex<BTreeMap<Place, Vec<PendingText>>>,
    /// The start of the worker that reads LLVM IR.
    pub(super) llvm: Start,
    /// The start of the worker that makes texts of MLIR.
    pub(super) mlir: Start,
}

/// A text, and the options of its analysis that findings depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TextKey {
    /// Digest (keyed, so that nobody can make two texts collide) and length.
    pub(super) digest: u128,
    /// Functions that the linker merges count.
    pub(super) with_weak: bool,
    /// Analysed with the functions of other inputs.
    pub(super) is_linked: bool,
    /// Digest of the launches that its host code shows; 0 without any.
    pub(super) launches: u128,
}

/// A text whose analysis waits until the texts of all inputs are known.
pub(super) struct PendingText {
    pub(super) key: TextKey,
    pub(super) text: Vec<u8>,
    /// Its own settings, if they are others than those of the run.
    pub(super) settings: Option<Arc<Settings>>,
}

impl TextCache {
    /// A digest of bytes, for this run.
    pub(super) fn digest(&self, bytes: &[u8]) -> u128 {
        u128::from(self.hasher.hash_one(bytes)) << 64 | bytes.len() as u128
    }

    /// Counts a place that the text lies in. True if it is the first: then the caller has the text analysed.
    pub(super) fn claim(&self, key: TextKey) -> bool {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let count = places.entry(key).or_default();
        *count += 1;
        *count == 1
    }

    /// Keeps a claimed text of the input in this place until all inputs have been scanned.
    pub(super) fn defer(&self, input: Place, text: PendingText) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.entry(input).or_default().push(text);
    }

    /// The texts that were kept, by input.
    pub(super) fn take_pending(&self) -> Vec<Vec<PendingText>> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *pending).into_values().collect()
    }

    /// Analyses a claimed text of PTX; a panic inside is a problem of the text.
    pub(super) fn analyse_ptx(&self, key: TextKey, text: &[u8], options: TextOptions<'_>) {
        let report = catch_unwind(AssertUnwindSafe(|| text::analyse_ptx(text, options)));
        let failed = |payload: Box<dyn std::any::Any + Send>| {
            TextReport::failed(panic(payload.as_ref()), options.settings)
        };
        self.insert(key, report.unwrap_or_else(failed));
    }

    /// Has a worker analyse claimed LLVM IR.
    pub(super) fn analyse_ir(&self, key: TextKey, bytes: &[u8], options: TextOptions<'_>) {
        self.insert(key, text::analyse_ir(bytes, &self.llvm, options));
    }

    pub(super) fn insert(&self, key: TextKey, report: TextReport) {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.insert(key, Arc::new(report));
    }

    /// The report about a text, once all inputs have been scanned: to be asked for once for each place, and gone with the last.
    /// `None` if the thread that claimed it never delivered: a bug in this program.
    pub(super) fn take(&self, key: TextKey) -> Option<Arc<TextReport>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let left = places.entry(key).or_default();
        *left = left.saturating_sub(1);
        match left {
            0 => reports.remove(&key),
            _ => reports.get(&key).cloned(),
        }
    }
}

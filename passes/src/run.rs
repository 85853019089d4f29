//! A run: inputs in, findings out.
//!
//! ```text
//! input.rs: one input ─► bytes.rs: opened (package.rs: its members, if it is a package) ─► content.rs, unpack.rs, image.rs, recompiled.rs: its images ─► scanned.rs
//!                                              └► text_cache.rs: each text once ─► text.rs: its analysis
//! linked.rs, definitions.rs: texts that are linked with other inputs, once all inputs have been scanned
//! assemble.rs: scanned input + reports about its texts ─► findings ◄─ rules that compare images
//! findings ─► dedup.rs: repetitions dropped ─► conclude.rs: what the settings decide ─► Outcome
//! ```

mod assemble;
#[doc(hidden)]
pub mod baseline;
mod bytes;
mod conclude;
mod content;
pub(crate) mod dedup;
mod definitions;
#[doc(hidden)]
pub mod driver;
mod host_launches;
mod image;
mod input;
mod kept_report;
mod linked;
mod mlir;
mod module;
mod package;
mod problem;
mod recompiled;
mod scanned;
#[doc(hidden)]
pub mod shard;
mod text;
mod text_cache;
mod unpack;
#[doc(hidden)]
pub mod worker;

use std::sync::OnceLock;

use ptxcheck_common::maps::NameMap;
use rayon::prelude::*;

use crate::finding::Finding;
use crate::group::{self, Group};
use crate::reach::{self, Bundle};
use crate::settings::Settings;
use crate::sources::Sources;
use crate::{fingerprint, locate};
use package::Scanned;
use ptxcheck_rules::compare::check_images;
use scanned::ScannedInput;
use text_cache::TextCache;

pub(crate) use conclude::ConfigurationFindings;

pub use crate::inventory::{ImageReport, InputReport, Problem, Status};
pub use bytes::Bytes;
pub use input::Input;
pub use module::is_module;

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// One per input, in the order given. A package has one for each member that is an input, called `PACKAGE!MEMBER`, or one for
    /// itself if it has none.
    pub inputs: Vec<InputReport>,
    /// Findings at warning level or above, suppressed ones included, sorted by input, image, offset and code. Those about the
    /// configuration (PTX906, PTX908) come last; the input of one that lies in none of the inputs is the number of inputs.
    pub findings: Vec<Finding>,
    /// The causes of these findings, in the order of the first finding of each.
    pub groups: Vec<Group>,
    /// The effect of the settings on findings that are not there.
    pub decisions: Decisions,
    pub(crate) bundles: OnceLock<Vec<Bundle>>,
}

impl Outcome {
    /// The packages of the run and its other files, with the GPUs that load them. They are computed once, of the inputs that are there then.
    #[must_use]
    pub fn bundles(&self) -> &[Bundle] {
        self.bundles.get_or_init(|| reach::bundles(&self.inputs))
    }
}

/// The effect of the settings on findings that are not in [`Outcome::findings`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decisions {
    /// Number of inputs that [`Settings::exclude`] left out.
    pub excluded_inputs: usize,
    /// Number of findings that it left out.
    pub excluded: usize,
    /// Exceptions that no longer count, as sentences with their places.
    pub expired: Vec<String>,
    /// Entries of a baseline that no longer occur, as sentences with their places.
    pub gone: Vec<String>,
}

/// Analyses `inputs`, in parallel. The result does not depend on the number of threads.
///
/// Whatever goes wrong with one input becomes a [`Problem`] of that input and leaves the others alone.
///
/// ```
/// use ptxcheck_passes::{Bytes, Input, Settings, check};
///
/// let inputs = ["build/a.ptx", "build/libb.so"].map(|path| Input {
///     name: path.to_owned(),
///     bytes: Bytes::File(path.into()),
/// });
/// let outcome = check(inputs.into(), &Settings { threads: 2, ..Settings::default() });
/// assert_eq!(outcome.inputs.len(), 2);
/// // Neither is there, which is a finding about each.
/// assert_eq!(outcome.inputs[1].problems.len(), 1);
/// ```
#[must_use]
pub fn check(inputs: Vec<Input>, settings: &Settings) -> Outcome {
    in_pool(settings, || run(inputs, settings))
}

/// Runs `work` in a pool of as many threads as the settings say.
pub(crate) fn in_pool<T: Send>(settings: &Settings, work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
    {
        Ok(pool) => pool.install(work),
        // The machine has no threads to give: rayon's own pool runs on what there is.
        Err(_) => work(),
    }
}

/// Analyses `inputs` as [`check`] does, in the thread pool of the caller, ignoring the settings for threads: for callers
/// with many small runs, for which starting threads is most of the work.
///
/// ```
/// use ptxcheck_passes::run::Status;
/// use ptxcheck_passes::{Bytes, Input, Settings, check_here};
///
/// let broken = Input { name: "k.ptx".to_owned(), bytes: Bytes::Memory(b".version".to_vec()) };
/// let outcome = check_here(vec![broken], &Settings::default());
/// assert_eq!(outcome.inputs[0].status, Status::Partly);
/// assert_eq!(outcome.findings[0].rule.code, "PTX902");
/// ```
#[must_use]
pub fn check_here(inputs: Vec<Input>, settings: &Settings) -> Outcome {
    run(inputs, settings)
}

fn run(inputs: Vec<Input>, settings: &Settings) -> Outcome {
    let unfinished = unfinished(inputs, settings);
    finish(unfinished.outcome, unfinished.sources)
}

/// The outcome without groups, its findings with the fingerprints that they have before they are numbered.
pub(crate) struct Unfinished {
    pub(crate) outcome: Outcome,
    pub(crate) sources: Sources,
    /// For each input of the outcome: the index of what was given for it, and its number among the inputs of that.
    pub(crate) places: Vec<(usize, usize)>,
    /// Number of members of packages that were left out.
    pub(crate) left_out: usize,
}

pub(crate) fn unfinished(inputs: Vec<Input>, settings: &Settings) -> Unfinished {
    let texts = TextCache::default();
    if let Some(progress) = &settings.progress {
        progress.begin(inputs.len());
    }
    let scanned: Vec<_> = inputs
        .into_par_iter()
        .enumerate()
        .map(|(index, input)| {
            let scanned = input::scan(index, input, settings, &texts);
            if let Some(progress) = &settings.progress {
                progress.step();
            }
            scanned
        })
        .collect();
    let (scanned, places, left_out) = flatten_scanned(scanned);
    let images = scanned
        .iter()
        .map(|input| input.images.iter().map(|image| &image.report));
    linked::analyse(&texts.take_pending(), images, settings, &texts);
    let mut outcome = Outcome {
        inputs: Vec::with_capacity(scanned.len()),
        findings: Vec::new(),
        groups: Vec::new(),
        decisions: Decisions::default(),
        bundles: OnceLock::new(),
    };
    for (index, scanned) in scanned.into_iter().enumerate() {
        let (report, findings) = assemble::assemble(index, scanned, settings, &texts);
        outcome.inputs.push(report);
        outcome.findings.extend(findings);
    }
    let (compared, bundles) = check_images(&outcome.inputs, &settings.for_rules(), &settings.registry);
    outcome.findings.extend(compared);
    outcome.bundles = bundles;
    dedup::drop_imported_repetitions(&mut outcome.findings);
    // An audit reports each file by itself.
    if !settings.images_only {
        dedup::drop_copies(&outcome.inputs, &mut outcome.findings);
    }
    locate::sort_findings(&mut outcome.findings);
    let findings = std::mem::take(&mut outcome.findings);
    let mut concluded = conclude::conclude(&outcome.inputs, findings, &left_out, settings);
    outcome.findings = concluded.findings;
    outcome.findings.append(&mut concluded.about_settings);
    outcome.decisions = Decisions {
        excluded_inputs: settings.left_out.len() + left_out.len(),
        excluded: concluded.excluded,
        expired: concluded.expired,
        ..Decisions::default()
    };
    Unfinished {
        outcome,
        sources: concluded.sources,
        places,
        left_out: left_out.len(),
    }
}

/// The inputs that those given stand for, with the place of each, and the names of what was left out of packages.
fn flatten_scanned(scanned: Vec<Scanned>) -> (Vec<ScannedInput>, Vec<(usize, usize)>, Vec<String>) {
    let mut inputs = Vec::with_capacity(scanned.len());
    let (mut places, mut left_out) = (Vec::with_capacity(scanned.len()), Vec::new());
    for (index, scanned) in scanned.into_iter().enumerate() {
        for (number, input) in scanned.inputs {
            places.push((index, number));
            inputs.push(input);
        }
        left_out.extend(scanned.left_out);
    }
    (inputs, places, left_out)
}

/// Numbers and groups the findings, once they are all there.
pub(crate) fn finish(mut outcome: Outcome, mut sources: Sources) -> Outcome {
    number_findings(&mut outcome.findings);
    outcome.groups = group::groups(&outcome.inputs, &outcome.findings, &mut sources);
    outcome
}

/// Numbers findings that are alike in code, function and text, so that their fingerprints differ.
fn number_findings(findings: &mut [Finding]) {
    let mut seen: NameMap<String, u32> = NameMap::default();
    for finding in findings {
        let ordinal = seen.entry(finding.fingerprint.clone()).or_default();
        finding.fingerprint = fingerprint::with_ordinal(&finding.fingerprint, *ordinal);
        *ordinal += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::ExportedSymbol;
    use crate::patterns::Pattern;
    use crate::policy::Policy;
    use crate::rule::ProblemKind;

    const CLEAN: &[u8] = b".version 9.2\n.target sm_90\n.visible .entry k() { ret; }\n";

    fn input(name: &str, bytes: &[u8]) -> Input {
        Input {
            name: name.to_owned(),
            bytes: Bytes::Memory(bytes.to_vec()),
        }
    }

    fn codes(outcome: &Outcome) -> Vec<&str> {
        outcome.findings.iter().map(|finding| finding.rule.code).collect()
    }

    #[test]
    fn a_panic_becomes_a_finding() {
        let settings = Settings::default();
        let texts = TextCache::default();
        let error = content::catch_panic::<()>(|| panic!("a broken invariant")).unwrap_err();
        let failed = scanned::ScannedInput::refused("a.ptx".to_owned(), error);
        let (report, findings) = assemble::assemble(3, failed, &settings, &texts);
        assert_eq!(report.status, Status::Failed);
        assert_eq!(report.problems.len(), 1);
        assert_eq!(report.problems[0].kind, ProblemKind::Internal);
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
    fn a_lost_analysis_is_a_finding() {
        let settings = Settings::default();
        let texts = TextCache::default();
        let scan = || {
            input::scan(0, input("a.ptx", CLEAN), &settings, &texts)
                .inputs
                .remove(0)
                .1
        };
        let mut scanned = scan();
        let (report, _) = assemble::assemble(0, scanned, &settings, &texts);
        assert_eq!(report.status, Status::Checked);
        // Claimed, and then never heard of.
        let lost = TextCache::default();
        scanned = scan();
        let (report, findings) = assemble::assemble(0, scanned, &settings, &lost);
        assert_eq!(report.status, Status::Failed);
        assert_eq!(report.problems[0].kind, ProblemKind::Internal);
        assert_eq!((findings[0].rule.code, findings.len()), ("PTX904", 1));
    }

    #[test]
    fn a_late_analysis_is_cut_short() {
        let settings = Settings {
            timeout: Some(std::time::Duration::ZERO),
            ..Settings::default()
        };
        let outcome = check(vec![input("a.ptx", CLEAN)], &settings);
        assert_eq!(outcome.inputs[0].status, Status::Failed);
        assert_eq!(codes(&outcome), ["PTX903"]);
    }

    #[test]
    fn a_text_in_two_places_has_its_findings_in_both() {
        let bad = b".version 9.2\n.target sm_90\n.visible .entry k() { bar.warp.sync 0; ret; }\n";
        let outcome = check(
            vec![input("a.ptx", bad), input("b.ptx", CLEAN), input("c.ptx", bad)],
            &Settings::default(),
        );
        let places: Vec<_> = outcome
            .findings
            .iter()
            .map(|finding| {
                (
                    finding.input,
                    finding.location.as_ref().map(|place| place.file.as_str()),
                )
            })
            .collect();
        assert_eq!(places, [(0, Some("a.ptx")), (2, Some("c.ptx"))]);
        assert_ne!(outcome.findings[0].fingerprint, outcome.findings[1].fingerprint);
    }

    /// PTX524.
    #[test]
    fn exported_symbols_are_reported_by_pattern() {
        let policy = Policy {
            hidden_symbols: ["cub::*", "thrust::*"]
                .into_iter()
                .filter_map(|pattern| Pattern::name(pattern).ok())
                .collect(),
            ..Policy::default()
        };
        let settings = Settings {
            policy,
            ..Settings::default()
        };
        let told = |names: &[(usize, &str)]| -> Vec<String> {
            let mut input = InputReport::new("libk.so".to_owned());
            let symbol = |&(pattern, name): &(usize, &str)| ExportedSymbol {
                pattern,
                name: name.to_owned(),
            };
            input.exported = names.iter().map(symbol).collect();
            let findings = check_images(&[input], &settings.for_rules(), &settings.registry)
                .0
                .into_iter();
            findings
                .map(|finding| format!("{} {}", finding.rule.code, finding.message))
                .collect()
        };
        assert_eq!(told(&[]), [""; 0]);
        assert_eq!(
            told(&[(0, "_ZN3cub1fEv"), (0, "_ZN3cub1gEv"), (1, "_ZN6thrust1hEv")]),
            [
                "PTX524 it exports 2 symbols that match `cub::*`",
                "PTX524 it exports `thrust::h()`, which matches `thrust::*`"
            ]
        );
    }
}

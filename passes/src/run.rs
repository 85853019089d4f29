//! A run: inputs in, findings out.
//!
//! `input.rs` looks at one input and its images, `text.rs` analyses PTX (each distinct text once a run), `linked.rs` what is linked
//! with other inputs, `assemble.rs` puts both together, `images.rs` runs the rules that compare images, `copies.rs` leaves out what an object and its archive
//! both say, `conclude.rs` has the settings decide what becomes of findings.

mod assemble;
mod conclude;
mod copies;
mod definitions;
mod images;
mod input;
mod linked;
mod module;
mod problem;
mod text;

use std::path::PathBuf;

use ptxcheck_common::maps::NameMap;
use rayon::prelude::*;

use crate::finding::Finding;
use crate::rule::ProblemKind;
use crate::settings::Settings;
use crate::{fingerprint, locate};

pub use crate::inventory::{ImageReport, InputReport, Problem, Status};
pub use module::is_module;

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
    /// Standard input, read when its turn comes: of one input of a run.
    Standard,
    /// Bytes at hand.
    Memory(Vec<u8>),
    /// None: it was refused before the run, for the reason that the sentence says.
    Refused(ProblemKind, String),
}

/// What a run found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// One per input, in the order given.
    pub inputs: Vec<InputReport>,
    /// Findings at warning level or above, suppressed ones included, sorted by input, image, offset and code. Those about the
    /// configuration (PTX906) come last; the input of one that lies in none of the inputs is the number of inputs.
    pub findings: Vec<Finding>,
    /// What became of findings that are not there.
    pub decisions: Decisions,
}

/// What the settings made of findings, besides those that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decisions {
    /// Inputs that were left out, as [`Settings::exclude`] says.
    pub excluded_inputs: usize,
    /// Findings that were left out, as it says.
    pub excluded: usize,
    /// Exceptions that no longer count, as sentences with their places.
    pub expired: Vec<String>,
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
    let work = || run(inputs, settings);
    match rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
    {
        Ok(pool) => pool.install(work),
        // The machine has no threads to give: rayon's own pool runs on what there is.
        Err(_) => work(),
    }
}

/// The same in the thread pool that the caller is in, whatever the settings say of threads: for callers with many small
/// runs, for which starting threads is most of the work.
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
    let texts = text::Texts::default();
    if let Some(progress) = &settings.progress {
        progress.begin(inputs.len());
    }
    let looked: Vec<_> = inputs
        .into_par_iter()
        .map(|input| {
            let looked = input::look(input, settings, &texts);
            if let Some(progress) = &settings.progress {
                progress.step();
            }
            looked
        })
        .collect();
    let images = looked
        .iter()
        .map(|input| input.images.iter().map(|image| &image.report));
    linked::analyse(&texts.take_waiting(), images, settings, &texts);
    let mut outcome = Outcome {
        inputs: Vec::with_capacity(looked.len()),
        findings: Vec::new(),
        decisions: Decisions::default(),
    };
    for (index, looked) in looked.into_iter().enumerate() {
        let (report, findings) = assemble::assemble(index, looked, settings, &texts);
        outcome.inputs.push(report);
        outcome.findings.extend(findings);
    }
    outcome
        .findings
        .extend(images::compare(&outcome.inputs, settings));
    copies::leave_out_told(&mut outcome.findings);
    // Of release files, each counts by itself.
    if !settings.images_only {
        copies::leave_out(&outcome.inputs, &mut outcome.findings);
    }
    locate::sort(&mut outcome.findings);
    number(&mut outcome.findings);
    let found = std::mem::take(&mut outcome.findings);
    let mut concluded = conclude::conclude(&outcome.inputs, found, settings);
    number(&mut concluded.about_settings);
    outcome.findings = concluded.findings;
    outcome.findings.append(&mut concluded.about_settings);
    outcome.decisions = Decisions {
        excluded_inputs: settings.left_out.len(),
        excluded: concluded.excluded,
        expired: concluded.expired,
    };
    outcome
}

/// Findings alike in code, function and text are told apart by their order.
fn number(findings: &mut [Finding]) {
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
        let texts = text::Texts::default();
        let trouble = input::guarded("a.ptx".to_owned(), || panic!("a broken invariant"));
        let (report, findings) = assemble::assemble(3, trouble, &settings, &texts);
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
        let texts = text::Texts::default();
        let mut looked = input::look(input("a.ptx", CLEAN), &settings, &texts);
        let (report, _) = assemble::assemble(0, looked, &settings, &texts);
        assert_eq!(report.status, Status::Checked);
        // Claimed, and then never heard of.
        let lost = text::Texts::default();
        looked = input::look(input("a.ptx", CLEAN), &settings, &texts);
        let (report, findings) = assemble::assemble(0, looked, &settings, &lost);
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
}

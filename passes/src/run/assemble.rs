//! A scanned input and the reports about its texts, put together: one report for each input, and findings with their places.

use std::sync::Arc;

use ptxcheck_common::maps::NameMap;

use super::problem::{ProblemPlace, finding};
use super::scanned::{ScannedImage, ScannedInput};
use super::text::TextReport;
use super::text_cache::TextCache;
use crate::finding::{Finding, Location, left_out, limit};
use crate::image::{InputError, cubin};
use crate::inventory::{ImageKind, ImageReport, InputReport, Problem, Role, Status, is_read};
use crate::rule::ProblemKind;
use crate::settings::Settings;

/// The report of the input with this index, and its findings.
pub(super) fn assemble(
    index: usize,
    scanned: ScannedInput,
    settings: &Settings,
    texts: &TextCache,
) -> (InputReport, Vec<Finding>) {
    let mut input = Assembly {
        index,
        settings,
        texts,
        is_partial: false,
        for_other_targets: 0,
        findings: Vec::new(),
        report: InputReport::new(scanned.name),
    };
    input.report.host = scanned.host;
    input.report.exported = scanned.exported;
    input.report.variants = scanned.variants;
    input.report.contents = scanned.contents;
    for InputError { kind, message } in scanned.errors {
        // Code in an unsupported format is code in the linked file, which can be checked.
        if kind == ProblemKind::Unsupported {
            input.add_finding(kind, message, None);
        } else {
            input.add_problem(kind, message, None);
        }
    }
    for (number, image) in (0_u32..).zip(scanned.images) {
        input.add_image(number, image);
    }
    input.drop_repetitions();
    let is_about_code = |finding: &Finding| finding.rule.problem().is_none();
    let count = limit(&mut input.findings, |finding| {
        is_about_code(finding).then_some(finding.certainty)
    });
    if count > 0 {
        input.add_problem(ProblemKind::Limit, left_out(count), None);
    }
    if input.for_other_targets == input.report.images.len() {
        // Such as the IR of host code: like an object of the host, it holds no device code.
        input.report.images.clear();
    }
    input.add_unsupported();
    input.set_status(scanned.is_refused);
    (input.report, input.findings)
}

/// The report of one input while it is put together.
struct Assembly<'a> {
    index: usize,
    settings: &'a Settings,
    texts: &'a TextCache,
    is_partial: bool,
    /// Number of images that are for something other than NVIDIA's GPUs.
    for_other_targets: usize,
    findings: Vec<Finding>,
    report: InputReport,
}

impl Assembly<'_> {
    /// Adds a problem, and the finding about it.
    fn add_problem(&mut self, kind: ProblemKind, message: String, image: Option<u32>) {
        self.add_finding(kind, message.clone(), image);
        let problem = Problem::new(kind, message, image, None);
        self.report.problems.push(problem);
    }

    /// Adds the finding about a problem.
    fn add_finding(&mut self, kind: ProblemKind, message: String, image: Option<u32>) {
        if let Some(mut finding) = finding(self.settings, kind, message, ProblemPlace::of_image(image)) {
            finding.input = self.index;
            self.findings.push(finding);
        }
    }

    fn add_image(&mut self, number: u32, image: ScannedImage) {
        let ScannedImage {
            mut report,
            text,
            error,
            ..
        } = image;
        if let Some(InputError { kind, message }) = error {
            let message = match report.container {
                Some(_) => format!("image {number} at offset {:#x}: {message}", report.offset),
                None => message,
            };
            self.add_problem(kind, message, Some(number));
        }
        if let Some(key) = text {
            match self.texts.take(key) {
                Some(of_text) => self.add_text(&mut report, number, of_text),
                None => {
                    report.is_read = false;
                    let message = "the analysis failed: nothing is known of its text".to_owned();
                    self.add_problem(ProblemKind::Internal, message, Some(number));
                }
            }
        }
        self.report.images.push(report);
    }

    /// Adds the report about the text of an image to those of the image and the input.
    fn add_text(&mut self, report: &mut ImageReport, number: u32, mut text: Arc<TextReport>) {
        if !text.target.is_empty() {
            report.target.clone_from(&text.target);
        }
        if !text.isa.is_empty() {
            report.isa.clone_from(&text.isa);
        }
        report.is_64_bit &= text.is_64_bit;
        report.is_debug |= text.facts.is_debug;
        report.kernels = text.facts.kernels.len() as u32;
        report.functions = text.facts.functions;
        report.facts = text.facts.clone();
        report.limit.clone_from(&text.limit);
        report.unsearched = text.unsearched;
        report.comments.clone_from(&text.comments);
        self.is_partial |= text.is_partial;
        if text.is_failed || text.is_for_other_target {
            report.is_read = false;
        }
        self.for_other_targets += usize::from(text.is_for_other_target);
        for problem in &text.problems {
            let mut problem = problem.clone();
            problem.image = Some(number);
            self.report.problems.push(problem);
        }
        // Findings are moved to the last place of a text, and copied to the others.
        let findings = match Arc::get_mut(&mut text) {
            Some(text) => std::mem::take(&mut text.findings),
            None => text.findings.clone(),
        };
        for finding in findings {
            let mut finding = finding_placed_in(finding, self.index, number, &self.report.name);
            if report.role == Role::Embedded && finding.location.is_some() {
                finding.notes.push(format!(
                    "the line is one of the text in {}, which machine code keeps for debuggers and profilers",
                    cubin::DEBUG_PTX
                ));
            }
            if let (ImageKind::Ptx, Some(binary), Some(_)) =
                (report.kind, gpu_binary(report), &finding.location)
            {
                finding
                    .notes
                    .push(format!("the line is one of the PTX in {binary}"));
            }
            self.findings.push(finding);
        }
    }

    /// Drops findings about PTX inside machine code, or recompiled PTX, that are also findings about the PTX in the file that the
    /// code was made from.
    fn drop_repetitions(&mut self) {
        let images = &self.report.images;
        let copy = |finding: &Finding| {
            let number = finding.image?;
            images.get(number as usize)?.role.is_copy().then_some(number)
        };
        if !images.iter().any(|image| image.role.is_copy()) {
            return;
        }
        // Of equal findings, as many stay as the image has that has most of them. Copies come last.
        let mut reported: NameMap<String, u32> = NameMap::default();
        let mut counts: NameMap<(u32, String), u32> = NameMap::default();
        let mut count = |finding: &Finding, number: u32| {
            let key = (number, finding.fingerprint.clone());
            let count = counts.entry(key).or_default();
            *count += 1;
            *count
        };
        for finding in self.findings.iter().filter(|finding| copy(finding).is_none()) {
            if let Some(number) = finding.image {
                let most = reported.entry(finding.fingerprint.clone()).or_default();
                *most = (*most).max(count(finding, number));
            }
        }
        self.findings.retain(|finding| {
            let Some(number) = copy(finding) else {
                return true;
            };
            // Problems of the copy are its own.
            if finding.rule.problem().is_some() {
                return true;
            }
            let nth = count(finding, number);
            let most = reported.entry(finding.fingerprint.clone()).or_default();
            let is_new = nth > *most;
            *most = (*most).max(nth);
            is_new
        });
    }

    /// Adds one finding for all images in closed formats; a problem if the file has no other images, since nothing was analysed.
    fn add_unsupported(&mut self) {
        let images = &self.report.images;
        let is_recompiled = |image: &&ImageReport| {
            let replaces = |made: &ImageReport| made.role == Role::Recompiled && made.sm() == image.sm();
            image.kind == ImageKind::LtoIr && images.iter().any(replaces)
        };
        let count = |kind| {
            let of_kind = images.iter().filter(|image| image.kind == kind);
            of_kind.filter(|image| !is_recompiled(image)).count()
        };
        let counts: Vec<String> = [
            ImageKind::LtoIr,
            ImageKind::Bundle,
            ImageKind::LlvmIr,
            ImageKind::Mlir,
            ImageKind::Other,
        ]
        .into_iter()
        .filter(|kind| !is_read(*kind))
        .map(|kind| (count(kind), kind))
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {}", describe(kind, count)))
        .collect();
        if counts.is_empty() {
            return;
        }
        let message = format!("it holds {}: present, not analysed", counts.join(", "));
        if images.iter().any(|image| is_read(image.kind)) {
            self.add_finding(ProblemKind::Unsupported, message, None);
        } else {
            self.add_problem(ProblemKind::Unsupported, message, None);
        }
    }

    fn set_status(&mut self, is_refused: bool) {
        let is_read = self.report.images.iter().any(|image| image.is_read);
        self.report.status = match () {
            () if is_refused || !is_read && !self.report.problems.is_empty() => Status::Failed,
            () if !self.report.problems.is_empty() || self.is_partial => Status::Partly,
            () if self.report.images.is_empty() => Status::Skipped,
            () => Status::Checked,
        };
    }
}

/// The operation of MLIR that an image lies in.
fn gpu_binary(report: &ImageReport) -> Option<&str> {
    let section = report.section.as_deref();
    section.filter(|section| section.starts_with("gpu.binary "))
}

fn describe(kind: ImageKind, count: usize) -> &'static str {
    match (kind, count) {
        (ImageKind::LtoIr, 1) => "image of LTO-IR, a closed format",
        (ImageKind::LtoIr, _) => "images of LTO-IR, a closed format",
        (ImageKind::Bundle, 1) => "bundle of `nvcc --concat`, a closed format",
        (ImageKind::Bundle, _) => "bundles of `nvcc --concat`, a closed format",
        (ImageKind::LlvmIr, 1) => "image of LLVM bitcode",
        (ImageKind::LlvmIr, _) => "images of LLVM bitcode",
        (ImageKind::Mlir, _) => "MLIR",
        (_, 1) => "image of an unknown kind",
        (_, _) => "images of an unknown kind",
    }
}

/// A finding about a text, for one of the places that the text lies in.
fn finding_placed_in(mut finding: Finding, input: usize, image: u32, name: &str) -> Finding {
    finding.input = input;
    finding.image = finding.image.map(|_| image);
    let set_file = |location: &mut Option<Location>| {
        if let Some(location) = location {
            name.clone_into(&mut location.file);
        }
    };
    set_file(&mut finding.location);
    for related in finding.other_places() {
        set_file(&mut related.location);
    }
    finding
}

//! What was seen of the inputs, and what their texts say, put together: one report an input, findings with places.

use std::sync::Arc;

use ptxcheck_common::maps::NameMap;

use super::input::{Image, Looked};
use super::problem::{Spot, finding};
use super::text::{Read, Texts};
use crate::finding::{Finding, Location, left_out, limit};
use crate::image::cubin;
use crate::inventory::{ImageKind, ImageReport, InputReport, Problem, Role, Status, is_read};
use crate::rule::{Check, ProblemKind};
use crate::settings::Settings;

/// The report of the input with this index, and its findings.
pub(super) fn assemble(
    index: usize,
    looked: Looked,
    settings: &Settings,
    texts: &Texts,
) -> (InputReport, Vec<Finding>) {
    let mut input = Assembly {
        index,
        settings,
        texts,
        is_partial: false,
        elsewhere: 0,
        findings: Vec::new(),
        report: InputReport {
            name: looked.name,
            status: Status::Checked,
            images: Vec::with_capacity(looked.images.len()),
            host: looked.host,
            problems: Vec::new(),
        },
    };
    for (kind, message) in looked.troubles {
        // Whoever links it sees the code in the linked file.
        if kind == ProblemKind::Unsupported {
            input.say(kind, message, None);
        } else {
            input.problem(kind, message, None);
        }
    }
    for (number, image) in (0_u32..).zip(looked.images) {
        input.image(number, image);
    }
    input.without_repetitions();
    let is_found = |finding: &Finding| !matches!(finding.rule.check, Check::Problem(_));
    let more = limit(&mut input.findings, |finding| {
        is_found(finding).then_some(finding.certainty)
    });
    if more > 0 {
        input.problem(ProblemKind::Limit, left_out(more), None);
    }
    if input.elsewhere == input.report.images.len() {
        // The IR of host code, say: as an object of the host, it holds none.
        input.report.images.clear();
    }
    input.unsupported();
    input.judge(looked.is_refused);
    (input.report, input.findings)
}

struct Assembly<'a> {
    index: usize,
    settings: &'a Settings,
    texts: &'a Texts,
    is_partial: bool,
    /// Images that are for something other than NVIDIA's GPUs.
    elsewhere: usize,
    findings: Vec<Finding>,
    report: InputReport,
}

impl Assembly<'_> {
    fn problem(&mut self, kind: ProblemKind, message: String, image: Option<u32>) {
        self.say(kind, message.clone(), image);
        self.report.problems.push(Problem {
            kind,
            message,
            image,
            line: None,
        });
    }

    fn say(&mut self, kind: ProblemKind, message: String, image: Option<u32>) {
        let made = finding(self.settings, kind, message, Spot::of_image(image));
        self.findings.extend(made.map(|finding| Finding {
            input: self.index,
            ..finding
        }));
    }

    fn image(&mut self, number: u32, image: Image) {
        let Image {
            mut report,
            text,
            trouble,
            ..
        } = image;
        if let Some((kind, message)) = trouble {
            let place = match report.container {
                Some(_) => format!("image {number} at offset {:#x}: {message}", report.offset),
                None => message,
            };
            self.problem(kind, place, Some(number));
        }
        if let Some(key) = text {
            match self.texts.take(key) {
                Some(read) => self.read(&mut report, number, read),
                None => {
                    report.is_read = false;
                    let message = "the analysis failed: nothing is known of its text".to_owned();
                    self.problem(ProblemKind::Internal, message, Some(number));
                }
            }
        }
        self.report.images.push(report);
    }

    /// What the text of an image says.
    fn read(&mut self, report: &mut ImageReport, number: u32, mut read: Arc<Read>) {
        if !read.target.is_empty() {
            report.target.clone_from(&read.target);
        }
        if !read.isa.is_empty() {
            report.isa.clone_from(&read.isa);
        }
        report.is_64_bit &= read.is_64_bit;
        report.is_debug |= read.facts.is_debug;
        report.kernels = read.facts.kernels.len() as u32;
        report.functions = read.facts.functions;
        report.facts = read.facts.clone();
        report.limit.clone_from(&read.limit);
        report.comments.clone_from(&read.comments);
        self.is_partial |= read.is_partial;
        if read.is_failed || read.is_elsewhere {
            report.is_read = false;
        }
        self.elsewhere += usize::from(read.is_elsewhere);
        self.report
            .problems
            .extend(read.problems.iter().map(|problem| Problem {
                image: Some(number),
                ..problem.clone()
            }));
        // Findings are moved to the last place of a text, and copied to the others.
        let findings = match Arc::get_mut(&mut read) {
            Some(read) => std::mem::take(&mut read.findings),
            None => read.findings.clone(),
        };
        for finding in findings {
            let mut finding = placed(finding, self.index, number, &self.report.name);
            if report.role == Role::Embedded && finding.location.is_some() {
                finding.notes.push(format!(
                    "the line is one of the text in {}, which machine code keeps for debuggers",
                    cubin::DEBUG_PTX
                ));
            }
            self.findings.push(finding);
        }
    }

    /// What is wrong with PTX inside machine code, or made for the check, is wrong with the PTX that lies in the file as well, where
    /// there is some, and is told of that.
    fn without_repetitions(&mut self) {
        let images = &self.report.images;
        let copy = |finding: &Finding| {
            let number = finding.image?;
            images.get(number as usize)?.role.is_copy().then_some(number)
        };
        if !images.iter().any(|image| image.role.is_copy()) {
            return;
        }
        // Of findings that are alike, as many count as the image has that has most of them. Copies come last.
        let mut told: NameMap<String, u32> = NameMap::default();
        let mut counts: NameMap<(u32, String), u32> = NameMap::default();
        let mut count = |finding: &Finding, number: u32| {
            let key = (number, finding.fingerprint.clone());
            let count = counts.entry(key).or_default();
            *count += 1;
            *count
        };
        for finding in self.findings.iter().filter(|finding| copy(finding).is_none()) {
            if let Some(number) = finding.image {
                let most = told.entry(finding.fingerprint.clone()).or_default();
                *most = (*most).max(count(finding, number));
            }
        }
        self.findings.retain(|finding| {
            let Some(number) = copy(finding) else {
                return true;
            };
            // Problems of the copy are its own.
            if matches!(finding.rule.check, Check::Problem(_)) {
                return true;
            }
            let nth = count(finding, number);
            let most = told.entry(finding.fingerprint.clone()).or_default();
            let is_new = nth > *most;
            *most = (*most).max(nth);
            is_new
        });
    }

    /// Images in formats that nobody outside can read: said once for the file. Where there is nothing else, nothing was
    /// analysed, and that is a problem.
    fn unsupported(&mut self) {
        let images = &self.report.images;
        let is_recompiled = |image: &&ImageReport| {
            let is_it = |made: &ImageReport| made.role == Role::Recompiled && made.sm() == image.sm();
            image.kind == ImageKind::LtoIr && images.iter().any(is_it)
        };
        let count = |kind| {
            let of_kind = images.iter().filter(|image| image.kind == kind);
            of_kind.filter(|image| !is_recompiled(image)).count()
        };
        let said: Vec<String> = [
            ImageKind::LtoIr,
            ImageKind::Bundle,
            ImageKind::LlvmIr,
            ImageKind::Other,
        ]
        .into_iter()
        .filter(|kind| !is_read(*kind))
        .map(|kind| (count(kind), kind))
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {}", describe(kind, count)))
        .collect();
        if said.is_empty() {
            return;
        }
        let message = format!("it holds {}: present, not analysed", said.join(", "));
        if images.iter().any(|image| is_read(image.kind)) {
            self.say(ProblemKind::Unsupported, message, None);
        } else {
            self.problem(ProblemKind::Unsupported, message, None);
        }
    }

    fn judge(&mut self, is_refused: bool) {
        let is_read = self.report.images.iter().any(|image| image.is_read);
        self.report.status = match () {
            () if is_refused || !is_read && !self.report.problems.is_empty() => Status::Failed,
            () if !self.report.problems.is_empty() || self.is_partial => Status::Partly,
            () if self.report.images.is_empty() => Status::Skipped,
            () => Status::Checked,
        };
    }
}

fn describe(kind: ImageKind, count: usize) -> &'static str {
    match (kind, count) {
        (ImageKind::LtoIr, 1) => "image of LTO-IR, a closed format",
        (ImageKind::LtoIr, _) => "images of LTO-IR, a closed format",
        (ImageKind::Bundle, 1) => "bundle of `nvcc --concat`, a closed format",
        (ImageKind::Bundle, _) => "bundles of `nvcc --concat`, a closed format",
        (ImageKind::LlvmIr, 1) => "image of LLVM bitcode",
        (ImageKind::LlvmIr, _) => "images of LLVM bitcode",
        (_, 1) => "image of an unknown kind",
        (_, _) => "images of an unknown kind",
    }
}

/// A finding about a text, in one of the places where the text lies.
fn placed(mut finding: Finding, input: usize, image: u32, name: &str) -> Finding {
    finding.input = input;
    finding.image = finding.image.map(|_| image);
    let own = |location: &mut Option<Location>| {
        if let Some(location) = location {
            name.clone_into(&mut location.file);
        }
    };
    own(&mut finding.location);
    for related in &mut finding.related {
        own(&mut related.location);
    }
    finding
}

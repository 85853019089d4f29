//! The coverage of a run: the part of the inputs that was analysed, and the part that was not, so that "0 errors" is not read as
//! more than it is.

mod gaps;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use ptxcheck_passes::inventory::{ImageKind, ImageReport};
use ptxcheck_passes::run::{InputReport, Outcome, Status};

use gaps::{AnalysedPtx, is_analysed, is_readable};
pub use gaps::{Gap, Gaps, gaps};

use crate::amounts::plural;
use crate::escape;

/// Most inputs without device code that are named; a count stands for the rest.
const SHOWN_INPUTS: usize = 8;

/// Most inputs that the warning names.
const SHOWN_UNSEEN: usize = 3;

/// Extensions of files that are made to hold device code.
const DEVICE_EXTENSIONS: [&str; 7] = ["ptx", "ll", "llir", "bc", "cubin", "fatbin", "ltoir"];

/// Counts of the code that a run analysed, and of the code that it did not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Coverage<'a> {
    /// Images of all kinds.
    pub images: usize,
    /// Images whose code is not analysed, by kind.
    pub unanalysed: BTreeMap<ImageKind, usize>,
    /// Kernels: one that lies in several images of an input, by its name, counts once.
    pub kernels: usize,
    /// Kernels that no analysed image of the input holds.
    pub unanalysed_kernels: usize,
    /// Images of LTO-IR whose code no analysed image holds.
    pub closed: usize,
    /// Inputs with such kernels or images.
    pub unseen: Vec<&'a str>,
    /// Inputs that are called like device code and hold none.
    pub empty: Vec<&'a str>,
    /// Inputs whose code was too much work in part, with the sentence about it.
    pub limits: Vec<(&'a str, &'a str)>,
}

impl<'a> Coverage<'a> {
    /// The coverage of a run.
    #[must_use]
    pub fn of(outcome: &'a Outcome) -> Self {
        let mut coverage = Self::default();
        for input in &outcome.inputs {
            coverage.add(input);
        }
        coverage
    }

    fn add(&mut self, input: &'a InputReport) {
        let mut analysed: HashMap<&str, bool> = HashMap::new();
        let ptx = AnalysedPtx::of(input);
        for image in &input.images {
            self.images += 1;
            let is_analysed = is_analysed(image);
            if !is_analysed && !ptx.is_recompiled(image) {
                *self.unanalysed.entry(image.kind).or_default() += 1;
            }
            if let Some(limit) = &image.limit {
                self.limits.push((&input.name, limit));
            }
            for kernel in &image.facts.kernels {
                *analysed.entry(&kernel.name).or_default() |= is_analysed;
            }
        }
        let is_closed = |image: &&ImageReport| ptx.leaves_closed(image);
        let closed = input.images.iter().filter(is_closed).count();
        let unseen = analysed.values().filter(|is_analysed| !**is_analysed).count();
        self.kernels += analysed.len();
        self.unanalysed_kernels += unseen;
        self.closed += closed;
        if closed + unseen > 0 {
            self.unseen.push(&input.name);
        }
        if input.status == Status::Skipped && is_called_like_device_code(&input.name) {
            self.empty.push(&input.name);
        }
    }

    /// A sentence for each reason, besides kernels that were not analysed for an architecture, why not all was: closed formats,
    /// kernels that are too much work, inputs that are called like device code and hold none.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let is_by_kernel = |kind: &ImageKind| matches!(kind, ImageKind::Cubin | ImageKind::LtoIr);
        let mut text = self.kinds(|kind| !is_by_kernel(kind));
        text.push_str(&self.others());
        text.lines().map(str::to_owned).collect()
    }

    /// One line for kernels whose code was not analysed in any form.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        if self.unseen.is_empty() {
            return None;
        }
        let kernels = format!(
            "{} of {}",
            self.unanalysed_kernels,
            plural(self.kernels as u64, "kernel")
        );
        let closed = plural(self.closed as u64, "image") + " of LTO-IR";
        let (subject, count) = match (self.unanalysed_kernels, self.closed) {
            (kernels_alone, 0) => (kernels, kernels_alone),
            (0, closed_alone) => (closed, closed_alone),
            (_, _) => (format!("{kernels} and {closed}"), 2),
        };
        let verb = if count == 1 { "was" } else { "were" };
        let mut names: Vec<String> = self
            .unseen
            .iter()
            .take(SHOWN_UNSEEN)
            .map(|name| format!("`{}`", escape::line(name)))
            .collect();
        if self.unseen.len() > names.len() {
            names.push(format!("{} more", self.unseen.len() - names.len()));
        }
        Some(format!(
            "{subject} {verb} not analysed, in {}: no PTX of them is there; `--compile-commands FILE` makes it, and \
             `-gencode arch=compute_N,code=compute_N` in the build adds it",
            names.join(", ")
        ))
    }

    /// Sentences, one per line, about code that was not analysed.
    #[must_use]
    pub fn render(&self) -> String {
        self.kinds(|_| true) + &self.others()
    }

    /// A sentence a line for images of some kinds.
    fn kinds(&self, wanted: impl Fn(&ImageKind) -> bool) -> String {
        let mut text = String::new();
        for (kind, &count) in self.unanalysed.iter().filter(|(kind, _)| wanted(kind)) {
            if count == self.images {
                let which = match count {
                    1 => "the only image is".to_owned(),
                    _ => format!("all {count} images are"),
                };
                let _ = writeln!(text, "{which} {}: nothing was analysed", describe(*kind));
                continue;
            }
            let verb = if count == 1 { "is" } else { "are" };
            let _ = write!(
                text,
                "{count} of {} {verb} {}{}",
                plural(self.images as u64, "image"),
                describe(*kind),
                if is_readable(*kind) {
                    ""
                } else {
                    ", which is not analysed"
                }
            );
            if *kind == ImageKind::Cubin && self.unanalysed_kernels > 0 {
                let verb = if self.unanalysed_kernels == 1 { "is" } else { "are" };
                let _ = write!(
                    text,
                    ", and {} of {} {verb} in no analysed image",
                    self.unanalysed_kernels,
                    plural(self.kernels as u64, "kernel"),
                );
            }
            text.push('\n');
        }
        text
    }

    /// A sentence a line for kernels that are too much work and inputs without code.
    fn others(&self) -> String {
        let mut text = String::new();
        for (name, limit) in self.limits.iter().take(SHOWN_INPUTS) {
            let _ = writeln!(text, "`{}`: {}", escape::line(name), escape::line(limit));
        }
        if self.limits.len() > SHOWN_INPUTS {
            let more = (self.limits.len() - SHOWN_INPUTS) as u64;
            let _ = writeln!(text, "so it is in {}", plural(more, "more image"));
        }
        for name in self.empty.iter().take(SHOWN_INPUTS) {
            let _ = writeln!(text, "`{}` holds no device code", escape::line(name));
        }
        if self.empty.len() > SHOWN_INPUTS {
            let more = (self.empty.len() - SHOWN_INPUTS) as u64;
            let _ = writeln!(text, "nor do {}", plural(more, "more input"));
        }
        text
    }
}

fn describe(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Ptx => "PTX that could not be read",
        ImageKind::LlvmIr => "LLVM IR that could not be read",
        ImageKind::Mlir => "MLIR that could not be read",
        ImageKind::Cubin => "machine code",
        ImageKind::LtoIr => "LTO-IR, a closed format",
        ImageKind::Bundle => "of `nvcc --concat`, a closed format",
        ImageKind::Other => "of an unknown kind",
    }
}

fn is_called_like_device_code(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| {
        DEVICE_EXTENSIONS
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ptxcheck_passes::inventory::{Facts, ImageKind, ImageReport, Kernel, Role};
    use ptxcheck_passes::ir::LaunchBounds;
    use ptxcheck_passes::run::{Outcome, Status};

    use super::{Coverage, gaps};
    use crate::samples;

    fn image(like: &ImageReport, kind: ImageKind, kernels: &[&str]) -> ImageReport {
        let kernels = kernels.iter().map(|name| Kernel {
            name: (*name).to_owned(),
            identity: (*name).to_owned(),
            params: None,
            parameter_names: Vec::new(),
            launch: LaunchBounds::default(),
            code_bytes: None,
            stub: None,
            resources: None,
            body: None,
            index_limits: Vec::new(),
            waits_for_grids: None,
            source: None,
        });
        let mut image = like.clone();
        image.kind = kind;
        image.digest = None;
        image.is_read = kind != ImageKind::LtoIr;
        image.facts = Arc::new(Facts {
            kernels: kernels.collect(),
            ..Facts::default()
        });
        image
    }

    fn outcome(images: &[(ImageKind, &[&str])]) -> Outcome {
        let mut outcome = samples::outcome(samples::finding());
        let like = outcome.inputs[0].images[0].clone();
        outcome.inputs[0].images = images
            .iter()
            .map(|(kind, kernels)| image(&like, *kind, kernels))
            .collect();
        outcome
    }

    #[test]
    fn a_kernel_in_ptx_and_in_machine_code_is_one_kernel() {
        let outcome = outcome(&[(ImageKind::Ptx, &["a", "b"]), (ImageKind::Cubin, &["a", "b"])]);
        let coverage = Coverage::of(&outcome);
        assert_eq!((coverage.kernels, coverage.unanalysed_kernels), (2, 0));
        assert_eq!((coverage.reasons(), coverage.warning()), (Vec::new(), None));
        assert_eq!(
            coverage.render(),
            "1 of 2 images is machine code, which is not analysed\n"
        );
    }

    #[test]
    fn what_is_in_machine_code_alone_is_counted() {
        let outcome = outcome(&[
            (ImageKind::Ptx, &["a"]),
            (ImageKind::Cubin, &["a", "b"]),
            (ImageKind::Cubin, &["b"]),
            (ImageKind::LtoIr, &[]),
        ]);
        assert_eq!(
            Coverage::of(&outcome).render(),
            "2 of 4 images are machine code, which is not analysed, and 1 of 2 kernels is in no analysed image\n\
             1 of 4 images is LTO-IR, a closed format, which is not analysed\n"
        );
    }

    #[test]
    fn a_kernel_without_ptx_for_an_architecture_is_a_gap() {
        let mut outcome = outcome(&[
            (ImageKind::Ptx, &["a"]),
            (ImageKind::Cubin, &["a", "b"]),
            (ImageKind::Cubin, &["a"]),
            (ImageKind::LtoIr, &[]),
        ]);
        let targets = [
            ("sm_90", None),
            ("sm_90", Some(90)),
            ("sm_86", Some(80)),
            ("sm_90", None),
        ];
        for (image, (target, number)) in outcome.inputs[0].images.iter_mut().zip(targets) {
            target.clone_into(&mut image.target);
            image.virtual_number = number;
        }
        let told = |outcome: &Outcome| -> Vec<(String, usize)> {
            let gaps = gaps(outcome, |_, _| false).gaps;
            gaps.iter()
                .map(|gap| (gap.architecture.to_string(), gap.kernels.len()))
                .collect()
        };
        let wanted = |pairs: &[(&str, usize)]| -> Vec<(String, usize)> {
            pairs
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect()
        };
        assert_eq!(told(&outcome), wanted(&[("80", 1), ("90", 1)]));
        let warning = Coverage::of(&outcome).warning().unwrap();
        assert!(
            warning.starts_with("1 of 2 kernels was not analysed, in `a.ptx`: "),
            "{warning}"
        );
        // Made from PTX of the newer architecture.
        outcome.inputs[0].images[2].virtual_number = Some(90);
        assert_eq!(told(&outcome), wanted(&[("90", 1)]));
        // LTO-IR with no PTX from the same compilation.
        outcome.inputs[0].images[3].target = "sm_80".to_owned();
        assert_eq!(told(&outcome), wanted(&[("80", 0), ("90", 1)]));
        // PTX of both that was made for the run.
        for (number, target) in ["sm_80", "sm_90"].into_iter().enumerate() {
            let mut made = outcome.inputs[0].images[1].clone();
            (made.kind, made.role) = (ImageKind::Ptx, Role::Recompiled);
            made.target = target.to_owned();
            outcome.inputs[0].images.push(made);
            assert_eq!(told(&outcome).len(), 1 - number);
        }
        assert_eq!(Coverage::of(&outcome).render(), "");
    }

    #[test]
    fn a_run_without_anything_to_analyse_says_so() {
        let cubin = (ImageKind::Cubin, &["a"][..]);
        for (images, wanted) in [
            (
                &[cubin][..],
                "the only image is machine code: nothing was analysed\n",
            ),
            (
                &[cubin, cubin][..],
                "all 2 images are machine code: nothing was analysed\n",
            ),
            (
                &[(ImageKind::LtoIr, &[][..])][..],
                "the only image is LTO-IR, a closed format: nothing was analysed\n",
            ),
        ] {
            assert_eq!(Coverage::of(&outcome(images)).render(), wanted);
        }
    }

    #[test]
    fn what_was_too_much_work_is_said() {
        let mut outcome = outcome(&[(ImageKind::Ptx, &["a"])]);
        outcome.inputs[0].images[0].limit = Some("it is too much work to follow all lanes of `a`".to_owned());
        let coverage = Coverage::of(&outcome);
        assert_eq!(coverage.reasons().len(), 1);
        assert_eq!(
            coverage.render(),
            "`a.ptx`: it is too much work to follow all lanes of `a`\n"
        );
    }

    #[test]
    fn an_empty_input_is_named_if_it_should_hold_device_code() {
        let mut outcome = outcome(&[]);
        outcome.inputs[0].status = Status::Skipped;
        for (name, is_named) in [("a/empty.ptx", true), ("host.o", false), ("x.CUBIN", true)] {
            name.clone_into(&mut outcome.inputs[0].name);
            let reasons = Coverage::of(&outcome).reasons();
            assert_eq!(reasons.is_empty(), !is_named, "{name}");
        }
    }
}

//! How much of the inputs was analysed. What was not is said, so that "0 errors" is not read as more than it is.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use ptxcheck_passes::inventory::{ImageKind, ImageReport};
use ptxcheck_passes::run::{InputReport, Outcome, Status};

use crate::render::escape;
use crate::summary::plural;

/// Most inputs without device code that are named; a count stands for the rest.
const SHOWN_INPUTS: usize = 8;

/// Extensions of files that are made to hold device code.
const DEVICE_EXTENSIONS: [&str; 7] = ["ptx", "ll", "llir", "bc", "cubin", "fatbin", "ltoir"];

/// What a run analysed, and what not.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Coverage<'a> {
    /// Images of all kinds.
    pub images: usize,
    /// Images whose code is not analysed, by kind.
    pub unanalysed: BTreeMap<ImageKind, usize>,
    /// Kernels: one that lies in several images of an input, by its name, counts once.
    pub kernels: usize,
    /// Those of them that no analysed image of the input holds.
    pub unanalysed_kernels: usize,
    /// Inputs that are called like device code and hold none.
    pub empty: Vec<&'a str>,
    /// Inputs of which some code was too much work, and what is to be said of it.
    pub limits: Vec<(&'a str, &'a str)>,
}

impl<'a> Coverage<'a> {
    /// Of a run.
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
        for image in &input.images {
            self.images += 1;
            let is_analysed = is_analysed(image);
            if !is_analysed {
                *self.unanalysed.entry(image.kind).or_default() += 1;
            }
            if let Some(limit) = &image.limit {
                self.limits.push((&input.name, limit));
            }
            for kernel in &image.facts.kernels {
                *analysed.entry(&kernel.name).or_default() |= is_analysed;
            }
        }
        self.kernels += analysed.len();
        self.unanalysed_kernels += analysed.values().filter(|is_analysed| !**is_analysed).count();
        if input.status == Status::Skipped && is_called_like_device_code(&input.name) {
            self.empty.push(&input.name);
        }
    }

    /// Whether everything that may hold device code was analysed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unanalysed.is_empty() && self.empty.is_empty() && self.limits.is_empty()
    }

    /// A sentence a line for what was not analysed.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        for (kind, &count) in &self.unanalysed {
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

fn is_analysed(image: &ImageReport) -> bool {
    is_readable(image.kind) && image.is_read
}

const fn is_readable(kind: ImageKind) -> bool {
    matches!(kind, ImageKind::Ptx | ImageKind::LlvmIr)
}

fn describe(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Ptx => "PTX that could not be read",
        ImageKind::LlvmIr => "LLVM IR that could not be read",
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

    use ptxcheck_passes::inventory::{Facts, ImageKind, ImageReport, Kernel};
    use ptxcheck_passes::ir::LaunchBounds;
    use ptxcheck_passes::run::{Outcome, Status};

    use super::Coverage;
    use crate::render::samples;

    fn image(like: &ImageReport, kind: ImageKind, kernels: &[&str]) -> ImageReport {
        let kernels = kernels.iter().map(|name| Kernel {
            name: (*name).to_owned(),
            identity: (*name).to_owned(),
            params: None,
            launch: LaunchBounds::default(),
            code_bytes: None,
            source: None,
        });
        let mut image = like.clone();
        image.kind = kind;
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
        assert!(!coverage.is_complete());
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
        assert!(!coverage.is_complete());
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
            assert_eq!(Coverage::of(&outcome).is_complete(), !is_named, "{name}");
        }
    }
}

//! Kernels that an input has for an architecture whose PTX was not analysed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use ptxcheck_passes::inventory::{ImageKind, ImageReport, Role};
use ptxcheck_passes::names::readable;
use ptxcheck_passes::recompile::Architecture;
use ptxcheck_passes::run::{InputReport, Outcome};

use crate::escape;

/// Most kernels that a message names.
const SHOWN_KERNELS: usize = 4;

/// Code of one input for one architecture that was not analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap<'a> {
    /// The name of the input.
    pub input: &'a str,
    /// The virtual architecture that it was made from.
    pub architecture: Architecture,
    /// The names of the kernels; empty if the form of the code does not contain them.
    pub kernels: Vec<&'a str>,
}

/// The parts of a run that were not analysed.
#[derive(Debug, Default)]
pub struct Gaps<'a> {
    /// One for each input and architecture with unanalysed code.
    pub gaps: Vec<Gap<'a>>,
    /// The inputs and architectures whose code is that of another input, where it was analysed: archives and libraries beside the
    /// objects that they were made of.
    pub analysed_in_other_inputs: BTreeSet<(&'a str, Architecture)>,
}

/// The parts of a run that were not analysed. `is_failed`: no PTX could be made of an input for an architecture.
#[must_use]
pub fn gaps(outcome: &Outcome, is_failed: impl Fn(&str, &Architecture) -> bool) -> Gaps<'_> {
    let mut known = HashSet::new();
    for input in &outcome.inputs {
        let sources = by_kernel(input);
        let cubins = input.images.iter().filter(|image| image.kind == ImageKind::Cubin);
        let analysed = cubins.filter(|image| {
            let architecture = architecture(image);
            unseen(image, &architecture, &sources).next().is_none() && !is_failed(&input.name, &architecture)
        });
        known.extend(analysed.filter_map(|image| image.digest));
    }
    let mut gaps = Gaps::default();
    for input in &outcome.inputs {
        gaps.add(input, &known);
    }
    gaps
}

impl<'a> Gaps<'a> {
    fn add(&mut self, input: &'a InputReport, known: &HashSet<u128>) {
        let ptx_of_input = AnalysedPtx::of(input);
        let sources = by_kernel(input);
        let mut missing: BTreeMap<Architecture, BTreeSet<&str>> = BTreeMap::new();
        for image in &input.images {
            let architecture = architecture(image);
            if ptx_of_input.leaves_closed(image) {
                missing.entry(architecture).or_default();
                continue;
            }
            if image.kind != ImageKind::Cubin {
                continue;
            }
            if image.digest.is_some_and(|digest| known.contains(&digest)) {
                self.analysed_in_other_inputs.insert((&input.name, architecture));
                continue;
            }
            let unseen: BTreeSet<&str> = unseen(image, &architecture, &sources).collect();
            if !unseen.is_empty() {
                missing.entry(architecture).or_default().extend(unseen);
            }
        }
        self.gaps
            .extend(missing.into_iter().map(|(architecture, kernels)| Gap {
                input: &input.name,
                architecture,
                kernels: kernels.into_iter().collect(),
            }));
    }
}

/// The kernels of machine code that no analysed image of its input is the source of.
fn unseen<'a>(
    image: &'a ImageReport,
    architecture: &Architecture,
    sources: &HashMap<&str, Vec<&ImageReport>>,
) -> impl Iterator<Item = &'a str> {
    let has_source = |identity: &str| {
        let mut sources = sources.get(identity).into_iter().flatten();
        sources.any(|source| is_source(source, image, architecture))
    };
    let kernels = image.facts.kernels.iter();
    kernels
        .filter(move |kernel| !has_source(&kernel.identity))
        .map(|kernel| kernel.name.as_str())
}

fn architecture(image: &ImageReport) -> Architecture {
    Architecture::of_machine_code(&image.target, image.virtual_number)
}

/// The analysed images that have a kernel, by its identity.
fn by_kernel(input: &InputReport) -> HashMap<&str, Vec<&ImageReport>> {
    let mut sources: HashMap<&str, Vec<&ImageReport>> = HashMap::new();
    for image in input.images.iter().filter(|image| is_analysed(image)) {
        for kernel in &image.facts.kernels {
            sources.entry(&kernel.identity).or_default().push(image);
        }
    }
    sources
}

/// True if machine code was made from an analysed image, judged by their targets.
fn is_source(source: &ImageReport, code: &ImageReport, wanted: &Architecture) -> bool {
    match (source.kind, source.role) {
        _ if wanted.number == 0 => true,
        // It was made for this.
        (_, Role::Recompiled) => source.sm() == wanted.number,
        (ImageKind::Ptx, _) => wanted.is_from(&source.target, code.sm()),
        // LLVM compiles for each real architecture by itself.
        _ => source.target.is_empty() || source.sm() == code.sm(),
    }
}

/// True if the code of an image was read.
pub(super) fn is_analysed(image: &ImageReport) -> bool {
    is_readable(image.kind) && image.is_read
}

/// True if images of a kind can be read.
pub(super) const fn is_readable(kind: ImageKind) -> bool {
    matches!(kind, ImageKind::Ptx | ImageKind::LlvmIr | ImageKind::Mlir)
}

/// The analysed PTX of an input.
pub(super) struct AnalysedPtx {
    /// Container and architecture of the PTX that lies in the input.
    in_file: HashSet<(Option<u32>, u32)>,
    /// Architectures of the PTX that was recompiled.
    recompiled: HashSet<u32>,
}

impl AnalysedPtx {
    pub(super) fn of(input: &InputReport) -> Self {
        let mut ptx_of_input = Self {
            in_file: HashSet::new(),
            recompiled: HashSet::new(),
        };
        let ptx = |image: &&ImageReport| image.kind == ImageKind::Ptx && is_analysed(image);
        for image in input.images.iter().filter(ptx) {
            if image.role == Role::Recompiled {
                ptx_of_input.recompiled.insert(image.sm());
            } else {
                ptx_of_input.in_file.insert((image.container, image.sm()));
            }
        }
        ptx_of_input
    }

    /// True if the code of an image was recompiled to PTX.
    pub(super) fn is_recompiled(&self, image: &ImageReport) -> bool {
        !self.recompiled.is_empty() && self.recompiled.contains(&architecture(image).number)
    }

    /// True if an image is LTO-IR, whose kernels are unknown, and no PTX that was compiled with it was analysed.
    pub(super) fn leaves_closed(&self, image: &ImageReport) -> bool {
        image.kind == ImageKind::LtoIr
            && !self.is_recompiled(image)
            && !self.in_file.contains(&(image.container, image.sm()))
    }
}

impl Gap<'_> {
    /// `` `a.o` (target `app`): kernels `k(int*)`, `l()` and 2 more for compute_80 were not analysed ``.
    #[must_use]
    pub fn sentence(&self) -> String {
        let shown = |name: &&str| format!("`{}`", escape::name(&readable(name)));
        let mut names: Vec<String> = self.kernels.iter().take(SHOWN_KERNELS).map(shown).collect();
        let subject = match self.kernels.len() {
            0 => "code".to_owned(),
            1 => format!("kernel {}", names.remove(0)),
            count => {
                let more = count - names.len();
                let last = if more > 0 {
                    format!("{more} more")
                } else {
                    names.pop().unwrap_or_default()
                };
                format!("kernels {} and {last}", names.join(", "))
            }
        };
        let verb = if self.kernels.len() > 1 { "were" } else { "was" };
        format!(
            "{}: {subject} for compute_{} {verb} not analysed",
            place(self.input),
            self.architecture
        )
    }

    /// The options that put PTX of it into the object.
    #[must_use]
    pub fn remedy(&self) -> String {
        format!(
            "add PTX to the build: `-gencode arch=compute_{0},code=compute_{0}`",
            self.architecture
        )
    }
}

/// An input, with the target of CMake's that its path names.
fn place(input: &str) -> String {
    let mut folders = Path::new(input)
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    let target = folders
        .find(|folder| folder == "CMakeFiles")
        .and_then(|_| folders.next())
        .and_then(|folder| Some(folder.strip_suffix(".dir")?.to_owned()));
    let name = escape::line(input);
    match target {
        Some(target) => format!("`{name}` (target `{}`)", escape::line(&target)),
        None => format!("`{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::Gap;
    use ptxcheck_passes::recompile::Architecture;

    #[test]
    fn what_was_not_analysed_is_named() {
        let gap = |input, kernels: &[&'static str]| {
            Gap {
                input,
                architecture: Architecture::of_target("sm_90a"),
                kernels: kernels.to_vec(),
            }
            .sentence()
        };
        assert_eq!(
            gap("b/CMakeFiles/app.dir/k.cu.o", &["_Z3badPi", "k"]),
            "`b/CMakeFiles/app.dir/k.cu.o` (target `app`): kernels `bad(int*)` and `k` for compute_90a were not analysed"
        );
        assert_eq!(
            gap("k.o", &["k"]),
            "`k.o`: kernel `k` for compute_90a was not analysed"
        );
        assert_eq!(gap("k.o", &[]), "`k.o`: code for compute_90a was not analysed");
        assert_eq!(
            gap("k.o", &["a", "b", "c", "d", "e", "f"]),
            "`k.o`: kernels `a`, `b`, `c`, `d` and 2 more for compute_90a were not analysed"
        );
    }
}

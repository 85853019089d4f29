//! ## What it does
//!
//! Reports libraries, executables and packages from which a GPU loads no kernel, although older GPUs load some: the newest generations, a
//! generation between two that load kernels, or the later GPUs of a family whose first one has machine code of its own (`sm_120a`
//! without anything for 12.1).
//!
//! ## Why is this bad?
//!
//! On such a GPU every launch fails with "no kernel image is available for execution on the device". Machine code runs on later GPUs of
//! its own generation alone, and with an `a` on no other GPU; PTX runs on all later ones.
//!
//! ## Example
//!
//! ```text
//! warning[PTX527] generation-left-out: 9.0, 10.x, 11.0, 12.x may have been left out: no kernel loads there, and older GPUs load some
//! ```
//!
//! Users of faiss-gpu-cu12 and of onnxruntime-gpu reported exactly this (faiss-wheels, issue 151; onnxruntime, issue 26181).
//!
//! ## Use instead
//!
//! PTX of the newest target, `-gencode arch=compute_90,code=compute_90`, or machine code for each generation.
//!
//! ## Limits
//!
//! `audit` reports it, and `check` with `-W potential` or `-W PTX527` alone, since it may be intended. With `gpus`, `require-sm` or `require-ptx` in the policy the rule is
//! silent: the policy says which GPUs count, and PTX501 and PTX514 report those. `"PTX527" = "error"` in `[rules]` makes it an error.
//!
//! Jetson and GPUs without a product are no reason for a finding. A file is not reported for a GPU that loads most kernels of its package, or
//! that loads its kernels from other files of the package. Relocatable code and images that are files of their own are left alone.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::forecast::Gpu;
use crate::inventory::{ImageKind, InputReport, listed};
use crate::names::in_message;
use crate::reach::{Bundle, FileReach, Load, generations};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX527",
    name: "generation-left-out",
    family: Family::Image,
    summary: "newer GPUs load no kernel of a file, and older ones do",
    definite: Level::Warning,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

/// Files of a package with the same gaps.
struct Found {
    files: Vec<usize>,
    kinds: Vec<&'static str>,
    /// The GPUs that the first one loads on, in words.
    sentence: String,
    /// The newest GPU that loads a kernel.
    newest: Gpu,
}

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let policy = context.policy;
    if !(policy.gpus.is_empty() && policy.require_sm.is_empty() && policy.require_ptx.is_empty()) {
        return;
    }
    for bundle in context.bundles() {
        let mut found: BTreeMap<Vec<Gpu>, Found> = BTreeMap::new();
        for file in &bundle.files {
            let input = &context.inputs[file.input];
            if is_file_of_its_own(input) {
                continue;
            }
            let missing = gpus_without_kernels(bundle, file);
            let Some(newest) = newest_loading_gpu(file) else {
                continue;
            };
            let kinds = kinds_of_gap(input, &missing, newest);
            if kinds.is_empty() {
                continue;
            }
            let same = found.entry(missing).or_insert_with(|| Found {
                files: Vec::new(),
                kinds,
                sentence: file.reach.to_string(),
                newest,
            });
            same.files.push(file.input);
        }
        for (missing, found) in found {
            report_gap(context.inputs, &missing, &found, report);
        }
    }
}

/// True for an image that is a file of its own.
fn is_file_of_its_own(input: &InputReport) -> bool {
    match input.images.as_slice() {
        [image] => {
            input.host.is_none()
                && image.container.is_none()
                && image.section.is_none()
                && image.member.is_none()
        }
        _ => false,
    }
}

/// The GPUs that load no kernel of a file, newer than one that does. Those that are served by other files of the package are none.
fn gpus_without_kernels(bundle: &Bundle, file: &FileReach) -> Vec<Gpu> {
    let is_served = |gpu: Gpu| {
        matches!(bundle.reach.load(gpu), Load::Code | Load::Compiled) || file.elsewhere.contains(&gpu)
    };
    let mut gpus = file.reach.left_out();
    gpus.retain(|gpu| !is_served(*gpu));
    gpus
}

fn newest_loading_gpu(file: &FileReach) -> Option<Gpu> {
    let mut loading = file.reach.gpus.iter().rev();
    loading.find(|one| one.load.is_some()).map(|one| one.gpu)
}

/// The reasons to report these GPUs; none if no GPU is one that people expect the file to run on.
fn kinds_of_gap(input: &InputReport, missing: &[Gpu], newest: Gpu) -> Vec<&'static str> {
    let has_own_code = |generation: u32| {
        let mut images = input.images.iter();
        images.any(|image| {
            image.kind == ImageKind::Cubin && image.suffix() == "a" && image.sm() / 10 == generation
        })
    };
    let expected = missing
        .iter()
        .filter(|gpu| !gpu.is_embedded() && !gpu.products().is_empty());
    let mut kinds: Vec<&'static str> = expected
        .map(|gpu| match *gpu {
            gpu if has_own_code(gpu.generation()) => "family",
            gpu if gpu > newest => "newest",
            _ => "gap",
        })
        .collect();
    kinds.sort_unstable_by_key(|kind| std::cmp::Reverse(*kind));
    kinds.dedup();
    kinds
}

fn report_gap(inputs: &[InputReport], missing: &[Gpu], found: &Found, report: &mut Report<'_, ImagePlace>) {
    let names = generations(missing);
    let (Some(first), Some(kind)) = (found.files.first(), found.kinds.first()) else {
        return;
    };
    let message = format!("{names} may have been left out: no kernel loads there, and older GPUs load some");
    let finding = report.potential(ImagePlace::input(*first), message);
    finding.kind(kind);
    finding.note(format!("it {}", found.sentence));
    if found.files.len() > 1 {
        let files: Vec<String> = found
            .files
            .iter()
            .skip(1)
            .map(|file| in_message(&inputs[*file].name))
            .collect();
        let count = files.len();
        finding.note(format!(
            "{count} more with the same gap: {}",
            listed(files, count)
        ));
    }
    finding.data("reason", *kind);
    finding.data("gpus", Value::Texts(missing.iter().map(Gpu::to_string).collect()));
    finding.data(
        "files",
        Value::Texts(
            found
                .files
                .iter()
                .map(|file| inputs[*file].name.clone())
                .collect(),
        ),
    );
    if found.kinds.contains(&"family") {
        finding.note("machine code for one architecture alone (`sm_120a`) loads on no other GPU of its family; that for the family (`sm_120f`) does");
    }
    let newest = found.newest.number();
    finding.help(match *kind {
        "newest" => format!(
            "add PTX, which later GPUs compile when they load it: `-gencode arch=compute_{newest},code=compute_{newest}`"
        ),
        "family" => "compile for the family, as in `-gencode arch=compute_120f,code=sm_120f`".to_owned(),
        _ => "add machine code for the generations between, or PTX of an older target".to_owned(),
    });
}

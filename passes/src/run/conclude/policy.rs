//! Parts of a policy that match nothing in the files: names of missing kernels, targets and GPUs.

use std::collections::HashSet;
use std::rc::Rc;

use crate::forecast::InputForecast;
use crate::inventory::{ImageKind, InputReport};
use crate::names;
use crate::patterns::{Pattern, Written};
use crate::policy::{ByDesign, Policy};

/// A part of a policy that matches nothing: a sentence, and where it is written, if that is a file.
pub(super) type Idle = (String, Option<Written>);

/// The parts that match nothing, in the order of the file. `kernels`: the spellings of all kernels.
pub(super) fn idle(policy: &Policy, inputs: &[InputReport], kernels: &HashSet<Rc<[String]>>) -> Vec<Idle> {
    let fits = |pattern: &Pattern| {
        let mut names = kernels.iter().flat_map(|name| &**name);
        names.any(|name| pattern.fits(name))
    };
    // An image that is not read may hold any kernel.
    let mut images = inputs.iter().flat_map(|input| &input.images);
    if images.any(|image| !image.is_whole() && !image.role.is_copy()) {
        return gpus_of_nothing(policy);
    }
    let mut found: Vec<Idle> = Vec::new();
    let budgets = policy.budgets.iter().flat_map(|budget| &budget.kernels);
    let by_design = policy.by_design.iter().flat_map(|entry| &entry.kernels);
    let blocks = policy.required_blocks.iter().flat_map(|block| &block.kernels);
    let patterns = budgets.chain(by_design).chain(blocks);
    // Patterns of symbols that must not be exported should match nothing, so hidden symbols are not compared with them.
    found.extend(
        patterns
            .filter(|pattern| !fits(pattern))
            .map(|pattern| (format!("no kernel fits the pattern `{pattern}`"), pattern.written)),
    );
    found.extend(budgets_of_nothing(policy, inputs));
    found.extend(gpus_of_nothing(policy));
    found.extend(needless_exceptions(policy, inputs, fits));
    found.sort_by_key(|(_, written)| *written);
    found
}

/// Budgets without a limit, and targets of budgets that no machine code is for.
fn budgets_of_nothing(policy: &Policy, inputs: &[InputReport]) -> Vec<Idle> {
    let images = inputs.iter().flat_map(InputReport::counting);
    let code = images.filter(|(_, image)| image.kind == ImageKind::Cubin);
    let targets: HashSet<&str> = code
        .map(|(_, image)| image.target.strip_prefix("sm_").unwrap_or(&image.target))
        .collect();
    let mut found = Vec::new();
    for budget in &policy.budgets {
        if budget.is_empty() {
            found.push(("this budget limits nothing".to_owned(), budget.written));
        }
        let missing = budget
            .targets
            .iter()
            .filter(|target| !targets.contains(target.as_str()));
        found.extend(missing.map(|target| {
            let message = format!("this budget is for sm_{target}, which no machine code is for");
            (message, budget.written)
        }));
    }
    found
}

/// GPUs that something is said of, and that are not among those that kernels have to load on.
fn gpus_of_nothing(policy: &Policy) -> Vec<Idle> {
    let mut found = Vec::new();
    if policy.gpus.is_empty() && policy.max_jit_bytes.is_some() {
        let message = "`max-jit` is about `gpus`, and there are none";
        found.push((message.to_owned(), policy.jit_written.max));
    }
    let allowed = policy.allow_jit.iter().flatten();
    let allowed = allowed.map(|gpu| (gpu, "`allow-jit` names", policy.jit_written.allow));
    // The metadata of a wheel name GPUs, too.
    let excused = policy.by_design.iter().filter(|_| !policy.check_variants);
    let excused = excused.flat_map(|entry| {
        let gpus = entry.gpus.iter();
        gpus.map(|gpu| (gpu, "this exception names", entry.written))
    });
    let others = allowed
        .chain(excused)
        .filter(|(gpu, ..)| !policy.gpus.contains(gpu));
    found.extend(others.map(|(gpu, what, written)| {
        let message = format!("{what} {gpu}, which is not among `gpus`");
        (message, written)
    }));
    found
}

/// Exceptions for kernels that load with a body on all GPUs that the exception is for.
fn needless_exceptions(
    policy: &Policy,
    inputs: &[InputReport],
    fits: impl Fn(&Pattern) -> bool,
) -> Vec<Idle> {
    // An exception that fits no kernel or GPU is reported as that.
    let is_of_use = |entry: &&ByDesign| {
        entry.kernels.iter().any(&fits) && policy.gpus.iter().any(|gpu| entry.is_for(*gpu))
    };
    let mut open: Vec<&ByDesign> = policy.by_design.iter().filter(is_of_use).collect();
    if open.is_empty() {
        return Vec::new();
    }
    for input in inputs {
        let forecast = InputForecast::new(input, &policy.gpus, None);
        for row in &forecast.kernels {
            let cells = forecast.gpus.iter().zip(&row.cells);
            let excused: Vec<_> = cells
                .filter(|(_, cell)| !cell.state.loads() || cell.stub.is_some())
                .map(|(gpu, _)| *gpu)
                .collect();
            if excused.is_empty() {
                continue;
            }
            let spellings = names::spellings(&row.kernel.name);
            open.retain(|entry| {
                let mut patterns = entry.kernels.iter();
                let is_fitting = patterns.any(|pattern| spellings.iter().any(|name| pattern.fits(name)));
                !is_fitting || !excused.iter().any(|gpu| entry.is_for(*gpu))
            });
        }
    }
    open.into_iter()
        .map(|entry| {
            let message = "the kernels of this exception load on all its GPUs";
            (message.to_owned(), entry.written)
        })
        .collect()
}

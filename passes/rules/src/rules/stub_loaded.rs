//! ## What it does
//!
//! With `gpus` in the policy: reports kernels that have no body in the image that one of these GPUs loads, and have one in another
//! image of the file.
//!
//! ## Why is this bad?
//!
//! The kernel is there, so its launch succeeds on that GPU. If it returns at once, nothing is written, no error is reported, and the
//! program goes on with what was in memory before. A body that traps is seen: the launch fails.
//!
//! ## Example
//!
//! ```text
//! warning[PTX515] stub-loaded: kernel `gemm` has no body in the image that 7.0 loads: it returns and does nothing
//! ```
//!
//! Release 4.8.5 of ctranslate2 has four kernels for AWQ models whose body stands in `#if __CUDA_ARCH__ >= 750` and is an
//! `assert(false)` otherwise, which `NDEBUG` removes: on a V100 they return without an error.
//!
//! ## Use instead
//!
//! No machine code for the GPUs that a kernel does not support, so that its launch fails; `__trap()` in the other branch of the
//! `#if`; or a check of the compute capability in host code, and the kernel in the policy's `by-design`.
//!
//! ## Limits
//!
//! Kernels that are empty in all images are left alone. A kernel that prints a message or fails an assertion has a body. With
//! `stubs = "allow-trap"`, the default, kernels that trap are left alone; with `deny` they are reported, and with `allow` none is.
//! Where several images fit a GPU, all of them have to be without a body.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::forecast::{Gpu, KernelForecast};
use crate::inventory::Stub;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::forecast::{gpu_list, kernel_names, place};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX515",
    name: "stub-loaded",
    family: Family::Image,
    summary: "a kernel has no body in the image that a GPU of the policy loads",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, forecast) in context.forecasts().iter().enumerate() {
        // Kernels without a body on the same GPUs are one finding.
        let mut alike: BTreeMap<(Stub, Vec<Gpu>), Vec<&KernelForecast<'_>>> = BTreeMap::new();
        for row in forecast.kernels.iter().filter(|row| row.has_body) {
            let mut gpus: BTreeMap<Stub, Vec<Gpu>> = BTreeMap::new();
            for (gpu, cell) in forecast.gpus.iter().zip(&row.cells) {
                let stub = cell.stub.filter(|stub| !context.policy.stubs.allows(*stub));
                if let Some(stub) = stub.filter(|_| !context.policy.is_by_design(&row.kernel.name, *gpu)) {
                    gpus.entry(stub).or_default().push(*gpu);
                }
            }
            for key in gpus {
                alike.entry(key).or_default().push(row);
            }
        }
        for ((stub, gpus), rows) in alike {
            let does = match (stub, rows.len()) {
                (Stub::Returning, 1) => "it returns and does nothing",
                (Stub::Returning, _) => "they return and do nothing",
                (Stub::Trapping, 1) => "it traps",
                (Stub::Trapping, _) => "they trap",
            };
            let on = gpu_list(&gpus);
            let finding = report.definite(
                place(number, &rows),
                format!(
                    "{} in the image that {on} loads: {does}",
                    kernel_names(&rows, "has no body", "have no body")
                ),
            );
            finding.kind(stub.as_str());
            finding.data(
                "kernels",
                Value::Texts(rows.iter().map(|row| row.kernel.name.clone()).collect()),
            );
            finding.data("gpus", Value::Texts(gpus.iter().map(Gpu::to_string).collect()));
            finding.data("stub", stub.as_str());
            let each = if rows.len() == 1 { "it" } else { "each" };
            finding.note(format!("another image of the file has a body for {each}"));
            finding.help(
                "give the kernel a body for these GPUs, let it trap, or name it in the policy's `by-design`",
            );
        }
    }
}

//! ## What it does
//!
//! With `gpus` in the policy, and `allow-jit` or `max-jit`: reports kernels that the driver compiles from PTX when they are first
//! loaded, on GPUs where the policy does not allow that; and files of which it compiles more than the policy allows for one GPU.
//!
//! ## Why is this bad?
//!
//! The driver compiles about half a megabyte of PTX in a second: a library with 50 MB of it makes the first run on a new GPU wait for
//! minutes, in each container and on each machine whose cache is empty or too small (`CUDA_CACHE_MAXSIZE`).
//!
//! ## Example
//!
//! ```text
//! error[PTX520] heavy-jit: on 12.0 the driver compiles 71000000 bytes of PTX, and the policy allows 20971520
//! ```
//!
//! gpu4pyscf 1.9.0 reaches 10.x and 12.x only by linking 71 MB of PTX when it is first used.
//!
//! ## Use instead
//!
//! Machine code for the GPU.
//!
//! ## Limits
//!
//! Each module is counted as a whole if one of its kernels is loaded from it: a program that uses few of them compiles less.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::forecast::{Gpu, InputForecast, KernelForecast};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::forecast::{gpu_list, kernel_names, place};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX520",
    name: "heavy-jit",
    family: Family::Image,
    summary: "the driver compiles more when it loads a file than the policy allows",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, forecast) in context.forecasts().iter().enumerate() {
        if let Some(allowed) = &context.policy.allow_jit {
            report_forbidden_kernels(context, number, forecast, allowed, report);
        }
        if let Some(limit) = context.policy.max_jit_bytes {
            for (gpu, bytes) in forecast.gpus.iter().zip(&forecast.jit_bytes) {
                if *bytes > limit {
                    let finding = report.definite(
                        ImagePlace::input(number),
                        format!(
                            "on {gpu} the driver compiles {bytes} bytes of PTX, and the policy allows {limit}"
                        ),
                    );
                    finding.kind("bytes");
                    finding
                        .data("gpu", gpu.to_string())
                        .data("bytes", *bytes)
                        .data("limit", limit);
                    finding.help("add machine code for this GPU");
                }
            }
        }
    }
}

/// Kernels that are compiled on GPUs where the policy does not allow it.
fn report_forbidden_kernels(
    context: &ImagesContext<'_>,
    number: usize,
    forecast: &InputForecast<'_>,
    allowed: &[Gpu],
    report: &mut Report<'_, ImagePlace>,
) {
    for (column, gpu) in forecast
        .gpus
        .iter()
        .enumerate()
        .filter(|(_, gpu)| !allowed.contains(gpu))
    {
        let is_compiled = |row: &&KernelForecast<'_>| {
            row.cells[column].state.is_compiled_at_load()
                && !context.policy.is_by_design(&row.kernel.name, *gpu)
        };
        let rows: Vec<_> = forecast.kernels.iter().filter(is_compiled).collect();
        if rows.is_empty() {
            continue;
        }
        let on = gpu_list(&[*gpu]);
        let message = if rows.len() == forecast.kernels.len() && rows.len() > 1 {
            format!("the driver compiles all kernels at the first load on {on}")
        } else {
            let names = kernel_names(&rows, "is compiled", "are compiled");
            format!("{names} by the driver at the first load on {on}")
        };
        let finding = report.definite(place(number, &rows), message);
        finding.kind("not-allowed");
        finding.data(
            "kernels",
            Value::Texts(rows.iter().map(|row| row.kernel.name.clone()).collect()),
        );
        finding.data("gpu", gpu.to_string());
        finding.data("bytes", forecast.jit_bytes[column]);
        finding.help("add machine code for this GPU, or name it in `allow-jit`");
    }
}

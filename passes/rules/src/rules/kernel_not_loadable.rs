//! ## What it does
//!
//! With `gpus` in the policy: reports kernels that one of these GPUs does not load, from machine code or from PTX.
//!
//! ## Why is this bad?
//!
//! A launch of such a kernel fails on that GPU with "no kernel image is available for execution on the device"
//! (cudaErrorNoKernelImageForDevice). Since modules are loaded lazily it does so at the first launch, not when the program starts.
//!
//! ## Example
//!
//! ```text
//! error[PTX514] kernel-not-loadable: no kernel loads on 7.5, 12.0
//!    = note: the file has them as machine code for sm_80, machine code for sm_90a
//! ```
//!
//! Release 1.9.0 of fbgemm-gpu has machine code for 8.0, 9.0 and 10.0 and no PTX: none of it loads on a T4 or an RTX 5090.
//!
//! ## Use instead
//!
//! Machine code for the GPU (`-gencode arch=compute_120,code=sm_120`), or PTX for the oldest GPU that the kernel is meant for, which the
//! driver compiles for later ones. A kernel that is meant to be missing is named in the policy (`by-design`), with the reason.
//!
//! ## Limits
//!
//! The driver takes one image of each container and looks for the kernel in that one. Nothing is said where it is not documented
//! whether an image loads (machine code of the same generation on an integrated GPU), where an image could not be read, and about
//! containers in the data of a library, among which its own code chooses. Relocatable code that is yet to be linked is loaded by
//! nobody. PTX that the driver refuses is PTX505's.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::forecast::{Gpu, InputForecast, KernelForecast, State};
use crate::inventory::{InputReport, listed};
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::forecast::{forms, gpu_list, kernel_names, place};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX514",
    name: "kernel-not-loadable",
    family: Family::Image,
    summary: "a kernel does not load on a GPU that the policy names",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, (input, forecast)) in context.inputs.iter().zip(context.forecasts()).enumerate() {
        // Kernels that are missing on the same GPUs are one finding.
        let mut alike: BTreeMap<Missing, Vec<&KernelForecast<'_>>> = BTreeMap::new();
        for row in &forecast.kernels {
            if let Some(missing) = Missing::of(context, forecast, row) {
                alike.entry(missing).or_default().push(row);
            }
        }
        for (missing, rows) in &alike {
            report_kernel(number, input, missing, rows, forecast.kernels.len(), report);
        }
    }
}

/// The GPUs of the policy that do not load a kernel.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Missing {
    gpus: Vec<Gpu>,
    /// Some load it from one of its containers.
    is_partly: bool,
}

impl Missing {
    fn of(
        context: &ImagesContext<'_>,
        forecast: &InputForecast<'_>,
        row: &KernelForecast<'_>,
    ) -> Option<Self> {
        let mut missing = Self {
            gpus: Vec::new(),
            is_partly: false,
        };
        for (gpu, cell) in forecast.gpus.iter().zip(&row.cells) {
            let is_missing = matches!(cell.state, State::None | State::Partly) && !cell.is_by_library;
            if is_missing && !context.policy.is_by_design(&row.kernel.name, *gpu) {
                missing.is_partly |= cell.state == State::Partly;
                missing.gpus.push(*gpu);
            }
        }
        (!missing.gpus.is_empty()).then_some(missing)
    }
}

fn report_kernel(
    number: usize,
    input: &InputReport,
    missing: &Missing,
    rows: &[&KernelForecast<'_>],
    kernels: usize,
    report: &mut Report<'_, ImagePlace>,
) {
    let on = gpu_list(&missing.gpus);
    let message = match rows {
        _ if missing.is_partly => format!(
            "{} from some of their containers alone on {on}",
            kernel_names(rows, "loads", "load")
        ),
        _ if rows.len() == kernels && kernels > 1 => format!("no kernel loads on {on}"),
        _ => format!("{} on {on}", kernel_names(rows, "does not load", "do not load")),
    };
    let finding = report.definite(place(number, rows), message);
    let forms = forms(input, rows);
    let count = forms.len();
    finding.note(format!(
        "the file has {} as {}",
        if rows.len() == 1 { "it" } else { "them" },
        listed(forms, count)
    ));
    finding.data(
        "kernels",
        Value::Texts(rows.iter().map(|row| row.kernel.name.clone()).collect()),
    );
    finding.data(
        "gpus",
        Value::Texts(missing.gpus.iter().map(Gpu::to_string).collect()),
    );
    finding.help(
        "add machine code for these GPUs, or PTX that they can compile; or name the kernels in `by-design`",
    );
}

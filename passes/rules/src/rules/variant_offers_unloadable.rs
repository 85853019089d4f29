//! ## What it does
//!
//! With `variants = "check"` in the policy: reports kernels of a variant wheel that do not load on a GPU which the wheel is offered to.
//!
//! ## Why is this bad?
//!
//! An installer selects a variant for its machine by the values of `nvidia :: sm_arch` in the wheel's metadata (PEP 825). A machine
//! whose GPU is among them gets the wheel, though another variant or the wheel without a label would have worked, and the first launch of
//! such a kernel fails with "no kernel image is available for execution on the device".
//!
//! ## Example
//!
//! ```text
//! error[PTX517] variant-offers-unloadable: the metadata offer the wheel to 8.6, 8.9, where no kernel loads
//!   --> x-1.0-py3-none-linux_x86_64-sm80.whl!x-1.0.dist-info/variant.json
//!    = note: the file `x/libx.so` has them as machine code for sm_80a
//! ```
//!
//! ## Use instead
//!
//! Machine code or PTX that these GPUs load, or metadata that do not name them. `80_real` offers a wheel to 8.0, 8.6 and 8.9; `120_virtual`
//! to 12.0 and 12.1; `86_virtual` to none, since a GPU asks for PTX of the first of its generation.
//!
//! ## Limits
//!
//! As for PTX514: nothing is said where it is not documented whether an image loads. Kernels that are there for some
//! architectures alone (`sm_90a`) are left alone as long as others of their file load, as are those of `by-design`, for which the host
//! code has to ask for the GPU. A wheel of which a part could not be read is left alone. Metadata are checked in wheels, not in folders
//! that wheels were unpacked to.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::forecast::{Cell, Gpu, InputForecast, KernelForecast, State};
use crate::inventory::{InputReport, listed};
use crate::policy::Policy;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::forecast::{forms, gpu_list, kernel_names};
use crate::support::variants::{Specialised, VariantWheel};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX517",
    name: "variant-offers-unloadable",
    family: Family::Image,
    summary: "a variant wheel is offered to a GPU that does not load its kernels",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    if !context.policy.check_variants {
        return;
    }
    let wheels = context.variant_wheels().iter();
    for wheel in wheels.filter(|wheel| wheel.claims.names_gpus) {
        for (number, input, forecast) in wheel.forecasts() {
            let missing = Missing::new(context.policy, input, forecast);
            // Kernels that are missing on the same GPUs are one finding.
            let mut alike: BTreeMap<Vec<Gpu>, Vec<&KernelForecast<'_>>> = BTreeMap::new();
            for row in &forecast.kernels {
                alike.entry(missing.gpus(row)).or_default().push(row);
            }
            alike.remove(&Vec::new());
            for (missing, rows) in &alike {
                let is_all = rows.len() == forecast.kernels.len() && rows.len() > 1;
                report_wheel(wheel, (*number, input), missing, rows, is_all, report);
            }
        }
    }
}

/// The GPUs that do not load a kernel, of those that the wheel is offered to.
struct Missing<'a> {
    policy: &'a Policy,
    specialised: Specialised<'a>,
    /// The GPUs, and true for those that load a kernel of the file.
    gpus: Vec<(Gpu, bool)>,
}

impl<'a> Missing<'a> {
    fn new(policy: &'a Policy, input: &'a InputReport, forecast: &InputForecast<'_>) -> Self {
        let loads_any = |column: usize| {
            let mut rows = forecast.kernels.iter();
            rows.any(|row| row.cells[column].state != State::None)
        };
        let gpus = forecast.gpus.iter().enumerate();
        Self {
            policy,
            specialised: Specialised::of(input),
            gpus: gpus.map(|(column, gpu)| (*gpu, loads_any(column))).collect(),
        }
    }

    fn gpus(&self, row: &KernelForecast<'_>) -> Vec<Gpu> {
        let is_specialised = self.specialised.contains(row);
        let is_missing =
            |cell: &Cell| matches!(cell.state, State::None | State::Partly) && !cell.is_by_library;
        let is_meant = |gpu: Gpu, loads_any: bool| {
            loads_any && is_specialised || self.policy.is_by_design(&row.kernel.name, gpu)
        };
        let columns = self.gpus.iter().zip(&row.cells);
        columns
            .filter(|((gpu, loads_any), cell)| is_missing(cell) && !is_meant(*gpu, *loads_any))
            .map(|((gpu, _), _)| *gpu)
            .collect()
    }
}

fn report_wheel(
    wheel: &VariantWheel<'_>,
    (number, input): (usize, &InputReport),
    missing: &[Gpu],
    rows: &[&KernelForecast<'_>],
    is_all: bool,
    report: &mut Report<'_, ImagePlace>,
) {
    let on = gpu_list(missing);
    let kernels = if is_all {
        "no kernel loads".to_owned()
    } else {
        kernel_names(rows, "does not load", "do not load")
    };
    let message = format!("the metadata offer the wheel to {on}, where {kernels}");
    let finding = report.definite(ImagePlace::input(wheel.metadata), message);
    let forms = forms(input, rows);
    let count = forms.len();
    let them = if rows.len() == 1 { "it" } else { "them" };
    finding.note(format!("`{}` has {them} as {}", input.name, listed(forms, count)));
    finding.related(ImagePlace::input(number), "the file with the kernels");
    // Kernels that are missing on other GPUs are another cause.
    let first = rows.first().map_or("", |row| row.kernel.name.as_str());
    finding.data("symbol", format!("{}: {first}", input.name));
    finding.caused_by_symbol();
    finding.data(
        "kernels",
        Value::Texts(rows.iter().map(|row| row.kernel.name.clone()).collect()),
    );
    finding.data("gpus", Value::Texts(missing.iter().map(Gpu::to_string).collect()));
    finding.help("add machine code or PTX that these GPUs load, or leave them out of `nvidia :: sm_arch`");
}

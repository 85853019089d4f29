//! ## What it does
//!
//! With `min-driver` or `min-cuda` in the policy: reports files that need a shared library of a newer major version of CUDA than the
//! oldest driver runs.
//!
//! ## Why is this bad?
//!
//! The libraries of CUDA 13 need a driver of its branch or a later one: on an older one, the first call fails with "CUDA driver version is
//! insufficient for CUDA runtime version". The device code itself may load there.
//!
//! ## Example
//!
//! ```text
//! error[PTX528] cuda-library-too-new: it needs libcudart.so.13, which needs driver 580.65.06, and the policy allows 550.54.14
//! ```
//!
//! ## Use instead
//!
//! A build with the older toolkit, a static CUDA runtime of that toolkit, or a newer `min-driver`.
//!
//! ## Limits
//!
//! Read are the names of needed libraries (`DT_NEEDED`) in files of Linux. Libraries whose names do not tell major versions of CUDA apart
//! (cuSOLVER, cuSPARSE, cuRAND) say nothing, and libraries that a program loads by itself are not known. NVIDIA's package for forward
//! compatibility runs them on older drivers of data centres.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::names::in_message;
use crate::policy::{Driver, is_older_branch, library_version};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX528",
    name: "cuda-library-too-new",
    family: Family::Image,
    summary: "a needed CUDA library is newer than the declared minimum driver can run",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let Some(minimum) = context.policy.min_driver else {
        return;
    };
    for (number, input) in context.inputs.iter().enumerate() {
        let needed = input.host.iter().flat_map(|host| &host.needed);
        let mut found: Vec<(u32, Driver, &str)> = needed
            .filter_map(|library| {
                let (cuda, driver) = library_version(&library.name)?;
                is_older_branch(minimum, driver).then_some((cuda, driver, library.name.as_str()))
            })
            .collect();
        found.sort_unstable();
        let Some((cuda, driver, _)) = found.last().copied() else {
            continue;
        };
        let names: Vec<String> = found.iter().map(|(.., name)| in_message(name)).collect();
        let which = if names.len() == 1 {
            "which needs"
        } else {
            "which need"
        };
        let finding = report.definite(
            ImagePlace::input(number),
            format!(
                "it needs {}, {which} driver {driver}, and the policy allows {minimum}",
                names.join(", ")
            ),
        );
        finding.note(format!(
            "the libraries of CUDA {cuda} run on drivers from {driver} on"
        ));
        finding.data("libraries", Value::Texts(names));
        finding.data("driver", driver.to_string());
        finding.data("minimum", minimum.to_string());
        finding.help("build with a toolkit whose libraries the driver runs, or require a newer driver");
    }
}

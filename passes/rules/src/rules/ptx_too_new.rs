//! ## What it does
//!
//! With a declared minimum driver: reports PTX whose ISA version that driver does not know.
//!
//! ## Why is this bad?
//!
//! For a device without machine code of its own, the driver compiles the PTX, and one older than the toolkit refuses:
//! "the provided PTX was compiled with an unsupported toolchain". It works on the machine that built it.
//!
//! ## Example
//!
//! ```text
//! error[PTX505] ptx-too-new: PTX ISA 8.4 needs driver 550.54.14, and the policy allows 535
//! ```
//!
//! A binary of the CCPi-Regularisation-Toolkit built with CUDA 12.4 did not run under driver 546
//! (TomographicImaging/CCPi-Regularisation-Toolkit, issue 211).
//!
//! ## Use instead
//!
//! An older toolkit for the release, machine code for every device that is supported, or a newer minimum driver.
//!
//! ## Limits
//!
//! Drivers are compared by their branch, the first number. For versions of PTX newer than this release of ptxcheck knows,
//! the newest driver it knows is taken for too old.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::inventory::ImageKind;
use crate::ir::IsaVersion;
use crate::policy::{first_driver, is_older_branch};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX505",
    name: "ptx-too-new",
    family: Family::Image,
    summary: "PTX is newer than the declared minimum driver can load",
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
        let mut versions: BTreeMap<(u32, u32), (u32, u64)> = BTreeMap::new();
        for (index, image) in input.counting().filter(|(_, image)| image.kind == ImageKind::Ptx) {
            if let Some(isa) = image.isa_version() {
                versions.entry((isa.major, isa.minor)).or_insert((index, 0)).1 += 1;
            }
        }
        for ((major, minor), (first, count)) in versions {
            let Some((driver, toolkit)) = first_driver(IsaVersion { major, minor }) else {
                continue;
            };
            let is_known = toolkit.is_some();
            if !(is_older_branch(minimum, driver) || !is_known && minimum.0 == driver.0) {
                continue;
            }
            let needs = match toolkit {
                Some(_) => format!("needs driver {driver}"),
                None => format!("needs a driver newer than {driver}"),
            };
            let finding = report.definite(
                ImagePlace::image(number, first),
                format!("PTX ISA {major}.{minor} {needs}, and the policy allows {minimum}"),
            );
            finding.note(match count {
                1 => "one image is written in it".to_owned(),
                _ => format!("{count} images are written in it"),
            });
            if let Some(toolkit) = toolkit {
                finding.note(format!("the version came with CUDA {toolkit}"));
            }
            finding.data("isa", format!("{major}.{minor}"));
            finding.data("driver", driver.to_string());
            finding.data("minimum", minimum.to_string());
            finding.help("build with an older toolkit, or ship machine code for every supported device");
        }
    }
}

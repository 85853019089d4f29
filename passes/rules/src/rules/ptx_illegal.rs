//! ## What it does
//!
//! In an audit: reports PTX with an instruction that its own `.target` or `.version` does not have, where the driver would be given
//! that PTX: no machine code for its target lies beside it.
//!
//! ## Why is this bad?
//!
//! The driver refuses the whole module (`CUDA_ERROR_INVALID_PTX`), with every kernel in it. Nobody notices as long as machine code is
//! loaded instead: the program fails on the first GPU that needs the PTX.
//!
//! ## Example
//!
//! ```ptx
//! .version 7.0
//! .target sm_75
//! …
//! redux.sync.add.s32 %r1, %r2, -1;   // sm_80 and later
//! ```
//!
//! ```text
//! error[PTX516] ptx-illegal: the PTX is not legal: `redux.sync.add.s32` needs sm_80 or later, and it is for sm_75
//! ```
//!
//! Inline assembly and code generators write such PTX: nvcc has it assembled for the targets with machine code alone.
//!
//! ## Use instead
//!
//! `#if __CUDA_ARCH__ >= 800` around the inline assembly; PTX for a target that has the instruction; a newer `.version`.
//!
//! ## Limits
//!
//! Some 40 kinds of instructions are known, with the least version and the targets that the PTX ISA names; ptxas of CUDA 13.5 agrees
//! on each. All others are taken to be legal. The first instruction of a module is reported. PTX with syntax errors is not checked, nor is
//! PTX outside of audits: there the assembler reports it.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::inventory::{ImageKind, ImageReport, InputReport};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX516",
    name: "ptx-illegal",
    family: Family::Image,
    summary: "PTX has an instruction that its own target or version does not have",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let ptx = input.counting().filter(|(_, image)| image.kind == ImageKind::Ptx);
        for (index, image) in ptx {
            let Some(illegal) = &image.facts.illegal else {
                continue;
            };
            if has_machine_code(input, image) {
                continue;
            }
            let place = ImagePlace {
                function: illegal.at.function.clone(),
                located: Some(Box::new(illegal.at.clone())),
                ..ImagePlace::image(number, index)
            };
            let mut needs = Vec::new();
            if let Some(targets) = &illegal.targets {
                needs.push(format!("{targets}, and it is for {}", image.target));
            }
            if let Some((major, minor)) = illegal.isa {
                needs.push(format!("`.version` {major}.{minor}, and it has {}", image.isa));
            }
            let finding = report.definite(
                place,
                format!(
                    "the PTX is not legal: `{}` needs {}",
                    illegal.opcode,
                    needs.join("; and ")
                ),
            );
            finding.data("opcode", illegal.opcode.clone());
            finding.data("target", image.target.as_str());
            finding.note("the driver refuses the whole module, with all its kernels");
            finding.help("guard the instruction by `__CUDA_ARCH__`, or write PTX for a target that has it");
        }
    }
}

/// True if machine code for the target of this PTX lies in its container, which the driver takes instead.
fn has_machine_code(input: &InputReport, ptx: &ImageReport) -> bool {
    ptx.container.is_some()
        && input.images.iter().any(|image| {
            image.kind == ImageKind::Cubin && image.container == ptx.container && image.target == ptx.target
        })
}

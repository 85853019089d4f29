//! ## What it does
//!
//! Finds shuffles whose `c` operand is not one that a power-of-two width up to 32 produces. The intrinsics compute
//! it as `(32 - width) << 8`, with 31 below for all but `__shfl_up_sync`; its bits 8 to 12 split the warp into
//! segments.
//!
//! ## Why is this bad?
//!
//! The width must be a power of two from 1 to 32, else the result is undefined (CUDA C++ Programming Guide, Warp
//! Shuffle Functions; guideline G-2.2). The hardware combines the segment mask bit by bit, so width 12 makes neither
//! segments of 12 lanes nor an error.
//!
//! ## Example
//!
//! ```cuda
//! value = __shfl_sync(0xffffffff, value, 0, 12);
//! ```
//!
//! ## Use instead
//!
//! A width of 1, 2, 4, 8, 16 or 32, with the lanes beyond the data left idle, or a source lane computed by hand
//! with the full width.
//!
//! ## Limits
//!
//! Definite is what an intrinsic makes of a width: an operand that the code computes from one, or one of the intrinsics' form
//! outside inline assembly, in a module that nvcc or LLVM wrote. In assembly, and where it is not known who wrote it, the
//! operand may be meant as it stands, and PTX says what it does (PTX ISA, `shfl.sync`: the segment mask picks the bits of the
//! lane's number that stay): that is a potential finding, which names the operand. A fat binary keeps neither the compiler's
//! name nor the marks of inline assembly.
//!
//! A width that is not a constant is not known. The low five bits of `c` (the clamp) may be anything: libraries put
//! the last valid lane there. So may bits 5 to 7, which belong to no field (PTX ISA, `shfl.sync`).

use crate::analysis::collectives::{CollectiveSite, SHUFFLE_CONTROL};
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::ops::Form;
use crate::ir::{Collective, Producer, Shuffle, Value};
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX405",
    name: "invalid-shuffle-width",
    aliases: &["width_is_not_power_of_two"],
    guidelines: &["G-2.2"],
    family: Family::Warp,
    summary: "the width of a shuffle is not a power of two up to 32",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for site in module
        .collectives()
        .iter()
        .filter(|site| matches!(site.kind, Collective::Shuffle(_)))
    {
        let Some(control) = site
            .operands
            .get(SHUFFLE_CONTROL)
            .and_then(|operand| operand.known_value())
        else {
            continue;
        };
        let control = control as u32;
        if is_valid_segment_mask(control) || !site.is_reached(module) {
            continue;
        }
        let operation = site.kind.cuda_name();
        let finding = match width_of_control(control).filter(|_| is_made_from_width(module, site, control)) {
            Some(width) => {
                let message =
                    format!("`{operation}` has width {width}, which is not a power of two up to 32");
                report.definite(site.place(), message)
            }
            None => {
                let message = format!(
                    "operand `c` of this `{operation}` may be wrong: no width of 1, 2, 4, 8, 16 or 32 gives {control:#x}"
                );
                let finding = report.potential(site.place(), message);
                finding.note(
                    "PTX defines what each `c` does (PTX ISA, `shfl.sync`), so one that is written by hand may be meant",
                )
            }
        };
        finding
            .help("use a width of 1, 2, 4, 8, 16 or 32")
            .data("operation", operation)
            .data("control", u64::from(control));
        if let Some(mask) = site.known_mask() {
            finding.data("mask", mask);
        }
        if let Some(call) = site.callers.last() {
            finding.related(Place::of_call(*call), "the width is passed here");
        }
    }
}

/// True if a shuffle's operand is certainly made from the width of an intrinsic.
fn is_made_from_width(module: &ModuleContext<'_>, site: &CollectiveSite, control: u32) -> bool {
    if module.module.is_in_assembly(site.function, site.instruction) {
        return false;
    }
    let clamp = if site.kind == Collective::Shuffle(Shuffle::Up) {
        0
    } else {
        31
    };
    let is_compiled = matches!(module.module.producer, Producer::Nvvm | Producer::Llvm);
    control & 0xff == clamp && (is_compiled || is_computed_from_width(module, site))
}

/// True if the code computes the operand from a width: `(32 - width) << 8`, with 31 below, as unoptimised code does.
fn is_computed_from_width(module: &ModuleContext<'_>, site: &CollectiveSite) -> bool {
    let function = module.module.function(site.function);
    let Some(body) = &function.body else { return false };
    let analyses = module.function(site.function);
    let operands = body.uses(body.instruction(site.instruction));
    let Some(&control) = operands.get(SHUFFLE_CONTROL) else {
        return false;
    };
    let (mut is_shifted, mut is_computed) = (false, false);
    analyses.trace_value(control, |form| match form {
        Form::Bits(from, Value::Integer(31)) | Form::Sum(from, Value::Integer(31)) => Some(from),
        Form::Product(from, Value::Integer(256)) => {
            is_shifted = true;
            Some(from)
        }
        Form::Difference(..) => {
            is_computed = is_shifted;
            None
        }
        form => form.moved_number(),
    });
    is_computed
}

/// True if the bits above the clamp are a segment mask: ones from bit 12 down to the segment's size, then zeros.
const fn is_valid_segment_mask(control: u32) -> bool {
    let segments = control >> 8;
    segments <= 31 && is_left_aligned(segments)
}

/// True if a five-bit number is ones, then zeros, from the top.
const fn is_left_aligned(bits: u32) -> bool {
    let low_zeros = (!bits) & 31;
    low_zeros & (low_zeros + 1) == 0
}

/// The width that an intrinsic must have been given; `None` where none gives this operand.
const fn width_of_control(control: u32) -> Option<i32> {
    let clamp = control & 0xff;
    if clamp != 0 && clamp != 31 {
        return None;
    }
    Some(32 - ((control as i32) >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_valid() {
        for width in [1, 2, 4, 8, 16, 32] {
            let segments = (32 - width) << 8;
            for clamp in [0, 31, 7, 32] {
                assert!(is_valid_segment_mask(segments | clamp), "{width} {clamp}");
            }
        }
    }

    #[test]
    fn other_widths_are_invalid() {
        for width in (0..=64_u32).filter(|width| !(width.is_power_of_two() && *width <= 32)) {
            let control = 32_u32.wrapping_sub(width) << 8 | 31;
            assert!(!is_valid_segment_mask(control), "{width}");
            assert_eq!(super::width_of_control(control), Some(width as i32));
        }
        assert_eq!(super::width_of_control(0x1207), None);
    }
}

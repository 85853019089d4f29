//! ## What it does
//!
//! Finds shuffles, matches and reductions of a warp whose member mask is data that each lane loads for itself, and whose
//! value is what masks are made of: a ballot, an `__activemask()`, or the constant with all bits set.
//!
//! ## Why is this bad?
//!
//! Both operands are 32-bit integers, so compilers say nothing when they change places. The data then decides which lanes
//! take part: a mask without the lane that calls is undefined behaviour, and ptxas and the hardware may stop the kernel with
//! an illegal instruction or wait for ever. Where it happens to fit, the result is about masks, and not about the data.
//!
//! ## Example
//!
//! ```cuda
//! unsigned mask = __ballot_sync(0xffffffff, in[threadIdx.x] > 0);
//! out[threadIdx.x] = __reduce_max_sync(in[threadIdx.x], mask);
//! ```
//!
//! ## Use instead
//!
//! The member mask is the first operand of an intrinsic, and the last of a PTX instruction:
//!
//! ```cuda
//! out[threadIdx.x] = __reduce_max_sync(mask, in[threadIdx.x]);
//! ```
//!
//! A compiler can make the same mistake: llvm/llvm-project, issue 131415, swapped the operands of every `redux.sync`.
//!
//! ## Limits
//!
//! A definite finding has a floating-point number, converted to an integer, as its mask: nobody keeps masks in such. All
//! other data is potential, since a thread may keep the mask of its group in memory, and −1 and ballots are values like
//! others.
//!
//! The data is a load at an address that differs by `threadIdx.x` or the lane's number. A mask that a whole warp loads from one place, as from a table with an entry for each warp, is silent, and so is a ballot
//! that itself has such a mask. Votes are silent, since their value is a condition. Both operands are followed through
//! moves, the stack and the parameters of functions, and not through values that come from several places.

use crate::analysis::call_graph::CallSite;
use crate::analysis::collectives::CollectiveSite;
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::{Collective, FunctionId, InstructionId, Op, Value};
use crate::limits::{MAX_OPERAND_CALLS, MAX_OPERAND_CHAINS};
use crate::rule::{Certainties, Family, Level, Rule};

use crate::analysis::mask_source::{OperandOrigin, classify_lane_dependent_load, origin_as_lane_mask};
use crate::support::wording;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX414",
    name: "swapped-mask",
    family: Family::Warp,
    summary: "the member mask and the value of a warp collective have changed places",
    definite: Level::Warning,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for site in module.collectives() {
        let is_exchange = matches!(
            site.kind,
            Collective::Shuffle(_) | Collective::Match(_, 32) | Collective::Reduce
        );
        // A mask that is a constant is not data. Callers are checked below.
        if !is_exchange || !site.is_sync() || site.known_mask().is_some() || !site.callers.is_empty() {
            continue;
        }
        let function = module.module.function(site.function);
        let Some(body) = function.body.as_ref().filter(|_| !function.is_damaged) else {
            continue;
        };
        let &[mask, value, ..] = body.uses(body.instruction(site.instruction)) else {
            continue;
        };
        let begin = Frame {
            function: site.function,
            mask: Operand::At(mask),
            value: Operand::At(value),
            callers: Vec::new(),
            is_converted: false,
        };
        for_each_swapped_call(module, begin, |found| {
            if site.is_reached(module) {
                let place = Place::Instruction(site.function, site.instruction, found.callers.clone());
                report_call(module, report, site, place, &found);
            }
        });
    }
}

/// One of the two operands, as far as it is followed.
#[derive(Clone, Copy)]
enum Operand {
    /// A value of the current function.
    At(Value),
    /// Data for the mask, or a mask for the value, and the instruction that makes it; none makes a constant.
    Found(Option<(FunctionId, InstructionId)>),
}

/// A function on the way from a collective to those that decide its operands.
struct Frame {
    function: FunctionId,
    mask: Operand,
    value: Operand,
    /// The calls that lead to the collective, innermost first.
    callers: Vec<CallSite>,
    /// The mask is made of a floating-point number.
    is_converted: bool,
}

/// Calls `found` for each chain of calls in which mask and value have changed places.
fn for_each_swapped_call(module: &ModuleContext<'_>, begin: Frame, mut found: impl FnMut(Frame)) {
    let mut work = vec![begin];
    let mut chains = 0;
    while let Some(frame) = work.pop() {
        let mut is_converted = frame.is_converted;
        let mask = match frame.mask {
            Operand::At(value) => {
                let loaded = classify_lane_dependent_load(module, frame.function, value);
                is_converted |= loaded.is_converted;
                loaded.origin
            }
            Operand::Found(by) => OperandOrigin::Found(by),
        };
        if matches!(mask, OperandOrigin::Other) {
            continue;
        }
        let value = match frame.value {
            Operand::At(value) => origin_as_lane_mask(module, frame.function, value),
            Operand::Found(by) => OperandOrigin::Found(by),
        };
        if let (OperandOrigin::Found(mask), OperandOrigin::Found(value)) = (&mask, &value) {
            found(Frame {
                mask: Operand::Found(*mask),
                value: Operand::Found(*value),
                is_converted,
                ..frame
            });
            continue;
        }
        if matches!(value, OperandOrigin::Other) || frame.callers.len() == MAX_OPERAND_CALLS {
            continue;
        }
        for call in module.call_graph().calls_to(frame.function) {
            chains += 1;
            if chains > MAX_OPERAND_CHAINS {
                return;
            }
            if let (Some(mask), Some(value)) = (
                operand_passed_by(module, call, &mask),
                operand_passed_by(module, call, &value),
            ) && module.may_call(call)
            {
                work.push(Frame {
                    function: call.caller,
                    mask,
                    value,
                    is_converted,
                    callers: frame.callers.iter().copied().chain([*call]).collect(),
                });
            }
        }
    }
}

/// An operand in the function that makes a call.
fn operand_passed_by(module: &ModuleContext<'_>, call: &CallSite, origin: &OperandOrigin) -> Option<Operand> {
    let piece = match *origin {
        OperandOrigin::Found(by) => return Some(Operand::Found(by)),
        OperandOrigin::Param(piece) => piece,
        OperandOrigin::Other => return None,
    };
    let body = module.module.function(call.caller).body.as_ref()?;
    body.passed(call.instruction, piece).map(Operand::At)
}

fn report_call(
    module: &ModuleContext<'_>,
    report: &mut Report<'_>,
    site: &CollectiveSite,
    place: Place,
    found: &Frame,
) {
    let operation = wording::collective(module, site.function, site.instruction, site.kind);
    let mask = if found.is_converted {
        "a converted floating-point number"
    } else {
        "loaded data"
    };
    let message = format!(
        "`{operation}` gets {mask} as its mask and {} as its value: the arguments {} swapped",
        value_in_words(module, found),
        if found.is_converted { "look" } else { "may be" }
    );
    let finding = if found.is_converted {
        report.definite(place, message)
    } else {
        report.potential(place, message)
    };
    if let Operand::Found(Some((id, at))) = found.mask {
        finding.related(Place::of_instruction(id, at), "the member mask is loaded here");
    }
    if let Operand::Found(Some((id, at))) = found.value {
        finding.related(Place::of_instruction(id, at), "the value comes from here");
    }
    finding
        .help("pass the mask first in CUDA, and last in PTX")
        .data("operation", site.kind.cuda_name());
}

fn value_in_words(module: &ModuleContext<'_>, found: &Frame) -> &'static str {
    let maker = match found.value {
        Operand::Found(None) => return "0xffffffff",
        Operand::Found(Some((function, at))) => {
            let body = module.module.function(function).body.as_ref();
            body.map(|body| body.instruction(at).op)
        }
        Operand::At(_) => None,
    };
    match maker {
        Some(Op::ActiveMask) => "the mask of the active lanes",
        Some(Op::Collective(..)) => "a ballot",
        _ => "a mask of lanes",
    }
}

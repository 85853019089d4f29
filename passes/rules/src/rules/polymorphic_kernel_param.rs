//! ## What it does
//!
//! Finds virtual calls on an object that a kernel takes by value: the address of its table of functions is read from the
//! parameter, the function from that table, and called.
//!
//! ## Why is this bad?
//!
//! The host made the object, so its table is the host's. The device reads host memory, or calls host code. The CUDA guide allows
//! virtual calls only on objects that device code has constructed.
//!
//! ## Example
//!
//! ```cuda
//! struct Square : Shape { __device__ int area() const override; };
//! __global__ void k(Square s, int *out) { const Shape &shape = s; *out = shape.area(); }
//! ```
//!
//! ## Use instead
//!
//! Templates, a tag and a `switch`, or objects that a kernel constructs with `new`.
//!
//! ## Limits
//!
//! Always potential: a structure of one's own with a table of functions that device code has filled looks alike. Copies on the stack
//! are followed, and choices of several objects; copies that another function makes are not. PTX only: LLVM IR reads by-value
//! parameters in another way. Where the compiler knows the class, it calls the function itself.

use crate::analysis::param_sources::{loads_giving_value, params_loaded_into};
use crate::checks::Check;
use crate::context::{FunctionContext, Place, Report};
use crate::ir::{Callee, Op, Space, Value};
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::wording;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX304",
    name: "polymorphic-kernel-param",
    guidelines: &["G-4.3"],
    family: Family::Params,
    summary: "a virtual function of an object that a kernel takes by value is called",
    definite: Level::Error,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Function(check);

/// Bytes of a pointer.
const POINTER_BYTES: u64 = 8;

fn check(function: &FunctionContext<'_>, report: &mut Report<'_>) {
    if !function.function.is_kernel() {
        return;
    }
    for call in &function.body.calls {
        let Callee::Indirect(callee) = call.callee else {
            continue;
        };
        if !passes_address_first(function, call) || !function.analyses().is_reached(call.instruction) {
            continue;
        }
        let mut params = params_with_called_address(function, callee);
        params.retain(|&number| may_be_object_by_value(function, number));
        let names: Vec<String> = params
            .iter()
            .filter_map(|&number| Some((number, function.function.params.get(usize::from(number))?)))
            .map(|(number, param)| wording::parameter(function.name(), usize::from(number), param.name))
            .collect();
        let Some(&first) = params.first() else { continue };
        let name = names.join(" or ");
        report
            .potential(
                Place::of_instruction(function.id, call.instruction),
                format!(
                    "this may call a virtual function of the host: the address of its table is in {name}"
                ),
            )
            .help("use a template, or objects that device code has constructed")
            .data("param", u64::from(first));
    }
}

/// True if a parameter may be an object: a pointer to a table is none.
fn may_be_object_by_value(function: &FunctionContext<'_>, number: u16) -> bool {
    let param = function.function.params.get(usize::from(number));
    param.is_some_and(|param| {
        let declared = function.module.module.origin.text(param.span);
        param.size != POINTER_BYTES || memchr::memchr(b'[', declared).is_some()
    })
}

/// True if the first argument of a call is an address.
fn passes_address_first(function: &FunctionContext<'_>, call: &crate::ir::Call) -> bool {
    let arguments = function.body.arguments(call);
    let first = arguments.iter().find(|argument| argument.passes((0, 0)));
    let register = first.and_then(|argument| argument.value.register());
    register.is_some_and(|register| u64::from(function.body.registers.bits(register)) == 8 * POINTER_BYTES)
}

/// The parameters that the address may be read from which a called address is read at.
fn params_with_called_address(function: &FunctionContext<'_>, callee: Value) -> Vec<u16> {
    let (body, analyses) = (function.body, function.analyses());
    let mut params = Vec::new();
    for load in loads_giving_value(body, analyses, callee) {
        let instruction = body.instruction(load);
        let is_in_memory = matches!(
            instruction.op,
            Op::Access(access) if matches!(access.space, Space::Generic | Space::Global | Space::Const)
        );
        if is_in_memory && let Some(&table) = body.uses(instruction).first() {
            params.extend(params_loaded_into(body, analyses, table));
        }
    }
    params.sort_unstable();
    params.dedup();
    params
}

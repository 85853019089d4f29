//! ## What it does
//!
//! Adds up the parameters of every kernel as ptxas lays them out (each at the next multiple of its alignment, in the
//! order of declaration, nothing after the last; texture, sampler and surface references take no room) and compares
//! with the limit: 32,764 bytes from PTX ISA 8.1 and sm_70 on, 4,096 bytes before.
//!
//! ## Why is this bad?
//!
//! The module does not load. clang and LLVM check nothing; NVIDIA's compiler adds sizes without the padding between
//! parameters, and `nvcc -ptx` runs ptxas only for sm_90 and newer, so a module that no driver accepts can leave the
//! build without a word.
//!
//! ## Example
//!
//! ```cuda
//! struct Table { char bytes[32756]; };
//! __global__ void k(Table table, int *out);   // 32,756, padded to 32,760, and 8: 32,768
//! ```
//!
//! ## Use instead
//!
//! Pass a pointer to device memory, or put the table into `__constant__` memory.
//!
//! ## Limits
//!
//! ptxas itself accepts up to 4,352 bytes where the limit is 4,096; the documented limit is the one to hold. The version and target that
//! count are those the module names, even if it is assembled with another `-arch`.

use std::cmp::Reverse;

use crate::analysis::params::{self, OLD_ASSEMBLER_LIMIT, OLD_LIMIT};
use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::ir::FunctionId;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::support::wording;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX301",
    name: "kernel-params-too-large",
    family: Family::Params,
    summary: "the parameters of a kernel exceed what its target and PTX version can pass",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// Number of the largest parameters that are named.
const NAMED: usize = 3;

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    let module = module.module;
    let limit = params::limit(module.isa, module.target);
    for (number, function) in module.functions.iter().enumerate() {
        if !function.is_kernel() {
            continue;
        }
        let layout = params::layout(&function.params);
        if layout.size <= limit {
            continue;
        }
        let place = Place::Function(FunctionId::new(number));
        let finding = report.definite(
            place,
            format!(
                "the parameters take {}, and a kernel of this module can have at most {limit}",
                wording::bytes(layout.size)
            ),
        );
        finding
            .data("bytes", layout.size)
            .data("limit", limit)
            .note(reason_for_limit(module, limit));
        if limit == OLD_LIMIT && layout.size <= OLD_ASSEMBLER_LIMIT {
            finding.note(format!(
                "ptxas accepts up to {OLD_ASSEMBLER_LIMIT} bytes here; {OLD_LIMIT} is what is documented to work"
            ));
        }
        let function_name = module.function_name(FunctionId::new(number));
        let mut largest: Vec<_> = function.params.iter().zip(&layout.offsets).enumerate().collect();
        largest.sort_by_key(|(number, (param, _))| (Reverse(param.size), *number));
        for (number, (param, offset)) in largest
            .into_iter()
            .take(NAMED)
            .filter(|(_, (param, _))| param.size > 0)
        {
            finding.note(format!(
                "{} takes {} at offset {offset}",
                wording::parameter(function_name, number, param.name),
                wording::bytes(param.size)
            ));
        }
        finding.help("pass a pointer to device memory, or use `__constant__` memory");
    }
}

fn reason_for_limit(module: &crate::ir::Module<'_>, limit: u64) -> String {
    let isa = module
        .isa
        .map_or_else(|| "an unknown version".to_owned(), |isa| format!("PTX ISA {isa}"));
    let target = if module.target.name.is_empty() {
        "an unknown target"
    } else {
        module.target.name
    };
    if limit == OLD_LIMIT {
        format!(
            "the module is {isa} for {target}; from PTX ISA 8.1 and sm_70 on the limit is {}",
            params::LIMIT
        )
    } else {
        format!("the module is {isa} for {target}")
    }
}

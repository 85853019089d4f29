//! ## What it does
//!
//! With `hidden-symbols` in the policy: reports symbols that a shared library or executable exports and that match one of its patterns.
//!
//! ## Why is this bad?
//!
//! Two libraries in one process that export a kernel, its stub or a function of a header-only library under the same name share one of
//! them, and a kernel of one may run with the data of the other. From CUDA 13 on nvcc gives kernels hidden visibility; before, and
//! where that is turned off (`-static-global-template-stub=false`), they are exported like any function.
//!
//! ## Example
//!
//! ```text
//! [audit]
//! hidden-symbols = ["*__device_stub__*", "cub::*", "thrust::*"]
//! ```
//!
//! RAPIDS looks for such symbols in its libraries by a script (rapidsai/build-infra, issue 53), and CCCL was asked for a tool
//! (NVIDIA/cccl, issue 343).
//!
//! ## Use instead
//!
//! `-fvisibility=hidden`, an anonymous namespace, or a version script.
//!
//! ## Limits
//!
//! Names are matched as they are in the file and in C++. Objects and archives export nothing yet, and are left alone.

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::listed;
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX524",
    name: "exported-symbol",
    family: Family::Image,
    summary: "a library exports a symbol that the policy wants hidden",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        // Each pattern has its own finding: the first that matches a name counts.
        for (index, pattern) in context.policy.hidden_symbols.iter().enumerate() {
            let of_pattern = input.exported.iter().filter(|symbol| symbol.pattern == index);
            let names: Vec<&str> = of_pattern.map(|symbol| symbol.name.as_str()).collect();
            let Some(first) = names.first() else { continue };
            let message = match names.len() {
                1 => format!(
                    "it exports `{}`, which matches `{}`",
                    in_message(first),
                    pattern.as_str()
                ),
                count => format!("it exports {count} symbols that match `{}`", pattern.as_str()),
            };
            let finding = report.definite(ImagePlace::input(number), message);
            let shown: Vec<String> = names
                .iter()
                .map(|name| format!("`{}`", in_message(name)))
                .collect();
            if names.len() > 1 {
                finding.note(format!("they are {}", listed(shown, names.len())));
            }
            finding.data("symbol", pattern.as_str());
            finding.caused_by_symbol();
            finding.data(
                "symbols",
                Value::Texts(names.into_iter().map(str::to_owned).collect()),
            );
            finding.help("compile with `-fvisibility=hidden`, or list what is exported in a version script");
        }
    }
}

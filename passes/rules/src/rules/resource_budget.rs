//! ## What it does
//!
//! With budgets in the policy: reports kernels whose machine code takes more registers, stack, static shared memory or code than the
//! policy allows for its target.
//!
//! ## Why is this bad?
//!
//! A template argument, a flag or a new compiler doubles what a kernel takes, and nothing says so: it still works, with half the
//! warps, or with its arrays in memory. A budget makes that a decision.
//!
//! ## Example
//!
//! ```text
//! error[PTX521] resource-budget: kernel `attention` takes 255 registers for sm_90, and the policy allows 168
//! ```
//!
//! ```toml
//! [[audit.budget]]
//! kernels = ["attention*", "gemm*"]
//! targets = ["90", "100"]
//! max-registers = 168
//! max-stack = "0"
//! ```
//!
//! ## Use instead
//!
//! `__launch_bounds__`, `-maxrregcount` or less unrolling for registers; arrays that are indexed by constants for the stack; or another
//! number in the policy. `ptxcheck audit --resources` lists what kernels take.
//!
//! ## Limits
//!
//! Numbers are those of the headers of machine code, as `cuobjdump -res-usage` prints them: PTX has none until it is assembled.
//! Static shared memory is without what the driver keeps for itself. The stack is not known of kernels whose functions call themselves
//! or by addresses, nor before a link: such kernels are within each budget. Machine code that nothing loads is left alone.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, InputReport, Kernel, listed};
use crate::names::{in_message, is_called};
use crate::policy::Budget;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX521",
    name: "resource-budget",
    family: Family::Image,
    summary: "machine code of a kernel takes more registers, memory or code than the policy allows",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

/// The resource that a budget limits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quantity {
    Registers,
    Stack,
    Shared,
    Code,
}

impl Quantity {
    const ALL: [Self; 4] = [Self::Registers, Self::Stack, Self::Shared, Self::Code];

    const fn kind(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::Stack => "stack",
            Self::Shared => "shared",
            Self::Code => "code",
        }
    }

    /// So much of it, in words.
    fn amount_in_words(self, amount: u64) -> String {
        match self {
            Self::Registers => format!("{amount} registers"),
            Self::Stack => format!("{amount} bytes of stack"),
            Self::Shared => format!("{amount} bytes of static shared memory"),
            Self::Code => format!("{amount} bytes of code"),
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Self::Registers => {
                "limit them with `__launch_bounds__` or `-maxrregcount`, unroll less, or allow more"
            }
            Self::Stack => "index arrays by constants so that they stay in registers, or allow more",
            Self::Shared => "share less, share it dynamically, or allow more",
            Self::Code => "unroll and inline less, or allow more",
        }
    }

    /// The part of it that the code of a kernel takes.
    fn amount_taken_by(self, kernel: &Kernel) -> Option<u64> {
        let used = kernel.resources.unwrap_or_default();
        match self {
            Self::Registers => used.registers.map(u64::from),
            Self::Stack => used.stack.map(u64::from),
            Self::Shared => used.shared.map(u64::from),
            Self::Code => kernel.code_bytes,
        }
    }

    const fn limit_in(self, budget: &Budget) -> Option<u64> {
        match self {
            Self::Registers => budget.max_registers,
            Self::Stack => budget.max_stack_bytes,
            Self::Shared => budget.max_shared_bytes,
            Self::Code => budget.max_code_bytes,
        }
    }
}

/// A kernel that takes too much for a target.
struct Excess<'a> {
    image: u32,
    target: &'a str,
    kernel: &'a Kernel,
    taken: u64,
    limit: u64,
}

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    if context.policy.budgets.iter().all(Budget::is_empty) {
        return;
    }
    for (number, input) in context.inputs.iter().enumerate() {
        for ((_, quantity), excesses) in excesses_by_kernel(input, &context.policy.budgets) {
            report_excesses(number, quantity, &excesses, report);
        }
    }
}

/// By kernel and quantity: where it takes too much.
fn excesses_by_kernel<'a>(
    input: &'a InputReport,
    budgets: &[Budget],
) -> BTreeMap<(&'a str, Quantity), Vec<Excess<'a>>> {
    let mut found: BTreeMap<_, Vec<Excess<'_>>> = BTreeMap::new();
    for (index, image) in input
        .counting()
        .filter(|(_, image)| image.kind == ImageKind::Cubin)
    {
        let of_target: Vec<&Budget> = budgets
            .iter()
            .filter(|budget| budget.is_for(&image.target))
            .collect();
        if of_target.is_empty() {
            continue;
        }
        for kernel in &image.facts.kernels {
            for quantity in Quantity::ALL {
                let Some(taken) = quantity.amount_taken_by(kernel) else {
                    continue;
                };
                // Names are compared only if a number is too large, which is rare.
                let limits = of_target.iter().filter(|budget| {
                    quantity.limit_in(budget).is_some_and(|limit| taken > limit) && applies_to(budget, kernel)
                });
                if let Some(limit) = limits.filter_map(|budget| quantity.limit_in(budget)).min() {
                    found
                        .entry((kernel.identity.as_str(), quantity))
                        .or_default()
                        .push(Excess {
                            image: index,
                            target: &image.target,
                            kernel,
                            taken,
                            limit,
                        });
                }
            }
        }
    }
    found
}

fn applies_to(budget: &Budget, kernel: &Kernel) -> bool {
    let mut patterns = budget.kernels.iter();
    budget.kernels.is_empty() || patterns.any(|pattern| is_called(&kernel.name, pattern))
}

fn report_excesses(
    number: usize,
    quantity: Quantity,
    excesses: &[Excess<'_>],
    report: &mut Report<'_, ImagePlace>,
) {
    // The first of the largest.
    let Some(worst) = excesses
        .iter()
        .reduce(|worst, one| if one.taken > worst.taken { one } else { worst })
    else {
        return;
    };
    let finding = report.definite(
        ImagePlace::kernel(number, worst.image, worst.kernel),
        format!(
            "kernel `{}` takes {} for {}, and the policy allows {}",
            in_message(&worst.kernel.name),
            quantity.amount_in_words(worst.taken),
            worst.target,
            worst.limit
        ),
    );
    finding.kind(quantity.kind());
    finding
        .data("kernel", worst.kernel.name.clone())
        .data("target", worst.target)
        .data(quantity.kind(), worst.taken)
        .data("limit", worst.limit);
    let mut targets: Vec<&str> = excesses.iter().map(|one| one.target).collect();
    targets.sort_unstable();
    targets.dedup();
    if targets.len() > 1 {
        let count = targets.len();
        let names = targets.iter().map(|target| (*target).to_owned()).collect();
        finding.note(format!("it takes too much for {}", listed(names, count)));
        let names = targets.iter().map(|target| (*target).to_owned()).collect();
        finding.data("targets", Value::Texts(names));
    }
    finding.help(quantity.help());
}

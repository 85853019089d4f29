//! ## What it does
//!
//! Finds tables of virtual functions with empty slots: a virtual function of the class that no device code has.
//!
//! ## Why is this bad?
//!
//! A virtual function that is declared without `__device__` is left out of the device's table, without a message. A call
//! through the base class goes to address 0.
//!
//! ## Example
//!
//! ```cuda
//! struct Base {
//!   virtual int host_only(int x) { return x + 1; }
//!   __device__ virtual int both(int x) { return x + 2; }
//! };
//! __global__ void k(Base **out) { *out = new Base; }   // its table: { 0, &Base::both }
//! ```
//!
//! ## Use instead
//!
//! `__host__ __device__` on every virtual function of a class whose objects are made in device code, and on every override.
//!
//! ## Limits
//!
//! Always potential, so off by default: nobody may call the function, and nvcc leaves the slot of a *pure* virtual
//! function empty as well, which is no defect in an abstract class. In the tables of classes with several bases a word
//! after an offset is taken for the start of the next part; virtual bases add words that may count as empty slots.

use crate::checks::Check;
use crate::context::{ModuleContext, Place, Report};
use crate::finding::Value;
use crate::inventory::listed;
use crate::ir::TableWord;
use crate::names;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX109",
    name: "host-virtual-slot",
    guidelines: &["G-3.1", "G-4.3"],
    family: Family::Host,
    summary: "a table of virtual functions has an empty slot",
    definite: Level::Warning,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Module(check);

/// The offset to the complete object and the address of the type information stand before the slots.
const HEADER: usize = 2;

fn check(module: &ModuleContext<'_>, report: &mut Report<'_>) {
    for table in &module.module.virtual_tables {
        let is_empty = |&place: &usize| {
            table.words[place] == TableWord::Zero && table.words[place - 1] != TableWord::Number
        };
        let empty: Vec<usize> = (HEADER..table.words.len()).filter(is_empty).collect();
        if empty.is_empty() {
            continue;
        }
        let name = module.module.symbol(table.symbol).name;
        let readable = names::readable(name);
        let class = readable.strip_prefix("vtable for ").unwrap_or(&readable);
        let slots = empty.iter().map(|place| (place - HEADER).to_string()).collect();
        report
            .potential(
                Place::Symbol(table.symbol),
                format!(
                    "the table of virtual functions of `{}` has an empty slot, which device code may call: number {}, counted from 0",
                    names::shown(class),
                    listed(slots, empty.len())
                ),
            )
            .note(
                "a virtual function that is pure, or that the host alone has; a call of it goes to address 0",
            )
            .help("declare every virtual function of the class `__host__ __device__`, overrides included")
            .data("symbol", name)
            .data(
                "slots",
                Value::Numbers(empty.iter().map(|place| (place - HEADER) as u64).collect()),
            );
    }
}

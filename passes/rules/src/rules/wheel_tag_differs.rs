//! ## What it does
//!
//! Compares the tags in the name of a wheel with the extension modules in it: `x.cpython-310-x86_64-linux-gnu.so` in a wheel for other
//! versions of Python, or in one whose tag promises all (`abi3`, `py3-none`).
//!
//! ## Why is this bad?
//!
//! Installers choose by the tags. An interpreter that the wheel is offered to and that the module was not built for does not find the
//! module: "No module named x".
//!
//! ## Example
//!
//! ```text
//! warning[PTX529] wheel-tag-differs: the wheel is for cp311, where an import may fail: `x/_C.cpython-310-x86_64-linux-gnu.so` is a module for cp310
//! ```
//!
//! ## Use instead
//!
//! A wheel for each version of Python, or modules with the stable interface, named `_C.abi3.so`.
//!
//! ## Limits
//!
//! `audit` reports it, `check` does not. Names are compared, not symbols. A module of which the wheel has one for each of several
//! versions is left alone, and so are files that are not named as modules of CPython on Linux.

use std::collections::{BTreeMap, BTreeSet};

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::listed;
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};
use crate::variants::PythonTags;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX529",
    name: "wheel-tag-differs",
    family: Family::Image,
    summary: "an extension module is for another Python than the wheel's name says",
    definite: Level::Warning,
    certainties: Certainties::POTENTIAL,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

/// Modules by their names without tags: the inputs, with the tag of each.
type Modules<'a> = BTreeMap<&'a str, Vec<(usize, String)>>;

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    let mut wheels: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for (number, input) in context.inputs.iter().enumerate() {
        let Some((wheel, member)) = input.name.rsplit_once('!') else {
            continue;
        };
        if let Some((stem, python)) = module_and_tag(member) {
            let modules = wheels.entry(wheel).or_default().entry(stem).or_default();
            modules.push((number, python));
        }
    }
    for (wheel, modules) in wheels {
        let file = wheel.rsplit(['/', '\\', '!']).next().unwrap_or(wheel);
        let Some(tags) = PythonTags::of(file) else {
            continue;
        };
        let wrong: Vec<&(usize, String)> = modules
            .values()
            .filter_map(|versions| match versions.as_slice() {
                [one] if !tags.is_for(&one.1) => Some(one),
                _ => None,
            })
            .collect();
        let Some((first, _)) = wrong.first() else { continue };
        let names: Vec<String> = wrong
            .iter()
            .map(|(number, _)| {
                let name = &context.inputs[*number].name;
                in_message(name.rsplit_once('!').map_or(name, |(_, member)| member))
            })
            .collect();
        let versions: BTreeSet<&str> = wrong.iter().map(|(_, python)| python.as_str()).collect();
        let versions: Vec<&str> = versions.into_iter().collect();
        let modules = match names.as_slice() {
            [name] => format!("`{name}` is a module"),
            names => format!("{} modules are", names.len()),
        };
        let finding = report.potential(
            ImagePlace::input(*first),
            format!(
                "the wheel is for {tags}, where an import may fail: {modules} for {}",
                versions.join(", ")
            ),
        );
        let count = names.len();
        if count > 1 {
            finding.note(listed(names.clone(), count));
        }
        finding.data("tags", tags.to_string());
        finding.data("modules", Value::Texts(names));
        finding.help("build the wheel with the Python that the module is for, or name the module `.abi3.so` if it is one");
    }
}

/// `x/_C` and `cp310` of `x/_C.cpython-310-x86_64-linux-gnu.so`.
fn module_and_tag(member: &str) -> Option<(&str, String)> {
    let (stem, tag) = member.strip_suffix(".so")?.rsplit_once(".cpython-")?;
    let version = tag.split('-').next()?;
    let digits = version.strip_suffix('t').unwrap_or(version);
    let is_version = digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_version.then(|| (stem, format!("cp{version}")))
}

//! ## What it does
//!
//! Reports absolute paths of the machine that built an image: the file names in the line information of its PTX and of its
//! machine code, and what the debug information of machine code says of its source. Off unless it is switched on
//! (`-W PTX512`).
//!
//! ## Why is this bad?
//!
//! They reveal names of users, projects and servers to everybody who has the file, and two builds of one source in two
//! folders differ.
//!
//! ## Example
//!
//! ```text
//! warning[PTX512] build-path-leak: 2 absolute paths of the build machine are in it
//! ```
//!
//! Objects of Bazel's rules for CUDA had the path of the sandbox in their fat binaries, which no option for the host
//! compiler changed (bazel-contrib/rules_cuda, issue 372).
//!
//! ## Use instead
//!
//! Compile with relative paths, from the root of the sources; no `-lineinfo` and no `-G` in what is shipped.
//!
//! ## Limits
//!
//! Strings that programs print (`__FILE__`), command lines that assemblers note, and host code are not checked. Eight
//! paths of an image are enough.

use std::collections::BTreeSet;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::listed;
use crate::limits::SHOWN_NAMES;
use crate::rule::{Certainties, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX512",
    name: "build-path-leak",
    family: Family::Image,
    summary: "absolute paths of the build machine are in an image",
    definite: Level::Allow,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        let mut paths: BTreeSet<&str> = BTreeSet::new();
        let mut first = None;
        for (index, image) in (0_u32..).zip(&input.images) {
            if !image.facts.paths.is_empty() {
                first.get_or_insert(index);
                paths.extend(image.facts.paths.iter().map(String::as_str));
            }
        }
        let Some(first) = first else {
            continue;
        };
        let message = match paths.len() {
            1 => "the device code holds an absolute path of the build machine".to_owned(),
            count => format!("the device code holds {count} absolute paths of the build machine"),
        };
        let finding = report.definite(ImagePlace::image(number, first), message);
        let shown: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        finding.note(listed(
            shown.iter().take(SHOWN_NAMES).cloned().collect(),
            shown.len(),
        ));
        finding.data("paths", Value::Texts(shown));
        finding.help("compile with relative paths, or without line information");
    }
}

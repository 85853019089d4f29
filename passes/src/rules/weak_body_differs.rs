//! ## What it does
//!
//! Compares the weak functions of relocatable device code (`-rdc=true`) that are linked together: same name and target,
//! other parameters or another body. The numbers of registers and labels do not count, nor does line information.
//!
//! ## Why is this bad?
//!
//! The linker keeps one of them and says nothing. Every object but one then runs code that was compiled from another
//! definition. The cause is a class, a macro or an option that differs between the objects.
//!
//! ## Example
//!
//! ```cuda
//! // a.cu, compiled with -DSTEPS=2; b.cu with -DSTEPS=3
//! template <class T> __device__ T scaled(T value) { return value * STEPS; }
//! ```
//!
//! CUB's kernels, weak and the same by name in every object, once were taken from an object compiled for other
//! architectures (NVIDIA/cub, issue 545).
//!
//! ## Use instead
//!
//! One definition for all objects; an anonymous namespace or an inline namespace named after the option where they must
//! differ.
//!
//! ## Limits
//!
//! Definite where parameters differ, or where the bodies differ although they call the same functions and the same compiler
//! wrote them. Where they call others, one may have inlined what the other could not see: potential. So are differences in
//! machine code, where there is no PTX. The objects of one archive or executable are compared; those of several inputs only
//! with `--link-set` or `--whole-program`.

use std::collections::BTreeMap;

use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, ImageReport, Role, WeakFunction};
use crate::names::told;
use crate::rule::{Check, Family, Level, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX509",
    name: "weak-body-differs",
    aliases: &[],
    guidelines: &[],
    family: Family::Image,
    summary: "weak functions that the linker merges have different bodies",
    definite: Level::Error,
    can_be_definite: true,
    can_be_potential: true,
    check: Check::Images(check),
};

/// A definition of a weak function.
struct Definition<'a> {
    input: usize,
    image: u32,
    report: &'a ImageReport,
    function: &'a WeakFunction,
}

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    // One link: an input, or all of them.
    let mut links: Vec<Vec<Definition<'_>>> = Vec::new();
    for (number, input) in context.inputs.iter().enumerate() {
        if links.is_empty() || !context.is_one_program {
            links.push(Vec::new());
        }
        let images = (0..).zip(&input.images).filter(|(_, image)| image.is_whole());
        let linked = images.filter(|(_, image)| matches!(image.role, Role::Relocatable | Role::LeftOver));
        for (index, image) in linked {
            let definitions = image.facts.weak.iter().map(|function| Definition {
                input: number,
                image: index,
                report: image,
                function,
            });
            if let Some(link) = links.last_mut() {
                link.extend(definitions);
            }
        }
    }
    for link in links {
        one(&link, report);
    }
}

fn one(link: &[Definition<'_>], report: &mut Report<'_, ImagePlace>) {
    let mut by_name: BTreeMap<(&str, &str, ImageKind), Vec<&Definition<'_>>> = BTreeMap::new();
    for definition in link {
        let key = (
            definition.function.name.as_str(),
            definition.report.target.as_str(),
            definition.report.kind,
        );
        by_name.entry(key).or_default().push(definition);
    }
    for ((name, target, kind), definitions) in &by_name {
        // Machine code is made from the PTX, and says less.
        if *kind == ImageKind::Cubin && by_name.contains_key(&(*name, *target, ImageKind::Ptx)) {
            continue;
        }
        let first = definitions[0];
        let differs = |other: &&&Definition<'_>| difference(first, other).is_some();
        let Some(other) = definitions.iter().find(differs) else {
            continue;
        };
        let Some((what, is_definite)) = difference(first, other) else {
            continue;
        };
        let mut place = ImagePlace::image(other.input, other.image);
        place.function = Some((*name).to_owned());
        let message = format!(
            "weak function `{}` has {what} than in image {}",
            told(name),
            first.image
        );
        let finding = if is_definite {
            report.definite(place, message)
        } else {
            report.potential(place, message)
        };
        let whole = |definition: &Definition<'_>| match &definition.report.member {
            Some(member) => format!("image {} of `{member}`", definition.image),
            None => format!("image {}", definition.image),
        };
        finding.note(format!(
            "for {target}, in {} and {}; the linker keeps one",
            whole(first),
            whole(other)
        ));
        finding.data("symbol", (*name).to_owned());
        finding.data(
            "images",
            Value::Numbers(vec![first.image.into(), other.image.into()]),
        );
        finding.help("give all objects the same definition, or hide each in an anonymous namespace");
    }
}

/// What tells two definitions apart, and whether only their sources can.
fn difference(a: &Definition<'_>, b: &Definition<'_>) -> Option<(&'static str, bool)> {
    let same_compiler = a.report.isa == b.report.isa
        && a.report.is_debug == b.report.is_debug
        && a.report.options == b.report.options
        && a.report.facts.producer == b.report.facts.producer;
    let (one, other) = (a.function, b.function);
    if one.signature != other.signature {
        Some(("other parameters", true))
    } else if one.body != other.body {
        let is_ptx = a.report.kind == ImageKind::Ptx;
        Some((
            "another body",
            is_ptx && same_compiler && one.calls == other.calls,
        ))
    } else {
        None
    }
}

//! ## What it does
//!
//! Compares the weak functions of relocatable device code (`-rdc=true`) that are linked together: same name and target,
//! other parameters or another body. Names of registers and labels do not count, nor do numbers that a compiler gives to
//! strings and stack frames in a module, labels that nothing leads to, and line information.
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
//! machine code, where there is no PTX.
//!
//! A warning where the bodies show that an option was on in one object and off in the other: `-ftz`, `-prec-div`, `-prec-sqrt`
//! and `-fmad`, which `-use_fast_math` is made of, and `-O0` (of clang's, and of nvcc's `-Xcicc`). Options by file are common and the source may have one
//! definition, but one body does win, and with it its precision or speed: the choice is the linker's. Options that a body does
//! not show (`-Os`) look like another definition.
//!
//! The objects of one archive or executable are compared; those of several inputs only with `--link-set` or
//! `--whole-program`. Static libraries that each have a device link of their own (CMake's `CUDA_RESOLVE_DEVICE_SYMBOLS`) are
//! not linked with each other on the device, wherever they end up: the images of each device link are a set of their own. Where
//! a file shows several, an image without kernels, or with kernels that several of them have, is left out.

use std::collections::BTreeMap;

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{ImageKind, ImageReport, WeakFunction};
use crate::link;
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::symbols;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX509",
    name: "weak-body-differs",
    family: Family::Image,
    summary: "weak functions that the linker merges have different bodies",
    definite: Level::Error,
    certainties: Certainties::DEFINITE.or_potential(),
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

/// A definition of a weak function.
struct Definition<'a> {
    input: usize,
    image: u32,
    report: &'a ImageReport,
    function: &'a WeakFunction,
}

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for link in link::relocatable_sets(context.inputs, context.is_one_program) {
        let definitions = link.into_iter().filter_map(|(input, image)| {
            let report = context.inputs[input].images.get(image as usize)?;
            let definition = move |function| Definition {
                input,
                image,
                report,
                function,
            };
            Some(report.facts.weak.iter().map(definition))
        });
        let definitions: Vec<_> = definitions.flatten().collect();
        compare_bodies(context, &definitions, report);
    }
}

fn compare_bodies(context: &ImagesContext<'_>, link: &[Definition<'_>], report: &mut Report<'_, ImagePlace>) {
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
        let Some(difference) = difference(first, other) else {
            continue;
        };
        let mut place = ImagePlace::image(other.input, other.image);
        place.function = Some((*name).to_owned());
        let whole = |definition: &Definition<'_>| {
            let input = &context.inputs[definition.input].name;
            let file = symbols::member_in_words(input, definition.report.member.as_deref());
            format!("image {} of {file}", definition.image)
        };
        let message = format!(
            "weak function `{}` {} {} than in {}",
            in_message(name),
            if difference.is_definite { "has" } else { "may have" },
            difference.what,
            whole(first)
        );
        let finding = if difference.is_definite {
            report.definite(place, message)
        } else {
            report.potential(place, message)
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
        if difference.options.is_empty() {
            finding.help("give all objects the same definition, or hide each in an anonymous namespace");
            continue;
        }
        finding
            .at_most(Level::Warning)
            .note(format!(
                "it looks as if one of them was compiled with {}, and the other without",
                options_in_words(&difference.options)
            ))
            .help("compile all objects of a link with the same options, or hide the function in an anonymous namespace")
            .data(
                "options",
                Value::Texts(difference.options.iter().map(|option| (*option).to_owned()).collect()),
            );
    }
}

/// The options of nvcc, in one word where there is one: `-use_fast_math`.
fn options_in_words(options: &[&str]) -> String {
    let of_fast_math = ["-ftz=true", "-prec-div=false", "-prec-sqrt=false"];
    let is_fast_math = options.len() > 1 && options.iter().all(|option| of_fast_math.contains(option));
    let named: Vec<String> = options.iter().map(|option| format!("`{option}`")).collect();
    let list = named.join(", ");
    if is_fast_math {
        format!("`-use_fast_math` ({list})")
    } else {
        list
    }
}

/// The difference between two definitions.
struct Difference {
    /// In words.
    what: &'static str,
    /// Only their sources can, or the options in question.
    is_definite: bool,
    /// The options that one of them was compiled with and the other was not.
    options: Vec<&'static str>,
}

fn difference(a: &Definition<'_>, b: &Definition<'_>) -> Option<Difference> {
    let same_compiler = a.report.isa == b.report.isa
        && a.report.is_debug == b.report.is_debug
        && a.report.options == b.report.options
        && a.report.facts.producer == b.report.facts.producer;
    let (one, other) = (a.function, b.function);
    if one.signature != other.signature {
        return Some(Difference {
            what: "other parameters",
            is_definite: true,
            options: Vec::new(),
        });
    }
    (one.body != other.body).then(|| Difference {
        what: "another body",
        is_definite: a.report.kind == ImageKind::Ptx && same_compiler && one.calls == other.calls,
        options: one.options.differing(&other.options),
    })
}

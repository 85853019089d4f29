//! ## What it does
//!
//! Compares the images of each fat binary: a kernel whose parameters differ in number or size in two of them, or a
//! variable whose size differs. PTX says it in declarations, machine code in its `.nv.info` sections and symbols.
//!
//! With `--link-set` or `--whole-program` it compares what the modules of one link declare with what others of them define:
//! a device function with another prototype, a variable with another size.
//!
//! ## Why is this bad?
//!
//! Host code is compiled once and passes the same arguments to all. On the device whose image has other parameters, the
//! kernel reads other bytes than were passed, and copies to the variable miss part of it or run over its end. Nothing
//! reports it.
//!
//! The device linker rejects what is declared in one way and defined in another (`Prototype doesn't match for 'f'`, `Size
//! doesn't match for 'v'`), when the last object is compiled, and without saying what differs.
//!
//! ## Example
//!
//! ```cuda
//! #if __CUDA_ARCH__ >= 900
//! using Real = double;
//! #else
//! using Real = float;
//! #endif
//! extern "C" __global__ void scale(Real factor, Real *data);
//! ```
//!
//! A macro in the signatures of ggml kernels depended on `__CUDA_ARCH__` and gave other kernels for Hopper than host code
//! knew (tetherto/qvac-fabric-llm.cpp, pull request 222).
//!
//! ## Use instead
//!
//! Types in the declarations of kernels and variables that are the same for the host and all targets.
//!
//! ## Limits
//!
//! Numbers and sizes are compared, not types: `float` and `int` look alike. Nor are offsets: the driver copies each
//! argument to where the image has it, and ptxas aligns parameters of more than 16 bytes (`alignas(32)`, `CUtensorMap`) in
//! a constant bank where they begin at another address for each architecture. Kernels with textures among their parameters
//! are left out, and so are variables inside functions, which host code cannot name.
//!
//! Linked modules are compared as far as they are PTX, for each target alone; machine code has no prototypes. `int` and `float` are
//! the same there, for the linker, too.

use ptxcheck_common::maps::{NameMap, NameSet};

use crate::checks::Check;
use crate::context::{ImagePlace, ImagesContext, Report};
use crate::finding::Value;
use crate::inventory::{Group, ImageReport, listed};
use crate::limits::SHOWN_NAMES;
use crate::link::{self, Mismatch};
use crate::names::in_message;
use crate::rule::{Certainties, Family, Level, Rule};

use crate::support::symbols;

/// The rule.
pub static RULE: Rule = Rule {
    code: "PTX503",
    name: "kernel-signature-differs",
    guidelines: &["G-1.10"],
    family: Family::Image,
    summary: "a kernel or variable is declared differently in two images, or in two modules of a link",
    definite: Level::Error,
    certainties: Certainties::DEFINITE,
    ..Rule::PLAIN
};

pub(super) const CHECK: Check = Check::Images(check);

fn check(context: &ImagesContext<'_>, report: &mut Report<'_, ImagePlace>) {
    for (number, input) in context.inputs.iter().enumerate() {
        for group in input.alternatives() {
            compare_kernels(number, &group, report);
            compare_variables(number, &group, report);
        }
    }
    if context.is_one_program {
        for mismatch in link::mismatches(context.inputs) {
            report_declarations(context, &mismatch, report);
        }
    }
}

/// Reports the functions that one module declares and another, linked with it, defines with another signature.
fn report_declarations(
    context: &ImagesContext<'_>,
    mismatch: &Mismatch<'_>,
    report: &mut Report<'_, ImagePlace>,
) {
    let (input, image, declared) = mismatch.declared;
    let (other, other_image, defined) = mismatch.defined;
    let what = if declared.text.starts_with('(') {
        "device function"
    } else {
        "variable"
    };
    let object = |input: usize, image: u32| {
        let input = &context.inputs[input];
        let member = input
            .images
            .get(image as usize)
            .and_then(|image| image.member.as_deref());
        symbols::member_in_words(&input.name, member)
    };
    let finding = report.definite(
        ImagePlace::image(input, image),
        format!(
            "{what} `{}` is declared as `{}` in {} and defined as `{}` in {}",
            in_message(&declared.name),
            declared.text,
            object(input, image),
            defined.text,
            object(other, other_image)
        ),
    );
    finding
        .related(ImagePlace::image(other, other_image), "defined here")
        .kind("declaration")
        .caused_by_symbol()
        .note("the device linker rejects it")
        .help("declare it in a header that the definition includes, too")
        .data("symbol", declared.name.clone())
        .data(
            "shapes",
            Value::Texts(vec![declared.text.clone(), defined.text.clone()]),
        );
}

fn param_sizes(params: &[(u32, u32)]) -> impl Iterator<Item = u32> + '_ {
    params.iter().map(|(_, size)| *size)
}

/// The first image with a kernel, and where the parameters lie in it: offsets and sizes.
type FirstDeclaration<'a> = (u32, &'a ImageReport, &'a [(u32, u32)]);

fn compare_kernels(number: usize, group: &Group<'_>, report: &mut Report<'_, ImagePlace>) {
    let mut seen: NameMap<&str, FirstDeclaration<'_>> = NameMap::default();
    let mut reported: NameSet<&str> = NameSet::default();
    for (index, image) in group {
        for kernel in &image.facts.kernels {
            let Some(params) = &kernel.params else { continue };
            let (first, other, known) = *seen.entry(&kernel.identity).or_insert((*index, image, params));
            if param_sizes(known).eq(param_sizes(params)) || !reported.insert(&kernel.identity) {
                continue;
            }
            let name = in_message(&kernel.name);
            let finding = report.definite(
                ImagePlace::kernel(number, *index, kernel),
                format!(
                    "the parameters of kernel `{name}` are {} in the {} and {} in the {}",
                    layout_in_words(known),
                    other.describe(),
                    layout_in_words(params),
                    image.describe()
                ),
            );
            finding.data("kernel", kernel.name.clone());
            finding.data("images", Value::Numbers(vec![first.into(), (*index).into()]));
            finding.note("host code passes the same arguments, whatever image is loaded");
            finding.help("declare the kernel with the same types for all targets");
        }
    }
}

/// `8 + 4 bytes`, with the offset where that is not the sum.
fn layout_in_words(params: &[(u32, u32)]) -> String {
    if params.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = params
        .iter()
        .take(SHOWN_NAMES)
        .map(|(offset, size)| format!("{size} at {offset}"))
        .collect();
    format!(
        "({} bytes: {})",
        end_of_params(params),
        listed(shown, params.len())
    )
}

fn end_of_params(params: &[(u32, u32)]) -> u32 {
    params
        .iter()
        .map(|(offset, size)| offset.saturating_add(*size))
        .max()
        .unwrap_or(0)
}

/// True if a name is one that a source declares for all modules: not a string or a constant that the compiler named, and
/// not local to a function.
fn is_declared_in_source(name: &str) -> bool {
    let is_made = name.contains(['$', '.'])
        || ["__unnamed_", "__nv_", "__cuda"]
            .iter()
            .any(|made| name.starts_with(made));
    !is_made && !name.starts_with("_ZZ")
}

fn compare_variables(number: usize, group: &Group<'_>, report: &mut Report<'_, ImagePlace>) {
    let mut seen: NameMap<&str, (u32, &ImageReport, u64)> = NameMap::default();
    let mut reported: NameSet<&str> = NameSet::default();
    for (index, image) in group {
        for variable in image
            .facts
            .variables
            .iter()
            .filter(|variable| is_declared_in_source(&variable.name))
        {
            let (first, other, size) =
                *seen
                    .entry(&variable.identity)
                    .or_insert((*index, image, variable.size));
            if size == variable.size || !reported.insert(&variable.identity) {
                continue;
            }
            let finding = report.definite(
                ImagePlace::image(number, *index),
                format!(
                    "variable `{}` has {size} bytes in the {} and {} in the {}",
                    in_message(&variable.name),
                    other.describe(),
                    variable.size,
                    image.describe()
                ),
            );
            finding.kind("variable").caused_by_symbol();
            finding.data("symbol", variable.name.clone());
            finding.data("images", Value::Numbers(vec![first.into(), (*index).into()]));
            finding.data("sizes", Value::Numbers(vec![size, variable.size]));
            finding.help("declare the variable with the same type for all targets");
        }
    }
}

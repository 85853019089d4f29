//! The types that images declare shared symbols with, and the symbols whose types differ within a link set.
//!
//! The device linker compares, symbol by symbol: of functions the number, size and alignment of results and parameters, and
//! whether each is an array; of variables the space and, where it is declared, the size. Names of types are lost by then:
//! `int` and `float` are both `.b32`. Measured with nvlink 13.5.

use std::fmt::Write as _;

use ptxcheck_common::maps::{NameMap, NameSet};

use super::Shape;
use crate::analysis::references;
use crate::inventory::{ImageReport, InputReport, Role};
use crate::ir::{Function, Linkage, Module, Parameter, Space, Symbol, SymbolKind};

/// The shapes of what a module of PTX shows to a linker, or uses and leaves open.
pub fn shapes_of_module(module: &Module<'_>) -> Vec<Shape> {
    let is_shown = |symbol: &Symbol<'_>| {
        symbol.owner.is_none()
            && matches!(
                symbol.linkage,
                Linkage::External | Linkage::Weak | Linkage::Common
            )
    };
    let defined = module.symbols.iter().filter(|symbol| is_shown(symbol));
    let used = references::undefined_symbols(module);
    let open = used.iter().map(|uses| module.symbol(uses.symbol));
    let shape = |symbol: &Symbol<'_>, is_defined| {
        Some(Shape {
            name: symbol.name.to_owned(),
            text: shape_text(module, symbol)?,
            is_defined,
        })
    };
    defined
        .filter_map(|symbol| shape(symbol, true))
        .chain(open.filter_map(|symbol| shape(symbol, false)))
        .collect()
}

fn shape_text(module: &Module<'_>, symbol: &Symbol<'_>) -> Option<String> {
    match (symbol.kind, symbol.space) {
        (SymbolKind::Function(id), _) => prototype(module, module.function(id)),
        (SymbolKind::Variable, Space::Global) => Some(format!(".global .b8[{}]", symbol.size?)),
        (SymbolKind::Variable, Space::Const) => Some(format!(".const .b8[{}]", symbol.size?)),
        _ => None,
    }
}

/// `(.b32) (.b64, .align 8 .b8[16])`; `None` for kernels, and where the text does not say it.
fn prototype(module: &Module<'_>, function: &Function<'_>) -> Option<String> {
    if function.is_kernel() || function.is_damaged {
        return None;
    }
    let mut text = String::new();
    for (separator, list) in [("", &function.results), (" ", &function.params)] {
        text.push_str(separator);
        text.push('(');
        for (number, parameter) in list.iter().enumerate() {
            if number > 0 {
                text.push_str(", ");
            }
            append_parameter_text(module, parameter, &mut text)?;
        }
        text.push(')');
    }
    Some(text)
}

fn append_parameter_text(module: &Module<'_>, parameter: &Parameter<'_>, text: &mut String) -> Option<()> {
    let declared = module.origin.text(parameter.span);
    // A parameter in a register, of hand-written code, or one of variable size.
    if !declared.starts_with(b".param") || parameter.size == 0 {
        return None;
    }
    let _ = if memchr::memchr(b'[', declared).is_some() {
        write!(text, ".align {} .b8[{}]", parameter.align, parameter.size)
    } else {
        write!(text, ".b{}", 8 * parameter.size)
    };
    Some(())
}

/// A declaration in an image: the indices of input and image, and its shape.
type Place<'a> = (usize, u32, &'a Shape);

/// A symbol that one image of a link set declares otherwise than another defines it.
#[derive(Clone, Copy, Debug)]
pub struct Mismatch<'a> {
    /// The use: its image, by input and number, and its declaration.
    pub declared: Place<'a>,
    /// The definition.
    pub defined: Place<'a>,
}

/// The symbols that images linked together declare and define with different types, each name once. Images for different
/// targets are not linked with each other.
#[must_use]
pub fn mismatches(inputs: &[InputReport]) -> Vec<Mismatch<'_>> {
    let mut defined: NameMap<&str, Vec<(&str, Place<'_>)>> = NameMap::default();
    for (image, at) in shapes(inputs).filter(|(_, (.., shape))| shape.is_defined) {
        defined.entry(&at.2.name).or_default().push((&image.target, at));
    }
    let mut found = Vec::new();
    let mut seen: NameSet<&str> = NameSet::default();
    for (image, declared) in shapes(inputs).filter(|(_, (.., shape))| !shape.is_defined) {
        let shape = declared.2;
        let fitting = defined.get(shape.name.as_str()).into_iter().flatten();
        let fitting: Vec<_> = fitting.filter(|(target, _)| *target == image.target).collect();
        // The linker takes one of several definitions; it is not known which.
        if let [(_, definition)] = fitting.as_slice()
            && definition.2.text != shape.text
            && is_function(definition.2) == is_function(shape)
            && seen.insert(&shape.name)
        {
            found.push(Mismatch {
                declared,
                defined: *definition,
            });
        }
    }
    found
}

/// True for the shape of a function.
fn is_function(shape: &Shape) -> bool {
    shape.text.starts_with('(')
}

fn shapes(inputs: &[InputReport]) -> impl Iterator<Item = (&ImageReport, Place<'_>)> {
    inputs.iter().enumerate().flat_map(|(number, input)| {
        let linked = (0_u32..).zip(&input.images).filter(|(_, image)| {
            let is_lone = image.container.is_none() && image.section.is_none();
            image.role == Role::Relocatable || image.role == Role::Loadable && is_lone
        });
        linked.flat_map(move |(index, image)| {
            let shapes = image.facts.symbols.iter().flat_map(|symbols| &symbols.shapes);
            shapes.map(move |shape| (image, (number, index, shape)))
        })
    })
}

//! Findings about symbols that device code leaves undefined: names, objects, uses.

use ptxcheck_ir::limits::SHOWN_USES;

use crate::context::{Draft, ImagePlace, ImagesContext, Report};
use crate::link::{HostDefinition, HostKind, SymbolUse, UndefinedSymbol};
use crate::names;

/// `limit`, or `Grid::limit` (`_ZN4Grid5limitE`).
pub(crate) fn symbol(name: &str) -> String {
    match names::demangle(name) {
        Some(readable) => format!("`{}` (`{}`)", names::shown(&readable), names::shown(name)),
        None => format!("`{}`", names::shown(name)),
    }
}

/// True if the finding is PTX101's: host code has a variable of this name.
pub(crate) fn is_host_variable(missing: &UndefinedSymbol<'_>) -> bool {
    missing.host.is_some_and(|host| host.kind == HostKind::Variable)
}

/// The object of a host definition: `host.o`, or `host.o` of `lib.a`.
pub(crate) fn object(host: &HostDefinition<'_>) -> String {
    member_in_words(host.input, host.member)
}

/// `host.o`, or `host.o` of `lib.a`.
pub(crate) fn member_in_words(input: &str, member: Option<&str>) -> String {
    match member {
        Some(member) => format!("`{}` of `{}`", names::shown(member), names::shown(input)),
        None => format!("`{}`", names::shown(input)),
    }
}

/// Reports a symbol at its first use, and lists the others.
pub(crate) fn report<'r>(
    context: &ImagesContext<'_>,
    missing: &UndefinedSymbol<'_>,
    is_definite: bool,
    message: String,
    report: &'r mut Report<'_, ImagePlace>,
) -> &'r mut Draft<ImagePlace> {
    let place = missing
        .uses
        .first()
        .map_or_else(|| ImagePlace::input(0), ImagePlace::of_use);
    let draft = if is_definite {
        report.definite(place, message)
    } else {
        report.potential(place, message)
    };
    draft.data("symbol", missing.name).caused_by_symbol();
    for symbol_use in missing.uses.iter().skip(1).take(SHOWN_USES - 1) {
        draft.related(ImagePlace::of_use(symbol_use), also(context, missing, symbol_use));
    }
    let rest = missing.uses.len().saturating_sub(SHOWN_USES) + missing.more as usize;
    if rest > 0 {
        draft.note(format!("{rest} more functions and variables refer to it"));
    }
    draft
}

/// The message about a further use: `also used here`, or the function and object that it is in if no line is known.
fn also(context: &ImagesContext<'_>, missing: &UndefinedSymbol<'_>, symbol_use: &SymbolUse<'_>) -> String {
    let has_line = symbol_use
        .at
        .is_some_and(|at| at.location.is_some() || at.source.is_some());
    let first = missing.uses.first();
    let is_in_other_object =
        first.is_some_and(|first| (first.input, first.member) != (symbol_use.input, symbol_use.member));
    let mut message = String::from("also used");
    match symbol_use.at.and_then(|at| at.function.as_deref()) {
        _ if has_line && !is_in_other_object => message.push_str(" here"),
        Some(function) => message.push_str(&format!(" by `{}`", names::in_message(function))),
        None => {}
    }
    if is_in_other_object {
        let input = context
            .inputs
            .get(symbol_use.input)
            .map_or("", |input| input.name.as_str());
        let object = HostDefinition {
            input,
            member: symbol_use.member,
            kind: HostKind::Variable,
        };
        message.push_str(&format!(" in {}", self::object(&object)));
    }
    message
}

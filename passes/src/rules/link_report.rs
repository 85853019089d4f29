//! What the findings about symbols that device code leaves open have in common.

use ptxcheck_ir::limits::SHOWN_USES;

use crate::context::{Draft, ImagePlace, ImagesContext, Report};
use crate::link::{HostDefinition, HostKind, Missing, Site};
use crate::names;

/// `limit`, or `Grid::limit` (`_ZN4Grid5limitE`).
pub(super) fn symbol(name: &str) -> String {
    match names::demangle(name) {
        Some(readable) => format!("`{}` (`{}`)", names::shown(&readable), names::shown(name)),
        None => format!("`{}`", names::shown(name)),
    }
}

/// Whether the finding is PTX101's: host code has a variable of this name.
pub(super) fn is_host_variable(missing: &Missing<'_>) -> bool {
    missing.host.is_some_and(|host| host.kind == HostKind::Variable)
}

/// The object of a host definition: `host.o`, or `host.o` of `lib.a`.
pub(super) fn object(host: &HostDefinition<'_>) -> String {
    member(host.input, host.member)
}

/// `host.o`, or `host.o` of `lib.a`.
pub(super) fn member(input: &str, member: Option<&str>) -> String {
    match member {
        Some(member) => format!("`{}` of `{}`", names::shown(member), names::shown(input)),
        None => format!("`{}`", names::shown(input)),
    }
}

/// Reports a symbol at its first use, and lists the others.
pub(super) fn report<'r>(
    context: &ImagesContext<'_>,
    missing: &Missing<'_>,
    is_definite: bool,
    message: String,
    report: &'r mut Report<'_, ImagePlace>,
) -> &'r mut Draft<ImagePlace> {
    let place = missing
        .sites
        .first()
        .map_or_else(|| ImagePlace::input(0), ImagePlace::site);
    let draft = if is_definite {
        report.definite(place, message)
    } else {
        report.potential(place, message)
    };
    draft.data("symbol", missing.name);
    for site in missing.sites.iter().skip(1).take(SHOWN_USES - 1) {
        draft.related(ImagePlace::site(site), also(context, missing, site));
    }
    let rest = missing.sites.len().saturating_sub(SHOWN_USES) + missing.more as usize;
    if rest > 0 {
        draft.note(format!("{rest} more functions and variables refer to it"));
    }
    draft
}

/// `also used here`; where nothing leads there, by whom.
fn also(context: &ImagesContext<'_>, missing: &Missing<'_>, site: &Site<'_>) -> String {
    let has_line = site
        .at
        .is_some_and(|at| at.location.is_some() || at.source.is_some());
    let first = missing.sites.first();
    let is_elsewhere = first.is_some_and(|first| (first.input, first.member) != (site.input, site.member));
    let mut message = String::from("also used");
    match site.at.and_then(|at| at.function.as_deref()) {
        _ if has_line && !is_elsewhere => message.push_str(" here"),
        Some(function) => message.push_str(&format!(" by `{}`", names::told(function))),
        None => {}
    }
    if is_elsewhere {
        let input = context
            .inputs
            .get(site.input)
            .map_or("", |input| input.name.as_str());
        let object = HostDefinition {
            input,
            member: site.member,
            kind: HostKind::Variable,
        };
        message.push_str(&format!(" in {}", self::object(&object)));
    }
    message
}

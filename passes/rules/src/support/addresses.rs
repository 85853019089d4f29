//! Findings about addresses (2xx): the address in words, and the places that explain it.

use std::borrow::Cow;

use crate::analysis::provenance::{Base, Element, ElementKind, Violation, ViolationKind};
use crate::context::{Draft, ModuleContext, Place, Report};
use crate::ir::{AccessKind, Op, Space, SymbolId};
use crate::names;
use crate::sanitizer::Sanitizer;

use super::wording;

/// The violations of these kinds.
pub(crate) fn of_kind<'a>(
    module: &'a ModuleContext<'_>,
    kinds: &'a [ViolationKind],
) -> impl Iterator<Item = &'a Violation> {
    module
        .violations()
        .iter()
        .filter(|violation| kinds.contains(&violation.wrong))
}

/// "shared memory", "global memory", "a parameter".
pub(crate) const fn memory_in_words(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic memory",
        Space::Global => "global memory",
        Space::Shared => "shared memory",
        Space::SharedCluster => "the shared memory of the cluster",
        Space::Local => "local memory",
        Space::Const => "constant memory",
        Space::Param => "the kernel's parameters",
        Space::Tensor => "tensor memory",
    }
}

/// The object an address is based on, if it has a name.
pub(crate) fn symbol<'a>(module: &'a ModuleContext<'_>, violation: &Violation) -> Option<Cow<'a, str>> {
    let name = match violation.element.base {
        Base::Symbol(symbol) => module.module.symbol_name(symbol),
        Base::Param(number, _) => {
            let function = module.module.function(violation.of);
            function.params.get(usize::from(number))?.name.into()
        }
        _ => return None,
    };
    (!name.is_empty()).then_some(name)
}

/// The symbol's name, as messages show it.
pub(crate) fn shown_symbol(module: &ModuleContext<'_>, violation: &Violation) -> Option<String> {
    symbol(module, violation).map(|name| names::in_message(&name))
}

/// "points" or "may point", and the like.
pub(crate) const fn by_certainty(
    violation: &Violation,
    certain: &'static str,
    possible: &'static str,
) -> &'static str {
    if violation.is_definite { certain } else { possible }
}

/// The object that the address points to: "`tile` in shared memory", "global memory (parameter `p`)".
pub(crate) fn object(module: &ModuleContext<'_>, violation: &Violation) -> String {
    let element = &violation.element;
    match element.base {
        Base::Symbol(symbol) => named(module, element.space, symbol),
        Base::Param(..) if element.space == Space::Param => {
            format!("{} itself", parameter(module, violation))
        }
        Base::Param(..) => format!(
            "{} ({})",
            memory_in_words(element.space),
            parameter(module, violation)
        ),
        _ => memory_in_words(element.space).to_owned(),
    }
}

/// A variable and where it is; nvcc's stack frame is a variable that nobody wrote.
pub(crate) fn named(module: &ModuleContext<'_>, space: Space, symbol: SymbolId) -> String {
    let name = module.module.symbol_name(symbol);
    if name.is_empty() {
        memory_in_words(space).to_owned()
    } else if name.starts_with(STACK_FRAME) {
        format!("a local variable (in `{}`)", names::shown(&name))
    } else {
        format!("`{}` in {}", names::in_message(&name), memory_in_words(space))
    }
}

/// The name that LLVM and nvcc give the local memory of a function's variables, followed by a number.
const STACK_FRAME: &str = "__local_depot";

/// The parameter that an address is based on: "parameter `p`", "the first parameter".
pub(crate) fn parameter(module: &ModuleContext<'_>, violation: &Violation) -> String {
    let Base::Param(number, _) = violation.element.base else {
        return "a parameter".to_owned();
    };
    let number = usize::from(number);
    let params = &module.module.function(violation.of).params;
    let name = params.get(number).map_or("", |param| param.name);
    wording::parameter(module.module.function_name(violation.of), number, name)
}

/// An instruction at the head of a message: "`ld.shared`", or "this load" where the input has no name for it.
pub(crate) fn subject(module: &ModuleContext<'_>, violation: &Violation) -> String {
    match name(module, violation) {
        Some(name) => format!("`{name}`"),
        None => format!("this {}", instruction_as_noun(module, violation)),
    }
}

/// An instruction as a noun after "this": "`ld.shared`", or "load".
pub(crate) fn instruction_as_noun(module: &ModuleContext<'_>, violation: &Violation) -> String {
    if let Some(name) = name(module, violation) {
        return format!("`{name}`");
    }
    let word = match op(module, violation) {
        Some(Op::Access(access)) => match access.kind {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic | AccessKind::Reduction | AccessKind::ReadModifyWrite => "atomic access",
            AccessKind::Other => "access",
        },
        Some(Op::IsSpace(_)) => "test",
        _ => "conversion",
    };
    word.to_owned()
}

fn name(module: &ModuleContext<'_>, violation: &Violation) -> Option<String> {
    let body = module.module.function(violation.function).body.as_ref()?;
    module.module.origin.name(body.span_of(violation.instruction))
}

/// The operation of the instruction that is wrong.
pub(crate) fn op(module: &ModuleContext<'_>, violation: &Violation) -> Option<Op> {
    let body = module.module.function(violation.function).body.as_ref()?;
    Some(body.instruction(violation.instruction).op)
}

/// True if the wrong address is an argument of a call.
pub(crate) fn is_call(module: &ModuleContext<'_>, violation: &Violation) -> bool {
    matches!(op(module, violation), Some(Op::Call(_)))
}

/// Says that memcheck sees a wrong access; a conversion or an argument is none.
pub(crate) fn seen_by_memcheck(module: &ModuleContext<'_>, violation: &Violation, draft: &mut Draft) {
    if matches!(op(module, violation), Some(Op::Access(_))) {
        draft.seen_by(Sanitizer::Memcheck);
    }
}

/// Reports a violation, with its payload and the places that explain it.
pub(crate) fn report<'r>(
    module: &ModuleContext<'_>,
    violation: &Violation,
    message: String,
    report: &'r mut Report<'_>,
) -> &'r mut Draft {
    let place = Place::Instruction(
        violation.function,
        violation.instruction,
        violation.callers.clone(),
    );
    let draft = if violation.is_definite {
        report.definite(place, message)
    } else {
        report.potential(place, message)
    };
    draft
        .data("expected_space", violation.used.required_space().as_str())
        .data("actual_space", violation.element.space.as_str());
    if let Some(symbol) = symbol(module, violation) {
        draft.data("symbol", &*symbol);
    }
    if let Some((place, message)) = origin(module, violation) {
        draft.related(place, message);
    }
    for call in &violation.callers {
        draft.related(Place::of_call(*call), "the address is passed here");
    }
    if let Some(other) = &violation.alternative {
        draft.note(alternative(module, violation, other));
    }
    note_doubt(violation, draft);
    draft
}

/// The reason why a finding in a function that nothing calls is not definite.
pub(crate) const UNCALLED: &str = "neither a kernel nor anything that other modules see leads to this function: it may be a copy that nobody needs";

/// Adds the reason why a finding that is certain is not definite.
pub(crate) fn note_doubt(violation: &Violation, draft: &mut Draft) {
    if violation.is_uncalled {
        draft.note(UNCALLED);
    }
}

fn alternative(module: &ModuleContext<'_>, violation: &Violation, other: &Element) -> String {
    match (other.kind, other.base) {
        (ElementKind::Number | ElementKind::Composed | ElementKind::Undefined | ElementKind::Formal, _) => {
            "on another path the address is something else".to_owned()
        }
        (_, Base::Symbol(symbol)) => format!(
            "on another path the address is that of {}",
            named(module, other.space, symbol)
        ),
        (_, Base::Param(..)) if other.base == violation.element.base => {
            "on another path the address fits".to_owned()
        }
        _ => format!(
            "on another path the address points into {}",
            memory_in_words(other.space)
        ),
    }
}

/// The instruction that made the address, and a message about it.
fn origin(module: &ModuleContext<'_>, violation: &Violation) -> Option<(Place, String)> {
    let element = &violation.element;
    let at = element.origin?;
    if (violation.of, at) == (violation.function, violation.instruction) {
        return None;
    }
    let body = module.module.function(violation.of).body.as_ref()?;
    let name = match element.base {
        Base::Symbol(symbol) => Some(named(module, element.space, symbol)),
        Base::Param(..) => Some(parameter(module, violation)),
        _ => None,
    };
    let message = match (body.instruction(at).op, element.kind, name) {
        (Op::ToGeneric(..), _, Some(name)) => format!("address of {name} converted to generic here"),
        (Op::ToGeneric(space, _), ..) => {
            format!("address in {} converted to generic here", memory_in_words(space))
        }
        (Op::FromGeneric(space, _), ..) => {
            format!("converted to an address in {} here", memory_in_words(space))
        }
        (Op::MapShared(_), ..) => "mapped to another CTA's shared memory here".to_owned(),
        (Op::IsSpace(space), ..) => format!("tested for {} here", memory_in_words(space)),
        (Op::Call(_), ..) => "returned here".to_owned(),
        (Op::Access(_), _, Some(name)) => format!("{name} read here"),
        (_, _, Some(name)) => format!("address of {name} taken here"),
        _ => format!("address in {} taken here", memory_in_words(element.space)),
    };
    Some((Place::of_instruction(violation.of, at), message))
}

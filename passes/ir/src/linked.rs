//! Device linking: the bodies of functions that other modules define, taken into the module that calls them.
//!
//! ```text
//! caller.ptx   .extern .func f     call f  ──┐
//! other.ptx    .visible .func f { … }  ◄─────┘   f, the local functions that it calls, and so on
//! ```
//!
//! Analyses then see a call of `f` like any other. They have to know nothing else of it: the functions that come from elsewhere
//! are visible to modules that are not there, and of variables that come with them nothing is known but size and space.

use std::sync::OnceLock;

use ptxcheck_common::maps::NameMap;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::places::Frame;
use crate::{
    Body, Callee, DebugId, Ends, Function, FunctionId, FunctionKind, LaunchBounds, Linkage, Module, Origin,
    Parameter, Position, Slots, Span, Symbol, SymbolId, SymbolKind, Value,
};

/// A function that a module defines.
pub type Definition<'s> = (&'s Module<'s>, FunctionId);

/// The origin of a module that has bodies of others: it knows the text of each, and only its own has places.
pub struct LinkedOrigin<'s> {
    own: &'s dyn Origin,
    parts: OnceLock<Vec<Part<'s>>>,
}

/// Another module that bodies come from. Its spans and debug locations are numbered after those of the modules before it.
struct Part<'s> {
    module: &'s Module<'s>,
    first: Ends,
}

impl<'s> LinkedOrigin<'s> {
    /// For a module with this origin, before [`link`].
    #[must_use]
    pub const fn new(own: &'s dyn Origin) -> Self {
        Self {
            own,
            parts: OnceLock::new(),
        }
    }

    fn parts(&self) -> &[Part<'s>] {
        self.parts.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// The module that has a span, if it is another one.
    fn part(&self, span: Span) -> Option<(&'s dyn Origin, Ends)> {
        let after = self.parts().partition_point(|part| part.first.span <= span.start);
        let part = &self.parts()[after.checked_sub(1)?];
        Some((part.module.origin, part.first))
    }

    /// The origin of a span, and the span as it is there.
    fn of(&self, span: Span) -> (&'s dyn Origin, Span) {
        match self.part(span) {
            None => (self.own, span),
            Some((origin, first)) => (origin, span_in_own_module(span, first)),
        }
    }
}

/// A span in its own module.
const fn span_in_own_module(span: Span, first: Ends) -> Span {
    Span::new(
        span.start.saturating_sub(first.span),
        span.end.saturating_sub(first.span),
    )
}

impl Origin for LinkedOrigin<'_> {
    fn place(&self, span: Span) -> Option<Span> {
        match self.part(span) {
            None => self.own.place(span),
            Some(_) => None,
        }
    }

    fn position(&self, offset: u32) -> Option<Position> {
        self.own.position(offset)
    }

    fn line(&self, line: u32) -> &[u8] {
        self.own.line(line)
    }

    fn name(&self, span: Span) -> Option<String> {
        let (origin, span) = self.of(span);
        origin.name(span)
    }

    fn stack_name(&self, symbol: SymbolId) -> Option<String> {
        self.own.stack_name(symbol)
    }

    fn is_in_assembly(&self, span: Span) -> bool {
        let (origin, span) = self.of(span);
        origin.is_in_assembly(span)
    }

    fn parameter_names(&self, function: &str) -> Vec<Option<String>> {
        self.own.parameter_names(function)
    }

    fn text(&self, span: Span) -> &[u8] {
        let (origin, span) = self.of(span);
        origin.text(span)
    }

    fn initial_bytes(&self, name: &str, span: Span) -> Option<Vec<u8>> {
        let (origin, span) = self.of(span);
        origin.initial_bytes(name, span)
    }

    /// Of a function of the module itself: those of others are not declared in it.
    fn declaration(&self, debug: DebugId) -> Option<Frame> {
        self.own.declaration(debug)
    }

    fn frames(&self, debug: DebugId) -> Vec<Frame> {
        let number = debug.index() as u32;
        let after = self.parts().partition_point(|part| part.first.debug <= number);
        match after.checked_sub(1).map(|place| &self.parts()[place]) {
            None => self.own.frames(debug),
            Some(part) => {
                let own = DebugId::new((number - part.first.debug) as usize);
                part.module.origin.frames(own)
            }
        }
    }
}

/// Takes into `module` the bodies of functions that it calls and that others define, and of those that these call, up to `limit`
/// instructions. `find` has the one strong definition of a function in another module: a definition of the
/// module's own that is weak gives way to it. A function is left without a body where none or several define it, where its
/// parameters are others than those it is called with, and where some of its module could not be read.
pub fn link<'s>(
    module: &mut Module<'s>,
    origin: &'s LinkedOrigin<'s>,
    find: impl Fn(&str) -> Option<Definition<'s>>,
    limit: usize,
) {
    let Some(end) = module.origin.ends() else {
        return;
    };
    let own_symbols = module.symbols.len();
    let mut linker = Linker {
        names: visible_symbols(module),
        module,
        find,
        end,
        parts: Vec::new(),
        copies: FxHashMap::default(),
        open: Vec::new(),
        seen: FxHashSet::default(),
        left: limit,
    };
    linker.link();
    let parts = linker.parts;
    module.imported_symbols = module.symbols.len() - own_symbols;
    if !parts.is_empty() {
        // Nobody else has it yet.
        let _ = origin.parts.set(parts);
        module.origin = origin;
        debug_assert_eq!(crate::verify(module), Ok(()));
    }
}

/// The symbols of a module that others see.
fn visible_symbols<'s>(module: &Module<'s>) -> NameMap<&'s str, SymbolId> {
    let numbered = (0..).map(SymbolId::new).zip(&module.symbols);
    numbered
        .filter(|(_, symbol)| is_visible(symbol))
        .map(|(id, symbol)| (symbol.name, id))
        .collect()
}

/// A function that is called and may be defined elsewhere; where it came with a body, that is the second.
type Open<'s> = (FunctionId, Option<Definition<'s>>);

struct Linker<'l, 's, F> {
    module: &'l mut Module<'s>,
    find: F,
    names: NameMap<&'s str, SymbolId>,
    /// The first span and debug location of the next part.
    end: Ends,
    parts: Vec<Part<'s>>,
    /// By part and symbol there: the symbol here.
    copies: FxHashMap<(usize, SymbolId), SymbolId>,
    open: Vec<Open<'s>>,
    /// The functions that have been in `open`.
    seen: FxHashSet<FunctionId>,
    /// Instructions that may still be taken.
    left: usize,
}

impl<'s, F: Fn(&str) -> Option<Definition<'s>>> Linker<'_, 's, F> {
    fn link(&mut self) {
        for number in 0..self.module.functions.len() {
            if let Some(body) = self.module.functions[number].body.take() {
                self.calls_of(&body);
                self.module.functions[number].body = Some(body);
            }
        }
        let mut next = 0;
        while let Some(&(function, own)) = self.open.get(next) {
            next += 1;
            self.resolve(function, own);
        }
    }

    /// Notes the functions that a body calls by name and that others may define.
    fn calls_of(&mut self, body: &Body<'_>) {
        for call in body.references.iter().filter(|reference| reference.is_call) {
            let symbol = self.module.symbol(call.symbol);
            let may_be_elsewhere = matches!(symbol.linkage, Linkage::Undefined | Linkage::Weak);
            if let (true, SymbolKind::Function(function)) = (may_be_elsewhere, symbol.kind)
                && self.seen.insert(function)
            {
                self.open.push((function, None));
            }
        }
    }

    fn resolve(&mut self, function: FunctionId, own: Option<Definition<'s>>) {
        let known = self.module.function(function);
        if known.is_kernel() || known.alias_of.is_some() {
            return;
        }
        let symbol = self.module.symbol(known.symbol);
        let linkage = symbol.linkage;
        let strong = (linkage != Linkage::Local)
            .then(|| (self.find)(symbol.name))
            .flatten();
        let is_strong = strong.is_some();
        let Some(definition) = strong.or(own) else {
            return;
        };
        let symbol = known.symbol;
        if self.take_body(function, definition) {
            // A weak body may still be another's; one that was local has callers that are not here.
            self.module.symbols[symbol.index()].linkage = if linkage == Linkage::Weak && !is_strong {
                Linkage::Weak
            } else {
                Linkage::External
            };
        } else if linkage == Linkage::Local || own.is_some() {
            self.module.symbols[symbol.index()].linkage = Linkage::Undefined;
        }
    }

    /// Gives a function the body of a definition; false where that does not fit.
    fn take_body(&mut self, function: FunctionId, (from, source): Definition<'s>) -> bool {
        let known = self.module.function(function);
        let defined = from.function(source);
        let Some(body) = &defined.body else {
            return false;
        };
        if from.is_damaged
            || defined.is_damaged
            || defined.is_kernel()
            || !have_same_parameters(&known.params, &defined.params)
            || !have_same_parameters(&known.results, &defined.results)
            || body.instructions.len() > self.left
        {
            return false;
        }
        let Some(part) = self.part(from) else {
            return false;
        };
        self.left -= body.instructions.len();
        let body = self.body_with_linked_ids(body, part, function);
        self.calls_of(&body);
        let function = &mut self.module.functions[function.index()];
        for (own, other) in function.params.iter_mut().zip(&defined.params) {
            own.points_to = own.points_to.or(other.points_to);
        }
        function.noreturn |= defined.noreturn;
        function.is_imported = true;
        function.body = Some(body);
        true
    }

    /// The number of a module that bodies come from; `None` where its text is too long to count on.
    fn part(&mut self, from: &'s Module<'s>) -> Option<usize> {
        let known = self.parts.iter().position(|part| std::ptr::eq(part.module, from));
        if known.is_some() {
            return known;
        }
        let ends = from.origin.ends()?;
        let first = Ends {
            span: self.end.span.checked_add(1)?,
            debug: self.end.debug,
        };
        // The greatest number is not a debug location.
        self.end = Ends {
            span: first.span.checked_add(ends.span)?,
            debug: first
                .debug
                .checked_add(ends.debug)
                .filter(|end| *end < u32::MAX)?,
        };
        self.parts.push(Part { module: from, first });
        Some(self.parts.len() - 1)
    }

    fn body_with_linked_ids(&mut self, body: &Body<'s>, part: usize, owner: FunctionId) -> Body<'s> {
        let mut body = body.clone();
        let first = self.parts[part].first;
        for block in &mut body.blocks {
            block.span = span_in_linked_module(block.span, first);
        }
        for name in body.registers.names_mut() {
            *name = span_in_linked_module(*name, first);
        }
        for place in &mut body.places {
            place.span = span_in_linked_module(place.span, first);
            if place.debug != DebugId::NONE {
                place.debug = DebugId::new(place.debug.index() + first.debug as usize);
            }
        }
        for value in &mut body.values {
            *value = self.value_with_linked_ids(*value, part, owner);
        }
        for argument in &mut body.arguments {
            argument.value = self.value_with_linked_ids(argument.value, part, owner);
        }
        for call in &mut body.calls {
            call.callee = match call.callee {
                Callee::Direct(symbol) => Callee::Direct(self.symbol_in_linked_module(symbol, part, owner)),
                Callee::Indirect(value) => Callee::Indirect(self.value_with_linked_ids(value, part, owner)),
            };
        }
        let references = std::mem::take(&mut body.references);
        for mut reference in references {
            reference.symbol = self.symbol_in_linked_module(reference.symbol, part, owner);
            // Uses of variables that are defined elsewhere are reported for the module that contains them.
            if matches!(self.module.symbol(reference.symbol).kind, SymbolKind::Function(_)) {
                body.references.push(reference);
            }
        }
        body
    }

    fn value_with_linked_ids(&mut self, value: Value, part: usize, owner: FunctionId) -> Value {
        match value {
            Value::Symbol(symbol, offset) => {
                Value::Symbol(self.symbol_in_linked_module(symbol, part, owner), offset)
            }
            other => other,
        }
    }

    /// The symbol that one of another module is here, in the body of `owner`.
    fn symbol_in_linked_module(&mut self, symbol: SymbolId, part: usize, owner: FunctionId) -> SymbolId {
        if let Some(&known) = self.copies.get(&(part, symbol)) {
            return known;
        }
        let from = self.parts[part].module;
        let meant = match from.called(symbol) {
            Some(function) => from.function(function).symbol,
            None => symbol,
        };
        let known = from.symbol(meant);
        let is_function = |symbol: &Symbol<'_>| matches!(symbol.kind, SymbolKind::Function(_));
        let named = self.names.get(known.name).filter(|&&here| {
            is_visible(known) && is_function(known) == is_function(self.module.symbol(here))
        });
        let here = match (named, known.kind) {
            (Some(&here), _) => here,
            (None, SymbolKind::Function(function)) => self.declare_function(part, meant, function),
            (None, SymbolKind::Variable | SymbolKind::TextureReference) => {
                let copy = Symbol {
                    linkage: known.owner.map_or(Linkage::Undefined, |_| known.linkage),
                    owner: known.owner.map(|_| owner),
                    initializer: Slots::default(),
                    host_constant: None,
                    ..known.clone()
                };
                self.module.has_local_memory |= copy.space == crate::Space::Local;
                self.add_symbol(copy, part)
            }
        };
        self.copies.insert((part, symbol), here);
        here
    }

    /// Adds the symbol of another module.
    fn add_symbol(&mut self, mut symbol: Symbol<'s>, part: usize) -> SymbolId {
        symbol.span = span_in_linked_module(symbol.span, self.parts[part].first);
        let id = SymbolId::new(self.module.symbols.len());
        if is_visible(&symbol) {
            self.names.insert(symbol.name, id);
        }
        self.module.symbols.push(symbol);
        id
    }

    /// Adds a function of another module, whose body is looked for next.
    fn declare_function(&mut self, part: usize, symbol: SymbolId, function: FunctionId) -> SymbolId {
        let Part { module: from, first } = self.parts[part];
        let (known, defined) = (from.symbol(symbol), from.function(function));
        let is_own = matches!(known.linkage, Linkage::Local | Linkage::Weak) && defined.body.is_some();
        let id = FunctionId::new(self.module.functions.len());
        let here = self.add_symbol(
            Symbol {
                kind: SymbolKind::Function(id),
                linkage: if is_own { known.linkage } else { Linkage::Undefined },
                initializer: Slots::default(),
                host_constant: None,
                ..known.clone()
            },
            part,
        );
        let moved = |parameter: &Parameter<'s>| Parameter {
            span: span_in_linked_module(parameter.span, first),
            ..*parameter
        };
        self.module.functions.push(Function {
            symbol: here,
            kind: FunctionKind::Device,
            params: defined.params.iter().map(moved).collect(),
            results: defined.results.iter().map(moved).collect(),
            launch: LaunchBounds::default(),
            noreturn: defined.noreturn,
            alias_of: None,
            body: None,
            header: span_in_linked_module(defined.header, first),
            is_damaged: false,
            is_imported: true,
            declared: DebugId::NONE,
        });
        if is_own && self.seen.insert(id) {
            self.open.push((id, Some((from, function))));
        }
        here
    }
}

fn is_visible(symbol: &Symbol<'_>) -> bool {
    symbol.owner.is_none() && symbol.linkage != Linkage::Local
}

/// A span of another module, here.
const fn span_in_linked_module(span: Span, first: Ends) -> Span {
    Span::new(
        span.start.saturating_add(first.span),
        span.end.saturating_add(first.span),
    )
}

/// True if a definition takes as many parameters, of the same sizes, as calls pass.
fn have_same_parameters(declared: &[Parameter<'_>], defined: &[Parameter<'_>]) -> bool {
    let alike = |(one, other): (&Parameter<'_>, &Parameter<'_>)| one.size == other.size;
    declared.len() == defined.len() && declared.iter().zip(defined).all(alike)
}

//! The variables and functions that a module declares.

use ptxcheck_common::maps::NameMap;

use ptxcheck_ptx_parser::Element;
use ptxcheck_ptx_parser::ast::{self, Extent, ScalarType, StateSpace, StatementKind, Tree};

use super::scope::numbered;
use ptxcheck_ir::{
    DebugId, Function, FunctionId, FunctionKind, LaunchBounds, Linkage, Parameter, Slots, Space, Symbol,
    SymbolId, SymbolKind,
};

/// The symbols of a module and where to find them.
pub(super) struct Symbols<'s> {
    pub(super) all: Vec<Symbol<'s>>,
    pub(super) functions: Vec<Function<'s>>,
    pub(super) initializers: Vec<SymbolId>,
    /// The syntax of each function's definition, by its place in the tree.
    pub(super) definitions: Vec<(FunctionId, usize)>,
    by_name: NameMap<&'s [u8], SymbolId>,
    /// `v<n>`: so many variables with this prefix, which one symbol stands for.
    numbered: NameMap<&'s [u8], (SymbolId, u32)>,
    of_variable: Vec<Option<SymbolId>>,
}

/// Identifiers are ASCII, so this fails on nothing that the parser let through.
fn name_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

pub(super) fn space_of(space: StateSpace) -> Space {
    match space {
        StateSpace::Const => Space::Const,
        StateSpace::Global => Space::Global,
        StateSpace::Local => Space::Local,
        StateSpace::Param => Space::Param,
        StateSpace::Shared => Space::Shared,
        _ => Space::Generic,
    }
}

/// Bits of a register of this type; 1 for predicates, 0 where not known.
pub(super) fn register_bits(variable: &ast::Variable) -> u8 {
    match (variable.scalar, variable.vector) {
        (ScalarType::Pred, _) => 1,
        (scalar, 1) => scalar
            .bits()
            .and_then(|bits| u8::try_from(bits).ok())
            .unwrap_or(0),
        _ => 0,
    }
}

/// Size and alignment in bytes. The size is `None` where it is left open, 0 where the type has none, and `u64::MAX` where
/// 64 bits do not hold it.
fn layout(variable: &ast::Variable) -> (Option<u64>, u32) {
    let size = match variable.extent {
        Extent::Unsized => None,
        // One symbol stands for several variables, wherever they lie.
        _ if variable.registers().is_some() => None,
        _ if variable.element_bytes().is_none() => Some(0),
        _ => Some(variable.bytes().unwrap_or(u64::MAX)),
    };
    (size, variable.alignment().unwrap_or(1))
}

impl<'s> Symbols<'s> {
    pub(super) fn of(tree: &Tree<'s>) -> Self {
        let mut symbols = Self::declared(tree);
        symbols.resolve_initializers(tree);
        symbols
    }

    /// The same without what initialisers refer to.
    pub(super) fn declared(tree: &Tree<'s>) -> Self {
        let mut symbols = Self {
            all: Vec::with_capacity(tree.functions().len() + 16),
            functions: Vec::with_capacity(tree.functions().len()),
            initializers: Vec::new(),
            definitions: Vec::new(),
            by_name: NameMap::default(),
            numbered: NameMap::default(),
            of_variable: vec![None; tree.variables().len()],
        };
        for (place, function) in tree.functions().iter().enumerate() {
            if function.kind != ast::FunctionKind::Prototype {
                symbols.declare_function(tree, place, function);
            }
        }
        symbols.declare_variables(tree);
        symbols.resolve_aliases(tree);
        symbols
    }

    /// The module's symbol of this name.
    pub(super) fn find(&self, name: &[u8]) -> Option<SymbolId> {
        let numbered = || {
            numbered(name).find_map(|(prefix, number)| {
                let &(symbol, count) = self.numbered.get(prefix)?;
                (number < count).then_some(symbol)
            })
        };
        self.by_name.get(name).copied().or_else(numbered)
    }

    /// The symbol of a declared variable, by its place in the tree.
    pub(super) fn of_variable(&self, place: usize) -> Option<SymbolId> {
        self.of_variable.get(place).copied().flatten()
    }

    fn declare_function(&mut self, tree: &Tree<'s>, place: usize, syntax: &ast::Function) {
        let name = syntax.name.of(tree.source());
        let known = self
            .by_name
            .get(name)
            .copied()
            .and_then(|symbol| match self.all[symbol.index()].kind {
                SymbolKind::Function(function) => Some(function),
                _ => None,
            });
        let function = known.unwrap_or_else(|| self.new_function(tree, syntax));
        if syntax.has_body && self.functions[function.index()].header != syntax.header {
            // The definition of a symbol that was declared before.
            let symbol = self.functions[function.index()].symbol;
            self.functions[function.index()] = function_of(tree, syntax, symbol);
            self.all[symbol.index()].span = syntax.name;
        }
        if syntax.has_body {
            let symbol = &mut self.all[self.functions[function.index()].symbol.index()];
            symbol.linkage = defined_linkage(syntax.linkage);
            self.definitions.push((function, place));
        }
    }

    fn new_function(&mut self, tree: &Tree<'s>, syntax: &ast::Function) -> FunctionId {
        let id = FunctionId::new(self.functions.len());
        let symbol = SymbolId::new(self.all.len());
        let name = syntax.name.of(tree.source());
        self.all.push(Symbol {
            name: name_of(name),
            kind: SymbolKind::Function(id),
            space: Space::Generic,
            linkage: if syntax.has_body {
                defined_linkage(syntax.linkage)
            } else {
                Linkage::Undefined
            },
            size: None,
            align: 1,
            managed: false,
            is_host: false,
            owner: None,
            initializer: Slots::default(),
            host_constant: None,
            span: syntax.name,
        });
        self.functions.push(function_of(tree, syntax, symbol));
        self.by_name.insert(name, symbol);
        id
    }

    /// Variables in memory, of the module and of its functions. Parameters and registers are the functions' own.
    fn declare_variables(&mut self, tree: &Tree<'s>) {
        let mut next = 0;
        for (place, variable) in tree.variables().iter().enumerate() {
            while self
                .definitions
                .get(next)
                .is_some_and(|(_, function)| tree.functions()[*function].span.end <= variable.span.start)
            {
                next += 1;
            }
            let owner = self.definitions.get(next).and_then(|(id, function)| {
                (tree.functions()[*function].span.start <= variable.span.start).then_some(*id)
            });
            if matches!(
                variable.space,
                StateSpace::Reg | StateSpace::Sreg | StateSpace::Param
            ) {
                continue;
            }
            let name = variable.name.of(tree.source());
            let id = self.declare_variable(tree, variable, name, owner);
            self.of_variable[place] = Some(id);
        }
    }

    fn declare_variable(
        &mut self,
        tree: &Tree<'s>,
        variable: &ast::Variable,
        name: &'s [u8],
        owner: Option<FunctionId>,
    ) -> SymbolId {
        let (size, align) = layout(variable);
        let linkage = match variable.linkage {
            ast::Linkage::Extern => Linkage::Undefined,
            linkage => defined_linkage(linkage),
        };
        if owner.is_none()
            && let Some(known) = self.by_name.get(name).copied()
            && self.all[known.index()].kind == SymbolKind::Variable
        {
            // An `extern` declaration and a definition may both stand in one module.
            let symbol = &mut self.all[known.index()];
            if linkage != Linkage::Undefined {
                symbol.linkage = linkage;
                symbol.size = size;
                symbol.align = align;
                symbol.span = variable.name;
            }
            return known;
        }
        let id = SymbolId::new(self.all.len());
        self.all.push(Symbol {
            name: name_of(name),
            kind: if variable.scalar.is_opaque() {
                SymbolKind::TextureReference
            } else {
                SymbolKind::Variable
            },
            space: space_of(variable.space),
            linkage,
            size,
            align,
            managed: memchr::memmem::find(variable.attribute.of(tree.source()), b".managed").is_some(),
            is_host: false,
            owner,
            initializer: Slots::default(),
            host_constant: None,
            span: variable.name,
        });
        if owner.is_none() {
            self.by_name.insert(name, id);
            if let Some(count) = variable.registers() {
                self.numbered.insert(name, (id, count));
            }
        }
        id
    }

    /// `.alias b, a`: b is defined, as another name of a.
    fn resolve_aliases(&mut self, tree: &Tree<'s>) {
        let aliases = tree.statements().iter().filter(|statement| {
            statement.kind() == StatementKind::Directive && tree.name(statement) == b".alias"
        });
        for statement in aliases {
            let mut names = tree.instruction(statement).operands.map(|operand| operand.text());
            let (Some(alias), Some(target)) = (names.next(), names.next()) else {
                continue;
            };
            let (Some(alias), Some(target)) = (self.find(alias), self.find(target)) else {
                continue;
            };
            let SymbolKind::Function(target) = self.all[target.index()].kind else {
                continue;
            };
            if let SymbolKind::Function(function) = self.all[alias.index()].kind {
                self.all[alias.index()].linkage = Linkage::External;
                self.functions[function.index()].alias_of = Some(target);
            }
        }
    }

    /// The variables that functions declare, by name; of several with one name, the last.
    fn names_in_functions(&self) -> NameMap<&'s [u8], SymbolId> {
        let all = (0..).map(SymbolId::new).zip(&self.all);
        let owned = all.filter(|(_, symbol)| symbol.owner.is_some());
        owned.map(|(id, symbol)| (symbol.name.as_bytes(), id)).collect()
    }

    /// A variable of a function may be named outside of it: clang initialises constants with addresses of shared variables.
    fn resolve_initializers(&mut self, tree: &Tree<'s>) {
        let mut of_functions: Option<NameMap<&'s [u8], SymbolId>> = None;
        for (place, variable) in tree.variables().iter().enumerate() {
            let (false, Some(id)) = (variable.initializer.is_empty(), self.of_variable(place)) else {
                continue;
            };
            let start = self.initializers.len();
            let elements = variable.has_addresses.then(|| tree.initializer(variable));
            for element in elements.into_iter().flatten() {
                if let Element::Address(address) = element {
                    let found = self.find(address.symbol).or_else(|| {
                        let names = of_functions.get_or_insert_with(|| self.names_in_functions());
                        names.get(address.symbol).copied()
                    });
                    self.initializers.extend(found);
                }
            }
            self.all[id.index()].initializer = Slots::new(start, self.initializers.len());
        }
    }
}

fn defined_linkage(linkage: ast::Linkage) -> Linkage {
    match linkage {
        ast::Linkage::Local => Linkage::Local,
        ast::Linkage::Extern | ast::Linkage::Visible => Linkage::External,
        ast::Linkage::Weak => Linkage::Weak,
        ast::Linkage::Common => Linkage::Common,
    }
}

fn function_of<'s>(tree: &Tree<'s>, syntax: &ast::Function, symbol: SymbolId) -> Function<'s> {
    let parameters = |indices: ast::Indices| {
        tree.variables()[indices.range()]
            .iter()
            .map(|variable| parameter(tree, variable))
            .collect()
    };
    let mut launch = LaunchBounds::default();
    let mut noreturn = false;
    for directive in &tree.statements()[syntax.directives.range()] {
        let mut numbers = tree
            .instruction(directive)
            .operands
            .map(|operand| operand.constant().and_then(|value| u32::try_from(value).ok()));
        let mut number = || numbers.next().flatten();
        match tree.name(directive) {
            b".maxntid" => {
                launch.max_threads = number().map(|x| [x, number().unwrap_or(1), number().unwrap_or(1)]);
            }
            b".reqntid" => {
                launch.required_threads = number().map(|x| [x, number().unwrap_or(1), number().unwrap_or(1)]);
            }
            b".minnctapersm" => launch.min_ctas = number(),
            b".reqnctapercluster" => {
                launch.cluster = number().map(|x| [x, number().unwrap_or(1), number().unwrap_or(1)]);
            }
            b".maxnreg" => launch.max_registers = number(),
            b".noreturn" => noreturn = true,
            _ => {}
        }
    }
    Function {
        symbol,
        kind: match syntax.kind {
            ast::FunctionKind::Entry => FunctionKind::Kernel,
            _ => FunctionKind::Device,
        },
        params: parameters(syntax.params),
        results: parameters(syntax.results),
        launch,
        noreturn,
        alias_of: None,
        body: None,
        is_imported: false,
        header: syntax.header,
        is_damaged: tree
            .errors()
            .iter()
            .any(|error| (syntax.span.start..=syntax.span.end).contains(&error.span.start)),
        declared: DebugId::NONE,
    }
}

fn parameter<'s>(tree: &Tree<'s>, variable: &ast::Variable) -> Parameter<'s> {
    let (size, align) = layout(variable);
    Parameter {
        name: name_of(variable.name.of(tree.source())),
        size: size.unwrap_or(0),
        align,
        points_to: variable.pointer_space.map(space_of),
        span: variable.span,
    }
}

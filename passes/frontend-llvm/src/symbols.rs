//! The declarations of a module: globals, functions, aliases, and the references of initializers.

use bumpalo::Bump;
use ptxcheck_common::maps::NameMap;
use ptxcheck_ptx_parser::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use super::annotations::Annotations;
use super::debug::Locations;
use super::host::{self, Host};
use super::raw::{Linkage as Llvm, Module, Opcode, Type, TypeKind, Value, ValueKind};
use super::spaces::space_of;
use crate::limits::MAX_INITIALIZER_NODES;
use ptxcheck_ir::limits::MAX_TABLE_WORDS;
use ptxcheck_ir::{
    DebugId, Function, FunctionId, FunctionKind, LaunchBounds, Linkage, Parameter, Slots, Space, Symbol,
    SymbolId, SymbolKind, TableWord, VirtualTable,
};

/// `ptx_kernel`, LLVM's calling convention of kernels.
const KERNEL_CONVENTION: u32 = 71;

/// The symbols of a module, and the functions among them.
pub(super) struct Symbols<'a, 'm> {
    pub(super) module: Module<'m>,
    pub(super) names: &'a Bump,
    pub(super) all: Vec<Symbol<'a>>,
    pub(super) functions: Vec<Function<'a>>,
    pub(super) initializers: Vec<SymbolId>,
    /// The tables of virtual functions that it defines.
    pub(super) virtual_tables: Vec<VirtualTable>,
    /// Functions with a body.
    pub(super) definitions: Vec<(FunctionId, Value<'m>)>,
    by_value: FxHashMap<Value<'m>, SymbolId>,
    by_name: NameMap<&'a str, SymbolId>,
    annotations: Annotations<'m>,
    is_cuda: bool,
}

/// Globals that are not LLVM's own, with their names: a name is looked up among all.
fn named<'m>(globals: impl Iterator<Item = Value<'m>>) -> impl Iterator<Item = (&'m str, Value<'m>)> {
    let named = globals.map(|global| (global.name(), global));
    named.filter(|(name, _)| !name.starts_with("llvm."))
}

impl<'a, 'm> Symbols<'a, 'm> {
    pub(super) fn of(module: Module<'m>, names: &'a Bump, locations: &mut Locations<'m>) -> Self {
        let mut symbols = Self {
            module,
            names,
            all: Vec::new(),
            functions: Vec::new(),
            initializers: Vec::new(),
            virtual_tables: Vec::new(),
            definitions: Vec::new(),
            by_value: FxHashMap::default(),
            by_name: NameMap::default(),
            annotations: Annotations::of(module),
            is_cuda: host::is_cuda(module),
        };
        // Globals first, so that their places are in the order of the input, then functions.
        for (name, global) in named(module.globals()) {
            symbols.variable(global, name, locations);
        }
        for (name, function) in named(module.functions()) {
            symbols.function(function, name, locations);
        }
        for alias in module.aliases() {
            symbols.alias(alias, locations);
        }
        for global in module.globals() {
            symbols.initializer(global);
            symbols.virtual_table(global);
        }
        symbols.assembly(locations);
        symbols
    }

    /// The symbol that a global is.
    pub(super) fn find(&self, value: Value<'m>) -> Option<SymbolId> {
        self.by_value.get(&value).copied()
    }

    /// The symbol of this name, for inline assembly.
    pub(super) fn named(&self, name: &str) -> Option<SymbolId> {
        self.by_name.get(name).copied()
    }

    fn add(&mut self, value: Value<'m>, symbol: Symbol<'a>) -> SymbolId {
        let id = SymbolId::new(self.all.len());
        self.by_value.insert(value, id);
        self.name(id, symbol);
        id
    }

    /// Adds the next symbol under its name.
    pub(super) fn name(&mut self, id: SymbolId, symbol: Symbol<'a>) {
        self.by_name.insert(symbol.name, id);
        self.all.push(symbol);
    }

    fn variable(&mut self, value: Value<'m>, name: &'m str, locations: &mut Locations<'m>) {
        let ty = value.value_type();
        let size = ty.map(|ty| self.module.size(ty));
        let is_open = ty.and_then(Type::sequence).is_some_and(|(_, count)| count == 0);
        // A variable in the generic space lies in global memory (LLVM, User Guide for NVPTX).
        let space = match space_of(value.ty()) {
            Space::Generic => Space::Global,
            space => space,
        };
        let align = match value.alignment() {
            0 => ty.map_or(1, |ty| self.module.align(ty)),
            align => align,
        };
        let has = |property| self.annotations.has(value, property);
        let is_handle = ["texture", "surface", "sampler"].into_iter().any(has);
        let managed = has("managed");
        let host = if self.is_cuda && !is_handle && !managed {
            host::of(self.module, value)
        } else {
            None
        };
        let symbol = Symbol {
            name: self.names.alloc_str(&value.shown_name()),
            kind: if is_handle {
                SymbolKind::TextureReference
            } else {
                SymbolKind::Variable
            },
            space,
            linkage: linkage(value),
            size: size.filter(|_| !is_open),
            align,
            managed,
            is_host: matches!(host, Some(Host::Variable)),
            owner: None,
            initializer: Slots::default(),
            host_constant: match host {
                Some(Host::Constant(constant)) => Some(constant),
                _ => None,
            },
            span: locations.tickets.symbol(name),
        };
        self.add(value, symbol);
    }

    fn function(&mut self, value: Value<'m>, name: &'m str, locations: &mut Locations<'m>) {
        let id = FunctionId::new(self.functions.len());
        let symbol = Symbol {
            name: self.names.alloc_str(&value.shown_name()),
            kind: SymbolKind::Function(id),
            space: Space::Generic,
            linkage: linkage(value),
            size: None,
            align: 1,
            managed: false,
            is_host: false,
            owner: None,
            initializer: Slots::default(),
            host_constant: None,
            span: locations.tickets.symbol(name),
        };
        let symbol = self.add(value, symbol);
        let declared = value
            .subprogram()
            .map_or(DebugId::NONE, |node| locations.declaration(node));
        let is_kernel =
            value.calling_convention() == KERNEL_CONVENTION || self.annotations.has(value, "kernel");
        let params = value
            .params()
            .enumerate()
            .map(|(number, param)| {
                let name = if is_kernel { param.name() } else { "" };
                self.parameter(value, number as u32, param, name)
            })
            .collect();
        let results = value
            .value_type()
            .and_then(Type::returned)
            .filter(|ty| ty.kind() != TypeKind::LLVMVoidTypeKind)
            .map(|ty| Parameter {
                name: "",
                size: self.module.size(ty),
                align: self.module.align(ty),
                points_to: None,
                span: Span::default(),
            });
        self.functions.push(Function {
            symbol,
            kind: if is_kernel {
                FunctionKind::Kernel
            } else {
                FunctionKind::Device
            },
            params,
            results: results.into_iter().collect(),
            launch: launch(value, &self.annotations),
            noreturn: value.is_noreturn(),
            alias_of: None,
            body: None,
            is_imported: false,
            header: self.all[symbol.index()].span,
            is_damaged: false,
            declared,
        });
        if !value.is_declaration() {
            self.definitions.push((id, value));
        }
    }

    /// A parameter passed by value has the size of what its pointer points to.
    fn parameter(&self, function: Value<'m>, number: u32, param: Value<'m>, name: &str) -> Parameter<'a> {
        let memory = function.by_value(number);
        let ty = memory.unwrap_or_else(|| param.ty());
        let given = function.param_align(number).filter(|_| memory.is_some());
        let points_to = match space_of(param.ty()) {
            Space::Generic | Space::Param => None,
            space => Some(space),
        };
        Parameter {
            name: self.names.alloc_str(name),
            size: self.module.size(ty),
            align: given.unwrap_or_else(|| self.module.align(ty)),
            points_to: points_to.filter(|_| memory.is_none()),
            span: Span::default(),
        }
    }

    fn alias(&mut self, value: Value<'m>, locations: &mut Locations<'m>) {
        let Some(target) = value.aliasee().map(base) else {
            return;
        };
        let Some(target) = self.find(target) else { return };
        let known = &self.all[target.index()];
        let (space, size, align) = (known.space, known.size, known.align);
        let kind = match known.kind {
            SymbolKind::Function(function) => {
                let id = FunctionId::new(self.functions.len());
                let of = &self.functions[function.index()];
                let copy = Function {
                    symbol: SymbolId::new(self.all.len()),
                    kind: of.kind,
                    params: of.params.clone(),
                    results: of.results.clone(),
                    launch: of.launch,
                    noreturn: of.noreturn,
                    alias_of: Some(of.alias_of.unwrap_or(function)),
                    body: None,
                    is_imported: false,
                    header: of.header,
                    is_damaged: false,
                    declared: of.declared,
                };
                self.functions.push(copy);
                SymbolKind::Function(id)
            }
            kind => kind,
        };
        let symbol = Symbol {
            name: self.names.alloc_str(&value.shown_name()),
            kind,
            space,
            linkage: linkage(value),
            size,
            align,
            managed: false,
            is_host: false,
            owner: None,
            initializer: Slots::default(),
            host_constant: None,
            span: locations.tickets.symbol(value.name()),
        };
        self.add(value, symbol);
    }

    /// Notes the globals that a variable is initialized with.
    fn initializer(&mut self, value: Value<'m>) {
        let (Some(symbol), Some(initializer)) = (self.find(value), value.initializer()) else {
            return;
        };
        let start = self.initializers.len();
        let mut seen = FxHashSet::default();
        let mut open = vec![initializer];
        while let Some(value) = open.pop().filter(|_| seen.len() < MAX_INITIALIZER_NODES) {
            if let Some(symbol) = self.find(value) {
                self.initializers.push(symbol);
                continue;
            }
            // Operands of constants are shared: each is visited once. The last is pushed first, so that the
            // references come in the order of the input.
            for number in (0..value.operands()).rev() {
                open.extend(value.operand(number).filter(|operand| seen.insert(*operand)));
            }
        }
        self.all[symbol.index()].initializer = Slots::new(start, self.initializers.len());
    }
}

impl<'m> Symbols<'_, 'm> {
    /// Notes which words of a table of virtual functions are 0: rows of pointers in a structure (Itanium C++ ABI,
    /// Virtual Table Layout).
    fn virtual_table(&mut self, value: Value<'m>) {
        let (Some(symbol), Some(initializer)) = (self.find(value), value.initializer()) else {
            return;
        };
        let known = &self.all[symbol.index()];
        if !known.name.starts_with(VIRTUAL_TABLE) || known.is_undefined() {
            return;
        }
        let mut words = Vec::new();
        for row in (0..initializer.operands()).filter_map(|number| initializer.operand(number)) {
            words.extend((0..row.operands()).filter_map(|number| Some(word(row.operand(number)?))));
            if words.len() as u64 > MAX_TABLE_WORDS {
                return;
            }
        }
        // Another form, rows of nothing but zeros among them, is left alone.
        if known.size == Some(words.len() as u64 * 8) {
            self.virtual_tables.push(VirtualTable { symbol, words });
        }
    }
}

/// Mangled names of tables of virtual functions begin with this.
const VIRTUAL_TABLE: &str = "_ZTV";

fn word(value: Value<'_>) -> TableWord {
    if value.kind() == ValueKind::LLVMConstantPointerNullValueKind {
        TableWord::Zero
    } else if value.opcode() == Some(Opcode::LLVMIntToPtr) {
        TableWord::Number
    } else {
        TableWord::Address
    }
}

/// The value that a chain of casts and GEPs begins at.
pub(super) fn base(mut value: Value<'_>) -> Value<'_> {
    for _ in 0..MAX_INITIALIZER_NODES {
        let is_step = value.kind() == ValueKind::LLVMConstantExprValueKind
            && matches!(
                value.opcode(),
                Some(Opcode::LLVMBitCast | Opcode::LLVMAddrSpaceCast | Opcode::LLVMGetElementPtr)
            );
        match value.operand(0).filter(|_| is_step) {
            Some(from) => value = from,
            None => break,
        }
    }
    value
}

fn linkage(value: Value<'_>) -> Linkage {
    use Llvm as L;
    if value.is_declaration() {
        // LLVM's code generator makes a definition of a variable that is declared weak, for this module alone.
        let is_made = value.kind() == ValueKind::LLVMGlobalVariableValueKind
            && value.linkage() == Some(L::LLVMExternalWeakLinkage);
        return if is_made {
            Linkage::Local
        } else {
            Linkage::Undefined
        };
    }
    match value.linkage() {
        Some(L::LLVMInternalLinkage | L::LLVMPrivateLinkage) => Linkage::Local,
        Some(L::LLVMCommonLinkage) => Linkage::Common,
        Some(
            L::LLVMWeakAnyLinkage
            | L::LLVMWeakODRLinkage
            | L::LLVMLinkOnceAnyLinkage
            | L::LLVMLinkOnceODRLinkage,
        ) => Linkage::Weak,
        _ => Linkage::External,
    }
}

/// `"nvvm.maxntid"="256,1,1"` and its like, or the annotations that were there before.
fn launch<'m>(function: Value<'m>, annotations: &Annotations<'m>) -> LaunchBounds {
    let number = |name: &str| {
        function
            .string_attribute(name)
            .and_then(|text| text.trim().parse().ok())
    };
    let threads = |name: &str| {
        let text = function.string_attribute(name)?;
        let mut sizes = text.split(',').map(|size| size.trim().parse().ok());
        let x = sizes.next().flatten()?;
        let mut next = || sizes.next().flatten().unwrap_or(1);
        Some([x, next(), next()])
    };
    LaunchBounds {
        max_threads: threads("nvvm.maxntid").or_else(|| annotations.sizes(function, "maxntid")),
        required_threads: threads("nvvm.reqntid").or_else(|| annotations.sizes(function, "reqntid")),
        min_ctas: number("nvvm.minctasm").or_else(|| annotations.number(function, "minctasm")),
        max_registers: number("nvvm.maxnreg").or_else(|| annotations.number(function, "maxnreg")),
        cluster: threads("nvvm.cluster_dim").or_else(|| annotations.sizes(function, "cluster_dim_")),
    }
}

//! Modules and their symbols.

use std::fmt;

use std::borrow::Cow;

use ptxcheck_ptx_parser::{Position, Span, SyntaxError};

use super::function::{Body, Function, parameter_number};
use super::index::{DebugId, FunctionId, InstructionId, SymbolId};
use super::symbol::{Symbol, SymbolKind};
use crate::places::Frame;

/// The target that a module is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target<'s> {
    /// As the module writes it: `sm_90a`; empty if it does not say.
    pub name: &'s str,
    /// 90 for `sm_90a`; 0 if the module does not say.
    pub sm: u32,
    /// It is compiled for a debugger (`.target sm_90a, debug`).
    pub is_debug: bool,
}

impl<'s> Target<'s> {
    /// With this name.
    #[must_use]
    pub fn named(name: &'s str) -> Self {
        let digits = name
            .trim_start_matches("sm_")
            .trim_end_matches(|letter: char| !letter.is_ascii_digit());
        Self {
            name,
            sm: digits.parse().unwrap_or(0),
            is_debug: false,
        }
    }
}

/// A PTX ISA version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IsaVersion {
    /// 9 of 9.2.
    pub major: u32,
    /// 2 of 9.2.
    pub minor: u32,
}

impl std::fmt::Display for IsaVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// The part of an input that a front end reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// Declarations: no function has a body.
    Declarations,
}

/// The compiler that wrote a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Producer {
    /// NVIDIA's: nvcc, NVRTC, libnvvm.
    Nvvm,
    /// LLVM's own back end: clang, Rust, Triton.
    Llvm,
    /// GCC's, for offloading with OpenMP and OpenACC.
    Gcc,
    /// The module does not say, as in fat binaries, where comments are lost.
    Unknown,
}

/// A table of virtual functions, as the module initializes it (Itanium C++ ABI, Virtual Table Layout): words of 8 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualTable {
    /// Its symbol.
    pub symbol: SymbolId,
    /// The words.
    pub words: Vec<TableWord>,
}

/// A word of a [`VirtualTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableWord {
    /// 0.
    Zero,
    /// Another number: an offset.
    Number,
    /// The address of something.
    Address,
}

/// The ends of spans and of debug locations: all that a module has are smaller, or for spans no greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Greatest [`Span::end`].
    pub span: u32,
    /// One past the last [`DebugId`].
    pub debug: u32,
}

/// The input that a module was made from: turns spans and debug locations into places. One implementation per front end.
pub trait Origin: Sync {
    /// The span in the input's text of a span of the device IR, where the input is text.
    fn place(&self, span: Span) -> Option<Span>;

    /// The line and column of an offset in the text, both 1-based, where the input is text.
    fn position(&self, offset: u32) -> Option<Position>;

    /// The text of a 1-based line without its ending.
    fn line(&self, line: u32) -> &[u8];

    /// The input's name of the instruction with this span, without types: `ld.shared`, `cvta.to.global`. `None` where it has none.
    fn name(&self, span: Span) -> Option<String>;

    /// The input's name of memory on the stack whose symbol has no name here, if it has one: the front end leaves those to the
    /// caller that shows them.
    fn stack_name(&self, symbol: SymbolId) -> Option<String>;

    /// True if the text says that the instruction with this span stands in inline assembly of the program.
    fn is_in_assembly(&self, _: Span) -> bool {
        false
    }

    /// The PTX of a span of the device IR; empty where the input is none.
    fn text(&self, span: Span) -> &[u8];

    /// The first bytes that a variable is initialised with, little-endian, at most [`crate::limits::MAX_INITIAL_BYTES`]: all after them are zeros or not
    /// asked for. `None` where it has no initialiser, one of addresses, or the origin does not keep it. `span`: the variable's
    /// declaration, as [`super::Symbol::span`] has it.
    fn initial_bytes(&self, _name: &str, _span: Span) -> Option<Vec<u8>> {
        None
    }

    /// The bytes of a string that a variable is initialised with, up to its first zero.
    fn string(&self, name: &str, span: Span) -> Option<Vec<u8>> {
        let bytes = self.initial_bytes(name, span)?;
        Some(bytes.split(|byte| *byte == 0).next()?.to_vec())
    }

    /// The ends of its spans and debug locations; `None` where bodies are not taken from one module to another.
    fn ends(&self) -> Option<Ends> {
        None
    }

    /// The frames of a debug location, innermost first; empty where there is none.
    fn frames(&self, debug: DebugId) -> Vec<Frame>;

    /// The outermost frame of the debug location that a function begins with: where the source declares the function.
    fn declaration(&self, debug: DebugId) -> Option<Frame> {
        self.frames(debug).pop()
    }

    /// The names that debug information has for the parameters of a function with this name, in their order; `None` for one without a
    /// name, and the list empty where it says nothing of the function.
    fn parameter_names(&self, _function: &str) -> Vec<Option<String>> {
        Vec::new()
    }
}

/// One image's device code.
pub struct Module<'s> {
    /// The compiler that wrote it.
    pub producer: Producer,
    /// The target that it is compiled for.
    pub target: Target<'s>,
    /// The PTX ISA version it is written in, where it is PTX.
    pub isa: Option<IsaVersion>,
    /// All symbols: those of the module, then those declared in functions.
    pub symbols: Vec<Symbol<'s>>,
    /// All functions, in the order of their first declaration.
    pub functions: Vec<Function<'s>>,
    /// The symbols that initializers refer to.
    pub initializers: Vec<SymbolId>,
    /// The tables of virtual functions that it defines, where the front end reads them.
    pub virtual_tables: Vec<VirtualTable>,
    /// One of its symbols lies in local memory.
    pub has_local_memory: bool,
    /// Some of its text could not be read: what is missing from it proves nothing.
    pub is_damaged: bool,
    /// Errors that the front end found and the parser did not, in the order of the input.
    pub errors: Vec<SyntaxError>,
    /// Number of errors that it found beyond those that it kept.
    pub errors_left_out: usize,
    /// Symbols at the end that other modules declare or define: see [`super::linked`].
    pub imported_symbols: usize,
    /// Turns spans and debug locations into places.
    pub origin: &'s dyn Origin,
}

/// All but the origin.
impl fmt::Debug for Module<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Module")
            .field("producer", &self.producer)
            .field("target", &self.target)
            .field("isa", &self.isa)
            .field("symbols", &self.symbols)
            .field("functions", &self.functions)
            .field("initializers", &self.initializers)
            .field("virtual_tables", &self.virtual_tables)
            .field("has_local_memory", &self.has_local_memory)
            .field("is_damaged", &self.is_damaged)
            .field("errors", &self.errors)
            .field("errors_left_out", &self.errors_left_out)
            .field("imported_symbols", &self.imported_symbols)
            .finish_non_exhaustive()
    }
}

impl<'s> Module<'s> {
    /// The symbol with this index.
    #[must_use]
    pub fn symbol(&self, id: SymbolId) -> &Symbol<'s> {
        &self.symbols[id.index()]
    }

    /// True if a collective is known to stand in inline assembly: somebody wrote it by hand.
    #[must_use]
    pub fn is_in_assembly(&self, function: FunctionId, at: InstructionId) -> bool {
        self.function(function).body.as_ref().is_some_and(|body| {
            body.in_assembly.binary_search(&at).is_ok() || self.origin.is_in_assembly(body.span_of(at))
        })
    }

    /// The function with this index.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Function<'s> {
        &self.functions[id.index()]
    }

    /// The input's name of a symbol; empty if it has none.
    #[must_use]
    pub fn symbol_name(&self, id: SymbolId) -> Cow<'s, str> {
        let known = self.symbol(id);
        if known.name.is_empty() && known.owner.is_some() {
            self.origin.stack_name(id).unwrap_or_default().into()
        } else {
            known.name.into()
        }
    }

    /// The name of a function.
    #[must_use]
    pub fn function_name(&self, id: FunctionId) -> &'s str {
        self.symbol(self.function(id).symbol).name
    }

    /// The names of a function's parameters, in their order: those in debug information, else those in the module that no compiler has
    /// made up (`k_param_1`). `None` for one without a name.
    #[must_use]
    pub fn parameter_names(&self, id: FunctionId) -> Vec<Option<String>> {
        let (function, name) = (self.function(id), self.function_name(id));
        let mut source = self.origin.parameter_names(name);
        if source.len() == function.params.len() {
            return source;
        }
        source.clear();
        let declared = function.params.iter().map(|param| param.name);
        let is_real = |of: &&str| !of.is_empty() && parameter_number(name, of).is_none();
        source.extend(declared.map(|of| Some(of).filter(is_real).map(str::to_owned)));
        source
    }

    /// The span of an instruction, for [`Origin`]; its start is in the order of the input.
    #[must_use]
    pub fn span_of(&self, function: FunctionId, instruction: InstructionId) -> Span {
        self.function(function)
            .body
            .as_ref()
            .map_or_else(Span::default, |body| body.span_of(instruction))
    }

    /// The function that a symbol names, if it names one.
    #[must_use]
    pub fn function_of(&self, symbol: SymbolId) -> Option<FunctionId> {
        match self.symbol(symbol).kind {
            SymbolKind::Function(function) => Some(function),
            _ => None,
        }
    }

    /// The function that a direct call of a symbol calls: an alias stands for its aliasee.
    #[must_use]
    pub fn called(&self, symbol: SymbolId) -> Option<FunctionId> {
        let callee = self.function_of(symbol)?;
        Some(self.function(callee).alias_of.unwrap_or(callee))
    }

    /// All functions with a body.
    pub fn bodies(&self) -> impl Iterator<Item = (FunctionId, &Function<'s>, &Body<'s>)> {
        self.functions
            .iter()
            .enumerate()
            .filter_map(|(number, function)| {
                function
                    .body
                    .as_ref()
                    .map(|body| (FunctionId::new(number), function, body))
            })
    }

    /// The symbols that a symbol's initializer refers to.
    #[must_use]
    pub fn initializer(&self, symbol: &Symbol<'_>) -> &[SymbolId] {
        &self.initializers[symbol.initializer.range()]
    }
}

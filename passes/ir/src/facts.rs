//! Declarations of a module or an image, in one form for all kinds of input: plain data that owns its text.

use std::borrow::Cow;

use ptxcheck_common::names;
use serde::{Deserialize, Serialize};

use crate::asynchronous::AsyncKinds;
use crate::function::{Function, LaunchBounds, Parameter};
use crate::index_limits::IndexLimit;
use crate::module::Module;
use crate::op::{AccessKind, Op, Space};
use crate::params;
use crate::places::{Frame, Located};

/// The declarations of an image. Images with the same content share one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Kernels defined, in the order of the image.
    pub kernels: Vec<Kernel>,
    /// Variables defined that have a size.
    pub variables: Vec<Variable>,
    /// Weak functions and kernels defined, with a digest of each body.
    pub weak: Vec<WeakFunction>,
    /// Functions defined, without the kernels.
    pub functions: u32,
    /// Its symbols for a linker; `None` where those are not known.
    pub symbols: Option<Symbols>,
    /// The compiler or assembler, as the image names it.
    pub producer: Option<String>,
    /// Absolute paths of the machine that built it, each once.
    pub paths: Vec<String>,
    /// Kernels with parameters whose code is a return and nothing else: [`Located::function`] is the kernel.
    pub bare: Vec<Located>,
    /// It has instructions that only its own architecture has, such as `wgmma`.
    pub needs_its_target: bool,
    /// The instructions that machine code has; `None` where it does not say, and for other images.
    pub code_class: Option<CodeClass>,
    /// The first instruction of PTX that its own target or version does not have, where that was looked for.
    pub illegal: Option<Illegal>,
    /// The bytes of machine code by their use, and of PTX those of its source lines; `None` for images without either.
    pub sections: Option<SectionBytes>,
    /// Built for debugging (`-G`).
    pub is_debug: bool,
    /// Some of it could not be read: what is missing proves nothing.
    pub is_damaged: bool,
}

impl Facts {
    /// The declarations of a module. Those that only its text has are left empty: producer, paths, digests of weak functions,
    /// symbols for a linker, and kernels without code.
    #[must_use]
    pub fn of(module: &Module<'_>) -> Self {
        let mut facts = Self {
            is_damaged: module.is_damaged,
            ..Self::default()
        };
        for function in &module.functions {
            let symbol = module.symbol(function.symbol);
            if symbol.is_undefined() || function.alias_of.is_some() {
                continue;
            }
            if function.is_kernel() {
                facts.kernels.push(Kernel::of(module, function, symbol.name));
            } else {
                facts.functions += 1;
            }
        }
        facts.variables = module
            .symbols
            .iter()
            .filter(|symbol| symbol.owner.is_none() && !symbol.is_undefined())
            .filter(|symbol| matches!(symbol.space, Space::Global | Space::Const))
            .filter_map(|symbol| {
                Some(Variable {
                    name: symbol.name.to_owned(),
                    identity: names::normalised(symbol.name).into_owned(),
                    size: symbol.size?,
                })
            })
            .collect();
        facts
    }
}

/// The bytes of an image by their use. The rest of machine code is symbols, relocations and attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionBytes {
    /// Instructions.
    pub code: u64,
    /// Source lines (`-lineinfo`).
    pub lines: u64,
    /// Other debug information.
    pub debug: u64,
    /// Constants, with the parameters of kernels.
    pub constants: u64,
    /// The PTX that profilers show beside the lines.
    pub ptx: u64,
}

impl SectionBytes {
    /// Adds those of another image.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.code, other.code),
            (&mut self.lines, other.lines),
            (&mut self.debug, other.debug),
            (&mut self.constants, other.constants),
            (&mut self.ptx, other.ptx),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// All of them.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        let text = self.ptx.saturating_add(self.lines).saturating_add(self.debug);
        text.saturating_add(self.code).saturating_add(self.constants)
    }
}

/// A kernel of an image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// As the image names it.
    pub name: String,
    /// The name without what changes from build to build (see [`ptxcheck_common::names::normalised`]).
    pub identity: String,
    /// Offset and size of each parameter in bytes, where they are known.
    pub params: Option<Vec<(u32, u32)>>,
    /// Names of the parameters in their order; empty unless assumptions name some.
    pub parameter_names: Vec<Option<String>>,
    /// Launch bounds. Machine code does not keep [`LaunchBounds::min_ctas`].
    pub launch: LaunchBounds,
    /// Bytes of machine code; `None` for other images.
    pub code_bytes: Option<u64>,
    /// Its declaration in the source, where debug information has it.
    pub source: Option<Frame>,
    /// A kernel without a body; `None` where it has one, or where that is not known.
    pub stub: Option<Stub>,
    /// Its use of registers and memory; machine code alone has it.
    pub resources: Option<Resources>,
    /// Digest of its body, made where releases are compared: equal for what one compiler makes of one source.
    pub body: Option<u64>,
    /// Its indexes that wrap in 32 bits, where they were looked for.
    pub index_limits: Vec<IndexLimit>,
    /// It waits for the grids that it depends on, itself and not in a function that it calls (`griddepcontrol.wait`); `None` where its code
    /// is not known.
    pub waits_for_grids: Option<bool>,
}

/// A kernel that a source leaves without a body for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stub {
    /// It returns and does nothing else: a launch succeeds, and the results are never written.
    Returning,
    /// It traps: a launch fails.
    Trapping,
}

impl Stub {
    /// The kind of an empty kernel: its code is one return, or begins with a trap, after nothing but loads of parameters and copies. `None`
    /// for a function that is not a kernel, is only declared, or could not be read in full.
    #[must_use]
    pub fn of(function: &Function<'_>) -> Option<Self> {
        if !function.is_kernel() || function.is_damaged {
            return None;
        }
        let instructions = function.body.as_ref()?.instructions.as_slice();
        let first = instructions.iter().find(|one| !may_precede_trap(one.op))?;
        match first.op {
            _ if first.guard.is_some() => None,
            Op::Return if instructions.len() == 1 => Some(Self::Returning),
            Op::Trap => Some(Self::Trapping),
            _ => None,
        }
    }

    /// The word in documents: `returning`, `trapping`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Returning => "returning",
            Self::Trapping => "trapping",
        }
    }
}

/// True for what compilers move before a trap: it only writes registers.
const fn may_precede_trap(op: Op) -> bool {
    match op {
        op if op.keeps_bits() => true,
        Op::Access(access) => matches!(access.kind, AccessKind::Load) && matches!(access.space, Space::Param),
        _ => false,
    }
}

/// The instructions that machine code has, as ptxas of CUDA 13 notes it from sm_90 on, and ptxas 12.9 from sm_100 on. The
/// target that it was assembled for may allow more: code for `sm_120a` that is [`Self::Baseline`] needs no more than `sm_120`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CodeClass {
    /// Those that each architecture from its own on has.
    Baseline,
    /// Some that only architectures of its family have (`sm_100f`).
    FamilySpecific,
    /// Some that only its own architecture has (`sm_100a`).
    ArchitectureSpecific,
}

impl CodeClass {
    /// The word in documents: `baseline`, `family-specific`, `architecture-specific`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::FamilySpecific => "family-specific",
            Self::ArchitectureSpecific => "architecture-specific",
        }
    }
}

/// An instruction that the target or the version of its module does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Illegal {
    /// Its opcode, with all parts.
    pub opcode: String,
    /// The first version that has it, major and minor, if that of the module is older.
    pub isa: Option<(u32, u32)>,
    /// The targets that have it, in words, if that of the module is none of them.
    pub targets: Option<String>,
    /// Its place.
    pub at: Located,
}

/// Registers and memory of a kernel, as the headers of machine code have them. What a header does not say is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Stack of a thread, in bytes, with those of the functions that it calls; `None` where the assembler does not know it: for
    /// functions that call themselves or by addresses, and before a link.
    pub stack: Option<u32>,
    /// Static shared memory of a block, in bytes, without what the driver keeps for itself.
    pub shared: Option<u32>,
    /// Constant memory, in bytes, with the parameters.
    pub constant: Option<u32>,
}

impl Kernel {
    fn of(module: &Module<'_>, function: &Function<'_>, name: &str) -> Self {
        let layout = params::layout(&function.params);
        let pair = |(param, offset): (&Parameter<'_>, &u64)| {
            let size = u32::try_from(param.size).ok().filter(|size| *size > 0)?;
            Some((u32::try_from(*offset).ok()?, size))
        };
        Self {
            name: name.to_owned(),
            identity: names::normalised(name).into_owned(),
            params: function.params.iter().zip(&layout.offsets).map(pair).collect(),
            parameter_names: Vec::new(),
            launch: function.launch,
            code_bytes: None,
            source: module.origin.declaration(function.declared),
            stub: Stub::of(function),
            resources: None,
            body: None,
            index_limits: Vec::new(),
            waits_for_grids: function
                .body
                .as_ref()
                .map(|body| body.has_async(AsyncKinds::GRID_WAIT)),
        }
    }
}

/// A variable of an image.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// As the image names it.
    pub name: String,
    /// The name without what changes from build to build.
    pub identity: String,
    /// Bytes.
    pub size: u64,
}

/// A weak function: of several definitions, the linker keeps one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeakFunction {
    /// Its name.
    pub name: String,
    /// Digest of its parameters and results.
    pub signature: u64,
    /// Digest of its body, numbers of registers and labels aside.
    pub body: u64,
    /// Digest of the calls in it, in order.
    pub calls: u64,
    /// The options that it was compiled with, as far as it shows them.
    pub options: CompilerOptions,
}

/// Options of a compiler that change what it makes of a source; `None` where the code does not show one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompilerOptions {
    /// Denormal numbers count as zero: nvcc's `-ftz=true`.
    pub flushes_denormals: Option<bool>,
    /// Divisions are approximate: nvcc's `-prec-div=false`.
    pub divides_roughly: Option<bool>,
    /// Square roots are approximate: nvcc's `-prec-sqrt=false`.
    pub takes_rough_roots: Option<bool>,
    /// Products and sums are computed one by one: nvcc's `-fmad=false`.
    pub fuses_nothing: Option<bool>,
    /// `-O0`.
    pub is_unoptimised: Option<bool>,
}

impl CompilerOptions {
    /// The options of nvcc that one has been compiled with and the other has not.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let all = [
            ("-O0", self.is_unoptimised, other.is_unoptimised),
            ("-ftz=true", self.flushes_denormals, other.flushes_denormals),
            ("-prec-div=false", self.divides_roughly, other.divides_roughly),
            (
                "-prec-sqrt=false",
                self.takes_rough_roots,
                other.takes_rough_roots,
            ),
            ("-fmad=false", self.fuses_nothing, other.fuses_nothing),
        ];
        let differs = |(name, one, other): (&'static str, Option<bool>, Option<bool>)| {
            matches!((one, other), (Some(one), Some(other)) if one != other).then_some(name)
        };
        all.into_iter().filter_map(differs).collect()
    }
}

/// The symbols of an image that a linker sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols {
    /// Functions and variables that other images can refer to; kernels are listed elsewhere.
    pub defined: Vec<String>,
    /// Symbols that it uses and does not define, in the order of the first use.
    pub open: Vec<Open>,
    /// Declarations of functions and variables that it shows or leaves open, where those are known.
    pub shapes: Vec<Shape>,
}

/// The declaration, in one image, of a function or variable that other images can refer to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// The part that the device linker compares, as PTX: of a function results and parameters, `(.b32) (.b64, .align 8 .b8[16])`; of a
    /// variable, `.global .b8[16]`.
    pub text: String,
    /// The image defines it, too.
    pub is_defined: bool,
}

/// A symbol that an image uses and does not define.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// As the image names it.
    pub name: String,
    /// The use of it.
    pub what: SymbolClass,
    /// The part of the C++ runtime of the host that it belongs to, which no library for devices has.
    pub runtime: Option<Cow<'static, str>>,
    /// The first use in each function and variable that refers to it, up to [`crate::limits::SHOWN_USES`].
    pub uses: Vec<Located>,
    /// Number of further functions and variables that refer to it.
    pub more: u32,
    /// The functions of the image that other images can call and that lead to a use: where nothing calls one of them, nothing
    /// needs the symbol. `None` where a kernel or a variable of the image needs it.
    pub needed_through: Option<Vec<String>>,
}

/// The kind of use of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SymbolClass {
    /// Memory.
    Variable,
    /// Code.
    Function,
}

impl SymbolClass {
    /// The word in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Function => "function",
        }
    }
}

/// True for an absolute path of Linux or Windows.
#[must_use]
pub fn is_absolute(path: &[u8]) -> bool {
    path.starts_with(b"/") || path.get(1..3).is_some_and(|head| head == b":\\" || head == b":/")
}

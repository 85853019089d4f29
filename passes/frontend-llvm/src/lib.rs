//! LLVM and NVVM IR, as text or bitcode, to device IR.
//!
//! [`with_module`] has LLVM read IR and hands the [`Module`] to a function. LLVM can abort or crash on malformed input, so it is
//! to be called in a process of its own: `ptxcheck-llvm` is one.
//!
//! | file | does |
//! | --- | --- |
//! | `raw.rs` and `raw/` | wrap LLVM's C interface in safe handles, and have all `unsafe` code |
//! | `symbols.rs`, `annotations.rs`, `host.rs`, `module_assembly.rs` | read what a module declares |
//! | `body.rs`, `edges.rs`, `parameters.rs` | walk blocks, and turn phis into copies |
//! | `instructions.rs`, `memory.rs`, `intrinsics.rs`, `values.rs`, `aggregates.rs` | turn instructions and operands into device IR |
//! | `callees.rs`, `types.rs`, `numbers.rs`, `spaces.rs` | keep what is known of callees, types and address spaces |
//! | `assembly.rs` | hands inline assembly to the PTX front end |
//! | `debug.rs` | keeps the way to debug locations |
//! | `target.rs`, `reflect.rs` | what a module is compiled for, and what code asks of that |
//! | `places.rs`, `outline.rs`, `opcodes.rs` | find the lines of text |
//! | `bitcode.rs`, `newer.rs` | distinguish bitcode from text, and read spellings that this LLVM does not know |
//!
//! Of the two bindings, `inkwell` has the owned objects: the context, the buffer of an input, the module that LLVM reads into them,
//! and what LLVM says when it refuses one. It frees them in the right order, and its errors are values. `llvm-sys` below it has
//! the walk: instructions, operands, types, constants, attributes, metadata and debug locations. inkwell's types for these ask
//! LLVM for the kind of each value as they are made, panic on kinds that they do not know, which is for the input to choose here,
//! and cover metadata, debug locations and constant expressions in part. `raw` checks the kind once and asks LLVM as little as it can.
//!
//! This is the only crate that links LLVM: no value of LLVM leaves it, and no other library depends on it. A program that reads
//! IR hands [`read_device_code`] to `ptxcheck-passes`, as `ptxcheck-llvm` does. Without `llvm` and `llvm19`, this crate is
//! empty. It knows nothing of files, processes, analyses and rules.
//!
//! ```
//! # #[cfg(any(feature = "llvm", feature = "llvm19"))] {
//! use ptxcheck_ir::Op;
//!
//! let ir = "target triple = \"nvptx64-nvidia-cuda\"\n\ndefine ptx_kernel void @k() {\n  ret void\n}\n";
//! let name = ptxcheck_frontend_llvm::with_module(ir.as_bytes(), |module| {
//!     let (id, kernel, body) = module.bodies().next().expect("a kernel with a body");
//!     assert!(kernel.is_kernel());
//!     assert_eq!(body.instructions[0].op, Op::Return);
//!     module.function_name(id).to_owned()
//! });
//! assert_eq!(name.as_deref(), Ok("k"));
//! # }
//! ```

#![cfg(any(feature = "llvm", feature = "llvm19"))]
#![warn(unreachable_pub, unnameable_types)]

#[cfg(all(feature = "llvm19", not(feature = "llvm")))]
use llvm_sys_19 as llvm_sys;
#[cfg(feature = "llvm")]
use llvm_sys_22 as llvm_sys;

mod aggregates;
mod annotations;
mod assembly;
mod asynchronous;
#[cfg(test)]
mod asynchronous_tests;
mod bitcode;
mod body;
mod callees;
mod debug;
mod edges;
mod host;
mod instructions;
mod intrinsics;
mod limits;
#[cfg(test)]
mod malformed_tests;
mod memory;
mod module_assembly;
mod newer;
mod numbers;
mod opcodes;
mod outline;
mod parameters;
mod places;
mod raw;
mod reflect;
mod spaces;
mod symbols;
mod target;
mod types;
mod values;

pub use debug::LlvmOrigin;

use std::fmt;

use bumpalo::Bump;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;

use assembly::Assembly;
use bitcode::is_bitcode;
use body::{Lowering, Scratch};
use debug::Locations;
use ptxcheck_ir::{Body, Extent, Module, Producer, Space};
use symbols::Symbols;

/// The version of LLVM that this build reads: IR of newer ones is refused.
pub const LLVM_VERSION: &str = if cfg!(feature = "llvm") { "22" } else { "19" };

/// IR that LLVM refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// LLVM's message, on one line.
    pub said: String,
    /// The version of LLVM that wrote it, where that is newer than [`LLVM_VERSION`] and the input says so: `23.0.0`.
    pub written_by: Option<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LLVM {LLVM_VERSION} cannot read it")?;
        if let Some(version) = &self.written_by {
            write!(formatter, ", and LLVM {version} wrote it")?;
        }
        write!(formatter, ": {}", self.said)
    }
}

impl std::error::Error for Refused {}

/// Reads IR and hands its device IR to `work`.
///
/// # Errors
///
/// [`Refused`], if LLVM can't read it.
pub fn with_module<R>(bytes: &[u8], work: impl FnOnce(&Module<'_>) -> R) -> Result<R, Refused> {
    let memory = Memory::default();
    memory.read(bytes).map(|input| input.with_module(work))
}

/// Reads a part of IR and hands its device IR to `found`, or `None` if it is for something other than NVIDIA's GPUs. LLVM's memory is given
/// back after that, which takes a sixth to a third of the time.
///
/// # Errors
///
/// A sentence, if LLVM can't read it.
pub fn read_device_code(
    bytes: &[u8],
    extent: Extent,
    found: &mut dyn FnMut(Option<&Module<'_>>),
) -> Result<(), String> {
    let memory = Memory::default();
    let input = match extent {
        Extent::Whole => memory.read(bytes),
        Extent::Declarations => memory.read_declarations(bytes),
    };
    let input = input.map_err(|refused| refused.to_string())?;
    if input.is_device_code() {
        input.with_part(extent, |module| found(Some(module)));
    } else {
        found(None);
    }
    Ok(())
}

/// The context that LLVM reads IR into.
pub struct Memory(Context);

impl Default for Memory {
    fn default() -> Self {
        raw::set_options();
        Self(Context::create())
    }
}

impl Memory {
    /// Has LLVM read IR.
    ///
    /// # Errors
    ///
    /// [`Refused`], if LLVM can't read it.
    pub fn read<'i>(&'i self, bytes: &'i [u8]) -> Result<Input<'i>, Refused> {
        let parse = |bytes: &[u8]| {
            let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "input");
            self.0.create_module_from_ir(buffer)
        };
        parse(bytes)
            .or_else(|error| newer::rewritten(bytes).map_or(Err(error), |older| parse(&older)))
            .map(|module| Input { bytes, module })
            .map_err(|error| refusal(&error.to_string(), bytes))
    }

    /// Has LLVM read the declarations of bitcode, and all of a text: function bodies are most of a module.
    ///
    /// # Errors
    ///
    /// [`Refused`], if LLVM can't read it.
    pub fn read_declarations<'i>(&'i self, bytes: &'i [u8]) -> Result<Input<'i>, Refused> {
        let without_bodies = is_bitcode(bytes)
            .then(|| raw::read_declarations(&self.0, bytes))
            .flatten();
        match without_bodies {
            Some(module) => Ok(Input { bytes, module }),
            // A text, or bitcode that is refused: this says why.
            None => self.read(bytes),
        }
    }
}

/// IR that LLVM has read.
pub struct Input<'i> {
    bytes: &'i [u8],
    module: inkwell::module::Module<'i>,
}

impl Input<'_> {
    /// The same as bitcode of this LLVM.
    #[must_use]
    pub fn bitcode(&self) -> Vec<u8> {
        self.module.write_bitcode_to_memory().as_slice().to_vec()
    }

    /// True if it is for NVIDIA's GPUs: by its target triple, or, as some compilers name their target late, by its kernels.
    /// Not for them is the IR of host code, which lies beside that of device code.
    #[must_use]
    pub fn is_device_code(&self) -> bool {
        const KERNEL: u32 = 71;
        let triple = self.module.get_triple();
        let triple = triple.as_str().to_bytes();
        triple.is_empty()
            || triple.starts_with(b"nvptx")
            || self.module.get_global_metadata_size("nvvm.annotations") > 0
            || self
                .module
                .get_functions()
                .any(|function| function.get_call_conventions() == KERNEL)
    }

    /// Hands its device IR to `work`.
    pub fn with_module<R>(&self, work: impl FnOnce(&Module<'_>) -> R) -> R {
        self.with_part(Extent::Whole, work)
    }

    fn with_part<R>(&self, extent: Extent, work: impl FnOnce(&Module<'_>) -> R) -> R {
        lowered(raw::Module::new(&self.module), self.bytes, extent, work)
    }
}

fn lowered<R>(raw: raw::Module<'_>, bytes: &[u8], extent: Extent, work: impl FnOnce(&Module<'_>) -> R) -> R {
    let names = Bump::new();
    let mut locations = Locations::new(raw);
    let mut symbols = Symbols::of(raw, &names, &mut locations);
    let mut assembly = Assembly::default();
    let mut scratch = Scratch::new(raw);
    let mut body = Body::default();
    let definitions = match extent {
        Extent::Whole => std::mem::take(&mut symbols.definitions),
        Extent::Declarations => Vec::new(),
    };
    for definition in definitions {
        let (id, _) = definition;
        Lowering::new(
            &mut symbols,
            &mut locations,
            &mut assembly,
            &mut scratch,
            &mut body,
            definition,
        )
        .lower();
        let body = body.finish();
        let known = &mut symbols.functions[id.index()];
        known.declared = body::declared(known, &body);
        known.body = Some(body);
    }
    let origin = locations.finish((!is_bitcode(bytes)).then_some(bytes));
    let (target, isa) = target::target(raw);
    let module = Module {
        imported_symbols: 0,
        producer: Producer::Llvm,
        target,
        isa,
        virtual_tables: symbols.virtual_tables,
        has_local_memory: symbols.all.iter().any(|symbol| symbol.space == Space::Local),
        symbols: symbols.all,
        functions: symbols.functions,
        initializers: symbols.initializers,
        is_damaged: false,
        errors: Vec::new(),
        errors_left_out: 0,
        origin: &origin,
    };
    debug_assert_eq!(ptxcheck_ir::verify(&module), Ok(()));
    work(&module)
}

/// LLVM's message about IR, with the version that wrote it.
fn refusal(said: &str, bytes: &[u8]) -> Refused {
    Refused {
        said: said.split_whitespace().collect::<Vec<_>>().join(" "),
        written_by: producer(bytes).filter(|version| is_newer(version)),
    }
}

fn is_newer(version: &str) -> bool {
    let major = |text: &str| text.split('.').next().and_then(|text| text.parse::<u32>().ok());
    major(version) > major(LLVM_VERSION)
}

/// The version in `clang version 23.0.0` and its like, in text (bitcode packs its strings, but keeps those of
/// metadata as bytes).
fn producer(bytes: &[u8]) -> Option<String> {
    [&b"clang version "[..], b"LLVM version ", b"LLVM"]
        .iter()
        .find_map(|needle| {
            let at = memchr::memmem::find(bytes, needle)? + needle.len();
            let version: String = bytes[at..]
                .iter()
                .take(16)
                .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
                .map(|byte| char::from(*byte))
                .collect();
            version
                .starts_with(|digit: char| digit.is_ascii_digit())
                .then_some(version)
        })
}

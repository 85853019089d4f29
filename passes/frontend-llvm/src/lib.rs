//! LLVM and NVVM IR, as text or bitcode, to device IR.
//!
//! LLVM can abort or crash on malformed input, so [`with_module`] is to be called in a process of its own (see
//! [`crate::worker`]). `raw.rs` wraps LLVM's C interface and has, with `raw/`, all `unsafe` code. `symbols.rs` reads
//! what a module declares (with `annotations.rs`, `host.rs` and `module_assembly.rs`), `body.rs` walks blocks and turns
//! phis into copies, `instructions.rs`, `intrinsics.rs`, `values.rs` and `aggregates.rs` turn instructions and operands
//! into device IR, with what `callees.rs` and `types.rs` keep of callees and types and the maps of `numbers.rs`,
//! `assembly.rs` hands inline assembly to the PTX front end, `debug.rs` keeps the way to debug locations,
//! `target.rs` says what a module is compiled for, `reflect.rs` answers what the code asks of its target, `places.rs` finds the lines of text with what `outline.rs` reads of it, and `newer.rs` reads a spelling that this LLVM
//! does not know.

mod aggregates;
mod annotations;
mod assembly;
mod bitcode;
mod body;
mod callees;
mod debug;
mod edges;
mod host;
mod instructions;
mod intrinsics;
pub mod limits;
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

use bumpalo::Bump;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;

use assembly::Assembly;
use bitcode::is_bitcode;
use body::{Lowering, Scratch};
use debug::Locations;
use ptxcheck_ir::{Body, Module, Producer, Space};
use symbols::Symbols;

/// The version of LLVM that this build reads: IR of newer ones is refused.
pub const LLVM_VERSION: &str = if cfg!(feature = "llvm") { "22" } else { "19" };

/// Reads IR and hands its device IR to `work`.
///
/// # Errors
///
/// What LLVM says of an input that it can't read.
pub fn with_module<R>(bytes: &[u8], work: impl FnOnce(&Module<'_>) -> R) -> Result<R, String> {
    let memory = Memory::default();
    memory.read(bytes).map(|input| input.with_module(work))
}

/// What LLVM keeps what it reads in.
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
    /// What LLVM says of an input that it can't read.
    pub fn read<'i>(&'i self, bytes: &'i [u8]) -> Result<Input<'i>, String> {
        let parse = |bytes: &[u8]| {
            let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, "input");
            self.0.create_module_from_ir(buffer)
        };
        parse(bytes)
            .or_else(|error| newer::rewritten(bytes).map_or(Err(error), |older| parse(&older)))
            .map(|module| Input { bytes, module })
            .map_err(|error| refusal(&error.to_string(), bytes))
    }
}

/// IR that LLVM has read.
pub struct Input<'i> {
    bytes: &'i [u8],
    module: inkwell::module::Module<'i>,
}

impl Input<'_> {
    /// Whether it is for NVIDIA's GPUs: by its target triple, or, as some compilers name their target late, by its kernels.
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
        lowered(raw::Module::new(&self.module), self.bytes, work)
    }
}

fn lowered<R>(raw: raw::Module<'_>, bytes: &[u8], work: impl FnOnce(&Module<'_>) -> R) -> R {
    let names = Bump::new();
    let mut locations = Locations::new(raw);
    let mut symbols = Symbols::of(raw, &names, &mut locations);
    let mut assembly = Assembly::default();
    let mut scratch = Scratch::new(raw);
    let mut body = Body::default();
    for definition in std::mem::take(&mut symbols.definitions) {
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

/// A sentence about IR that LLVM refuses, with the version that wrote it where the input says so.
fn refusal(said: &str, bytes: &[u8]) -> String {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match producer(bytes) {
        Some(version) if is_newer(&version) => {
            format!("LLVM {LLVM_VERSION} cannot read it, and LLVM {version} wrote it: {said}")
        }
        _ => format!("LLVM {LLVM_VERSION} cannot read it: {said}"),
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

//! Trees to modules of the device IR.

use ptxcheck_ptx_parser::ast::{StatementKind, Tree};
use rayon::prelude::*;

use super::body::Lowering;
use super::malformed::Malformed;
use super::opcodes::Opcodes;
use super::origin::{PtxOrigin, debug_id};
use super::symbols::Symbols;
use super::{head, tables};
use ptxcheck_common::deadline::Deadline;
use ptxcheck_common::limits::PARALLEL_STATEMENTS;
use ptxcheck_ir::{Body, DebugId, FunctionId, IsaVersion, Module, Producer, Space, Target, settle};

/// Lowers what a tree declares, without the bodies of its functions and what initialisers refer to: enough for
/// [`crate::facts`].
#[must_use]
pub fn declarations<'t>(tree: &'t Tree<'t>, origin: &'t PtxOrigin<'t>) -> Module<'t> {
    let mut symbols = Symbols::declared(tree);
    for (function, place) in std::mem::take(&mut symbols.definitions) {
        let mut statements = tree.body(&tree.functions()[place]).iter();
        if let Some(first) = statements.find(|one| one.kind() == StatementKind::Location) {
            symbols.functions[function.index()].declared = debug_id(first);
        }
    }
    module(tree, symbols, origin, head::malformed(tree))
}

/// Lowers a tree; declarations beyond the limits of the tree (see its errors) are missing in the module, too.
#[must_use]
pub fn lower<'t>(tree: &'t Tree<'t>, origin: &'t PtxOrigin<'t>) -> Module<'t> {
    lower_until(tree, origin, Deadline::NEVER)
}

/// The same, until the time is over: the functions that are left then have empty bodies, and nothing is to be concluded
/// from the module.
#[must_use]
pub fn lower_until<'t>(tree: &'t Tree<'t>, origin: &'t PtxOrigin<'t>, deadline: &Deadline) -> Module<'t> {
    let mut symbols = Symbols::of(tree);
    let definitions = std::mem::take(&mut symbols.definitions);
    let lower_one = |opcodes: &mut Opcodes<'t>, (id, place): (FunctionId, usize)| {
        let function = &tree.functions()[place];
        if deadline.is_over_after(function.body.len()) {
            return (Body::EMPTY, DebugId::NONE, Malformed::default());
        }
        let is_whole = !symbols.functions[id.index()].is_damaged;
        let (mut body, declared, malformed) =
            Lowering::new(tree.source(), &symbols, opcodes, (function.span.len(), is_whole))
                .lower(tree, function);
        // The unreadable parts of a damaged body may write any predicate.
        if is_whole && malformed.is_empty() {
            settle(&mut body);
        }
        (body, declared, malformed)
    };
    let bodies: Vec<_> = if tree.statements().len() < PARALLEL_STATEMENTS {
        let mut opcodes = Opcodes::default();
        definitions
            .iter()
            .map(|&definition| lower_one(&mut opcodes, definition))
            .collect()
    } else {
        definitions
            .par_iter()
            .map_init(Opcodes::default, |opcodes, &definition| {
                lower_one(opcodes, definition)
            })
            .collect()
    };
    let mut malformed = head::malformed(tree);
    for ((function, _), (body, declared, in_body)) in definitions.into_iter().zip(bodies) {
        let function = &mut symbols.functions[function.index()];
        function.body = Some(body);
        function.declared = declared;
        function.is_damaged |= !in_body.is_empty();
        malformed.append(in_body);
    }
    let module = module(tree, symbols, origin, malformed);
    debug_assert_eq!(ptxcheck_ir::verify(&module), Ok(()));
    module
}

fn module<'t>(
    tree: &'t Tree<'t>,
    symbols: Symbols<'t>,
    origin: &'t PtxOrigin<'t>,
    malformed: Malformed,
) -> Module<'t> {
    Module {
        producer: producer(tree),
        target: target(tree),
        isa: tree.version().map(|(major, minor)| IsaVersion { major, minor }),
        virtual_tables: tables::tables(tree, &symbols),
        has_local_memory: symbols.all.iter().any(|symbol| symbol.space == Space::Local),
        symbols: symbols.all,
        functions: symbols.functions,
        initializers: symbols.initializers,
        is_damaged: !(tree.errors().is_empty() && malformed.is_empty()),
        errors: malformed.errors,
        errors_left_out: malformed.left_out,
        imported_symbols: 0,
        origin,
    }
}

/// Compilers name themselves in a comment at the top.
fn producer(tree: &Tree<'_>) -> Producer {
    const SEARCHED: usize = 16;
    let says = |name: &[u8]| {
        tree.comments()
            .iter()
            .take(SEARCHED)
            .any(|comment| memchr::memmem::find(tree.text(*comment), name).is_some())
    };
    if says(b"NVIDIA NVVM Compiler") {
        Producer::Nvvm
    } else if says(b"LLVM NVPTX") {
        Producer::Llvm
    } else if says(b"BEGIN PREAMBLE") {
        // It gives no name, and this comment stands above `.version`.
        Producer::Gcc
    } else {
        Producer::Unknown
    }
}

/// `.target sm_90a, debug`: the first word that names an architecture.
fn target<'t>(tree: &'t Tree<'t>) -> Target<'t> {
    let name = tree
        .target()
        .find_map(|word| {
            std::str::from_utf8(word)
                .ok()
                .filter(|word| word.starts_with("sm_"))
        })
        .unwrap_or_default();
    Target {
        is_debug: tree.target().any(|word| word == b"debug"),
        ..Target::named(name)
    }
}

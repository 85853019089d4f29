//! Trees to modules of the device IR.

use ptxcheck_ptx_parser::ast::{StatementKind, Tree};
use ptxcheck_ptx_parser::{BodyReader, SyntaxError, parse_heads};
use rayon::prelude::*;

use super::body::{Lowered, Lowering};
use super::malformed::Malformed;
use super::opcodes::Opcodes;
use super::origin::{PtxOrigin, debug_id};
use super::parse::parse;
use super::symbols::Symbols;
use super::{direct, head, tables};
use crate::limits::{BYTES_OF_STATEMENT, PARALLEL_CODE_BYTES};
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

/// Reads a module for its device IR: returns its tree, and its code for [`Code::module`].
///
/// Where it can, it reads the code of functions without a tree, in one pass. The tree then has the rest of the module, and no errors: a module
/// with anything malformed is read as a whole tree.
///
/// ```
/// use ptxcheck_common::deadline::Deadline;
/// use ptxcheck_frontend_ptx::{PtxOrigin, read};
///
/// let text = b".version 8.8\n.target sm_90\n.visible .entry k()\n{\n\tbar.warp.sync -1;\n\tret;\n}\n";
/// let (tree, code) = read(text, Deadline::NEVER)?;
/// let origin = PtxOrigin::new(&tree);
/// let module = code.module(&tree, &origin, Deadline::NEVER);
/// assert_eq!(module.bodies().next().expect("a body").2.instructions.len(), 2);
/// # Ok::<(), ptxcheck_ptx_parser::SyntaxError>(())
/// ```
///
/// # Errors
///
/// As [`ptxcheck_ptx_parser::parse`].
pub fn read<'s>(source: &'s [u8], deadline: &Deadline) -> Result<(Tree<'s>, Code<'s>), SyntaxError> {
    let heads = parse_heads(source)?;
    if heads.errors().is_empty()
        && let Some(code) = Code::of_heads(&heads, deadline)
    {
        return Ok((heads, code));
    }
    drop(heads);
    Ok((parse(source)?, Code { lowered: None }))
}

/// The code of a module that [`read`] has read.
pub struct Code<'s> {
    /// The symbols of the module and the bodies of its definitions; `None` where the tree has the code.
    lowered: Option<(Symbols<'s>, Vec<Lowered<'s>>)>,
}

impl<'s> Code<'s> {
    /// Reads the code of a module from the text that `heads` left unread; `None` if a statement needs the whole tree.
    fn of_heads(heads: &Tree<'s>, deadline: &Deadline) -> Option<Self> {
        let symbols = Symbols::of(heads);
        let defined = heads.functions().iter().filter(|function| function.has_body);
        let bytes: usize = defined.map(|function| function.unread.len() as usize).sum();
        let new_state = || (Opcodes::default(), BodyReader::new(heads));
        let bodies = lower_definitions(
            &symbols,
            bytes >= PARALLEL_CODE_BYTES,
            new_state,
            |(opcodes, reader), (_, place)| {
                let function = &heads.functions()[place];
                if deadline.is_over_after(function.unread.len() as usize / BYTES_OF_STATEMENT) {
                    return Some(LEFT_OUT);
                }
                let lowering = Lowering::new(heads.source(), &symbols, opcodes, (function.span.len(), true));
                direct::lower(lowering, heads, function, reader)
            },
        )?;
        Some(Self {
            lowered: Some((symbols, bodies)),
        })
    }

    /// The module. `tree` is the one that was read with it. If the time is over before all is lowered, the functions that are left have empty
    /// bodies, and nothing is to be concluded from the module.
    #[must_use]
    pub fn module<'t>(self, tree: &'t Tree<'s>, origin: &'t PtxOrigin<'t>, deadline: &Deadline) -> Module<'t>
    where
        's: 't,
    {
        match self.lowered {
            Some((symbols, bodies)) => module_with_bodies(tree, symbols, bodies, origin),
            None => lower_until(tree, origin, deadline),
        }
    }
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
    let symbols = Symbols::of(tree);
    let is_parallel = tree.statements().len() >= PARALLEL_STATEMENTS;
    let bodies = lower_definitions(&symbols, is_parallel, Opcodes::default, |opcodes, (id, place)| {
        let function = &tree.functions()[place];
        if deadline.is_over_after(function.body.len()) {
            return Some(LEFT_OUT);
        }
        let is_whole = !symbols.functions[id.index()].is_damaged;
        let lowering = Lowering::new(tree.source(), &symbols, opcodes, (function.span.len(), is_whole));
        Some(lowering.lower(tree, function))
    });
    module_with_bodies(tree, symbols, bodies.unwrap_or_default(), origin)
}

/// The result for a body that the deadline leaves out.
const LEFT_OUT: Lowered<'static> = Lowered {
    body: Body::EMPTY,
    declared: DebugId::NONE,
    malformed: Malformed::NONE,
};

/// The bodies of all definitions, in order; `None` if `lower` returns `None` for one.
fn lower_definitions<'s, S>(
    symbols: &Symbols<'s>,
    is_parallel: bool,
    new_state: impl Fn() -> S + Send + Sync,
    lower: impl Fn(&mut S, (FunctionId, usize)) -> Option<Lowered<'s>> + Send + Sync,
) -> Option<Vec<Lowered<'s>>> {
    let lower_one = |state: &mut S, definition: &(FunctionId, usize)| {
        let mut lowered = lower(state, *definition)?;
        // The unreadable parts of a damaged body may write any predicate.
        if !symbols.functions[definition.0.index()].is_damaged && lowered.malformed.is_empty() {
            settle(&mut lowered.body);
        }
        Some(lowered)
    };
    if is_parallel {
        let definitions = symbols.definitions.par_iter();
        return definitions.map_init(new_state, lower_one).collect();
    }
    let mut state = new_state();
    let definitions = symbols.definitions.iter();
    definitions
        .map(|definition| lower_one(&mut state, definition))
        .collect()
}

fn module_with_bodies<'t>(
    tree: &'t Tree<'t>,
    mut symbols: Symbols<'t>,
    bodies: Vec<Lowered<'t>>,
    origin: &'t PtxOrigin<'t>,
) -> Module<'t> {
    let mut malformed = head::malformed(tree);
    for (&(function, _), lowered) in symbols.definitions.iter().zip(bodies) {
        let function = &mut symbols.functions[function.index()];
        function.body = Some(lowered.body);
        function.declared = lowered.declared;
        function.is_damaged |= !lowered.malformed.is_empty();
        malformed.append(lowered.malformed);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a kernel with this body in one pass if that is possible, and says whether it was. Either way the module must be that of the tree.
    fn is_read_in_one_pass(body: &str) -> bool {
        let text = format!(
            ".version 8.5\n.target sm_90\n.address_size 64\n.func (.param .b32 r) f(.param .b32 a);\n.global .b32 g;\n\
             .visible .entry k(.param .u64 p)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n{body}\n}}\n"
        );
        let text = text.as_bytes();
        let (tree, code) = read(text, Deadline::NEVER).unwrap();
        let whole = parse(text).unwrap();
        let (found, wanted) = (PtxOrigin::new(&tree), PtxOrigin::new(&whole));
        let found = code.module(&tree, &found, Deadline::NEVER);
        let wanted = lower(&whole, &wanted);
        assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{body}");
        assert_eq!(tree.errors(), whole.errors(), "{body}");
        !tree.has_all_code()
    }

    #[test]
    fn code_is_read_in_one_pass() {
        for body in [
            "ret;",
            "mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, -7 ;\nmul.f32 %f1, %f2, 0f3F800000;\n",
            "ld.param.u64 %rd1, [p];\nld.global.v2.u32 {%r1, %r2}, [%rd1+-16];\nst.global.v2.u32 [%rd1+8], {%r2, _};",
            "mov.b64 %rd1, {%r1,%r2};\nmov.b64 {%r3, %r4} , %rd1;\nand.b32 %r5, %r4, 0xFF;\nshl.b32 %r6, %r5, 4294967295;",
            "atom.global.add.u32 %r1, [g], 1;\nred.global.add.u32 [g+0], %r1;\nmov.u64 %rd1, g;\ncvta.global.u64 %rd2, %rd1;",
            "setp.lt.s32 %p1, %r1, 5;\n@%p1 bra DONE;\n@!%p1 add.s32 %r1, %r1, 1;\nDONE:\nbar.sync 0;\nret;",
            "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;\nvote.sync.ballot.b32 %r3, %p1, 0xffffffff;\nbar.warp.sync %r3;",
            "AGAIN: { .reg .pred q; setp.ne.s32 q, %r1, 0; @q bra AGAIN; @q bra INNER; INNER: ret; }\nret;",
            "{ .reg .pred p1; INNER: @p1 bra INNER; }\n{ .reg .b32 r1; INNER: bra INNER; }",
            "{ // call\n.param .b32 a0;\nst.param.b32 [a0+0], %r1;\n.param .b32 v0;\ncall.uni (v0), f, (a0);\nld.param.b32 %r2, [v0+0];\n}",
            "{ .reg .b64 t; mov.u64 t, f; PROTO: .callprototype (.param .b32 _) _ (.param .b32 _); .param .b32 a; .param .b32 v; \
             call (v), t, (a), PROTO; }",
            ".pragma \"nounroll\";\n/* no code */ ; ;\nfrobnicate.b32 %r1, %r2, (3 + 4);\nadd .s32 %r1, %r2, 1;\nL:\nbra L;",
            ".loc 1 7 3\nadd.s32 %r1, %r1, 1;\n.loc 1 8 3, function_name L, inlined_at 1 9 2\nret;",
            &format!("frobnicate {{%r1{}}}, %r2;", ", %r2".repeat(70)),
            "cp.async.ca.shared.global [%rd1], [%rd2], 16;\nmbarrier.init.shared.b64 [%rd1], 1;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%rd1];",
            // Fewer operands than the opcode has: malformed for the lowering, and not for the grammar.
            "add.s32 %r1;\n@%r1 ret;\nbra;",
        ] {
            assert!(is_read_in_one_pass(body), "{body}");
        }
    }

    #[test]
    fn what_one_pass_cannot_tell_is_read_as_a_tree() {
        let deep = "{".repeat(1_025) + &"}".repeat(1_025);
        for body in [
            "T: .branchtargets A, B;\nbrx.idx %r1, T;\nA: ret;\nB: ret;",
            "mov.u32 %r1, %r2;\n.shared .b32 s[4];\nst.shared.b32 [s], %r1;",
            "mov.u64 %rd1, nobody;",
            "mov.u64 %rd1, L;\nL: ret;",
            "bra NOWHERE;",
            "{ INNER: ret; }\nbra INNER;",
            "mov.u32 %r1 %r2;\nret;",
            "mov.u32 %r1, \"text;\nret;",
            "ret; }\n.version 8.5 {",
            "ret;\n.version 8.5",
            ".file 1 \"a.cu\"\nret;\n.file 2 \"b.cu\"",
            "ret;\n/* no end",
            &format!("ret;\n{deep}"),
            // More parts than an operand may have.
            &format!("frobnicate {{%r1{}}}, %r2;", ", %r2".repeat(70_000)),
        ] {
            assert!(!is_read_in_one_pass(body), "{body}");
        }
    }
}

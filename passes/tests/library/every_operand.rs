//! Every row of the opcodes with operands of every number and kind: analyses and rules accept all of them, and none fails on an instruction
//! that it did not expect.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fmt::Write as _;

use ptxcheck_passes::frontend::ptx::{PtxOrigin, lower, opcodes, operation};
use ptxcheck_passes::inventory::Problem;
use ptxcheck_passes::ir::verify;
use ptxcheck_passes::rule::{Level, ProblemKind};
use ptxcheck_passes::run::{self, Bytes, Input};
use ptxcheck_passes::settings::{Change, LevelSetting, Selector, Settings};
use ptxcheck_ptx_parser::parse;

/// Instructions as they should be: at least one for each row, and one for each form that a row distinguishes.
const FORMS: &[&str] = &[
    "abs.s32 %r1, %r2",
    "activemask.b32 %r1",
    "add.s32 %r1, %r2, 3",
    "add.f32 %f1, %f2, %f3",
    "alloca.u64 %d1, %d2, 16",
    "and.b32 %r1, %r2, %r3",
    "and.pred %p1, %p2, %p3",
    "applypriority.global.L2::evict_normal [%d1], 128",
    "atom.global.add.u32 %r1, [%d1], %r2",
    "atom.shared.cas.b32 %r1, [%d1+4], %r2, %r3",
    "bar.sync 0, 64",
    "bar.red.popc.u32 %r1, 0, %p1",
    "bar.warp.sync %r1",
    "barrier.cluster.arrive",
    "barrier.cta.red.and.pred %p1, 0, 64, %p2",
    "bfe.u32 %r1, %r2, 3, 4",
    "bfi.b32 %r1, %r2, %r3, 4, 5",
    "bfind.u32 %r1, %r2",
    "bmsk.clamp.b32 %r1, %r2, %r3",
    "bra L",
    "brev.b32 %r1, %r2",
    "brx.idx %r1, T",
    "call (%r1), f, (%r2)",
    "call %d1, (%r2), P",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%d1], [%d2]",
    "clz.b32 %r1, %r2",
    "cnot.b32 %r1, %r2",
    "cp.async.ca.shared.global [%r1], [%d2], 16",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3}], [%r4]",
    "createpolicy.fractional.L2::evict_last.b64 %d1, 0f3F800000",
    "cvt.u64.u32 %d1, %r1",
    "cvt.rn.f32.s32 %f1, %r1",
    "cvta.to.global.u64 %d1, %d2",
    "cvta.shared.u64 %d1, %d2",
    "discard.global.L2 [%d1], 128",
    "div.s32 %r1, %r2, %r3",
    "elect.sync %r1|%p1, -1",
    "exit",
    "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128",
    "griddepcontrol.wait",
    "isspacep.shared %p1, %d1",
    "ld.global.b32 %r1, [%d1+8]",
    "ld.param.b64 %d1, [o]",
    "ld.param.b32 %r1, [s]",
    "ld.local.v2.b32 {%r1, %r2}, [%d1]",
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3]",
    "ldu.global.b32 %r1, [%d1]",
    "lop3.b32 %r1, %r2, %r3, %r4, 0x96",
    "mad.lo.s32 %r1, %r2, %r3, %r4",
    "mad.wide.u32 %d1, %r1, %r2, %d2",
    "mapa.shared::cluster.u64 %d1, %d2, %r1",
    "match.any.sync.b32 %r1, %r2, -1",
    "match.all.sync.b64 %r1|%p1, %d1, -1",
    "max.s32 %r1, %r2, %r3",
    "mbarrier.arrive.shared.b64 %d1, [%d2]",
    "mbarrier.try_wait.shared.b64 %p1, [%d2], %d1",
    "membar.cta",
    "min.u64 %d1, %d2, %d3",
    "mov.u32 %r1, %r2",
    "mov.b64 %d1, {%r1, %r2}",
    "mov.b64 {%r1, %r2}, %d1",
    "mov.pred %p1, %p2",
    "mul.wide.s32 %d1, %r1, %r2",
    "multimem.ld_reduce.global.add.u32 %r1, [%d1]",
    "nanosleep.u32 %r1",
    "neg.s32 %r1, %r2",
    "not.pred %p1, %p2",
    "or.pred %p1, %p2, %p3",
    "pmevent 1",
    "popc.b64 %r1, %d1",
    "prefetch.global.L2 [%d1]",
    "prefetchu.L1 [%d1]",
    "red.shared.add.u32 [%d1], %r1",
    "redux.sync.add.s32 %r1, %r2, -1",
    "rem.u32 %r1, %r2, %r3",
    "ret",
    "selp.b32 %r1, %r2, %r3, %p1",
    "setmaxnreg.inc.sync.aligned.u32 40",
    "setp.lt.s32 %p1, %r1, %r2",
    "setp.eq.and.b32 %p1|%p2, %r1, %r2, !%p3",
    "setp.lt.f32 %p1, %f1, %f2",
    "shf.l.wrap.b32 %r1, %r2, %r3, %r4",
    "shfl.sync.down.b32 %r1|%p1, %r2, %r3, 31, -1",
    "shfl.idx.b32 %r1, %r2, 0, 31",
    "shl.b32 %r1, %r2, %r3",
    "shr.s32 %r1, %r2, 3",
    "st.shared.b32 [%d1], %r1",
    "st.param.b32 [s+4], %r1",
    "st.global.v2.b32 [%d1], {%r1, %r2}",
    "stackrestore.u64 %d1",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2}",
    "sub.s64 %d1, %d2, %d3",
    "sust.b.1d.b32.trap [%d1, {%r1}], {%r2}",
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3]",
    "tensormap.replace.tile.rank.global.b1024.b32 [%d1], 2",
    "trap",
    "vote.sync.ballot.b32 %r1, %p1, -1",
    "vote.any.pred %p1, %p2",
    "wgmma.fence.sync.aligned",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1], %r9",
    "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%d1], {%r1, %r2}, %r9",
    "xor.b64 %d1, %d2, -1",
];

/// The operands that are tried in place of another.
const OPERANDS: &[&str] = &[
    "%r1",
    "%d1",
    "%p1",
    "!%p1",
    "%f1",
    "%r99",
    "7",
    "0f00000000",
    "{%r1, %r2}",
    "%r1|%p1",
    "(%r1, %r2)",
    "[%d1+4]",
    "[s]",
    "\"text\"",
    "_",
    "%tid.x",
    "g",
    "o",
    "f",
    "L",
    "T",
    "nobody",
];

/// Most operands that are tried.
const MOST: usize = 6;

/// Longest list of mutants of one instruction that goes into one module.
const IN_ONE_MODULE: usize = 64;

fn settings() -> Settings {
    let level = |selector| LevelSetting {
        selector,
        level: Level::Warning,
        change: Change::Raise,
    };
    Settings {
        levels: vec![level(Selector::ALL), level(Selector::POTENTIAL)],
        ..Settings::default()
    }
}

/// A module with a kernel for each statement: its result decides which lanes reach a collective and a barrier.
fn module(statements: &[String]) -> String {
    let mut text = String::from(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.global .b32 g[64];\n\
         .func (.reg .b32 q) f(.reg .b32 n) { mov.u32 q, n; ret; }\n",
    );
    for (number, statement) in statements.iter().enumerate() {
        let _ = write!(
            text,
            ".visible .entry k{number}(.param .u64 o)
{{
\t.reg .b32 %r<10>; .reg .b64 %d<5>; .reg .f32 %f<5>; .reg .pred %p<5>; .param .b32 s;
\tmov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; ld.param.u64 %d1, [o]; cvta.to.global.u64 %d2, %d1;
\tsetp.lt.u32 %p1, %r2, 16; mov.u32 %r3, 3;
\t{statement};
L:
\tsetp.lt.s32 %p2, %r1, 16;
\t@%p2 bra N;
\tbar.warp.sync -1; bar.sync 0;
N:
\t@%p1 bra M;
\tshfl.sync.idx.b32 %r4, %r3, %r1, 31, %r1;
M:
\tst.global.b32 [%d1], %r1; st.global.b32 [%d2], %r4;
\tbra E;
T: .branchtargets L, M;
P: .callprototype _ (.param .b32 _);
E:
\tret;
}}
"
        );
    }
    text
}

fn look(statements: &[String], settings: &Settings) {
    let text = module(statements);
    let tree = parse(text.as_bytes()).unwrap();
    let origin = PtxOrigin::new(&tree);
    let module = lower(&tree, &origin);
    assert_eq!(verify(&module), Ok(()), "{statements:?}");
    let input = Input {
        name: "module".to_owned(),
        bytes: Bytes::Memory(text.clone().into_bytes()),
    };
    let outcome = run::check_here(vec![input], settings);
    let problems = &outcome.inputs[0].problems;
    let is_internal = |problem: &Problem| problem.kind == ProblemKind::Internal;
    assert!(!problems.iter().any(is_internal), "{text}: {problems:?}");
}

/// The operands of an instruction, at the top level.
fn split(instruction: &str) -> (&str, Vec<&str>) {
    let (opcode, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
    let mut depth = 0;
    let operands = operands.split(|letter| {
        depth += i32::from("{[(".contains(letter)) - i32::from("}])".contains(letter));
        letter == ',' && depth == 0
    });
    (
        opcode,
        operands.map(str::trim).filter(|one| !one.is_empty()).collect(),
    )
}

/// Operands of every number, all of one kind; and those that are right with one of another kind, left out, or twice.
fn mutants(instruction: &str) -> Vec<String> {
    let (opcode, operands) = split(instruction);
    let mut all = vec![instruction.to_owned()];
    let mut add = |operands: &[&str]| all.push(format!("{opcode} {}", operands.join(", ")));
    for count in 0..=MOST {
        for operand in OPERANDS {
            add(&vec![*operand; count]);
        }
    }
    for place in 0..operands.len() {
        let mut other = operands.clone();
        for operand in OPERANDS {
            other[place] = operand;
            add(&other);
        }
        other.remove(place);
        add(&other);
        other = operands.clone();
        other.insert(place, operands[place]);
        add(&other);
        add(&operands[..place]);
        other = operands.clone();
        other.swap(0, place);
        add(&other);
    }
    let guards = ["@%p1", "@!%p1", "@%r1", "@nobody"].map(|guard| format!("{guard} {instruction}"));
    all.extend(guards);
    all
}

#[test]
fn every_row_has_a_form() {
    let known: Vec<_> = FORMS
        .iter()
        .filter_map(|form| form.split(['.', ' ']).next())
        .collect();
    let missing: Vec<_> = opcodes().filter(|name| !known.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

/// No form of the table has too few operands, and each is lowered to its operation.
#[test]
fn forms_are_whole() {
    for form in FORMS {
        let text = module(&[(*form).to_owned()]);
        let tree = parse(text.as_bytes()).unwrap();
        assert!(tree.errors().is_empty(), "{form}: {:?}", tree.errors());
        let origin = PtxOrigin::new(&tree);
        let lowered = lower(&tree, &origin);
        assert_eq!(lowered.errors, [], "{form}");
        let (opcode, _) = split(form);
        let wanted = operation(opcode.as_bytes());
        let body = lowered
            .functions
            .last()
            .and_then(|last| last.body.as_ref())
            .unwrap();
        let has_it = |wanted| {
            body.instructions
                .iter()
                .any(|one| std::mem::discriminant(&one.op) == std::mem::discriminant(&wanted))
        };
        let is_packed = form.starts_with("mov.b64") || form.contains("[s") || opcode == "call";
        assert!(is_packed || has_it(wanted), "{form}: {wanted:?}");
    }
}

#[test]
fn operands_of_any_number_and_kind_are_harmless() {
    let settings = settings();
    for form in FORMS {
        for statements in mutants(form).chunks(IN_ONE_MODULE) {
            look(statements, &settings);
        }
    }
}

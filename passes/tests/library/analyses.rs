//! The analyses over small PTX modules, and dominators against their definition on random graphs.

use std::fmt::Write as _;

use ptxcheck_passes::analysis::call_graph::CallGraph;
use ptxcheck_passes::analysis::cfg::Cfg;
use ptxcheck_passes::analysis::constants::{Arguments, Constant, Constants};
use ptxcheck_passes::analysis::dataflow::{Analysis, Cursor, solve};
use ptxcheck_passes::analysis::dominators::Dominators;
use ptxcheck_passes::context::ModuleContext;
use ptxcheck_passes::frontend::ptx::{PtxOrigin, lower};
use ptxcheck_passes::ir::{
    BlockId, Body, FunctionId, Instruction, InstructionId, Module, Op, ParamPiece, Value,
};
use ptxcheck_passes::settings::Settings;

const HEADER: &str = ".version 9.2\n.target sm_90\n.address_size 64\n";

/// Lowers a module and passes it to `look`.
fn with_module<T>(text: &str, look: impl FnOnce(&Module<'_>) -> T) -> T {
    let text = format!("{HEADER}{text}");
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).expect("small");
    assert!(tree.errors().is_empty(), "{:?}", tree.errors());
    let origin = PtxOrigin::new(&tree);
    look(&lower(&tree, &origin))
}

fn with_body<T>(statements: &str, look: impl FnOnce(&Body<'_>) -> T) -> T {
    let text = format!(
        ".visible .entry k(.param .u32 n)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<99>;\n{statements}\n}}\n"
    );
    with_module(&text, |module| {
        look(module.functions[0].body.as_ref().expect("a body"))
    })
}

fn targets(body: &Body<'_>, block: usize) -> Vec<usize> {
    body.successors(BlockId::new(block))
        .iter()
        .map(|block| block.index())
        .collect()
}

#[test]
fn blocks_end_at_branches_and_labels() {
    with_body(
        "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\nmov.u32 %r2, 1;\nA:\nmov.u32 %r3, 2;\n@%p1 ret;\nbra A;",
        |body| {
            let all: Vec<_> = (0..body.blocks.len()).map(|block| targets(body, block)).collect();
            assert_eq!(all, [vec![2, 1], vec![2], vec![3], vec![2]]);
        },
    );
}

#[test]
fn labels_belong_to_their_scope() {
    with_body(
        "{\nL:\nadd.s32 %r1, %r1, 1;\nbra L;\n}\n{\nL:\nadd.s32 %r2, %r2, 1;\nbra L;\n}\nret;",
        |body| {
            assert_eq!(targets(body, 0), [0]);
            assert_eq!(targets(body, 1), [1]);
        },
    );
}

#[test]
fn branch_tables_name_their_targets() {
    with_body(
        "ts: .branchtargets A, B, A;\nbrx.idx %r1, ts;\nA:\nret;\nB:\nexit;",
        |body| {
            assert_eq!(targets(body, 0), [1, 2, 1]);
        },
    );
}

#[test]
fn jumps_through_one_large_table_share_its_edges() {
    const COUNT: usize = 200;
    let labels: Vec<String> = (0..COUNT).map(|number| format!("L{number}")).collect();
    let mut text = format!("T: .branchtargets {};\n", labels.join(", "));
    for label in &labels {
        let _ = writeln!(text, "{label}:\n@%p1 brx.idx %r1, T;\nbrx.idx %r2, T;");
    }
    with_body(&text, |body| {
        let edges: usize = (0..body.blocks.len())
            .map(|block| targets(body, block).len())
            .sum();
        assert!(edges <= 6 * COUNT, "{edges}");
        // Each jump leads to each label: the first and a block after all others do so directly, the others by that.
        let hub = body.blocks.len() - 1;
        let all: Vec<_> = (0..=hub).map(|block| targets(body, block)).collect();
        assert_eq!(all.iter().filter(|to| to.len() >= COUNT).count(), 2);
        assert_eq!(all[hub].len(), COUNT);
        assert_eq!(all.iter().filter(|to| to.contains(&hub)).count(), 2 * COUNT - 1);
    });
}

#[test]
fn post_dominators_pass_over_endless_loops() {
    with_body("@%p1 bra END;\nLOOP:\nbra LOOP;\nEND:\nret;", |body| {
        let cfg = Cfg::new(body);
        let post = Dominators::post_dominators(body, &cfg);
        assert_eq!(post.immediate_dominator(BlockId::new(0)), Some(BlockId::new(2)));
        assert_eq!(post.immediate_dominator(BlockId::new(1)), None);
        assert!(!post.dominates(BlockId::new(2), BlockId::new(1)));
    });
}

/// True if every path from block 0 to `b` passes `a`: `b` is not reached once `a` is taken out.
fn dominates_by_definition(body: &Body<'_>, a: usize, b: usize) -> bool {
    let reached = |without: Option<usize>| {
        let mut seen = vec![false; body.blocks.len()];
        let mut stack: Vec<usize> = (without != Some(0)).then_some(0).into_iter().collect();
        while let Some(block) = stack.pop() {
            if !std::mem::replace(&mut seen[block], true) {
                stack.extend(
                    targets(body, block)
                        .into_iter()
                        .filter(|&next| Some(next) != without),
                );
            }
        }
        seen
    };
    reached(None)[b] && reached(None)[a] && (a == b || !reached(Some(a))[b])
}

#[test]
fn dominators_are_those_of_the_definition() {
    let mut seed = 1_u64;
    let mut random = move |bound: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    for _ in 0..200 {
        let blocks = 2 + random(12);
        let mut text = String::new();
        for block in 0..blocks {
            let _ = write!(text, "L{block}:\nmov.u32 %r1, {block};\n");
            let _ = match random(4) {
                0 => writeln!(text, "bra L{};", random(blocks)),
                1 => writeln!(text, "ret;"),
                _ => writeln!(text, "@%p1 bra L{};", random(blocks)),
            };
        }
        with_body(&text, |body| {
            let dominators = Dominators::new(body, &Cfg::new(body));
            for a in 0..body.blocks.len() {
                for b in 0..body.blocks.len() {
                    let expected = dominates_by_definition(body, a, b);
                    let found = dominators.dominates(BlockId::new(a), BlockId::new(b));
                    assert_eq!(found, expected, "{a} dom {b} in\n{text}");
                }
            }
        });
    }
}

#[test]
fn ladders_are_not_quadratic() {
    let rungs = 60_000;
    let mut text = String::new();
    for _ in 0..rungs {
        text.push_str("@%p1 bra END;\n");
    }
    text.push_str("END:\nret;");
    with_body(&text, |body| {
        let cfg = Cfg::new(body);
        let (dominators, post) = (
            Dominators::new(body, &cfg),
            Dominators::post_dominators(body, &cfg),
        );
        let end = BlockId::new(body.blocks.len() - 1);
        assert_eq!(dominators.immediate_dominator(end), Some(BlockId::new(0)));
        assert!(post.dominates(end, BlockId::new(0)));
    });
}

#[test]
fn cycles_of_calls_are_found() {
    let text = "
        .func c();
        .func a() { call.uni a; ret; }
        .func b() { call.uni c; ret; }
        .func c() { call.uni b; ret; }
        .visible .entry k() { call.uni a; call.uni b; ret; }";
    with_module(text, |module| {
        let graph = CallGraph::new(module);
        let named = |ids: &[FunctionId]| {
            ids.iter()
                .map(|id| module.function_name(*id))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let cycles: Vec<_> = graph.cycles(|_| true).iter().map(|cycle| named(cycle)).collect();
        assert_eq!(cycles, ["c b", "a"]);
    });
}

/// Which instructions may have been passed, as a bit set of their numbers.
struct Passed;

impl Analysis for Passed {
    type State = u64;

    fn entry(&self) -> u64 {
        0
    }

    fn join(&self, into: &mut u64, from: &u64) -> bool {
        let joined = *into | from;
        std::mem::replace(into, joined) != joined
    }

    fn apply(&self, state: &mut u64, id: InstructionId, _: &Instruction) {
        *state |= 1 << id.index();
    }
}

#[test]
fn the_solver_reaches_the_fixpoint_and_the_cursor_replays() {
    with_body(
        "mov.u32 %r1, 0;\nL:\nadd.s32 %r1, %r1, 1;\n@%p1 bra L;\nmov.u32 %r2, 1;\nret;",
        |body| {
            let cfg = Cfg::new(body);
            let solution = solve(body, &cfg, &Passed).expect("settles");
            let mut cursor = Cursor::new(body, &Passed, &solution);
            let before =
                |cursor: &mut Cursor<'_, Passed>, id| cursor.state_before(InstructionId::new(id)).copied();
            assert_eq!(before(&mut cursor, 0), Some(0));
            assert_eq!(before(&mut cursor, 1), Some(0b111));
            assert_eq!(before(&mut cursor, 4), Some(0b1111));
            assert_eq!(before(&mut cursor, 2), Some(0b111));
        },
    );
}

/// The constant in `%r1` at the last instruction of a body.
fn constant_at_end(statements: &str) -> Constant {
    constant_and_params(statements).0
}

/// The same, and the parameters that it may depend on.
fn constant_and_params(statements: &str) -> (Constant, Vec<ParamPiece>) {
    let text = format!(
        ".visible .entry k(.param .u32 n)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<99>;\n.local .align 8 .b8 d[32];\n.reg .b64 %rd<9>;\n{statements}\nbar.warp.sync %r1;\nret;\n}}\n"
    );
    with_module(&text, |module| {
        let settings = Settings::default();
        let context = ModuleContext::new(module, settings.for_rules());
        let body = module.functions[0].body.as_ref().expect("a body");
        let collective = body.collectives[0];
        let mask = body.uses(body.instruction(collective))[0];
        let none = Arguments::default();
        let constants = Constants::new(
            body,
            context.function(FunctionId::new(0)),
            [mask].into_iter(),
            &none,
        );
        let known = constants.visit_before([collective].into_iter(), |_, value_of| value_of(mask))[0];
        (known, constants.params)
    })
}

#[test]
fn constants_follow_control_flow() {
    let same = "@%p1 bra A;\nmov.u32 %r1, 5;\nbra B;\nA:\nmov.u32 %r1, 5;\nB:";
    assert_eq!(constant_at_end(same), Constant::Known(5));
    assert_eq!(constant_at_end(&same.replacen("5", "6", 1)), Constant::Unknown);
    let guarded = "mov.u32 %r1, 5;\n@%p1 mov.u32 %r1, 6;";
    assert_eq!(constant_at_end(guarded), Constant::Unknown);
    let known_guard = "setp.eq.u32 %p1, 1, 1;\nmov.u32 %r1, 5;\n@!%p1 mov.u32 %r1, 6;";
    assert_eq!(constant_at_end(known_guard), Constant::Known(5));
    let looped = "mov.u32 %r1, 0;\nL:\nadd.s32 %r1, %r1, 1;\n@%p1 bra L;";
    assert_eq!(constant_at_end(looped), Constant::Unknown);
}

#[test]
fn constants_are_sought_where_they_may_be() {
    let (unknown, piece) = (Constant::Unknown, (0, 0));
    for (statements, expected, params) in [
        // One of several definitions is never known, and another comes here.
        (
            "ld.global.u32 %r1, [n];\nmov.u32 %r1, 5;",
            Constant::Known(5),
            &[][..],
        ),
        ("mov.u32 %r1, 5;\n@%p1 ld.global.u32 %r1, [n];", unknown, &[]),
        // A write that is never executed does not count.
        (
            "mov.u32 %r1, 5;\nsetp.eq.u32 %p1, 1, 2;\n@%p1 ld.global.u32 %r1, [n];",
            Constant::Known(5),
            &[],
        ),
        (
            "st.local.u32 [d], 5;\nsetp.eq.u32 %p1, 1, 2;\nld.global.u32 %r2, [n];\n@%p1 st.local.u32 [d], %r2;\n\
             ld.local.u32 %r1, [d];",
            Constant::Known(5),
            &[],
        ),
        // A parameter counts even if another operand is never known.
        ("ld.param.u32 %r2, [n];\nadd.u32 %r1, %r2, 1;", unknown, &[piece]),
        (
            "ld.param.u32 %r2, [n];\nld.global.u32 %r3, [n];\nadd.u32 %r1, %r2, %r3;",
            unknown,
            &[piece],
        ),
        (
            "ld.param.u32 %r2, [n];\nst.local.u32 [d], %r2;\nld.local.u32 %r1, [d];",
            unknown,
            &[piece],
        ),
        (
            "ld.param.u32 %r1, [n];\n@%p1 ld.global.u32 %r1, [n];",
            unknown,
            &[piece],
        ),
    ] {
        assert_eq!(
            constant_and_params(statements),
            (expected, params.to_vec()),
            "{statements}"
        );
    }
}

/// True if the code for `%r1` equal to 5 is reached, as far as constants decide.
fn is_reached_by_five(statements: &str) -> bool {
    let text = format!(
        ".visible .entry k(.param .u32 n)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<99>;\n.local .align 8 .b8 d[32];\n\
         {statements}\nsetp.ne.u32 %p1, %r1, 5;\n@%p1 bra OUT;\nbar.warp.sync -1;\nOUT:\nret;\n}}\n"
    );
    with_module(&text, |module| {
        let settings = Settings::default();
        let context = ModuleContext::new(module, settings.for_rules());
        let body = module.functions[0].body.as_ref().expect("a body");
        context
            .function(FunctionId::new(0))
            .is_reached(body.collectives[0])
    })
}

#[test]
fn constants_decide_branches() {
    let doubled = (2..40).rev().fold("mov.u32 %r40, 1;".to_owned(), |code, number| {
        format!("{code}\nadd.u32 %r{number}, %r{0}, %r{0};", number + 1)
    });
    for (statements, expected) in [
        ("mov.u32 %r1, 5;", true),
        ("mov.u32 %r1, 6;", false),
        (
            "mov.u32 %r2, 3;\nadd.u32 %r3, %r2, 1;\nadd.u32 %r1, %r3, %r2;",
            false,
        ),
        ("st.local.u32 [d+4], 6;\nld.local.u32 %r1, [d+4];", false),
        // Loaded before that is stored, or not always.
        ("ld.local.u32 %r1, [d+4];\nst.local.u32 [d+4], 6;", true),
        ("@%p2 st.local.u32 [d+4], 6;\nld.local.u32 %r1, [d+4];", true),
        // The same on both ways, and not so.
        (
            "@%p2 bra A;\nmov.u32 %r1, 6;\nbra B;\nA:\nmov.u32 %r1, 6;\nB:",
            false,
        ),
        (
            "@%p2 bra A;\nmov.u32 %r1, 6;\nbra B;\nA:\nmov.u32 %r1, 5;\nB:",
            true,
        ),
        // Registers that depend on themselves.
        ("add.u32 %r1, %r1, 6;", true),
        ("add.u32 %r2, %r1, 6;\nsub.u32 %r1, %r2, 6;", true),
        ("ld.param.u32 %r1, [n];", true),
        (
            "mov.u32 %r2, 6;\nld.global.u32 %r3, [n];\nmul.lo.u32 %r1, %r2, %r3;",
            true,
        ),
        (&format!("{doubled}\nand.b32 %r1, %r2, 1;"), false),
    ] {
        assert_eq!(is_reached_by_five(statements), expected, "{statements}");
    }
}

#[test]
fn constants_decide_guards() {
    for (statements, expected) in [
        ("mov.pred %p1, 0;\n@%p1 bar.warp.sync -1;", false),
        ("mov.pred %p1, 0;\n@!%p1 bar.warp.sync -1;", true),
        ("setp.eq.u32 %p1, 1, 2;\n@%p1 bar.warp.sync -1;", false),
        ("setp.eq.u32 %p1, %r1, 2;\n@%p1 bar.warp.sync -1;", true),
        // The value at this instruction, regardless of later writes.
        (
            "mov.pred %p1, 0;\n@%p1 bar.warp.sync -1;\nmov.pred %p1, 1;",
            false,
        ),
        ("mov.pred %p1, 1;\n@%p1 bar.warp.sync -1;\nmov.pred %p1, 0;", true),
    ] {
        let text =
            format!(".visible .entry k()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n{statements}\nret;\n}}\n");
        with_module(&text, |module| {
            let settings = Settings::default();
            let context = ModuleContext::new(module, settings.for_rules());
            // A collective whose guard is never true after lowering is not a collective any more.
            let mut collectives = module.functions[0]
                .body
                .as_ref()
                .expect("a body")
                .collectives
                .iter();
            let is_reached = collectives.any(|&id| context.function(FunctionId::new(0)).is_reached(id));
            assert_eq!(is_reached, expected, "{statements}");
        });
    }
}

#[test]
fn constants_follow_local_memory() {
    let spilled = "mov.u32 %r2, 7;\nst.local.u32 [d+4], %r2;\nst.local.u32 [d], 1;\nld.local.u32 %r1, [d+4];";
    assert_eq!(constant_at_end(spilled), Constant::Known(7));
    let overlapped = "st.local.u32 [d+4], 7;\nst.local.u64 [d], 1;\nld.local.u32 %r1, [d+4];";
    assert_eq!(constant_at_end(overlapped), Constant::Unknown);
    let extended = "st.local.u8 [d], 255;\nld.local.s8 %r1, [d];";
    assert_eq!(constant_at_end(extended), Constant::Known(0xffff_ffff));
    // Written once: known if the write comes first, across any branches.
    let behind = "st.local.u32 [d+4], 7;\n@%p1 bra A;\nmov.u32 %r2, 1;\nA:\nld.local.u32 %r3, [d+4];\nadd.s32 %r1, %r3, 1;";
    assert_eq!(constant_at_end(behind), Constant::Known(8));
    let later = "L:\nld.local.u32 %r1, [d+4];\nst.local.u32 [d+4], 7;\nld.local.u32 %r1, [d];\n@%p1 bra L;";
    assert_eq!(constant_at_end(later), Constant::Unknown);
    let round = "L:\nld.local.u32 %r2, [d+4];\nst.local.u32 [d+4], 7;\n@%p1 bra L;\nmov.u32 %r1, %r2;";
    assert_eq!(constant_at_end(round), Constant::Unknown);
    // A slot with one value beside a slot with two.
    let mixed = "st.local.u32 [d], 3;\nmov.u32 %r2, 5;\n@%p1 bra A;\nmov.u32 %r2, 6;\nA:\nst.local.u32 [d+4], %r2;\n\
                 ld.local.u32 %r3, [d+4];\nld.local.u32 %r4, [d];\nadd.s32 %r1, %r3, %r4;";
    assert_eq!(constant_at_end(mixed), Constant::Unknown);
    assert_eq!(
        constant_at_end(&mixed.replace("%r2, 6", "%r2, 5")),
        Constant::Known(8)
    );
    let atomic = "st.local.u32 [d+4], 7;\natom.add.u32 %r2, [d+4], 1;\nld.local.u32 %r1, [d+4];";
    assert_eq!(constant_at_end(atomic), Constant::Unknown);
    let indexed = "st.local.u32 [d+4], 7;\nmov.u64 %rd1, d;\nadd.s64 %rd2, %rd1, %rd3;\nst.local.u32 [%rd2], 1;\nld.local.u32 %r1, [d+4];";
    assert_eq!(constant_at_end(indexed), Constant::Unknown);
}

#[test]
fn arguments_are_values_of_the_call() {
    let text = "
        .func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 s[16]) { ret; }
        .visible .entry k() {
            .reg .b32 %r<9>;
            {
            .param .b32 p0;
            .param .align 8 .b8 p1[16];
            .param .b32 q;
            st.param.b32 [p0+0], 3;
            st.param.v2.b32 [p1+8], {%r1, %r2};
            call.uni (q), f, (p0, p1);
            ld.param.b32 %r3, [q+0];
            }
            ret;
        }";
    with_module(text, |module| {
        let body = module.functions[1].body.as_ref().expect("a body");
        let pieces: Vec<_> = body
            .arguments(&body.calls[0])
            .iter()
            .map(|piece| (piece.param, piece.offset))
            .collect();
        assert_eq!(pieces, [(0, 0), (1, 8), (1, 12)]);
        let result = body
            .instructions
            .iter()
            .find(|instruction| matches!(instruction.op, Op::CallResult(_)));
        assert_eq!(body.uses(result.expect("a result")), [Value::Integer(0)]);
    });
}

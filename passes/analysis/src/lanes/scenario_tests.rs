//! Kernels under scenarios.

use super::scenario::{FixedLoad, FixedParam, Scenario};
use super::verdict::{Problem, Site};
use super::{LaneFinding, Lanes};
use crate::certainty::Certainty;
use crate::module::ModuleAnalyses;
use crate::testing::with_ptx;
use ptxcheck_ir::{FunctionId, InstructionId, Op, Register, Value};

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// `if (i < n) { __shfl_down_sync(full); } out = …`, where i is the index of the thread in the grid.
const TAIL: &str = ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
    ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n\
    mad.lo.s32 %r5, %r3, %r4, %r2;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra L;\n\
    shfl.sync.down.b32 %r6|%p2, %r2, 1, 31, -1;\nst.global.u32 [%rd1], %r6;\nL:\nst.global.u32 [%rd1], %r2;\nret;\n}\n";

/// A block of 128 threads, the first of its grid, with n = 100.
fn block_of_128_with_n_100() -> Scenario {
    Scenario {
        block: Some([128, 1, 1]),
        grid: Some([1, 1, 1]),
        block_index: Some([0; 3]),
        params: vec![FixedParam {
            number: 1,
            offset: 0,
            bytes: 4,
            value: 100,
        }],
        ..Scenario::default()
    }
}

fn findings_about_missing_lanes(
    module: &ModuleAnalyses<'_>,
    scenario: &Scenario,
) -> Option<Vec<(Lanes, Vec<u32>, bool)>> {
    let of = |found: &LaneFinding| {
        let is_definite = found.issue.certainty == Certainty::Definite;
        (found.issue.lanes, found.warps.clone(), is_definite)
    };
    let root = module.findings_under(FunctionId::new(0), scenario)?;
    let found = root.findings.iter();
    Some(
        found
            .filter(|found| found.issue.problem == Problem::Missing)
            .map(of)
            .collect(),
    )
}

/// The instructions of the kernel with such an operation.
fn sites_where(module: &ModuleAnalyses<'_>, is: impl Fn(Op) -> bool) -> Vec<Site> {
    let function = FunctionId::new(0);
    let body = module
        .module
        .function(function)
        .body
        .as_ref()
        .expect("it has a body");
    let all = (0..body.instructions.len()).map(InstructionId::new);
    let such = all.filter(|&id| is(body.instruction(id).op));
    such.map(|instruction| Site {
        function,
        instruction,
        callers: Vec::new(),
    })
    .collect()
}

#[test]
fn a_shuffle_in_the_tail_is_wrong_for_sizes_that_split_a_warp() {
    with_ptx(&format!("{HEAD}{TAIL}"), |module| {
        let scenario = block_of_128_with_n_100();
        assert_eq!(
            findings_about_missing_lanes(module, &scenario),
            Some(vec![(0xffff_fff0, vec![3], true)])
        );
        let whole = FixedParam {
            value: 96,
            ..scenario.params[0]
        };
        let whole = Scenario {
            params: vec![whole],
            ..block_of_128_with_n_100()
        };
        assert_eq!(findings_about_missing_lanes(module, &whole), Some(vec![]));
        // Without a scenario, it is not known.
        let found = findings_about_missing_lanes(module, &Scenario::default()).expect("it is small");
        assert!(found.iter().all(|(.., is_definite)| !is_definite) && !found.is_empty());
    });
}

#[test]
fn a_scenario_with_a_warp_restricts_the_analysis_to_it() {
    with_ptx(&format!("{HEAD}{TAIL}"), |module| {
        let of = |warp| Scenario {
            warp: Some(warp),
            ..block_of_128_with_n_100()
        };
        assert_eq!(findings_about_missing_lanes(module, &of(0)), Some(vec![]));
        let found = findings_about_missing_lanes(module, &of(3)).expect("it has four warps");
        assert_eq!(
            found.iter().map(|found| (found.0, found.2)).collect::<Vec<_>>(),
            [(0xffff_fff0, true)]
        );
        assert_eq!(findings_about_missing_lanes(module, &of(4)), None);
    });
}

#[test]
fn scenarios_with_blocks_that_the_kernel_excludes_have_no_result() {
    let text = TAIL.replace(")\n{", ")\n.reqntid 64\n{");
    with_ptx(&format!("{HEAD}{text}"), |module| {
        assert_eq!(
            findings_about_missing_lanes(module, &block_of_128_with_n_100()),
            None
        );
    });
}

#[test]
fn solutions_give_lanes_and_values_before_an_instruction() {
    with_ptx(&format!("{HEAD}{TAIL}"), |module| {
        let scenario = Scenario {
            warp: Some(3),
            block_index: Some([2, 0, 0]),
            params: vec![FixedParam {
                value: 356,
                ..block_of_128_with_n_100().params[0]
            }],
            ..block_of_128_with_n_100()
        };
        let layouts = module.lane_layouts();
        let layout = layouts.layout_of(FunctionId::new(0)).expect("it is whole");
        let shuffle = sites_where(module, |op| matches!(op, Op::Collective(..)));
        let compare = sites_where(module, |op| matches!(op, Op::Compare(..)));
        let body = module.module.function(FunctionId::new(0)).body.as_ref();
        let index = body.map(|body| body.uses(body.instruction(compare[0].instruction))[0]);
        let (lanes, values) = layout
            .with_solution(&scenario, |solution| {
                let index = index.unwrap_or(Value::Unknown);
                (
                    solution.lanes_at(&shuffle[0]),
                    solution.value_at(&compare[0], index),
                )
            })
            .expect("it settles");
        // Threads 96 to 127 of block 2: those below 356 are lanes 0 to 3.
        assert_eq!(lanes, 0xf);
        assert_eq!(values[0], Some(2 * 128 + 96));
        assert_eq!(values[31], Some(2 * 128 + 127));
        let unknown = layout.with_solution(&scenario, |solution| {
            solution.value_at(&compare[0], Value::Register(Register::new(0)))
        });
        assert!(unknown.is_some());
    });
}

#[test]
fn loaded_values_split_a_warp() {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %laneid;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nld.global.u32 %r2, [%rd2];\n\
         setp.eq.s32 %p1, %r2, 7;\n@%p1 bra L;\nbar.warp.sync -1;\nL:\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
    );
    with_ptx(&text, |module| {
        let loads = sites_where(module, |op| {
            matches!(op, Op::Access(access) if access.space == ptxcheck_ir::Space::Global
                && access.kind == ptxcheck_ir::AccessKind::Load)
        });
        let fixed = |values: [u64; 32]| Scenario {
            warp: Some(0),
            block: Some([32, 1, 1]),
            loads: vec![FixedLoad {
                site: loads[0].clone(),
                values,
            }],
            ..Scenario::default()
        };
        assert_eq!(
            findings_about_missing_lanes(module, &fixed([1; 32])),
            Some(vec![])
        );
        let mut differs = [1; 32];
        differs[5] = 7;
        let found = findings_about_missing_lanes(module, &fixed(differs)).expect("it is small");
        assert_eq!(
            found.iter().map(|found| (found.0, found.2)).collect::<Vec<_>>(),
            [(1 << 5, true)]
        );
    });
}

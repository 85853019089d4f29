//! Conditional findings of small kernels, with their witnesses.

mod stated;

use ptxcheck_passes::analysis::lanes::Problem;
use ptxcheck_passes::assumptions::Assumptions;
use ptxcheck_passes::conditional::{self, Conditional, Doing, Memory, Witness};
use ptxcheck_passes::frontend::ptx::{PtxOrigin, lower};
use ptxcheck_passes::launches::Launches;
use ptxcheck_passes::{ModuleContext, Settings};

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// The findings of a kernel, with stated launches and assumptions.
fn conditional(kernel: &str, launches: &Launches, assumptions: &Assumptions) -> Vec<Conditional> {
    let text = format!("{HEAD}{kernel}");
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).expect("it parses");
    assert!(tree.errors().is_empty(), "{text}");
    let origin = PtxOrigin::new(&tree);
    let module = lower(&tree, &origin);
    let settings = Settings {
        launches: launches.clone(),
        ..crate::common::with_potential()
    };
    conditional::find_assuming(&ModuleContext::new(&module, settings.for_rules()), assumptions)
}

/// Of each finding, the problem, the lanes and the witness.
fn told(found: Vec<Conditional>) -> Vec<(Problem, u32, Witness)> {
    let all = found.into_iter();
    all.map(|one| (one.found.issue.problem, one.found.issue.lanes, one.witness))
        .collect()
}

fn found(kernel: &str) -> Vec<(Problem, u32, Witness)> {
    told(conditional(kernel, &Launches::default(), &Assumptions::default()))
}

/// `if (i < n) { __shfl_down_sync(full); … } out = …`, with another guard before it.
fn tail(guard: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out, .param .u32 n)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
         ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n{guard}\
         setp.ge.s32 %p1, %r2, %r1;\n@%p1 bra L;\nshfl.sync.down.b32 %r6|%p2, %r2, 1, 31, -1;\n\
         st.global.u32 [%rd1], %r6;\nL:\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
    )
}

#[test]
fn a_tail_has_a_size_that_splits_a_warp() {
    let found = found(&tail(""));
    let [(Problem::Missing, lanes, witness)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (witness.block, witness.warp, *lanes),
        ([128, 1, 1], 3, 0xffff_fff0)
    );
    let values: Vec<(u16, u64)> = witness
        .params
        .iter()
        .map(|param| (param.number, param.value))
        .collect();
    assert_eq!(values, [(1, 100)]);
    assert_eq!(witness.memory, Memory::Unknown);
}

#[test]
fn guards_rule_sizes_out() {
    // Sizes that are not multiples of 32 end the threads.
    let whole = "and.b32 %r3, %r1, 31;\nsetp.ne.s32 %p3, %r3, 0;\n@%p3 bra E;\n";
    let guarded = tail(whole).replace("ret;\n}", "E:\nret;\n}");
    assert_eq!(found(&guarded), []);
}

#[test]
fn lanes_that_only_end_are_not_missing() {
    // The value of the lane that has ended is not used.
    let text = tail("").replace("L:\nst.global.u32 [%rd1], %r2;\n", "L:\n");
    assert_eq!(found(&text.replace("[%rd1], %r6", "[%rd1], %r2")), []);
    // It is.
    let found = found(&text);
    assert!(matches!(found[..], [(Problem::AbsentSource, ..)]), "{found:?}");
}

#[test]
fn a_barrier_in_a_loop_is_skipped_by_the_tail() {
    // for (i = tid; i < n; i += ntid) { s[tid] = i; __syncthreads(); } out = …
    let text = ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
        .shared .align 4 .b8 s[4096];\nld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n\
        mov.u32 %r3, %ntid.x;\nmov.u32 %r4, %r2;\nshl.b32 %r5, %r2, 2;\nmov.u32 %r6, s;\nadd.s32 %r6, %r6, %r5;\n\
        setp.ge.s32 %p1, %r2, %r1;\n@%p1 bra E;\nL:\nst.shared.u32 [%r6], %r4;\nbar.sync 0;\nadd.s32 %r4, %r4, %r3;\n\
        setp.lt.s32 %p2, %r4, %r1;\n@%p2 bra L;\nE:\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
    let found = found(text);
    let [(Problem::SkippedBarrier, _, witness)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        witness
            .params
            .iter()
            .map(|param| param.number)
            .collect::<Vec<_>>(),
        [1]
    );
    assert!(witness.params[0].value % 32 != 0);
}

#[test]
fn a_mask_shifted_by_rows_is_zero_in_a_second_warp() {
    // mask = 0xffff << (threadIdx.y * blockDim.x): right in blocks of two rows of 16.
    let text = ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
        ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, 65535;\n\
        mul.lo.s32 %r4, %r1, %r2;\nshl.b32 %r5, %r3, %r4;\nmov.u32 %r7, %tid.x;\n\
        shfl.sync.down.b32 %r6|%p1, %r7, 1, 31, %r5;\nst.global.u32 [%rd1], %r6;\nret;\n}\n";
    let found = found(text);
    assert!(
        found.iter().any(|(problem, _, witness)| {
            *problem == Problem::ZeroMask && witness.block == [16, 16, 1] && witness.warp > 0
        }),
        "{found:?}"
    );
}

#[test]
fn lanes_that_load_other_values_part() {
    let text = ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nld.global.u32 %r2, [%rd2];\n\
         setp.eq.s32 %p1, %r2, 7;\n@%p1 bra L;\nbar.warp.sync -1;\nL:\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
    let found = found(text);
    let [(Problem::Missing, lanes, witness)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(witness.loads.len(), 1);
    assert_ne!(witness.loads[0].differing.0, 0);
    assert_ne!(*lanes, u32::MAX);
}

#[test]
fn what_floating_point_numbers_decide_stays_potential() {
    let text = ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nld.global.f32 %f1, [%rd2];\n\
         setp.gt.f32 %p1, %f1, 0f00000000;\n@%p1 bra L;\nbar.warp.sync -1;\nL:\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
    assert_eq!(found(text), []);
}

#[test]
fn blocks_of_a_few_threads_have_scenarios_too() {
    let text = tail("").replace(")\n{", ")\n.reqntid 8\n{");
    let found = found(&text);
    assert!(
        found.iter().all(|(.., witness)| witness.block == [8, 1, 1]),
        "{found:?}"
    );
}

#[test]
fn a_kernel_for_one_width_is_held_against_several() {
    // The mask of a row: right in blocks of 16 columns, in those of 32 lanes 16-31 are not named.
    let row = |guard: &str| {
        format!(
            ".visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
             ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.x;\n{guard}\
             @%p1 bra L;\nbar.warp.sync 65535;\nst.global.u32 [%rd1], %r2;\nL:\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
        )
    };
    assert_eq!(found(&row("setp.ne.s32 %p1, %r1, 0;\n")), []);
    // One that reads its width is written for several.
    let by_width = "mov.u32 %r3, %ntid.x;\nmul.lo.s32 %r4, %r1, %r3;\nsetp.ne.s32 %p1, %r4, 0;\n";
    let found = found(&row(by_width));
    assert!(matches!(found[..], [(Problem::NotNamed, ..)]), "{found:?}");
    assert_ne!(found[0].2.block[0], 16);
}

#[test]
fn values_that_shift_everything_out_are_no_witness() {
    // mask = ~0u >> (32 - n): for n up to 32.
    let text = ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
        ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %laneid;\nsub.s32 %r3, 32, %r1;\nmov.b32 %r4, -1;\n\
        shr.u32 %r5, %r4, %r3;\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra L;\nbar.warp.sync %r5;\nst.global.u32 [%rd1], %r2;\nL:\nret;\n}\n";
    assert_eq!(found(text), []);
}

/// `if (tid < 4) { before; bar.sync } else { other }`, with a place where all meet again.
fn two_barriers(before: &str, other: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out, .param .u32 n)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n\
         ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nsetp.ge.s32 %p1, %r2, %r1;\n\
         @%p1 bra L;\n{before}bar.sync 0;\nbra E;\nL:\n{other}E:\nst.global.u32 [%rd1], %r2;\nbar.sync 0;\n\
         st.global.u32 [%rd1], %r2;\nret;\n}}\n"
    )
}

#[test]
fn lanes_that_pass_as_many_barriers_may_wait_at_different_ones() {
    assert_eq!(found(&two_barriers("", "bar.sync 0;\n")), []);
    let found = found(&two_barriers("bar.sync 0;\n", "bar.sync 0;\n"));
    let is_skipped = |one: &(Problem, u32, Witness)| one.0 == Problem::SkippedBarrier;
    assert!(!found.is_empty() && found.iter().all(is_skipped), "{found:?}");
}

#[test]
fn a_witness_has_a_run_up_to_the_failure() {
    let all = conditional(&tail(""), &Launches::default(), &Assumptions::default());
    let [one] = &all[..] else {
        panic!("{} findings", all.len())
    };
    let steps: Vec<(Doing, u32)> = one
        .run
        .steps
        .iter()
        .map(|step| (step.doing, step.lanes))
        .collect();
    let Some((Doing::Fails(_), _)) = steps.last() else {
        panic!("{steps:x?}");
    };
    let goes = steps.iter().filter(|step| matches!(step.0, Doing::Goes(_)));
    let ways: Vec<u32> = goes.map(|step| step.1).collect();
    assert!(ways.contains(&0xf) && ways.contains(&0xffff_fff0), "{steps:x?}");
    assert_eq!(one.run.left_out, 0);
}

//! Collectives and barriers: who waits for whom, and how that goes wrong.

use ptxcheck_ir::{AccessKind, Op};
use ptxcheck_machine::{
    End, Given, Kernel, Launch, Outcome, Schedule, Setup, Site, Standing, Unobserved, Warps, Wrong,
};

use super::{SCHEDULES, find, module, run, with_kernel, world};

/// The failures of a run, with their warps, lanes and masks.
fn told(outcome: &Outcome) -> Vec<(Wrong, u32, u32, Option<u32>)> {
    let failures = outcome.failures.iter();
    failures
        .map(|one| (one.wrong, one.warp, one.lanes, one.mask))
        .collect()
}

/// The kernel goes well in every schedule.
#[track_caller]
fn goes_well(code: &str, threads: u32, n: u64) {
    for schedule in SCHEDULES {
        let outcome = run(code, threads, n, schedule);
        assert_eq!(told(&outcome), [], "{schedule:?}");
        assert_eq!(outcome.end, End::Complete, "{schedule:?}");
    }
}

const LANE_BELOW_16: &str = "mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 16;\n";
const STORE: &str = "ld.param.u64 %d1, [out];\nst.global.u32 [%d1], %r1;\n";

#[test]
fn lanes_that_all_come_meet() {
    goes_well("bar.warp.sync -1;\nbar.sync 0;", 96, 0);
    // In another order of instructions, but at the same kind with the same mask.
    let apart =
        format!("{LANE_BELOW_16}@%p1 bra A;\nbar.warp.sync -1;\nbra B;\nA:\nbar.warp.sync -1;\nB:\n{STORE}");
    goes_well(&apart, 64, 0);
}

#[test]
fn a_lane_that_stores_and_ends_is_missing() {
    let code = format!("{LANE_BELOW_16}@!%p1 bra A;\nbar.warp.sync -1;\nbra B;\nA:\n{STORE}B:\n");
    let outcome = run(&code, 32, 0, Schedule::Holding(0xffff_0000));
    assert_eq!(told(&outcome), [(Wrong::Missing, 0, 0xffff_0000, Some(u32::MAX))]);
    assert!(outcome.is_broken);
    // Where lanes 0 to 15 were when lane 16 was the first to be missed, and where the others.
    let then = &outcome.failures[0].lanes_then;
    let waiting = then
        .iter()
        .find(|group| group.standing == Standing::Waiting(u32::MAX));
    let waiting = waiting.expect("lanes wait");
    assert_eq!((waiting.warp, waiting.lanes), (0, 0x0000_ffff));
    assert_eq!(waiting.site.as_ref(), Some(&outcome.failures[0].site));
    let all = then.iter().fold(0, |lanes, group| lanes | group.lanes);
    assert_eq!(all, u32::MAX);
}

#[test]
fn a_lane_that_only_ends_is_not() {
    goes_well(
        &format!("{LANE_BELOW_16}@!%p1 bra A;\nbar.warp.sync -1;\nA:\n"),
        32,
        0,
    );
}

#[test]
fn masks_name_who_executes_and_nobody_else() {
    let outcome = run("bar.warp.sync 0xffff;", 32, 0, Schedule::First);
    assert_eq!(told(&outcome), [(Wrong::NotNamed, 0, 0xffff_0000, Some(0xffff))]);
    let outcome = run("bar.warp.sync -1;", 48, 0, Schedule::First);
    assert_eq!(
        told(&outcome),
        [(Wrong::BeyondBlock, 1, 0xffff_0000, Some(u32::MAX))]
    );
}

#[test]
fn lanes_with_different_masks_wait_for_each_other() {
    let code = format!("{LANE_BELOW_16}selp.b32 %r2, -1, -2, %p1;\nbar.warp.sync %r2;");
    let outcome = run(&code, 32, 0, Schedule::First);
    let wrongs: Vec<Wrong> = outcome.failures.iter().map(|one| one.wrong).collect();
    assert!(wrongs.contains(&Wrong::Deadlock), "{wrongs:?}");
    assert!(outcome.is_broken);
}

#[test]
fn a_shuffle_from_a_lane_that_is_not_there() {
    let shuffle = "shfl.sync.idx.b32 %r3, %r1, 20, 31, 0xffff;\n";
    let code = format!("{LANE_BELOW_16}@!%p1 bra A;\n{shuffle}add.u32 %r4, %r3, 1;\nA:\n");
    let outcome = run(&code, 32, 0, Schedule::First);
    assert_eq!(told(&outcome), [(Wrong::AbsentSource, 0, 0xffff, Some(0xffff))]);
    // A result that nobody reads may be undefined.
    let code = format!("{LANE_BELOW_16}@!%p1 bra A;\n{shuffle}A:\n");
    assert_eq!(told(&run(&code, 32, 0, Schedule::First)), []);
}

#[test]
fn barriers_wait_for_the_block() {
    // Warp 1 skips the barrier and stores.
    let code = format!(
        "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 0;\nbra B;\nA:\n{STORE}B:\n"
    );
    let outcome = run(&code, 64, 0, Schedule::Holding(0));
    let wrongs: Vec<Wrong> = outcome.failures.iter().map(|one| one.wrong).collect();
    assert_eq!(wrongs, [Wrong::OtherWarp]);
    // A warp by itself is missed by nobody.
    with_kernel(&module("", &code), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let launch = Launch {
            warps: Warps::One(0),
            ..Launch::of_block([64, 1, 1])
        };
        let setup = Setup::new(launch, Schedule::First);
        let outcome = kernel
            .run(&setup, &mut world(0), &mut Unobserved)
            .expect("it runs");
        assert_eq!((told(&outcome), outcome.end), (vec![], End::Complete));
    });
}

#[test]
fn barriers_in_a_loop_of_different_lengths() {
    // for (i = tid; i < n; i += 32) __syncthreads();
    let code = format!(
        "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nL:\nsetp.ge.u32 %p1, %r1, %r2;\n@%p1 bra E;\nbar.sync 0;\n\
         add.u32 %r1, %r1, 32;\nbra L;\nE:\n{STORE}"
    );
    goes_well(&code, 32, 64);
    let outcome = run(&code, 32, 48, Schedule::First);
    let last = outcome.failures.last().expect("it goes wrong");
    assert_eq!((last.wrong, last.lanes), (Wrong::Missing, 0xffff_0000));
}

#[test]
fn older_targets_meet_at_one_instruction() {
    let apart = format!("{LANE_BELOW_16}@%p1 bra A;\nbar.warp.sync -1;\nbra B;\nA:\nbar.warp.sync -1;\nB:\n");
    let text = module("", &apart).replace("sm_90", "sm_60");
    with_kernel(&text, |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let setup = Setup::new(Launch::of_block([32, 1, 1]), Schedule::First);
        let outcome = kernel
            .run(&setup, &mut world(0), &mut Unobserved)
            .expect("it runs");
        assert!(told(&outcome).iter().all(|one| one.0 == Wrong::Deadlock));
        assert_eq!(outcome.failures.len(), 2);
    });
}

#[test]
fn a_loaded_value_splits_a_warp() {
    let code = format!(
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\n\
         ld.global.u32 %r2, [%d3];\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra A;\nbar.warp.sync -1;\nA:\n{STORE}"
    );
    with_kernel(&module("", &code), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let is_load = |op: &Op| matches!(op, Op::Access(access) if access.kind == AccessKind::Load && access.space != ptxcheck_ir::Space::Param);
        let at = Site::of_kernel(function, find(module, function, 0, is_load));
        assert_eq!(
            [0, 1, 2].map(|number| kernel.parameter_offset(number)),
            [Some(0), Some(8), None]
        );
        let setup = Setup::new(Launch::of_block([32, 1, 1]), Schedule::Holding(1 << 5));
        let run = |world: &mut Given| kernel.run(&setup, world, &mut Unobserved).expect("it runs");
        let outcome = run(world(0).load(at.clone(), None, 1));
        assert_eq!((told(&outcome), outcome.end), (vec![], End::Complete));
        let outcome = run(world(0).load(at.clone(), None, 1).load(at, Some(5), 0));
        assert_eq!(told(&outcome), [(Wrong::Missing, 0, 1 << 5, Some(u32::MAX))]);
    });
}

#[test]
fn lanes_that_are_held_back_meet_last() {
    // Lane 0 waits for lanes 1 to 7, which meet others, and end.
    let code = "mov.u32 %r1, %laneid;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra A;\nactivemask.b32 %r2;\n\
                shfl.sync.bfly.b32 %r3, %r1, 1, 31, 0xff;\nadd.u32 %r4, %r3, 1;\nret;\nA:\n\
                bar.warp.sync 0xfffffffe;";
    let wrongs = |schedule| {
        let outcome = run(code, 32, 0, schedule);
        outcome
            .failures
            .iter()
            .map(|one| one.wrong)
            .collect::<Vec<Wrong>>()
    };
    assert!(wrongs(Schedule::Holding(0xfe)).contains(&Wrong::Missing));
    assert!(!wrongs(Schedule::First).contains(&Wrong::Missing));
}

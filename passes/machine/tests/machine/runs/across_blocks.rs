//! Accesses of threads of a grid to global memory that nothing orders, in runs of two blocks one after the other.

use ptxcheck_ir::{FunctionId, InstructionId, Module, Op, Space};
use ptxcheck_machine::{Exchange, ExchangeKind, Exchanges, Kernel, Launch, Outcome, Schedule, Setup, Turns};

use super::{module, with_kernel, world};

use ExchangeKind::{Overwritten, ReadAfterWrite, TwoWrites, Updated, WriteAfterRead};

/// The thread is in `%r1`, the block in `%r2`, the number of the thread in the grid in `%r3`; `%p1` holds in the first thread of a block, and
/// `%p2` in the first one of the grid.
const BEGIN: &str = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 64, %r1;\nld.param.u64 %d1, [out];\n\
                     mul.wide.u32 %d3, %r3, 4;\nadd.u64 %d2, %d1, %d3;\nsetp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r3, 0;\n";

const IN_TURN: [Schedule; 2] = [
    Schedule::InTurn(Turns::Forwards),
    Schedule::InTurn(Turns::Backwards),
];

/// The accesses of a kernel to global memory.
fn accesses(module: &Module<'_>, kernel: FunctionId) -> Vec<(FunctionId, InstructionId)> {
    let body = module.function(kernel).body.as_ref().expect("it has a body");
    let is_global =
        |op: &Op| matches!(op, Op::Access(access) if matches!(access.space, Space::Global | Space::Generic));
    let all = body.iter().filter(|(_, instruction)| is_global(&instruction.op));
    all.map(|(instruction, _)| (kernel, instruction)).collect()
}

/// The pairs of accesses in a run of two blocks of 64 threads.
fn run(code: &str, schedule: Schedule) -> (Vec<Exchange>, Outcome) {
    with_kernel(&module("", &format!("{BEGIN}{code}")), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let launch = Launch {
            grid: [2, 1, 1],
            ..Launch::of_block([64, 1, 1])
        };
        let setup = Setup {
            further: &[[1, 0, 0]],
            ..Setup::new(launch, schedule)
        };
        let mut exchanges = Exchanges::of_grid(accesses(module, function));
        let mut world = world(5);
        for word in 0..256 {
            world.memory(Space::Global, 0x10_0000 + 4 * word, 4, 0);
        }
        let outcome = kernel.run(&setup, &mut world, &mut exchanges).expect("it runs");
        assert!(!outcome.is_broken && !exchanges.is_cut(), "{code}");
        (exchanges.found().to_vec(), outcome)
    })
}

fn found(code: &str, schedule: Schedule) -> Vec<Exchange> {
    run(code, schedule).0
}

fn has(found: &[Exchange], kind: ExchangeKind) -> bool {
    found.iter().any(|one| one.kind == kind)
}

#[track_caller]
fn is_silent(code: &str) {
    for schedule in IN_TURN {
        let found = found(code, schedule);
        assert!(found.is_empty(), "{schedule:?} {code} {found:?}");
    }
}

/// A counter in global memory that is read, changed and written back.
const COUNT: &str = "ld.global.u32 %r4, [%d1];\nadd.u32 %r5, %r4, 1;\nst.global.u32 [%d1], %r5;\n";

#[test]
fn a_thread_changes_what_another_one_has_written() {
    for schedule in IN_TURN {
        let found = found(COUNT, schedule);
        let updated: Vec<_> = found.iter().filter(|one| one.kind == Updated).collect();
        let [one] = updated[..] else {
            panic!("{found:?}");
        };
        assert!(one.is_across_warps());
        let example = one.examples[0];
        assert!(example.read.is_some());
        // Each thread reads what the one before has written; the first of another warp comes first.
        let threads = match schedule {
            Schedule::InTurn(Turns::Forwards) => (31, 32),
            _ => (32, 31),
        };
        assert_eq!((example.threads, example.blocks), (threads, (0, 0)));
        let other = one.examples.iter().any(|example| example.blocks == (0, 1));
        assert!(other, "{one:?}");
    }
}

#[test]
fn a_thread_overwrites_what_it_has_not_seen() {
    // All threads of a block read before the first one writes, and each adds another number.
    let code = "ld.global.u32 %r4, [%d1];\nadd.u32 %r5, %r4, %r1;\nst.global.u32 [%d1], %r5;\n";
    let all = found(code, Schedule::First);
    let of = |kind| all.iter().filter(move |one| one.kind == kind).collect::<Vec<_>>();
    let overwritten = of(Overwritten);
    let [one] = overwritten[..] else {
        panic!("{all:?}");
    };
    assert!(one.is_across_warps() && one.examples[0].read.is_some());
    // The second block reads what the first one has written.
    assert!(has(&all, Updated));
    // Threads that write what they have read, and those that write before they read, lose nothing.
    for code in [
        "ld.global.u32 %r4, [%d1];\nst.global.u32 [%d1], %r4;\n",
        "@%p1 ld.global.u32 %r4, [%d1];\n@%p2 st.global.u32 [%d1], 3;\n",
    ] {
        let all = found(code, Schedule::First);
        assert!(!has(&all, Overwritten), "{code} {all:?}");
    }
}

#[test]
fn threads_that_change_nothing_do_not_hide_one_that_does() {
    // All but the last thread set one bit, and that one another.
    let code = "setp.eq.u32 %p3, %r3, 127;\nselp.u32 %r6, 2, 1, %p3;\nld.global.u32 %r4, [%d1];\nor.b32 %r4, %r4, %r6;\n\
                st.global.u32 [%d1], %r4;\n";
    let found = found(code, IN_TURN[0]);
    let updated: Vec<_> = found.iter().filter(|one| one.kind == Updated).collect();
    let [one] = updated[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (one.examples[0].threads, one.examples[0].blocks),
        ((0, 63), (0, 1))
    );
}

#[test]
fn memory_goes_on_from_block_to_block_and_shared_memory_does_not() {
    // The first thread of each block counts, and the second block finds one.
    let code = "@%p1 ld.global.u32 %r4, [%d1];\n@%p1 add.u32 %r4, %r4, 1;\n@%p1 st.global.u32 [%d1], %r4;\n\
                setp.ne.u32 %p3, %r2, 1;\nsetp.ne.or.u32 %p3, %r4, 2, %p3;\nsetp.ne.or.u32 %p3, %r1, 0, %p3;\n@%p3 ret;\n\
                st.global.u32 [%d1+64], %r4;\n";
    let (all, outcome) = run(code, IN_TURN[0]);
    assert_eq!(outcome.end, ptxcheck_machine::End::Complete);
    assert!(has(&all, Updated), "{all:?}");
    let only = all.iter().all(|one| one.blocks == (0, 1));
    assert!(only, "{all:?}");
}

#[test]
fn equal_values_and_own_places_are_no_pairs() {
    is_silent("st.global.u32 [%d1], 1;\n");
    is_silent("st.global.u32 [%d2], %r3;\nld.global.u32 %r4, [%d2];\nst.global.u32 [%d2], %r4;\n");
    is_silent("@%p2 ld.global.u32 %r4, [%d1];\n@%p2 st.global.u32 [%d1], 3;\n");
    is_silent("atom.global.add.u32 %r4, [%d1], 1;\nred.global.add.u32 [%d1], 2;\n");
    is_silent("ld.volatile.global.u32 %r4, [%d1];\nst.volatile.global.u32 [%d1], %r3;\n");
    // An update that changes nothing after the first one.
    let maximum = "ld.global.u32 %r4, [%d1];\nmax.u32 %r4, %r4, 7;\nst.global.u32 [%d1], %r4;\n";
    for schedule in IN_TURN {
        assert!(!has(&found(maximum, schedule), Updated));
    }
    for schedule in IN_TURN {
        assert!(has(&found("st.global.u32 [%d1], %r3;\n", schedule), TwoWrites));
    }
}

#[test]
fn atomics_beside_plain_accesses_are_pairs() {
    let code =
        "ld.global.u32 %r4, [%d1];\nsetp.gt.u32 %p3, %r3, %r4;\n@%p3 atom.global.max.u32 %r5, [%d1], %r3;\n";
    for schedule in IN_TURN {
        let found = found(code, schedule);
        assert!(
            has(&found, ReadAfterWrite) || has(&found, WriteAfterRead),
            "{found:?}"
        );
    }
    is_silent(&code.replace("ld.global", "ld.relaxed.gpu.global"));
}

#[test]
fn barriers_order_the_own_block_alone() {
    let parts = "@%p1 st.global.u32 [%d1], %r2;\nbar.sync 0;\nld.global.u32 %r4, [%d1];\nst.global.u32 [%d2+256], %r4;\n";
    for schedule in IN_TURN {
        let found = found(parts, schedule);
        assert!(
            !found.is_empty() && found.iter().all(|one| one.blocks == (0, 1)),
            "{found:?}"
        );
    }
    // Each block has its own place.
    is_silent(
        "mul.wide.u32 %d3, %r2, 4;\nadd.u64 %d3, %d1, %d3;\n@%p1 st.global.u32 [%d3], %r2;\nbar.sync 0;\nld.global.u32 %r4, [%d3];\n",
    );
}

#[test]
fn flags_and_counters_order_what_comes_after_them() {
    // The last block reads what the other one has written.
    let last = "@%p1 mul.wide.u32 %d3, %r2, 4;\n@%p1 add.u64 %d3, %d1, %d3;\n@%p1 st.global.u32 [%d3+16], %r2;\nmembar.gl;\n\
                @%p1 atom.global.add.u32 %r4, [%d1], 1;\nmembar.gl;\nsetp.eq.u32 %p3, %r4, 1;\nsetp.eq.and.u32 %p3, %r1, 0, %p3;\n\
                @%p3 ld.global.u32 %r5, [%d1+16];\n@%p3 ld.global.u32 %r6, [%d1+20];\n@%p3 st.global.u32 [%d1+24], %r5;\n";
    is_silent(last);
    // A flag.
    let flag = "@%p2 st.global.u32 [%d1+16], 7;\n@%p2 st.volatile.global.u32 [%d1], 1;\nld.volatile.global.u32 %r4, [%d1];\n\
                setp.ne.u32 %p3, %r4, 1;\n@%p3 ret;\nld.global.u32 %r5, [%d1+16];\nst.global.u32 [%d2+512], %r5;\n";
    assert!(found(flag, IN_TURN[0]).iter().all(|one| one.blocks == (0, 0)));
    // An acquiring atomic; and a fence alone orders nothing.
    let lock = "atom.acquire.gpu.global.exch.b32 %r6, [%d1+64], 1;\n";
    is_silent(&format!("{lock}{COUNT}"));
    for schedule in IN_TURN {
        assert!(has(&found(&format!("membar.gl;\n{COUNT}"), schedule), Updated));
    }
    // An atomic elsewhere orders nothing.
    for schedule in IN_TURN {
        let code = format!("atom.global.add.u32 %r6, [%d1+64], 1;\n{COUNT}");
        assert!(has(&found(&code, schedule), Updated), "{schedule:?}");
    }
}

//! Exchanges: accesses of lanes to shared memory that nothing orders, and all that is none.

use ptxcheck_machine::{
    Exchange, ExchangeKind, Exchanges, Given, Kernel, Launch, Schedule, Setup, Site, Unobserved,
};

use super::{SCHEDULES, find, module, with_kernel, world};

/// An array of 64 words, and the address of the thread's own one in `%r2`; the lane is in `%r1`, and `%p1` holds in lanes 0 to 15.
const BEGIN: &str =
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, words;\nmad.lo.u32 %r2, %r1, 4, %r2;\nsetp.lt.u32 %p1, %r1, 16;\n";

const WORDS: &str = ".shared .align 16 .b8 words[512];\n";

/// Lane 0 writes the first word, lane 1 reads it: between the two, code of all lanes.
fn handed_over(between: &str) -> String {
    format!(
        "setp.eq.u32 %p2, %r1, 0;\nsetp.eq.u32 %p3, %r1, 1;\n@%p2 st.shared.u32 [words], 7;\n{between}\n\
         @%p3 ld.shared.u32 %r3, [words];\n"
    )
}

/// Lane 1 reads the first word, and lane 0 writes it then.
fn overwritten(between: &str) -> String {
    format!(
        "setp.eq.u32 %p2, %r1, 0;\nsetp.eq.u32 %p3, %r1, 1;\n@%p3 ld.shared.u32 %r3, [words];\n{between}\n\
         @%p2 st.shared.u32 [words], 7;\n"
    )
}

/// Looks at a run: at its exchanges, with the sites of the accesses to shared memory by their number.
type Look<'l> = &'l dyn Fn(&Exchanges, &dyn Fn(usize) -> Site);

fn observed(code: &str, threads: u32, schedule: Schedule, look: Look<'_>) {
    observed_by(Exchanges::default, code, threads, schedule, look);
}

/// The same with an observer that is made so.
fn observed_by(observer: fn() -> Exchanges, code: &str, threads: u32, schedule: Schedule, look: Look<'_>) {
    with_kernel(&module(WORDS, &format!("{BEGIN}{code}")), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let setup = Setup::new(Launch::of_block([threads, 1, 1]), schedule);
        let mut exchanges = observer();
        let mut world: Given = world(5);
        kernel.run(&setup, &mut world, &mut exchanges).expect("it runs");
        let unobserved = kernel.run(&setup, &mut world, &mut Unobserved);
        assert!(!unobserved.expect("it runs").is_broken, "{code}");
        let is_shared = |op: &ptxcheck_ir::Op| matches!(op, ptxcheck_ir::Op::Access(access) if access.space == ptxcheck_ir::Space::Shared);
        let site = |which: usize| Site::of_kernel(function, find(module, function, which, is_shared));
        look(&exchanges, &site);
    });
}

/// The exchanges of a run in each schedule are these: kinds, lanes of the first access and of the second.
#[track_caller]
fn has(code: &str, threads: u32, expected: &[(ExchangeKind, u32, u32)]) {
    for schedule in SCHEDULES {
        observed(code, threads, schedule, &|exchanges, _| {
            let told = |one: &Exchange| (one.kind, one.first_lanes, one.second_lanes);
            let mut found: Vec<_> = exchanges.found().iter().map(told).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{schedule:?} {code}");
            assert!(!exchanges.is_cut());
        });
    }
}

/// Two accesses, one of them a write, are in no order in any schedule, no matter which the run makes first.
#[track_caller]
fn is_unordered(code: &str, threads: u32) {
    for schedule in SCHEDULES {
        observed(code, threads, schedule, &|exchanges, _| {
            assert_eq!(exchanges.found().len(), 1, "{schedule:?} {code}");
        });
    }
}

#[track_caller]
fn is_ordered(code: &str, threads: u32) {
    has(code, threads, &[]);
}

use ExchangeKind::{ReadAfterWrite, TwoWrites, WriteAfterRead};

#[test]
fn a_pair_has_its_kind_its_sites_its_lanes_and_its_address() {
    let code = "st.shared.u32 [%r2], %r1;\n@%p1 ld.shared.u32 %r3, [%r2+64];\n";
    observed(code, 32, Schedule::Last, &|exchanges, site| {
        // Loads are executed as early as control flow allows, and each lane reaches its own load once it has written.
        let found = exchanges.found();
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!((one.kind, one.warp, one.is_volatile), (ReadAfterWrite, 0, false));
        assert_eq!((&one.first, &one.second), (&site(0), &site(1)));
        assert_eq!((one.first_lanes, one.second_lanes), (0xffff_0000, 0x0000_ffff));
        assert_eq!(one.address - 64, 0x400 + 4 * u64::from(one.example.1));
        assert_eq!(one.example.0, one.example.1 + 16);
        assert!(exchanges.has_accessed(0, &site(0)) && !exchanges.has_accessed(1, &site(0)));
    });
    let code = code.replace("st.shared", "st.volatile.shared");
    observed(&code, 32, Schedule::Last, &|exchanges, _| {
        assert!(!exchanges.found()[0].is_volatile);
    });
    let code = code.replace("ld.shared", "ld.volatile.shared");
    observed(&code, 32, Schedule::Last, &|exchanges, _| {
        assert!(exchanges.found()[0].is_volatile);
    });
}

#[test]
fn reads_before_and_behind_and_two_writes() {
    has(&overwritten(""), 32, &[(WriteAfterRead, 1 << 1, 1)]);
    is_unordered(&handed_over(""), 32);
    // Each lane writes its number to the first word.
    for schedule in SCHEDULES {
        observed("st.shared.u32 [words], %r1;\n", 32, schedule, &|exchanges, _| {
            let [one] = exchanges.found() else {
                panic!("{:?}", exchanges.found());
            };
            assert_eq!(
                (one.kind, one.first_lanes | one.second_lanes),
                (TwoWrites, u32::MAX)
            );
        });
    }
}

#[test]
fn what_the_run_does_first_does_not_matter() {
    // The lane that is held back writes when the other has long read.
    for held in [1, 2] {
        observed(&handed_over(""), 32, Schedule::Holding(held), &|exchanges, _| {
            assert_eq!(exchanges.found().len(), 1);
        });
    }
}

#[test]
fn a_synchronisation_that_names_both_orders_them() {
    for sync in [
        "bar.warp.sync -1;",
        "bar.warp.sync 0xffffffff;",
        "shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;",
        "vote.sync.ballot.b32 %r5, %p1, -1;",
        "match.any.sync.b32 %r5, %r1, -1;",
        "redux.sync.add.s32 %r5, %r1, -1;",
        "bar.sync 0;",
        "bar.sync 3;",
        "barrier.sync 2;",
        "bar.red.popc.u32 %r5, 0, %p1;",
        // Of those that are here, lanes 0 and 1 among them.
        "setp.gt.u32 %p4, %r1, 1;\n@%p4 bra A;\nbar.warp.sync 3;\nA:",
        "@!%p1 bra A;\nbar.warp.sync 0xffff;\nA:",
    ] {
        is_ordered(&handed_over(sync), 32);
        is_ordered(&overwritten(sync), 32);
    }
}

#[test]
fn one_that_names_only_one_of_them_does_not() {
    for sync in [
        // Lanes 0 and 2, and lanes 1 and 3.
        "and.b32 %r4, %r1, 1;\nsetp.eq.u32 %p4, %r4, 0;\nselp.b32 %r4, 0x55555555, 0xaaaaaaaa, %p4;\nbar.warp.sync %r4;",
        "setp.eq.u32 %p4, %r1, 1;\n@%p4 bra A;\nbar.warp.sync 0xfffffffd;\nA:",
        "setp.eq.u32 %p4, %r1, 0;\n@%p4 bra A;\nbar.warp.sync 0xfffffffe;\nA:",
        "setp.eq.u32 %p4, %r1, 0;\n@%p4 bra A;\nshfl.sync.idx.b32 %r5, %r1, 1, 31, 0xfffffffe;\nA:",
        "atom.shared.add.u32 %r5, [words+64], 1;",
        "activemask.b32 %r5;",
    ] {
        is_unordered(&handed_over(sync), 32);
        is_unordered(&overwritten(sync), 32);
    }
}

#[test]
fn a_chain_through_a_third_lane_orders_two() {
    // Lane 0 meets lane 2, which meets lane 1 then.
    let with = |first: &str, second: &str| {
        let group = |mask: &str, label: &str| {
            format!(
                "shr.u32 %r4, {mask}, %r1;\nand.b32 %r4, %r4, 1;\nsetp.eq.u32 %p4, %r4, 0;\n@%p4 bra {label};\n\
                 bar.warp.sync {mask};\n{label}:\n"
            )
        };
        format!("{}{}", group(first, "A"), group(second, "B"))
    };
    is_ordered(&handed_over(&with("5", "6")), 32);
    is_ordered(&overwritten(&with("6", "5")), 32);
    // The other way round, lane 1 has gone on before lane 2 meets lane 0.
    is_unordered(&handed_over(&with("6", "5")), 32);
    is_unordered(&overwritten(&with("5", "6")), 32);
}

#[test]
fn each_step_of_a_tail_takes_two() {
    let step = |by: u32, read: &str, written: &str| {
        format!(
            "ld.shared.u32 %r3, [%r2];\nld.shared.u32 %r4, [%r2+{}];\nadd.u32 %r3, %r3, %r4;\n{read}\n\
             st.shared.u32 [%r2], %r3;\n{written}\n",
            4 * by
        )
    };
    let sync = "bar.warp.sync -1;";
    let tail = |read: &str, written: &str| format!("{}{}", step(16, read, written), step(8, read, written));
    is_ordered(&tail(sync, sync), 32);
    for wrong in [tail("", ""), tail(sync, ""), tail("", sync)] {
        for schedule in SCHEDULES {
            observed(&wrong, 32, schedule, &|exchanges, _| {
                assert!(!exchanges.found().is_empty());
            });
        }
    }
}

#[test]
fn warps_have_exchanges_of_their_own() {
    // Thread 0 writes, and thread 33 reads: no matter of one warp.
    let code = "setp.eq.u32 %p2, %r1, 0;\nsetp.eq.u32 %p3, %r1, 33;\n@%p2 st.shared.u32 [words], 7;\n\
                @%p3 ld.shared.u32 %r3, [words];\n";
    is_ordered(code, 64);
    let code = "st.shared.u32 [%r2], %r1;\n@!%p1 ld.shared.u32 %r3, [%r2+-4];\n";
    observed(code, 64, Schedule::First, &|exchanges, _| {
        let warps: Vec<u32> = exchanges.found().iter().map(|one| one.warp).collect();
        assert_eq!(warps, [0, 1]);
    });
}

#[test]
fn no_pair_is_what_each_lane_does_for_itself() {
    is_ordered(
        "st.shared.u32 [%r2], %r1;\nld.shared.u32 %r3, [%r2];\nst.shared.u32 [%r2], %r3;\n",
        32,
    );
    // A table that is only read.
    is_ordered("ld.shared.u32 %r3, [words];\nld.shared.u32 %r4, [%r2+4];\n", 32);
}

#[test]
fn equal_values_are_no_pair() {
    is_ordered("st.shared.u32 [words], 7;\n", 32);
    // Nor is it one to read them, regardless of the lane that wrote them.
    is_ordered("st.shared.u32 [words], 7;\nld.shared.u32 %r3, [words];\n", 32);
    is_ordered("st.shared.v2.u32 [words], {7, 8};\n", 32);
    // One byte of the four differs.
    let code = "shl.b32 %r5, %r1, 16;\nst.shared.u32 [words], %r5;\n";
    observed(code, 32, Schedule::First, &|exchanges, _| {
        let places: Vec<u64> = exchanges.found().iter().map(|one| one.address).collect();
        assert_eq!(places, [0x400]);
    });
    // A lane that has not written reads it.
    is_unordered(
        "@%p1 st.shared.u32 [words], 7;\n@!%p1 ld.shared.u32 %r3, [words];\n",
        32,
    );
    // One that has synchronised with the others since, and reads what they write anew.
    let code = "setp.eq.u32 %p2, %r1, 0;\nst.shared.u32 [words], 7;\nbar.warp.sync -1;\n@!%p2 st.shared.u32 [words], 7;\n\
                @%p2 ld.shared.u32 %r3, [words];\n";
    is_unordered(code, 32);
}

#[test]
fn values_that_are_not_known_are_no_two_writes() {
    // Nothing has written the register.
    is_ordered("st.shared.u32 [words], %r9;\n", 32);
}

#[test]
fn atomics_are_no_pair() {
    is_ordered("atom.shared.add.u32 %r3, [words], 1;\n", 32);
    is_ordered("red.shared.add.u32 [words], 1;\n", 32);
    is_ordered(
        "atom.shared.exch.b32 %r3, [words], %r1;\nld.shared.u32 %r4, [words];\n",
        32,
    );
}

#[test]
fn copies_are_writes_and_order_no_other_lanes() {
    let copy = "ld.param.u64 %d1, [out];\ncp.async.ca.shared.global [%r2], [%d1], 4;\n";
    let wait = "cp.async.commit_group;\ncp.async.wait_group 0;\n";
    let read = "ld.shared.u32 %r4, [words];\n";
    is_ordered(&format!("{copy}{wait}ld.shared.u32 %r4, [%r2];\n"), 32);
    is_ordered(&format!("{copy}{wait}bar.warp.sync -1;\n{read}"), 32);
    observed(
        &format!("{copy}{wait}{read}"),
        32,
        Schedule::First,
        &|exchanges, _| {
            let told = |one: &Exchange| (one.kind, one.first_lanes, one.second_lanes);
            let found: Vec<_> = exchanges.found().iter().map(told).collect();
            assert_eq!(found, [(ReadAfterWrite, 1, 0xffff_fffe)]);
        },
    );
    is_unordered(
        &handed_over(&format!("{}cp.async.wait_all;", copy.replace("%r2", "%r2+256"))),
        32,
    );
}

#[test]
fn what_is_not_modelled_may_order() {
    // A fence is half of an order: the other half is a strong read.
    is_unordered(&handed_over("membar.cta;"), 32);
    is_ordered(
        &handed_over("ld.relaxed.cta.shared.u32 %r4, [words+256];\nmembar.cta;"),
        32,
    );
    // Each lane has its turn once the one before it has handed on.
    let turns = "setp.eq.u32 %p3, %r1, 0;\n@%p3 st.shared.u32 [words+256], 0;\nbar.sync 0;\nL:\nld.acquire.cta.shared.u32 %r3, [words+256];\nsetp.ne.u32 %p2, %r3, %r1;\n@%p2 bra L;\n\
                 ld.shared.u32 %r4, [%r2];\nst.shared.u32 [%r2+4], %r4;\nadd.u32 %r5, %r1, 1;\n\
                 st.release.cta.shared.u32 [words+256], %r5;\n";
    is_ordered(turns, 3);
    // Nothing in memory orders what is relaxed.
    let relaxed = turns.replace("acquire", "relaxed").replace("release", "relaxed");
    observed(&relaxed, 3, Schedule::First, &|exchanges, _| {
        assert!(!exchanges.found().is_empty());
    });
    is_ordered(&handed_over("bar.sync 1, 32;"), 32);
    is_ordered(&handed_over("bar.arrive 1, 64;"), 64);
}

#[test]
fn rounds_of_a_loop_are_told_apart() {
    // Each lane writes its own word, and reads that of the next lane; then all synchronise, or not.
    let rounds = |read: &str, end: &str| {
        format!(
            "mov.u32 %r6, 0;\nL:\nst.shared.u32 [%r2], %r6;\n{read}\nld.shared.u32 %r3, [%r2+4];\n{end}\n\
             add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p5, %r6, 3;\n@%p5 bra L;\n"
        )
    };
    let sync = "bar.warp.sync -1;";
    is_ordered(&rounds(sync, sync), 32);
    has(
        &rounds(sync, ""),
        32,
        &[(WriteAfterRead, 0x7fff_ffff, 0xffff_fffe)],
    );
}

#[test]
fn nothing_is_seen_where_the_run_is_none_any_more() {
    let apart = "@%p1 bra A;\nbar.sync 0;\nbra B;\nA:\nbar.sync 0;\nB:\nst.shared.u32 [words], %r1;\n";
    is_ordered(apart, 32);
}

#[test]
fn memory_is_bounded() {
    // A word for each round and lane, until no more is kept.
    let code = "mov.u32 %r6, 0;\nL:\nmad.lo.u32 %r7, %r6, 128, %r2;\nst.shared.v4.u32 [%r7], {%r1, %r1, %r1, %r1};\n\
                add.u32 %r6, %r6, 4;\nsetp.lt.u32 %p5, %r6, 100000;\n@%p5 bra L;\n";
    observed(code, 32, Schedule::First, &|exchanges, _| {
        assert!(exchanges.is_cut());
    });
}

/// Number of pairs in a run, with atomics that order nothing, and with those that may.
fn counts(code: &str) -> [usize; 2] {
    [Exchanges::default, Exchanges::without_atomics].map(|observer: fn() -> Exchanges| {
        let count = std::cell::Cell::new(0);
        observed_by(observer, code, 32, Schedule::First, &|exchanges, _| {
            count.set(exchanges.found().len());
        });
        count.get()
    })
}

#[test]
fn lanes_that_take_turns_by_atomics_may_be_ordered() {
    assert_eq!(counts(&handed_over("")), [1, 1]);
    let atomic = "atom.shared.add.u32 %r4, [words+64], 1;\n";
    // The lane that writes has executed one before, as it would to take a lock.
    assert_eq!(counts(&format!("{atomic}{}", handed_over(""))), [1, 0]);
    // So has the lane that reads, as it would to ask for a flag.
    assert_eq!(counts(&handed_over(atomic)), [1, 0]);
    // They have met since.
    let met = "bar.warp.sync -1;\n";
    assert_eq!(counts(&format!("{atomic}{met}{}", handed_over(""))), [1, 1]);
}

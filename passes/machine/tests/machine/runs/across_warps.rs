//! Exchanges of threads of different warps of a block: accesses to shared memory with no barrier of the block between.

use ptxcheck_machine::{Exchange, ExchangeKind, Exchanges, Kernel, Launch, Schedule, Setup};

use super::{SCHEDULES, module, with_kernel, world};

use ExchangeKind::{ReadAfterWrite, TwoWrites, WriteAfterRead};

/// Two arrays of words. The thread is in `%r1`, the address of its own word in `%r2`; `%p1` holds in warp 0, `%p2` in thread 0, and `%p3` in
/// thread 33.
const BEGIN: &str = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, words;\nmad.lo.u32 %r2, %r1, 4, %r2;\nsetp.lt.u32 %p1, %r1, 32;\n\
                     setp.eq.u32 %p2, %r1, 0;\nsetp.eq.u32 %p3, %r1, 33;\nld.param.u64 %d1, [out];\n";

const ARRAYS: &str = ".shared .align 16 .b8 words[1024];\n.shared .align 8 .b8 phases[8];\n";

/// The exchanges of different warps in a run.
fn found(code: &str, threads: u32, schedule: Schedule) -> Vec<Exchange> {
    with_kernel(&module(ARRAYS, &format!("{BEGIN}{code}")), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let setup = Setup::new(Launch::of_block([threads, 1, 1]), schedule);
        let mut exchanges = Exchanges::without_atomics().with_block().without_lanes();
        let outcome = kernel.run(&setup, &mut world(5), &mut exchanges);
        assert!(!outcome.expect("it runs").is_broken, "{code}");
        assert!(!exchanges.is_cut());
        exchanges.found().to_vec()
    })
}

/// In each schedule, there are so many pairs of accesses.
#[track_caller]
fn has(code: &str, pairs: usize) {
    for schedule in SCHEDULES {
        let found = found(code, 64, schedule);
        assert_eq!(found.len(), pairs, "{schedule:?} {code} {found:?}");
        assert!(found.iter().all(Exchange::is_across_warps));
    }
}

/// Thread 0 writes a word, and thread 33 reads it: between the two, code of all threads.
fn handed_over(between: &str) -> String {
    format!("@%p2 st.shared.u32 [words], 7;\n{between}\n@%p3 ld.shared.u32 %r3, [words];\n")
}

#[test]
fn a_pair_has_its_kind_its_warps_and_examples() {
    let all = found(&handed_over(""), 64, Schedule::First);
    let [one] = &all[..] else {
        panic!("{all:?}");
    };
    // Loads are made as early as they can be.
    assert_eq!((one.kind, one.warp, one.second_warp), (WriteAfterRead, 1, 0));
    assert_eq!(
        (one.first_lanes, one.second_lanes, one.example),
        (1 << 1, 1, (1, 0))
    );
    assert_eq!(one.examples[0].threads, (33, 0));
    assert!(one.examples[0].read.is_some());

    let code = "@%p1 st.shared.u32 [%r2], %r1;\nbar.warp.sync -1;\n@!%p1 ld.shared.u32 %r3, [%r2+-128];\n\
                @!%p1 st.shared.u32 [%r2+128], %r3;\n";
    for schedule in SCHEDULES {
        let all = found(code, 64, schedule);
        // Some schedules let some threads read first, and others write first.
        let examples: usize = all.iter().map(|one| one.examples.len()).sum();
        assert_eq!(examples, 32, "{schedule:?}");
        let kinds = all
            .iter()
            .all(|one| matches!(one.kind, ReadAfterWrite | WriteAfterRead));
        assert!(kinds && all.len() <= 2, "{schedule:?}");
    }
}

#[test]
fn barriers_of_the_block_order() {
    has(&handed_over(""), 1);
    has(&handed_over("bar.sync 0;"), 0);
    has(&handed_over("barrier.sync 3;"), 0);
    // One warp alone waits for nobody.
    has(&handed_over("bar.warp.sync -1;"), 1);
    has(&handed_over("@%p1 bar.warp.sync -1;"), 1);
    let between_rounds = "mov.u32 %r5, 0;\nL:\nst.shared.u32 [%r2], %r5;\nbar.sync 0;\nxor.b32 %r6, %r1, 32;\nmov.u32 %r7, words;\n\
         mad.lo.u32 %r7, %r6, 4, %r7;\nld.shared.u32 %r3, [%r7];\nBARRIER\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p4, %r5, 2;\n@%p4 bra L;\n";
    has(&between_rounds.replace("BARRIER", ""), 1);
    has(&between_rounds.replace("BARRIER", "bar.sync 0;"), 0);
}

#[test]
fn barriers_with_a_count_order_those_who_come() {
    has(&handed_over("barrier.sync 1, 64;"), 0);
    // The writer arrives and the reader waits.
    has(
        &handed_over("@%p1 barrier.arrive 1, 64;\n@!%p1 barrier.sync 1, 64;"),
        0,
    );
    // The reader arrives: the writer waits for it, and not the other way round.
    has(
        &handed_over("@!%p1 barrier.arrive 1, 64;\n@%p1 barrier.sync 1, 64;"),
        1,
    );
    // Each warp passes alone, or at a barrier of its own.
    has(&handed_over("barrier.sync 1, 32;"), 1);
    has(
        &handed_over("@%p1 barrier.sync 1, 32;\n@!%p1 barrier.sync 2, 32;"),
        1,
    );
    // Which threads a count that is never complete orders, nobody knows.
    has(&handed_over("barrier.sync 1, 96;"), 0);
    // Warps 0 and 1 meet, and so do 2 and 3: the writer is in warp 0, and the reader in warp 2.
    let far = "@%p2 st.shared.u32 [words], 7;\nshr.u32 %r8, %r1, 6;\nadd.u32 %r8, %r8, 1;\nbarrier.sync %r8, 64;\n\
               setp.eq.u32 %p4, %r1, READER;\n@%p4 ld.shared.u32 %r3, [words];\n";
    for schedule in SCHEDULES {
        let of = |reader: &str| found(&far.replace("READER", reader), 128, schedule).len();
        assert_eq!((of("33"), of("65")), (0, 1), "{schedule:?}");
    }
    // What warp 1 has heard of warp 0, warp 2 hears of warp 1.
    let chain = "@%p2 st.shared.u32 [words], 7;\nsetp.lt.u32 %p5, %r1, 64;\nsetp.ge.u32 %p6, %r1, 32;\n@%p5 barrier.sync 1, 64;\n\
                 @%p6 barrier.sync 2, 64;\nsetp.eq.u32 %p4, %r1, 65;\n@%p4 ld.shared.u32 %r3, [words];\n";
    for schedule in SCHEDULES {
        assert!(found(chain, 96, schedule).is_empty(), "{schedule:?}");
    }
    // A second pass begins anew.
    let again = "@%p2 st.shared.u32 [words], 8;\n".to_owned();
    has(&(handed_over("barrier.sync 1, 64;") + &again), 1);
    has(
        &(handed_over("barrier.sync 1, 64;") + "barrier.sync 1, 64;\n" + &again),
        0,
    );
}

#[test]
fn what_may_order_in_another_way_is_no_pair() {
    for between in [
        "ld.volatile.global.u32 %r4, [%d1];\nmembar.cta;",
        "atom.global.add.u32 %r4, [%d1], 1;",
        "ld.acquire.gpu.global.u32 %r4, [%d1];",
        "@%p2 mbarrier.arrive.shared.b64 %d2, [phases];\n@%p3 mbarrier.test_wait.shared.b64 %p4, [phases], %d2;",
    ] {
        has(&handed_over(between), 0);
    }
    // A fence alone waits for nobody.
    has(&handed_over("membar.cta;"), 1);
    // A barrier of the block begins anew.
    has(
        &handed_over("ld.acquire.gpu.global.u32 %r4, [%d1];\nbar.sync 0;")
            .replace("bar.sync 0;", "bar.sync 0;\n@%p2 st.shared.u32 [words], 8;"),
        1,
    );
    // What one lane has waited for, all that meet it have.
    let code = "@%p2 st.shared.u32 [words], 7;\nsetp.eq.u32 %p4, %r1, 34;\n@%p4 ld.acquire.gpu.global.u32 %r4, [%d1];\n\
                @!%p1 bar.warp.sync -1;\n@%p3 ld.shared.u32 %r3, [words];\n";
    has(code, 0);
}

#[test]
fn a_flag_orders_who_reads_it() {
    let flag = |space: &str, address: &str, strong: &str| {
        format!(
            "@%p2 st.shared.u32 [words], 7;\n@%p2 st{strong}.{space}.u32 [{address}], 1;\n@%p1 bra E;\nL:\n\
             ld{strong}.{space}.u32 %r4, [{address}];\nsetp.ne.u32 %p4, %r4, 1;\n@%p4 bra L;\nld.shared.u32 %r3, [words];\nE:\n"
        )
    };
    let set = "@%p2 st.volatile.shared.u32 [words+512], 0;\nbar.sync 0;\n";
    has(&(set.to_owned() + &flag("shared", "words+512", ".volatile")), 0);
    has(&flag("shared", "words+512", ".volatile"), 0);
    has(&flag("global", "%d1", ".volatile"), 0);
    has(&flag("shared", "words+512", ".relaxed.cta"), 0);
    // A plain flag is a pair itself.
    has(&flag("shared", "words+512", ""), 1);
}

#[test]
fn strong_accesses_are_no_pair_among_themselves() {
    let both = |one: &str, other: &str| {
        format!("@%p2 st{one}.shared.u32 [words], %r1;\n@%p3 st{other}.shared.u32 [words], %r1;\n")
    };
    has(&both("", ""), 1);
    has(&both(".volatile", ""), 1);
    has(&both(".volatile", ".volatile"), 0);
    has("atom.shared.add.u32 %r3, [words], 1;\n", 0);
    has("red.shared.add.u32 [words], 1;\n", 0);
    // An atomic beside a plain access.
    has(
        "@%p1 red.shared.add.u32 [words], 1;\n@%p3 ld.shared.u32 %r3, [words];\n",
        1,
    );
    has(
        "@%p1 red.shared.add.u32 [words], 1;\nbar.sync 0;\n@%p3 ld.shared.u32 %r3, [words];\n",
        0,
    );
    has(
        "@%p2 red.shared.add.u32 [words], 1;\n@%p3 st.shared.u32 [words], 7;\n",
        1,
    );
}

#[test]
fn values_that_are_equal_are_no_pair() {
    has("st.shared.u32 [words], 7;\n", 0);
    has("st.shared.u32 [words], %r1;\n", 1);
    // It has this value already.
    let again = "@%p2 st.shared.u32 [words], 7;\nbar.sync 0;\n@%p2 st.shared.u32 [words], VALUE;\n@%p3 ld.shared.u32 %r3, [words];\n";
    has(&again.replace("VALUE", "7"), 0);
    has(&again.replace("VALUE", "8"), 1);
    // Who has written the same before reads it.
    has("st.shared.u32 [words], 7;\nld.shared.u32 %r3, [words];\n", 0);
    for schedule in SCHEDULES {
        let all = found(
            "@%p3 st.shared.u32 [words], 7;\n@%p2 st.shared.u32 [words], 8;\n",
            64,
            schedule,
        );
        assert_eq!(all[0].kind, TwoWrites);
        assert_eq!(all[0].examples.len(), 1);
    }
}

#[test]
fn who_has_ended_is_ordered_by_the_next_barrier() {
    let code = "@%p2 st.shared.u32 [words], 7;\n@%p1 ret;\nBARRIER\nld.shared.u32 %r3, [words];\n";
    has(&code.replace("BARRIER", "bar.sync 0;"), 0);
    has(&code.replace("BARRIER", ""), 1);
}

#[test]
fn lanes_of_a_warp_are_left_out() {
    let code = "st.shared.u32 [%r2], %r1;\n@!%p2 ld.shared.u32 %r3, [%r2+-4];\n";
    for schedule in SCHEDULES {
        let all = found(code, 64, schedule);
        // Thread 32 reads what thread 31 writes.
        assert_eq!(all.len(), 1, "{schedule:?}");
        assert!(matches!(all[0].kind, ReadAfterWrite | WriteAfterRead));
        assert!(found(code, 32, schedule).is_empty());
    }
}

//! Protocols between the threads of a block: barriers with counts, phases of barriers in memory, and who waits for ever.

use ptxcheck_machine::{
    Awaited, End, Follow, HangKind, Kernel, Launch, Outcome, Schedule, Setup, Stop, Unknown, Unobserved,
};

use super::{SCHEDULES, module, with_kernel, world};

/// The verdict of a run about the protocol of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Ends,
    Hangs,
    OtherCount(u64, u64),
    Open,
    Unknown(Unknown),
}

fn outcome(code: &str, threads: u32, n: u64, schedule: Schedule, stop: Stop<'_>) -> Outcome {
    let before =
        ".shared .align 8 .b64 full[4];\n.shared .align 8 .b64 empty[4];\n.shared .align 128 .b8 tile[1024];";
    with_kernel(&module(before, code), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let setup = Setup {
            follow: Follow::Barriers,
            stop,
            ..Setup::new(Launch::of_block([threads, 1, 1]), schedule)
        };
        kernel
            .run(&setup, &mut world(n), &mut Unobserved)
            .expect("it runs")
    })
}

fn verdict_of(outcome: &Outcome) -> Verdict {
    match (&outcome.hang, &outcome.open, &outcome.end) {
        (Some(hang), ..) => match hang.kind {
            HangKind::NobodyGoesOn => Verdict::Hangs,
            HangKind::OtherCount { counts, .. } => Verdict::OtherCount(counts.0, counts.1),
        },
        (None, Some(_), _) => Verdict::Open,
        (None, None, End::Unknown(why)) => Verdict::Unknown(why.clone()),
        (None, None, _) => Verdict::Ends,
    }
}

/// The verdict under all schedules, which is the same.
fn verdict(code: &str, threads: u32, n: u64) -> Verdict {
    let found = verdicts(code, threads, n);
    for (schedule, other) in SCHEDULES.iter().zip(&found) {
        assert_eq!(*other, found[0], "{schedule:?}\n{code}");
    }
    found[0].clone()
}

/// The verdicts under all schedules.
fn verdicts(code: &str, threads: u32, n: u64) -> [Verdict; 6] {
    SCHEDULES.map(|schedule| verdict_of(&outcome(code, threads, n, schedule, Stop::AtHang)))
}

/// True if a run hangs under some schedule, and none ends otherwise than complete.
fn may_hang(code: &str, threads: u32, n: u64) -> bool {
    let found = verdicts(code, threads, n);
    let mut both = found.iter();
    assert!(
        both.all(|one| matches!(one, Verdict::Ends | Verdict::Hangs)),
        "{found:?}\n{code}"
    );
    found.contains(&Verdict::Hangs)
}

/// Code of the warps from one on, up to another one, of a kernel whose warp is `%r2`.
fn of_warps(number: u32, from: u32, to: u32, code: &str) -> String {
    format!(
        "setp.lt.u32 %p1, %r2, {from};\n@%p1 bra W{number};\nsetp.ge.u32 %p1, %r2, {to};\n@%p1 bra W{number};\n{code}W{number}:\n"
    )
}

/// Roles, each with its first warp and the one after its last.
fn roles(roles: &[(u32, u32, &str)]) -> String {
    let mut code = String::from("mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nld.param.u32 %r3, [n];\n");
    for (number, (from, to, role)) in (0..).zip(roles) {
        code += &of_warps(number, *from, *to, role);
    }
    code
}

#[test]
fn counts_are_complete_or_not() {
    use Verdict::{Ends, Hangs};
    let handed = |count: u32| {
        roles(&[
            (0, 2, &format!("bar.arrive 1, {count};\n")),
            (2, 4, &format!("bar.sync 1, {count};\n")),
        ])
    };
    assert_eq!(verdict(&handed(128), 128, 0), Ends);
    assert_eq!(verdict(&handed(256), 128, 0), Hangs);
    // One of the warps that wait is too late.
    let late = roles(&[
        (0, 2, "bar.arrive 1, 96;\nbar.sync 2, 128;\n"),
        (2, 4, "bar.sync 2, 128;\nbar.sync 1, 96;\n"),
    ]);
    assert_eq!(verdict(&late, 128, 0), Hangs);
    // Three warps at a barrier of two.
    assert_eq!(verdict(&roles(&[(0, 3, "bar.sync 1, 64;\n")]), 96, 0), Hangs);
    assert_eq!(verdict(&roles(&[(0, 4, "bar.sync 1, 64;\n")]), 128, 0), Ends);
    // Crossed order.
    let crossed = |first: &str, second: &str| {
        roles(&[
            (0, 1, "bar.sync 1, 64;\nbar.sync 2, 64;\n"),
            (1, 2, &format!("bar.sync {first}, 64;\nbar.sync {second}, 64;\n")),
        ])
    };
    assert_eq!(verdict(&crossed("1", "2"), 64, 0), Ends);
    assert_eq!(verdict(&crossed("2", "1"), 64, 0), Hangs);
    // Two arrivals complete a barrier by themselves: the third warp reaches a new one.
    let third = |order: &str| {
        roles(&[
            (0, 2, "bar.arrive 1, 64;\nbar.sync 2, 96;\n"),
            (2, 3, &format!("{order}bar.sync 1, 64;\n")),
        ])
    };
    assert_eq!(verdict(&third("bar.sync 2, 96;\n"), 96, 0), Hangs);
    // A barrier of all threads in the arm of some.
    let arm = roles(&[
        (0, 4, "bar.sync 0;\nbar.sync 3, 256;\n"),
        (4, 8, "bar.sync 3, 256;\n"),
    ]);
    assert_eq!(verdict(&arm, 256, 0), Hangs);
    // A warp that comes again and again.
    let rounds = |first: u32, second: u32| {
        roles(&[
            (
                0,
                1,
                &format!(
                    "mov.u32 %r4, {first};\nA: bar.sync 1, 64;\nsub.u32 %r4, %r4, 1;\nsetp.ne.u32 %p2, %r4, 0;\n@%p2 bra A;\n"
                ),
            ),
            (
                1,
                2,
                &format!(
                    "mov.u32 %r4, {second};\nB: bar.sync 1, 64;\nsub.u32 %r4, %r4, 1;\nsetp.ne.u32 %p2, %r4, 0;\n@%p2 bra B;\n"
                ),
            ),
        ])
    };
    assert_eq!(verdict(&rounds(7, 7), 64, 0), Ends);
    assert_eq!(verdict(&rounds(7, 6), 64, 0), Hangs);
}

#[test]
fn a_barrier_has_one_count_at_a_time() {
    let both = |before: &str, counts: [u32; 2]| {
        let [one, other] = counts;
        roles(&[
            (0, 2, &format!("{before}bar.sync 1, {one};\n")),
            (2, 4, &format!("{before}bar.sync 1, {other};\n")),
        ])
    };
    // 2 of 3, and 2 of 4, warps.
    let found = verdict(&both("", [96, 128]), 128, 0);
    assert!(
        matches!(found, Verdict::OtherCount(96, 128) | Verdict::OtherCount(128, 96)),
        "{found:?}"
    );
    assert_eq!(verdict(&both("", [64, 64]), 128, 0), Verdict::Ends);
    // With all threads of the block: the same by number and count, or not.
    let all = |count: u32| {
        roles(&[
            (0, 2, "bar.sync 0;\n"),
            (2, 4, &format!("bar.sync 0, {count};\n")),
        ])
    };
    assert_eq!(verdict(&all(128), 128, 0), Verdict::Open);
    assert!(matches!(verdict(&all(96), 128, 0), Verdict::OtherCount(..)));
    // No number of whole warps.
    assert_eq!(
        verdict(&roles(&[(0, 2, "barrier.sync 1, 40;\n")]), 64, 0),
        Verdict::Open
    );
    // One lane of a warp.
    let lane = roles(&[
        (
            0,
            1,
            "setp.eq.u32 %p2, %r1, 0;\n@%p2 barrier.arrive 1, 64;\nbarrier.sync 2, 64;\n",
        ),
        (1, 2, "barrier.sync 1, 64;\nbarrier.sync 2, 64;\n"),
    ]);
    assert_eq!(verdict(&lane, 64, 0), Verdict::Open);
}

/// Waits for a phase of `full` or `empty` with a parity in a register.
fn wait(label: &str, barrier: &str, parity: &str) -> String {
    format!("{label}: mbarrier.try_wait.parity.shared.b64 %p3, [{barrier}], {parity};\n@!%p3 bra {label};\n")
}

fn init(barriers: &[(&str, u32)]) -> String {
    let mut code = String::from("mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra I;\n");
    for (barrier, count) in barriers {
        code += &format!("mbarrier.init.shared.b64 [{barrier}], {count};\n");
    }
    code + "I: bar.sync 0;\n"
}

#[test]
fn phases_take_all_arrivals_and_bytes() {
    use Verdict::{Ends, Hangs, Open};
    let arrivals = |count: u32, role: &str| {
        init(&[("full", count)]) + &roles(&[(0, 3, role), (3, 4, &wait("A", "full", "0"))])
    };
    let arrive = "mbarrier.arrive.shared.b64 _, [full];\n";
    assert_eq!(verdict(&arrivals(96, arrive), 128, 0), Ends);
    assert_eq!(verdict(&arrivals(128, arrive), 128, 0), Hangs);
    assert_eq!(
        verdict(
            &arrivals(192, "mbarrier.arrive.shared.b64 _, [full], 2;\n"),
            128,
            0
        ),
        Ends
    );
    // Two phases: a thread that waits for the first may come when the second is complete.
    let more = arrivals(96, &(arrive.to_owned() + arrive));
    assert!(may_hang(&more, 128, 0));
    // More arrivals than it takes: what that does is not defined.
    let more = arrivals(64, "mbarrier.arrive.shared.b64 _, [full], 3;\n");
    assert_eq!(verdict(&more, 128, 0), Open);
    // Bytes, of a copy.
    let brought = |expected: u32, copied: u32, parity: u32| {
        init(&[("full", 1)])
            + &roles(&[
                (
                    0,
                    1,
                    &format!(
                        "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra C;\nld.param.u64 %d1, [out];\nmov.u32 %r5, tile;\n\
                         mbarrier.arrive.expect_tx.shared.b64 _, [full], {expected};\n\
                         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%d1], {copied}, [full];\nC:\n"
                    ),
                ),
                (1, 4, &wait("A", "full", &parity.to_string())),
            ])
    };
    assert_eq!(verdict(&brought(256, 256, 0), 128, 0), Ends);
    assert_eq!(verdict(&brought(512, 256, 0), 128, 0), Hangs);
    // The phase before the first one counts as complete.
    assert_eq!(verdict(&brought(512, 256, 1), 128, 0), Ends);
    // The parity of the second phase, which never comes.
    let again = brought(256, 256, 0) + &wait("B", "full", "1");
    assert_eq!(verdict(&again, 128, 0), Hangs);
}

#[test]
fn what_a_hang_says() {
    let code = init(&[("full", 128)])
        + &roles(&[
            (0, 3, "mbarrier.arrive.shared.b64 _, [full];\n"),
            (3, 4, &wait("A", "full", "0")),
        ]);
    let found = outcome(&code, 128, 0, Schedule::First, Stop::AtHang);
    assert_eq!(found.end, End::Stopped);
    let hang = found.hang.expect("it hangs");
    let [stuck] = &hang.waits[..] else {
        panic!("{:?}", hang.waits);
    };
    assert_eq!((stuck.warp, stuck.lanes), (3, u32::MAX));
    let Awaited::Phase {
        parity,
        complete,
        arrivals,
        pending,
        bytes,
        ..
    } = stuck.awaits
    else {
        panic!("{:?}", stuck.awaits);
    };
    assert_eq!((parity, complete, arrivals, pending, bytes), (0, 0, 128, 32, 0));
    let code = roles(&[(0, 3, "bar.sync 2, 128;\n")]);
    let found = outcome(&code, 128, 0, Schedule::First, Stop::AtHang);
    let waits = found.hang.expect("it hangs").waits;
    assert_eq!(waits.iter().map(|one| one.warp).collect::<Vec<_>>(), [0, 1, 2]);
    let count = Awaited::Count {
        number: 2,
        count: 128,
        arrived: 96,
    };
    assert!(waits.iter().all(|one| one.awaits == count), "{waits:?}");
    // A run that goes on passes the barrier.
    let found = outcome(&code, 128, 0, Schedule::First, Stop::Never);
    assert!(found.hang.is_some() && found.has_passed_counted);
    assert_eq!(found.end, End::Complete);
}

/// A ring of slots, of `depth`: a warp that fills them, and one that empties them, `n` times each. `left_out`: a piece that is not there.
fn ring(depth: u32, left_out: &str) -> String {
    let names = |kind: &str| {
        (0..depth)
            .map(move |slot| format!("{kind}+{}", 8 * slot))
            .collect::<Vec<_>>()
    };
    let (full, empty) = (names("full"), names("empty"));
    let barriers: Vec<(&str, u32)> = full
        .iter()
        .map(|name| (name.as_str(), 32))
        .chain(empty.iter().map(|name| (name.as_str(), 32)))
        .collect();
    let step = |label: &str| {
        let turn = if left_out == "turn" {
            ""
        } else {
            "xor.b32 %r6, %r6, %r9;\n"
        };
        format!(
            "add.u32 %r4, %r4, 1;\nadd.u32 %r5, %r5, 1;\nsetp.eq.u32 %p4, %r5, {depth};\nselp.u32 %r9, 1, 0, %p4;\n\
             selp.u32 %r5, 0, %r5, %p4;\n{turn}bra {label};\n"
        )
    };
    let head = |label: &str| {
        format!(
            "mov.u32 %r4, 0;\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\n{label}: setp.ge.u32 %p5, %r4, %r3;\n@%p5 bra {label}E;\nshl.b32 %r7, %r5, 3;\n\
                 mov.u32 %r8, full;\nadd.u32 %r8, %r8, %r7;\nmov.u32 %r10, empty;\nadd.u32 %r10, %r10, %r7;\n"
        )
    };
    let producer = head("P")
        + "xor.b32 %r11, %r6, 1;\n"
        + &wait("PW", "%r10", "%r11")
        + "mbarrier.arrive.shared.b64 _, [%r8];\n"
        + &step("P")
        + "PE:\n";
    let release = if left_out == "release" {
        ""
    } else {
        "mbarrier.arrive.shared.b64 _, [%r10];\n"
    };
    let consumer = head("Q") + &wait("QW", "%r8", "%r6") + release + &step("Q") + "QE:\n";
    init(&barriers) + &roles(&[(0, 1, &producer), (1, 2, &consumer)])
}

#[test]
fn rings_go_round() {
    for depth in 1..=4 {
        for rounds in [0, 1, 2, 3, 4, 5, 9] {
            assert_eq!(
                verdict(&ring(depth, ""), 64, rounds),
                Verdict::Ends,
                "{depth} {rounds}"
            );
            // Without a release, the slots are empty once.
            let without = verdict(&ring(depth, "release"), 64, rounds);
            let hangs = rounds > u64::from(depth);
            assert_eq!(without == Verdict::Hangs, hangs, "{depth} {rounds} {without:?}");
            // With the parity of the first round, the consumer hangs in the second one, or passes it early.
            let may = may_hang(&ring(depth, "turn"), 64, rounds);
            assert_eq!(may, rounds > u64::from(depth), "{depth} {rounds}");
        }
    }
}

#[test]
fn loops_that_may_end_otherwise_are_no_hangs() {
    let with = |code: &str| init(&[("full", 64)]) + &roles(&[(0, 1, code)]);
    let test = "mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\n";
    assert_eq!(
        verdict(&with(&format!("A: {test}@!%p3 bra A;\n")), 64, 0),
        Verdict::Hangs
    );
    // A hint, a pause, a pause that grows to its most.
    let hint = "A: mbarrier.try_wait.parity.shared.b64 %p3, [full], 0, 1000;\n@!%p3 bra A;\n";
    assert_eq!(verdict(&with(hint), 64, 0), Verdict::Hangs);
    assert_eq!(
        verdict(
            &with(&format!("A: {test}@%p3 bra B;\nnanosleep.u32 20;\nbra A;\nB:\n")),
            64,
            0
        ),
        Verdict::Hangs
    );
    let grows = format!(
        "mov.u32 %r4, 8;\nA: {test}@%p3 bra B;\nnanosleep.u32 %r4;\nshl.b32 %r4, %r4, 1;\nmin.u32 %r4, %r4, 100000;\nbra A;\nB:\n"
    );
    assert_eq!(verdict(&with(&grows), 64, 0), Verdict::Hangs);
    // So many rounds, then it goes on: a few, or too many to be sure.
    let rounds = |most: u32| {
        format!(
            "mov.u32 %r4, 0;\nA: {test}@%p3 bra B;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p4, %r4, {most};\n@%p4 bra A;\nB:\n"
        )
    };
    assert_eq!(verdict(&with(&rounds(20)), 64, 0), Verdict::Ends);
    assert_eq!(verdict(&with(&rounds(100_000)), 64, 0), Verdict::Open);
    // A flag in global memory, or a clock, ends it.
    let flag = format!(
        "ld.param.u64 %d1, [out];\nA: {test}@%p3 bra B;\nld.volatile.global.u32 %r4, [%d1];\nsetp.eq.u32 %p4, %r4, 0;\n@%p4 bra A;\nB:\n"
    );
    assert_ne!(verdict(&with(&flag), 64, 0), Verdict::Hangs);
    let own_flag = format!(
        "ld.param.u64 %d1, [out];\nst.global.u32 [%d1], 0;\nA: {test}@%p3 bra B;\nld.volatile.global.u32 %r4, [%d1];\nsetp.eq.u32 %p4, %r4, 0;\n@%p4 bra A;\nB:\n"
    );
    assert_eq!(verdict(&with(&own_flag), 64, 0), Verdict::Open);
    let clock =
        format!("A: {test}@%p3 bra B;\nmov.u32 %r4, %clock;\nsetp.lt.u32 %p4, %r4, 1000;\n@%p4 bra A;\nB:\n");
    assert_ne!(verdict(&with(&clock), 64, 0), Verdict::Hangs);
    // Each round of a loop that tests releases another warp, which arrives in the end.
    let helps = init(&[("full", 1), ("empty", 512)])
        + &roles(&[
            (
                0,
                1,
                &format!("A: {test}@%p3 bra B;\nmbarrier.arrive.shared.b64 _, [empty];\nbra A;\nB:\n"),
            ),
            (
                1,
                2,
                &(wait("C", "empty", "0")
                    + "setp.eq.u32 %p4, %r1, 32;\n@%p4 mbarrier.arrive.shared.b64 _, [full];\n"),
            ),
        ]);
    assert_eq!(verdict(&helps, 64, 0), Verdict::Ends);
    let helps = helps.replace("512", "320000");
    assert_eq!(verdict(&helps, 64, 0), Verdict::Open);
}

#[test]
fn what_is_not_modelled_is_no_hang() {
    let waits = |code: &str| {
        let role = format!(
            "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra C;\nld.param.u64 %d1, [out];\nmov.u32 %r5, tile;\n{code}C:\n"
        );
        init(&[("full", 2)]) + &roles(&[(0, 1, &role), (1, 2, &wait("A", "full", "0"))])
    };
    let arrive = "mbarrier.arrive.shared.b64 _, [full];\n";
    assert_eq!(verdict(&waits(arrive), 64, 0), Verdict::Hangs);
    for other in [
        // Another block of the cluster.
        "mov.u32 %r6, full;\nmapa.shared::cluster.u32 %r6, %r6, 1;\nmbarrier.arrive.shared::cluster.b64 _, [%r6];\n",
        // A tensor map, several blocks.
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5], [%d1, {%r1}], [full];\n",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%d1], 16, [full], 3;\n",
        // Bytes, arrivals and addresses that nobody knows.
        "ld.global.u32 %r6, [%d1];\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%d1], %r6, [full];\n",
        "ld.global.u32 %r6, [%d1];\nmbarrier.arrive.shared.b64 _, [full], %r6;\n",
        "ld.global.u32 %r6, [%d1];\nmbarrier.arrive.shared.b64 _, [%r6];\n",
        "ld.global.u32 %r6, [%d1];\nmbarrier.arrive.expect_tx.shared.b64 _, [full], %r6;\n",
        // An arrival that may not be made.
        "ld.global.u32 %r6, [%d1];\nsetp.eq.u32 %p6, %r6, 0;\n@%p6 mbarrier.arrive.shared.b64 _, [full];\n",
        "ld.global.u32 %r6, [%d1];\nsetp.eq.u32 %p6, %r6, 0;\n@%p6 bra D;\nmbarrier.arrive.shared.b64 _, [full];\nD:\n",
    ] {
        let found = verdict(&waits(&(arrive.to_owned() + other)), 64, 0);
        assert_eq!(found, Verdict::Open, "{other}");
    }
}

#[test]
fn arrivals_of_all_kinds() {
    use Verdict::{Ends, Hangs};
    let all = |count: u32, code: &str| {
        init(&[("full", count)]) + "mov.u32 %r2, 0;\n" + code + &wait("A", "full", "0")
    };
    let copies = |arrive: &str| {
        format!(
            "ld.param.u64 %d1, [out];\nmov.u32 %r5, tile;\ncp.async.ca.shared.global [%r5], [%d1], 4;\n{arrive}"
        )
    };
    let noinc = copies("cp.async.mbarrier.arrive.noinc.shared.b64 [full];\n");
    assert_eq!(verdict(&all(32, &noinc), 32, 0), Ends);
    assert_eq!(verdict(&all(64, &noinc), 32, 0), Hangs);
    // Without `.noinc` it adds the arrival that it makes.
    let inc = copies("cp.async.mbarrier.arrive.shared.b64 [full];\n");
    assert_eq!(verdict(&all(32, &inc), 32, 0), Hangs);
    let both = inc + "mbarrier.arrive.shared.b64 _, [full];\n";
    assert_eq!(verdict(&all(32, &both), 32, 0), Ends);
    // The state of an arrival instead of a parity.
    let state = "mbarrier.arrive.shared.b64 %d2, [full];\nS: mbarrier.try_wait.shared.b64 %p3, [full], %d2;\n@!%p3 bra S;\n";
    assert_eq!(verdict(&all(32, state), 32, 0), Ends);
    assert_eq!(verdict(&all(33, state), 32, 0), Hangs);
    // Lanes of a second phase that have left.
    let drop = "setp.ge.u32 %p2, %r1, 16;\n@%p2 mbarrier.arrive_drop.shared.b64 %d2, [full];\n@%p2 bra E;\nmbarrier.arrive.shared.b64 _, [full];\n";
    let second = "mbarrier.arrive.shared.b64 _, [full];\n".to_owned() + &wait("B", "full", "1") + "E:\n";
    assert_eq!(verdict(&(all(32, drop) + &second), 32, 0), Ends);
    let stays = drop.replace("arrive_drop", "arrive");
    assert_eq!(verdict(&(all(32, &stays) + &second), 32, 0), Hangs);
    // The tensor core arrives.
    let products = "setp.eq.u32 %p2, %r1, 0;\n@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];\n";
    assert_eq!(verdict(&all(1, products), 32, 0), Ends);
    assert_eq!(verdict(&all(2, products), 32, 0), Hangs);
}

#[test]
fn collectives_that_wait_for_a_phase() {
    let elected = |count: u32| {
        let code = "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra L;\n".to_owned()
            + &wait("A", "full", "0")
            + "L: bar.warp.sync 0xffffffff;\n";
        init(&[("full", count)]) + &roles(&[(0, 1, &code), (1, 2, "mbarrier.arrive.shared.b64 _, [full];\n")])
    };
    assert_eq!(verdict(&elected(32), 64, 0), Verdict::Ends);
    assert_eq!(verdict(&elected(33), 64, 0), Verdict::Hangs);
    // All lanes vote about what each has found.
    let votes = |count: u32| {
        let code = "V: mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;\nvote.sync.all.pred %p4, %p3, 0xffffffff;\n@!%p4 bra V;\n";
        init(&[("full", count)]) + &roles(&[(0, 1, code), (1, 2, "mbarrier.arrive.shared.b64 _, [full];\n")])
    };
    assert_eq!(verdict(&votes(32), 64, 0), Verdict::Ends);
    assert_eq!(verdict(&votes(33), 64, 0), Verdict::Hangs);
    // A collective that goes wrong by itself is another defect.
    let other = init(&[("full", 33)])
        + &roles(&[
            (
                0,
                1,
                "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra L;\nbar.warp.sync 0xffffffff;\nbra M;\nL: bar.warp.sync 0xfffffffe;\nM:\n",
            ),
            (1, 2, &wait("A", "full", "0")),
        ]);
    let found = outcome(&other, 64, 0, Schedule::First, Stop::AtHang);
    assert_eq!(found.hang, None);
}

#[test]
fn a_branch_on_an_unknown_value_is_no_hang() {
    let code = roles(&[
        (
            0,
            1,
            "ld.param.u64 %d1, [out];\nld.global.u32 %r4, [%d1];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra L;\nbar.sync 1, 64;\nL:\n",
        ),
        (1, 2, "bar.sync 1, 64;\n"),
    ]);
    for schedule in SCHEDULES {
        let found = outcome(&code, 64, 0, schedule, Stop::AtHang);
        assert_eq!(found.hang, None);
        assert!(
            matches!(found.end, End::Unknown(Unknown::Branch(_))),
            "{:?}",
            found.end
        );
    }
}

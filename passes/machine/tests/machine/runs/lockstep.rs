//! Lanes that execute instructions at once: they part, join again, call functions and take turns as they would one by one.

use std::collections::BTreeMap;

use ptxcheck_ir::AccessKind;
use ptxcheck_machine::{End, Event, Kernel, Launch, Observer, Schedule, Setup, View};

use super::{SCHEDULES, module, with_kernel, world};

/// By thread, the words that it has stored in global memory, in order.
#[derive(Default)]
struct Stored(BTreeMap<usize, Vec<Option<u64>>>);

impl Observer for Stored {
    fn on(&mut self, at: &ptxcheck_machine::At<'_>, event: &Event<'_>, view: &View<'_>) {
        if !matches!(event, Event::Ended) {
            assert_eq!(view.site(at.thread), Some(at.site()), "{event:?}");
        }
        if let Event::Access(access, words) = event
            && access.kind == AccessKind::Store
        {
            self.0.entry(at.thread).or_default().extend_from_slice(words);
        }
    }
}

/// What each thread of a block stores, with code before the kernel.
fn stored(before: &str, code: &str, threads: u32, schedule: Schedule) -> Vec<Vec<Option<u64>>> {
    with_kernel(&module(before, code), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let setup = Setup::new(Launch::of_block([threads, 1, 1]), schedule);
        let mut seen = Stored::default();
        let outcome = kernel.run(&setup, &mut world(0), &mut seen).expect("it runs");
        assert_eq!(outcome.end, End::Complete, "{schedule:?}");
        seen.0.into_values().collect()
    })
}

const OWN: &str =
    "mov.u32 %r1, %tid.x;\nld.param.u64 %d1, [out];\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d1, %d1, %d2;\n";

#[test]
fn lanes_leave_a_loop_one_after_the_other() {
    // The sum of 0 to the thread's number, and then something that all do.
    let code = format!(
        "{OWN}mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL:\nadd.u32 %r3, %r3, %r2;\nadd.u32 %r2, %r2, 1;\n\
         setp.le.u32 %p1, %r2, %r1;\n@%p1 bra L;\nshl.b32 %r4, %r3, 1;\nst.global.u32 [%d1], %r4;\n"
    );
    for schedule in SCHEDULES {
        let found = stored("", &code, 40, schedule);
        let wanted: Vec<_> = (0..40).map(|thread| vec![Some(thread * (thread + 1))]).collect();
        assert_eq!(found, wanted, "{schedule:?}");
    }
}

#[test]
fn lanes_in_two_calls_of_a_function_have_their_own_registers() {
    // The lower half of a warp calls it with one number, the upper half with another one, and each lane twice.
    let callee = ".func (.param .b32 result) doubled(.param .b32 number)\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n\
                  ld.param.u32 %r1, [number];\nsetp.gt.u32 %p1, %r1, 100;\n@%p1 bra E;\nadd.u32 %r2, %r1, %r1;\nE:\n\
                  st.param.b32 [result], %r2;\nret;\n}\n";
    let call = |from: &str, to: &str| {
        format!(
            "{{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], {from};\ncall (b), doubled, (a);\nld.param.b32 {to}, [b];\n}}\n"
        )
    };
    let code = format!(
        "{OWN}setp.lt.u32 %p1, %r1, 16;\nadd.u32 %r2, %r1, 30;\n@!%p1 bra A;\n{}bra B;\nA:\n{}B:\n{}st.global.v2.u32 [%d1], {{%r3, %r4}};\n",
        call("%r1", "%r3"),
        call("%r2", "%r3"),
        call("%r3", "%r4"),
    );
    for schedule in SCHEDULES {
        for (thread, found) in (0_u64..).zip(stored(callee, &code, 32, schedule)) {
            let once = if thread < 16 {
                2 * thread
            } else {
                2 * (thread + 30)
            };
            // Above 100 the result is a register that nothing has written in this call.
            let twice = (once <= 100).then_some(2 * once);
            assert_eq!(found, [Some(once), twice], "{schedule:?} {thread}");
        }
    }
}

#[test]
fn a_lane_that_waits_for_another_gives_it_its_turn() {
    // Lane 0 waits for what lane 31 writes after a long loop.
    let code = format!(
        "{OWN}setp.eq.u32 %p1, %r1, 0;\n@%p1 bra W;\nmov.u32 %r2, 0;\nL:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 9000;\n\
         @%p2 bra L;\nst.volatile.global.u32 [%d1], %r2;\nbra D;\nW:\nld.volatile.global.u32 %r3, [%d1+124];\n\
         setp.ne.u32 %p3, %r3, 9000;\n@%p3 bra W;\nst.global.u32 [%d1], %r3;\nD:\n"
    );
    with_kernel(&module("", &code), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let setup = Setup::new(Launch::of_block([32, 1, 1]), Schedule::First);
        let mut given = world(0);
        given.memory(ptxcheck_ir::Space::Global, 0x10_0000 + 124, 4, 0);
        let mut seen = Stored::default();
        let outcome = kernel.run(&setup, &mut given, &mut seen).expect("it runs");
        assert_eq!(outcome.end, End::Complete);
        assert!(seen.0.values().all(|words| *words == [Some(9_000)]));
        assert_eq!(seen.0.len(), 32);
    });
}

#[test]
fn a_guard_that_is_not_known_makes_results_unknown() {
    let code = format!(
        "{OWN}ld.global.u32 %r2, [%d1+4096];\nsetp.eq.u32 %p1, %r2, 0;\nmov.u32 %r3, 5;\n@%p1 add.u32 %r3, %r3, %r1;\n\
         setp.lt.u32 %p2, %r1, 8;\nmov.u32 %r4, 6;\n@%p2 add.u32 %r4, %r4, %r1;\nst.global.v2.u32 [%d1], {{%r3, %r4}};\n"
    );
    for (thread, found) in (0_u64..).zip(stored("", &code, 32, Schedule::First)) {
        assert_eq!(found, [None, Some(if thread < 8 { 6 + thread } else { 6 })]);
    }
}

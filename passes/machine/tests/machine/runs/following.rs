//! Reads that are watched: whether something depends on the values that threads have read.

use ptxcheck_machine::{Exchanges, Kernel, Launch, Schedule, Setup, Unobserved, Watched};

use super::{SCHEDULES, module, with_kernel, world};

const BEGIN: &str = "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\nsetp.eq.u32 %p2, %r1, 40;\nld.param.u64 %d1, [out];\nld.param.u32 %r7, [n];\n";

const WORDS: &str = ".shared .align 16 .b8 words[512];\n\
    .func (.param .b32 back) id(.param .b32 value)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [value];\nadd.s32 %r2, %r1, 1;\n\
    st.param.b32 [back], %r2;\nret;\n}\n";

/// Thread 0 writes a word, and all of warp 1 read it into `%r3` in no order; then this code follows. Which of the threads 32 to 63 use it?
/// `changes`: the bits that thread 0 may change; all, if nothing else is said.
fn used(code: &str, schedule: Schedule, changes: Option<u64>) -> u32 {
    let begin = "@%p1 st.shared.u32 [words], 7;\nsetp.lt.u32 %p3, %r1, 32;\n@%p3 bra E;\nld.shared.u32 %r3, [words];\n";
    let text = module(WORDS, &format!("{BEGIN}{begin}{code}\nE:\n"));
    with_kernel(&text, |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let setup = Setup::new(Launch::of_block([64, 1, 1]), schedule);
        let mut exchanges = Exchanges::without_atomics().with_block().without_lanes();
        let outcome = kernel
            .run(&setup, &mut world(5), &mut exchanges)
            .expect("it runs");
        assert_eq!(outcome.used, 0);
        let examples = exchanges.found().iter().flat_map(|one| &one.examples);
        let reads: Vec<(u32, Watched)> = examples
            .filter_map(|one| {
                let (number, changes) = (one.read?, changes.unwrap_or(one.changes));
                Some((one.threads.0.max(one.threads.1), Watched { number, changes }))
            })
            .collect();
        assert_eq!(reads.len(), 32, "{schedule:?}");
        let watched: Vec<Watched> = reads.iter().map(|(_, watched)| *watched).collect();
        let setup = Setup {
            watched: &watched,
            ..setup
        };
        let outcome = kernel
            .run(&setup, &mut world(5), &mut Unobserved)
            .expect("it runs");
        let threads = reads
            .iter()
            .enumerate()
            .filter(|(place, _)| outcome.used >> place & 1 == 1);
        threads.fold(0, |all, (_, (thread, _))| all | 1 << (thread % 32))
    })
}

#[track_caller]
fn uses(code: &str, expected: u32) {
    for schedule in SCHEDULES {
        assert_eq!(used(code, schedule, None), expected, "{schedule:?} {code}");
    }
}

const ALL: u32 = u32::MAX;
/// Of thread 40.
const ONE: u32 = 1 << 8;

#[test]
fn effects_that_others_see_use_a_value() {
    uses("", 0);
    uses("add.s32 %r4, %r3, 1;", 0);
    uses("st.global.u32 [%d1], %r3;", ALL);
    uses(
        "add.s32 %r4, %r3, 1;\nxor.b32 %r4, %r4, %r1;\nst.shared.u32 [words+4], %r4;",
        ALL,
    );
    uses("@%p2 st.global.u32 [%d1], %r3;", ONE);
    uses(
        "setp.eq.u32 %p4, %r3, 7;\n@%p4 bra E;\nst.global.u32 [%d1], 0;",
        ALL,
    );
    uses("setp.eq.u32 %p4, %r3, 7;\n@%p4 st.global.u32 [%d1], 0;", ALL);
    uses("atom.global.add.u32 %r5, [%d1], %r3;", ALL);
    uses(
        "mul.wide.u32 %d2, %r3, 4;\nadd.s64 %d2, %d1, %d2;\nld.global.u32 %r5, [%d2];",
        ALL,
    );
    uses(
        "cvt.rn.f32.u32 %r4, %r3;\nadd.f32 %r4, %r4, %r4;\nst.global.u32 [%d1], %r4;",
        ALL,
    );
    uses(
        "vote.sync.any.pred %p5, %p2, -1;\nsetp.eq.u32 %p4, %r3, 7;\nvote.sync.any.pred %p5, %p4, -1;",
        ALL,
    );
}

#[test]
fn a_value_that_is_dropped_is_not_used() {
    uses("selp.u32 %r4, %r3, 0, %p2;\nst.global.u32 [%d1], %r4;", ONE);
    uses("selp.u32 %r4, 0, %r3, %p2;\nst.global.u32 [%d1], %r4;", !ONE);
    uses(
        "mov.u32 %r4, 0;\n@%p2 mov.u32 %r4, %r3;\nst.global.u32 [%d1], %r4;",
        ONE,
    );
    uses("mov.u32 %r3, 0;\nst.global.u32 [%d1], %r3;", 0);
    uses("@!%p2 bra E;\nst.global.u32 [%d1], %r3;", ONE);
    // The predicate depends on it.
    uses(
        "setp.eq.u32 %p4, %r3, 7;\nselp.u32 %r4, 1, 0, %p4;\nst.global.u32 [%d1], %r4;",
        ALL,
    );
    uses(
        "setp.eq.u32 %p4, %r3, 7;\nmov.u32 %r4, 0;\n@%p4 mov.u32 %r4, 1;\nst.global.u32 [%d1], %r4;",
        ALL,
    );
}

#[test]
fn lanes_hand_values_on() {
    let sent = "shfl.sync.idx.b32 %r4, %r3, 8, 31, -1;\n";
    uses(sent, 0);
    uses(&format!("{sent}st.global.u32 [%d1], %r4;"), ONE);
    let summed = "shfl.sync.down.b32 %r4, %r3, 16, 31, -1;\nadd.s32 %r3, %r3, %r4;\nsetp.eq.u32 %p4, %r1, 32;\n\
                  @%p4 st.global.u32 [%d1], %r3;";
    uses(summed, 1 | 1 << 16);
}

#[test]
fn calls_and_a_threads_own_memory_keep_values() {
    let kept = ".local .align 4 .b8 own[16];\nst.local.u32 [own+4], %r3;\nst.local.u32 [own+8], %r1;\nld.local.u32 %r4, [own+OFFSET];\n\
                st.global.u32 [%d1], %r4;";
    uses(&kept.replace("OFFSET", "4"), ALL);
    uses(&kept.replace("OFFSET", "8"), 0);
    let called = "{\n.param .b32 value;\n.param .b32 back;\nst.param.b32 [value], REGISTER;\ncall (back), id, (value);\n\
                  ld.param.b32 %r4, [back];\n}\nst.global.u32 [%d1], %r4;";
    uses(&called.replace("REGISTER", "%r3"), ALL);
    uses(&called.replace("REGISTER", "%r1"), 0);
}

#[test]
fn bits_that_are_the_same_in_any_order_are_not_used() {
    const STORE: &str = "st.global.u32 [%d1], %r4;";
    let tests = |code: &str, changes, expected| {
        let code = format!("{code}\n{STORE}\n");
        for schedule in SCHEDULES {
            let found = used(&code, schedule, Some(changes));
            assert_eq!(found, expected, "{schedule:?} {code} {changes:x}");
        }
    };
    // Another thread sets bit 3.
    tests("and.b32 %r4, %r3, 8;", 8, ALL);
    tests("and.b32 %r4, %r3, 16;", 8, 0);
    tests("and.b32 %r4, 16, %r3;", 8, 0);
    tests("or.b32 %r4, %r3, 8;", 8, 0);
    tests("or.b32 %r4, %r3, 16;", 8, ALL);
    // Each thread tests a bit of its own.
    tests(
        "and.b32 %r6, %r1, 31;\nshl.b32 %r5, 1, %r6;\nand.b32 %r4, %r3, %r5;",
        1 << 8,
        ONE,
    );
    tests(
        "and.b32 %r6, %r1, 31;\nshr.u32 %r5, %r3, %r6;\nand.b32 %r4, %r5, 1;",
        1 << 8,
        ONE,
    );
    tests(
        "mov.b32 %r5, %r3;\nshl.b32 %r5, %r5, 4;\nand.b32 %r4, %r5, 0x80;",
        8,
        ALL,
    );
    tests(
        "mov.b32 %r5, %r3;\nshl.b32 %r5, %r5, 4;\nand.b32 %r4, %r5, 8;",
        8,
        0,
    );
    tests("cvt.u64.u8 %d2, %r3;\ncvt.u32.u64 %r4, %d2;", 0x100, 0);
    tests("xor.b32 %r5, %r3, %r7;\nand.b32 %r4, %r5, 16;", 8, 0);
    tests("xor.b32 %r5, %r3, %r7;\nand.b32 %r4, %r5, 8;", 8, ALL);
    for (test, changes, expected) in [
        ("lt.s32 %p4, %r3, 0", 8, 0),
        ("ge.s32 %p4, %r3, 0", 1 << 31, ALL),
        ("gt.s32 %p4, %r3, -1", 8, 0),
        ("lt.s32 %p4, %r3, 1", 8, ALL),
        ("lt.u32 %p4, %r3, 0", 8, ALL),
    ] {
        tests(
            &format!("setp.{test};\nselp.u32 %r4, 1, 2, %p4;"),
            changes,
            expected,
        );
    }
    // Debug builds keep values on the stack.
    let slot = ".local .align 4 .b8 slot[8];\nst.local.u32 [slot], %r3;\nld.local.u32 %r5, [slot];\n";
    tests(&format!("{slot}and.b32 %r4, %r5, 16;"), 8, 0);
    tests(&format!("{slot}and.b32 %r4, %r5, 8;"), 8, ALL);
    let cut = format!("{slot}st.local.u8 [slot+1], %r3;\nld.local.u32 %r5, [slot];\nand.b32 %r4, %r5, 16;");
    tests(&cut, 8, ALL);
    // A sum carries, and a register that is written again is another one.
    tests("add.u32 %r5, %r3, 1;\nand.b32 %r4, %r5, 16;", 8, ALL);
    tests(
        "and.b32 %r5, %r3, 24;\nadd.u32 %r5, %r5, %r3;\nand.b32 %r4, %r5, 16;",
        8,
        ALL,
    );
}

use std::fmt::Write as _;

use crate::certainty::Certainty;
use crate::lanes;
use crate::testing::with_ptx;

/// A module with one kernel of this code.
fn module_with_kernel(code: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %a<3>;\nld.param.u64 %a0, [out];\nld.param.u32 %r0, [n];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\n{code}\nret;\n}}\n"
    )
}

/// Number of kernels in `code` that are solved lane by lane for definite findings.
fn suspect_count(code: &str) -> usize {
    with_ptx(&module_with_kernel(code), |module| {
        assert_eq!(lanes::analyse(module, Certainty::Potential).len(), 1);
        lanes::analyse(module, Certainty::Definite).len()
    })
}

/// Checks the number of suspects if lanes for which `%p1` holds skip a collective, after each of `starts`.
fn check_suspects_after_each(starts: &[&str], expected: usize) {
    for start in starts {
        assert_eq!(
            suspect_count(&format!("{start} @%p1 bra L; {MEET} L:")),
            expected,
            "{start}"
        );
    }
}

const MEET: &str = "shfl.sync.down.b32 %r8, %r8, 1, 31, -1;";

/// A mask that is 0 because it is computed from a value and itself; the value comes from memory or from a slot of the stack.
#[test]
fn kernels_with_masks_that_cancel_are_suspects() {
    for (keep, again) in [
        ("", "mov.u32 %r4, %r3;"),
        ("st.local.u32 [slot], %r3;", "ld.local.u32 %r4, [slot];"),
        ("", "not.b32 %r4, %r3;"),
        (
            "st.local.u32 [slot], %r3;",
            "ld.local.u32 %r4, [slot]; not.b32 %r4, %r4;",
        ),
    ] {
        let operation = if again.contains("not") { "and" } else { "xor" };
        let code = format!(
            ".local .align 4 .b8 slot[4]; ld.global.u32 %r3, [%a0]; {keep} {again} {operation}.b32 %r5, %r3, %r4; \
             bar.warp.sync %r5;"
        );
        assert_eq!(suspect_count(&code), 1, "{code}");
    }
    // Two values that are not known to be equal.
    let code =
        "ld.global.u32 %r3, [%a0]; ld.global.u32 %r4, [%a0+4]; xor.b32 %r5, %r3, %r4; bar.warp.sync %r5;";
    assert_eq!(suspect_count(code), 0);
}

#[test]
fn kernels_with_converged_code_are_no_suspects() {
    assert_eq!(suspect_count(MEET), 0);
    // An unknown bound, whole warps, and effects of a lane that is not on the path to the collective.
    check_suspects_after_each(
        &[
            "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r3, %r4, %r1; setp.ge.u32 %p1, %r5, %r0;",
            "setp.ge.u32 %p1, %r1, 32;",
            "shr.u32 %r3, %r1, 5; setp.ne.u32 %p1, %r3, 0;",
            "ld.global.u32 %r3, [%a0]; setp.ne.u32 %p1, %r3, 7;",
        ],
        0,
    );
    let beside = "setp.ne.u32 %p1, %r2, 0; @%p1 bra L; st.global.u32 [%a0], %r1; L:";
    assert_eq!(suspect_count(&format!("{beside} {MEET}")), 0);
}

#[test]
fn kernels_with_branches_that_differ_by_lane_are_suspects() {
    for branch in [
        "setp.ge.u32 %p1, %r2, 16;",
        "setp.eq.u32 %p1, %r1, 0;",
        "and.b32 %r3, %r1, 1; setp.ne.u32 %p1, %r3, 0;",
        // Lane 31 is beyond any number of five bits.
        "and.b32 %r3, %r0, 31; setp.ge.u32 %p1, %r2, %r3;",
        // The same through a variable that some lanes set.
        "mov.u32 %r3, 1; setp.lt.u32 %p2, %r2, 4; @%p2 mov.u32 %r3, 2; setp.ne.u32 %p1, %r3, 1;",
        "mov.u32 %r3, 1; setp.lt.u32 %p2, %r2, 4; @%p2 bra M; mov.u32 %r3, 2; M: setp.ne.u32 %p1, %r3, 1;",
    ] {
        check_suspects_after_each(&[branch], 1);
        assert_eq!(
            suspect_count(&format!("{branch} @%p1 exit; {MEET}")),
            1,
            "{branch}"
        );
    }
    assert_eq!(
        suspect_count(&format!("setp.ge.u32 %p1, %r2, 16; @%p1 {MEET}")),
        1
    );
}

#[test]
fn kernels_with_partial_masks_are_suspects() {
    for mask in [
        "mov.u32 %r7, 0x0000ffff;",
        "mov.u32 %r7, 0;",
        "shl.b32 %r7, 1, %r2;",
        "setp.lt.u32 %p2, %r2, 8; vote.sync.ballot.b32 %r7, %p2, -1;",
        "rem.u32 %r7, %r0, 1;",
        // Branches may decide whether the mask names the arriving lanes.
        "setp.lt.u32 %p2, %r2, %r0; vote.sync.ballot.b32 %r7, %p2, -1;",
        "and.b32 %r7, %r0, 0xffffff0f;",
        "or.b32 %r7, %r0, 256;",
    ] {
        assert_eq!(suspect_count(&format!("{mask} bar.warp.sync %r7;")), 1, "{mask}");
    }
    for mask in [
        "mov.u32 %r7, -1;",
        "mov.u32 %r7, %r0;",
        "ld.global.u32 %r7, [%a0];",
    ] {
        assert_eq!(suspect_count(&format!("{mask} bar.warp.sync %r7;")), 0, "{mask}");
    }
    // Nothing is definite about the lanes that an unknown mask names, regardless of the lanes that arrive.
    let branch = "setp.ge.u32 %p1, %r2, 16;";
    for (mask, expected) in [
        ("activemask.b32 %r7;", 0),
        ("mov.u32 %r7, %r0;", 0),
        ("mov.u32 %r7, -1;", 1),
    ] {
        let code = format!("{branch} @%p1 bra L; {mask} bar.warp.sync %r7; L:");
        assert_eq!(suspect_count(&code), expected, "{mask}");
    }
}

#[test]
fn lanes_that_saw_a_full_activemask_arrive_together() {
    const AMONG: &str = "setp.ne.u32 %p5, %r2, 0; @%p5 bra END;";
    const ALL: &str = "activemask.b32 %r3; setp.eq.u32 %p6, %r3, -1;";
    const CALL: &str = "match.all.sync.b32 %r4|%p1, %r0, -1; st.global.u32 [%a0], %r4;";
    // Lane 0 alone never sees a full mask; nothing is definite after the test. The test may come late, or be kept in a
    // predicate.
    for (test, expected) in [
        (format!("{ALL} @!%p6 bra END; {CALL}"), 0),
        (format!("{ALL} not.pred %p7, %p6; @%p7 bra END; {CALL}"), 0),
        // Another value that is the same for all lanes, or not.
        (
            format!("{ALL} setp.eq.u32 %p7, %r0, 3; and.pred %p8, %p6, %p7; @!%p8 bra END; {CALL}"),
            0,
        ),
        (
            format!("{ALL} setp.lt.u32 %p7, %r2, 16; and.pred %p8, %p6, %p7; @!%p8 bra END; {CALL}"),
            1,
        ),
        (
            format!("{ALL} setp.eq.u32 %p7, %r0, 3; or.pred %p8, %p6, %p7; @!%p8 bra END; {CALL}"),
            1,
        ),
        (
            format!(
                "activemask.b32 %r3; setp.ne.u32 %p6, %r3, -1; setp.eq.u32 %p7, %r0, 3; or.pred %p8, %p6, %p7;\n\
                 @%p8 bra END; {CALL}"
            ),
            0,
        ),
        (
            format!(
                "activemask.b32 %r3; setp.eq.u32 %p7, %r0, 3; setp.eq.and.u32 %p6, %r3, -1, %p7;\n\
                 @!%p6 bra END; {CALL}"
            ),
            0,
        ),
        (
            format!(
                "activemask.b32 %r3; setp.lt.u32 %p7, %r2, 16; setp.eq.and.u32 %p6, %r3, -1, %p7;\n\
                 @!%p6 bra END; {CALL}"
            ),
            1,
        ),
        (
            "activemask.b32 %r3; setp.ne.u32 %p6, %r3, -1; @%p6 bra END; ".to_owned() + CALL,
            0,
        ),
        (
            "activemask.b32 %r3; setp.eq.u32 %p6, %r3, 1; @!%p6 bra END; ".to_owned() + CALL,
            1,
        ),
        (
            format!(
                "activemask.b32 %r3; setp.eq.u32 %p7, %r0, 3; @%p7 bra M; st.global.u32 [%a0], %r1; M:\n\
                 setp.eq.u32 %p6, %r3, -1; @!%p6 bra END; {CALL}"
            ),
            0,
        ),
        (
            format!(
                "{ALL} @%p6 bra M; mov.pred %p7, 0; bra N; M: {CALL} mov.pred %p7, %p1; N:\n\
                 st.global.u32 [%a0], %r1; @!%p7 bra END; bar.warp.sync -1;"
            ),
            0,
        ),
        // Half of the lanes lose the value on the way.
        (
            format!(
                "{ALL} @%p6 bra M; mov.pred %p7, 0; bra N; M: {CALL} mov.pred %p7, %p1; N:\n\
                 setp.lt.u32 %p8, %r2, 16; @%p8 bra O; mov.pred %p7, 0; O: @!%p7 bra END; bar.warp.sync -1;"
            ),
            1,
        ),
        // Lanes that have not been there take it for a full mask.
        (
            format!(
                "{ALL} @%p6 bra M; mov.pred %p7, 1; bra N; M: {CALL} mov.pred %p7, %p1; N:\n\
                 st.global.u32 [%a0], %r1; @!%p7 bra END; bar.warp.sync -1;"
            ),
            1,
        ),
    ] {
        let code = format!("{AMONG} {test} st.global.u32 [%a0], %r2; END:");
        assert_eq!(suspect_count(&code), expected, "{code}");
    }
}

#[test]
fn values_picked_by_all_lanes_alike_do_not_split_them() {
    // The path that lanes take is known for all of them, or for none.
    let pick = |test: &str| {
        format!(
            "{test} @%p6 bra M; mov.u32 %r4, 0; bra N; M: ld.global.u32 %r4, [%a0]; N: setp.ne.u32 %p1, %r4, 0;"
        )
    };
    check_suspects_after_each(&[&pick("activemask.b32 %r3; setp.eq.u32 %p6, %r3, -1;")], 0);
    check_suspects_after_each(&[&pick("setp.eq.u32 %p6, %r2, 3;")], 1);
}

#[test]
fn values_from_different_paths_differ_by_lane() {
    let test = "setp.ne.u32 %p1, %r4, 0;";
    for roles in [
        // It is not known which threads have a role.
        "mov.u32 %r3, 4; setp.lt.u32 %p2, %r1, %r0; @%p2 bra M; mov.u32 %r3, 8; M: and.b32 %r4, %r3, 4;",
        // Once around a loop or twice: it is not known.
        "mov.u32 %r5, 0; setp.eq.u32 %p3, %r0, 7; N: mov.u32 %r6, %r5; mov.u32 %r5, 1; not.pred %p2, %p3; \
         mov.pred %p3, -1; @%p2 bra N; setp.lt.u32 %p4, %r1, %r6; selp.u32 %r4, 1, 0, %p4;",
        // A flag that all lanes load does not identify a role, even if thread 0 also stores something.
        "ld.global.u32 %r3, [%a0]; setp.ne.u32 %p2, %r1, 0; @%p2 bra M; st.global.u32 [%a0], %r1; M: \
         and.b32 %r4, %r3, 4;",
    ] {
        check_suspects_after_each(&[&format!("{roles} {test}")], 0);
    }
    for roles in [
        "mov.u32 %r3, 4; setp.lt.u32 %p2, %r1, 3; @%p2 bra M; mov.u32 %r3, 8; M: and.b32 %r4, %r3, 4;",
        // The first three lanes set a bit, and a loop changes another one.
        "mov.u32 %r3, 4; setp.lt.u32 %p2, %r1, 3; @%p2 bra M; mov.u32 %r3, 8; M: xor.b32 %r3, %r3, 16; \
         ld.global.u32 %r6, [%a0]; setp.ne.u32 %p3, %r6, 0; @%p3 bra M; and.b32 %r4, %r3, 4;",
        // They leave a loop first.
        "mov.u32 %r3, 0; M: setp.lt.u32 %p2, %r1, 3; @%p2 bra N; add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, %r0; \
         @%p3 bra M; N: and.b32 %r4, %r3, 1;",
    ] {
        check_suspects_after_each(&[&format!("{roles} {test}")], 1);
    }
}

#[test]
fn whole_warps_stay_together() {
    check_suspects_after_each(
        &[
            // An unknown number of warps, with and without a first thread.
            "and.b32 %r3, %r0, 8160; setp.ge.u32 %p1, %r1, %r3;",
            "shl.b32 %r3, %r0, 5; setp.le.s32 %p1, %r3, %r1;",
            "and.b32 %r3, %r0, 992; sub.s32 %r4, %r1, %r3; setp.lt.u32 %p1, %r4, 64;",
            "add.u32 %r3, %r1, -96; setp.ge.u32 %p1, %r3, 64;",
            "setp.ne.u32 %p2, %r0, 0; selp.u32 %r3, 320, 128, %p2; setp.lt.u32 %p1, %r1, %r3;",
            // The first thread may leave, the others certainly stay: all may arrive.
            "and.b32 %r3, %r0, 992; sub.s32 %r4, %r1, %r3; setp.eq.u32 %p1, %r4, 0;",
        ],
        0,
    );
    check_suspects_after_each(
        &[
            "and.b32 %r3, %r0, 8160; setp.gt.u32 %p1, %r1, %r3;",
            "and.b32 %r3, %r0, 16; setp.ge.u32 %p1, %r1, %r3;",
            "add.u32 %r3, %r1, -90; setp.ge.u32 %p1, %r3, 64;",
        ],
        1,
    );
}

#[test]
fn results_and_arguments_of_calls_are_followed() {
    let call = |body: &str, passed: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func (.param .b32 back) f(.param .b32 a)\n{{\n\
             .reg .b32 %r<9>;\nld.param.b32 %r1, [a];\n{body}\nst.param.b32 [back], %r2;\nret;\n}}\n\
             .visible .entry k()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\nmov.u32 %r1, {passed};\n\
             {{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call.uni (q), f, (p); ld.param.b32 %r2, [q]; }}\n\
             setp.ne.s32 %p1, %r2, 0; @%p1 bra L;\n{MEET}\nL: ret;\n}}\n"
        );
        with_ptx(&text, |module| lanes::analyse(module, Certainty::Definite).len())
    };
    assert_eq!(call("and.b32 %r2, %r1, 1;", "%tid.x"), 1);
    assert_eq!(call("mov.b32 %r2, %laneid;", "0"), 1);
    assert_eq!(call("mov.b32 %r2, %ctaid.x;", "%tid.x"), 0);
    assert_eq!(call("shfl.sync.down.b32 %r2, %r1, 1, 31, -1;", "%tid.x"), 0);
}

/// The same as [`suspect_count`]; also checks that the analysis of all lanes has a definite finding or none, as expected.
fn suspect_count_checked_by_analysis(code: &str) -> usize {
    // A lane that has nothing more to do is not missed.
    let code = &format!("{code} st.global.u32 [%a0], %r1;");
    let found = suspect_count(code);
    with_ptx(&module_with_kernel(code), |module| {
        let roots = lanes::analyse(module, Certainty::Potential);
        let mut all = roots.iter().flat_map(|root| &root.findings);
        let is_definite = all.any(|found| found.issue.certainty == Certainty::Definite);
        assert_eq!(is_definite, found > 0, "{code}");
    });
    found
}

const UPPER: &str = "setp.ge.u32 %p1, %r2, 16;";

#[test]
fn one_witness_suffices_for_all_collectives_of_its_kind() {
    assert_eq!(
        suspect_count_checked_by_analysis(&format!("{UPPER} @%p1 bra L; {MEET} L: {MEET}")),
        0
    );
    // If nothing is known of a branch, all lanes may pass.
    let perhaps = "setp.lt.u32 %p2, %r0, 5;";
    assert_eq!(
        suspect_count_checked_by_analysis(&format!(
            "{perhaps} @%p2 bra M; {MEET} M: {UPPER} @%p1 bra L; {MEET} L:"
        )),
        0
    );
    // Another kind, another mask, and a collective that only the same lanes reach.
    for other in [
        "bar.warp.sync -1;",
        "shfl.sync.up.b32 %r8, %r8, 1, 31, -1;",
        "@!%p1 shfl.sync.down.b32 %r8, %r8, 1, 31, -1;",
        "shfl.sync.down.b32 %r8, %r8, 1, 31, 0xffff;",
    ] {
        assert_eq!(
            suspect_count_checked_by_analysis(&format!("{UPPER} @%p1 bra L; {MEET} L: {other}")),
            1,
            "{other}"
        );
    }
}

#[test]
fn witnesses_count_only_on_the_path_of_the_same_warp() {
    // A witness on the same side of a branch that whole warps take together, and one on the other.
    let sides = |one: &str, other: &str| {
        suspect_count_checked_by_analysis(&format!(
            "setp.gt.u32 %p2, %r1, 63; {UPPER} @%p2 bra M; {one} bra E; M: @%p1 bra L; {MEET} L: {other} E:"
        ))
    };
    assert_eq!(sides("", MEET), 0);
    assert_eq!(sides(MEET, ""), 1);
    // A thread of a warp that need not exist does not count, one of the first warp does.
    let but = |thread: u32| {
        suspect_count_checked_by_analysis(&format!("setp.eq.u32 %p1, %r1, {thread}; @%p1 bra L; {MEET} L:"))
    };
    assert_eq!((but(639), but(7)), (0, 1));
}

#[test]
fn knowledge_in_a_loop_is_common_to_all_its_rounds() {
    let round = |exit: &str, back: &str| {
        suspect_count_checked_by_analysis(&format!(
            "mov.u32 %r5, 0; H: setp.ne.u32 %p3, %r5, 0; @%p3 bra B; {MEET} B: {UPPER} @%p1 bra L; {MEET} L: \
             add.u32 %r5, %r5, {back}; {exit} @%p2 bra H;"
        ))
    };
    // All lanes arrive in the first round; and in all rounds if the counter never has another value.
    assert_eq!(round("setp.lt.u32 %p2, %r5, %r0;", "1"), 0);
    assert_eq!(round("setp.lt.u32 %p2, %r5, %r0;", "0"), 0);
    // A round with which no lane begins.
    let later = format!(
        "mov.u32 %r5, 1; H: setp.eq.u32 %p3, %r5, 0; @!%p3 bra B; {MEET} B: {UPPER} @%p1 bra L; {MEET} L: \
         setp.lt.u32 %p2, %r5, %r0; @%p2 bra H;"
    );
    assert_eq!(suspect_count_checked_by_analysis(&later), 1);
}

#[test]
fn lanes_that_end_do_not_reach_the_code_after() {
    let ends = |how: &str| {
        suspect_count(&format!(
            "{UPPER} {how} setp.eq.u32 %p4, %r0, 7; @%p4 bra M; {UPPER} @%p1 bra L; {MEET} L: bra E; M: {MEET} E:"
        ))
    };
    assert_eq!(ends("@%p1 exit;"), 1);
    assert_eq!(ends("@!%p1 bra K; trap; K:"), 1);
    assert_eq!(ends("@!%p1 bra K; I: bra I; K:"), 1);
    assert_eq!(ends("setp.lt.u32 %p2, %r0, 5; @%p2 exit;"), 0);
}

#[test]
fn loops_may_have_two_back_edges() {
    // The counter holds the same where rounds end and where they begin, on every path that lanes take.
    let round = |back: &str, beside: &str| {
        suspect_count_checked_by_analysis(&format!(
            "mov.u32 %r5, 0; H: setp.eq.u32 %p3, %r5, 0; @%p3 bra B; {MEET} B: setp.ge.u32 %p4, %r1, %r0; @%p4 bra C; \
             {beside} C: {UPPER} @%p1 bra L; {MEET} L: add.u32 %r5, %r5, {back}; setp.lt.u32 %p2, %r5, %r0; \
             @%p2 bra H;"
        ))
    };
    assert_eq!(round("1", "st.global.u32 [%a0], %r1;"), 0);
    assert_eq!(round("0", "st.global.u32 [%a0], %r1;"), 1);
    assert_eq!(round("0", "mov.u32 %r5, 1;"), 0);
}

#[test]
fn registers_keep_their_value_past_branches_that_do_not_write_them() {
    let past = |start: &str, beside: &str| {
        suspect_count_checked_by_analysis(&format!(
            "{start} {UPPER} @%p1 bra K; {beside} K: setp.ne.u32 %p3, %r5, 0; @%p3 bra L; {MEET} L: {UPPER} @%p1 bra M; \
             {MEET} M: mov.u32 %r5, 0; st.global.u32 [%a0], %r5;"
        ))
    };
    let store = "st.global.u32 [%a0], %r1;";
    assert_eq!(past("ld.global.u32 %r5, [%a0];", store), 0);
    assert_eq!(past("mov.u32 %r5, 0;", store), 0);
    assert_eq!(past("mov.u32 %r5, 1;", store), 1);
    // Own values of lanes 0 to 15 keep them from the first as well.
    assert_eq!(past("mov.u32 %r5, 1;", "mov.u32 %r5, 2;"), 1);
}

#[test]
fn variables_on_the_stack_are_known_where_they_are_read() {
    let code = |code: &str| {
        suspect_count(&format!(
            ".local .align 4 .b8 d[8]; .reg .b64 %s; mov.u64 %s, d; {code}"
        ))
    };
    // A loop of a known number of rounds, and a mask, as unoptimised code has them.
    let rounds = |first: &str| {
        code(&format!(
            "st.local.u32 [%s], {first}; st.local.u32 [%s+4], -1; H: ld.local.u32 %r3, [%s]; \
             setp.ge.u32 %p1, %r3, 5; @%p1 bra L; ld.local.u32 %r4, [%s+4]; \
             shfl.sync.down.b32 %r8, %r8, 1, 31, %r4; ld.local.u32 %r3, [%s]; add.u32 %r3, %r3, 1; \
             st.local.u32 [%s], %r3; bra H; L:"
        ))
    };
    assert_eq!(rounds("0"), 0);
    assert_eq!(rounds("%r2"), 1);
    // The last store decides the value that is read, regardless of earlier ones.
    let last = |value: &str| {
        code(&format!(
            "st.local.u32 [%s], %r2; ld.global.u32 %r3, [%a0]; bra K; K: st.local.u32 [%s], {value}; bra M; \
             M: ld.local.u32 %r4, [%s]; setp.ge.u32 %p1, %r4, 16; @%p1 bra L; {MEET} L:"
        ))
    };
    assert_eq!(last("%r3"), 0);
    assert_eq!(last("%r2"), 1);
    // And a piece of it is a piece of what is known.
    let piece = |value: &str| {
        code(&format!(
            "st.local.u32 [%s], {value}; ld.local.u8 %r4, [%s]; setp.ge.u32 %p1, %r4, 16; @%p1 bra L; {MEET} L:"
        ))
    };
    assert_eq!(piece("%r2"), 1);
}

#[test]
fn callees_may_end_lanes() {
    let through = |end: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func g()\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n\
             mov.u32 %r2, %laneid;\n{UPPER}\n{end}\nret;\n}}\n.func f()\n{{\ncall.uni g;\nret;\n}}\n.visible .entry k()\n{{\n\
             .reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nmov.u32 %r2, %laneid;\ncall.uni f;\n\
             ld.global.u32 %r0, [%rd1];\nsetp.eq.u32 %p4, %r0, 7;\n@%p4 bra M;\n{UPPER}\n@%p1 bra L;\n{MEET}\n\
             L: bra E;\nM: {MEET}\nE: ret;\n}}\n"
        );
        with_ptx(&text, |module| lanes::analyse(module, Certainty::Definite).len())
    };
    assert_eq!(through("@%p1 exit;"), 1);
    assert_eq!(through("@%p1 ret;"), 0);
}

#[test]
fn functions_called_by_whole_warps_are_analysed_like_kernels() {
    // A function that is called where `%p1` does not hold, with this code in front of its collective.
    let called = |start: &str, inside: &str| {
        let head = ".reg .pred %p<9>;\n.reg .b32 %r<9>;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;";
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func g(.param .b32 a)\n{{\n{head}\nld.param.b32 %r3, [a];\n\
             {inside}\n{MEET}\nM: ret;\n}}\n.func f(.param .b32 a)\n{{\n{head}\nld.param.b32 %r4, [a];\n\
             {{ .param .b32 q; st.param.b32 [q], %r4; call.uni g, (q); }}\nret;\n}}\n\
             .visible .entry k(.param .b32 n)\n{{\n{head}\nld.param.b32 %r4, [n];\n{start}\n@%p1 bra L;\n\
             {{ .param .b32 q; st.param.b32 [q], %r4; call.uni f, (q); }}\nL: st.global.u32 [0], %r1;\nret;\n}}\n"
        );
        with_ptx(&text, |module| {
            let all = lanes::analyse(module, Certainty::Potential);
            let mut found = all.iter().flat_map(|root| &root.findings);
            let is_definite = found.any(|one| one.issue.certainty == Certainty::Definite);
            let open = lanes::analyse(module, Certainty::Definite).len();
            assert_eq!(is_definite, open > 0, "{text}");
            open
        })
    };
    let warps = "setp.ge.u32 %p1, %r1, 32;";
    let lanes = "setp.ge.u32 %p1, %r2, 16;";
    let branch = |of: &str| format!("{of}\n@%p1 bra M;");
    assert_eq!(called(warps, ""), 0);
    assert_eq!(called(warps, &branch("setp.ge.u32 %p1, %r1, 64;")), 0);
    assert_eq!(called(warps, &branch("setp.eq.u32 %p1, %r3, 7;")), 0);
    assert_eq!(called(warps, &branch(lanes)), 1);
    assert_eq!(called(lanes, ""), 1);
    // Lanes that do not call it may reach another collective like it.
    assert_eq!(called(&format!("{MEET}\n{lanes}"), ""), 0);
    // A witness for the lanes that call does not count for the others.
    assert_eq!(called(lanes, &format!("{MEET}\n{}", branch(lanes))), 1);
}

#[test]
fn long_call_chains_are_followed() {
    let count = 20_000;
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    let _ = writeln!(text, ".func f0()\n{{\n.reg .b32 %r<9>;\n{MEET}\nret;\n}}");
    for number in 1..count {
        let _ = writeln!(text, ".func f{number}()\n{{\ncall.uni f{};\nret;\n}}", number - 1);
    }
    let _ = writeln!(
        text,
        ".visible .entry k()\n{{\n.reg .pred %p1;\n.reg .b32 %r<9>;\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\n\
         @%p1 bra L;\ncall.uni f{};\nL: ret;\n}}",
        count - 1
    );
    assert_eq!(
        with_ptx(&text, |module| lanes::analyse(module, Certainty::Definite).len()),
        0
    );
}

#[test]
fn tests_of_activemask_split_lanes() {
    // Some lanes ask; the number of lanes that are there is at most the number of those that arrive.
    let few = "setp.ge.u32 %p1, %r2, 8; @%p1 bra L; activemask.b32 %r3;";
    for answer in [
        "setp.eq.s32 %p2, %r3, -1;",
        "setp.lt.u32 %p2, %r3, 4096;",
        "popc.b32 %r4, %r3; setp.eq.s32 %p2, %r4, 32;",
        "and.b32 %r4, %r3, 0xff; setp.lt.u32 %p2, %r4, 7;",
        "setp.gt.s32 %p2, %r3, -65536;",
        "match.any.sync.b32 %r4, %r0, 0xff; setp.eq.s32 %p2, %r4, -1;",
        "setp.gt.u32 %p3, %r0, 4; vote.sync.ballot.b32 %r4, %p3, 0xff; setp.gt.u32 %p2, %r4, 255;",
    ] {
        assert_eq!(
            suspect_count(&format!("{few} {answer} @%p2 bra L; {MEET} L:")),
            1,
            "{answer}"
        );
    }
}

#[test]
fn failed_assertions_do_not_split_lanes() {
    let part = |before: &str| {
        format!(
            "setp.ne.u32 %p1, %r2, 0; @%p1 bra L; ld.global.u32 %r3, [%a0]; setp.eq.u32 %p2, %r3, 7;\n\
             mov.u32 %r4, 1; @%p2 bra N; mov.u32 %r4, 0; N: setp.eq.u32 %p3, %r4, 1; @%p3 bra L;\n\
             {before} call.uni __assertfail, (); L: {MEET}"
        )
    };
    let suspects = |before: &str| {
        let text = module_with_kernel(&part(before)).replace(
            ".visible .entry",
            ".extern .func __assertfail();\n.visible .entry",
        );
        with_ptx(&text, |module| lanes::analyse(module, Certainty::Definite).len())
    };
    assert_eq!(suspects(""), 0);
    assert_eq!(suspects("st.local.u32 [%a1], %r3;"), 0);
    // A visible effect shows that a lane went another way.
    assert_eq!(suspects("st.global.u32 [%a0], %r3;"), 1);
}

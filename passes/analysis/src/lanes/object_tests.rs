//! Objects that functions fill through their parameters: masks that a collective reads from such objects.

use crate::certainty::Certainty;
use crate::shared::AnalysisOptions;
use crate::testing::with_options;

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// A kernel with an object of 16 bytes at `%o`, the thread number in `%r1`, and a function `fill` of two addresses and a
/// number. The kernel ends with a barrier of the warp with the mask at the start of the object.
fn findings_about_mask_filled_by(fill: &str, kernel: &str) -> Vec<(u32, bool)> {
    let text = format!(
        "{HEAD}.extern .func other(.param .b64 a);\n.global .b64 kept;\n\
         .func inner(.param .b64 p, .param .b32 v)\n{{\n.reg .b64 %p;\n.reg .b32 %v;\nld.param.u64 %p, [p];\n\
         ld.param.u32 %v, [v];\nst.u32 [%p+4], %v;\nret;\n}}\n\
         .func fill(.param .b64 p, .param .b64 q, .param .b32 v)\n{{\n.local .align 8 .b8 own[16];\n\
         .reg .b64 %p, %q, %s, %u;\n.reg .b32 %v, %w;\n.reg .pred %c;\n\
         ld.param.u64 %p, [p];\nld.param.u64 %q, [q];\nld.param.u32 %v, [v];\n{fill}\nret;\n}}\n\
         .visible .entry k(.param .u32 n)\n{{\n.local .align 8 .b8 object[16];\n.local .align 8 .b8 second[16];\n\
         .reg .b64 %o, %l, %m, %t;\n.reg .b32 %r<9>;\n.reg .pred %c;\nmov.u64 %l, object;\ncvta.local.u64 %o, %l;\n\
         mov.u64 %m, second;\ncvta.local.u64 %t, %m;\nmov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nmov.b32 %r8, 0;\n\
         {kernel}\nld.u32 %r3, [%o];\nbar.warp.sync %r3;\nret;\n}}\n"
    );
    with_options(&text, AnalysisOptions::potential(), |module| {
        let found = module.lanes().iter().flat_map(|root| &root.findings);
        let found = found.map(|found| (found.issue.lanes, found.issue.certainty == Certainty::Definite));
        found.collect()
    })
}

/// A call of `fill`.
fn call_of_fill(p: &str, q: &str, v: &str) -> String {
    format!(
        "{{\n.param .b64 a;\n.param .b64 b;\n.param .b32 c;\nst.param.b64 [a], {p};\nst.param.b64 [b], {q};\n\
         st.param.b32 [c], {v};\ncall.uni fill, (a, b, c);\n}}"
    )
}

/// Lanes 8 to 31 reach a barrier that does not name them.
const WRONG: [(u32, bool); 1] = [(0xffff_ff00, true)];

#[test]
fn values_stored_by_a_callee_are_known() {
    let stores = |fill: &str| findings_about_mask_filled_by(fill, &call_of_fill("%o", "%t", "255"));
    assert_eq!(stores("st.u32 [%p], %v;"), WRONG);
    assert_eq!(stores("st.u32 [%p], -1;"), []);
    // The last store counts.
    assert_eq!(stores("st.u32 [%p], -1;\nst.u32 [%p], %v;"), WRONG);
    assert_eq!(stores("st.u32 [%p], %v;\nst.u32 [%p], -1;"), []);
    // It is kept on the stack, and loaded from there.
    let kept = "mov.u64 %s, own;\nst.local.u64 [%s+8], %p;\nld.local.u64 %u, [%s+8];\nst.u32 [%u], %v;";
    assert_eq!(stores(kept), WRONG);
    // Through another function.
    let inner = "add.s64 %s, %p, -4;\n{\n.param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %s;\nst.param.b32 [b], %v;\n\
                 call.uni inner, (a, b);\n}";
    assert_eq!(stores(inner), WRONG);
}

#[test]
fn unknown_stores_by_a_callee_leave_nothing_definite() {
    let first = "st.u32 [%o], 255;\n";
    let is_definite = |fill: &str, p: &str, q: &str, after: &str| {
        let found =
            findings_about_mask_filled_by(fill, &format!("{first}{}\n{after}", call_of_fill(p, q, "%r2")));
        found.iter().any(|(_, is_definite)| *is_definite)
    };
    // The function does nothing with the object, or writes another part of it.
    assert!(is_definite("", "%o", "%t", ""));
    assert!(is_definite("st.u32 [%p+4], %v;", "%o", "%t", ""));
    assert!(is_definite("ld.u32 %w, [%p];\nst.u32 [%q], %w;", "%o", "%t", ""));
    // It writes an unknown value, to all of it or to a byte, always or under a guard, through one parameter or the other.
    for store in [
        "st.u32 [%p], %v;",
        "st.u8 [%p+1], %v;",
        "st.v2.u32 [%p], {%v, %v};",
        "setp.eq.u32 %c, %v, 0;\n@%c st.u32 [%p], -1;",
        "setp.eq.u32 %c, %v, 0;\n@%c bra L;\nst.u32 [%p], -1;\nL:",
        "cvt.u64.u32 %s, %v;\nadd.s64 %s, %p, %s;\nst.u32 [%s], -1;",
        "atom.exch.b32 %w, [%p], %v;",
        "setp.eq.u32 %c, %v, 0;\n@%c mov.u64 %q, %p;\nst.u32 [%q], -1;",
    ] {
        assert!(!is_definite(store, "%o", "%t", ""), "{store}");
    }
    assert!(!is_definite(
        "st.u32 [%p], 255;\nst.u32 [%q], %v;",
        "%o",
        "%o",
        ""
    ));
    // The address is kept, and used later by unknown code.
    let unknown = "{\n.param .b64 a;\nst.param.b64 [a], %t;\ncall.uni other, (a);\n}";
    assert!(!is_definite("st.global.u64 [kept], %p;", "%o", "%t", unknown));
    assert!(is_definite("", "%o", "%t", "st.u32 [%o], 255;"));
}

#[test]
fn a_slot_that_a_call_writes_in_a_loop_is_unknown_in_the_next_round() {
    let unknown = "{\n.param .b64 a;\nst.param.b64 [a], %o;\ncall.uni other, (a);\n}";
    let rounds = |call: &str| {
        let code = format!(
            "st.u32 [%o], 255;\nL:\nld.u32 %r4, [%o];\nsetp.ne.u32 %c, %r4, 255;\n@%c bra OUT;\n{call}\n\
             add.u32 %r8, %r8, 1;\nsetp.lt.u32 %c, %r8, %r2;\n@%c bra L;\nOUT:"
        );
        findings_about_mask_filled_by("st.u32 [%p], %v;", &code)
            .iter()
            .any(|(_, is_definite)| *is_definite)
    };
    assert!(rounds(""));
    assert!(!rounds(unknown));
    assert!(!rounds(&call_of_fill("%o", "%t", "%r2")));
    assert!(rounds(&call_of_fill("%o", "%t", "255")));
}

#[test]
fn returned_addresses_are_followed() {
    let text = |returned: &str, store: &str| {
        format!(
            "{HEAD}.func (.param .b64 r) at(.param .b64 p, .param .b64 q)\n{{\n.reg .b64 %p, %q;\nld.param.u64 %p, [p];\n\
             ld.param.u64 %q, [q];\n{returned}\nret;\n}}\n\
             .visible .entry k(.param .u32 n)\n{{\n.local .align 8 .b8 object[16];\n.reg .b64 %o, %l, %t;\n\
             .reg .b32 %r<9>;\nmov.u64 %l, object;\ncvta.local.u64 %o, %l;\nld.param.u32 %r2, [n];\n\
             add.s64 %t, %o, 8;\nst.u32 [%o], 255;\n{{\n.param .b64 a;\n.param .b64 b;\n.param .b64 c;\nst.param.b64 [a], %o;\n\
             st.param.b64 [b], %t;\ncall.uni (c), at, (a, b);\nld.param.b64 %t, [c];\n}}\n{store}\n\
             ld.u32 %r3, [%o];\nbar.warp.sync %r3;\nret;\n}}\n"
        )
        .replace("ld.param.b64 %t, [c]", "ld.param.b64 %l2, [c]")
        .replace(".reg .b64 %o, %l, %t;", ".reg .b64 %o, %l, %t, %l2;")
        .replace("%t]", "%l2]")
    };
    let is_definite = |returned: &str, store: &str| {
        with_options(&text(returned, store), AnalysisOptions::potential(), |module| {
            let mut found = module.lanes().iter().flat_map(|root| &root.findings);
            found.any(|found| found.issue.certainty == Certainty::Definite)
        })
    };
    assert!(is_definite("st.param.b64 [r], %p;", ""));
    assert!(!is_definite("st.param.b64 [r], %p;", "st.u32 [%t], %r2;"));
    assert!(is_definite("st.param.b64 [r], %q;", "st.u32 [%t], %r2;"));
    // One object or the other, or a part of one.
    let either = "st.param.b64 [r], %q;\nst.param.b64 [r], %p;";
    assert!(!is_definite(either, "st.u32 [%t], %r2;"));
}

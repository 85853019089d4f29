//! Kernels with very many collectives, and modules with very many kernels.

use std::fmt::Write as _;

use crate::certainty::Certainty;
use crate::limits::MAX_POTENTIAL_CONTEXTS;
use crate::module::ModuleAnalyses;
use crate::shared::AnalysisOptions;
use crate::testing::{with_options, with_ptx};
use ptxcheck_common::deadline::Deadline;
use ptxcheck_frontend_ptx::{PtxOrigin, lower};

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// A kernel with `count` collectives that do not name the calling lane.
fn kernel_with_wrong_collectives(count: usize) -> String {
    let code = "bar.warp.sync 0;\n".repeat(count);
    format!("{HEAD}.visible .entry k()\n{{\n{code}ret;\n}}\n")
}

#[test]
fn each_of_many_wrong_collectives_has_a_finding() {
    const COUNT: usize = 4_000;
    with_ptx(&kernel_with_wrong_collectives(COUNT), |module| {
        let [root] = module.lanes() else {
            panic!("there is one kernel");
        };
        assert_eq!(root.findings.len(), COUNT);
        let is_definite = |found: &super::LaneFinding| found.issue.certainty == Certainty::Definite;
        assert!(root.findings.iter().all(is_definite) && !root.is_limited);
        assert_eq!(module.limit_notice(), None);
    });
}

#[test]
fn potential_findings_beyond_the_limit_are_counted() {
    const KERNELS: usize = MAX_POTENTIAL_CONTEXTS + 50;
    let mut text = format!(
        "{HEAD}.func f(.param .b32 p)\n{{\n.reg .pred %p<2>;\n.reg .b32 %r<3>;\nld.param.b32 %r1, [p];\n\
         setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nbar.warp.sync -1;\nL:\nret;\n}}\n"
    );
    for kernel in 0..KERNELS {
        let _ = writeln!(
            text,
            ".visible .entry k{kernel}(.param .u64 a)\n{{\n.reg .b64 %rd<4>;\n.reg .b32 %r<3>;\n\
             ld.param.u64 %rd1, [a];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
             ld.global.u32 %r1, [%rd3];\n{{\n.param .b32 p;\nst.param.b32 [p], %r1;\n\
             call.uni f, (p);\n}}\nst.global.u32 [%rd1], %r1;\nret;\n}}"
        );
    }
    with_options(&text, AnalysisOptions::potential(), |module| {
        let found: Vec<_> = module.lanes().iter().flat_map(|root| &root.findings).collect();
        assert_eq!(found.len(), MAX_POTENTIAL_CONTEXTS);
        let left_out: usize = found.iter().map(|found| found.more).sum();
        assert_eq!(left_out, KERNELS - MAX_POTENTIAL_CONTEXTS);
    });
}

#[test]
fn nothing_is_reported_after_the_deadline() {
    let text = kernel_with_wrong_collectives(3);
    let tree = ptxcheck_ptx_parser::parse(text.as_bytes()).unwrap_or_else(|_| panic!("{text}"));
    let origin = PtxOrigin::new(&tree);
    let module = lower(&tree, &origin);
    let deadline = Deadline::after(Some(std::time::Duration::ZERO));
    let context = ModuleAnalyses::with_deadline(&module, AnalysisOptions::default(), &deadline);
    assert!(
        context
            .lanes()
            .iter()
            .all(|root| root.is_unknown && root.findings.is_empty())
    );
    assert!(deadline.has_cut());
}

/// A kernel with more cells than the limit: nodes times registers with several definitions that a mask depends on.
fn kernel_with_too_many_cells(first: &str) -> String {
    let mut text = format!(
        "{HEAD}.visible .entry k(.param .u32 n)\n{{\n.reg .pred %p<2>;\n.reg .b32 %r<5000>;\nld.param.u32 %r0, [n];\n\
         setp.eq.u32 %p1, %r0, 0;\n{first}\n"
    );
    for register in 1..4_200 {
        let _ = writeln!(
            text,
            "mov.b32 %r{register}, 1;\n@%p1 mov.b32 %r{register}, 2;\nadd.u32 %r0, %r0, %r{register};\nbar.warp.sync %r0;"
        );
    }
    text + "ret;\n}\n"
}

#[test]
fn constant_masks_are_judged_in_kernels_too_large_to_solve() {
    let found = |first: &str| {
        with_options(
            &kernel_with_too_many_cells(first),
            AnalysisOptions::potential(),
            |module| {
                let [root] = module.lanes() else {
                    panic!("there is one kernel");
                };
                assert!(root.is_limited);
                let lanes = root.findings.iter().map(|found| found.issue.lanes);
                lanes.collect::<Vec<_>>()
            },
        )
    };
    assert_eq!(found("bar.warp.sync 255;"), [0xffff_ff00]);
    assert!(found("bar.warp.sync -1;").is_empty());
    // Some lanes may not arrive, but it is not known which.
    assert!(found("@%p1 bar.warp.sync 255;").is_empty());
}

#[test]
fn each_loop_level_takes_one_more_round_of_the_solver() {
    // Each loop ends when a counter reaches the thread number.
    let depth = 40;
    let mut text = format!(
        "{HEAD}.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<50>;\n.reg .b32 %r<60>;\n.reg .b64 %rd<3>;\n\
         ld.param.u64 %rd1, [a];\nmov.u32 %r50, %tid.x;\nmov.b32 %r51, 0;\n"
    );
    for level in 0..depth {
        let _ = writeln!(text, "mov.b32 %r{level}, %r51;\nL{level}:");
    }
    text += "ld.global.u32 %r52, [%rd1];\nshfl.sync.down.b32 %r53, %r52, 4, 31, 255;\nst.global.u32 [%rd1], %r53;\n";
    for level in (0..depth).rev() {
        let _ = writeln!(
            text,
            "add.u32 %r{level}, %r{level}, 1;\nsetp.lt.u32 %p{level}, %r{level}, %r50;\n@%p{level} bra L{level};"
        );
    }
    text += "shfl.sync.down.b32 %r53, %r52, 4, 31, 255;\nst.global.u32 [%rd1], %r53;\nret;\n}\n";
    with_ptx(&text, |module| {
        let [root] = module.lanes() else {
            panic!("there is one kernel");
        };
        assert!(!root.is_limited);
        assert!(root.findings.iter().any(|found| found.issue.lanes & 0xff == 0));
    });
}

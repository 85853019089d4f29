//! Arrival of lanes in small kernels. Their collectives, in the order of the text, are the tested points.

use rustc_hash::FxHashSet;

use super::super::Calls;
use super::super::flow::Flow;
use super::super::graph::NodeKind;
use super::super::launch::Launch;
use super::super::layout::LaneLayout;
use super::super::scenario::Fixed;
use super::super::slice::Slices;
use super::super::value::{ALL, Lanes, Pool};
use super::{Exits, Placement};
use crate::testing::with_ptx;
use ptxcheck_ir::LaunchBounds;

/// Starts with the lane in `%r1`, the parameter `n` in `%r2` and a value that differs by lane in `%r3`.
const PROLOGUE: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
    ld.param.u64 %rd1, [out];\nmov.u32 %r1, %laneid;\nld.param.u32 %r2, [n];\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n\
    ld.global.u32 %r3, [%rd2];\n";

/// Calls `ask` with the placement in a kernel with this code and the nodes of its collectives.
fn with_placement(code: &str, ask: impl FnOnce(&mut Placement<'_, '_>, &[u32])) {
    let text = format!("{PROLOGUE}{code}\n}}\n");
    with_ptx(&text, |context| {
        let calls = Calls::new(context);
        let roots = calls.roots(context);
        let slices = Slices::new(context, &calls.visited_functions(context, &roots));
        let layout = LaneLayout::new(context, &slices, roots[0]).expect("it is small");
        let graph = &layout.graph;
        let launch = Launch::new(&LaunchBounds::default(), None, false);
        let fixed = Fixed::default();
        let flow = Flow::new(&layout, launch, &fixed, Pool::default());
        let flow = flow.expect("it settles");
        let mut points: Vec<u32> = (0..graph.nodes.len() as u32)
            .filter(|&node| matches!(graph.nodes[node as usize].kind, NodeKind::Collective))
            .collect();
        points.sort_by_key(|&node| graph.instruction_of_node(node));
        let mut placement = Placement::new(&flow, ALL, &FxHashSet::default());
        ask(&mut placement, &points);
    });
}

/// Result of `lanes_that_must_reach` for the first collective, with all exits and without silent ones.
fn lanes_that_must_reach_first_collective(code: &str) -> (Lanes, Lanes) {
    let mut found = (0, 0);
    with_placement(code, |placement, points| {
        found = (
            placement.lanes_that_must_reach(points[0], Exits::All),
            placement.lanes_that_must_reach(points[0], Exits::NotSilent),
        );
    });
    found
}

const SYNC: &str = "bar.warp.sync -1;\n";
const STORE: &str = "st.global.u32 [%rd1], %r1;\n";

#[test]
fn all_lanes_reach_straight_code() {
    assert_eq!(
        lanes_that_must_reach_first_collective(&format!("{SYNC}ret;")),
        (ALL, ALL)
    );
}

#[test]
fn a_known_condition_splits_the_warp() {
    let arm = format!("setp.gt.u32 %p1, %r1, 15;\n@%p1 bra SKIP;\n{SYNC}SKIP:\n{STORE}ret;");
    assert_eq!(lanes_that_must_reach_first_collective(&arm), (0xffff, 0xffff));
    // All lanes meet where the arms join.
    let after_branch = format!("setp.gt.u32 %p1, %r1, 15;\n@%p1 bra SKIP;\n{STORE}SKIP:\n{SYNC}ret;");
    assert_eq!(lanes_that_must_reach_first_collective(&after_branch), (ALL, ALL));
}

#[test]
fn a_uniform_condition_keeps_the_warp_together() {
    let arm = format!("setp.gt.u32 %p1, %r2, 15;\n@%p1 bra SKIP;\n{SYNC}SKIP:\n{STORE}ret;");
    assert_eq!(lanes_that_must_reach_first_collective(&arm), (ALL, ALL));
}

#[test]
fn no_lane_certainly_passes_an_unknown_condition() {
    let arm = format!("setp.gt.u32 %p1, %r3, 15;\n@%p1 bra SKIP;\n{SYNC}SKIP:\n{STORE}ret;");
    assert_eq!(lanes_that_must_reach_first_collective(&arm), (0, 0));
}

#[test]
fn lanes_that_end_silently_are_not_waited_for() {
    let quiet = format!("setp.ge.s32 %p1, %r3, %r2;\n@%p1 bra DONE;\n{SYNC}{STORE}DONE:\nret;");
    assert_eq!(lanes_that_must_reach_first_collective(&quiet), (0, ALL));
    let may_act = format!("setp.ge.s32 %p1, %r3, %r2;\n@%p1 bra DONE;\n{SYNC}ret;\nDONE:\n{STORE}ret;");
    assert_eq!(lanes_that_must_reach_first_collective(&may_act), (0, 0));
}

#[test]
fn loops_are_left_by_all_lanes_together_or_one_by_one() {
    let of = |start: &str| {
        format!(
            "mov.b32 %r4, {start};\nLOOP:\nsetp.ge.s32 %p1, %r4, %r2;\n@%p1 bra DONE;\n{SYNC}\
             add.s32 %r4, %r4, 1;\nbra.uni LOOP;\nDONE:\n{STORE}ret;"
        )
    };
    assert_eq!(lanes_that_must_reach_first_collective(&of("0")), (ALL, ALL));
    assert_eq!(lanes_that_must_reach_first_collective(&of("%r1")), (0, 0));
}

#[test]
fn lanes_end_silently_or_with_an_effect_or_neither_is_certain() {
    let code = format!(
        "setp.gt.u32 %p1, %r3, 15;\n{SYNC}@%p1 bra A;\nsetp.gt.u32 %p2, %r1, 15;\n{SYNC}@%p2 bra B;\nret;\n\
         A:\nbar.warp.sync -1;\nret;\nB:\n{STORE}ret;"
    );
    with_placement(&code, |placement, points| {
        let graph = placement.flow.graph;
        let after = |node: u32| graph.successors(node).next().expect("it goes on");
        // After the second collective, lanes 0 to 15 end, and the others store.
        let second = after(points[1]);
        assert_eq!(placement.surely_silent_lanes(second), 0xffff);
        assert_eq!(placement.surely_acting_lanes(second), 0xffff_0000);
        // After the first one, all lanes may reach a collective: this is not a certain visible effect unless it is declared
        // as one.
        let first = after(points[0]);
        assert_eq!(placement.surely_silent_lanes(first), 0);
        assert_eq!(placement.surely_silent_lanes(after(points[2])), ALL);
    });
}

#[test]
fn departures_hold_the_lanes_that_leave() {
    let code = format!("setp.gt.u32 %p1, %r1, 23;\n@%p1 bra SKIP;\n{SYNC}SKIP:\n{STORE}ret;");
    with_placement(&code, |placement, points| {
        let departures = placement.departures_before(points[0]).expect("it is small");
        let lanes: Vec<Lanes> = departures.all.iter().map(|departure| departure.lanes).collect();
        assert_eq!(lanes, [0xff00_0000]);
    });
}

#[test]
fn paths_lead_forward_within_one_round() {
    let code = format!(
        "{SYNC}setp.gt.u32 %p1, %r3, 15;\n@%p1 bra B;\n{SYNC}bra.uni C;\nB:\n{SYNC}C:\n\
         add.s32 %r2, %r2, 1;\n{SYNC}setp.lt.s32 %p2, %r2, 9;\n@%p2 bra C;\nret;"
    );
    with_placement(&code, |placement, points| {
        let &[first, left, right, round] = points else {
            panic!("{points:?}")
        };
        assert!(
            placement.has_path_within_round(first, left) && placement.has_path_within_round(right, round)
        );
        assert!(
            !placement.has_path_within_round(left, right) && !placement.has_path_within_round(round, first)
        );
        // No lane leaves in between, but the arms separate them.
        assert!(
            !placement.do_lanes_stay_together(first, left) && !placement.do_lanes_stay_together(left, right)
        );
    });
    let straight =
        format!("{SYNC}setp.gt.u32 %p1, %r3, 15;\n@%p1 bra B;\nadd.s32 %r2, %r2, 1;\nB:\n{SYNC}ret;");
    with_placement(&straight, |placement, points| {
        assert!(placement.do_lanes_stay_together(points[0], points[1]));
    });
}

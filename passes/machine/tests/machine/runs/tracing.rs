//! The trace of a run: who is where, step by step.

use ptxcheck_ir::{AccessKind, Op};
use ptxcheck_machine::{Doing, Event, Kernel, Launch, Observer, Schedule, Setup, Trace, View, Wrong};

use super::{find, module, with_kernel, world};

/// The act of lanes, the instruction, and the lanes by warp.
type Told = (Doing, usize, Vec<(u32, u32)>);

/// Lanes 16 to 31 skip a collective, and store.
const PARTS: &str = "mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 16;\nld.param.u64 %d1, [out];\n@!%p1 bra A;\n\
                     bar.warp.sync -1;\nbra B;\nA:\nst.global.u32 [%d1], %r1;\nB:\n";

fn traced(threads: u32, mut trace: Trace) -> (Vec<Told>, [usize; 3]) {
    with_kernel(&module("", PARTS), |module, function| {
        let branch = find(module, function, 0, |op| *op == Op::Branch);
        let sync = find(module, function, 0, |op| matches!(op, Op::Collective(..)));
        let store = find(
            module,
            function,
            0,
            |op| matches!(op, Op::Access(access) if access.kind == AccessKind::Store),
        );
        let kernel = Kernel::new(module, function).expect("it runs");
        let launch = Launch::of_block([threads, 1, 1]);
        let setup = Setup::new(launch, Schedule::First);
        kernel.run(&setup, &mut world(0), &mut trace).expect("it runs");
        assert_eq!(trace.left_out(), 0);
        let moments = trace.moments().iter();
        let told = moments.map(|moment| {
            assert!(moment.site.callers.is_empty() && moment.site.function == function);
            (
                moment.doing,
                moment.site.instruction.index(),
                moment.lanes.clone(),
            )
        });
        (told.collect(), [branch, sync, store].map(|id| id.index()))
    })
}

#[test]
fn lanes_part_at_a_branch_and_are_missed() {
    let (told, [branch, sync, store]) = traced(32, Trace::default());
    let (low, high) = (vec![(0, 0x0000_ffff)], vec![(0, 0xffff_0000)]);
    let goes: Vec<_> = told
        .iter()
        .take_while(|one| matches!(one.0, Doing::Goes(_) | Doing::Arrives(_)))
        .collect();
    assert_eq!(goes.len(), 3, "{told:x?}");
    assert!(matches!(goes[0], (Doing::Goes(_), at, lanes) if *at == branch && *lanes == low));
    assert!(matches!(goes[1], (Doing::Goes(_), at, lanes) if *at == branch && *lanes == high));
    assert_eq!(goes[2], &(Doing::Arrives(u32::MAX), sync, low.clone()));
    let rest = &told[3..];
    assert_eq!(rest[0], (Doing::Acts, store, high));
    // Each lane that ends without having come is missed by those that wait.
    assert!(
        rest.contains(&(Doing::Fails(Wrong::Missing), sync, low.clone())),
        "{rest:x?}"
    );
    assert!(rest.contains(&(Doing::Meets, sync, low)), "{rest:x?}");
    assert_eq!(rest.last().map(|last| last.0), Some(Doing::Ends));
}

#[test]
fn one_warp_or_all() {
    let lanes = |told: &[Told]| told.iter().any(|one| one.2.iter().any(|(warp, _)| *warp == 0));
    let (all, _) = traced(64, Trace::default());
    assert_eq!(all[0].2, [(0, 0xffff), (1, 0xffff)]);
    let (second, _) = traced(64, Trace::of_warp(1));
    assert!(lanes(&all) && !lanes(&second));
    assert_eq!(second[0].2, [(1, 0xffff)]);
}

#[test]
fn observers_see_accesses_and_where_all_are() {
    struct Accesses(Vec<(usize, AccessKind, u64, u64, usize)>);
    impl Observer for Accesses {
        fn on(&mut self, at: &ptxcheck_machine::At<'_>, event: &Event<'_>, view: &View<'_>) {
            if let Event::Access(access, _) = event {
                assert_eq!(view.site(at.thread), Some(at.site()));
                let groups = view.groups().len();
                self.0
                    .push((at.thread, access.kind, access.address, access.bytes, groups));
            }
        }
    }
    let code = "mov.u32 %r1, %tid.x;\nld.param.u64 %d1, [out];\nmul.wide.u32 %d2, %r1, 8;\nadd.s64 %d1, %d1, %d2;\n\
                st.global.v2.u32 [%d1+4], {%r1, %r1};";
    with_kernel(&module("", code), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let setup = Setup::new(Launch::of_block([2, 1, 1]), Schedule::First);
        let mut seen = Accesses(Vec::new());
        kernel.run(&setup, &mut world(0), &mut seen).expect("it runs");
        let stores: Vec<_> = seen.0.iter().filter(|one| one.1 == AccessKind::Store).collect();
        assert_eq!(
            stores,
            [
                &(0, AccessKind::Store, 0x10_0004, 8, 1),
                // Thread 0 has gone on.
                &(1, AccessKind::Store, 0x10_000c, 8, 2)
            ]
        );
    });
}

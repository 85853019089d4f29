//! Single threads, addresses as sums, rounds of loops.

use ptxcheck_ir::{AccessKind, FunctionId, InstructionId, Op, Space};

use super::kernel::find_kernels;
use super::sum::{ALL_BYTES, Extent, Stretch, constant_variable_and_offset, surely_overlap};
use super::view::View;
use crate::pointer_passthrough::{argument_passed_through, passes_pointer_through};
use crate::shared::Shared;
use crate::testing::with_ptx;

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

const KERNEL: FunctionId = FunctionId::new(0);

/// The accesses to shared memory of a function, in the order of the input.
fn shared_accesses_of(module: &Shared<'_>, id: FunctionId) -> Vec<InstructionId> {
    let body = module.module.function(id).body.as_ref().unwrap();
    let of_shared = |op| matches!(op, Op::Access(access) if access.space == Space::Shared);
    let all = body.iter().filter(|(_, instruction)| of_shared(instruction.op));
    all.map(|(at, _)| at).collect()
}

/// Calls `ask` with a kernel of these lines, of blocks of 32 threads, and its accesses to shared memory.
fn with_kernel(lines: &str, ask: impl Fn(&Shared<'_>, &[InstructionId])) {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u32 n)\n.maxntid 32\n{{\n.reg .b32 %r<30>;\n.reg .pred %p<9>;\n\
         .shared .align 16 .b8 s[1024];\n.shared .align 16 .b8 t[1024];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\n\
         ld.param.u32 %r3, [n];\n{lines}\nret;\n}}\n"
    );
    with_ptx(&text, |module| ask(module, &shared_accesses_of(module, KERNEL)));
}

#[test]
fn addresses_are_sums() {
    let lines = "shl.b32 %r4, %r1, 2;\nadd.s32 %r5, %r2, %r4;\nmad.lo.s32 %r6, %r3, 64, %r2;\nadd.s32 %r7, %r6, %r4;\n\
                 st.shared.u32 [%r5+8], %r1;\nst.shared.u32 [s+16], %r1;\nst.shared.u32 [%r6], %r1;\nst.shared.u32 [%r7+4], %r1;";
    with_kernel(lines, |module, accesses| {
        let &[by_thread, constant, by_param, both] = accesses else {
            panic!("{accesses:?}");
        };
        let place = |at| constant_variable_and_offset(module, KERNEL, at).map(|(_, offset)| offset);
        assert_eq!(
            [by_thread, constant, by_param, both].map(place),
            [None, Some(16), None, None]
        );
        let any = View::any_thread(module, KERNEL).unwrap();
        let bounds = |at| Extent::of_access(&any, at, 4).map(|extent| (extent.least, extent.most));
        assert_eq!(bounds(by_thread), Some((8, 8 + 31 * 4)));
        assert_eq!(bounds(both), None);
        // `n * 64` cancels: the words of 32 threads lie in 132 bytes, and not in the last four of 128.
        let stretch = |at, bytes| Stretch::of_access(&any, at, (bytes, ALL_BYTES)).unwrap();
        let meet = |bytes| surely_overlap(&any, &stretch(by_param, bytes), &stretch(both, 4));
        assert!(meet(132));
        assert!(!meet(128));
    });
}

#[test]
fn writing_a_register_in_between_changes_the_address() {
    let lines =
        "mov.u32 %r4, s;\nst.shared.u32 [%r4], %r1;\nadd.s32 %r4, %r4, 512;\nst.shared.u32 [%r4], %r1;";
    with_kernel(lines, |module, accesses| {
        let any = View::any_thread(module, KERNEL).unwrap();
        let stretch = |at| Stretch::of_access(&any, at, (16, ALL_BYTES)).unwrap();
        let (first, second) = (stretch(accesses[0]), stretch(accesses[1]));
        assert!(!surely_overlap(&any, &first, &second));
    });
}

#[test]
fn masked_bytes_are_not_written() {
    let lines = "st.shared.u32 [s], %r1;\nst.shared.u32 [s+20], %r1;";
    with_kernel(lines, |module, accesses| {
        let any = View::any_thread(module, KERNEL).unwrap();
        let (first, second) = (accesses[0], accesses[1]);
        let word = Stretch::of_access(&any, second, (4, ALL_BYTES)).unwrap();
        let stretch = |at, bytes, mask| {
            surely_overlap(&any, &Stretch::of_access(&any, at, (bytes, mask)).unwrap(), &word)
        };
        assert!(stretch(first, 64, ALL_BYTES));
        assert!(!stretch(first, 64, 0xff0f));
        assert!(stretch(first, 64, 0x0080));
        // 16 bytes do not reach that far.
        assert!(!stretch(first, 16, 0x0080));
        assert!(stretch(second, 4, 1) && !stretch(second, 4, 0x0010));
    });
}

#[test]
fn threads_singled_out_by_a_comparison_are_analysed() {
    let lines = "st.shared.u32 [s], %r1;\nsetp.ne.s32 %p1, %r1, 5;\n@%p1 bra DONE;\nst.shared.u32 [s+4], %r1;\nDONE:\n\
                 shl.b32 %r4, %r1, 2;\nadd.s32 %r5, %r2, %r4;\nst.shared.u32 [%r5], %r1;";
    with_kernel(lines, |module, accesses| {
        let &[before, inside, behind] = accesses else {
            panic!("{accesses:?}");
        };
        let views = View::distinct_threads(module, KERNEL);
        let threads: Vec<_> = views.iter().map(View::thread_number).collect();
        assert_eq!(threads, [None, Some(0), Some(5)]);
        let (zero, five) = (&views[1], &views[2]);
        assert!(!zero.may_execute(inside) && five.may_execute(inside));
        // The first store is in the block that ends with the branch: all threads make it.
        assert_eq!(
            [before, inside, behind].map(|at| five.is_executed_by_this_alone(at)),
            [false, true, false]
        );
        assert!(five.is_surely_before(inside, behind) && !zero.is_surely_before(inside, behind));
        let bounds = |view, at| Extent::of_access(view, at, 4).map(|extent| (extent.least, extent.most));
        assert_eq!(bounds(five, behind), Some((20, 20)));
        assert_eq!(bounds(zero, behind), Some((0, 0)));
    });
}

#[test]
fn loops_with_a_certain_second_round_are_recognised() {
    let rounds = |first: &str, step: &str, condition: &str| {
        let lines = format!(
            "mov.u32 %r4, {first};\nAGAIN:\nst.shared.u32 [s], %r1;\n{step}\nsetp.{condition};\n@%p1 bra AGAIN;"
        );
        let mut found = Vec::new();
        let found_in = std::cell::RefCell::new(&mut found);
        with_kernel(&lines, |module, _| {
            let any = View::any_thread(module, KERNEL).unwrap();
            let loops = super::round::loops_of_view(&any);
            found_in
                .borrow_mut()
                .extend(loops.iter().map(|one| one.has_certain_second_round(&any)));
        });
        found
    };
    let step = "add.s32 %r4, %r4, 1;";
    assert_eq!(rounds("0", step, "lt.s32 %p1, %r4, 6"), [true]);
    assert_eq!(rounds("5", step, "lt.s32 %p1, %r4, 6"), [false]);
    assert_eq!(rounds("0", step, "lt.s32 %p1, %r4, %r3"), [false]);
    assert_eq!(
        rounds("0", "add.s32 %r4, %r4, %r3;", "lt.s32 %p1, %r4, 6"),
        [false]
    );
}

#[test]
fn addresses_pass_through_functions_that_only_convert_a_pointer() {
    let function = |name: &str, lines: &str| {
        format!(
            ".func (.param .b64 out) {name}(.param .b64 in)\n{{\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [in];\n{lines}\nret;\n}}\n"
        )
    };
    let text = format!(
        "{HEAD}{}{}{}.visible .entry k()\n{{\n.reg .b64 %rd<9>;\n.shared .align 8 .b8 s[8];\nmov.u64 %rd1, s;\n{{\n\
         .param .b64 a;\nst.param.b64 [a], %rd1;\n.param .b64 r;\ncall (r), plain, (a);\nld.param.b64 %rd2, [r];\n}}\n\
         st.shared.u32 [%rd2+4], 1;\nret;\n}}\n",
        function(
            "plain",
            "cvta.to.shared.u64 %rd2, %rd1;\nst.param.b64 [out], %rd2;"
        ),
        function("moved", "add.s64 %rd2, %rd1, 8;\nst.param.b64 [out], %rd2;"),
        function("stores", "st.global.u32 [%rd1], 1;\nst.param.b64 [out], %rd1;"),
    );
    with_ptx(&text, |module| {
        let all: Vec<bool> = (0..4)
            .map(|id| passes_pointer_through(module, FunctionId::new(id)))
            .collect();
        assert_eq!(all, [true, false, false, false]);
        let kernel = FunctionId::new(3);
        let body = module.module.function(kernel).body.as_ref().unwrap();
        assert!(argument_passed_through(module, body, body.calls[0].instruction).is_some());
        let is_store = |op| matches!(op, Op::Access(access) if access.kind == AccessKind::Store && access.space == Space::Shared);
        let (store, _) = body
            .iter()
            .find(|(_, instruction)| is_store(instruction.op))
            .unwrap();
        assert_eq!(
            constant_variable_and_offset(module, kernel, store).map(|(_, offset)| offset),
            Some(4)
        );
    });
}

#[test]
fn requests_of_a_function_depend_on_its_arguments() {
    let kernel = |name: &str, mode: &str| {
        format!(
            ".visible .entry {name}(.param .u32 n)\n{{\n.reg .b32 %r<9>;\nld.param.u32 %r1, [n];\n{{\n.param .b32 a;\n\
             st.param.b32 [a], {mode};\ncall f, (a);\n}}\nret;\n}}\n"
        )
    };
    let function = |name: &str, lines: &str| {
        format!(
            ".func {name}(.param .b32 mode)\n{{\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\nmov.u32 %r2, %tid.x;\n\
             ld.param.u32 %r1, [mode];\nsetp.eq.s32 %p1, %r1, 0;\nsetp.ne.s32 %p2, %r2, 0;\n{lines}\nOUT:\nret;\n}}\n"
        )
    };
    // By kernel: the operations that it may reach, and whether it asks for the first.
    let asked = |lines: &str| {
        let text = format!(
            "{HEAD}.shared .align 8 .b8 s[8];\n{}{}{}{}",
            function("f", lines),
            kernel("zero", "0"),
            kernel("one", "1"),
            kernel("launched", "%r1")
        );
        let mut found = Vec::new();
        let found_in = std::cell::RefCell::new(&mut found);
        with_ptx(&text, |module| {
            found_in
                .borrow_mut()
                .extend(find_kernels(module).iter().map(|kernel| {
                    let first = kernel.operations.first();
                    let is_asked = first
                        .and_then(|site| kernel.requested_site(module, site))
                        .is_some();
                    (kernel.operations.len(), is_asked)
                }));
        });
        found
    };
    let arrive = "mbarrier.arrive.shared.b64 _, [s];";
    assert_eq!(
        asked(&format!("@%p1 bra OUT;\n{arrive}")),
        [(0, false), (1, true), (1, false)]
    );
    // The thread number makes no thread skip it.
    assert_eq!(asked(&format!("@%p2 bra OUT;\n{arrive}")), [(1, true); 3]);
    assert_eq!(
        asked(&format!("@%p2 bra OUT;\n@%p1 bra OUT;\n{arrive}")),
        [(0, false), (1, true), (1, false)]
    );
    // Both paths lead to it, and so does each round of a loop.
    assert_eq!(
        asked(&format!("@%p1 bra NEXT;\nadd.s32 %r3, %r1, 1;\nNEXT:\n{arrive}")),
        [(1, true); 3]
    );
    assert_eq!(
        asked(&format!(
            "AGAIN:\nadd.s32 %r1, %r1, -1;\nsetp.gt.s32 %p3, %r1, 0;\n@%p3 bra AGAIN;\n{arrive}"
        )),
        [(1, true); 3]
    );
}

//! Values: what is known of them, and how a run ends where one that matters is not.

use ptxcheck_machine::{End, Given, Kernel, Launch, Outside, Refused, Schedule, Setup, Unknown, Unobserved};

use super::{module, run, with_kernel, world};

/// Code that ends with a trap if this guard holds, and the run if it is not known.
fn refuse(guard: &str) -> String {
    format!("@{guard} bar.warp.sync -1;\n@{guard} trap;\n")
}

/// Code that ends with a trap unless a register has a value, and the run if it is not known.
fn expect(register: &str, value: u64) -> String {
    let (kind, bits) = match register.as_bytes()[1] {
        b'd' => ("u64", "%d7"),
        b'h' => ("u16", "%h7"),
        _ => ("u32", "%r15"),
    };
    format!(
        "mov.{kind} {bits}, {value};\nsetp.eq.{kind} %p7, {register}, {bits};\n{}",
        refuse("!%p7")
    )
}

#[track_caller]
fn completes(code: &str) {
    let outcome = run(code, 32, 100, Schedule::First);
    assert_eq!(outcome.end, End::Complete, "{code}");
}

/// The run ends in this way, and without failures.
#[track_caller]
fn ends(code: &str, is_it: fn(&Unknown) -> bool) {
    let outcome = run(code, 32, 100, Schedule::First);
    match &outcome.end {
        End::Unknown(unknown) => assert!(is_it(unknown), "{unknown:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(outcome.failures, []);
}

#[test]
fn parameters_and_memory() {
    completes(&format!("ld.param.u32 %r1, [n];\n{}", expect("%r1", 100)));
    completes(&format!("ld.param.u64 %d1, [out];\n{}", expect("%d1", 0x10_0000)));
    // Stores are seen again, in parts, too, and by other ways to the same memory.
    completes(&format!(
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, 0x8070605;\nst.global.u32 [%d1+4], %r1;\nld.u16 %h1, [%d1+5];\n\
         {}ld.global.s8 %h2, [%d1+7];\n{}",
        expect("%h1", 0x0706),
        expect("%h2", 8)
    ));
    completes(&format!(
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, 0x8f;\nst.global.u8 [%d1], %r1;\nld.global.s8 %r2, [%d1];\n\
         {}ld.global.u8 %r3, [%d1];\n{}",
        expect("%r2", 0xffff_ff8f),
        expect("%r3", 0x8f)
    ));
    completes(&format!(
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, 3;\nmov.u32 %r2, 4;\nst.global.v2.u32 [%d1], {{%r1, %r2}};\n\
         ld.global.v2.u32 {{%r3, %r4}}, [%d1];\n{}{}",
        expect("%r3", 3),
        expect("%r4", 4)
    ));
}

#[test]
fn each_thread_has_its_local_memory_and_the_block_its_shared() {
    let before = ".shared .align 4 .b8 common[128];";
    let code = format!(
        ".local .align 8 .b8 own[16];\nmov.u32 %r1, %tid.x;\nst.local.u32 [own+4], %r1;\nmov.u64 %d1, own;\n\
         cvta.local.u64 %d2, %d1;\nld.u32 %r2, [%d2+4];\nsetp.eq.u32 %p1, %r1, %r2;\n@!%p1 trap;\n\
         mul.wide.u32 %d3, %r1, 4;\nmov.u64 %d4, common;\nadd.s64 %d5, %d4, %d3;\nst.shared.u32 [%d5], %r1;\n\
         bar.sync 0;\nld.shared.u32 %r3, [common+20];\n{}cvta.shared.u64 %d6, %d4;\nisspacep.shared %p2, %d6;\n\
         @!%p2 trap;\nisspacep.global %p3, %d6;\n@%p3 trap;",
        expect("%r3", 5)
    );
    with_kernel(&module(before, &code), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let setup = Setup::new(Launch::of_block([32, 1, 1]), Schedule::Last);
        let outcome = kernel
            .run(&setup, &mut world(0), &mut Unobserved)
            .expect("it runs");
        assert_eq!(outcome.end, End::Complete);
    });
}

#[test]
fn calls_take_arguments_and_return_values() {
    let before = ".func (.param .b64 back) f(.param .align 4 .b8 a[8], .param .b32 b)\n{\n.reg .b32 %x<4>;\n\
                  ld.param.u32 %x0, [a];\nld.param.u32 %x1, [a+4];\nld.param.u32 %x2, [b];\nadd.u32 %x0, %x0, %x2;\n\
                  st.param.b32 [back+0], %x0;\nst.param.b32 [back+4], %x1;\nret;\n}\n";
    let code = format!(
        "mov.u32 %r1, 10;\nmov.u32 %r2, 20;\nmov.u32 %r3, 30;\n{{\n.param .align 4 .b8 p[8];\n.param .b32 q;\n\
         .param .b64 back;\nst.param.b32 [p+0], %r1;\nst.param.b32 [p+4], %r2;\nst.param.b32 [q+0], %r3;\n\
         call.uni (back), f, (p, q);\nld.param.b32 %r4, [back+0];\nld.param.b32 %r5, [back+4];\n}}\n{}{}",
        expect("%r4", 40),
        expect("%r5", 20)
    );
    with_kernel(&module(before, &code), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let setup = Setup::new(Launch::of_block([1, 1, 1]), Schedule::First);
        let outcome = kernel
            .run(&setup, &mut world(0), &mut Unobserved)
            .expect("it runs");
        assert_eq!(outcome.end, End::Complete);
    });
}

#[test]
fn recursion_has_an_end() {
    let before = ".func f()\n{\ncall.uni f, ();\nret;\n}\n";
    with_kernel(&module(before, "call.uni f, ();"), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let setup = Setup::new(Launch::of_block([1, 1, 1]), Schedule::First);
        let outcome = kernel
            .run(&setup, &mut world(0), &mut Unobserved)
            .expect("it runs");
        assert!(matches!(outcome.end, End::Unknown(Unknown::Depth(_))));
    });
}

#[test]
fn code_that_is_not_here() {
    let before = ".extern .func (.param .b32 back) f(.param .b32 a);";
    let code = "{\n.param .b32 p;\n.param .b32 back;\nst.param.b32 [p+0], 1;\ncall.uni (back), f, (p);\n\
                ld.param.b32 %r1, [back+0];\n}\nsetp.eq.s32 %p1, %r1, 0;";
    with_kernel(&module(before, code), |module, function| {
        let kernel = Kernel::new(module, function).expect("it runs");
        let setup = Setup::new(Launch::of_block([32, 1, 1]), Schedule::First);
        let end = |world: &mut Given| kernel.run(&setup, world, &mut Unobserved).expect("it runs").end;
        let symbols = module.symbols.iter().position(|symbol| symbol.name == "f");
        let symbol = ptxcheck_ir::SymbolId::new(symbols.expect("it is declared"));
        assert!(matches!(end(&mut world(0)), End::Unknown(Unknown::Callee(_))));
        assert_eq!(end(world(0).callee(symbol, Outside::Returns)), End::Complete);
        assert!(matches!(
            end(world(0).callee(symbol, Outside::Ends)),
            End::Trap(_)
        ));
    });
}

/// A load of what nobody knows, and a predicate of it.
const UNKNOWN: &str =
    "ld.param.u64 %d1, [out];\nld.global.u64 %d2, [%d1];\ncvt.u32.u64 %r1, %d2;\nsetp.eq.s32 %p1, %r1, 0;\n";

fn is_branch(end: &Unknown) -> bool {
    matches!(end, Unknown::Branch(_))
}

#[test]
fn an_unknown_branch_is_passed_where_its_ways_meet() {
    completes(&format!(
        "{UNKNOWN}selp.b32 %r2, 1, 2, %p1;\n@%p1 mov.u32 %r2, 1;"
    ));
    let two = format!(
        "{UNKNOWN}mov.u32 %r2, 4;\nmov.u32 %r3, 5;\n@%p1 bra A;\nmov.u32 %r2, 6;\nbra B;\nA:\nmov.u32 %r4, 1;\nB:\n"
    );
    completes(&format!("{two}{}", expect("%r3", 5)));
    ends(&format!("{two}{}", expect("%r2", 6)), is_branch);
    ends(&format!("{two}{}", expect("%r4", 1)), is_branch);
    completes(&format!(
        "{UNKNOWN}T: .branchtargets A, B;\nbrx.idx %r1, T;\nA:\nB:"
    ));
    // A loop of so many rounds; an assertion.
    let rounds = format!(
        "{UNKNOWN}mov.u32 %r2, 0;\nmov.u32 %r3, 9;\nL:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, %r1;\n@%p2 bra L;\n"
    );
    completes(&format!("{rounds}{}", expect("%r3", 9)));
    ends(&format!("{rounds}{}", expect("%r2", 1)), is_branch);
    completes(&format!(
        "{UNKNOWN}@%p1 bra A;\ntrap;\nA:\nsetp.eq.s32 %p2, %r1, 1;\n@%p2 trap;"
    ));
}

#[test]
fn an_unknown_branch_ends_the_run_where_others_see_it() {
    for seen in [
        "@%p1 ret;",
        "@%p1 bar.sync 0;",
        "@%p1 bra A;\nbar.sync 0;\nA:",
        "@%p1 bra A;\nret;\nA:",
        "@%p1 bra A;\nexit;\nA:",
        "@%p1 bra A;\nbar.warp.sync -1;\nbra B;\nA:\nbar.warp.sync -1;\nB:",
        "L:\nvote.sync.ballot.b32 %r2, %p1, -1;\n@%p1 bra L;",
    ] {
        ends(&format!("{UNKNOWN}{seen}"), is_branch);
    }
    ends(
        "mov.u32 %r1, 2;\nT: .branchtargets A, B;\nbrx.idx %r1, T;\nA:\nB:",
        |end| matches!(end, Unknown::BeyondTable(_)),
    );
    // Registers that nothing has written.
    ends(
        "mov.u32 %r2, %r1;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 exit;",
        is_branch,
    );
}

#[test]
fn what_an_unknown_way_may_write_is_not_known() {
    let before = ".shared .align 8 .b8 s[64];\n.local .align 8 .b8 l[64];\n";
    let ready = format!(
        "{before}{UNKNOWN}mov.u32 %r2, 7;\nst.shared.u32 [s], %r2;\nst.local.u32 [l], %r2;\nst.global.u32 [%d1+8], %r2;\n"
    );
    for (way, known) in [
        ("add.u32 %r3, %r2, 1;", [true, true, true]),
        ("st.shared.u32 [s], %r1;", [false, true, true]),
        ("st.local.u32 [l], %r1;", [true, false, true]),
        ("st.global.u32 [%d1+8], %r1;", [true, true, false]),
        ("red.global.add.u32 [%d1+8], 1;", [true, true, false]),
        ("st.u32 [%d2], %r1;", [false, false, false]),
    ] {
        let loads = [
            "ld.shared.u32 %r4, [s];\n",
            "ld.local.u32 %r4, [l];\n",
            "ld.global.u32 %r4, [%d1+8];\n",
        ];
        let guarded = format!("@%p1 {way}\n");
        let skipped = format!("@%p1 bra A;\n{way}\nA:\n");
        for passed in [guarded, skipped] {
            for (load, is_known) in loads.into_iter().zip(known) {
                let code = format!("{ready}{passed}{load}{}", expect("%r4", 7));
                if is_known {
                    completes(&code);
                } else {
                    ends(&code, is_branch);
                }
            }
        }
    }
}

#[test]
fn an_unknown_mask_ends_the_run_and_an_unknown_address_does_not() {
    ends(&format!("{UNKNOWN}bar.warp.sync %r1;"), |end| {
        matches!(end, Unknown::Mask(_))
    });
    ends(&format!("{UNKNOWN}bar.sync %r1;"), |end| {
        matches!(end, Unknown::Barrier(_))
    });
    completes(&format!(
        "{UNKNOWN}mov.u32 %r2, 3;\nst.global.u32 [%d1], %r2;\nld.global.u32 %r3, [%d2];\nld.global.u32 %r4, [%d1];\n{}",
        expect("%r4", 3)
    ));
    ends(
        &format!("{UNKNOWN}ld.global.u32 %r3, [%d2];\n{}", expect("%r3", 0)),
        is_branch,
    );
    for store in ["st.global.u32 [%d2], %r1;", "atom.global.add.u32 %r5, [%d2], 1;"] {
        ends(
            &format!(
                "{UNKNOWN}mov.u32 %r2, 3;\nst.global.u32 [%d1], %r2;\n{store}\nld.global.u32 %r4, [%d1];\n{}",
                expect("%r4", 3)
            ),
            is_branch,
        );
    }
    // An address in another space than the instruction names.
    ends(
        ".shared .b32 s;\ncvta.shared.u64 %d1, s;\nld.global.u32 %r1, [%d1];",
        |end| matches!(end, Unknown::Address(_)),
    );
}

#[test]
fn what_decides_alone_is_known() {
    let load = "ld.param.u64 %d1, [out];\nld.global.u32 %r1, [%d1];\nsetp.eq.s32 %p1, %r1, 0;\nsetp.eq.s32 %p2, 1, 2;\n";
    completes(&format!("{load}and.pred %p3, %p1, %p2;\n{}", refuse("%p3")));
    completes(&format!("{load}or.pred %p3, %p1, !%p2;\n{}", refuse("!%p3")));
    completes(&format!(
        "{load}setp.eq.and.s32 %p3, %r1, 5, %p2;\n{}",
        refuse("%p3")
    ));
    completes(&format!("{load}and.b32 %r2, %r1, 0;\n{}", expect("%r2", 0)));
    completes(&format!(
        "{load}vote.sync.any.pred %p3, %p1, -1;\nvote.sync.any.pred %p4, !%p2, -1;\n{}",
        refuse("!%p4")
    ));
    // A lane that knows decides for all.
    completes(&format!(
        "{load}mov.u32 %r3, %laneid;\nsetp.eq.s32 %p5, %r3, 0;\nand.pred %p6, %p1, %p5;\nvote.sync.all.pred %p3, %p6, -1;\n{}",
        refuse("%p3")
    ));
}

#[test]
fn atomics_return_what_was_there_and_leave_what_they_compute() {
    let of_one_thread = |code: &str| run(code, 1, 100, Schedule::First).end;
    // PTX ISA, atom: the opcode, the content, the values, and the content after it.
    let rows = [
        ("add.u32", 7, "1", 8),
        ("add.u32", u32::MAX, "2", 1),
        ("and.b32", 12, "10", 8),
        ("or.b32", 12, "10", 14),
        ("xor.b32", 12, "10", 6),
        ("min.s32", 3, "-1", u32::MAX),
        ("min.u32", 3, "-1", 3),
        ("max.s32", 3, "-1", 3),
        ("max.u32", 3, "-1", u32::MAX),
        ("exch.b32", 3, "9", 9),
        ("cas.b32", 3, "3, 9", 9),
        ("cas.b32", 4, "3, 9", 4),
        ("inc.u32", 3, "5", 4),
        ("inc.u32", 5, "5", 0),
        ("dec.u32", 3, "5", 2),
        ("dec.u32", 0, "5", 5),
        ("dec.u32", 6, "5", 5),
    ];
    for (opcode, before, values, after) in rows {
        let code = format!(
            "ld.param.u64 %d1, [out];\nmov.u32 %r1, {before};\nst.global.u32 [%d1], %r1;\natom.global.{opcode} %r2, [%d1], {values};\n\
             ld.global.u32 %r3, [%d1];\n"
        );
        for (register, expected) in [("%r2", before), ("%r3", after)] {
            let code = format!("{code}{}", expect(register, u64::from(expected)));
            assert_eq!(of_one_thread(&code), End::Complete, "{code}");
        }
    }
    // Floating-point numbers are not known.
    let code = "ld.param.u64 %d1, [out];\nmov.u32 %r1, 7;\nst.global.u32 [%d1], %r1;\nmov.f32 %r4, 0f3F800000;\n\
                atom.global.add.f32 %r2, [%d1], %r4;\n";
    let end = of_one_thread(&format!("{code}ld.global.u32 %r3, [%d1];\n{}", expect("%r3", 8)));
    assert!(matches!(end, End::Unknown(Unknown::Branch(_))), "{end:?}");
}

#[test]
fn endless_loops_have_an_end() {
    ends("L:\nbra L;", |end| *end == Unknown::Steps);
    ends(
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, 0;\nL:\nst.global.u32 [%d1], %r1;\nadd.u64 %d1, %d1, 4096;\nbra L;",
        |end| *end == Unknown::Steps,
    );
    // A thread waits for what another stores.
    completes(
        "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nsetp.ne.s32 %p1, %r1, 31;\n\
         st.global.u32 [%d1], %r2;\n@%p1 bra W;\nmov.u32 %r2, 1;\nst.global.u32 [%d1], %r2;\nbra E;\n\
         W:\nld.volatile.global.u32 %r3, [%d1];\nsetp.eq.s32 %p2, %r3, 0;\n@%p2 bra W;\nE:",
    );
}

#[test]
fn a_block_that_no_launch_has() {
    with_kernel(&module("", ""), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        for block in [[0, 1, 1], [1025, 1, 1], [u32::MAX; 3]] {
            let setup = Setup::new(Launch::of_block(block), Schedule::First);
            assert!(kernel.run(&setup, &mut world(0), &mut Unobserved).is_err());
        }
    });
}

#[test]
fn kernels_that_are_too_large_are_refused() {
    let blocks = |count: usize| {
        let block = |number: usize| format!("@%p1 bra B{number};\nbar.sync 0;\nB{number}:\n");
        let code: String = (0..count).map(block).collect();
        module("", &format!("setp.eq.s32 %p1, 1, 2;\n{code}"))
    };
    let made = |count| with_kernel(&blocks(count), |module, kernel| Kernel::new(module, kernel).err());
    assert_eq!(made(20_000), Some(Refused::TooLarge));
    with_kernel(&blocks(1_000), |module, kernel| {
        let kernel = Kernel::new(module, kernel).expect("it runs");
        let setup = Setup::new(Launch::of_block([1024, 1, 1]), Schedule::First);
        let outcome = kernel
            .run(&setup, &mut world(0), &mut Unobserved)
            .expect("it runs");
        assert_eq!((outcome.reached.len(), outcome.failures.len()), (1_000, 0));
    });
}

/// Branches whose ways meet far from them, each with all others on its ways, and calls of a function that calls itself, and of many.
#[test]
fn slices_take_limited_work() {
    let branches = "@%p1 bra E;\nadd.u32 %r2, %r2, 1;\n".repeat(20_000);
    let calls = "call.uni f;\ncall.uni g;\n".repeat(2_000);
    let work = "add.u32 %r1, %r1, 1;\n".repeat(2_000);
    let before =
        format!(".func f() {{\ncall.uni f;\nret;\n}}\n.func g() {{\n.reg .b32 %r<3>;\n{work}ret;\n}}\n");
    let code = format!("{UNKNOWN}mov.u32 %r2, 0;\n{calls}{branches}E:\nbar.sync 0;");
    let module_text = module(&before, &code);
    with_kernel(&module_text, |module, function| {
        let started = std::time::Instant::now();
        if let Ok(kernel) = Kernel::new(module, function) {
            let setup = Setup::new(Launch::of_block([32, 1, 1]), Schedule::First);
            let outcome = kernel.sliced().run(&setup, &mut world(100), &mut Unobserved);
            assert!(outcome.expect("it runs").steps <= ptxcheck_machine::limits::MAX_STEPS + 1_000);
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(60));
    });
}

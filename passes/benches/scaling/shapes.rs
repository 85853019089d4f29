//! PTX of any size, in shapes that analyses may find hard.

use std::fmt::Write as _;

/// A family of texts.
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// Its text of a size.
    pub text: fn(usize) -> String,
    /// The largest size that is measured.
    pub largest: usize,
}

/// All of them.
pub const SHAPES: &[Shape] = &[
    shape("straight", straight, 1 << 20),
    shape("kernels", kernels, 1 << 16),
    shape("nested", nested, 1 << 15),
    shape("sequential", sequential, 1 << 15),
    shape("nested-lanes", nested_lanes, 1 << 14),
    shape("sequential-lanes", sequential_lanes, 1 << 14),
    shape("loops", loops, 1 << 15),
    shape("nested-loops", nested_loops, 1 << 12),
    shape("loops-lanes", loops_lanes, 1 << 13),
    shape("call-chain", call_chain, 1 << 16),
    shape("call-chain-lanes", call_chain_lanes, 1 << 14),
    shape("call-tree", call_tree, 1 << 16),
    shape("call-tree-lanes", call_tree_lanes, 1 << 14),
    shape("call-address", call_address, 1 << 15),
    shape("switch", switch, 1 << 17),
    shape("switch-lanes", switch_lanes, 1 << 14),
    shape("shared-table", shared_table, 1 << 14),
    shape("shared-table-lanes", shared_table_lanes, 1 << 13),
    shape("compares", compares, 1 << 16),
    shape("compares-lanes", compares_lanes, 1 << 14),
    shape("wrong-collectives", wrong_collectives, 1 << 14),
    shape("wrong-masks", wrong_masks, 1 << 14),
    shape("right-collectives", right_collectives, 1 << 15),
    shape("shuffles", shuffles, 1 << 14),
    shape("barriers", barriers, 1 << 14),
    shape("guarded-collectives", guarded_collectives, 1 << 14),
    shape("guarded-wrong", guarded_wrong, 1 << 13),
    shape("address-selects", address_selects, 1 << 17),
    shape("address-choices", address_choices, 1 << 16),
    shape("address-phis", address_phis, 1 << 16),
    shape("local-objects", local_objects, 1 << 16),
    shape("slots", slots, 1 << 17),
    shape("library", library, 1 << 13),
    shape("library-wrong", library_wrong, 1 << 11),
];

const fn shape(name: &'static str, text: fn(usize) -> String, largest: usize) -> Shape {
    Shape { name, text, largest }
}

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// The start of a body: `%r1` is the lane, `%p1` is true in lane 0, `%p2` is uniform and unknown, `%rd1` a
/// pointer into global memory.
const BEGIN: &str = "\
{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p2, %r2, 0;\n\
ld.param.u64 %rd2, [k_param_0];\ncvta.to.global.u64 %rd1, %rd2;\n";

/// A kernel around code.
fn kernel(code: &str) -> String {
    format!("{HEAD}.visible .entry k(.param .u64 k_param_0)\n{BEGIN}{code}ret;\n}}\n")
}

/// So many copies of what is written for a number.
fn times(count: usize, write: impl Fn(&mut String, usize)) -> String {
    let mut text = String::new();
    for number in 0..count {
        write(&mut text, number);
    }
    text
}

/// A line; a text always takes it.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{ let _ = writeln!($text, $($arg)*); }};
}

fn straight(size: usize) -> String {
    kernel(&times(size / 4, |text, number| {
        line!(text, "add.s32 %r3, %r1, {number};");
        line!(text, "mul.lo.s32 %r4, %r3, %r2;");
        line!(text, "ld.global.u32 %r5, [%rd1+{}];", number % 64 * 4);
        line!(text, "st.global.u32 [%rd1+{}], %r4;", number % 64 * 4);
    }))
}

fn kernels(size: usize) -> String {
    let one = |text: &mut String, number: usize| {
        line!(text, ".visible .entry k{number}(.param .u64 k_param_0)\n{BEGIN}");
        line!(text, "bar.warp.sync -1;\nst.global.u32 [%rd1], %r1;\nret;\n}}");
    };
    format!("{HEAD}{}", times(size, one))
}

/// Code in branches within each other.
fn branches_within(size: usize, guard: &str, inner: &str) -> String {
    let open = times(size, |text, number| {
        line!(text, "@{guard} bra L{number};\nadd.s32 %r3, %r3, 1;");
    });
    let close = times(size, |text, number| {
        line!(text, "L{}:\nst.global.u32 [%rd1], %r3;", size - 1 - number);
    });
    kernel(&format!("{open}{inner}{close}"))
}

fn nested(size: usize) -> String {
    branches_within(size, "%p2", "")
}

fn nested_lanes(size: usize) -> String {
    branches_within(size, "%p1", "bar.warp.sync -1;\n")
}

/// Code after branches after each other.
fn branches_after(size: usize, guard: &str, last: &str) -> String {
    let branches = times(size, |text, number| {
        line!(text, "@{guard} bra L{number};\nadd.s32 %r3, %r3, 1;");
        line!(text, "L{number}:\nst.global.u32 [%rd1], %r3;");
    });
    kernel(&format!("{branches}{last}"))
}

fn sequential(size: usize) -> String {
    branches_after(size, "%p2", "")
}

fn sequential_lanes(size: usize) -> String {
    branches_after(size, "%p1", "bar.warp.sync 0xffff;\n")
}

/// Loops after each other, each with code in it.
fn loops_after(size: usize, inner: &str) -> String {
    kernel(&times(size, |text, number| {
        line!(text, "mov.u32 %r4, 0;\nL{number}:\nadd.s32 %r4, %r4, 1;");
        line!(text, "setp.lt.u32 %p3, %r4, %r1;\n{inner}@%p3 bra L{number};");
    }))
}

fn loops(size: usize) -> String {
    loops_after(size, "st.global.u32 [%rd1], %r4;\n")
}

fn loops_lanes(size: usize) -> String {
    loops_after(size, "bar.warp.sync -1;\n")
}

fn nested_loops(size: usize) -> String {
    let open = times(size, |text, number| {
        line!(text, "L{number}:\nadd.s32 %r3, %r3, 1;");
    });
    let close = times(size, |text, number| {
        line!(
            text,
            "setp.lt.u32 %p3, %r3, {number};\n@%p3 bra L{};",
            size - 1 - number
        );
    });
    kernel(&format!("{open}bar.warp.sync -1;\n{close}"))
}

/// Functions that each call some others, the last ones with code of their own; and a kernel that calls the first.
fn calls(size: usize, callees: impl Fn(usize) -> Vec<usize>, leaf: &str) -> String {
    let declared = times(size, |text, number| {
        line!(text, ".func f{number}(.param .b64 p);");
    });
    let call = |callee: usize| {
        format!("{{\n.param .b64 a;\nst.param.b64 [a], %rd3;\ncall.uni f{callee}, (a);\n}}\n")
    };
    let defined = times(size, |text, number| {
        let calls: String = callees(number)
            .into_iter()
            .filter(|callee| *callee < size)
            .map(call)
            .collect();
        let code = if calls.is_empty() { leaf } else { &calls };
        line!(
            text,
            ".func f{number}(.param .b64 p)\n{{\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;"
        );
        line!(text, "ld.param.b64 %rd3, [p];\n{code}ret;\n}}");
    });
    format!(
        "{HEAD}{declared}{defined}.visible .entry k(.param .u64 k_param_0)\n{BEGIN}mov.b64 %rd3, %rd1;\n{}ret;\n}}\n",
        call(0)
    )
}

const STORE: &str = "st.global.u64 [%rd3], %rd3;\n";

fn call_chain(size: usize) -> String {
    calls(size, |number| vec![number + 1], STORE)
}

fn call_chain_lanes(size: usize) -> String {
    calls(size, |number| vec![number + 1], "bar.warp.sync 0;\n")
}

fn call_tree(size: usize) -> String {
    calls(size, |number| vec![2 * number + 1, 2 * number + 2], STORE)
}

fn call_tree_lanes(size: usize) -> String {
    calls(
        size,
        |number| vec![2 * number + 1, 2 * number + 2],
        "bar.warp.sync 0;\n",
    )
}

/// One function that uses an address, which each of its callers makes another way.
fn call_address(size: usize) -> String {
    let callers = times(size, |text, number| {
        line!(text, ".visible .func g{number}()\n{{\n.reg .b64 %rd<9>;");
        line!(
            text,
            "mov.u64 %rd3, s;\n{{\n.param .b64 a;\nst.param.b64 [a], %rd3;"
        );
        line!(text, "call.uni f, (a);\n}}\nret;\n}}");
    });
    format!(
        "{HEAD}.shared .align 4 .b8 s[64];\n.func f(.param .b64 p)\n{{\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n\
         ld.param.b64 %rd3, [p];\n{STORE}ret;\n}}\n{callers}"
    )
}

/// A jump through a table to as many labels as the size says, each with code of its own.
fn jump(size: usize, inner: &str) -> String {
    let table: Vec<String> = (0..size).map(|number| format!("L{number}")).collect();
    let cases = times(size, |text, number| {
        line!(text, "L{number}:\nst.global.u32 [%rd1], {number};\n{inner}bra E;");
    });
    kernel(&format!(
        "T: .branchtargets {};\nbrx.idx %r1, T;\n{cases}E:\n",
        table.join(", ")
    ))
}

fn switch(size: usize) -> String {
    jump(size, "")
}

fn switch_lanes(size: usize) -> String {
    jump(size, "bar.warp.sync -1;\n")
}

/// Labels that all end with a jump through one table of all of them.
fn jumps(size: usize, inner: &str) -> String {
    let table: Vec<String> = (0..size).map(|number| format!("L{number}")).collect();
    let cases = times(size, |text, number| {
        line!(text, "L{number}:\nld.global.u32 %r3, [%rd1+{}];", number % 64 * 4);
        line!(text, "{inner}brx.idx %r3, T;");
    });
    kernel(&format!("T: .branchtargets {};\n{cases}", table.join(", ")))
}

fn shared_table(size: usize) -> String {
    jumps(size, "")
}

fn shared_table_lanes(size: usize) -> String {
    jumps(size, "bar.warp.sync 0;\n")
}

/// A switch that is a chain of comparisons.
fn chain(size: usize, inner: &str) -> String {
    let tests = times(size, |text, number| {
        line!(text, "setp.eq.u32 %p3, %r1, {number};\n@%p3 bra L{number};");
    });
    let cases = times(size, |text, number| {
        line!(text, "L{number}:\nst.global.u32 [%rd1], {number};\n{inner}bra E;");
    });
    kernel(&format!("{tests}bra E;\n{cases}E:\n"))
}

fn compares(size: usize) -> String {
    chain(size, "")
}

fn compares_lanes(size: usize) -> String {
    chain(size, "bar.warp.sync -1;\n")
}

fn wrong_collectives(size: usize) -> String {
    kernel(&times(size, |text, _| line!(text, "bar.warp.sync 0;")))
}

/// Each with another mask.
fn wrong_masks(size: usize) -> String {
    kernel(&times(size, |text, number| {
        line!(text, "bar.warp.sync {};", 2 * number + 1);
    }))
}

fn right_collectives(size: usize) -> String {
    kernel(&times(size, |text, _| line!(text, "bar.warp.sync -1;")))
}

/// With values that depend on each other.
fn shuffles(size: usize) -> String {
    kernel(&times(size, |text, number| {
        let lane = number % 32;
        line!(
            text,
            "shfl.sync.idx.b32 %r3, %r3, {lane}, 31, -1;\nadd.s32 %r3, %r3, %r1;"
        );
        line!(text, "vote.sync.ballot.b32 %r4, %p1, %r3;");
    }))
}

fn barriers(size: usize) -> String {
    kernel(&times(size, |text, number| {
        line!(text, "@%p1 bra L{number};\nbar.sync 0;\nL{number}:");
    }))
}

fn guarded_collectives(size: usize) -> String {
    kernel(&times(size, |text, number| {
        line!(text, "setp.lt.u32 %p3, %r1, 16;\n@%p3 bra L{number};");
        line!(text, "bar.warp.sync 0xffff0000;\nL{number}:");
    }))
}

fn guarded_wrong(size: usize) -> String {
    kernel(&times(size, |text, number| {
        line!(
            text,
            "setp.lt.u32 %p3, %r1, {};\n@%p3 bra L{number};",
            number % 31 + 1
        );
        line!(text, "bar.warp.sync -1;\nL{number}:");
    }))
}

/// Each select takes the address that the one before has made.
fn address_selects(size: usize) -> String {
    let selects = times(size, |text, number| {
        line!(text, "selp.b64 %a{}, %a{number}, %rd3, %p1;", number + 1);
        line!(text, "st.u32 [%a{}], %r1;", number + 1);
    });
    kernel(&format!(
        ".reg .b64 %a<{}>;\n.shared .align 4 .b8 s[64];\ncvta.global.u64 %a0, %rd1;\n\
         mov.u64 %rd4, s;\ncvta.shared.u64 %rd3, %rd4;\n{selects}",
        size + 1
    ))
}

/// Each select takes one of two objects, into the same register.
fn address_choices(size: usize) -> String {
    let selects = times(size, |text, number| {
        line!(text, "selp.b64 %rd5, %rd4, %rd3, %p1;");
        line!(
            text,
            "add.s64 %rd6, %rd5, {};\nst.shared.u32 [%rd6], %r1;",
            number % 16 * 4
        );
    });
    kernel(&format!(
        ".shared .align 4 .b8 s[64];\n.shared .align 4 .b8 t[64];\nmov.u64 %rd3, s;\nmov.u64 %rd4, t;\n{selects}"
    ))
}

/// Each branch writes the same register with another address.
fn address_phis(size: usize) -> String {
    let joins = times(size, |text, number| {
        line!(
            text,
            "mov.u64 %rd5, %rd3;\n@%p2 bra L{number};\nmov.u64 %rd5, %rd1;"
        );
        line!(text, "L{number}:\nst.u32 [%rd5], %r1;");
    });
    kernel(&format!(
        ".shared .align 4 .b8 s[64];\nmov.u64 %rd4, s;\ncvta.shared.u64 %rd3, %rd4;\n{joins}"
    ))
}

fn local_objects(size: usize) -> String {
    let declared = times(size, |text, number| {
        line!(text, ".local .align 8 .b8 o{number}[16];");
    });
    let used = times(size, |text, number| {
        line!(
            text,
            "mov.u64 %rd4, o{number};\ncvta.local.u64 %rd5, %rd4;\nst.u32 [%rd5+4], %r1;"
        );
        line!(text, "st.global.u64 [%rd1], %rd5;");
    });
    kernel(&format!("{declared}{used}"))
}

/// Values that unoptimised code keeps on the stack.
fn slots(size: usize) -> String {
    let moves = times(size, |text, number| {
        let at = number % 1024 * 8;
        line!(text, "st.u64 [%SP+{at}], %rd1;\nld.u64 %rd5, [%SP+{at}];");
        line!(text, "st.global.u32 [%rd5], %r1;");
    });
    kernel(&format!(
        ".local .align 8 .b8 d[8192];\n.reg .b64 %SP;\n.reg .b64 %SPL;\nmov.u64 %SPL, d;\n\
         cvta.local.u64 %SP, %SPL;\n{moves}"
    ))
}

/// Kernels that all call one function with collectives.
fn library_with(size: usize, collective: &str) -> String {
    const COLLECTIVES: usize = 50;
    let body = times(COLLECTIVES, |text, _| line!(text, "{collective}"));
    let callers = times(size, |text, number| {
        line!(text, ".visible .entry k{number}(.param .u64 k_param_0)\n{BEGIN}");
        line!(text, "call.uni f;\nret;\n}}");
    });
    format!(
        "{HEAD}.func f()\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nmov.u64 %rd1, 4096;\n\
         ld.global.u32 %r3, [%rd1];\n{body}ret;\n}}\n{callers}"
    )
}

fn library(size: usize) -> String {
    library_with(size, "bar.warp.sync -1;")
}

fn library_wrong(size: usize) -> String {
    library_with(size, "bar.warp.sync 0xffff;")
}

//! Forms of real PTX, each with what the tree has for it.

#![allow(clippy::unwrap_used)]

use crate::common::{HEADER, accept, body, errors, kernel, outline};
use ptxcheck_ptx_parser::ast::{Extent, FunctionKind, Linkage, ScalarType, StateSpace, StatementKind};
use ptxcheck_ptx_parser::operand::{constant, integer};
use ptxcheck_ptx_parser::{Address, Element, parse};

/// The one statement of a body.
#[track_caller]
fn statement(text: &str, expected: &str) {
    let source = kernel(text);
    assert_eq!(body(&accept(source.as_bytes())), [expected], "for {text}");
}

#[test]
fn negative_immediates_and_destination_pairs() {
    statement("bar.warp.sync -16;", "bar.warp.sync Integer(-16)");
    statement(
        "shfl.sync.down.b32 %r40|%p7, %r1613, 1, 6175, -1;",
        "shfl.sync.down.b32 Pair[Name(%r40) Name(%p7)] Name(%r1613) Integer(1) Integer(6175) Integer(-1)",
    );
    statement(
        "shfl.sync.up.b32 r0 | _, a, 1, 0, -1;",
        "shfl.sync.up.b32 Pair[Name(r0) Sink(_)] Name(a) Integer(1) Integer(0) Integer(-1)",
    );
}

#[test]
fn offsets() {
    statement(
        "ld.b16 %rs42, [%rd98+-2];",
        "ld.b16 Name(%rs42) Address[Name(%rd98) Offset(+-2)]",
    );
    statement(
        "ld.b32 %r1, [%r20 + -4];",
        "ld.b32 Name(%r1) Address[Name(%r20) Offset(+ -4)]",
    );
    statement(
        "ld.b32 %r1, [ %rd2 + 0 ];",
        "ld.b32 Name(%r1) Address[Name(%rd2) Offset(+ 0)]",
    );
    statement(
        "ld.b32 %r1, [%rd2-8];",
        "ld.b32 Name(%r1) Address[Name(%rd2) Offset(-8)]",
    );
    statement(
        "ld.b32 %r1, [s+0x10];",
        "ld.b32 Name(%r1) Address[Name(s) Offset(+0x10)]",
    );
    statement(
        "ld.b32 %r1, [s+4*2];",
        "ld.b32 Name(%r1) Address[Name(s) Offset(+4*2)]",
    );
    statement(
        "ld.b32 %r1, [s+%r2];",
        "ld.b32 Name(%r1) Address[Name(s) Offset[Name(%r2)]]",
    );
    statement("ld.b32 %r1, [16];", "ld.b32 Name(%r1) Address[Integer(16)]");
    statement(
        "mov.u64 %rd1, sym+4;",
        "mov.u64 Name(%rd1) Sum[Name(sym) Offset(+4)]",
    );
    statement(
        "ld.param.b32 %r1, [x[1]];",
        "ld.param.b32 Name(%r1) Address[Index[Name(x) Integer(1)]]",
    );
    statement(
        "mov.u32 %r1, x[%r2];",
        "mov.u32 Name(%r1) Index[Name(x) Name(%r2)]",
    );
    statement(
        "ld.global.b32 %r1, [%rd1].unified, %rd2;",
        "ld.global.b32 Name(%r1) Address[Name(%rd1)] Name(%rd2)",
    );
    let source = kernel("ld.b16 %rs42, [%rd98+-2];");
    let tree = accept(source.as_bytes());
    let offset = tree
        .instruction(&tree.statements()[4])
        .operands
        .nth(1)
        .unwrap()
        .children()
        .nth(1)
        .unwrap();
    assert_eq!(offset.constant(), Some(-2));
}

#[test]
fn registers_without_types() {
    statement("add.f32 %r8, %r6, %r7;", "add.f32 Name(%r8) Name(%r6) Name(%r7)");
    statement(
        "ld.param.b64 %rd1, [k_param_0];",
        "ld.param.b64 Name(%rd1) Address[Name(k_param_0)]",
    );
}

#[test]
fn sinks() {
    statement(
        "mov.b64 {_, %r93}, %rd148;",
        "mov.b64 Vector[Sink(_) Name(%r93)] Name(%rd148)",
    );
    statement(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r32], 32768;",
        "mbarrier.arrive.expect_tx.shared::cta.b64 Sink(_) Address[Name(%r32)] Integer(32768)",
    );
    statement("mov.b32 __a, _b;", "mov.b32 Name(__a) Name(_b)");
    // Nobody writes this; but with and without spaces it is the same.
    for (address, offset) in [("[_+8]", "+8"), ("[_ + 8]", "+ 8")] {
        statement(
            &format!("ld.global.b32 %r1, {address};"),
            &format!("ld.global.b32 Name(%r1) Address[Sink(_) Offset({offset})]"),
        );
    }
}

#[test]
fn scopes_with_registers_of_their_own_on_one_line() {
    let source = kernel(
        "{ .reg .f32 r0; .reg .pred p; shfl.sync.down.b32 r0|p, %f194, %r11, %r24, %r25; @p add.f32 r0, r0, %f194; \
         mov.f32 %f192, r0;}",
    );
    let tree = accept(source.as_bytes());
    assert_eq!(
        body(&tree),
        [
            "{",
            "declare r0",
            "declare p",
            "shfl.sync.down.b32 Pair[Name(r0) Name(p)] Name(%f194) Name(%r11) Name(%r24) Name(%r25)",
            "@p add.f32 Name(r0) Name(r0) Name(%f194)",
            "mov.f32 Name(%f192) Name(r0)",
            "}",
        ]
    );
    let first = tree.functions()[0].body.range().start;
    assert_eq!(tree.statements()[first].index(), first + 6);
    assert_eq!(tree.statements()[first + 6].index(), first);
}

#[test]
fn one_label_in_several_scopes() {
    let scope = "{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2; @P1 bra DONE; \
                 bra LAB_WAIT; DONE: }\n";
    let source = kernel(&scope.repeat(2));
    let tree = accept(source.as_bytes());
    let labels: Vec<_> = body(&tree)
        .into_iter()
        .filter(|line| line.ends_with(':'))
        .collect();
    assert_eq!(labels, ["LAB_WAIT:", "DONE:", "LAB_WAIT:", "DONE:"]);
}

#[test]
fn calls() {
    let expected = "call.uni List[Name(retval0)] Name(vprintf) List[Name(param0) Name(param1)]";
    let source =
        kernel("{ // callseq 0, 0\n\tcall.uni (retval0),\n\tvprintf,\n\t(\n\tparam0,\n\tparam1\n\t);\n}");
    assert_eq!(body(&accept(source.as_bytes()))[1], expected);
    statement("call.uni (retval0), vprintf, ( param0, param1 );", expected);
    statement("call f;", "call Name(f)");
    statement("call f, (4);", "call Name(f) List[Integer(4)]");
    statement(
        "call.uni (%fd2), f, (%rl8), f;",
        "call.uni List[Name(%fd2)] Name(f) List[Name(%rl8)] Name(f)",
    );
}

#[test]
fn indirect_calls() {
    let source = kernel(
        "prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\ncall (retval0), %rd11, \
         (param0), prototype_0;\np1: .callprototype ()_ ();\np2: .callprototype _ (.param .b64 _) .noreturn;",
    );
    let tree = accept(source.as_bytes());
    assert_eq!(
        body(&tree),
        [
            "prototype_0:",
            "Prototype _",
            "call List[Name(retval0)] Name(%rd11) List[Name(param0)] Name(prototype_0)",
            "p1:",
            "Prototype _",
            "p2:",
            "Prototype _",
            ".noreturn",
        ]
    );
    let prototype = &tree.functions()[1];
    assert_eq!(prototype.kind, FunctionKind::Prototype);
    assert_eq!((prototype.results.len(), prototype.params.len()), (1, 2));
}

#[test]
fn initialisers() {
    let source = ".global .align 8 .b64 a[4] = {1, generic(gx), 97, 4607182418800017408, _Z2cbi, generic(gx)+4};\n\
                  .global .b8 b[9] = {1, 0XFF(generic(gx)+12), 0xFF00(gx)};\n.global .u32 c = 7;\n\
                  .global .f32 d[2][2] = {{0f3F800000, 1.5e-3}, { -1, (2+3)*4 }};\n";
    let tree = accept(source.as_bytes());
    let elements = |index: usize| tree.initializer(&tree.variables()[index]).collect::<Vec<_>>();
    let at = |symbol, is_generic, offset, mask| {
        Element::Address(Address {
            symbol,
            is_generic,
            offset,
            mask,
        })
    };
    assert_eq!(
        elements(0),
        [
            Element::Open,
            Element::Constant(b"1"),
            at(b"gx", true, 0, None),
            Element::Constant(b"97"),
            Element::Constant(b"4607182418800017408"),
            at(b"_Z2cbi", false, 0, None),
            at(b"gx", true, 4, None),
            Element::Close,
        ]
    );
    assert_eq!(
        elements(1)[2..4],
        [at(b"gx", true, 12, Some(0xff)), at(b"gx", false, 0, Some(0xff00))]
    );
    assert_eq!(elements(2), [Element::Constant(b"7")]);
    assert_eq!(
        elements(3),
        [
            Element::Open,
            Element::Open,
            Element::Constant(b"0f3F800000"),
            Element::Constant(b"1.5e-3"),
            Element::Close,
            Element::Open,
            Element::Constant(b"-1"),
            Element::Constant(b"(2+3)*4"),
            Element::Close,
            Element::Close,
        ]
    );
}

#[test]
fn long_names_and_long_lines() {
    let name = "n".repeat(100_000);
    let source = kernel(&format!("{name}: bra {name};"));
    let tree = accept(source.as_bytes());
    assert_eq!(body(&tree)[0].len(), 100_001);
    let table = format!(".global .b8 t[500000] = {{0{}}};\n", ", 255".repeat(499_999));
    let tree = accept(table.as_bytes());
    assert_eq!(tree.initializer(&tree.variables()[0]).count(), 500_002);
}

#[test]
fn numbers() {
    statement("mov.u32 %r1, 0X32B3U;", "mov.u32 Name(%r1) Integer(0X32B3U)");
    statement("mov.u32 %r1, 16U;", "mov.u32 Name(%r1) Integer(16U)");
    statement(
        "mov.f64 %fd1, 0d3DF0000000000000;",
        "mov.f64 Name(%fd1) Float(0d3DF0000000000000)",
    );
    statement("mov.f32 %f1, 0f42a00000;", "mov.f32 Name(%f1) Float(0f42a00000)");
    statement("mov.f32 %f1, -1.5e-3;", "mov.f32 Name(%f1) Float(-1.5e-3)");
    for (text, value) in [
        ("0", 0),
        ("0U", 0),
        ("-1", -1),
        ("0777", 0o777),
        ("0b101", 5),
        ("0X32B3U", 0x32b3),
        ("18446744073709551615", u64::MAX.into()),
        ("-9223372036854775808", i64::MIN.into()),
    ] {
        assert_eq!(integer(text.as_bytes()), Some(value), "{text}");
        assert_eq!(constant(text.as_bytes()), Some(value), "{text}");
    }
    for text in [
        "",
        "-",
        "08",
        "0x",
        "0b2",
        "1.5",
        "18446744073709551616",
        "-9223372036854775809",
        "x",
        "0f3F800000",
    ] {
        assert_eq!(integer(text.as_bytes()), None, "{text}");
        assert_eq!(constant(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn constant_expressions() {
    for (text, value) in [
        ("1+2*3", Some(7)),
        ("(1+2)*3", Some(9)),
        ("1<<4|1", Some(17)),
        ("7 & 3 == 3", Some(1)),
        ("10-4-3", Some(3)),
        ("7/2 + 7%2", Some(4)),
        ("~0", Some(u64::MAX.into())),
        ("!0 && 2 || 0", Some(1)),
        ("3 > 2 ? 10 : 20", Some(10)),
        ("0 ? 1 : 0 ? 2 : 3", Some(3)),
        ("(.s64) 0xffffffffffffffff", Some(-1)),
        ("(.u64)-1", Some(u64::MAX.into())),
        (".s64 -1", Some(-1)),
        ("- /* minus */ 5", Some(-5)),
        ("WARP_SZ-1", Some(31)),
        ("1/0", None),
        ("5%0", None),
        ("1<<64", None),
        ("9223372036854775807+1", None),
        ("0U-1", None),
        ("N+1", None),
        ("1.5+1", None),
        ("1+", None),
    ] {
        assert_eq!(constant(text.as_bytes()), value, "{text}");
    }
    statement("mov.u32 %r1, (4*8)+1;", "mov.u32 Name(%r1) Expression((4*8)+1)");
    statement("mov.u32 %r1, ~0;", "mov.u32 Name(%r1) Expression(~0)");
    statement("mov.u32 %r1, N*4;", "mov.u32 Name(%r1) Expression(N*4)");
    statement(
        "mov.u32 %r1, 1 /* one */ + 2 ;",
        "mov.u32 Name(%r1) Expression(1 /* one */ + 2)",
    );
    statement("mov.u32 %r1, - 5;", "mov.u32 Name(%r1) Integer(- 5)");
}

#[test]
fn qualifiers_with_colons_and_vectors_in_addresses() {
    let opcode = "cp.async.bulk.tensor.3d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes.\
                  multicast::cluster.L2::cache_hint";
    statement(
        &format!("{opcode} [%r1425], [%rd108, {{%r1583, %r1457, %r13}}], [%r1426], %rs15, %rd107;"),
        &format!(
            "{opcode} Address[Name(%r1425)] Address[Name(%rd108) Vector[Name(%r1583) Name(%r1457) Name(%r13)]] \
             Address[Name(%r1426)] Name(%rs15) Name(%rd107)"
        ),
    );
    statement(
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, smp, {%f5, %f6}];",
        "tex.2d.v4.f32.f32 Vector[Name(%f1) Name(%f2) Name(%f3) Name(%f4)] Address[Name(tex) Name(smp) Vector[Name(%f5) \
         Name(%f6)]]",
    );
}

#[test]
fn predicates_as_operands() {
    statement(
        "tcgen05.mma.cta_group::1.kind::f16 [ %r232 + 0 ], %rd17, %rd18, %r47, %p35;",
        "tcgen05.mma.cta_group::1.kind::f16 Address[Name(%r232) Offset(+ 0)] Name(%rd17) Name(%rd18) Name(%r47) Name(%p35)",
    );
    statement(
        "setp.lt.and.u32 p, a, b, !c_pred;",
        "setp.lt.and.u32 Name(p) Name(a) Name(b) Not[Name(c_pred)]",
    );
    statement("@!%p19 bra L;", "@!%p19 bra Name(L)");
    statement("@ ! p bra L;", "@!p bra Name(L)");
    statement(
        "vadd.s32.s32.s32 %r1, -%r2.b0, %r3.h1;",
        "vadd.s32.s32.s32 Name(%r1) Minus[Name(%r2.b0)] Name(%r3.h1)",
    );
}

#[test]
fn debug_directives() {
    let source = format!(
        "{HEADER}.entry k() {{\n.loc 1 56 0\n\tret;\n.loc 2 187 3, function_name $L__info_string0, inlined_at 1 52 5\n\
         .loc 2 188 3, function_name $L__info_string0+4, inlined_at 1 52 5\nret;\n}}\n.file 1 \"a b.cu\"\n.file 2 \
         \"c.cu\", 1700000000, 1234\n.section .debug_macinfo {{ }}\n.section .debug_info {{\n.b32 .debug_abbrev\n.b64 \
         $L__func_begin0\n.b32 $L__a-$L__b // 4 bytes }}\n.b8 1, 0x2, -3\n}}\n.section .debug_str\n{{\n$L__info_string0:\n\
         .b8 95 .b8 90\n.b8 0\n}}\n"
    );
    let tree = accept(source.as_bytes());
    assert_eq!(
        outline(&tree)[3..],
        [
            "Entry k",
            "loc 1 56 0",
            "ret",
            "loc 2 187 3",
            "loc 2 188 3",
            "ret",
            "file 1",
            "file 2",
            "section .debug_macinfo",
            "section .debug_info",
            "section .debug_str",
        ]
    );
    let inlined = tree
        .locations()
        .iter()
        .filter_map(|location| tree.inlined_at(location))
        .nth(1)
        .unwrap();
    assert_eq!(tree.text(inlined.function), b"$L__info_string0+4");
    assert_eq!((inlined.file, inlined.line, inlined.column), (1, 52, 5));
    assert!(tree.inlined_at(&tree.locations()[0]).is_none());
    assert_eq!(tree.text(tree.files()[0].name), b"a b.cu");
    assert_eq!(tree.text(tree.files()[1].rest), b", 1700000000, 1234");
}

#[test]
fn dwarf_lines_of_old_modules() {
    let source = ".version 1.4\n.target sm_13\n@@DWARF .section .debug_info, \"\", @progbits\n@@DWARF .byte 0x62, 0 // x\n";
    let tree = accept(source.as_bytes());
    assert_eq!(tree.text(tree.statements()[3].span()), b"@@DWARF .byte 0x62, 0");
    assert_eq!(tree.comments().len(), 1);
    assert_eq!(tree.address_size(), None);
}

#[test]
fn labels_and_branch_targets() {
    let many: Vec<String> = (0..300).map(|number| format!("$L__BB30_{number}")).collect();
    let source = kernel(&format!(
        "$L__BB38_10:\n{{ ret; }}\n$L_brx_0: .branchtargets\n\t{};\nbrx.idx %r1, $L_brx_0;\nF: .calltargets f, g;",
        many.join(",\n\t")
    ));
    let tree = accept(source.as_bytes());
    let lines = body(&tree);
    assert_eq!(lines[..2], ["$L__BB38_10:", "{"]);
    assert!(lines[5].starts_with(".branchtargets Name($L__BB30_0)"));
    assert_eq!(lines[5].matches("Name").count(), 300);
    assert_eq!(
        lines[6..],
        [
            "brx.idx Name(%r1) Name($L_brx_0)",
            "F:",
            ".calltargets Name(f) Name(g)"
        ]
    );
}

#[test]
fn kernel_directives() {
    let source = ".entry a() .maxntid 528, 1, 1\n.minnctapersm 1\n{ ret; }\n.entry b()\n.maxntid 32\n.maxnreg 48\n\
                  .explicitcluster\n.reqnctapercluster 2, 1, 1\n.blocksareclusters\n{\nret;\n}\n.func c() .noreturn;\n\
                  .entry d() .reqntid 128; .pragma \"nounroll\";\n{ ret; }\n.func e() .noreturn { trap; }\n";
    let tree = accept(source.as_bytes());
    let directives: Vec<Vec<_>> = tree
        .functions()
        .iter()
        .map(|function| {
            let names = tree.statements()[function.directives.range()]
                .iter()
                .map(|statement| tree.name(statement));
            names.map(|name| std::str::from_utf8(name).unwrap()).collect()
        })
        .collect();
    assert_eq!(directives[0], [".maxntid", ".minnctapersm"]);
    assert_eq!(
        directives[1],
        [
            ".maxntid",
            ".maxnreg",
            ".explicitcluster",
            ".reqnctapercluster",
            ".blocksareclusters"
        ]
    );
    assert_eq!(directives[2], [".noreturn"]);
    assert_eq!(directives[4], [".noreturn"]);
    let has_body: Vec<_> = tree
        .functions()
        .iter()
        .map(|function| function.has_body)
        .collect();
    assert_eq!(has_body, [true, true, false, true, true]);
    assert_eq!(outline(&tree)[1], ".maxntid Integer(528) Integer(1) Integer(1)");
}

#[test]
fn parameters() {
    let source = ".visible .entry k(\n.param .u64 .ptr .global .align 1 a,\n.param .align 4 .b8 b[12],\n.param .u64 .ptr \
                  c, .param .texref t, .u32 d\n)\n{ ret; }\n.extern .func (.param .b32 r) f(.param .b64 x, .param .align 8 \
                  .b8 f_vararg[])\n;\n.func (.reg .u32 %r) g (.reg .u32 %a) { ret; }\n";
    let tree = accept(source.as_bytes());
    let (a, b, c, d) = (
        tree.variables()[0],
        tree.variables()[1],
        tree.variables()[2],
        tree.variables()[4],
    );
    assert_eq!(
        (a.is_pointer, a.pointer_space, a.pointer_align),
        (true, Some(StateSpace::Global), 1)
    );
    assert_eq!(
        (b.align, b.scalar, b.extent),
        (4, ScalarType::B8, Extent::Elements(12))
    );
    assert_eq!((c.is_pointer, c.pointer_space), (true, None));
    assert_eq!((d.space, d.scalar), (StateSpace::Param, ScalarType::U32));
    let f = tree.functions()[1];
    assert_eq!(
        (f.linkage, f.results.len(), f.params.len(), f.has_body),
        (Linkage::Extern, 1, 2, false)
    );
    assert_eq!(tree.variables()[f.params.range()][1].extent, Extent::Unsized);
    assert_eq!(
        tree.text(f.header),
        &b".extern .func (.param .b32 r) f(.param .b64 x, .param .align 8 .b8 f_vararg[])"[..]
    );
    assert_eq!(
        tree.variables()[tree.functions()[2].params.range()][0].space,
        StateSpace::Reg
    );
}

#[test]
fn names() {
    let source = ".func _Z2vaPii$7(.param .b32 a) { ret; }\n.func nvptx$device$init() { ret; }\n.func a.b.c() {\nmov.u32 %r1, \
                  %reserved_smem_offset_1;\nmov.u32 %r1, %envreg2;\n}\n";
    let tree = accept(source.as_bytes());
    let names: Vec<_> = tree
        .functions()
        .iter()
        .map(|function| tree.text(function.name))
        .collect();
    assert_eq!(names, [&b"_Z2vaPii$7"[..], b"nvptx$device$init", b"a.b.c"]);
}

#[test]
fn linkage_and_attributes() {
    let source = ".common .global .u64 a;\n.weak .const .u32 b;\n.weak .shared .u32 c;\n.weak .entry d() { ret; }\n.alias e, \
                  f;\n.global .attribute(.managed) .u32 g;\n.func .attribute(.unified(0xAB, 0xCD)) h() { ret; }\n\
                  .const[3] .u32 i;\n.extern .shared .align 16 .b8 j[];\n.visible .global .b8 k[2][3];\n";
    let tree = accept(source.as_bytes());
    let linkage: Vec<_> = tree.variables().iter().map(|variable| variable.linkage).collect();
    use Linkage::{Common, Extern, Local, Visible, Weak};
    assert_eq!(linkage, [Common, Weak, Weak, Local, Local, Extern, Visible]);
    assert_eq!(tree.text(tree.variables()[3].attribute), b".attribute(.managed)");
    assert_eq!(
        tree.text(tree.functions()[1].attribute),
        b".attribute(.unified(0xAB, 0xCD))"
    );
    assert_eq!(tree.variables()[4].bank, Some(3));
    assert_eq!(tree.variables()[6].extent, Extent::Elements(6));
}

#[test]
fn pragmas() {
    statement(".pragma \"nounroll\";", ".pragma String(\"nounroll\")");
    statement(
        ".pragma \"used_bytes_mask 61680\";",
        ".pragma String(\"used_bytes_mask 61680\")",
    );
}

#[test]
fn register_declarations() {
    let source = kernel(
        ".reg .b128 x;\n.reg .v2.b16 y<4>;\n.reg .u32 %r0, %alo, %ahi;\n.reg .v4 .u32 temp;\n.reg .e4m3x2 z;\n.reg .novel w;",
    );
    let tree = accept(source.as_bytes());
    let variables = tree.variables();
    assert_eq!(
        (variables[0].scalar, variables[0].registers()),
        (ScalarType::B128, None)
    );
    assert_eq!(
        (variables[1].vector, variables[1].scalar, variables[1].registers()),
        (2, ScalarType::B16, Some(4))
    );
    assert_eq!(body(&tree)[2], "declare %r0 %alo %ahi");
    assert_eq!(variables[5].vector, 4);
    assert_eq!(
        (variables[6].scalar, tree.text(variables[6].scalar_name)),
        (ScalarType::E4M3x2, &b".e4m3x2"[..])
    );
    assert_eq!(
        (variables[7].scalar, tree.text(variables[7].scalar_name)),
        (ScalarType::Other, &b".novel"[..])
    );
}

#[test]
fn module_headers() {
    let tree = accept(b".version 1.4\n.target sm_10, map_f64_to_f32\n");
    assert_eq!(tree.version(), Some((1, 4)));
    assert_eq!(
        tree.target().collect::<Vec<_>>(),
        [&b"sm_10"[..], b"map_f64_to_f32"]
    );
    assert_eq!(tree.address_size(), None);
    let tree = accept(b".version 8.10 .target sm_90, debug .address_size 64");
    assert_eq!((tree.version(), tree.address_size()), (Some((8, 10)), Some(64)));
    assert_eq!(tree.target().nth(1), Some(&b"debug"[..]));
    let tree = accept(b"");
    assert_eq!((tree.version(), tree.target().count()), (None, 0));
}

#[test]
fn opaque_types_and_entries_without_parentheses() {
    let source = ".tex .u64 t;\n.global .texref a;\n.global .samplerref b;\n.global .surfref c;\n.entry k\n{\nret;\n}\n.entry l \
                  .maxntid 32 { ret; }\n";
    let tree = accept(source.as_bytes());
    let types: Vec<_> = tree.variables().iter().map(|variable| variable.scalar).collect();
    assert_eq!(
        types,
        [
            ScalarType::U64,
            ScalarType::Texref,
            ScalarType::Samplerref,
            ScalarType::Surfref
        ]
    );
    assert!(
        tree.functions()
            .iter()
            .all(|function| function.has_body && function.params.is_empty())
    );
}

#[test]
fn line_endings_comments_and_byte_order_marks() {
    let source = kernel("add.s32 %r1, %r2, 3; // one\n/* two\nlines */ ret;\n\tmov.u32 /* in */ %r1, 0;");
    let unix = accept(source.as_bytes());
    let dos = source.replace('\n', "\r\n");
    let dos = accept(dos.as_bytes());
    let dos_comments: Vec<_> = dos.comments().iter().map(|&comment| dos.text(comment)).collect();
    assert_eq!(dos_comments, [&b"// one"[..], b"/* two\r\nlines */", b"/* in */"]);
    assert_eq!(outline(&unix), outline(&dos));
    let marked = format!("\u{feff}{source}");
    let marked = accept(marked.as_bytes());
    assert_eq!(outline(&unix), outline(&marked));
    assert_eq!(marked.statements()[0].span().start, 3);
    accept(b".version 8.5\n.target sm_90\n\0\0\0");
    accept(b"// only a comment");
    accept(b"// caf\xe9\n.file 1 \"caf\xe9.cu\"\n");
}

#[test]
fn what_nobody_has_heard_of() {
    statement(
        "frob.x::y.b3 %r1, {1, [a]};",
        "frob.x::y.b3 Name(%r1) Vector[Integer(1) Address[Name(a)]]",
    );
    statement("add .u32 %r1, 1, 2;", "add .u32 Name(%r1) Integer(1) Integer(2)");
    let source = ".newthing\n.newlimit 3, 4\n.newprop (.a, b) ;\n.newlinkage .global .u32 x;\n";
    assert_eq!(
        outline(&accept(source.as_bytes())),
        [
            ".newthing",
            ".newlimit Integer(3) Integer(4)",
            ".newprop List[Name(.a) Name(b)]",
            ".newlinkage",
            "declare x",
        ]
    );
}

#[test]
fn spans() {
    let source = kernel("\t@%p1 add.s32 %r1, %r2, 3 ;");
    let tree = accept(source.as_bytes());
    let statement = tree.statements()[tree.functions()[0].body.range()][0];
    assert_eq!(statement.kind(), StatementKind::Instruction);
    assert_eq!(tree.text(statement.span()), b"@%p1 add.s32 %r1, %r2, 3 ;");
    assert_eq!(tree.text(statement.name()), b"add.s32");
    assert_eq!(
        tree.text(tree.functions()[0].span),
        source[HEADER.len()..].trim_end().as_bytes()
    );
    assert_eq!(tree.statements()[3].span(), tree.functions()[0].span);
}

#[test]
fn generic_is_for_initialisers_only() {
    let source = kernel("mov.u64 %rd1, generic(x);");
    assert_eq!(
        errors(source.as_bytes()),
        ["6:22: expected `,` or `;` after the operand, found `(`"]
    );
    assert!(parse(source.as_bytes()).unwrap().functions()[0].has_body);
}

//! Rules that no file of PTX can show: for each an input that makes it fire, and its neighbour on which it is silent.

use crate::fatbin::{Elf, Entry, IS_64_BIT, IS_DEBUG, Packing, SPECIFIC, Symbol, archive, container};
use crate::wheels::{metadata, wheel};

/// One run of the program: its arguments, and a file to check.
#[derive(Clone, Debug)]
pub struct Run {
    /// A command with options; without one, `check`.
    pub args: Vec<&'static str>,
    /// The name of the file.
    pub name: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
    /// A file beside it that the arguments name: its name and its text.
    pub beside: Option<(&'static str, String)>,
}

/// A rule, and the two runs that show it.
#[derive(Clone, Debug)]
pub struct RulePair {
    /// `PTX501`
    pub code: &'static str,
    /// A run with a finding of it.
    pub fires: Run,
    /// One that differs in what the rule is about, is analysed as well, and has none.
    pub silent: Run,
}

fn pair(code: &'static str, args: &[&'static str], fires: Vec<u8>, silent: Vec<u8>) -> RulePair {
    let run = |bytes| Run {
        args: args.to_vec(),
        name: "x.bin",
        bytes,
        beside: None,
    };
    RulePair {
        code,
        fires: run(fires),
        silent: run(silent),
    }
}

/// A wheel with machine code for `sm_80`, whose metadata claim these features; and one that claims what it has.
fn of_wheel(code: &'static str, features: &str) -> RulePair {
    let image = Entry::cubin(80, Elf::cubin(80, &[("k", &[])]).bytes());
    let library = Elf::host(3).section(".nv_fatbin", container(&[image])).bytes();
    let claiming = |features: &str| Run {
        args: vec!["audit", "--check-variants"],
        name: "x-1.0-py3-none-any-gpu.whl",
        bytes: wheel(
            "x-1.0",
            &metadata("gpu", features),
            &[("x/lib.so", library.clone())],
        ),
        beside: None,
    };
    RulePair {
        code,
        fires: claiming(features),
        silent: claiming(r#""sm_arch": ["80_real"]"#),
    }
}

/// A kernel that takes more registers than pinned, and one that takes as many.
fn against_pinned(taking: impl Fn(u32) -> Vec<u8>) -> RulePair {
    let pinned = r#"{"version": 2, "pins": [], "targets": {}, "jit": {},
        "files": {"x.bin": {"kernels": {"k": {"sm_90": {"registers": 128}}}}}}"#;
    let args = &["audit", "--ratchet", "pinned.json"];
    let mut pair = pair("PTX526", args, taking(168), taking(128));
    for run in [&mut pair.fires, &mut pair.silent] {
        run.beside = Some(("pinned.json", pinned.to_owned()));
    }
    pair
}

fn ptx(sm: u32, more: &str) -> String {
    format!(".version 7.8\n.target sm_{sm}\n.address_size 64\n.visible .entry k({more}\n{{\n\tret;\n}}\n")
}

/// PTX with a source line.
fn lined() -> String {
    let text = ptx(75, ")").replace("\tret;", "\t.loc 1 2 3\n\tret;");
    format!("{text}.file 1 \"src/k.cu\"\n")
}

fn fat(texts: &[(u32, String)]) -> Vec<u8> {
    let entries: Vec<_> = texts.iter().map(|(sm, text)| Entry::ptx(*sm, text)).collect();
    container(&entries)
}

fn one(sm: u32) -> Vec<u8> {
    fat(&[(sm, ptx(sm, ")"))])
}

/// A library that needs another one.
fn needing(library: &str) -> Vec<u8> {
    let elf = Elf::host(3).section(".nv_fatbin", one(75));
    elf.needing(&["libc.so.6", library], "GLIBC_2.34").bytes()
}

/// A wheel with a module for another Python than its name says, and one with a module for this Python.
fn of_python() -> RulePair {
    let holding = |member: &str| Run {
        args: vec!["audit"],
        name: "x-1.0-cp311-cp311-linux_x86_64.whl",
        bytes: wheel("x-1.0", "{}", &[(member, needing("libcudart.so.12"))]),
        beside: None,
    };
    RulePair {
        code: "PTX529",
        fires: holding("x/_C.cpython-310-x86_64-linux-gnu.so"),
        silent: holding("x/_C.cpython-311-x86_64-linux-gnu.so"),
    }
}

/// Two images that differ in what follows the kernel's name and a bracket.
fn two(first: &str, second: &str) -> Vec<u8> {
    fat(&[(75, ptx(75, first)), (90, ptx(90, second))])
}

/// The pairs about images and about the run.
#[must_use]
pub fn pairs() -> Vec<RulePair> {
    let code = |sm| Entry::cubin(sm, Elf::cubin(sm, &[("k", &[])]).bytes());
    let named = |name: &str| ptx(75, ")").replace(" k(", &format!(" {name}("));
    let with_stub = |stub: &str| {
        let mut elf = Elf::host(2).section(".nv_fatbin", one(90));
        elf.symbols.push(Symbol {
            name: stub.into(),
            info: 0x02,
            other: 0,
            section: 1,
            size: 16,
        });
        elf.bytes()
    };
    let of_version = |version: &str| fat(&[(75, ptx(75, ")").replace("7.8", version))]);
    let flagged = |flags, more: &str| {
        let text = ptx(90, ")").replace("sm_90", &format!("sm_90{more}"));
        container(&[
            code(80),
            Entry {
                flags: IS_64_BIT | flags,
                ..Entry::ptx(90, &text)
            },
        ])
    };
    let packed = |packing| container(&[Entry::ptx(75, &ptx(75, ")")).packed(packing)]);
    let weak = |value: &str| {
        let text = format!(
            ".version 7.8\n.target sm_90\n.address_size 64\n.weak .func (.param .b32 r) f()\n{{\n\
             st.param.b32 [r], {value};\nret;\n}}\n"
        );
        Elf::host(1).section("__nv_relfatbin", fat(&[(90, text)])).bytes()
    };
    let weak = |other| archive(&[("a.o", &weak("1")), ("b.o", &weak(other))]);
    let from = |file: &str| fat(&[(90, format!("{}.file 1 \"{file}\"\n", ptx(90, ")")))]);
    let narrow = Entry {
        flags: 0,
        ..Entry::ptx(75, &ptx(75, ")").replace("64", "32"))
    };
    let closed = Entry {
        kind: 8,
        sm: 90,
        flags: IS_64_BIT,
        content: b"\xed\x43\x4e\x7f".to_vec(),
        ..Entry::default()
    };
    let taking = |registers: u32| {
        let mut info = vec![4, 0x2f, 8, 0, 1, 0, 0, 0];
        info.extend(registers.to_le_bytes());
        let elf = Elf::cubin(90, &[("k", &[])]).section(".nv.info", info);
        container(&[Entry::cubin(90, elf.bytes())])
    };
    let with = |sm: u32, flags: u64, section: &str, content: Vec<u8>| Entry {
        flags: IS_64_BIT | flags,
        ..Entry::cubin(
            sm,
            Elf::cubin(sm, &[("k", &[])]).section(section, content).bytes(),
        )
    };
    // The class of the instructions, 1 for those that all targets have.
    let of_class = |class: u8| {
        let specific = with(120, SPECIFIC, ".nv.compat", vec![2, 9, 1, 0, 2, 2, class, 0]);
        container(&[code(120), specific])
    };
    let compiled_for = |number: u8| {
        let mut note = vec![0; 12];
        note.extend(b"NVIDIA Corp\0");
        note.extend([2, 0, number, 0, 135, 0, 0, 0]);
        container(&[with(86, 0, ".note.nv.cuinfo", note)])
    };
    let body = |sm: u32| ptx(sm, ")").replace("ret;", "bar.sync 0;\n\tret;");
    let illegal = |sm: &str| {
        let text = ptx(75, ")").replace("ret;", "redux.sync.add.s32 %r1, %r2, -1;\nret;");
        text.replace("sm_75", &format!("sm_{sm}"))
    };
    // Images for sm_90 and sm_100, some of which wait for other grids.
    let waiting = |waits: &[bool]| {
        let text = |(sm, waits): (u32, &bool)| {
            let wait = if *waits {
                "griddepcontrol.wait;\n\tret;"
            } else {
                "bar.sync 0;\n\tret;"
            };
            (sm, ptx(sm, ")").replace("ret;", wait))
        };
        fat(&[90, 100].into_iter().zip(waits).map(text).collect::<Vec<_>>())
    };
    let audit = &["audit"][..];
    let mut found = vec![
        pair("PTX501", &["audit", "--require-ptx", "80"], one(90), one(80)),
        pair(
            "PTX502",
            audit,
            fat(&[(75, named("l")), (90, ptx(90, ")"))]),
            two(")", ")"),
        ),
        pair(
            "PTX503",
            &[],
            two(".param .f32 a)", ".param .f64 a)"),
            two(".param .f32 a)", ".param .u32 a)"),
        ),
        pair(
            "PTX504",
            &[],
            with_stub("_Z19__device_stub__Z1lPPi"),
            with_stub("_Z19__device_stub__Z1kPPi"),
        ),
        pair(
            "PTX505",
            &["audit", "--min-driver", "535"],
            of_version("8.4"),
            of_version("8.0"),
        ),
        pair("PTX506", &[], flagged(SPECIFIC, "a"), flagged(0, "")),
        pair("PTX507", &[], flagged(IS_DEBUG, ", debug"), flagged(0, "")),
        pair(
            "PTX508",
            &["audit", "--min-driver", "535"],
            packed(Packing::Zstd),
            packed(Packing::Lz4),
        ),
        pair("PTX509", &[], weak("2"), weak("1")),
        pair(
            "PTX510",
            audit,
            two(") .maxntid 128", ") .maxntid 256"),
            two(") .maxntid 128", ") .maxntid 128, 1, 1"),
        ),
        pair(
            "PTX511",
            &["audit", "--forbid-duplicates"],
            [one(90), one(90)].concat(),
            one(90),
        ),
        pair(
            "PTX512",
            &["-W", "PTX512"],
            from("/home/me/k.cu"),
            from("src/k.cu"),
        ),
        pair("PTX513", &[], container(&[narrow]), one(75)),
        pair("PTX532", audit, waiting(&[true, false]), waiting(&[true, true])),
        pair(
            "PTX514",
            &["audit", "--require-gpu", "9.0"],
            container(&[code(80)]),
            container(&[code(90)]),
        ),
        pair(
            "PTX515",
            &["audit", "--require-gpu", "7.5"],
            fat(&[(75, ptx(75, ")")), (80, body(80))]),
            fat(&[(75, body(75)), (80, body(80))]),
        ),
        pair(
            "PTX516",
            audit,
            fat(&[(75, illegal("75"))]),
            fat(&[(80, illegal("80"))]),
        ),
        of_wheel("PTX517", r#""sm_arch": ["80_real", "90_real"]"#),
        pair(
            "PTX518",
            &["audit", "--require-gpu", "12.0"],
            of_class(1),
            of_class(3),
        ),
        of_wheel("PTX519", r#""sm_arch": ["80_real", "90a_real"]"#),
        pair(
            "PTX520",
            &["audit", "--require-gpu", "9.0", "--max-jit", "1"],
            one(80),
            container(&[code(90)]),
        ),
        pair(
            "PTX521",
            &["audit", "--max-registers", "128"],
            taking(168),
            taking(128),
        ),
        pair(
            "PTX522",
            &["audit", "--require-block", "512"],
            taking(168),
            taking(128),
        ),
        pair(
            "PTX523",
            &["audit", "--same-virtual-target"],
            compiled_for(80),
            compiled_for(86),
        ),
        of_wheel("PTX525", r#""sm_arch": ["80_real", "80_virtual"]"#),
        pair(
            "PTX527",
            audit,
            container(&[code(80)]),
            container(&[code(80), Entry::ptx(80, &body(80))]),
        ),
        pair(
            "PTX528",
            &["audit", "--min-driver", "550.54"],
            needing("libcudart.so.13"),
            needing("libcudart.so.12"),
        ),
        of_python(),
        pair("PTX530", &["-W", "PTX530"], fat(&[(75, lined())]), one(75)),
        pair(
            "PTX531",
            &["audit", "--max-file-size", "1000"],
            fat(&[(75, "// a comment\n".repeat(100) + &ptx(75, ")"))]),
            one(75),
        ),
        pair("PTX901", &[], one(90)[..60].to_vec(), one(90)),
        pair(
            "PTX903",
            &["--timeout", "0.000000001"],
            ptx(90, ")").into(),
            one(90),
        ),
        pair(
            "PTX905",
            &[],
            container(&[closed, Entry::ptx(90, &ptx(90, ")"))]),
            one(90),
        ),
        pair(
            "PTX908",
            &["--assume", "k:0 % 32"],
            ptx(90, ")").into(),
            ptx(90, ".param .u32 n)").into(),
        ),
        pair(
            "PTX906",
            &["--strict-config"],
            (ptx(90, ")") + "// ptxcheck: allow(PTX407) of old\n").into(),
            ptx(90, ")").into(),
        ),
    ];
    found.push(against_pinned(taking));
    // The rule is about the time that a run is given.
    for late in found.iter_mut().filter(|pair| pair.code == "PTX903") {
        late.silent.args.clear();
    }
    found
}

/// The pairs that only LLVM IR can show.
#[must_use]
pub fn pairs_of_ir() -> Vec<RulePair> {
    let module = |variable: &str, ty: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"\n\
             {variable}, align 4, !dbg !2\n\
             define ptx_kernel void @k() {{\n  %1 = load volatile i32, ptr @v, align 4\n  ret void\n}}\n\
             !llvm.dbg.cu = !{{!0}}\n!llvm.module.flags = !{{!6, !7}}\n\
             !0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, emissionKind: FullDebug)\n\
             !1 = !DIFile(filename: \"host.cu\", directory: \"/build\")\n\
             !2 = !DIGlobalVariableExpression(var: !3, expr: !DIExpression())\n\
             !3 = distinct !DIGlobalVariable(name: \"v\", scope: !0, file: !1, line: 1, type: {ty})\n\
             !4 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)\n\
             !5 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !4)\n\
             !6 = !{{i32 2, !\"Debug Info Version\", i32 3}}\n\
             !7 = !{{i32 4, !\"nvvm-reflect-ftz\", i32 0}}\n\
             !8 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !9)\n\
             !9 = !DIDerivedType(tag: DW_TAG_volatile_type, baseType: !4)\n\
             !10 = !DICompositeType(tag: DW_TAG_structure_type, name: \"S\", file: !1, line: 3, size: 32, elements: !11)\n\
             !11 = !{{}}\n!12 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !10)\n"
        )
    };
    let plain = |module: String| module.replace("load volatile", "load").into_bytes();
    let known = "@v = internal constant i32 10";
    let pair = |code, fires: Vec<u8>, silent: Vec<u8>| {
        let mut pair = pair(code, &["-W", "potential"], fires, silent);
        (pair.fires.name, pair.silent.name) = ("x.ll", "x.ll");
        pair
    };
    vec![
        pair(
            "PTX102",
            plain(module("@v = external constant i32", "!5")),
            plain(module(known, "!5")),
        ),
        pair("PTX103", plain(module(known, "!12")), plain(module(known, "!5"))),
        pair("PTX104", plain(module(known, "!8")), plain(module(known, "!5"))),
    ]
}

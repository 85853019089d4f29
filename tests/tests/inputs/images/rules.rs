//! The rules that compare images and hold them against a policy.

use ptxcheck_tests::fatbin::{
    Elf, Entry, IS_64_BIT, IS_DEBUG, Packing, SPECIFIC, Symbol, archive, container,
};
use ptxcheck_tests::report;

use super::{audit, audited, check, clean, codes, folder, run_in};

#[test]
fn missing_targets_are_reported_by_kernel() {
    let cubin = |sm, kernels: &[(&str, &[(u16, u32)])]| Entry::cubin(sm, Elf::cubin(sm, kernels).bytes());
    let both = container(&[
        cubin(80, &[("k", &[]), ("l", &[])]),
        Entry::ptx(80, &clean("sm_80", "k", "")),
    ]);
    let one = container(&[cubin(90, &[("k", &[])])]);
    let file = [both, one].concat();
    for (args, wanted) in [
        (["--require-sm", "80"], None),
        (
            ["--require-sm", "90"],
            Some("there is no machine code for sm_90 of 1 of 2 kernels"),
        ),
        (
            ["--require-sm", "120"],
            Some("there is no machine code for sm_120 of any of its 2 kernels"),
        ),
        (
            ["--require-ptx", "80"],
            Some("there is no PTX for sm_80 of 1 of 2 kernels"),
        ),
        (
            ["--require-sm", "90a"],
            Some("there is no machine code for sm_90a of any of its 2 kernels"),
        ),
    ] {
        let (code, document) = audit(&file, &args);
        let messages: Vec<_> = report::findings(&document)
            .iter()
            .filter(|finding| finding["code"] == "PTX501")
            .map(|finding| finding["message"].as_str().unwrap())
            .collect();
        assert_eq!(messages, wanted.into_iter().collect::<Vec<_>>(), "{args:?}");
        assert_eq!(code, i32::from(wanted.is_some()), "{args:?}");
    }
    // An image that cannot be read proves nothing.
    let closed = |kind, sm| Entry {
        kind,
        sm,
        flags: IS_64_BIT,
        content: b"closed".to_vec(),
        ..Entry::default()
    };
    let missing = |entry: Entry, section: &str| {
        let fat = container(&[cubin(80, &[("k", &[])]), entry]);
        let kind = if section == ".nv_fatbin" { 2 } else { 1 };
        let found = audited(
            &Elf::host(kind).section(section, fat).bytes(),
            &["--require-sm", "90"],
        );
        found.iter().any(|code| code == "PTX501")
    };
    assert!(!missing(closed(0x100, 0), ".nv_fatbin"));
    assert!(!missing(closed(2, 90), ".nv_fatbin"));
    assert!(!missing(closed(8, 90), "__nv_relfatbin"));
    assert!(missing(closed(8, 90), ".nv_fatbin"));
    assert!(missing(closed(8, 120), "__nv_relfatbin"));
    assert!(missing(closed(2, 120), ".nv_fatbin"));
    // An image that a finished link leaves counts for nothing.
    let left = Elf::host(2)
        .section("__nv_relfatbin", container(&[cubin(90, &[("k", &[])])]))
        .bytes();
    let linked = Elf::host(2)
        .section(".nv_fatbin", container(&[cubin(80, &[("k", &[])])]))
        .bytes();
    let file = [left, linked].concat();
    let folder = folder(&[("x", &file)]);
    let output = run_in(&folder, &["audit", "--require-sm", "90", "-q", "x"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("PTX501"));
}

#[test]
fn kernels_that_only_some_images_have_are_reported() {
    let fat = |one: &str, other: &str| {
        container(&[
            Entry::ptx(75, &clean("sm_75", one, "")),
            Entry::ptx(90, &clean("sm_90", other, "")),
        ])
    };
    assert_eq!(audited(&fat("_Z1kIfEvv", "_Z1lIdEvv"), &[]), ["PTX502", "PTX502"]);
    assert_eq!(codes(&fat("_Z1kIfEvv", "_Z1kIdEvv"), &[]), [""; 0]);
    assert_eq!(audited(&fat("k", "k"), &[]), [""; 0]);
    // Twins are one finding, before all others.
    let module = |sm: u32, kernels: [&str; 2]| {
        let text = kernels.map(|kernel| clean("sm_75", kernel, ""));
        let second = text[1].split_once(".visible").unwrap().1;
        let text = format!("{}.visible{second}", text[0]);
        Entry::ptx(sm, &text.replace("sm_75", &format!("sm_{sm}")))
    };
    let fat_of_two = container(&[
        module(75, ["_Z1aPi", "_Z1kI4BF16Li4EEvPT_"]),
        module(90, ["_Z1bPi", "_Z1kI4bf16Li4EEvPT_"]),
    ]);
    let (_, document) = audit(&fat_of_two, &[]);
    let found: Vec<_> = report::findings(&document)
        .iter()
        .map(|finding| {
            (
                finding["code"].as_str().unwrap(),
                finding["message"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(
        found[0],
        (
            "PTX502",
            "kernel `void k<BF16, 4>(BF16*)` may fail to launch: it is in the PTX for sm_75 and not in the PTX for sm_90, which has `void k<bf16, 4>(bf16*)` in its place"
        )
    );
    // An image that a finished link leaves counts for nothing; in an object it is yet to be linked.
    let lies_in = |kind, section: &str| {
        let elf = Elf::host(kind).section(section, fat("k", "l"));
        audited(&elf.bytes(), &[]).len()
    };
    assert_eq!(lies_in(2, "__nv_relfatbin"), 0);
    assert_eq!((lies_in(1, "__nv_relfatbin"), lies_in(2, ".nv_fatbin")), (2, 2));
    // Two images for one target are not alternatives.
    let modules = container(&[
        Entry::ptx(90, &clean("sm_90", "a", "")),
        Entry::ptx(90, &clean("sm_90", "b", "")),
    ]);
    assert_eq!(audited(&modules, &[]), [""; 0]);
}

#[test]
fn signatures_that_differ_are_reported() {
    let fat = |one: &str, other: &str| {
        container(&[
            Entry::ptx(75, &clean("sm_75", "k", one)),
            Entry::ptx(90, &clean("sm_90", "k", other)),
        ])
    };
    assert_eq!(codes(&fat(".param .f32 a", ".param .f64 a"), &[]), ["PTX503"]);
    assert_eq!(codes(&fat(".param .f32 a", ".param .u32 a"), &[]), [""; 0]);
    // Machine code says it, too.
    let with_code = |params: &[(u16, u32)]| {
        let cubin = Elf::cubin(90, &[("k", params)]).bytes();
        container(&[
            Entry::cubin(90, cubin),
            Entry::ptx(90, &clean("sm_90", "k", ".param .u64 a, .param .u32 b")),
        ])
    };
    assert_eq!(codes(&with_code(&[(0, 8), (8, 4)]), &[]), [""; 0]);
    assert_eq!(codes(&with_code(&[(0, 8), (8, 8)]), &[]), ["PTX503"]);
    assert_eq!(codes(&with_code(&[(0, 8)]), &[]), ["PTX503"]);
    // Their offsets are up to each image.
    assert_eq!(codes(&with_code(&[(32, 8), (40, 4)]), &[]), [""; 0]);
    let sized = |name: &str, sm: u32, size: u32| {
        Entry::ptx(
            sm,
            &format!(".version 7.8\n.target sm_{sm}\n.address_size 64\n.global .b8 {name}[{size}];\n"),
        )
    };
    assert_eq!(
        codes(&container(&[sized("v", 75, 16), sized("v", 90, 64)]), &[]),
        ["PTX503"]
    );
    assert_eq!(
        codes(&container(&[sized("v", 75, 16), sized("v", 90, 16)]), &[]),
        [""; 0]
    );
    assert_eq!(
        codes(&container(&[sized("$str", 75, 16), sized("$str", 90, 64)]), &[]),
        [""; 0]
    );
}

#[test]
fn registered_symbols_that_nobody_defines_are_reported() {
    let host = |kind, stub: &str| {
        let mut elf = Elf::host(kind).section(
            ".nv_fatbin",
            container(&[Entry::ptx(90, &clean("sm_90", "_Z1kPi", ""))]),
        );
        elf.symbols.push(Symbol {
            name: stub.into(),
            info: 0x02,
            other: 0,
            section: 1,
            size: 16,
        });
        elf.bytes()
    };
    for kind in [1, 2, 3] {
        assert_eq!(codes(&host(kind, "_Z20__device_stub__Z1kPiPi"), &[]), [""; 0]);
        assert_eq!(codes(&host(kind, "_Z20__device_stub__Z1lPiPi"), &[]), ["PTX504"]);
    }
    // A kernel of C, which nvcc's stub names as one of C++.
    let mut plain = Elf::host(2).section(
        ".nv_fatbin",
        container(&[Entry::ptx(90, &clean("sm_90", "k", ""))]),
    );
    for (stub, wanted) in [
        ("_Z20__device_stub__Z1kPiPi", vec![]),
        ("_Z25__device_stub__ZN1n1kEPiPi", vec![]),
        ("_Z20__device_stub__Z1lPiPi", vec!["PTX504"]),
        ("_Z25__device_stub__Z1kIfEvPfPf", vec!["PTX504"]),
    ] {
        plain.symbols = vec![Symbol {
            name: stub.into(),
            info: 0x02,
            other: 0,
            section: 1,
            size: 16,
        }];
        assert_eq!(codes(&plain.bytes(), &[]), wanted, "{stub}");
    }
    // Lengths that end inside the prefix, or inside a character.
    for stub in [
        "_Z5__device_stub__k",
        "_Z0__device_stub__k",
        "_ZL14__device_stub__k",
        "_Z16__device_stub__\u{e9}k",
        "_Z18446744073709551615__device_stub__k",
    ] {
        plain.symbols[0].name = stub.into();
        assert_eq!(codes(&plain.bytes(), &[]), [""; 0], "{stub}");
        let folder = folder(&[("x.o", &plain.bytes())]);
        let output = run_in(&folder, &["extract", "x.o", "-o", "out"]);
        assert_eq!(output.status.code(), Some(0), "{stub}");
    }
    // An object without images was compiled for the host alone.
    let mut elf = Elf::host(1);
    elf.symbols = vec![Symbol {
        name: "_Z20__device_stub__Z1lPiPi".into(),
        info: 0x02,
        other: 0,
        section: 0xfff1,
        size: 16,
    }];
    let library = archive(&[
        ("a.o", &host(1, "_Z20__device_stub__Z1kPiPi")),
        ("b.o", &elf.bytes()),
    ]);
    assert_eq!(codes(&library, &[]), [""; 0]);
    let library = archive(&[("a.o", &host(1, "_Z20__device_stub__Z1lPiPi"))]);
    let (_, document) = check(&library, &[]);
    let finding = &report::findings(&document)[0];
    assert_eq!(finding["code"], "PTX504");
    assert!(
        finding["message"].as_str().unwrap().contains("of `a.o`"),
        "{finding:#}"
    );
}

#[test]
fn ptx_newer_than_the_driver_is_reported() {
    let at = |version: &str| {
        let text = clean("sm_75", "k", "").replace("7.8", version);
        container(&[Entry::ptx(75, &text)])
    };
    for (version, driver, fires) in [
        ("8.4", "550.40", false),
        ("8.4", "535.54.03", true),
        ("8.0", "535", false),
        ("9.0", "575.51.03", true),
        ("9.0", "580", false),
        ("99.0", "590", true),
        ("6.0", "450", false),
    ] {
        let found = audited(&at(version), &["--min-driver", driver]);
        assert_eq!(found == ["PTX505"], fires, "{version} {driver}: {found:?}");
    }
    assert_eq!(audited(&at("99.0"), &[]), [""; 0]);
}

#[test]
fn architecture_specific_ptx_is_no_fallback() {
    let code = |sm| Entry::cubin(sm, Elf::cubin(sm, &[("k", &[])]).bytes());
    let specific = Entry {
        flags: IS_64_BIT | SPECIFIC,
        ..Entry::ptx(90, &clean("sm_90a", "k", ""))
    };
    let plain = Entry::ptx(80, &clean("sm_80", "k", ""));
    assert_eq!(codes(&container(&[code(80), specific.clone()]), &[]), ["PTX506"]);
    assert_eq!(
        codes(&container(&[code(80), plain, specific.clone()]), &[]),
        [""; 0]
    );
    assert_eq!(codes(&container(std::slice::from_ref(&specific)), &[]), [""; 0]);
    // Each container is named.
    let family = Entry {
        // The flag of `sm_100f`.
        flags: IS_64_BIT | 0x20_0000,
        ..Entry::ptx(100, &clean("sm_100f", "l", ""))
    };
    let [one, other] = [specific.clone(), family].map(|ptx| container(&[code(80), ptx]));
    let (_, document) = audit(&[one, other].concat(), &["-A", "PTX527"]);
    let finding = &report::findings(&document)[0];
    assert_eq!(
        finding["message"],
        "the only PTX beside the machine code of 2 of 2 containers is for sm_90a or sm_100f, which no later device outside its family can run"
    );
    assert_eq!(
        finding["notes"][0],
        "in image 1 for sm_90a (`k`), image 3 for sm_100f (`l`)"
    );
    // There is no other PTX for such kernels.
    let needed = clean("sm_90a", "k", "").replace("\tret;", "\tsetmaxnreg.dec.sync.aligned.u32 40;\n\tret;");
    let needed = Entry {
        flags: IS_64_BIT | SPECIFIC,
        ..Entry::ptx(90, &needed)
    };
    assert_eq!(codes(&container(&[code(80), needed]), &[]), [""; 0]);
    // A bundle may hold other PTX.
    let bundle = Entry {
        kind: 0x100,
        flags: IS_64_BIT,
        content: b"closed".to_vec(),
        ..Entry::default()
    };
    assert_eq!(codes(&container(&[code(80), specific, bundle]), &[]), ["PTX905"]);
}

#[test]
fn debug_images_are_reported() {
    let debug = Entry {
        flags: IS_64_BIT | IS_DEBUG,
        ..Entry::ptx(90, &clean("sm_90, debug", "k", ""))
    };
    assert_eq!(codes(&container(&[debug]), &[]), ["PTX507"]);
    assert_eq!(
        codes(&container(&[Entry::ptx(90, &clean("sm_90", "k", ""))]), &[]),
        [""; 0]
    );
    // A PTX file of its own is for development.
    assert_eq!(codes(clean("sm_90, debug", "k", "").as_bytes(), &[]), [""; 0]);
}

#[test]
fn packing_that_the_driver_does_not_know_is_reported() {
    let packed = |packing| container(&[Entry::ptx(75, &clean("sm_75", "k", "")).packed(packing)]);
    let driver = ["--min-driver", "535"];
    assert_eq!(audited(&packed(Packing::Zstd), &driver), ["PTX508"]);
    assert_eq!(audited(&packed(Packing::Lz4), &driver), [""; 0]);
    assert_eq!(
        audited(&packed(Packing::Zstd), &["--min-driver", "550.54.14"]),
        [""; 0]
    );
    assert_eq!(audited(&packed(Packing::Zstd), &[]), [""; 0]);
}

#[test]
fn weak_functions_that_differ_are_reported() {
    let object = |body: &str| {
        let text = format!(
            ".version 7.8\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) g(.param .b32 p);\n\
             .weak .func (.param .b32 r) f(.param .b32 p)\n{{\n\
             .reg .b32 %r<4>;\nld.param.u32 %r1, [p];\n{body}\nst.param.b32 [r], %r2;\nret;\n}}\n"
        );
        Elf::host(1)
            .section("__nv_relfatbin", container(&[Entry::ptx(90, &text)]))
            .bytes()
    };
    let pair = |one: &str, other: &str| archive(&[("a.o", &object(one)), ("b.o", &object(other))]);
    assert_eq!(
        codes(&pair("add.s32 %r2, %r1, 1;", "add.s32 %r2, %r1, 2;"), &[]),
        ["PTX509"]
    );
    assert_eq!(
        codes(&pair("add.s32 %r2, %r1, 1;", "add.s32 %r2,%r1, 1; // other"), &[]),
        [""; 0]
    );
    // One of them may have inlined what the other calls.
    let calling = "call.uni (%r2), g, (%r1);";
    assert_eq!(codes(&pair("add.s32 %r2, %r1, 1;", calling), &[]), [""; 0]);
    assert_eq!(
        codes(
            &pair("add.s32 %r2, %r1, 1;", calling),
            &["-W", "potential:PTX509"]
        ),
        ["PTX509"]
    );
    // Two inputs are linked together only if the user says so.
    let folder = folder(&[
        ("a.o", &object("add.s32 %r2, %r1, 1;")),
        ("b.o", &object("add.s32 %r2, %r1, 2;")),
    ]);
    let found = |args: &[&str]| {
        let mut all = vec!["--format", "json", "a.o", "b.o"];
        all.extend(args);
        let (_, document) = report::document(&run_in(&folder, &all)).unwrap();
        report::codes(&document).len()
    };
    assert_eq!((found(&[]), found(&["--whole-program"])), (0, 1));
}

#[test]
fn launch_bounds_that_differ_are_reported() {
    let bound =
        |target: &str, bounds: &str| clean(target, "k", "").replace(")\n{", &format!(")\n{bounds}\n{{"));
    let fat = |one: &str, other: &str| {
        container(&[
            Entry::ptx(75, &bound("sm_75", one)),
            Entry::ptx(90, &bound("sm_90", other)),
        ])
    };
    assert_eq!(
        audited(&fat(".maxntid 128, 1, 1", ".maxntid 256"), &[]),
        ["PTX510"]
    );
    assert_eq!(audited(&fat(".maxntid 128, 1, 1", ".maxntid 128"), &[]), [""; 0]);
    assert_eq!(
        audited(&fat(".maxntid 128", ".maxntid 128\n.minnctapersm 2"), &[]),
        [""; 0]
    );
    // CUB chooses bounds and blocks by one table.
    let of_cub = |target: &str, bounds: &str| bound(target, bounds).replace(" k(", " _ZN1a3cub1kEPi(");
    let of_cub = container(&[
        Entry::ptx(75, &of_cub("sm_75", ".maxntid 128")),
        Entry::ptx(90, &of_cub("sm_90", ".maxntid 256")),
    ]);
    assert_eq!(audited(&of_cub, &[]), [""; 0]);
    assert_eq!(codes(&fat(".maxntid 128", ".maxntid 256"), &[]), [""; 0]);
    assert_eq!(
        codes(&fat(".maxntid 128", ".maxntid 256"), &["-W", "PTX510"]),
        ["PTX510"]
    );
}

/// Machine code with a kernel `k` that takes 168 registers, a stack of 64 bytes, 4,000 bytes of shared memory and 128 of code.
fn heavy(sm: u32) -> Vec<u8> {
    let mut info = vec![4, 0x2f, 8, 0, 1, 0, 0, 0, 168, 0, 0, 0];
    info.extend([4, 0x12, 8, 0, 1, 0, 0, 0, 64, 0, 0, 0]);
    let shared = if sm < 90 { 4000 } else { 5024 };
    let elf = Elf::cubin(sm, &[("k", &[])])
        .section(".nv.info", info)
        .section(".nv.shared.k", vec![0; shared])
        .section(".nv.constant0.k", vec![0; 528]);
    container(&[Entry::cubin(sm, elf.bytes())])
}

#[test]
fn kernels_are_held_to_budgets() {
    for (option, fits, exceeds) in [
        ("--max-registers", "168", "167"),
        ("--max-stack", "64", "63"),
        ("--max-shared", "4000", "3999"),
        ("--max-code", "128", "127"),
    ] {
        for sm in [75, 90] {
            assert_eq!(
                audited(&heavy(sm), &[option, exceeds, "-A", "PTX527"]),
                ["PTX521"],
                "{option}"
            );
            assert_eq!(
                audited(&heavy(sm), &[option, fits, "-A", "PTX527"]),
                [""; 0],
                "{option}"
            );
        }
    }
    // One cause for both targets, at the first.
    let both = [heavy(80), heavy(90)].concat();
    let (_, document) = audit(
        &both,
        &["--max-registers", "100", "--max-stack", "0", "-A", "PTX527"],
    );
    assert_eq!(report::codes(&document), ["PTX521", "PTX521"]);
    let data = &report::findings(&document)[0]["data"];
    assert_eq!(data["targets"], serde_json::json!(["sm_80", "sm_90"]));
    let definition = &document["inputs"][0]["kernels"][0]["definitions"][0];
    assert_eq!(
        definition["resources"],
        serde_json::json!({
            "registers": 168, "stack": 64, "shared": 4000, "constant": 528,
            "max_block": 384, "resident_warps": 8,
        })
    );
}

#[test]
fn blocks_have_to_be_launchable() {
    let fires = |bytes: &[u8], block: &str| audited(bytes, &["--require-block", block, "-A", "PTX527"]);
    assert_eq!(fires(&heavy(90), "512"), ["PTX522"]);
    assert_eq!(fires(&heavy(90), "384"), [""; 0]);
    assert_eq!(fires(&heavy(90), "k=512"), ["PTX522"]);
    assert_eq!(fires(&heavy(90), "l*=512"), [""; 0]);
    // A GPU that is not known.
    assert_eq!(fires(&heavy(91), "1024"), [""; 0]);
    let bounded = |bounds: &str| {
        let text = clean("sm_90", "k", "").replace("k()", &format!("k() {bounds}"));
        container(&[Entry::ptx(90, &text)])
    };
    assert_eq!(fires(&bounded(".maxntid 128"), "256"), ["PTX522"]);
    assert_eq!(fires(&bounded(".maxntid 128"), "128"), [""; 0]);
    assert_eq!(fires(&bounded(".reqntid 16, 16"), "128"), ["PTX522"]);
    assert_eq!(fires(&bounded(".reqntid 16, 16"), "256"), [""; 0]);
}

#[test]
fn budgets_are_held() {
    let one = container(&[Entry::ptx(90, &clean("sm_90", "k", ""))]);
    let twice = [one.clone(), one.clone()].concat();
    assert_eq!(audited(&one, &["--max-target-size", "50"]), ["PTX511"]);
    assert_eq!(audited(&one, &["--max-target-size", "1K"]), [""; 0]);
    assert_eq!(audited(&twice, &["--forbid-duplicates"]), ["PTX511"]);
    assert_eq!(audited(&one, &["--forbid-duplicates"]), [""; 0]);
    assert_eq!(audited(&twice, &[]), [""; 0]);
    // Units without device code.
    let empty = container(&[Entry::cubin(90, Elf::cubin(90, &[]).bytes())]);
    let twice = [empty.clone(), empty].concat();
    assert_eq!(audited(&twice, &["--forbid-duplicates"]), [""; 0]);
}

#[test]
fn build_paths_are_reported_on_request() {
    let text = |file: &str| format!("{}.file 1 \"{file}\"\n", clean("sm_90", "k", ""));
    let fat = |file: &str| container(&[Entry::ptx(90, &text(file))]);
    assert_eq!(codes(&fat("/home/me/secret/k.cu"), &["-W", "PTX512"]), ["PTX512"]);
    assert_eq!(codes(&fat("C:\\\\me\\\\k.cu"), &["-W", "PTX512"]), ["PTX512"]);
    assert_eq!(codes(&fat("src/k.cu"), &["-W", "PTX512"]), [""; 0]);
    assert_eq!(codes(&fat("/home/me/secret/k.cu"), &[]), [""; 0]);
    // A line program of machine code: one directory, one file in it.
    let header = b"\x01\x01\xfb\x0e\x0d\0\x01\x01\x01\x01\0\0\0\x01\0\0\x01/home/me\0\0k.cu\0\x01\0\0\0";
    let mut line = ((header.len() + 6) as u32).to_le_bytes().to_vec();
    line.extend(3_u16.to_le_bytes());
    line.extend((header.len() as u32).to_le_bytes());
    line.extend(header);
    let cubin = Elf::cubin(90, &[("k", &[])]).section(".debug_line", line).bytes();
    let (_, document) = check(&container(&[Entry::cubin(90, cubin)]), &["-W", "PTX512"]);
    assert_eq!(report::codes(&document), ["PTX512"]);
    assert_eq!(
        report::findings(&document)[0]["data"]["paths"][0],
        "/home/me/k.cu"
    );
}

#[test]
fn source_lines_are_reported_on_request() {
    let line = |entries: &[Entry], args: &[&str]| {
        let (_, document) = check(&container(entries), args);
        let found = report::findings(&document).iter();
        let found = found.map(|finding| {
            let [lines, text] = ["line_bytes", "ptx_bytes"].map(|key| finding["data"][key].as_u64().unwrap());
            let message = finding["message"].as_str().unwrap().to_owned();
            (message, lines, text, finding["data"]["images"].to_string())
        });
        found.collect::<Vec<_>>()
    };
    let request = ["-A", "all", "-W", "PTX530"];
    let code = |sections: &[(&str, usize)]| {
        let cubin = sections
            .iter()
            .fold(Elf::cubin(90, &[("k", &[])]), |cubin, (name, bytes)| {
                cubin.section(name, vec![0; *bytes])
            });
        Entry::cubin(90, cubin.bytes())
    };
    // `.local` begins like `.loc`, and is none.
    let plain = clean("sm_90", "k", "").replace("ret;", ".local .b32 x;\n\tret;");
    let lined = format!(
        "{}.file 1 \"k.cu\"\n",
        plain.replace("ret;", ".loc 1 2 3\n\tret;")
    );
    let ptx = |text: &str| Entry::ptx(90, text);
    let with_lines = code(&[
        (".debug_line", 10),
        (".nv_debug_line_sass", 20),
        (".nv_debug_ptx_txt", 40),
    ]);
    let message =
        "2 of its 4 images hold source lines: 57 bytes of line tables, and 40 bytes of PTX beside them";
    assert_eq!(
        line(
            &[code(&[]), ptx(&plain), with_lines.clone(), ptx(&lined)],
            &request
        ),
        [(message.to_owned(), 57, 40, "[2,3]".to_owned())]
    );
    let message = "its only image holds source lines: 27 bytes of line tables";
    assert_eq!(
        line(&[ptx(&lined)], &request),
        [(message.to_owned(), 27, 0, "[0]".to_owned())]
    );
    let of_debugging = Entry {
        flags: with_lines.flags | IS_DEBUG,
        ..with_lines.clone()
    };
    assert_eq!(line(&[of_debugging], &request), []);
    assert_eq!(line(&[code(&[(".debug_frame", 10)]), ptx(&plain)], &request), []);
    assert_eq!(codes(&container(&[with_lines]), &[]), [""; 0]);
    assert_eq!(codes(lined.as_bytes(), &["-W", "PTX530"]), [""; 0]);
}

#[test]
fn images_for_32_bits_are_reported() {
    let narrow = Entry {
        flags: 0,
        ..Entry::ptx(75, &clean("sm_75", "k", "").replace("64", "32"))
    };
    assert_eq!(codes(&container(&[narrow]), &[]), ["PTX513"]);
    assert_eq!(
        codes(clean("sm_75", "k", "").replace("64", "32").as_bytes(), &[]),
        ["PTX513"]
    );
    assert_eq!(
        codes(&container(&[Entry::ptx(75, &clean("sm_75", "k", ""))]), &[]),
        [""; 0]
    );
}

#[test]
fn what_a_link_declares_and_defines_differently_is_reported() {
    let head = ".version 7.8\n.target sm_90\n.address_size 64\n";
    let user = format!(
        "{head}.extern .func (.param .b32 r) f(.param .b32 a, .param .b64 b);\n.extern .global .b8 v[16];\n\
         .visible .entry k(.param .u64 o)\n{{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n\
         {{\n.param .b32 p0;\n.param .b64 p1;\n.param .b32 r0;\nst.param.b32 [p0], 1;\nst.param.b64 [p1], 2;\n\
         call (r0), f, (p0, p1);\nld.param.b32 %r1, [r0];\n}}\n\
         ld.global.u32 %r2, [v];\nld.param.u64 %rd1, [o];\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
    );
    let found = |function: &str, variable: &str, args: &[&str]| {
        let definitions =
            format!("{head}.visible .func {function}\n{{\nret;\n}}\n.visible .global {variable};\n");
        let folder = folder(&[
            ("user.ptx", user.as_bytes()),
            ("definitions.ptx", definitions.as_bytes()),
        ]);
        let mut all = vec!["--format", "json", "-W", "potential"];
        all.extend(args);
        all.extend(["user.ptx", "definitions.ptx"]);
        let (_, document) = report::document(&run_in(&folder, &all)).unwrap();
        let mut found: Vec<_> = report::codes(&document).into_iter().map(str::to_owned).collect();
        found.retain(|code| code != "PTX105");
        found
    };
    let linked = |function, variable| found(function, variable, &["--link-set"]);
    let right = "(.param .b32 r) f(.param .b32 a, .param .b64 b)";
    assert_eq!(linked(right, ".b8 v[16]"), [""; 0]);
    assert_eq!(
        linked("(.param .f32 r) f(.param .s32 a, .param .f64 b)", ".b32 v[4]"),
        [""; 0]
    );
    assert_eq!(linked(right, ".b8 v[32]"), ["PTX503"]);
    for other in [
        "f(.param .b32 a, .param .b64 b)",
        "(.param .b32 r) f(.param .b32 a)",
        "(.param .b32 r) f(.param .b64 a, .param .b64 b)",
        "(.param .b32 r) f(.param .b32 a, .param .align 8 .b8 b[8])",
    ] {
        assert_eq!(linked(other, ".b8 v[16]"), ["PTX503"], "{other}");
        assert_eq!(found(other, ".b8 v[16]", &[]), [""; 0], "{other}");
    }
    // A parameter in a register: what the linker makes of it is not known.
    assert_eq!(linked("(.reg .b32 r) f(.reg .b64 a)", ".b8 v[16]"), [""; 0]);
}

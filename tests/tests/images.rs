//! Fat binaries and what holds them, written byte by byte: where images are found, what hostile files do, and the rules
//! that compare images. What compilers write is tried in `image_builds.rs`.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::process::Output;

use ptxcheck_tests::fatbin::{
    Elf, Entry, IS_64_BIT, IS_DEBUG, Packing, SPECIFIC, Symbol, archive, container, with_size, zstd_bomb,
};
use ptxcheck_tests::{binary, report, schema};
use serde_json::Value;
use tempfile::TempDir;

/// A module whose kernels all have a definite PTX407 on line 6.
fn bad(sm: u32, kernel: &str) -> String {
    format!(
        ".version 7.8\n.target sm_{sm}\n.address_size 64\n.visible .entry {kernel}()\n{{\n\tbar.warp.sync 0;\n\tret;\n}}\n"
    )
}

/// A module with a kernel that has these parameters.
fn clean(target: &str, kernel: &str, params: &str) -> String {
    format!(
        ".version 7.8\n.target {target}\n.address_size 64\n.visible .entry {kernel}({params})\n{{\n\tret;\n}}\n"
    )
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn run_in(folder: &TempDir, args: &[&str]) -> Output {
    binary::command().current_dir(folder).args(args).output().unwrap()
}

fn check(bytes: &[u8], args: &[&str]) -> (i32, Value) {
    let folder = folder(&[("x.bin", bytes)]);
    let mut all = vec!["--format", "json"];
    all.extend(args);
    all.push("x.bin");
    report::document(&run_in(&folder, &all)).unwrap()
}

fn codes(bytes: &[u8], args: &[&str]) -> Vec<String> {
    let (_, document) = check(bytes, args);
    report::codes(&document).into_iter().map(str::to_owned).collect()
}

fn audit(bytes: &[u8], args: &[&str]) -> (i32, Value) {
    let folder = folder(&[("x.bin", bytes)]);
    let mut all = vec!["audit", "--format", "json"];
    all.extend(args);
    all.push("x.bin");
    let output = run_in(&folder, &all);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = schema::audit_problems(&document);
    assert!(problems.is_empty(), "{problems:?}");
    (output.status.code().unwrap(), document)
}

fn audited(bytes: &[u8], args: &[&str]) -> Vec<String> {
    let (_, document) = audit(bytes, args);
    report::codes(&document).into_iter().map(str::to_owned).collect()
}

#[test]
fn images_are_found_wherever_they_lie() {
    let fat = container(&[
        Entry::ptx(90, &bad(90, "a")),
        Entry::ptx(80, &bad(80, "b")).packed(Packing::Lz4),
        Entry::ptx(75, &bad(75, "c")).packed(Packing::Zstd),
    ]);
    let in_section = Elf::host(3).section(".data", fat.clone()).bytes();
    let object = Elf::host(1).section("__nv_relfatbin", fat.clone()).bytes();
    let odd = [b"xyz".to_vec(), fat.clone()].concat();
    let library = archive(&[("a.o", &object), ("note.txt", b"odd"), ("b.o", &object)]);
    let cases: [(&str, &[u8], usize, Value, &str); 5] = [
        ("alone", &fat, 3, Value::Null, "loadable"),
        (
            "at an odd offset of no known file",
            &odd,
            3,
            Value::Null,
            "loadable",
        ),
        ("in any section", &in_section, 3, ".data".into(), "loadable"),
        ("in an object", &object, 3, "__nv_relfatbin".into(), "relocatable"),
        (
            "in an archive",
            &library,
            6,
            "__nv_relfatbin".into(),
            "relocatable",
        ),
    ];
    for (what, bytes, count, section, role) in cases {
        let (code, document) = check(bytes, &[]);
        assert_eq!(code, 1, "{what}");
        assert_eq!(report::codes(&document), vec!["PTX407"; count], "{what}");
        let images = document["inputs"][0]["images"].as_array().unwrap();
        assert_eq!(images.len(), count, "{what}");
        for (index, image) in images.iter().enumerate() {
            assert_eq!(
                (&image["section"], image["role"].as_str()),
                (&section, Some(role)),
                "{what}"
            );
            let packing = [Value::Null, "lz4".into(), "zstd".into()];
            assert_eq!(image["compression"], packing[index % 3], "{what}");
        }
        for (index, finding) in report::findings(&document).iter().enumerate() {
            assert_eq!(finding["image"], index, "{what}");
            assert_eq!(finding["location"]["file"], "x.bin", "{what}");
            assert_eq!(finding["location"]["line"], 6, "{what}");
        }
    }
    let (_, document) = check(&library, &[]);
    assert_eq!(document["inputs"][0]["images"][5]["member"], "b.o");
}

#[test]
fn the_place_names_the_image() {
    let fat = container(&[Entry::ptx(90, &bad(90, "_Z1kv"))]);
    let folder = folder(&[("x.so", &Elf::host(3).section(".nv_fatbin", fat).bytes())]);
    let full = String::from_utf8(run_in(&folder, &["x.so"]).stdout).unwrap();
    for part in [
        "--> x.so:6:2",
        "bar.warp.sync 0;",
        "= image: 0, PTX for sm_90 in .nv_fatbin",
        "kernel: k()",
    ] {
        assert!(full.contains(part), "{part} is missing in:\n{full}");
    }
    let concise = String::from_utf8(run_in(&folder, &["--format", "concise", "x.so"]).stdout).unwrap();
    assert!(concise.contains(" (image 0) [PTX407]"), "{concise}");
}

#[test]
fn a_host_file_without_device_code_is_skipped() {
    let folder = folder(&[
        ("a.so", &Elf::host(3).bytes()),
        ("b.ptx", bad(90, "k").as_bytes()),
    ]);
    let (code, document) = report::document(&run_in(&folder, &["--format", "json", "."])).unwrap();
    assert_eq!((code, &document["inputs"][0]["status"]), (1, &"skipped".into()));
    assert_eq!(run_in(&folder, &["a.so"]).status.code(), Some(2));
    assert_eq!(run_in(&folder, &["--allow-empty", "a.so"]).status.code(), Some(0));
}

#[test]
fn machine_code_is_listed() {
    let cubin = Elf::cubin(90, &[("_Z1kPi", &[(0, 8)]), ("_Z1lv", &[])]).bytes();
    let (code, document) = check(&cubin, &[]);
    let image = &document["inputs"][0]["images"][0];
    assert_eq!(
        (code, &image["kind"], &image["target"]),
        (0, &"cubin".into(), &"sm_90".into())
    );
    assert_eq!(image["kernels"], 2);
    let (_, document) = check(&container(&[Entry::cubin(90, cubin)]), &[]);
    assert_eq!(document["inputs"][0]["images"][0]["kernels"], 2);
}

#[test]
fn closed_images_are_reported_once() {
    let lto = Entry {
        kind: 8,
        sm: 90,
        flags: IS_64_BIT,
        content: b"\xed\x43\x4e\x7f".to_vec(),
        ..Entry::default()
    };
    let alone = container(&[lto.clone(), lto.clone()]);
    let (code, document) = check(&alone, &[]);
    assert_eq!((code, report::codes(&document)), (2, vec!["PTX905"]));
    assert_eq!(document["inputs"][0]["status"], "failed");
    let with_ptx = container(&[lto.clone(), Entry::ptx(90, &clean("sm_90", "k", "")), lto]);
    let (code, document) = check(&with_ptx, &[]);
    assert_eq!((code, report::codes(&document)), (0, vec!["PTX905"]));
    assert_eq!(document["inputs"][0]["status"], "checked");
}

/// Broken parts are reported, the exit code is 2, and the good image beside them is analysed.
#[test]
fn hostile_files_are_reported_and_the_rest_is_analysed() {
    let good = container(&[Entry::ptx(90, &bad(90, "good"))]);
    let ptx = || Entry::ptx(90, &clean("sm_90", "k", ""));
    let broken: Vec<(&str, Vec<u8>)> = vec![
        ("a container larger than the file", with_size(u64::MAX, b"")),
        ("a container cut off", container(&[ptx()])[..100].to_vec()),
        ("a container around another", with_size(good.len() as u64, &good)),
        (
            "an entry larger than its container",
            container(&[Entry {
                padded: Some(u64::MAX),
                ..ptx()
            }]),
        ),
        (
            "an entry header of impossible size",
            container(&[Entry {
                header: Some(8),
                ..ptx()
            }]),
        ),
        (
            "an entry header past its container",
            container(&[Entry {
                header: Some(4_096),
                ..ptx()
            }]),
        ),
        (
            "overlapping entries: the second begins inside the first's payload",
            container(&[
                Entry {
                    padded: Some(8),
                    ..ptx()
                },
                ptx(),
            ]),
        ),
        (
            "an LZ4 image of absurd size",
            container(&[Entry {
                unpacked: Some(u64::MAX),
                ..ptx().packed(Packing::Lz4)
            }]),
        ),
        (
            "an LZ4 image of wrong size",
            container(&[Entry {
                unpacked: Some(7),
                ..ptx().packed(Packing::Lz4)
            }]),
        ),
        (
            "a zstd image of wrong size",
            container(&[Entry {
                unpacked: Some(7),
                ..ptx().packed(Packing::Zstd)
            }]),
        ),
        (
            "PTX that is a fat binary",
            container(&[Entry {
                content: good.clone(),
                ..ptx()
            }]),
        ),
        (
            "machine code that is a fat binary",
            container(&[Entry::cubin(90, good.clone())]),
        ),
        (
            "machine code for another machine",
            container(&[Entry::cubin(90, Elf::host(1).bytes())]),
        ),
        (
            "machine code cut off",
            container(&[Entry::cubin(
                90,
                Elf::cubin(90, &[("k", &[])]).bytes()[..80].to_vec(),
            )]),
        ),
    ];
    for (what, bytes) in &broken {
        for file in [
            [bytes.clone(), good.clone()].concat(),
            [good.clone(), bytes.clone()].concat(),
        ] {
            let (code, document) = check(&file, &[]);
            let codes = report::codes(&document);
            assert_eq!(code, 2, "{what}: {codes:?}");
            assert!(codes.contains(&"PTX407"), "{what}: {:#}", document["inputs"]);
            assert!(
                codes.iter().any(|code| ["PTX901", "PTX903"].contains(code)),
                "{what}: {codes:?}"
            );
            assert!(!codes.contains(&"PTX904"), "{what}: {:#}", document["inputs"]);
        }
    }
}

#[test]
fn a_bomb_is_a_limit() {
    // 600 MiB in 19 kB, and what its header says of it.
    let bomb = |unpacked| Entry {
        kind: 1,
        sm: 90,
        flags: IS_64_BIT | 0x8000,
        content: zstd_bomb(4_800),
        unpacked: Some(unpacked),
        ..Entry::default()
    };
    let file = |unpacked: u64| {
        // Packed by hand: the writer only packs contents of its own.
        let mut bytes = container(&[bomb(unpacked), Entry::ptx(90, &bad(90, "good"))]);
        let size = zstd_bomb(4_800).len() as u32;
        bytes[16 + 16..16 + 20].copy_from_slice(&size.to_le_bytes());
        bytes
    };
    for (unpacked, wanted) in [(0, "PTX903"), (1 << 40, "PTX903"), (1_000, "PTX901")] {
        let (code, document) = check(&file(unpacked), &[]);
        assert_eq!(code, 2);
        assert_eq!(report::codes(&document), [wanted, "PTX407"], "{unpacked}");
    }
}

#[test]
fn elf_headers_that_lie_hide_nothing() {
    let fat = container(&[Entry::ptx(90, &bad(90, "good"))]);
    let honest = Elf::host(3).section(".nv_fatbin", fat).bytes();
    // Offset of the section headers, their size and number, the number of the one with the names.
    for (at, size) in [(40, 8), (58, 2), (60, 2), (62, 2)] {
        let mut file = honest.clone();
        file[at..at + size].fill(0xff);
        let (_, document) = check(&file, &[]);
        assert!(
            report::codes(&document).contains(&"PTX407"),
            "{at}: {:#}",
            document["inputs"]
        );
    }
    let mut file = honest.clone();
    file[40..48].fill(0xff);
    let (code, document) = check(&file, &[]);
    assert_eq!((code, report::codes(&document)), (2, vec!["PTX901", "PTX407"]));
    let library = archive(&[("a.o", &file), ("b.o", &honest)]);
    assert_eq!(codes(&library, &[]), ["PTX901", "PTX407", "PTX407"]);
    let thin = [b"!<thin>\n".to_vec(), vec![b' '; 60]].concat();
    assert_eq!(codes(&thin, &[]), ["PTX901"]);
}

/// 20,000 symbols that share a name of a megabyte, in machine code and in a host file.
#[test]
fn parts_that_overlap_make_no_work() {
    let name: std::rc::Rc<str> = format!("_Z17__device_stub__{}", "k".repeat(1 << 20)).into();
    let symbols = |section| {
        let symbol = Symbol {
            name: name.clone(),
            info: 0x22,
            other: 0x10,
            section,
            size: 128,
        };
        vec![symbol; 20_000]
    };
    let mut cubin = Elf::cubin(90, &[("k", &[])]);
    cubin.symbols = symbols(2);
    let mut host = Elf::host(1).section(".nv_fatbin", container(&[Entry::ptx(90, &bad(90, "good"))]));
    host.symbols = symbols(1);
    let folder = folder(&[("a.cubin", &cubin.bytes()), ("b.o", &host.bytes())]);
    let started = std::time::Instant::now();
    let (_, document) = report::document(&run_in(&folder, &["--format", "json", "."])).unwrap();
    assert!(report::codes(&document).contains(&"PTX407"));
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// 2,000 files that differ from a good one in a few bytes: none takes the run down or slows it.
#[test]
fn mutants_are_harmless() {
    let object = Elf::host(1)
        .section(
            ".nv_fatbin",
            container(&[
                Entry::cubin(90, Elf::cubin(90, &[("_Z1kPi", &[(0, 8)])]).bytes()),
                Entry::ptx(90, &bad(90, "_Z1kPi")).packed(Packing::Zstd),
                Entry::ptx(80, &bad(80, "_Z1kPi")).packed(Packing::Lz4),
            ]),
        )
        .bytes();
    let folder = tempfile::tempdir().unwrap();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for number in 0..2_000 {
        let mut mutant = object.clone();
        for _ in 0..=next(4) {
            let at = next(mutant.len());
            match next(4) {
                0 => mutant[at] = next(256) as u8,
                1 => mutant[at] ^= 1 << next(8),
                2 => {
                    let end = mutant.len().min(at + 8);
                    mutant[at..end].fill(0xff);
                }
                _ => mutant.truncate(at.max(8)),
            }
        }
        fs::write(folder.path().join(format!("{number:04}.o")), mutant).unwrap();
    }
    let started = std::time::Instant::now();
    for command in ["check", "audit"] {
        let output = run_in(&folder, &[command, "--format", "json", "."]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!report::codes(&document).contains(&"PTX904"), "a panic");
        let inputs = document["inputs"].as_array().unwrap();
        // Mutants without the magic of ELF are no inputs.
        assert!(inputs.len() > 1_900, "{}", inputs.len());
        assert!(inputs.iter().any(|input| input["status"] == "partly"));
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

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
    // What a link leaves behind counts for nothing.
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
    assert_eq!(audited(&fat("_Z1kIfEvv", "_Z1kIdEvv"), &[]), ["PTX502", "PTX502"]);
    assert_eq!(codes(&fat("_Z1kIfEvv", "_Z1kIdEvv"), &[]), [""; 0]);
    assert_eq!(audited(&fat("k", "k"), &[]), [""; 0]);
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
    assert_eq!(codes(&container(&[specific]), &[]), [""; 0]);
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
    // A PTX file of its own is what one looks at while developing.
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
        codes(&pair("add.s32 %r2, %r1, 1;", calling), &["-W", "PTX509"]),
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
        ["PTX510"]
    );
    assert_eq!(codes(&fat(".maxntid 128", ".maxntid 256"), &[]), [""; 0]);
    assert_eq!(
        codes(&fat(".maxntid 128", ".maxntid 256"), &["-W", "PTX510"]),
        ["PTX510"]
    );
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
}

#[test]
fn build_paths_are_reported_on_request() {
    let text = |file: &str| format!("{}.file 1 \"{file}\"\n", clean("sm_90", "k", ""));
    let fat = |file: &str| container(&[Entry::ptx(90, &text(file))]);
    assert_eq!(codes(&fat("/home/me/secret/k.cu"), &["-W", "PTX512"]), ["PTX512"]);
    assert_eq!(codes(&fat("C:\\\\me\\\\k.cu"), &["-W", "PTX512"]), ["PTX512"]);
    assert_eq!(codes(&fat("src/k.cu"), &["-W", "PTX512"]), [""; 0]);
    assert_eq!(codes(&fat("/home/me/secret/k.cu"), &[]), [""; 0]);
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
fn images_are_extracted() {
    let text = clean("sm_90", "k", "");
    let cubin = Elf::cubin(80, &[("k", &[])]).bytes();
    let fat = container(&[
        Entry::ptx(90, &text).packed(Packing::Zstd),
        Entry::cubin(80, cubin.clone()),
        Entry::ptx(90, &text).packed(Packing::Lz4),
    ]);
    let folder = folder(&[
        ("x.so", &Elf::host(3).section(".nv_fatbin", fat).bytes()),
        ("none.so", &Elf::host(3).bytes()),
    ]);
    let output = run_in(&folder, &["extract", "x.so", "-o", "out"]);
    assert_eq!(output.status.code(), Some(0));
    // The same content is written once.
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "00000.sm_90.ptx\n00001.sm_80.cubin\n00000.sm_90.ptx\n"
    );
    assert_eq!(
        fs::read(folder.path().join("out/00000.sm_90.ptx")).unwrap(),
        text.as_bytes()
    );
    assert_eq!(
        fs::read(folder.path().join("out/00001.sm_80.cubin")).unwrap(),
        cubin
    );
    let output = run_in(&folder, &["extract", "x.so", "-o", "ptx", "--kind", "ptx"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(fs::read_dir(folder.path().join("ptx")).unwrap().count(), 1);
    assert_eq!(
        run_in(&folder, &["extract", "none.so", "-o", "out"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn the_policy_comes_from_the_nearest_file() {
    let fat = container(&[Entry::ptx(90, &clean("sm_90", "k", ""))]);
    let folder = folder(&[
        ("x.fatbin", &fat),
        ("ptxcheck.toml", b"[audit]\nrequire-sm = [\"90\"]\n"),
    ]);
    fs::create_dir(folder.path().join("deeper")).unwrap();
    let run = |args: &[&str]| {
        let mut command = binary::command();
        command
            .current_dir(folder.path().join("deeper"))
            .arg("audit")
            .args(args)
            .arg("../x.fatbin");
        command.output().unwrap()
    };
    assert_eq!(run(&[]).status.code(), Some(1));
    fs::write(folder.path().join("other.toml"), "").unwrap();
    assert_eq!(run(&["--config", "../other.toml"]).status.code(), Some(0));
    fs::write(
        folder.path().join("ptxcheck.toml"),
        "[audit]\nrequire-ms = [\"90\"]\n",
    )
    .unwrap();
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("ptxcheck.toml:2:1: ") && said.contains("did you mean `require-sm`?"),
        "{said}"
    );
}

#[test]
fn audits_print_tables() {
    let fat = container(&[
        Entry::ptx(75, &clean("sm_75", "_Z1kv", "")),
        Entry::ptx(90, &clean("sm_90", "_Z1lv", "")),
    ]);
    let folder = folder(&[("x.fatbin", &fat)]);
    let text = String::from_utf8(run_in(&folder, &["audit", "x.fatbin"]).stdout).unwrap();
    for part in [
        "2 images",
        "ptx   sm_75",
        "2 of 2 kernels are not in the images of all targets",
        "k()",
        "PTX502",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let (_, document) = audit(&fat, &[]);
    let kernels = document["inputs"][0]["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 2);
    assert_eq!(
        (&kernels[0]["demangled"], &kernels[0]["ptx"][0]),
        (&"k()".into(), &"sm_75".into())
    );
}

/// The two documents share what they share.
#[test]
fn the_schemas_agree() {
    let (check, audit) = (schema::read("check-v1"), schema::read("audit-v1"));
    for name in [
        "image",
        "error",
        "finding",
        "location",
        "source",
        "frame",
        "related",
        "suppression",
        "summary",
    ] {
        assert_eq!(check["$defs"][name], audit["$defs"][name], "{name}");
    }
}

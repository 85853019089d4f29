//! The images found in files of all kinds, and the report about each.

use ptxcheck_tests::fatbin::{Elf, Entry, IS_64_BIT, Packing, archive, coff, container, offloading, pe};
use ptxcheck_tests::report;
use serde_json::Value;

use super::{bad, check, clean, folder, run_in};

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
        "--> x.so(image 0):6:2",
        "bar.warp.sync 0;",
        "= image: 0, PTX for sm_90 in .nv_fatbin",
        "kernel: k()",
    ] {
        assert!(full.contains(part), "{part} is missing in:\n{full}");
    }
    let concise = String::from_utf8(run_in(&folder, &["--format", "concise", "x.so"]).stdout).unwrap();
    assert!(
        concise.contains(" (kernel k(), image 0, line 6) [PTX407]"),
        "{concise}"
    );
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

/// Compilers keep options and names after the first 64 bytes of a header.
#[test]
fn headers_have_many_sizes() {
    let entries: Vec<Entry> = (0..=10)
        .map(|step| Entry {
            more_header: 8 * step,
            ..Entry::ptx(90, &bad(90, &format!("k{step}")))
        })
        .collect();
    let (_, document) = check(&container(&entries), &[]);
    assert_eq!(report::codes(&document), ["PTX407"; 11]);
}

/// Until CUDA 12, machine code had another version of its format.
#[test]
fn machine_code_says_its_target() {
    let target = |os_abi, flags| {
        let cubin = Elf {
            os_abi,
            flags,
            ..Elf::cubin(90, &[("k", &[])])
        };
        let (_, document) = check(&cubin.bytes(), &[]);
        document["inputs"][0]["images"][0]["target"].clone()
    };
    assert_eq!(target(0x33, 90), "sm_90");
    assert_eq!(target(0x33, 0x800 | 90), "sm_90a");
    assert_eq!(target(0x41, 120 << 8), "sm_120");
    assert_eq!(target(0x41, 120 << 8 | 8), "sm_120a");
}

#[test]
fn files_of_windows_have_sections() {
    let fat = container(&[Entry::ptx(90, &bad(90, "k"))]);
    let object = coff(&[(".text", b"code"), ("__nv_relfatbin", &fat)]);
    let program = pe(&[(".text", b"code"), (".nv_fatb", &fat), ("__nv_rel", &fat)]);
    let library = archive(&[("k.obj", &object)]);
    let place = |file: &[u8], image: usize| {
        let (code, document) = check(file, &[]);
        assert_eq!(code, 1);
        let image = document["inputs"][0]["images"][image].clone();
        ["section", "role", "member"].map(|key| image[key].as_str().unwrap_or("none").to_owned())
    };
    assert_eq!(place(&object, 0), ["__nv_relfatbin", "relocatable", "none"]);
    assert_eq!(place(&program, 0), [".nv_fatb", "loadable", "none"]);
    assert_eq!(place(&program, 1), ["__nv_rel", "linked-at-load", "none"]);
    assert_eq!(place(&library, 0), ["__nv_relfatbin", "relocatable", "k.obj"]);
    // One without device code is nothing to complain about, in a folder or on its own.
    let folder = folder(&[
        ("a.dll", &pe(&[(".text", b"code")])),
        ("b.obj", &object),
        ("c.exe", &program),
        ("d.dat", b"MZ, and no program"),
    ]);
    let (_, document) = report::document(&run_in(&folder, &["--format", "json", "."])).unwrap();
    let status: Vec<_> = document["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| &input["status"])
        .collect();
    assert_eq!(status, ["skipped", "checked", "checked"]);
}

/// Lying headers: the images are found all the same.
#[test]
fn broken_files_of_windows_hide_nothing() {
    let fat = container(&[Entry::ptx(90, &bad(90, "k"))]);
    for file in [coff(&[("__nv_relfatbin", &fat)]), pe(&[(".nv_fatb", &fat)])] {
        let start = file.windows(8).position(|bytes| bytes == &fat[..8]).unwrap();
        for at in 2..start - 1 {
            let mut mutant = file.clone();
            mutant[at..at + 2].fill(0xff);
            let (_, document) = check(&mutant, &[]);
            let codes = report::codes(&document);
            assert!(codes.contains(&"PTX407"), "{at}: {codes:?}");
            assert!(!codes.contains(&"PTX904"), "{at}: {:#}", document["inputs"]);
        }
    }
}

/// clang keeps bitcode for a link-time optimisation in bundles of its own.
#[test]
fn bundles_of_clang_are_listed() {
    let object = |bundle: Vec<u8>| Elf::host(1).section(".llvm.offloading", bundle).bytes();
    let bitcode = object(offloading(2, "sm_90", b"BC\xc0\xde\x35\x14\x00\x00"));
    let (code, document) = check(&bitcode, &[]);
    let image = &document["inputs"][0]["images"][0];
    assert_eq!(
        [
            &image["kind"],
            &image["target"],
            &image["section"],
            &image["role"]
        ],
        ["llvm-ir", "sm_90", ".llvm.offloading", "relocatable"]
    );
    // Not analysed, or no module at all: either way the job is not done.
    assert_eq!(code, 2);
    let (code, document) = check(&object(offloading(5, "sm_90", bad(90, "k").as_bytes())), &[]);
    assert_eq!((code, report::codes(&document)), (1, vec!["PTX407"]));
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
    let bundle = Entry {
        kind: 0x100,
        flags: IS_64_BIT,
        content: b"closed".to_vec(),
        ..Entry::default()
    };
    let (_, document) = check(&container(&[bundle, Entry::ptx(90, &bad(90, "k"))]), &[]);
    assert_eq!(report::codes(&document), ["PTX905", "PTX407"]);
    assert_eq!(document["inputs"][0]["images"][0]["kind"], "bundle");
    let message = report::findings(&document)[0]["message"].as_str().unwrap();
    assert!(message.contains("1 bundle of `nvcc --concat`"), "{message}");
}

//! Files that are cut off, corrupt or made to do harm: a finding each, bounded work, and all else is analysed.

use std::fs;

use ptxcheck_tests::fatbin::{
    Elf, Entry, IS_64_BIT, Packing, Symbol, archive, container, with_size, zstd_bomb,
};
use ptxcheck_tests::report;
use serde_json::Value;

use super::{bad, check, clean, codes, folder, run_in};

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

/// Each says that it unpacks to all that 64 bits can count.
#[test]
fn sizes_that_lie_are_shown() {
    let huge = Entry {
        unpacked: Some(u64::MAX),
        ..Entry::ptx(90, &clean("sm_90", "k", "")).packed(Packing::Lz4)
    };
    let folder = folder(&[("a.bin", &container(&[huge.clone(), huge]))]);
    for command in ["check", "audit"] {
        let output = run_in(&folder, &[command, "a.bin"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("PTX903"),
            "{command}: {said}"
        );
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
        // Mutants without the magic of ELF are not inputs.
        assert!(inputs.len() > 1_900, "{}", inputs.len());
        assert!(inputs.iter().any(|input| input["status"] == "partly"));
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

//! Files that are not inputs: the message says what they are and what to give instead. Names of inputs and commands that are almost
//! right.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::process::Output;

use ptxcheck_tests::folder::{folder, run_in, run_with_stdin};
use ptxcheck_tests::{binary, report};
use serde_json::Value;

const CLEAN: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

const IR: &str = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() {\n  ret void\n}\n";

const FOR_NVIDIA: &str = "give the PTX or LLVM IR of a build for NVIDIA's GPUs";

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The inputs of a run, as its document names them.
fn inputs(output: &Output) -> Vec<String> {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let inputs = document["inputs"].as_array().unwrap();
    inputs
        .iter()
        .map(|input| input["path"].as_str().unwrap().replace('\\', "/"))
        .collect()
}

/// NVIDIA's container of IR as nvcc 13.5 begins it: at offset 14 it says whether it is LTO-IR (1) or OptiX IR (2).
fn nvvm_container(level: u8) -> Vec<u8> {
    let mut bytes = vec![
        0xed, 0x43, 0x4e, 0x7f, 1, 0x43, 2, 0x83, 3, 2, 7, 0, 24, 0, level, 0,
    ];
    bytes.resize(200, 0x5a);
    bytes
}

/// The header of a 64-bit ELF file for AMD's GPUs.
fn hsaco() -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x40");
    header[16] = 3;
    header[18] = 224;
    header
}

/// Bitcode with a target triple and nothing else, bit by bit: a module block with one record, of characters in groups of six
/// bits, five of them data.
fn bitcode(triple: &str) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let fixed = |bits: &mut Vec<bool>, number: u32, width: u32| {
        bits.extend((0..width).map(|place| number >> place & 1 == 1));
    };
    let mut inner = Vec::new();
    fixed(&mut inner, 3, 3);
    for number in [2, triple.len() as u32]
        .into_iter()
        .chain(triple.bytes().map(u32::from))
    {
        let mut number = number;
        while number >= 32 {
            fixed(&mut inner, number & 31 | 32, 6);
            number >>= 5;
        }
        fixed(&mut inner, number, 6);
    }
    fixed(&mut inner, 0, 3);
    inner.resize(inner.len().next_multiple_of(32), false);
    fixed(&mut bits, 0xdec0_4342, 32);
    fixed(&mut bits, 1, 2);
    fixed(&mut bits, 8, 8);
    fixed(&mut bits, 3, 4);
    bits.resize(64, false);
    fixed(&mut bits, inner.len() as u32 / 32, 32);
    bits.extend(inner);
    bits.chunks(8)
        .map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)))
        .collect()
}

/// A name that says nothing or the opposite, the content, and what is said of it.
fn foreign() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let amd_ir = b"target triple = \"amdgcn-amd-amdhsa\"\ndefine void @k() {\n  ret void\n}\n".to_vec();
    vec![
        (
            "optix.bin",
            nvvm_container(2),
            "OptiX IR",
            "`nvcc -ptx -lineinfo`",
        ),
        (
            "k.ttir",
            b"#loc = loc(\"k.py\":3:0)\nmodule {\n  tt.func public @k() {\n    tt.return\n  }\n}\n".to_vec(),
            "Triton's MLIR",
            "`.ptx` or `.llir` file",
        ),
        (
            "k.txt",
            b"module attributes {\"ttg.num-warps\" = 4 : i32} {\n}\n".to_vec(),
            "Triton's MLIR",
            "`.ptx` or `.llir` file",
        ),
        (
            "k.ttgir",
            b"garbled".to_vec(),
            "Triton's MLIR",
            "`.ptx` or `.llir` file",
        ),
        (
            "k.s",
            b"\t.text\n\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n".to_vec(),
            "assembly for AMD's GPUs",
            FOR_NVIDIA,
        ),
        (
            "k.amdgcn",
            b"s_endpgm\n".to_vec(),
            "assembly for AMD's GPUs",
            FOR_NVIDIA,
        ),
        ("amd.ll", amd_ir, "LLVM IR for AMD's GPUs", FOR_NVIDIA),
        (
            "amd.bc",
            bitcode("amdgcn-amd-amdhsa"),
            "LLVM IR for AMD's GPUs",
            FOR_NVIDIA,
        ),
        ("k.o", hsaco(), "machine code for AMD's GPUs (HSACO)", FOR_NVIDIA),
        (
            "little",
            b"\x03\x02\x23\x07\0\x06\x01\0".to_vec(),
            "SPIR-V",
            FOR_NVIDIA,
        ),
        (
            "big",
            b"\x07\x23\x02\x03\0\x01\x06\0".to_vec(),
            "SPIR-V",
            FOR_NVIDIA,
        ),
        (
            "k.asm",
            b"; SPIR-V\n; Version: 1.6\nOpCapability Kernel\n".to_vec(),
            "SPIR-V",
            FOR_NVIDIA,
        ),
        (
            "k.cu",
            b"// needs .version 8 of .target sm_90\n__global__ void k() {}\n".to_vec(),
            "CUDA source",
            "an object or an executable",
        ),
        (
            "-",
            b"#include <x.h>\n__global__ void k() {}\n".to_vec(),
            "CUDA source",
            "`nvcc -ptx -lineinfo`",
        ),
    ]
}

#[test]
fn what_is_no_input_says_what_it_is_and_what_to_give_instead() {
    for (name, bytes, what, instead) in foreign() {
        let folder = folder(&[(if name == "-" { "unused" } else { name }, &bytes)]);
        for command in ["check", "audit"] {
            let output = run_with_stdin(&folder, &[command, "--format", "json", name], &bytes);
            assert_eq!(output.status.code(), Some(2), "{command} {name}");
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(report::codes(&document), ["PTX901"], "{command} {name}");
            let said = document["findings"][0]["message"].as_str().unwrap();
            assert!(said.starts_with(&format!("it is {what}")), "{name}: {said}");
            assert!(
                said.contains(", which is not read: give ") && said.contains(instead),
                "{name}: {said}"
            );
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        if name != "-" {
            let output = run_in(&folder, &["extract", name, "-o", "out"]);
            assert_eq!(output.status.code(), Some(2), "{name}");
            assert!(stderr(&output).contains(what), "{name}: {}", stderr(&output));
        }
    }
}

/// Without the program that reads it, a file of MLIR says what is missing, and a folder is searched without it.
#[test]
fn mlir_without_its_program_says_what_to_install_and_what_to_give_instead() {
    let folder = folder(&[
        ("k.mlir", b"gpu.module @m {\n}\n"),
        ("k.mlirbc", b"ML\xefR\x0dMLIR22.1.8\0"),
        ("good.ptx", CLEAN.as_bytes()),
    ]);
    // Beside a copy lies nothing.
    let apart = tempfile::tempdir().unwrap();
    let program = apart.path().join("ptxcheck");
    std::fs::copy(binary::path(), &program).unwrap();
    let run = |args: &[&str], named: &str| {
        let mut command = binary::command_of(&program);
        command.current_dir(&folder).env("PTXCHECK_MLIR", named);
        if cfg!(feature = "ir") {
            command.env("PTXCHECK_LLVM", binary::llvm());
        }
        command.args(args).output().unwrap()
    };
    let named_program = if cfg!(feature = "ir") {
        "`/nowhere/ptxcheck-mlir`"
    } else {
        "`ptxcheck-llvm`"
    };
    for (name, named, missing) in [
        ("k.mlir", "", "libmlir-22-dev"),
        ("k.mlirbc", "", "libmlir-22-dev"),
        ("k.mlir", "/nowhere/ptxcheck-mlir", named_program),
    ] {
        let output = run(&["--format", "json", name], named);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report::codes(&document), ["PTX901"], "{name}");
        let said = document["findings"][0]["message"].as_str().unwrap();
        assert!(said.starts_with("it is MLIR"), "{said}");
        assert!(said.contains(missing) && said.contains("give the PTX"), "{said}");
    }
    let output = run(&["--format", "json", "."], "");
    assert_eq!(
        (inputs(&output), output.status.code()),
        (vec!["./good.ptx".to_owned()], Some(0))
    );
    let said = "2 files of MLIR were not analysed, `./k.mlir` and others: `ptxcheck-mlir`, which reads that, is neither";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    let output = run(&["-q", "--require-analysed", "."], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
}

#[test]
fn lto_ir_is_not_optix_ir() {
    let folder = folder(&[("k.ltoir", &nvvm_container(1))]);
    let output = run_in(&folder, &["--format", "json", "k.ltoir"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report::codes(&document), ["PTX905"]);
    assert_eq!(document["inputs"][0]["images"][0]["kind"], "lto-ir");
}

#[test]
fn a_search_of_a_folder_passes_over_them_and_finds_llir() {
    let files: Vec<_> = foreign().into_iter().filter(|(name, ..)| *name != "-").collect();
    let mut all: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes, ..)| (*name, bytes.as_slice()))
        .collect();
    all.extend([("good.ptx", CLEAN.as_bytes()), ("triton.llir", IR.as_bytes())]);
    let folder = folder(&all);
    let output = run_in(&folder, &["--format", "json", "."]);
    let wanted: &[&str] = if cfg!(feature = "ir") {
        &["./good.ptx", "./triton.llir"]
    } else {
        &["./good.ptx"]
    };
    assert_eq!(inputs(&output), wanted);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_command_that_is_misspelt_is_told_from_a_file() {
    let folder = folder(&[("x.ptx", CLEAN.as_bytes()), ("chek", CLEAN.as_bytes())]);
    for (args, near) in [
        (&["chekc", "x.ptx"][..], "check"),
        (&["chekc", "absent.ptx"], "check"),
        (&["-q", "chekc", "x.ptx"], "check"),
        (&["extrcat", "x.ptx", "-o", "out"], "extract"),
        (&["explian", "PTX401"], "explain"),
    ] {
        let output = run_in(&folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = stderr(&output);
        assert!(
            said.contains(&format!("did you mean `{near}`?")),
            "{args:?}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    }
    // A path that exists is a file; a word like no command is missed as a file.
    assert_eq!(run_in(&folder, &["chek"]).status.code(), Some(0));
    let output = run_in(&folder, &["--format", "json", "build"]);
    assert_eq!(inputs(&output), ["build"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_version_tells_what_is_read() {
    let short = binary::run(["--version"]);
    let short = String::from_utf8(short.stdout).unwrap();
    assert_eq!(short.lines().count(), 1);
    for args in [&["--version", "-v"][..], &["-V", "-v"], &["-vV"]] {
        let output = binary::run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], short.trim_end());
        let value = |key: &str| {
            let start = format!("{key}: ");
            lines.iter().find_map(|line| line.strip_prefix(&start))
        };
        let by = |library: &str, program: &str| {
            let program = binary::path().with_file_name(format!("{program}{}", std::env::consts::EXE_SUFFIX));
            format!("read by {library}, by `{}`", program.display())
        };
        let ir = if cfg!(feature = "llvm") {
            by("LLVM 22", "ptxcheck-llvm")
        } else if cfg!(feature = "llvm19") {
            by("LLVM 19", "ptxcheck-llvm")
        } else {
            "not read: `ptxcheck-llvm` is not there".to_owned()
        };
        assert_eq!(value("LLVM IR"), Some(ir.as_str()));
        if cfg!(feature = "mlir") {
            assert_eq!(value("MLIR"), Some(by("MLIR 22", "ptxcheck-mlir").as_str()));
        }
        if let Some(commit) = value("commit") {
            assert!(
                commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{commit}"
            );
        }
    }
}

#[test]
fn an_apostrophe_in_a_response_file_is_a_character() {
    let folder = folder(&[
        ("don't.ptx", CLEAN.as_bytes()),
        ("a b.ptx", CLEAN.as_bytes()),
        ("all.rsp", b"--format json don't.ptx\n'a b.ptx'\n"),
    ]);
    let output = run_in(&folder, &["@all.rsp"]);
    assert_eq!(inputs(&output), ["don't.ptx", "a b.ptx"], "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_list_of_files_has_names_as_they_are() {
    let folder = folder(&[
        ("don't.ptx", CLEAN.as_bytes()),
        ("a b.ptx", CLEAN.as_bytes()),
        ("@x.ptx", CLEAN.as_bytes()),
        ("-q", CLEAN.as_bytes()),
        ("'q'.ptx", CLEAN.as_bytes()),
        ("first.ptx", CLEAN.as_bytes()),
        ("list", b"don't.ptx\0a b.ptx\0@x.ptx\0-q\0'q'.ptx\0"),
        ("lines", b"a b.ptx\nfirst.ptx\n"),
        ("none", b""),
    ]);
    let names = ["first.ptx", "don't.ptx", "a b.ptx", "@x.ptx", "-q", "'q'.ptx"];
    let list = fs::read(folder.path().join("list")).unwrap();
    for (file, stdin) in [("list", &b""[..]), ("-", &list)] {
        let args = ["--format", "json", "--files-from", file, "first.ptx"];
        let output = run_with_stdin(&folder, &args, stdin);
        assert_eq!(inputs(&output), names, "{file}");
        assert_eq!(output.status.code(), Some(0), "{file}");
    }
    let output = run_in(&folder, &["audit", "--format", "json", "--files-from", "list"]);
    assert_eq!(inputs(&output), names[1..]);
    for (args, wanted) in [
        (&["--files-from", "lines"][..], "separated by NULs"),
        (&["--files-from", "absent"], "the list `absent` can't be read"),
        (&["--files-from", "none"], "no input found"),
        (&["--files-from", "-", "-"], "can't be both"),
    ] {
        let output = run_in(&folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(wanted), "{args:?}: {}", stderr(&output));
    }
    assert_eq!(
        run_in(&folder, &["--files-from", "none", "--allow-empty"])
            .status
            .code(),
        Some(0)
    );
}

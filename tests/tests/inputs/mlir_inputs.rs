//! MLIR that cannot be read, in part or as a whole; folders with it; objects in it; its worker.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::process::Output;

use ptxcheck_tests::fatbin::{Elf, Entry, Packing, container};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::packing::{Tar, ZipMember, gzip, zip};
use ptxcheck_tests::{binary, report};
use serde_json::Value;

/// A kernel with one definite finding, PTX407, on its third line.
const WRONG: &str = "  llvm.func @k() attributes {nvvm.kernel} {
    %none = llvm.mlir.constant(0 : i32) : i32
    nvvm.bar.warp.sync %none : i32
    llvm.return
  }
";

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Code, line and message of the findings in a text.
fn findings(text: &str) -> Vec<(String, u64, String)> {
    findings_of("k.mlir", text.as_bytes())
}

fn findings_of(name: &str, bytes: &[u8]) -> Vec<(String, u64, String)> {
    let folder = folder(&[(name, bytes)]);
    let document = document(&run_in(&folder, &["--format", "json", name]));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    report::findings(&document)
        .iter()
        .map(|finding| {
            (
                text(&finding["code"]),
                finding["location"]["line"].as_u64().unwrap_or(0),
                text(&finding["message"]),
            )
        })
        .collect()
}

fn one(text: &str) -> (String, u64, String) {
    let mut all = findings(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn what_is_not_lowered_costs_its_module_alone() {
    let text = format!(
        "gpu.module @bad {{
  gpu.func @k(%v: f32) kernel {{
    %r = gpu.all_reduce add %v {{}} : (f32) -> f32
    gpu.return
  }}
}}
gpu.module @good {{
{WRONG}}}
"
    );
    let found = findings(&text);
    let codes: Vec<_> = found
        .iter()
        .map(|(code, line, _)| (code.as_str(), *line))
        .collect();
    assert_eq!(codes, [("PTX901", 3), ("PTX407", 10)], "{found:?}");
    assert!(
        found[0].2.starts_with("MLIR cannot lower `gpu.module @bad`: "),
        "{found:?}"
    );
}

/// MLIR crashes where it translates these.
#[test]
fn operations_outside_of_functions_are_named() {
    let (code, line, said) = one("gpu.module @m {\n  nvvm.barrier\n}\n");
    assert_eq!((code.as_str(), line), ("PTX901", 2));
    assert!(
        said.ends_with("`nvvm.barrier` stands outside of all functions"),
        "{said}"
    );
}

#[test]
fn malformed_text_is_a_finding_at_its_place_and_the_other_parts_are_read() {
    let text = format!(
        "gpu.module @m {{\n  gpu.func @k( kernel {{\n}}\n\n// -----\n\ngpu.module @n {{\n{WRONG}}}\n"
    );
    let found = findings(&text);
    let codes: Vec<_> = found
        .iter()
        .map(|(code, line, _)| (code.as_str(), *line))
        .collect();
    assert_eq!(codes, [("PTX902", 2), ("PTX407", 10)], "{found:?}");
}

#[test]
fn dialects_that_mlir_does_not_have_are_named() {
    for (operation, compiler, instead) in [
        ("cute.copy %a", "CuTe DSL", "CUTE_DSL_KEEP_PTX=1"),
        ("stablehlo.add %a", "XLA", "--xla_dump_to=DIR"),
        ("cuda_tile.load %a", "CUDA Tile", "`audit`"),
        ("\"tt.load\"() : () -> ()", "Triton", "`.llir` file"),
    ] {
        let (code, line, said) = one(&format!(
            "gpu.module @m {{\n  gpu.func @k() kernel {{\n    {operation}\n    gpu.return\n  }}\n}}\n"
        ));
        assert!(
            matches!(code.as_str(), "PTX901" | "PTX902") && line == 3,
            "{code} {line}: {said}"
        );
        assert!(
            said.contains(&format!("a dialect of {compiler}: ")) && said.contains(instead),
            "{operation}: {said}"
        );
    }
}

#[test]
fn other_gpus_are_named() {
    let module = |target: &str| {
        format!("gpu.module @m [{target}] {{\n  gpu.func @k() kernel {{\n    gpu.return\n  }}\n}}\n")
    };
    for (text, gpus) in [
        (module("#rocdl.target<chip = \"gfx90a\">"), "AMD's GPUs"),
        (
            "llvm.func @k() attributes {rocdl.kernel} {\n  llvm.return\n}\n".to_owned(),
            "AMD's GPUs",
        ),
        ("spirv.module Logical GLSL450 {\n}\n".to_owned(), "SPIR-V"),
    ] {
        let (code, _, said) = one(&text);
        assert!(
            code == "PTX901" && said.starts_with(&format!("it is MLIR for {gpus}, ")),
            "{code}: {said}"
        );
    }
    assert_eq!(
        findings(&module("#rocdl.target, #nvvm.target<chip = \"sm_90\">")),
        []
    );
}

#[test]
fn deep_nesting_is_a_limit() {
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(20_000), close.repeat(20_000));
        format!("gpu.module @m {{\n  gpu.func @k(%c: i1) kernel {{\n{open}{close}    gpu.return\n  }}\n}}\n")
    };
    let (code, line, said) = one(&deep("scf.if %c {\n", "}\n"));
    assert_eq!((code.as_str(), line), ("PTX903", 513), "{said}");
    let (code, line, _) = one(&deep("llvm.mlir.zero : !llvm.struct<(", ")>"));
    assert_eq!((code.as_str(), line), ("PTX903", 3));
}

#[test]
fn bytecode_of_another_version_is_refused_by_its_header() {
    for (writer, wanted) in [
        (&b"MLIR23.0.0git\0"[..], "`MLIR23.0.0git`"),
        (b"LLVM21\0", "`LLVM21`"),
        (b"MLIR22", "header is broken"),
    ] {
        let found = findings_of("k.mlirbc", &[b"ML\xefR\x0d", writer].concat());
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == "PTX901" && found[0].2.contains(wanted), "{found:?}");
    }
    let found = findings_of("k.mlirbc", b"ML\xefR\x0dMLIR22.1.8\0garbled");
    assert!(
        found[0].0 == "PTX901" && found[0].2.starts_with("MLIR cannot read it: "),
        "{found:?}"
    );
}

#[test]
fn folders_are_searched_for_kernels_alone() {
    let kernel = format!("gpu.module @m {{\n{WRONG}}}\n");
    let folder = folder(&[
        ("kernel.mlir", kernel.as_bytes()),
        ("host.mlir", b"func.func @f() {\n  return\n}\n"),
        ("amd.mlir", b"gpu.module @m [#rocdl.target] {\n}\n"),
        ("tensors.mlir", b"stablehlo.custom_call @f()\n"),
        ("kernel.txt", kernel.as_bytes()),
    ]);
    let output = run_in(&folder, &["--format", "json", "."]);
    let document = document(&output);
    assert_eq!(
        document["inputs"].as_array().map(Vec::len),
        Some(1),
        "{document:#}"
    );
    assert_eq!(report::codes(&document), ["PTX407"]);
    // Without kernels it is not device code.
    let output = run_in(&folder, &["--allow-empty", "host.mlir"]);
    assert_eq!(output.status.code(), Some(0));
}

/// The same members are inputs as of a folder, and one that cannot be analysed is a finding.
#[test]
fn packages_are_searched_for_kernels_alone() {
    let kernel = format!("gpu.module @m {{\n{WRONG}}}\n");
    let host: &[u8] = b"func.func @f() {\n  return\n}\n";
    let wheel = zip(&[
        ZipMember::new("a/kernel.mlir", kernel.as_bytes()),
        ZipMember::new("a/host.mlir", host),
        ZipMember::new("a/amd.mlir", b"gpu.module @m [#rocdl.target] {\n}\n"),
        ZipMember::new("a/old.mlirbc", b"ML\xefR\x0dMLIR19.1.0\0code"),
        ZipMember {
            flags: 1,
            ..ZipMember::new("a/secret.mlir", b"?")
        },
    ]);
    let archive = Tar::default()
        .file("b/kernel.mlir", kernel.as_bytes())
        .file("b/host.mlir", host)
        .end();
    let folder = folder(&[("a.whl", &wheel), ("b.tar.gz", &gzip(&archive))]);
    let found = |package: &str| -> Vec<(String, String, u64)> {
        let document = document(&run_in(&folder, &["--format", "json", package]));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut found: Vec<_> = report::findings(&document)
            .iter()
            .map(|finding| {
                let line = finding["location"]["line"].as_u64().unwrap_or(0);
                (text(&finding["input"]), text(&finding["code"]), line)
            })
            .collect();
        found.sort();
        found
    };
    let wanted = |rows: &[(&str, &str, u64)]| -> Vec<(String, String, u64)> {
        rows.iter()
            .map(|(file, code, line)| ((*file).to_owned(), (*code).to_owned(), *line))
            .collect()
    };
    assert_eq!(
        found("a.whl"),
        wanted(&[
            ("a.whl!a/kernel.mlir", "PTX407", 4),
            ("a.whl!a/old.mlirbc", "PTX901", 0),
            ("a.whl!a/secret.mlir", "PTX901", 0),
        ])
    );
    assert_eq!(
        found("b.tar.gz"),
        wanted(&[("b.tar.gz!b/kernel.mlir", "PTX407", 4)])
    );
    let output = run_in(&folder, &["extract", "b.tar.gz", "-o", "images"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "b/kernel.mlir/00000.mlir\n"
    );
}

#[test]
fn objects_of_binaries_are_read() {
    let ptx = |target: &str| {
        format!(
            ".version 8.0\\0A.target {target}\\0A.address_size 64\\0A.visible .entry k()\\0A{{\\0A\\09bar.warp.sync 0;\\0A\\09ret;\\0A}}\\0A"
        )
    };
    let text = format!(
        "gpu.binary @objects [#gpu.object<#nvvm.target<chip = \"sm_80\">, assembly = \"{}\">, \
         #gpu.object<#nvvm.target<chip = \"sm_90\">, assembly = \"{}\">]\n",
        ptx("sm_80"),
        ptx("sm_90")
    );
    let folder = folder(&[("k.mlir", text.as_bytes())]);
    let document = document(&run_in(
        &folder,
        &["--format", "json", "--places", "all", "k.mlir"],
    ));
    assert_eq!(report::codes(&document), ["PTX407", "PTX407"]);
    let images = &document["inputs"][0]["images"];
    for (number, target) in [(0, "sm_80"), (1, "sm_90")] {
        let image = &images[number];
        assert_eq!(
            (
                image["kind"].as_str(),
                image["target"].as_str(),
                image["section"].as_str()
            ),
            (Some("ptx"), Some(target), Some("gpu.binary @objects"))
        );
    }
    let notes = document["findings"][0]["notes"].to_string();
    assert!(
        notes.contains("the line is one of the PTX in gpu.binary @objects"),
        "{notes}"
    );
}

/// An attribute of MLIR with these bytes, which are an object in this format.
fn object(format: &str, bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|byte| format!("\\{byte:02X}")).collect();
    format!("#gpu.object<#nvvm.target<chip = \"sm_80\">, {format} = \"{escaped}\">")
}

#[test]
fn objects_of_binaries_are_read_in_each_format() {
    const PTX: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tbar.warp.sync 0;\n\tret;\n}\n";
    let cubin = Elf::cubin(80, &[("k", &[])]).bytes();
    let fat = container(&[
        Entry::cubin(80, cubin.clone()),
        Entry::ptx(80, PTX).packed(Packing::Zstd),
    ]);
    let ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() {\n  ret void\n}\n";
    for (object, wanted) in [
        (object("bin", &cubin), vec![("cubin", "sm_80")]),
        (object("fatbin", &fat), vec![("cubin", "sm_80"), ("ptx", "sm_80")]),
        (object("offload", ir.as_bytes()), vec![("llvm-ir", "")]),
    ] {
        let text = format!("// -----\ngpu.binary @b [{object}]\n");
        let folder = folder(&[("k.mlir", text.as_bytes())]);
        let document = document(&run_in(
            &folder,
            &["--format", "json", "--places", "all", "k.mlir"],
        ));
        let images: Vec<_> = document["inputs"][0]["images"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|image| {
                assert_eq!(image["kernels"].as_u64(), Some(1), "{image:#}");
                assert_eq!(image["section"].as_str(), Some("gpu.binary @b"));
                (
                    image["kind"].as_str().unwrap_or_default(),
                    image["target"].as_str().unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(images, wanted, "{document:#}");
        let codes = report::codes(&document);
        assert_eq!(codes.len(), usize::from(wanted.len() == 2), "{document:#}");
        assert!(codes.iter().all(|code| *code == "PTX407"), "{codes:?}");
    }
    for bytes in [&b""[..], b"garbage", b"gpu.module @m {\n}\n"] {
        let (code, line, said) = one(&format!("// -----\ngpu.binary @b [{}]\n", object("bin", bytes)));
        assert_eq!((code.as_str(), line), ("PTX901", 2));
        assert_eq!(
            said,
            "an object of `gpu.binary @b` holds no PTX, LLVM IR or machine code"
        );
    }
}

#[test]
fn comments_in_the_text_suppress_findings_of_their_module() {
    let allowed = WRONG.replace(
        "    nvvm.bar",
        "    // ptxcheck: allow(PTX407) a test\n    nvvm.bar",
    );
    let text = format!("gpu.module @a {{\n{allowed}}}\ngpu.module @b {{\n{WRONG}}}\n");
    let folder = folder(&[("k.mlir", text.as_bytes())]);
    let output = run_in(
        &folder,
        &["--format", "json", "--strict-config", "--places", "all", "k.mlir"],
    );
    let document = document(&output);
    let shown: Vec<_> = report::findings(&document)
        .iter()
        .map(|finding| (finding["code"].as_str(), finding["suppressed"].is_object()))
        .collect();
    assert_eq!(
        shown,
        [(Some("PTX407"), true), (Some("PTX407"), false)],
        "{document:#}"
    );
}

/// One worker reads many files; one that dies loses the file that it was analysing.
#[test]
fn a_worker_that_dies_costs_its_file() {
    let kernel = format!("gpu.module @m {{\n{WRONG}}}\n");
    let folder = folder(&[("a.mlir", kernel.as_bytes()), ("b.mlir", kernel.as_bytes())]);
    let mut command = binary::command();
    command.current_dir(&folder);
    // It says that it is ready, and ends.
    let version = env!("CARGO_PKG_VERSION");
    let then = format!("printf 'ptxcheck-mlir {version}: MLIR 22\\n'; head -c 30 >/dev/null; exit 3\n");
    let script = executable(&folder, "mortal", &then);
    command
        .env("PTXCHECK_MLIR", &script)
        .args(["--format", "json", "a.mlir", "b.mlir"]);
    let output = command.output().unwrap();
    let document = document(&output);
    assert_eq!(report::codes(&document), ["PTX904", "PTX904"], "{document:#}");
    let said = document["findings"][0]["message"].as_str().unwrap();
    assert!(
        said.starts_with("MLIR failed on it: ") && said.contains("exit status: 3"),
        "{said}"
    );
}

/// A thread has one worker for all its files.
#[test]
fn one_worker_reads_many_files() {
    let kernel = format!("gpu.module @m {{\n{WRONG}}}\n");
    let files = ["a.mlir", "b.mlir", "c.mlir"];
    let numbered: Vec<String> = (0..files.len())
        .map(|number| format!("// {number}\n{kernel}"))
        .collect();
    let inputs: Vec<(&str, &[u8])> = files
        .iter()
        .zip(&numbered)
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let folder = folder(&inputs);
    let program = binary::path().with_file_name(format!("ptxcheck-mlir{}", std::env::consts::EXE_SUFFIX));
    let script = executable(
        &folder,
        "counted",
        &format!("echo started >>started\nexec '{}'\n", program.display()),
    );
    let mut command = binary::command();
    command.current_dir(&folder).env("PTXCHECK_MLIR", &script);
    let output = command
        .args(["-j", "1", "--format", "json", "--places", "all"])
        .args(files)
        .output()
        .unwrap();
    assert_eq!(report::codes(&document(&output)), ["PTX407"; 3]);
    let started = std::fs::read_to_string(folder.path().join("started")).unwrap();
    assert_eq!(started, "started\n");
}

/// A run starts what does not start once, not for each file.
#[test]
fn a_worker_that_does_not_start_is_started_once() {
    let kernels: Vec<String> = (0..3)
        .map(|number| format!("// {number}\ngpu.module @m {{\n{WRONG}}}\n"))
        .collect();
    let folder = folder(&[
        ("a.mlir", kernels[0].as_bytes()),
        ("b.mlir", kernels[1].as_bytes()),
        ("c.mlir", kernels[2].as_bytes()),
    ]);
    let script = executable(&folder, "broken", "echo started >>started\nexit 127\n");
    let mut command = binary::command();
    command.current_dir(&folder).env("PTXCHECK_MLIR", &script);
    let output = command
        .args(["-j", "1", "--format", "json", "a.mlir", "b.mlir", "c.mlir"])
        .output()
        .unwrap();
    let document = document(&output);
    assert_eq!(document["inputs"].as_array().map(Vec::len), Some(3));
    let found = report::findings(&document);
    assert!(!found.is_empty(), "{document:#}");
    for finding in found {
        let said = finding["message"].as_str().unwrap_or_default();
        assert!(
            finding["code"] == "PTX901" && said.contains("does not start") && said.contains("127"),
            "{finding:#}"
        );
    }
    let started = std::fs::read_to_string(folder.path().join("started")).unwrap();
    assert_eq!(started, "started\n");
}

/// A script in the folder that a shell runs.
fn executable(folder: &tempfile::TempDir, name: &str, text: &str) -> std::path::PathBuf {
    let script = folder.path().join(name);
    std::fs::write(&script, format!("#!/bin/sh\n{text}")).unwrap();
    let mut permissions = std::fs::metadata(&script).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&script, permissions).unwrap();
    script
}

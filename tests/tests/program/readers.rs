//! The program that reads LLVM IR: found beside `ptxcheck` or by PTXCHECK_LLVM, missing, of another version, or another program.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use ptxcheck_tests::fatbin::{Elf, offloading};
use ptxcheck_tests::folder::folder;
use ptxcheck_tests::{binary, report};
use serde_json::Value;
use tempfile::TempDir;

const WRONG_PTX: &str =
    ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tbar.warp.sync 0;\n\tret;\n}\n";

const WRONG_IR: &str = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() {\n  call void \
    @llvm.nvvm.bar.warp.sync(i32 0)\n  ret void\n}\ndeclare void @llvm.nvvm.bar.warp.sync(i32)\n";

/// LLVM IR, an object with LLVM IR, and PTX with a defect.
fn inputs() -> TempDir {
    let object = Elf::host(1).section(".llvm.offloading", offloading(2, "sm_90", WRONG_IR.as_bytes()));
    folder(&[
        ("k.ll", WRONG_IR.as_bytes()),
        ("k.o", &object.bytes()),
        ("k.ptx", WRONG_PTX.as_bytes()),
    ])
}

/// A copy of the program alone in a folder.
fn alone() -> (TempDir, PathBuf) {
    let apart = tempfile::tempdir().unwrap();
    let program = apart.path().join("ptxcheck");
    fs::copy(binary::path(), &program).unwrap();
    (apart, program)
}

fn run(program: &Path, folder: &TempDir, reader: &str, args: &[&str]) -> Output {
    let mut command = binary::command_of(program);
    command.current_dir(folder).env("PTXCHECK_LLVM", reader);
    command.args(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Each input with LLVM IR is refused with a message that has these parts, and PTX is checked.
fn refuses(output: &Output, parts: &[&str]) {
    assert_eq!(output.status.code(), Some(2), "{}", stderr(output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut codes = report::codes(&document);
    codes.sort_unstable();
    assert_eq!(codes, ["PTX407", "PTX901", "PTX901"], "{document:#}");
    for finding in report::findings(&document) {
        let said = finding["message"].as_str().unwrap();
        assert!(
            finding["code"] == "PTX407" || parts.iter().all(|part| said.contains(part)),
            "{said}"
        );
    }
}

const ALL: [&str; 7] = ["--format", "json", "--places", "all", "k.ll", "k.o", "k.ptx"];

#[test]
fn without_it_ir_is_refused_and_ptx_is_checked() {
    let (inputs, (_apart, program)) = (inputs(), alone());
    let output = run(&program, &inputs, "", &ALL);
    refuses(
        &output,
        &[
            "it is LLVM IR, and `ptxcheck-llvm`, which reads that, is neither beside this program nor named by PTXCHECK_LLVM",
            "llvm-22-dev",
            "give the PTX",
        ],
    );
    let version = run(&program, &inputs, "", &["--version", "--verbose"]);
    let version = String::from_utf8(version.stdout).unwrap();
    assert!(
        version.contains("LLVM IR: not read: `ptxcheck-llvm` is not there\n"),
        "{version}"
    );
}

#[test]
fn without_it_a_folder_is_searched_without_ir_and_says_so() {
    let (inputs, (_apart, program)) = (inputs(), alone());
    fs::remove_file(inputs.path().join("k.o")).unwrap();
    let output = run(&program, &inputs, "", &["--format", "json", "."]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (report::codes(&document), output.status.code()),
        (vec!["PTX407"], Some(1))
    );
    let said =
        "1 file of LLVM IR was not analysed, `./k.ll`: `ptxcheck-llvm`, which reads that, is neither beside";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    let output = run(&program, &inputs, "", &["-q", "--require-analysed", "."]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
}

#[test]
fn another_program_is_no_reader() {
    let inputs = inputs();
    for (reader, why) in [
        (
            "/bin/true",
            "it ends before it says that it is ready (exit status: 0)",
        ),
        ("/bin/pwd", "it is not `ptxcheck-llvm`"),
        ("/nowhere/ptxcheck-llvm", "No such file or directory"),
    ] {
        let output = run(binary::path(), &inputs, reader, &ALL);
        let named = format!("`{reader}`, which reads that, does not start ({why}");
        refuses(&output, &["it is LLVM IR, and ", &named, "give the PTX"]);
        let version = run(binary::path(), &inputs, reader, &["--version", "--verbose"]);
        let version = String::from_utf8(version.stdout).unwrap();
        let named = format!("LLVM IR: not read: `{reader}` does not start ({why}");
        assert!(version.contains(&named), "{version}");
    }
}

#[test]
fn a_reader_of_another_version_is_refused_once() {
    let inputs = inputs();
    let script = inputs.path().join("reader");
    let greeting = "echo started >>started\necho 'ptxcheck-llvm 0.0.7: LLVM 22'\ncat >/dev/null\n";
    fs::write(&script, format!("#!/bin/sh\n{greeting}")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let args = [&["-j", "1"], &ALL[..]].concat();
    let output = run(binary::path(), &inputs, &script.to_string_lossy(), &args);
    let version = env!("CARGO_PKG_VERSION");
    let why =
        format!("it is `ptxcheck-llvm` 0.0.7, and {version} is needed: both programs must be of one version");
    refuses(&output, &[&why]);
    let started = fs::read_to_string(inputs.path().join("started")).unwrap();
    assert_eq!(started, "started\n");
}

#[test]
#[cfg(feature = "ir")]
fn it_is_found_beside_the_program_and_by_its_variable() {
    let (inputs, (apart, program)) = (inputs(), alone());
    let finds = |output: &Output| {
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report::codes(&document), ["PTX407"; 3], "{document:#}");
        assert_eq!(output.status.code(), Some(1));
    };
    finds(&run(&program, &inputs, &binary::llvm().to_string_lossy(), &ALL));
    fs::copy(binary::llvm(), apart.path().join("ptxcheck-llvm")).unwrap();
    finds(&run(&program, &inputs, "", &ALL));
    // A link leads to the folder of the program itself.
    let link = inputs.path().join("linked");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    finds(&run(&link, &inputs, "", &ALL));
}

/// `ptxcheck` has no need of LLVM's library, which takes longer to load than most files take to check.
#[test]
#[cfg(target_os = "linux")]
fn the_program_does_not_link_llvm() {
    let libraries = |program: &Path| {
        let output = std::process::Command::new("ldd").arg(program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let own = libraries(binary::path());
    assert!(own.contains("libc.so") && !own.contains("LLVM"), "{own}");
}

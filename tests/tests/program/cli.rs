//! The command line: usage, inputs, output, exit codes. What needs findings is in `engine.rs`.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::process::{Command, Output};

use ptxcheck_tests::folder::{folder, run_in, run_with_stdin};
use ptxcheck_tests::{binary, report, root};
use serde_json::Value;
use tempfile::TempDir;

/// The smallest module with a kernel.
const CLEAN: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The inputs of a run, as its document names them.
fn inputs(folder: &TempDir, args: &[&str]) -> Vec<String> {
    let mut all = vec!["--format", "json", "--allow-empty"];
    all.extend(args);
    let (_, document) = report::document(&run_in(folder, &all)).unwrap();
    let inputs = document["inputs"].as_array().unwrap();
    inputs
        .iter()
        .map(|input| input["path"].as_str().unwrap().replace('\\', "/"))
        .collect()
}

#[test]
fn help_and_version() {
    for args in [["--help"], ["-h"]] {
        let output = binary::run(args);
        assert_eq!(output.status.code(), Some(0));
        let text = stdout(&output);
        for word in ["check", "rules", "explain", "--fail-on", "--output", "Exit codes"] {
            assert!(text.contains(word), "{word} is missing in:\n{text}");
        }
    }
    let output = binary::run(["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("ptxcheck 0."));
}

#[test]
fn the_folder_of_the_cmake_files_is_beside_the_program() {
    let folder = folder(&[("bin/keep", b""), ("share/cmake/ptxcheck/keep", b"")]);
    let program = folder.path().join("bin/ptxcheck");
    fs::hard_link(binary::path(), &program)
        .or_else(|_| fs::copy(binary::path(), &program).map(drop))
        .unwrap();
    let ask = || {
        std::process::Command::new(&program)
            .arg("--cmake-dir")
            .output()
            .unwrap()
    };
    let output = ask();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("the CMake files are not installed"),
        "{}",
        stderr(&output)
    );
    fs::write(
        folder.path().join("share/cmake/ptxcheck/ptxcheck-config.cmake"),
        "",
    )
    .unwrap();
    let output = ask();
    assert_eq!(output.status.code(), Some(0));
    let shown = stdout(&output);
    let shown = std::path::Path::new(shown.trim_end()).canonicalize().unwrap();
    assert_eq!(
        shown,
        folder.path().join("share/cmake/ptxcheck").canonicalize().unwrap()
    );
    let output = binary::run(["--cmake-dir", "x.ptx"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_launcher_wants_a_compiler() {
    for (args, code, part) in [
        (&["launch"][..], 2, "a compiler is wanted"),
        (&["launch", "--help"], 0, "PTXCHECK_ARGS"),
    ] {
        let output = binary::run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn wrong_usage_is_2_and_says_why() {
    let cases: [(&[&str], &str); 14] = [
        (
            &["--baseline", "a.json", "--write-baseline", "a.json", "x.ptx"],
            "cannot be used with",
        ),
        (&[], "PATH"),
        (&["check"], "PATH"),
        (&["--no-such-option", "x.ptx"], "--no-such-option"),
        (&["-W", "zero-mas", "x.ptx"], "did you mean `zero-mask`?"),
        (&["-A", "ptx999", "x.ptx"], "no rule's code"),
        (&["--level", "PTX407", "x.ptx"], "as in `PTX404=warning`"),
        (&["--level", "PTX407=warn", "x.ptx"], "`warn` is no level"),
        (&["--format", "xml", "x.ptx"], "xml"),
        (&["--output", "json", "x.ptx"], "json=report.json"),
        (&["--timeout=-1", "x.ptx"], "a number of seconds"),
        (&["-q", "-v", "x.ptx"], "--verbose"),
        (&["@no-such-file"], "no-such-file"),
        (&["explain", "no-such-rule"], "no rule's code"),
    ];
    for (args, wanted) in cases {
        let output = binary::run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(wanted), "{args:?}: {}", stderr(&output));
        assert!(stdout(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn a_baseline_that_is_none_is_2_and_is_left_as_it_is() {
    let folder = folder(&[
        ("a.ptx", CLEAN.as_bytes()),
        ("empty.json", b""),
        (
            "broken.json",
            b"{\"version\": 1,\n\"findings\": [\n{\"code\": 7}\n]}",
        ),
        ("newer.json", b"{\"version\": 99, \"findings\": []}"),
        ("latin.json", b"{\"version\": 1, \"\xe9\": 1}"),
    ]);
    for (option, file, wanted) in [
        (
            "--baseline",
            "missing.json",
            "the baseline `missing.json` can't be read: ",
        ),
        ("--baseline", ".", "the baseline `.` can't be read: "),
        ("--baseline", "empty.json", "empty.json:1:1: "),
        (
            "--baseline",
            "broken.json",
            "broken.json:3:10: invalid type: integer `7`, expected a string",
        ),
        (
            "--write-baseline",
            "broken.json",
            "broken.json:3:10: invalid type",
        ),
        (
            "--write-baseline",
            "newer.json",
            "newer.json:1:1: this baseline has version 99",
        ),
        ("--baseline", "latin.json", "it is not UTF-8"),
        ("--write-baseline", "a.ptx", "a.ptx:1:1: "),
        (
            "--write-baseline",
            "no/folder.json",
            "the baseline `no/folder.json` can't be written: ",
        ),
    ] {
        for command in ["check", "audit"] {
            let before = std::fs::read(folder.path().join(file)).ok();
            let output = run_in(&folder, &[command, option, file, "a.ptx"]);
            assert_eq!(output.status.code(), Some(2), "{option} {file}");
            assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
            assert_eq!(std::fs::read(folder.path().join(file)).ok(), before, "{file}");
        }
    }
}

#[test]
fn check_is_the_default_command() {
    let folder = folder(&[("a.ptx", CLEAN.as_bytes()), ("rules", CLEAN.as_bytes())]);
    for args in [
        &["a.ptx"][..],
        &["check", "a.ptx"],
        &["-W", "potential", "a.ptx"],
        &["./rules"],
    ] {
        assert_eq!(run_in(&folder, args).status.code(), Some(0), "{args:?}");
    }
    assert!(stdout(&run_in(&folder, &["rules"])).contains("PTX407"));
}

#[test]
fn no_input_is_2_unless_allowed() {
    let folder = folder(&[("empty/readme.md", b"# none")]);
    let output = run_in(&folder, &["empty"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--allow-empty"));
    assert_eq!(
        run_in(&folder, &["--allow-empty", "empty"]).status.code(),
        Some(0)
    );
    assert_eq!(run_in(&folder, &["--allow-empty"]).status.code(), Some(0));
}

#[test]
fn folders_are_searched_in_order() {
    let clean = CLEAN.as_bytes();
    let folder = folder(&[
        ("b/z.ptx", clean),
        ("b/a.PTX", clean),
        ("b/c/deep.ptx", clean),
        ("b/by-its-text", clean),
        ("b/dump.txt", clean),
        ("b/other.bin", b"\0\x01\x02"),
        ("a.ptx", clean),
    ]);
    let sorted = ["b/a.PTX", "b/by-its-text", "b/c/deep.ptx", "b/z.ptx"];
    assert_eq!(inputs(&folder, &["b"]), sorted);
    assert_eq!(
        inputs(&folder, &["a.ptx", "b/dump.txt", "b"])[..2],
        ["a.ptx", "b/dump.txt"]
    );
}

#[test]
fn an_input_counts_once() {
    let folder = folder(&[("b/a.ptx", CLEAN.as_bytes()), ("b/c.ptx", CLEAN.as_bytes())]);
    assert_eq!(
        inputs(&folder, &["b/c.ptx", "b", "b/../b/a.ptx", "./b/c.ptx"]),
        ["b/c.ptx", "b/a.ptx"]
    );
}

#[cfg(unix)]
#[test]
fn links_that_go_round_are_harmless() {
    let folder = folder(&[("b/a.ptx", CLEAN.as_bytes())]);
    std::os::unix::fs::symlink("..", folder.path().join("b/up")).unwrap();
    std::os::unix::fs::symlink("self", folder.path().join("b/self")).unwrap();
    std::os::unix::fs::symlink("a.ptx", folder.path().join("b/again.ptx")).unwrap();
    assert_eq!(inputs(&folder, &["b"]), ["b/a.ptx"]);
}

#[test]
fn standard_input_is_read_once() {
    let output = run_with_stdin(".", &["--format", "json", "-", "-"], CLEAN.as_bytes());
    let (code, document) = report::document(&output).unwrap();
    assert_eq!(code, 0);
    assert_eq!(document["inputs"].as_array().unwrap().len(), 1);
    assert_eq!(document["inputs"][0]["path"], "-");
}

#[test]
fn response_files_stand_for_arguments() {
    let folder = folder(&[
        ("a b.ptx", CLEAN.as_bytes()),
        ("@at.ptx", CLEAN.as_bytes()),
        ("inner", b"'a b.ptx'"),
        ("args", b"--allow-empty\r\n@inner\n"),
        ("loop", b"@loop"),
        ("open", b"'a b.ptx"),
        ("empty", b"\"\"\n"),
    ]);
    assert_eq!(inputs(&folder, &["@args"]), ["a b.ptx"]);
    assert_eq!(inputs(&folder, &["./@at.ptx"]), ["./@at.ptx"]);
    assert_eq!(inputs(&folder, &["--", "@at.ptx"]), ["@at.ptx"]);
    for (wrong, why) in [
        ("@loop", "nested"),
        ("@open", "never closed"),
        ("@empty", "the response file `empty` is empty"),
    ] {
        let output = run_in(&folder, &[wrong]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}

#[test]
fn findings_and_chatter_go_different_ways() {
    let folder = folder(&[("a.ptx", CLEAN.as_bytes())]);
    let output = run_in(&folder, &["a.ptx"]);
    assert!(stdout(&output).is_empty());
    assert!(
        stderr(&output).contains("0 errors, 0 warnings"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&run_in(&folder, &["-q", "a.ptx"])).is_empty());
    assert!(stderr(&run_in(&folder, &["--format", "json", "a.ptx"])).is_empty());
    assert!(stderr(&run_in(&folder, &["-v", "a.ptx"])).contains("a.ptx: checked"));
}

#[test]
fn output_goes_to_files_too() {
    let folder = folder(&[("a.ptx", CLEAN.as_bytes())]);
    let output = run_in(
        &folder,
        &["--output", "json=r.json", "--output", "concise=r.txt", "a.ptx"],
    );
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&fs::read(folder.path().join("r.json")).unwrap()).unwrap();
    assert!(ptxcheck_tests::schema::problems(&document).is_empty());
    assert!(folder.path().join("r.txt").exists());
    let output = run_in(&folder, &["--output", "json=no/such/folder.json", "a.ptx"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("could not be written"));
}

#[test]
fn colours_follow_the_settings() {
    let styled = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = binary::command();
        let output = command
            .arg("rules")
            .args(args)
            .envs(variables.iter().copied())
            .output();
        stdout(&output.unwrap()).contains('\x1b')
    };
    assert!(!styled(&[], &[]), "a pipe is no terminal");
    assert!(styled(&["--color", "always"], &[]));
    assert!(styled(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(styled(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!styled(&[], &[("NO_COLOR", "1"), ("TERM", "xterm")]));
    assert!(!styled(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn rules_are_listed() {
    let output = binary::run(["rules", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema_version"], 1);
    let rules = document["rules"].as_array().unwrap();
    let codes: Vec<&str> = rules.iter().map(|rule| rule["code"].as_str().unwrap()).collect();
    assert!(codes.is_sorted() && codes.contains(&"PTX407"));
    let table = stdout(&binary::run(["rules"]));
    for rule in rules {
        let line = table
            .lines()
            .find(|line| line.starts_with(rule["code"].as_str().unwrap()));
        assert!(
            line.is_some_and(|line| line.contains(rule["name"].as_str().unwrap())),
            "{rule:#}"
        );
        assert!(!rule["documentation"].as_str().unwrap().is_empty(), "{rule:#}");
    }
}

#[test]
fn every_rule_is_explained_by_any_of_its_names() {
    let output = binary::run(["rules", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for rule in document["rules"].as_array().unwrap() {
        let page = stdout(&binary::run(["explain", rule["code"].as_str().unwrap()]));
        assert!(
            page.contains("What it does") && page.contains(rule["summary"].as_str().unwrap()),
            "{page}"
        );
        let aliases = rule["aliases"].as_array().unwrap();
        for name in aliases.iter().chain([&rule["name"]]) {
            assert_eq!(stdout(&binary::run(["explain", name.as_str().unwrap()])), page);
        }
    }
    assert_eq!(binary::run(["explain", "warp"]).status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let output = binary::command()
        .arg("rules")
        .stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("standard output"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = binary::command().arg("rules").stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
}

/// In blocks of 8 × 8 threads, lanes 8 to 31 of warp 0 skip the barrier of the warp. In one row of 32, none does.
const ROWS: &str = ".version 7.8\n.target sm_90\n.address_size 64\n\
    .visible .entry _Z4rowsPi(.param .u64 out)BOUNDS\n{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n\
    mov.u32 %r1, %tid.y;\nld.param.u64 %rd1, [out];\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra SKIP;\n\
    bar.warp.sync -1;\nSKIP:\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

/// The output of `--format concise`, in a folder with these files.
fn rows(bounds: &str, files: &[(&str, &str)], args: &[&str]) -> (Option<i32>, String) {
    let module = ROWS.replace("BOUNDS", bounds);
    let mut all = vec![("build/rows.ptx", module.as_bytes())];
    all.extend(files.iter().map(|(name, text)| (*name, text.as_bytes())));
    let folder = folder(&all);
    let mut command = vec!["-q", "rows.ptx"];
    command.extend(args);
    let output = binary::command()
        .current_dir(folder.path().join("build"))
        .args(command)
        .output()
        .unwrap();
    (output.status.code(), stdout(&output) + &stderr(&output))
}

#[test]
fn the_configuration_says_how_kernels_are_launched() {
    let exit_with = |files: &[(&str, &str)], args: &[&str]| rows("", files, args).0;
    assert_eq!(exit_with(&[], &[]), Some(0));
    // For all kernels, found above the working directory; for those called so; the last of several.
    let square = "[launch]\nblock = [8, 8, 1]\n";
    assert_eq!(exit_with(&[("ptxcheck.toml", square)], &[]), Some(1));
    for (name, wanted) in [
        ("_Z4rows*", 1),
        ("rows", 1),
        ("rows(int*)", 1),
        ("r?ws", 1),
        ("row", 0),
        ("_Z3*", 0),
    ] {
        let named = format!("[launch.\"{name}\"]\nblock = [8, 8]\n");
        assert_eq!(
            exit_with(&[("ptxcheck.toml", &named)], &[]),
            Some(wanted),
            "{name}"
        );
    }
    let both = format!("{square}[launch.'*']\nblock = [8, 8]\n[launch.rows]\nblock = [32]\n");
    assert_eq!(exit_with(&[("ptxcheck.toml", &both)], &[]), Some(0));
    // The command line wins; the nearest file, or the one that it names.
    assert_eq!(
        exit_with(&[("ptxcheck.toml", square)], &["--launch-block", "32,1"]),
        Some(0)
    );
    assert_eq!(
        exit_with(&[("ptxcheck.toml", square), ("build/ptxcheck.toml", "")], &[]),
        Some(0)
    );
    let other = [("build/ptxcheck.toml", ""), ("other.toml", square)];
    assert_eq!(exit_with(&other, &["--config", "../other.toml"]), Some(1));
    // A row and a half, in two dimensions: lane 16 of warp 0 is the first of the second row.
    let (code, text) = rows("", &[("ptxcheck.toml", "[launch]\nblock = [16, 3]\n")], &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("names lanes 16-31, which do not reach"), "{text}");
    assert!(text.contains("this kernel 16 × 3 × 1 threads"), "{text}");
}

#[test]
fn of_several_blocks_each_is_wrong_or_some_are() {
    let settings = "[launch]\nblock = [[8, 8], [16, 4], [8, 8, 1]]\n";
    let (code, text) = rows("", &[("ptxcheck.toml", settings)], &["--format", "full"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("names lanes 16-31, which do not reach"), "{text}");
    assert!(
        text.contains("with each of the blocks that the settings state"),
        "{text}"
    );
    // Right in one: a finding that names the block.
    let settings = [("ptxcheck.toml", "[launch.rows]\nblock = [[32, 2], [8, 8]]\n")];
    assert_eq!(rows("", &settings, &[]), (Some(0), String::new()));
    let (_, text) = rows("", &settings, &["--format", "full", "-W", "conditional"]);
    assert!(text.contains("names lanes 8-31, which do not reach"), "{text}");
    assert!(text.contains("when: blocks of 8 × 8 threads"), "{text}");
    // Options state several, too, and win; a block that the kernel cannot have counts for nothing.
    let options = ["--launch-block", "8,8", "--launch-block", "32,2"];
    assert_eq!(rows("", &[], &options).0, Some(0));
    assert_eq!(rows("", &settings, &["--launch-block", "8,8"]).0, Some(1));
    let (code, text) = rows(
        " .maxntid 64",
        &[],
        &["--launch-block=64,2", "--launch-block=8,8", "--format=full"],
    );
    assert_eq!(code, Some(1));
    assert!(
        text.contains("64 × 2 × 1 threads: they give way to `.maxntid`"),
        "{text}"
    );
    let many: Vec<String> = (1..18).map(|side| format!("--launch-block={side}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (code, text) = rows("", &[], &many);
    assert_eq!(code, Some(2));
    assert!(text.contains("more than 16 different blocks"), "{text}");
}

#[test]
fn a_module_wins_over_stated_blocks_and_the_finding_says_so() {
    let square = [("ptxcheck.toml", "[launch]\nblock = [8, 8]\n")];
    let (code, text) = rows(" .reqntid 4, 8", &square, &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("names lanes 4-31, which do not reach"), "{text}");
    assert!(
        text.contains("the settings say 8 × 8 × 1 threads: they give way to `.reqntid`"),
        "{text}"
    );
    assert_eq!(rows(" .reqntid 32", &square, &[]).0, Some(0));
    assert_eq!(rows(" .reqntid 32", &[], &["--launch-block", "8,8"]).0, Some(0));
    // More threads than a kernel may have: no such launch.
    assert_eq!(rows(" .maxntid 32", &square, &[]).0, Some(0));
    assert_eq!(rows(" .maxntid 64", &square, &[]).0, Some(1));
}

/// A kernel in which each thread of a block of 64 stores 4 bytes in dynamic shared memory.
const IN_SHARED: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 memory[];\n\
    .visible .entry _Z4rowsPi(.param .u64 out) .reqntid 64\n{\n.reg .b32 %r<9>;\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n\
    mov.u32 %r3, memory;\nadd.s32 %r4, %r3, %r2;\nst.shared.u32 [%r4], %r1;\nret;\n}\n";

#[test]
fn the_configuration_says_how_much_shared_memory_kernels_have() {
    let exit_with = |config: &str, args: &[&str]| {
        let files = [
            ("k.ptx", IN_SHARED.as_bytes()),
            ("ptxcheck.toml", config.as_bytes()),
        ];
        let folder = folder(&files);
        let mut command = vec!["-q", "-D", "PTX211", "--format", "full", "k.ptx"];
        command.extend(args);
        let output = binary::command()
            .current_dir(folder.path())
            .args(command)
            .output()
            .unwrap();
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let code = |config: &str, args: &[&str]| exit_with(config, args).0;
    assert_eq!(code("", &[]), Some(0));
    assert_eq!(code("", &["--launch-shared", "256"]), Some(0));
    let (found, text) = exit_with("", &["--launch-shared", "255"]);
    assert_eq!(found, Some(1));
    assert!(
        text.contains("lane 31 accesses `memory` in shared memory at offset 252, and it has 255 bytes"),
        "{text}"
    );
    assert!(
        text.contains("the settings give this kernel 255 bytes of dynamic shared memory"),
        "{text}"
    );
    let all = "[launch]\nshared = 128\n";
    assert_eq!(code(all, &[]), Some(1));
    let named =
        format!("{all}[launch.'*']\nshared = 0\n[launch.rows]\nshared = 256\n[launch.other]\nshared = 4\n");
    assert_eq!(code(&named, &[]), Some(0));
    // A table with a block alone leaves the size to the others.
    assert_eq!(code(&format!("{all}[launch.rows]\nblock = [64]\n"), &[]), Some(1));
    assert_eq!(code(&named, &["--launch-shared=0"]), Some(1));
    // The kernel's block is that of `.reqntid`.
    assert_eq!(code(all, &["--launch-shared=256", "--launch-block=8"]), Some(0));
    for (args, wanted) in [
        (
            "--launch-shared=-1",
            "a number of bytes is wanted, from 0 to 232448",
        ),
        (
            "--launch-shared=232449",
            "a number of bytes is wanted, from 0 to 232448",
        ),
        ("--launch-shared=48K", "a number of bytes is wanted"),
        ("--launch-shared=", "a number of bytes is wanted"),
    ] {
        let (found, text) = exit_with("", &[args]);
        assert_eq!(found, Some(2), "{args}");
        assert!(text.contains(wanted), "{args}: {text}");
    }
    let (found, text) = exit_with("[launch.rows]\nshared = 1e9\n", &[]);
    assert_eq!(found, Some(2));
    assert!(
        text.contains("ptxcheck.toml:2:10: dynamic shared memory is a number of bytes"),
        "{text}"
    );
}

#[test]
fn a_configuration_that_is_not_understood_is_2() {
    for (text, wanted) in [
        (
            "[launch]\nblok = [8]\n",
            "ptxcheck.toml:2:1: unknown field `blok`",
        ),
        ("[launch.rows]\nblocks = [8]\n", "did you mean `block`?"),
        (
            "[launch]\nblock = [64, 64]\n",
            "ptxcheck.toml:2:9: a block is one to three numbers",
        ),
        ("[lanch]\n", "did you mean `launch`?"),
        ("[launch\n", "ptxcheck.toml:1:"),
    ] {
        let (code, told) = rows("", &[("ptxcheck.toml", text)], &[]);
        assert_eq!(code, Some(2), "{text}");
        assert!(told.contains(wanted), "{text}: {told}");
    }
    let (code, told) = rows("", &[], &["--config", "none.toml"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("`none.toml` can't be read"), "{told}");
}

#[test]
fn the_demo_shows_one_finding_of_each_kind() {
    let output = Command::new(binary::path())
        .args(["--format", "concise", "-q", "."])
        .current_dir(root().join("corpus/demo"))
        .output()
        .unwrap();
    let text = stdout(&output);
    let codes: Vec<&str> = text
        .lines()
        .filter_map(|line| line.rsplit_once('[')?.1.strip_suffix(']'))
        .collect();
    assert_eq!(
        codes,
        ["PTX107", "PTX401", "PTX503", "PTX204", "PTX301"],
        "{text}"
    );
}

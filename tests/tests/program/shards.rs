//! A run in shards, and merged: the same as in one piece.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::process::Output;

use ptxcheck_tests::folder::{run_in, run_with_stdin};
use serde_json::{Value, json};
use tempfile::TempDir;

fn module(kernels: &str) -> String {
    format!(".version 9.0\n.target sm_90\n.address_size 64\n{kernels}")
}

/// Twelve modules: some clean, some wrong in one way, two alike, one malformed.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10 {
        let mask = if number % 3 == 0 { "0" } else { "-1" };
        let text = module(&format!(
            ".visible .entry k{number}()\n{{\n\t.loc 1 7 3\n\tbar.warp.sync {mask};\n\tret;\n}}\n.file 1 \"k.cu\"\n"
        ));
        fs::write(folder.path().join(format!("m{number}.ptx")), text).unwrap();
    }
    let twin = module(".visible .entry twin()\n{\n\tbar.warp.sync 0;\n\tret;\n}\n");
    fs::write(folder.path().join("twin_a.ptx"), &twin).unwrap();
    fs::write(folder.path().join("twin_b.ptx"), &twin).unwrap();
    fs::write(folder.path().join("broken.ptx"), ".version 9.0\n.target\n").unwrap();
    fs::write(folder.path().join("k.cu"), "// 1\n\n\n\n\n\n  __syncwarp(0);\n").unwrap();
    folder
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn without_time(output: &Output) -> String {
    let text = stdout(output);
    let without = |line: &str| {
        let before = line.split("\"elapsed_ms\"").next().unwrap_or_default();
        before.to_owned()
    };
    let kept: Vec<String> = text.lines().map(without).collect();
    kept.join("\n")
}

/// The files of three shards.
fn deal(folder: &TempDir, command: &str) -> [String; 3] {
    [1, 2, 3].map(|number| {
        let (shard, file) = (format!("{number}/3"), format!("{command}{number}.shard"));
        let written = format!("shard={file}");
        let output = run_in(folder, &[command, "--shard", &shard, "--output", &written, "."]);
        assert!(
            output.status.code().is_some_and(|code| code <= 2),
            "{}",
            stderr(&output)
        );
        assert!(folder.path().join(&file).exists(), "{}", stderr(&output));
        file
    })
}

#[test]
fn merged_shards_are_one_run() {
    let folder = project();
    for command in ["check", "audit"] {
        let [one, two, three] = deal(&folder, command);
        for (format, places) in [
            ("json", "grouped"),
            ("json", "all"),
            ("jsonl", "grouped"),
            ("sarif", "grouped"),
        ] {
            let mut options = vec!["--format", format, "--places", places, "-q"];
            if command == "audit" {
                options.extend(["--gpu", "7.5,9.0", "--resources"]);
            }
            let whole = run_in(&folder, &[&[command], &options[..], &["."]].concat());
            let merged = run_in(
                &folder,
                &[&["merge"], &options[..], &[&three, &one, &two]].concat(),
            );
            assert_eq!(without_time(&whole), without_time(&merged), "{command} {format}");
            assert_eq!(whole.status.code(), merged.status.code(), "{}", stderr(&merged));
        }
    }
    let sizes = [1, 2, 3].map(|number| {
        fs::metadata(folder.path().join(format!("check{number}.shard")))
            .unwrap()
            .len()
    });
    assert!(
        sizes.iter().all(|size| *size > 1_000),
        "inputs are dealt to all: {sizes:?}"
    );
}

/// As concurrent jobs write them: one after the other, on standard output.
#[test]
fn shards_may_lie_in_one_file_and_come_by_a_pipe() {
    let folder = project();
    let part = |number: u32| {
        let shard = format!("{number}/3");
        run_in(&folder, &["--shard", &shard, "--format", "shard", "-q", "."]).stdout
    };
    let all = [part(2), part(3), part(1)].concat();
    fs::write(folder.path().join("all.shard"), &all).unwrap();
    let whole = run_in(&folder, &["--format", "json", "-q", "."]);
    let merged = run_in(&folder, &["merge", "--format", "json", "-q", "all.shard"]);
    assert_eq!(without_time(&whole), without_time(&merged), "{}", stderr(&merged));

    let piped = run_with_stdin(&folder, &["merge", "--format", "json", "-q", "-"], &all);
    assert_eq!(without_time(&whole), without_time(&piped), "{}", stderr(&piped));
}

/// Each line is an object of the document.
#[test]
fn lines_make_up_the_document() {
    let folder = project();
    for (command, more) in [("check", &[][..]), ("audit", &["--gpu", "7.5,9.0"])] {
        let run = |format: &str| {
            run_in(
                &folder,
                &[&[command, ".", "-q", "--format", format], more].concat(),
            )
        };
        let wanted: Value = serde_json::from_str(&stdout(&run("json"))).unwrap();
        let mut made = serde_json::Map::new();
        for line in stdout(&run("jsonl")).lines() {
            let mut line: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
            let kind = line.remove("kind").unwrap();
            match kind.as_str().unwrap() {
                "run" => made.extend(line),
                "summary" => _ = made.insert("summary".to_owned(), line.into()),
                kind @ ("input" | "finding") => push(&mut made, &format!("{kind}s"), line),
                kind => push(&mut made, kind, line),
            }
        }
        let mut made = Value::Object(made);
        made["summary"]["elapsed_ms"] = wanted["summary"]["elapsed_ms"].clone();
        if command == "audit" {
            // Without pinned figures there is no line of them.
            made["ratchet"] = Value::Null;
        }
        assert_eq!(made, wanted, "{command}");
    }
}

fn push(document: &mut serde_json::Map<String, Value>, key: &str, object: serde_json::Map<String, Value>) {
    let list = document.entry(key).or_insert_with(|| json!([]));
    list.as_array_mut().unwrap().push(object.into());
}

#[test]
fn shards_that_are_not_one_run_are_refused() {
    let folder = project();
    let [one, two, three] = deal(&folder, "check");
    let [audit, ..] = deal(&folder, "audit");
    fs::write(folder.path().join("no.shard"), "{}").unwrap();
    fs::write(folder.path().join("empty.shard"), "").unwrap();
    let damaged = fs::read_to_string(folder.path().join(&two)).unwrap();
    fs::write(
        folder.path().join("damaged.shard"),
        damaged.replace("\"PTX", "\"PTY"),
    )
    .unwrap();
    let cut: Vec<&str> = damaged.lines().collect();
    fs::write(folder.path().join("cut.shard"), cut[..cut.len() - 1].join("\n")).unwrap();
    for (files, wanted) in [
        (vec![one.as_str(), &two], "shard 3 of 3 is missing"),
        (vec![&one, &two, &two, &three], "shard 2 is there twice"),
        (vec![&one, &two, &three, &three], "shard 3 is there twice"),
        (vec![&two, &three, &audit], "is of another run"),
        (vec!["no.shard"], "`no.shard` holds no shard"),
        (vec!["empty.shard"], "`empty.shard` holds no shard"),
        (vec![&one, "cut.shard", &three], "shard 2 is not whole"),
        (vec!["none.shard"], "`none.shard` cannot be read"),
        (
            vec![&one, "damaged.shard", &three],
            "shard 2 is damaged: it names a rule that is not there",
        ),
    ] {
        let output = run_in(&folder, &[&["merge"], &files[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{files:?}");
        assert!(stderr(&output).contains(wanted), "{files:?}: {}", stderr(&output));
    }
    let output = run_in(&folder, &["merge", "--gpu", "9.0", &one, &two, &three]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("are shards of a check"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_needs_all_inputs_is_refused_in_a_shard() {
    let folder = project();
    for option in ["--link-set", "--whole-program", "--strict-config"] {
        let output = run_in(&folder, &["--shard", "1/2", option, "."]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(
            stderr(&output).contains("cannot be used with"),
            "{}",
            stderr(&output)
        );
    }
    for shard in ["0/2", "3/2", "1", "1/0", "a/b", "1/4294967295"] {
        let output = run_in(&folder, &["--shard", shard, "."]);
        assert!(stderr(&output).contains("is no shard"), "{}", stderr(&output));
    }
    let output = run_in(&folder, &["--output", "shard=x", "."]);
    assert!(
        stderr(&output).contains("goes with `--shard I/N`"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_baseline_is_for_what_is_merged() {
    let folder = project();
    fs::remove_file(folder.path().join("broken.ptx")).unwrap();
    for command in ["check", "audit"] {
        let output = run_in(
            &folder,
            &[command, "--shard", "1/3", "--baseline", "known.json", "."],
        );
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("cannot be used with"),
            "{}",
            stderr(&output)
        );
    }
    let [one, two, three] = deal(&folder, "check");
    let merge = |option: &str, file: &str| run_in(&folder, &["merge", option, file, &one, &two, &three]);
    assert_eq!(
        run_in(&folder, &["merge", &one, &two, &three]).status.code(),
        Some(1)
    );
    assert_eq!(merge("--write-baseline", "merged.json").status.code(), Some(0));
    let output = merge("--baseline", "merged.json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        !stderr(&output).contains("no longer occurs"),
        "{}",
        stderr(&output)
    );
    // In one piece, it is the same.
    let whole = run_in(&folder, &["--write-baseline", "whole.json", "."]);
    assert_eq!(whole.status.code(), Some(0));
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(text("merged.json"), text("whole.json"));
    // Entries of fixed findings are reported, and may be findings.
    for twin in ["twin_a.ptx", "twin_b.ptx"] {
        let mended = module(&format!(".visible .entry {}() {{ ret; }}\n", &twin[..6]));
        fs::write(folder.path().join(twin), mended).unwrap();
    }
    let [one, two, three] = deal(&folder, "check");
    let gone = |more: &[&str]| {
        let options = ["merge", "--baseline", "merged.json", &one, &two, &three];
        run_in(&folder, &[&options[..], more].concat())
    };
    assert!(
        stderr(&gone(&[])).contains("merged.json"),
        "{}",
        stderr(&gone(&[]))
    );
    assert!(
        stdout(&gone(&["--strict-config"])).contains("PTX906"),
        "{}",
        stdout(&gone(&["--strict-config"]))
    );
    assert!(stderr(&gone(&["-v"])).contains("m1.ptx"));
    // Findings that the parts forbid are not known.
    let file = "forbidding.shard";
    let part = [
        "--shard",
        "1/1",
        "-F",
        "PTX407",
        "--output",
        "shard=forbidding.shard",
        ".",
    ];
    assert_eq!(run_in(&folder, &part).status.code(), Some(1));
    let output = run_in(&folder, &["merge", "--baseline", "merged.json", file]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

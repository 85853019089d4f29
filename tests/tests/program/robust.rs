//! No input takes the run down, holds it up or harms what is said of the others: files that change while they are read,
//! pipes that nobody writes to, folders that links multiply, archives, names that are not text.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ptxcheck_tests::fatbin::{Elf, Entry, Packing, container};
use ptxcheck_tests::folder::run_in;
use ptxcheck_tests::{binary, report};
use serde_json::Value;
use tempfile::TempDir;

/// A kernel with a definite PTX407 on line 6.
const BAD: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry bad()\n{\n\tbar.warp.sync 0;\n\tret;\n}\n";

/// The time within which a run with a time limit of a second has to end, on a machine with other work.
const SOON: Duration = Duration::from_secs(60);

/// A folder with `bad.ptx` in it.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.ptx"), BAD).unwrap();
    folder
}

fn json_in(folder: &TempDir, args: &[&str]) -> (i32, Value) {
    let mut all = vec!["--format", "json"];
    all.extend(args);
    report::document(&run_in(folder, &all)).unwrap()
}

/// The codes of the findings about the input with this name.
fn codes_of(document: &Value, input: &str) -> Vec<String> {
    let findings = document["findings"].as_array().unwrap();
    let own = findings.iter().filter(|finding| finding["input"] == input);
    own.map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

fn sparse(path: &Path, size: u64) {
    File::create(path).unwrap().set_len(size).unwrap();
}

/// A linker that writes its output anew, again and again.
#[test]
fn a_file_that_is_cut_short_again_and_again_harms_no_other() {
    const SIZE: u64 = 64 << 20;
    let folder = folder();
    let path = folder.path().join("lib.so");
    sparse(&path, SIZE);
    let is_over = AtomicBool::new(false);
    // Set where an assertion fails, too.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                file.set_len(100).unwrap();
                file.set_len(SIZE).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for _ in 0..15 {
            let output = run_in(&folder, &["--format", "json", "lib.so", "bad.ptx"]);
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            let (_, document) = report::document(&output).unwrap();
            assert_eq!(codes_of(&document, "bad.ptx"), ["PTX407"]);
            assert_eq!(codes_of(&document, "lib.so"), ["PTX901"]);
        }
    });
}

#[test]
fn a_pipe_that_nobody_writes_to_takes_its_time_and_no_more() {
    let folder = folder();
    let made = Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.unwrap().success());
    let started = Instant::now();
    let (code, document) = json_in(&folder, &["--timeout", "1", "pipe", "bad.ptx"]);
    assert_eq!(code, 2);
    assert_eq!(codes_of(&document, "pipe"), ["PTX903"]);
    assert_eq!(codes_of(&document, "bad.ptx"), ["PTX407"]);
    for command in ["audit", "extract"] {
        let mut args = vec![command, "--timeout", "1", "pipe"];
        args.extend(["-o", "out"].iter().filter(|_| command == "extract"));
        assert_eq!(run_in(&folder, &args).status.code(), Some(2), "{command}");
    }
    assert!(started.elapsed() < SOON);
}

#[test]
fn standard_input_that_does_not_end_takes_its_time_and_no_more() {
    let folder = folder();
    let started = Instant::now();
    let mut child = binary::command()
        .current_dir(&folder)
        .args(["--format", "json", "--timeout", "1", "-", "bad.ptx"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Open until the program has ended.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let (code, document) = report::document(&output).unwrap();
    assert_eq!(code, 2);
    assert_eq!(codes_of(&document, "-"), ["PTX903"]);
    assert_eq!(codes_of(&document, "bad.ptx"), ["PTX407"]);
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn(move || fs::write(pipe, BAD).unwrap());
    let (code, document) = json_in(&folder, &["--timeout", "60", "pipe"]);
    writer.join().unwrap();
    assert_eq!((code, report::codes(&document)), (1, vec!["PTX407"]));
}

#[test]
fn files_of_absurd_size_are_limits() {
    let folder = folder();
    sparse(&folder.path().join("huge"), 64 << 30);
    let started = Instant::now();
    let (code, document) = json_in(&folder, &["huge", "bad.ptx"]);
    assert_eq!(code, 2);
    assert_eq!(codes_of(&document, "huge"), ["PTX903"]);
    assert_eq!(codes_of(&document, "bad.ptx"), ["PTX407"]);
    // Small enough to be searched, and too large for the time.
    sparse(&folder.path().join("large"), 15 << 30);
    let (code, document) = json_in(&folder, &["--timeout", "0.1", "large"]);
    assert_eq!((code, report::codes(&document)), (2, vec!["PTX903"]));
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_device_that_never_ends_is_a_limit() {
    let folder = folder();
    let (code, document) = json_in(&folder, &["--timeout", "0.1", "/dev/zero"]);
    assert_eq!((code, report::codes(&document)), (2, vec!["PTX903"]));
}

/// 2^22 paths to one file.
#[test]
fn folders_that_links_multiply_are_searched_once() {
    let folder = folder();
    let level = |number: usize| folder.path().join(format!("levels/{number:02}"));
    for number in 0..=22 {
        fs::create_dir_all(level(number)).unwrap();
    }
    for number in 0..22 {
        for name in ["a", "b"] {
            std::os::unix::fs::symlink(level(number + 1), level(number).join(name)).unwrap();
        }
    }
    fs::write(level(22).join("deep.ptx"), BAD).unwrap();
    fs::create_dir(folder.path().join("start")).unwrap();
    std::os::unix::fs::symlink(level(0), folder.path().join("start/here")).unwrap();
    let started = Instant::now();
    let (code, document) = json_in(&folder, &["start", "levels"]);
    assert_eq!((code, report::codes(&document)), (1, vec!["PTX407"]));
    let path = format!("start/here/{}deep.ptx", "a/".repeat(22));
    assert_eq!(document["inputs"][0]["path"], path);
    assert_eq!(document["inputs"].as_array().unwrap().len(), 1);
    assert!(started.elapsed() < SOON);
}

#[test]
fn broken_archives_are_named_and_not_searched() {
    let folder = folder();
    let fat = container(&[Entry::ptx(90, BAD)]);
    let mut tar = vec![0; 512];
    tar[..8].copy_from_slice(b"a.fatbin");
    tar[257..265].copy_from_slice(b"ustar\x0000");
    let heads: [(&str, &[u8], &str); 9] = [
        ("x.tar", &tar, "the archive is broken"),
        ("renamed.bin", &tar, "the archive is broken"),
        ("x.whl", b"PK\x03\x04", "the zip archive is cut short"),
        (
            "x.cpio",
            b"070701",
            "a cpio archive, which is not looked into: unpack it first",
        ),
        ("x.deb", b"!<arch>\ndebian-binary   ", "the package is broken"),
        ("x.ptx", b"\x1f\x8b\x08", "compressed by gzip"),
        ("x.xz", b"\xfd7zXZ\0", "compressed by xz"),
        ("x.zst", b"\x28\xb5\x2f\xfd", "compressed by zstd"),
        ("x.bz2", b"BZh9\x31\x41\x59\x26\x53\x59", "compressed by bzip2"),
    ];
    for (name, head, what) in heads {
        fs::write(folder.path().join(name), [head, &fat].concat()).unwrap();
        for command in ["check", "audit"] {
            let output = run_in(&folder, &[command, "--format", "json", name]);
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(report::codes(&document), ["PTX901"], "{name}");
            let said = document["findings"][0]["message"].as_str().unwrap();
            assert!(said.contains(what), "{said}");
            assert_eq!(output.status.code(), Some(2), "{name}");
        }
        let output = run_in(&folder, &["extract", name, "-o", "out"]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(String::from_utf8(output.stderr).unwrap().contains(what), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let names: [&[u8]; 4] = [
        b"a\xfe.ptx",
        b"a\xff.ptx",
        b"a\\xff.ptx",
        "a\u{fffd}.ptx".as_bytes(),
    ];
    for name in names {
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), BAD).unwrap();
    }
    let (code, document) = json_in(&folder, &["."]);
    assert_eq!(code, 1);
    let paths = document["inputs"].as_array().unwrap().iter();
    let mut paths: Vec<_> = paths.map(|input| input["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "./a\\x5cxff.ptx",
            "./a\\xfe.ptx",
            "./a\\xff.ptx",
            "./a\u{fffd}.ptx"
        ]
    );
}

/// Machine code with the text that it was made from, as ptxas keeps it for debuggers.
fn with_text(sm: u32) -> Vec<u8> {
    let text = BAD.replace("sm_90", &format!("sm_{sm}"));
    let text = format!("\n\n{text}").replace('\n', "\0");
    Elf::cubin(sm, &[("bad", &[])])
        .section(".nv_debug_ptx_txt", text.into_bytes())
        .section(".nv_debug_info_reg_type", vec![0])
        .bytes()
}

#[test]
fn images_have_one_number_in_all_commands() {
    let folder = folder();
    let fat = container(&[
        Entry::cubin(80, with_text(80)).packed(Packing::Lz4),
        Entry::cubin(90, with_text(90)),
        Entry::ptx(90, BAD),
        Entry::cubin(75, with_text(75)),
        Entry::ptx(90, BAD),
    ]);
    fs::write(folder.path().join("x.fatbin"), fat).unwrap();
    let images = |document: &Value| -> Vec<String> {
        let images = document["inputs"][0]["images"].as_array().unwrap().iter();
        images
            .map(|image| {
                let part = |key: &str| image[key].as_str().unwrap_or_default().to_owned();
                let index = image["index"].as_u64().unwrap();
                format!("{index:05}.{}.{}", part("target"), part("kind"))
            })
            .collect()
    };
    let (_, checked) = json_in(&folder, &["x.fatbin"]);
    let audited = run_in(&folder, &["audit", "--format", "json", "x.fatbin"]);
    let audited: Value = serde_json::from_slice(&audited.stdout).unwrap();
    let wanted = [
        "00000.sm_80.cubin",
        "00001.sm_80.ptx",
        "00002.sm_90.cubin",
        "00003.sm_90.ptx",
        "00004.sm_75.cubin",
        "00005.sm_75.ptx",
        "00006.sm_90.ptx",
    ];
    assert_eq!(images(&checked), wanted);
    assert_eq!(images(&audited), wanted);
    let listed = |args: &[&str]| String::from_utf8(run_in(&folder, args).stdout).unwrap();
    let all = listed(&["extract", "x.fatbin", "-o", "all"]);
    assert_eq!(all.lines().collect::<Vec<_>>(), wanted);
    assert_eq!(
        fs::read_dir(folder.path().join("all")).unwrap().count(),
        wanted.len()
    );
    let ptx = listed(&["extract", "x.fatbin", "-o", "ptx", "--kind", "ptx"]);
    let of_ptx = wanted.iter().copied().filter(|name| name.ends_with("ptx"));
    assert!(ptx.lines().eq(of_ptx), "{ptx}");
    // Kind, target and number choose together.
    for (more, names) in [
        (
            &["--target", "90"][..],
            &["00002.sm_90.cubin", "00003.sm_90.ptx", "00006.sm_90.ptx"][..],
        ),
        (&["--target", "sm_75", "--kind", "cubin"], &["00004.sm_75.cubin"]),
        (&["--index", "3"], &["00003.sm_90.ptx"]),
        (&["--index", "1", "--kind", "ptx"], &["00001.sm_80.ptx"]),
    ] {
        let mut args = vec!["extract", "x.fatbin", "-o", "some"];
        args.extend(more);
        assert_eq!(listed(&args).lines().collect::<Vec<_>>(), names, "{more:?}");
    }
    for none in [["--target", "120"], ["--index", "7"]] {
        let mut args = vec!["extract", "x.fatbin", "-o", "none"];
        args.extend(none);
        let output = run_in(&folder, &args);
        assert_eq!(output.status.code(), Some(2), "{none:?}");
    }
}

#[test]
fn machine_code_with_lines_is_analysed_by_the_text_of_each_object() {
    let folder = folder();
    let text = |kernel: &str| {
        let text = BAD.replace("bad", kernel).replace("sm_90", "sm_80");
        text.replace('\n', "\0").into_bytes()
    };
    // As ptxas -lineinfo names them, and nvlink keeps those of two objects. No `-G`.
    let cubin = Elf::cubin(80, &[("a", &[]), ("b", &[])])
        .section(".nv_debug_ptx_txt.3196620639", text("a"))
        .section(".nv_debug_ptx_txt.7", text("b"))
        .section(".nv_debug_ptx_txtual", text("c"))
        .bytes();
    fs::write(
        folder.path().join("x.fatbin"),
        container(&[Entry::cubin(80, cubin)]),
    )
    .unwrap();
    let (_, document) = json_in(&folder, &["-A", "image", "--places", "all", "x.fatbin"]);
    let findings = document["findings"].as_array().unwrap().iter();
    let mut found: Vec<(u64, &str)> = findings
        .map(|finding| {
            (
                finding["image"].as_u64().unwrap(),
                finding["function"].as_str().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, [(1, "a"), (2, "b")]);
}

#[test]
fn the_text_in_machine_code_is_told_of_once_and_with_its_own_lines() {
    let folder = folder();
    let alone = container(&[Entry::cubin(80, with_text(80)), Entry::cubin(90, with_text(90))]);
    fs::write(folder.path().join("alone.fatbin"), alone).unwrap();
    let (_, document) = json_in(&folder, &["-A", "image", "alone.fatbin"]);
    // Two texts, one mistake.
    assert_eq!(report::codes(&document), ["PTX407"]);
    let finding = &document["findings"][0];
    assert_eq!(finding["image"], 1);
    // Two empty lines, and six.
    assert_eq!(finding["location"]["line"], 8);
    let notes = finding["notes"].as_array().unwrap().iter();
    let mut notes = notes.map(|note| note.as_str().unwrap());
    assert!(
        notes.any(|note| note.contains(".nv_debug_ptx_txt")),
        "{finding:#}"
    );
    let text = run_in(&folder, &["-A", "image", "--format", "concise", "alone.fatbin"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("image 1, .nv_debug_ptx_txt, line 8) ["), "{text}");

    let beside = container(&[Entry::ptx(90, BAD), Entry::cubin(80, with_text(80))]);
    fs::write(folder.path().join("beside.fatbin"), beside).unwrap();
    let (_, document) = json_in(&folder, &["-A", "image", "beside.fatbin"]);
    assert_eq!(report::codes(&document), ["PTX407"]);
    assert_eq!(document["findings"][0]["image"], 0);
}

/// Every kernel is wrong.
#[test]
fn more_findings_than_anybody_reads_are_counted() {
    const LIMIT: usize = 1 << 16;
    let folder = folder();
    let mut module = String::from(".version 7.8\n.target sm_90\n.address_size 64\n");
    for kernel in 0..LIMIT + 100 {
        module += &format!(".visible .entry k{kernel}()\n{{\n\tbar.warp.sync 0;\n\tret;\n}}\n");
    }
    fs::write(folder.path().join("many.ptx"), module).unwrap();
    let output = run_in(&folder, &["--format", "json", "many.ptx"]);
    assert_eq!(output.status.code(), Some(2));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let codes = report::codes(&document);
    assert_eq!(codes.iter().filter(|code| **code == "PTX407").count(), LIMIT);
    assert_eq!(codes.len(), LIMIT + 1);
    let error = document["inputs"][0]["errors"][0]["message"].as_str().unwrap();
    assert!(error.contains("100 findings more"), "{error}");
}

//! The program in a build: beside others that write to the same stream, and over the folder that a build leaves.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::process::Stdio;

use ptxcheck_tests::fatbin::{Elf, Entry, archive, container};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{binary, report};
use serde_json::Value;
use tempfile::TempDir;

/// A module whose kernels each have a definite PTX407.
fn bad(kernels: &[&str]) -> String {
    let mut text = ".version 7.8\n.target sm_90\n.address_size 64\n".to_owned();
    for kernel in kernels {
        text.push_str(&format!(
            ".visible .entry {kernel}()\n{{\n\tbar.warp.sync 0;\n\tret;\n}}\n"
        ));
    }
    text
}

fn object(kernels: &[&str]) -> Vec<u8> {
    let fat = container(&[Entry::ptx(90, &bad(kernels))]);
    Elf::host(1).section(".nv_fatbin", fat).bytes()
}

/// The texts that a run writes to standard output, one for each write.
#[cfg(unix)]
fn writes(folder: &TempDir, args: &[&str]) -> Vec<String> {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    // Each write arrives as one message.
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut child = binary::command()
        .current_dir(folder)
        .args(args)
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut texts = Vec::new();
    let mut room = vec![0; 1 << 20];
    loop {
        // Asked first: what it wrote before it ended is read after.
        let has_ended = child.try_wait().unwrap().is_some();
        match ours.recv(&mut room) {
            Ok(count) => texts.push(String::from_utf8(room[..count].to_vec()).unwrap()),
            Err(_) if has_ended => return texts,
            Err(_) => {}
        }
    }
}

#[cfg(unix)]
#[test]
fn a_finding_is_one_write() {
    let folder = folder(&[("a.ptx", bad(&["a", "b", "c"]).as_bytes())]);
    for color in ["never", "always"] {
        for format in ["full", "concise"] {
            let texts = writes(&folder, &["--color", color, "--format", format, "a.ptx"]);
            assert_eq!(texts.len(), 3, "{format}, {color}: {texts:?}");
            for text in &texts {
                assert!(text.contains("PTX407") && text.ends_with('\n'), "{text:?}");
                assert_eq!(text.contains('\x1b'), color == "always", "{text:?}");
            }
        }
    }
    assert_eq!(writes(&folder, &["--format", "json", "a.ptx"]).len(), 1);
}

/// The text of each finding that several programs write to one file at once is whole.
#[cfg(unix)]
#[test]
fn findings_of_parallel_runs_do_not_mix() {
    const RUNS: usize = 6;
    let folder = folder(&[("a.ptx", bad(&["a", "b", "c", "d"]).as_bytes())]);
    let alone = run_in(&folder, &["-q", "a.ptx"]).stdout;
    let alone = String::from_utf8(alone).unwrap();
    let mut wanted: Vec<&str> = alone.split_inclusive("\n\n").collect();
    assert_eq!(wanted.len(), 4, "{alone}");
    wanted.sort_unstable();
    let path = folder.path().join("out");
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    let children: Vec<_> = (0..RUNS)
        .map(|_| {
            let mut command = binary::command();
            command.current_dir(&folder).args(["-q", "a.ptx"]);
            command.stdout(file.try_clone().unwrap()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }
    let all = std::fs::read_to_string(&path).unwrap();
    let mut found: Vec<&str> = all.split_inclusive("\n\n").collect();
    found.sort_unstable();
    assert_eq!(found.len(), RUNS * wanted.len(), "{all}");
    for (group, wanted) in found.chunks(RUNS).zip(wanted) {
        assert_eq!(group, vec![wanted; RUNS], "{all}");
    }
}

/// The paths of the inputs of a folder, and the input of each finding.
fn found(folder: &TempDir, args: &[&str]) -> (Vec<String>, Vec<String>) {
    let mut all = vec!["--format", "json", "--places", "all"];
    all.extend(args);
    let (_, document) = report::document(&run_in(folder, &all)).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let inputs = document["inputs"].as_array().unwrap();
    let inputs: Vec<String> = inputs.iter().map(|input| text(&input["path"])).collect();
    let findings = report::findings(&document).iter();
    let findings = findings
        .map(|finding| text(&finding["location"]["file"]))
        .collect();
    (inputs, findings)
}

#[test]
fn what_cmake_builds_for_itself_is_no_input_of_a_folder() {
    let object = object(&["k"]);
    let folder = folder(&[
        ("CMakeFiles/3.25.1/CMakeDetermineCompilerABI_CUDA.bin", &object),
        ("CMakeFiles/3.25.1/CompilerIdCUDA/a.out", &object),
        (
            "CMakeFiles/3.25.1/CompilerIdCUDA/tmp/a.ptx",
            bad(&["k"]).as_bytes(),
        ),
        ("CMakeFiles/CMakeScratch/TryCompile-1/a.o", &object),
        ("CMakeFiles/cmTC_1a2b3.dir/src.cu.o", &object),
        ("CMakeFiles/app.dir/k.cu.o", &object),
    ]);
    let own = vec!["./CMakeFiles/app.dir/k.cu.o".to_owned()];
    assert_eq!(found(&folder, &["."]), (own.clone(), own));
    // Named, it is an input.
    let (inputs, _) = found(&folder, &["CMakeFiles/3.25.1/CompilerIdCUDA"]);
    assert_eq!(inputs.len(), 2, "{inputs:?}");
}

#[test]
fn an_object_its_archive_and_its_library_say_it_once() {
    let (one, other) = (object(&["a", "b"]), object(&["c"]));
    let library = archive(&[("k.o", &one), ("l.o", &other)]);
    let fat = |kernels: &[&str]| container(&[Entry::ptx(90, &bad(kernels))]);
    let linked = [fat(&["a", "b"]), fat(&["c"]), fat(&["d"])].concat();
    let linked = Elf::host(3).section(".nv_fatbin", linked).bytes();
    let folder = folder(&[
        ("b/libk.a", &library),
        ("b/libk.so", &linked),
        ("b/x/k.o", &one),
        ("b/x/copy.o", &one),
    ]);
    let (inputs, findings) = found(&folder, &["b"]);
    assert_eq!(inputs.len(), 4);
    // At the objects, both of them; else in the archive, and last in the library.
    let wanted = [
        "b/libk.a",
        "b/libk.so",
        "b/x/copy.o",
        "b/x/copy.o",
        "b/x/k.o",
        "b/x/k.o",
    ];
    assert_eq!(findings, wanted);
    let (_, findings) = found(&folder, &["b/libk.so"]);
    assert_eq!(findings.len(), 4, "{findings:?}");
}

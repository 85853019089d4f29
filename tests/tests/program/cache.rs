//! Reports that one run keeps for the next, in the folder of `--cache`.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, SystemTime};

use ptxcheck_tests::binary;
use ptxcheck_tests::folder::{folder, run_in};
use serde_json::Value;
use tempfile::TempDir;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A kernel with a definite finding, PTX407.
fn zero_mask(name: &str) -> String {
    format!("{HEAD}.visible .entry {name}()\n{{\n\tbar.warp.sync 0;\n\tret;\n}}\n")
}

/// A kernel without one.
fn right(name: &str) -> String {
    format!("{HEAD}.visible .entry {name}()\n{{\n\tbar.warp.sync -1;\n\tret;\n}}\n")
}

#[cfg(feature = "ir")]
const IR: &[u8] = b"target triple = \"nvptx64-nvidia-cuda\"\n
define ptx_kernel void @k() {\n  call void @llvm.nvvm.bar.warp.sync(i32 0)\n  ret void\n}\n
declare void @llvm.nvvm.bar.warp.sync(i32)\n";

fn inputs() -> TempDir {
    folder(&[
        ("a.ptx", zero_mask("a").as_bytes()),
        ("b.ptx", right("b").as_bytes()),
    ])
}

/// The document of a run without its time.
fn document(output: &Output) -> Value {
    let mut document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    document["summary"].as_object_mut().unwrap().remove("elapsed_ms");
    document
}

fn checked(folder: &TempDir, args: &[&str]) -> Value {
    document(&run_in(folder, &[&["--format", "json"], args].concat()))
}

/// The kept files in a cache, with the time of the last use of each.
fn kept(cache: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let folders = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let drawers = folders(&cache.join("reports"));
    let files = drawers.flat_map(|drawer| folders(&drawer.path()).collect::<Vec<_>>());
    files
        .map(|file| (file.path(), file.metadata().unwrap().modified().unwrap()))
        .collect()
}

/// Makes all kept files old.
fn age(cache: &Path) {
    let old = SystemTime::now() - Duration::from_secs(100_000);
    for path in kept(cache).keys() {
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
}

/// The number of kept files that have been used since they were made old.
fn used(cache: &Path) -> usize {
    let recent = SystemTime::now() - Duration::from_secs(1_000);
    kept(cache).values().filter(|time| **time > recent).count()
}

/// Of each program, one kept file is the digest of the program itself.
const PROGRAM: usize = 1;

#[test]
fn a_second_run_takes_the_reports_of_the_first() {
    let folder = inputs();
    let cache = folder.path().join("cache");
    let without = checked(&folder, &["a.ptx", "b.ptx"]);
    assert!(!cache.exists());
    let first = checked(&folder, &["--cache", "cache", "a.ptx", "b.ptx"]);
    assert_eq!(first, without);
    assert_eq!(kept(&cache).len(), 2 + PROGRAM);
    age(&cache);
    let second = checked(&folder, &["--cache", "cache", "a.ptx", "b.ptx"]);
    assert_eq!(second, without);
    assert_eq!((kept(&cache).len(), used(&cache)), (2 + PROGRAM, 2 + PROGRAM));
    assert!(cache.join("reports/CACHEDIR.TAG").is_file());
}

#[test]
fn a_changed_text_alone_is_analysed_again() {
    let folder = inputs();
    let cache = folder.path().join("cache");
    checked(&folder, &["--cache", "cache", "a.ptx", "b.ptx"]);
    age(&cache);
    fs::write(folder.path().join("b.ptx"), zero_mask("b")).unwrap();
    let document = checked(&folder, &["--cache", "cache", "a.ptx", "b.ptx"]);
    assert_eq!(document, checked(&folder, &["a.ptx", "b.ptx"]));
    assert_eq!(document["findings"].as_array().unwrap().len(), 2);
    // That of the program, that of a.ptx, and the new one; that of the old b.ptx was not used.
    assert_eq!((kept(&cache).len(), used(&cache)), (3 + PROGRAM, 2 + PROGRAM));
}

#[test]
fn other_settings_have_other_reports() {
    let folder = inputs();
    let cache = folder.path().join("cache");
    let mut before = 0;
    for options in [
        &[][..],
        &["-A", "PTX407"],
        &["-W", "potential"],
        &["--launch-block", "64"],
        &["--whole-program"],
        &["--assume", "a:n <= 4"],
    ] {
        let args = [options, &["a.ptx"]].concat();
        let kept_args = [&args[..], &["--cache", "cache"]].concat();
        for _ in 0..2 {
            assert_eq!(
                checked(&folder, &kept_args),
                checked(&folder, &args),
                "{options:?}"
            );
        }
        let now = kept(&cache).len();
        assert!(now > before, "{options:?}: {now} after {before}");
        before = now;
    }
}

/// A kernel that leaves its mask to a function of another text, and that text.
const CALLER: &str = ".extern .func (.reg .b32 mask) chosen(.reg .b32 a);\n.visible .entry k()\n{\n\t.reg .b32 %r<3>;\n\tmov.u32 %r1, 5;\n\t\
     call (%r2), chosen, (%r1);\n\tbar.warp.sync %r2;\n\tret;\n}\n";

fn callee(mask: u32) -> String {
    format!(
        "{HEAD}.visible .func (.reg .b32 mask) chosen(.reg .b32 a)\n{{\n\tmov.u32 mask, {mask};\n\tret;\n}}\n\
         .visible .entry own() {{ bar.warp.sync -1; ret; }}\n"
    )
}

#[test]
fn a_linked_text_is_analysed_again_where_what_it_calls_has_changed() {
    let caller = format!("{HEAD}{CALLER}");
    let folder = folder(&[
        ("k.ptx", caller.as_bytes()),
        ("f.ptx", callee(0).as_bytes()),
        ("other.ptx", right("other").as_bytes()),
    ]);
    let cache = folder.path().join("cache");
    let args = ["--link-set", "--cache", "cache", "k.ptx", "f.ptx", "other.ptx"];
    let check = || {
        let document = checked(&folder, &args);
        assert_eq!(
            document,
            checked(&folder, &["--link-set", "k.ptx", "f.ptx", "other.ptx"])
        );
        document["findings"].as_array().unwrap().len()
    };
    let with_zero = check();
    assert_eq!(kept(&cache).len(), 3 + PROGRAM);
    age(&cache);
    assert_eq!(check(), with_zero);
    assert_eq!(used(&cache), 3 + PROGRAM);
    // Another text that nothing calls is analysed alone.
    age(&cache);
    fs::write(folder.path().join("other.ptx"), zero_mask("other")).unwrap();
    assert_eq!(check(), with_zero + 1);
    assert_eq!((kept(&cache).len(), used(&cache)), (4 + PROGRAM, 3 + PROGRAM));
    // So is a callee, with its caller.
    age(&cache);
    fs::write(folder.path().join("f.ptx"), callee(u32::MAX)).unwrap();
    check();
    assert_eq!((kept(&cache).len(), used(&cache)), (6 + PROGRAM, 3 + PROGRAM));
    // Two definitions are none.
    age(&cache);
    fs::write(folder.path().join("other.ptx"), callee(3)).unwrap();
    check();
    assert_eq!(kept(&cache).len(), 8 + PROGRAM);
}

#[test]
fn options_that_do_not_change_a_report_share_it() {
    let folder = inputs();
    let cache = folder.path().join("cache");
    checked(&folder, &["--cache", "cache", "a.ptx"]);
    let count = kept(&cache).len();
    for options in [
        &["-j", "1"][..],
        &["--fail-on", "warning"],
        &["--kernel", "a"],
        &["--timeout", "90"],
    ] {
        checked(&folder, &[options, &["--cache", "cache", "a.ptx"]].concat());
        assert_eq!(kept(&cache).len(), count, "{options:?}");
    }
    // Another name, in another folder, and twice.
    fs::create_dir(folder.path().join("c")).unwrap();
    fs::copy(folder.path().join("a.ptx"), folder.path().join("c/d.ptx")).unwrap();
    let document = checked(&folder, &["--cache", "cache", "c", "a.ptx"]);
    assert_eq!(document, checked(&folder, &["c", "a.ptx"]));
    assert_eq!(kept(&cache).len(), count);
}

#[test]
fn damaged_files_are_made_again() {
    let folder = inputs();
    let cache = folder.path().join("cache");
    let without = checked(&folder, &["a.ptx", "b.ptx"]);
    checked(&folder, &["--cache", "cache", "a.ptx", "b.ptx"]);
    for damage in [&b""[..], b"damaged", &[0; 5_000]] {
        for path in kept(&cache).keys() {
            fs::write(path, damage).unwrap();
        }
        assert_eq!(checked(&folder, &["--cache", "cache", "a.ptx", "b.ptx"]), without);
        assert!(kept(&cache).keys().all(|path| fs::read(path).unwrap() != damage));
    }
}

#[test]
fn what_was_not_analysed_whole_is_not_kept() {
    let broken = format!("{}\n.visible .entry x() {{ bar.warp.sync", zero_mask("a"));
    let large = format!(
        "{HEAD}.visible .entry k()\n{{\n{}ret;\n}}\n",
        "bar.warp.sync 0;\n".repeat(200_000)
    );
    let folder = folder(&[("broken.ptx", broken.as_bytes()), ("large.ptx", large.as_bytes())]);
    let cache = folder.path().join("cache");
    let args = [
        "--timeout",
        "0.000001",
        "--cache",
        "cache",
        "broken.ptx",
        "large.ptx",
    ];
    let output = run_in(&folder, &args);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(kept(&cache).len(), PROGRAM);
    assert_eq!(
        checked(&folder, &["--cache", "cache", "broken.ptx"]),
        checked(&folder, &["broken.ptx"])
    );
    assert_eq!(kept(&cache).len(), PROGRAM);
}

#[cfg(feature = "ir")]
#[test]
fn ir_is_kept_for_the_program_that_read_it() {
    let folder = folder(&[("k.ll", IR)]);
    let cache = folder.path().join("cache");
    let without = checked(&folder, &["k.ll"]);
    assert_eq!(without["findings"][0]["code"], "PTX407");
    let run = |reader: &Path| {
        let output = binary::command()
            .current_dir(&folder)
            .args(["--format", "json", "--cache", "cache", "k.ll"])
            .env("PTXCHECK_LLVM", reader)
            .output();
        document(&output.unwrap())
    };
    for _ in 0..2 {
        assert_eq!(run(&binary::llvm()), without);
        // The digests of the two programs, and the report.
        assert_eq!(kept(&cache).len(), 3);
    }
    // The same reader in another file has the same content.
    let copy = folder.path().join("reader");
    fs::copy(binary::llvm(), &copy).unwrap();
    age(&cache);
    assert_eq!(run(&copy), without);
    assert_eq!((kept(&cache).len(), used(&cache)), (4, 3));
}

#[test]
fn the_variable_names_the_folder_where_no_option_does() {
    let folder = inputs();
    let run = |variable: &str, args: &[&str]| {
        let output = binary::command()
            .current_dir(&folder)
            .args(args)
            .env("PTXCHECK_CACHE", variable)
            .output();
        output.unwrap().status.code()
    };
    assert_eq!(run("", &["a.ptx"]), Some(1));
    assert_eq!(run("by-variable", &["a.ptx"]), Some(1));
    assert_eq!(kept(&folder.path().join("by-variable")).len(), 1 + PROGRAM);
    assert_eq!(run("other", &["--cache", "by-option", "a.ptx"]), Some(1));
    assert_eq!(kept(&folder.path().join("by-option")).len(), 1 + PROGRAM);
    assert!(!folder.path().join("other").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = inputs();
    let output = run_in(&folder, &["--cache", "a.ptx/cache", "b.ptx"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("`a.ptx/cache`, the folder that --cache names, cannot be used"),
        "{said}"
    );
}

#[test]
fn runs_at_the_same_time_share_a_folder() {
    let names: Vec<String> = (0..40).map(|number| format!("k{number}")).collect();
    let texts: Vec<(String, String)> = names
        .iter()
        .map(|name| (format!("in/{name}.ptx"), zero_mask(name)))
        .collect();
    let files: Vec<(&str, &[u8])> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let folder = folder(&files);
    let without = checked(&folder, &["in"]);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| checked(&folder, &["--cache", "cache", "in"])))
            .collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), without);
        }
    });
    assert_eq!(kept(&folder.path().join("cache")).len(), 40 + PROGRAM);
}

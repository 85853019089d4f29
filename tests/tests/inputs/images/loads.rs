//! The first lines of an audit, and the rule about GPUs that load nothing.

use ptxcheck_tests::fatbin::{Elf, Entry, SPECIFIC, container};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::packing::{ZipMember, zip};
use ptxcheck_tests::report;
use serde_json::Value;

use super::{audit, audited, clean, codes};

fn code(sm: u32, kernel: &str) -> Entry {
    Entry::cubin(sm, Elf::cubin(sm, &[(kernel, &[])]).bytes())
}

/// Machine code for this architecture alone.
fn specific(sm: u32, kernel: &str) -> Entry {
    let plain = code(sm, kernel);
    Entry {
        flags: plain.flags | SPECIFIC,
        ..plain
    }
}

fn ptx(sm: u32, kernel: &str) -> Entry {
    let text = clean(&format!("sm_{sm}"), kernel, "");
    // One that only returns is a stub.
    Entry::ptx(sm, &text.replace("ret;", "bar.sync 0;\n\tret;"))
}

fn library(entries: &[Entry]) -> Vec<u8> {
    Elf::host(3).section(".nv_fatbin", container(entries)).bytes()
}

fn wheel(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<ZipMember> = files
        .iter()
        .map(|(name, content)| ZipMember::new(name, content))
        .collect();
    zip(&members)
}

/// The text of an audit of this file.
fn text(name: &str, bytes: &[u8]) -> String {
    let folder = folder(&[(name, bytes)]);
    String::from_utf8(run_in(&folder, &["audit", name]).stdout).unwrap()
}

fn first_line(name: &str, bytes: &[u8]) -> String {
    text(name, bytes).lines().next().unwrap().to_owned()
}

/// Kind and GPUs of each finding of PTX527.
fn left_out(bytes: &[u8]) -> Vec<(String, Vec<String>)> {
    let (_, document) = audit(bytes, &[]);
    let found = report::findings(&document).iter();
    let found = found.filter(|finding| finding["code"] == "PTX527");
    found
        .map(|finding| {
            let gpus = finding["data"]["gpus"].as_array().unwrap().iter();
            let gpus = gpus.map(|gpu| gpu.as_str().unwrap().to_owned()).collect();
            (finding["data"]["reason"].as_str().unwrap().to_owned(), gpus)
        })
        .collect()
}

#[test]
fn the_first_line_says_which_gpus_load_a_file() {
    for (entries, sentence) in [
        (
            vec![code(70, "k"), code(80, "k")],
            "loads on 7.0–8.9 (perhaps not 7.2, 8.7); no kernel on 9.0, 10.x, 11.0, 12.x",
        ),
        (
            vec![code(90, "k"), ptx(90, "k")],
            "loads on 9.0; compiled by the driver on 10.0–12.1",
        ),
        (vec![specific(120, "k")], "loads on 12.0; no kernel on 12.1"),
        (
            vec![code(90, "k"), Entry::ptx(90, &clean("sm_90", "k", ""))],
            "loads on 9.0; kernels without a body on 10.x, 11.0, 12.x",
        ),
        (vec![code(35, "k")], "loads on no GPU from Maxwell on"),
    ] {
        assert_eq!(
            first_line("x.so", &library(&entries)),
            format!("x.so: {sentence}")
        );
    }
    // Three kernels, of which an old GPU loads one.
    let few = [
        container(&[code(75, "a"), code(90, "a")]),
        container(&[code(90, "b")]),
        container(&[code(90, "c")]),
    ]
    .concat();
    let few = Elf::host(3).section(".nv_fatbin", few).bytes();
    assert_eq!(
        first_line("x.so", &few),
        "x.so: loads on 9.0; in part on 7.5 (1 of 3 kernels); no kernel on 8.x, 10.x, 11.0, 12.x"
    );
}

#[test]
fn a_package_loads_where_one_of_its_files_does() {
    let files = [
        ("x/old.so", library(&[code(80, "k")])),
        ("x/new.so", library(&[code(120, "k")])),
    ];
    let printed = text("x-1.0-py3-none-any.whl", &wheel(&files));
    assert!(
        printed.starts_with("x-1.0-py3-none-any.whl (2 files): loads on 8.0–8.9, 12.0–12.1 (perhaps not 8.7); no kernel on 9.0"),
        "{printed}"
    );
    assert!(
        printed.contains("\n  loads on 12.0–12.1\n") && printed.contains("\n  loads on 8.0–8.9"),
        "{printed}"
    );
    let folder = folder(&[("x.whl", &wheel(&files))]);
    let output = run_in(&folder, &["audit", "x.whl", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = &document["loads"][0];
    assert_eq!(package["package"], "x.whl");
    assert_eq!(package["kernels"], 1);
    assert_eq!(package["files"].as_array().unwrap().len(), 2);
    let of = |document: &Value, gpu: &str| {
        let gpus = document["gpus"].as_array().unwrap().iter();
        let found: Vec<&Value> = gpus.filter(|one| one["gpu"] == gpu).collect();
        found[0]["load"].as_str().unwrap().to_owned()
    };
    assert_eq!(of(package, "12.1"), "code");
    assert_eq!(of(package, "8.7"), "unsure");
    assert_eq!(of(package, "10.0"), "nothing");
    let messages = report::findings(&document).iter();
    let messages: Vec<&str> = messages
        .filter(|finding| finding["code"] == "PTX527")
        .map(|finding| finding["message"].as_str().unwrap())
        .collect();
    // What one file lacks and the other has is no finding.
    assert_eq!(
        messages,
        ["9.0, 10.x, 11.0 may have been left out: no kernel loads there, and older GPUs load some"]
    );
}

#[test]
fn gpus_that_load_nothing_are_reported_by_their_reason() {
    let reasons = |entries: &[Entry]| left_out(&library(entries));
    let kind = |entries: &[Entry]| {
        let found = reasons(entries).into_iter();
        found.map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    assert_eq!(kind(&[code(80, "k")]), ["newest"]);
    assert_eq!(kind(&[code(75, "k"), ptx(86, "k")]), ["gap"]);
    assert_eq!(
        reasons(&[code(90, "k"), code(100, "k"), specific(120, "k")]),
        [("family".to_owned(), vec!["11.0".to_owned(), "12.1".to_owned()])]
    );
    // Jetson Thor alone, and GPUs older than all that load, are no reason.
    assert_eq!(kind(&[code(100, "k"), code(120, "k")]), [""; 0]);
    assert_eq!(kind(&[code(80, "k"), ptx(80, "k")]), [""; 0]);
}

#[test]
fn a_policy_a_level_and_a_lone_image_decide() {
    let old = library(&[code(80, "k")]);
    assert_eq!(audited(&old, &[]), ["PTX527"]);
    assert!(codes(&old, &[]).is_empty());
    for policy in [["--require-sm", "80"], ["--require-gpu", "8.0"]] {
        assert!(audited(&old, &policy).is_empty(), "{policy:?}");
    }
    assert_eq!(audit(&old, &["-D", "PTX527"]).0, 1);
    let lone = Elf::cubin(80, &[("k", &[])]).bytes();
    assert!(audited(&lone, &[]).is_empty());
    // Code for one generation, in a package whose other files serve the others.
    let beside = |other: Entry| {
        wheel(&[
            ("x/main.so", library(&[ptx(80, "k")])),
            ("x/hopper.so", library(&[other])),
        ])
    };
    assert!(left_out(&beside(specific(90, "h"))).is_empty());
    let two = wheel(&[
        ("x/main.so", library(&[ptx(80, "k")])),
        ("x/old.so", library(&[code(75, "h"), code(80, "h")])),
        ("x/older.so", library(&[code(75, "i"), code(80, "i")])),
    ]);
    assert_eq!(left_out(&two).len(), 1);
}

#[test]
fn sizes_are_listed_by_target_use_and_family() {
    let with = |sm: u32, kernels: &[(&str, &[(u16, u32)])]| {
        let elf = Elf::cubin(sm, kernels)
            .section(".debug_line", vec![1; 100])
            .section(".nv_debug_line_sass", vec![1; 20])
            .section(".nv_debug_ptx_txt.1", vec![0; 50])
            .section(".debug_frame", vec![1; 7])
            .section(".nv.constant3", vec![1; 300]);
        Entry::cubin(sm, elf.bytes())
    };
    let entries = [
        with(80, &[("_Z1kIfEvPT_", &[]), ("_Z1kIdEvPT_", &[])]),
        with(90, &[("_Z1kIfEvPT_", &[]), ("other", &[])]),
        ptx(90, "other"),
    ];
    let library = library(&entries);
    let (_, document) = audit(&library, &[]);
    let sizes = &document["inputs"][0]["sizes"];
    let targets = sizes["targets"].as_array().unwrap();
    let of = |target: &str, kind: &str| {
        let mut found = targets.iter();
        found
            .find(|one| one["target"] == target && one["kind"] == kind)
            .unwrap()
    };
    let code = of("sm_80", "cubin");
    for (key, bytes) in [
        ("lines", 120),
        ("ptx", 50),
        ("debug", 7),
        ("constants", 300),
        ("images", 1),
    ] {
        assert_eq!(code[key], bytes, "{key}");
    }
    assert_eq!(of("sm_90", "ptx")["ptx"], of("sm_90", "ptx")["unpacked"]);
    let families = sizes["families"].as_array().unwrap();
    let names: Vec<&str> = families.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["k", "other"]);
    assert_eq!(
        (&families[0]["kernels"], &families[0]["definitions"]),
        (&2.into(), &3.into())
    );
    let folder = folder(&[("x.so", &library)]);
    let printed = run_in(&folder, &["audit", "x.so", "--sizes"]).stdout;
    let printed = String::from_utf8(printed).unwrap();
    assert!(
        printed.contains("bytes by target and use:") && printed.contains("kernels with most code:"),
        "{printed}"
    );
}

#[test]
fn libraries_that_host_code_needs_are_held_against_the_oldest_driver() {
    let needing = |libraries: &[&str]| {
        let elf = Elf::host(3).section(".nv_fatbin", container(&[ptx(75, "k")]));
        elf.needing(libraries, "CUDA_1").bytes()
    };
    let both = needing(&["libcudart.so.13", "libcufft.so.12", "libcuda.so.1"]);
    let (code, document) = audit(&both, &["--min-cuda", "12.4"]);
    assert_eq!(code, 1);
    let found = report::findings(&document).iter();
    let found: Vec<&Value> = found.filter(|finding| finding["code"] == "PTX528").collect();
    assert_eq!(
        found[0]["message"],
        "it needs libcudart.so.13, libcufft.so.12, which need driver 580.65.06, and the policy allows 550.54.14"
    );
    let needed = &document["inputs"][0]["host"]["needed"];
    assert_eq!(needed[0]["library"], "libcudart.so.13");
    assert_eq!(needed[0]["versions"][0], "CUDA_1");
    assert_eq!(needed[0]["driver"], "580.65.06");
    assert!(needed[2]["driver"].is_null());
    for policy in [&["--min-cuda", "13.0"][..], &[]] {
        assert!(
            !audited(&both, policy).contains(&"PTX528".to_owned()),
            "{policy:?}"
        );
    }
    let old = needing(&["libcudart.so.11.0", "libcusparse.so.12"]);
    assert!(!audited(&old, &["--min-driver", "450.36.06"]).contains(&"PTX528".to_owned()));
}

#[test]
fn modules_of_a_wheel_fit_its_name() {
    let found = |name: &str, members: &[&str]| {
        let files: Vec<(&str, Vec<u8>)> = members
            .iter()
            .map(|member| (*member, library(&[ptx(75, "k")])))
            .collect();
        let folder = folder(&[(name, &wheel(&files))]);
        let output = run_in(&folder, &["audit", name, "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = report::findings(&document).iter();
        let found = found.filter(|finding| finding["code"] == "PTX529");
        found
            .map(|finding| finding["message"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let old = "x/a.cpython-310-x86_64-linux-gnu.so";
    let new = "x/a.cpython-311-x86_64-linux-gnu.so";
    assert_eq!(
        found(
            "x-1-cp39-abi3-linux_x86_64.whl",
            &[old, "x/b.abi3.so", "x/lib.so"]
        ),
        [format!(
            "the wheel is for cp39-abi3, where an import may fail: `{old}` is a module for cp310"
        )]
    );
    assert_eq!(found("x-1-py3-none-any.whl", &[new]).len(), 1);
    assert_eq!(
        found(
            "x-1-cp313-cp313t-linux_x86_64.whl",
            &["x/a.cpython-313-x86_64-linux-gnu.so"]
        )
        .len(),
        1
    );
    // One for each version, and names that say nothing.
    assert!(found("x-1-py3-none-any.whl", &[old, new]).is_empty());
    assert!(found("x-1-cp310.cp311-cp310.cp311-any.whl", &[old]).is_empty());
    assert!(found("x-1-cp310-cp310-linux_x86_64-cu13.whl", &[old]).is_empty());
    assert!(found("x-1-cp310-none-linux_x86_64.whl", &[old]).is_empty());
    assert!(found("x.zip", &[old]).is_empty());
}

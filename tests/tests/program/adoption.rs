//! Adoption by a team: levels do what they say, and nothing unchecked passes silently.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::process::Output;

use ptxcheck_tests::fatbin::{Elf, Entry, container};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::report;
use serde_json::json;
use tempfile::TempDir;

/// A module with a kernel of this name, and nothing wrong with it.
fn clean(kernel: &str) -> String {
    format!(".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry {kernel}()\n{{\n\tret;\n}}\n")
}

/// Lanes 16 to 31 may be missing at the barrier, and certainly are at the second one.
const BOTH: &str = "\
.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 out)
{
	.reg .pred %p<3>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	ld.param.u32 %r1, [n];
	ld.param.u64 %rd1, [out];
	mov.u32 %r2, %tid.x;
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra A;
	bar.warp.sync -1;
A:
	st.global.u32 [%rd1], %r1;
	bar.warp.sync 0;
	ret;
}
";

fn summary(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Code and level of each finding.
fn levels(folder: &TempDir, args: &[&str]) -> Vec<(String, String)> {
    let mut all = vec!["--format", "json", "both.ptx"];
    all.extend(args);
    let (_, document) = report::document(&run_in(folder, &all)).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let word = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
    findings
        .iter()
        .map(|finding| (word(finding, "code"), word(finding, "level")))
        .collect()
}

#[test]
fn asking_for_potential_findings_leaves_definite_ones_as_they_are() {
    let folder = folder(&[("both.ptx", BOTH.as_bytes())]);
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(code, level)| ((*code).to_owned(), (*level).to_owned()))
            .collect()
    };
    let definite = pairs(&[("PTX407", "error")]);
    let both = pairs(&[("PTX402", "warning"), ("PTX407", "error")]);
    assert_eq!(levels(&folder, &[]), definite);
    // `all` switches on what is off by default, too: PTX412 reports every collective.
    assert_eq!(levels(&folder, &["-W", "all", "-A", "PTX412"]), definite);
    assert_eq!(levels(&folder, &["-W", "PTX407"]), definite);
    for selector in ["PTX402", "potential", "potential:warp", "potential:PTX402"] {
        assert_eq!(levels(&folder, &["-W", selector]), both, "{selector}");
    }
    assert_eq!(
        levels(&folder, &["--level", "PTX407=warning", "-D", "potential:PTX402"]),
        pairs(&[("PTX402", "error"), ("PTX407", "warning")])
    );
    assert_eq!(
        levels(&folder, &["-F", "PTX407", "--level", "all=allow"]),
        definite
    );
}

#[test]
fn what_was_not_analysed_is_said_and_can_be_an_error() {
    let cubin = Elf::cubin(80, &[("k", &[])]).bytes();
    let fat = container(&[Entry::ptx(90, &clean("k")), Entry::cubin(80, cubin.clone())]);
    let folder = folder(&[
        ("machine.o", &container(&[Entry::cubin(80, cubin)])),
        ("both.o", &fat),
        ("good.ptx", clean("k").as_bytes()),
        ("empty.ptx", b""),
    ]);
    for (inputs, wanted) in [
        (
            &["machine.o"][..],
            "the only image is machine code: nothing was analysed\n",
        ),
        (
            &["both.o"],
            "1 of 2 images is machine code, which is not analysed\n0 errors, 0 warnings (2 images; 1 kernel, ",
        ),
        (&["empty.ptx", "good.ptx"], "`empty.ptx` holds no device code\n"),
    ] {
        let output = run_in(&folder, inputs);
        assert_eq!(output.status.code(), Some(0), "{inputs:?}");
        assert!(summary(&output).contains(wanted), "{}", summary(&output));
        let strict = [&["--require-analysed", "-q"], inputs].concat();
        let output = run_in(&folder, &strict);
        assert_eq!(output.status.code(), Some(2), "{inputs:?}");
        assert!(
            summary(&output).contains("not everything was analysed (--require-analysed): "),
            "{}",
            summary(&output)
        );
    }
    let output = run_in(&folder, &["--require-analysed", "good.ptx"]);
    assert_eq!(output.status.code(), Some(0));
    let (_, document) = report::document(&run_in(&folder, &["--format", "json", "."])).unwrap();
    assert_eq!(
        document["summary"]["not_analysed"],
        json!({"images": 2, "kernels": 1, "empty_inputs": ["./empty.ptx"], "limits": []})
    );
}

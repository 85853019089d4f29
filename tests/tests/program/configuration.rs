//! `ptxcheck.toml` and its commands: what is left out, what headers are, comments in PTX, what applies and where it comes from.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::process::Output;

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::report;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A module with a kernel of this name, whose one barrier has a mask of 0; `before` stands on the line before it.
fn broken(kernel: &str, before: &str) -> String {
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry {kernel}()\n{{\n{before}\tbar.warp.sync 0;\n\tret;\n}}\n"
    )
}

/// A defect in `own.cuh`, in `vendor.hpp` and in the toolkit, all inlined into `k.cu`; one in the toolkit alone.
const INLINED: &str = "\
.version 7.8
.target sm_90
.address_size 64
.visible .entry k()
{
	.loc	1 20 3
	.loc	2 5 2, function_name $L, inlined_at 1 20 3
	bar.warp.sync 0;
	.loc	1 21 3
	.loc	3 6 2, function_name $L, inlined_at 1 21 3
	bar.warp.sync 0;
	.loc	1 22 3
	.loc	4 7 2, function_name $L, inlined_at 1 22 3
	bar.warp.sync 0;
	.loc	4 8 2
	bar.warp.sync 0;
	ret;
}
.file 1 \"src/k.cu\"
.file 2 \"src/own.cuh\"
.file 3 \"vendor/vendor.hpp\"
.file 4 \"cuda/include/sm_30_intrinsics.hpp\"
.section .debug_str
{
$L:
.b8 107
.b8 0
}
";

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn document(folder: &TempDir, args: &[&str]) -> Value {
    let mut all = vec!["--format", "json", "--places", "all"];
    all.extend(args);
    report::document(&run_in(folder, &all)).unwrap().1
}

/// `file:line` of each finding, with that of what is related to it.
fn places(document: &Value) -> Vec<String> {
    let place = |source: &Value| format!("{}:{}", source["file"].as_str().unwrap(), source["line"]);
    let findings = report::findings(document).iter();
    findings
        .map(|finding| {
            let related = finding["related"].as_array().unwrap().iter();
            let related: String = related
                .map(|related| format!(" + {}", place(&related["source"])))
                .collect();
            place(&finding["source"]) + &related
        })
        .collect()
}

#[test]
fn findings_from_headers_are_reported_where_the_team_wants_them() {
    let check_with = |config: &str| {
        let folder = folder(&[
            ("k.ptx", INLINED.as_bytes()),
            ("ptxcheck.toml", config.as_bytes()),
        ]);
        document(&folder, &["k.ptx"])
    };
    let toolkit = "cuda/include/sm_30_intrinsics.hpp";
    let call = ["src/own.cuh:5", "vendor/vendor.hpp:6", "src/k.cu:22"].map(str::to_owned);
    let all = |first: &[String]| [first, &[format!("{toolkit}:8")]].concat();
    let plain = check_with("");
    assert_eq!(places(&plain), all(&call));
    assert_eq!(
        places(&check_with("[headers]\nreport-at = \"call\"\n")),
        all(&call)
    );
    let vendor = check_with("[headers]\nsystem = [\"vendor/**\"]\n");
    assert_eq!(
        places(&vendor),
        all(&[call[0].clone(), "src/k.cu:21".to_owned(), call[2].clone()])
    );
    let header = check_with("[headers]\nreport-at = \"header\"\n");
    assert_eq!(
        places(&header),
        all(&[call[0].clone(), call[1].clone(), format!("{toolkit}:7")])
    );
    assert_eq!(
        report::findings(&header)[2]["source"]["inlined_at"][0],
        json!({"file": "src/k.cu", "line": 22, "column": 3})
    );
    let both = check_with("[headers]\nreport-at = \"both\"\nsystem = \"*.hpp\"\n");
    assert_eq!(
        places(&both),
        all(&[
            call[0].clone(),
            "src/k.cu:21 + vendor/vendor.hpp:6".to_owned(),
            format!("src/k.cu:22 + {toolkit}:7"),
        ])
    );
    // The line that a finding is reported at does not change its identity.
    let identities = |document: &Value| -> Vec<Value> {
        let findings = report::findings(document).iter();
        findings.map(|finding| finding["fingerprint"].clone()).collect()
    };
    assert_eq!(identities(&both), identities(&plain));
    let without = check_with(
        "[exclude]\nsystem-headers = true\n[headers]\nsystem = [\"vendor/**\"]\nreport-at = \"header\"\n",
    );
    assert_eq!(places(&without).len(), 3);
    assert_eq!(
        without["summary"]["excluded"],
        json!({"inputs": 0, "findings": 1})
    );
}

#[test]
fn what_is_excluded_is_counted() {
    let config = "[exclude]\npaths = [\"gen/\", \"re:skipped[0-9]\"]\nkernels = [\"test_*\"]\n";
    let (own, test) = (broken("own", ""), broken("_Z9test_warpPi", ""));
    let folder = folder(&[
        ("ptxcheck.toml", config.as_bytes()),
        ("own.ptx", own.as_bytes()),
        ("test.ptx", test.as_bytes()),
        ("gen/a.ptx", b"not PTX"),
        ("x/skipped1.ptx", b"not PTX"),
    ]);
    let output = run_in(&folder, &["--format", "concise", "."]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output).lines().count(), 1, "{}", stdout(&output));
    let said = stderr(&output);
    assert!(
        said.contains("2 inputs and 1 finding are excluded by the configuration\n1 error, "),
        "{said}"
    );
    // An input that is named is excluded as well, from any folder.
    let output = run_in(&folder, &["gen/a.ptx"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("all inputs are excluded by the configuration"));
    let output = ptxcheck_tests::binary::command()
        .current_dir(folder.path().join("gen"))
        .args(["--allow-empty", "a.ptx"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = run_in(&folder, &["audit", "--format", "json", "gen", "own.ptx"]);
    let audited: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        audited["summary"]["excluded"],
        json!({"inputs": 1, "findings": 0})
    );
}

#[test]
fn comments_in_ptx_count() {
    let check_after = |before: &str, args: &[&str]| {
        let folder = folder(&[("k.ptx", broken("k", before).as_bytes())]);
        let args = [args, &["k.ptx"]].concat();
        document(&folder, &args)
    };
    let suppressed = check_after("\t// ptxcheck: allow(PTX407) from inline assembly\n", &[]);
    assert_eq!(
        report::findings(&suppressed)[0]["suppressed"],
        json!({"by": "comment", "reason": "from inline assembly"})
    );
    assert_eq!(suppressed["summary"]["errors"], 0);
    let other = check_after(
        "\t// ptxcheck: allow(PTX403) another rule\n",
        &["--strict-config"],
    );
    assert_eq!(report::codes(&other), ["PTX407", "PTX906"]);
    assert_eq!(report::findings(&other)[1]["location"]["line"], 6);
    let unknown = check_after("\t// ptxcheck: allow(PTX4O7) why\n", &[]);
    let note = &report::findings(&unknown)[0]["notes"][0];
    let wanted = "the comment at k.ptx:6:2 does not count: `PTX4O7` is no rule's code or name, no family and no guideline; did you mean \
                  `PTX407`?";
    assert_eq!(note, wanted);
}

#[cfg(feature = "ir")]
#[test]
fn overrides_and_comments_hold_for_llvm_ir() {
    let ir = "target triple = \"nvptx64-nvidia-cuda\"\n\
        declare void @llvm.nvvm.bar.warp.sync(i32)\n\
        define ptx_kernel void @ours() {\n  call void @llvm.nvvm.bar.warp.sync(i32 0)\n  ret void\n}\n\
        define ptx_kernel void @vendor_sum() {\n  call void @llvm.nvvm.bar.warp.sync(i32 0)\n  ret void\n}\n\
        define ptx_kernel void @known() {\n  ; ptxcheck: allow(PTX407) a known one\n\
        call void @llvm.nvvm.bar.warp.sync(i32 0)\n  ret void\n}\n";
    let config = "[rules]\nall = \"allow\"\n[[override]]\nkernel = \"vendor_*\"\nrules = { zero-mask = \"warning\" }\n\
        [[override]]\nkernel = [\"ours\", \"known\"]\nrules = { zero_mask = \"error\" }\n"
        .replace("zero_mask", "PTX407");
    let folder = folder(&[("k.ll", ir.as_bytes()), ("ptxcheck.toml", config.as_bytes())]);
    let document = document(&folder, &["k.ll"]);
    let levels: Vec<_> = report::findings(&document)
        .iter()
        .map(|finding| {
            (
                finding["kernel"].as_str().unwrap(),
                finding["level"].as_str().unwrap(),
                finding["suppressed"]["reason"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        levels,
        [
            ("ours", "error", None),
            ("vendor_sum", "warning", None),
            ("known", "error", Some("a known one")),
        ]
    );
}

/// Certainly wrong at the first barrier, whose mask leaves out the lane that comes; at the second, that depends on memory.
const BOTH: &str = "\
.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in)
{
	.reg .pred %p<2>;
	.reg .b32 %r<3>;
	.reg .b64 %rd<4>;
	bar.warp.sync 0xfffe;
	ld.param.u64 %rd1, [in];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r2, [%rd3];
	setp.lt.s32 %p1, %r2, 1;
	@%p1 bra DONE;
	bar.warp.sync 0xfffe;
DONE:
	ret;
}
";

#[test]
fn a_code_means_what_is_certain_wherever_it_stands() {
    let at = |folder: &TempDir, args: &[&str]| -> Vec<String> {
        let document = document(folder, &[args, &["k.ptx"]].concat());
        let word = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        report::findings(&document)
            .iter()
            .map(|finding| format!("{} {}", word(finding, "certainty"), word(finding, "level")))
            .collect()
    };
    for (rules, args, wanted) in [
        ("", &[][..], &["definite error"][..]),
        ("PTX403 = \"warning\"", &[], &["definite warning"]),
        ("PTX403 = \"error\"", &[], &["definite error"]),
        ("caller-not-in-mask = \"warning\"", &[], &["definite warning"]),
        (
            "\"potential:PTX403\" = \"warning\"",
            &[],
            &["definite error", "potential warning"],
        ),
        (
            "PTX403 = \"error\"\npotential = \"warning\"",
            &[],
            &["definite error", "potential warning"],
        ),
        ("PTX403 = \"allow\"\npotential = \"warning\"", &[], &[]),
        (
            "PTX403 = \"allow\"\n\"potential:PTX403\" = \"warning\"",
            &[],
            &["potential warning"],
        ),
        ("", &["-W", "PTX403"], &["definite error"]),
        ("", &["-D", "PTX403"], &["definite error"]),
        ("", &["-F", "PTX403"], &["definite error"]),
        ("", &["--level", "PTX403=warning"], &["definite warning"]),
        (
            "",
            &["-F", "potential:PTX403"],
            &["definite error", "potential error"],
        ),
        ("", &["-W", "potential", "-A", "PTX403"], &[]),
        (
            "",
            &["-W", "potential", "-A", "potential:PTX403"],
            &["definite error"],
        ),
        ("\"potential:PTX403\" = \"warning\"", &["-A", "PTX403"], &[]),
    ] {
        for config in [
            format!("[rules]\n{rules}\n"),
            // In an override of the one kernel, likewise.
            format!("[[override]]\nkernel = \"k\"\n[override.rules]\n{rules}\n"),
        ] {
            let folder = folder(&[("k.ptx", BOTH.as_bytes()), ("ptxcheck.toml", config.as_bytes())]);
            assert_eq!(at(&folder, args), wanted, "{config} {args:?}");
        }
    }
    // An exception is for all findings of its rule.
    let config = "[rules]\npotential = \"warning\"\n[[allow]]\nrule = \"PTX403\"\nreason = \"ticket 1\"\n";
    let folder = folder(&[("k.ptx", BOTH.as_bytes()), ("ptxcheck.toml", config.as_bytes())]);
    let document = document(&folder, &["k.ptx"]);
    let findings = report::findings(&document);
    assert_eq!(findings.len(), 2);
    assert!(
        findings
            .iter()
            .all(|finding| finding["suppressed"]["reason"] == "ticket 1")
    );
}

#[test]
fn what_applies_is_shown_with_its_origin() {
    let config = "[rules]\nwarp = \"warning\"\nPTX402 = \"error\"\n[launch]\nblock = [256]\nshared = 64\n";
    let folder = folder(&[("ptxcheck.toml", config.as_bytes())]);
    let output = run_in(
        &folder,
        &[
            "config",
            "--launch-shared",
            "4096",
            "--launch-block",
            "64",
            "-A",
            "PTX407",
            "--path-map",
            "/ci=.",
        ],
    );
    let text = stdout(&output);
    for (start, end) in [
        ("configuration: ptxcheck.toml", ""),
        ("rules.warp = \"warning\"", "# ptxcheck.toml:2:1"),
        (
            "launch.block = [256]",
            "# ptxcheck.toml:5:1, but --launch-block 64,1,1 wins",
        ),
        ("launch.block = [64, 1, 1]", "# --launch-block 64,1,1"),
        (
            "launch.shared = 64",
            "# ptxcheck.toml:6:1, but --launch-shared 4096 wins",
        ),
        ("launch.shared = 4096", "# --launch-shared 4096"),
        ("path-map = \"/ci\" is \".\"", "# --path-map /ci=."),
        ("headers.report-at = \"call\"", "# default"),
        ("params.near-limit = 90", "# default"),
        (
            "PTX401  extra-lane-in-mask",
            "definite   warning  # ptxcheck.toml:2:1",
        ),
        (
            "PTX402  potentially-extra-lane-in-mask",
            "potential  error    # ptxcheck.toml:3:1",
        ),
        ("PTX407  zero-mask", "definite   allow    # -A PTX407"),
    ] {
        let is_it = |line: &str| line.starts_with(start) && line.ends_with(end);
        assert!(text.lines().any(is_it), "{start} … {end}\n{text}");
    }
    let output = run_in(&folder, &["config", "--format", "json", "-D", "warp"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["file"], "ptxcheck.toml");
    assert_eq!(document["settings"][0]["from"], "ptxcheck.toml:2:1");
    let levels = document["levels"].as_array().unwrap();
    let level_of = |code: &str| levels.iter().find(|level| level["code"] == code);
    assert_eq!(level_of("PTX412").unwrap()["from"], "-D warp");
    // It is an error again.
    assert!(level_of("PTX401").is_none());
    let large = format!("# {}\n", "x".repeat(1 << 20));
    std::fs::write(folder.path().join("ptxcheck.toml"), large).unwrap();
    let output = run_in(&folder, &["x.ptx"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "ptxcheck: `ptxcheck.toml` is larger than 1048576 bytes\n"
    );
    // Errors in a file are reported as by a check.
    std::fs::write(folder.path().join("ptxcheck.toml"), "[rulse]\n").unwrap();
    for command in [&["config"][..], &["x.ptx"], &["audit", "x.ptx"]] {
        let output = run_in(&folder, command);
        assert_eq!(output.status.code(), Some(2));
        let wanted = "ptxcheck: ptxcheck.toml:1:2: unknown field `rulse`";
        let said = stderr(&output);
        assert!(
            said.starts_with(wanted) && said.contains("did you mean `rules`?"),
            "{said}"
        );
    }
}

#[test]
fn a_project_says_what_is_near_the_limit_of_parameters() {
    // 4,096 bytes can be passed: 3,400 are 83 per cent.
    let text = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .b8 p[3400])\n{\n\tret;\n}\n";
    let count_with = |config: &str| {
        let folder = folder(&[("k.ptx", text.as_bytes()), ("ptxcheck.toml", config.as_bytes())]);
        let document = document(&folder, &["k.ptx"]);
        report::codes(&document).len()
    };
    let on = "[rules]\nPTX303 = \"warning\"\n";
    assert_eq!(count_with("[params]\nnear-limit = 75\n"), 0, "it is off");
    assert_eq!(count_with(on), 0);
    assert_eq!(count_with(&format!("{on}[params]\nnear-limit = 75\n")), 1);
    assert_eq!(count_with(&format!("{on}[params]\nnear-limit = 84\n")), 0);
    let folder = folder(&[("ptxcheck.toml", b"[params]\nnear-limit = 101\n")]);
    assert_eq!(
        stderr(&run_in(&folder, &["k.ptx"])),
        "ptxcheck: ptxcheck.toml:2:14: `near-limit` is per cent: 1 to 100\n"
    );
}

#[test]
fn the_schema_is_printed_and_a_first_file_written_once() {
    let folder = folder(&[("sub/x", b"")]);
    let output = run_in(&folder, &["config", "--schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"]["allow"].is_object());
    for arguments in [&["init"][..], &["init", "sub"]] {
        let output = run_in(&folder, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let file = folder.path().join("ptxcheck.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("# [[allow]]\n"));
    assert!(folder.path().join("sub/ptxcheck.toml").is_file());
    // It changes nothing until somebody takes a `#` away.
    let output = run_in(&folder, &["config"]);
    assert!(
        !stdout(&output).contains("# ptxcheck.toml:"),
        "{}",
        stdout(&output)
    );
    std::fs::write(&file, "[audit]\n").unwrap();
    let output = run_in(&folder, &["init"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "ptxcheck: `ptxcheck.toml` is there already; it is left as it is\n"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[audit]\n");
}

#[test]
fn audits_have_levels_and_exceptions_too() {
    let text = ".version 7.8\n.target sm_90, debug\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";
    let allow = "[[allow]]\nrule = \"image\"\npath = \"*.ptx\"\nreason = \"for debugging\"\n";
    let audit_with = |config: &str| {
        let folder = folder(&[("k.ptx", text.as_bytes()), ("ptxcheck.toml", config.as_bytes())]);
        let output = run_in(
            &folder,
            &["audit", "--require-sm", "90", "--format", "json", "k.ptx"],
        );
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report::findings(&document).iter();
        let level = |finding: &Value| {
            let is_suppressed = !finding["suppressed"].is_null();
            (finding["level"].as_str().unwrap().to_owned(), is_suppressed)
        };
        (output.status.code(), findings.map(level).collect::<Vec<_>>())
    };
    let one = |level: &str, is_suppressed| vec![(level.to_owned(), is_suppressed)];
    assert_eq!(audit_with(""), (Some(1), one("error", false)));
    assert_eq!(
        audit_with("[rules]\nPTX501 = \"warning\"\n"),
        (Some(0), one("warning", false))
    );
    assert_eq!(audit_with(allow), (Some(0), one("error", true)));
    // An exception for findings of audits alone is not unused in a check.
    let folder = folder(&[("k.ptx", text.as_bytes()), ("ptxcheck.toml", allow.as_bytes())]);
    let strict = document(&folder, &["--strict-config", "k.ptx"]);
    assert!(!report::codes(&strict).contains(&"PTX906"));
}

//! The command line with real findings: exit codes, levels, formats, hostile inputs, determinism.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::process::{Output, Stdio};

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{binary, report};
use serde_json::Value;
use tempfile::TempDir;

/// Line 6 holds the only finding: a definite PTX407.
const FIRES: &str = "\
.version 7.8
.target sm_90
.address_size 64
.visible .entry _Z4bad1v()
{
\tbar.warp.sync 0;
\tret;
}
";

const CLEAN: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

fn json_in(folder: &TempDir, args: &[&str]) -> (i32, Value) {
    let mut all = vec!["--format", "json"];
    all.extend(args);
    report::document(&run_in(folder, &all)).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn exit_codes_follow_levels() {
    let folder = folder(&[("bad.ptx", FIRES.as_bytes()), ("good.ptx", CLEAN.as_bytes())]);
    let cases: [(&[&str], i32); 19] = [
        (&["good.ptx"], 0),
        (&["bad.ptx"], 1),
        (&["good.ptx", "bad.ptx"], 1),
        (&["--fail-on", "never", "bad.ptx"], 0),
        (&["--fail-on", "warning", "bad.ptx"], 1),
        (&["-W", "PTX407", "bad.ptx"], 1),
        (&["-W", "all", "bad.ptx"], 1),
        (&["--level", "PTX407=warning", "bad.ptx"], 0),
        (&["--level", "warp=warning", "--fail-on", "warning", "bad.ptx"], 1),
        (&["--level", "potential:PTX407=allow", "bad.ptx"], 1),
        (&["-A", "zero-mask", "bad.ptx"], 0),
        (&["-A", "all", "bad.ptx"], 0),
        (&["-A", "all", "-D", "ptx407", "bad.ptx"], 1),
        (&["-D", "ptx407", "-A", "all", "bad.ptx"], 0),
        (&["-F", "PTX407", "-A", "all", "bad.ptx"], 1),
        (&["-A", "all", "-F", "PTX407", "-W", "PTX407", "bad.ptx"], 1),
        (&["-A", "potential", "-A", "space", "bad.ptx"], 1),
        (&["bad.ptx", "missing.ptx"], 2),
        (&["--fail-on", "never", "missing.ptx"], 2),
    ];
    for (args, code) in cases {
        assert_eq!(run_in(&folder, args).status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_missing_file_is_reported_and_the_rest_is_analysed() {
    let folder = folder(&[("bad.ptx", FIRES.as_bytes())]);
    let (code, document) = json_in(&folder, &["missing.ptx", "bad.ptx"]);
    assert_eq!(code, 2);
    assert_eq!(report::codes(&document), ["PTX901", "PTX407"]);
    assert_eq!(document["inputs"][0]["status"], "failed");
    assert_eq!(document["inputs"][0]["errors"][0]["code"], "PTX901");
    assert_eq!(document["inputs"][1]["status"], "checked");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder(&[("secret.ptx", FIRES.as_bytes())]);
    let file = folder.path().join("secret.ptx");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&file).is_ok() {
        return; // Permissions do not bind this user.
    }
    let (code, document) = json_in(&folder, &["."]);
    assert_eq!((code, report::codes(&document)), (2, vec!["PTX901"]));
}

#[test]
fn a_syntax_error_is_reported_with_its_line() {
    let folder = folder(&[("bad.ptx", b".version 7.8\n.target sm_90\n.visible .entry k( {\n")]);
    let (code, document) = json_in(&folder, &["bad.ptx"]);
    assert_eq!(code, 2);
    assert!(report::codes(&document).contains(&"PTX902"), "{document:#}");
    assert!(
        document["inputs"][0]["errors"][0]["line"].is_u64(),
        "{document:#}"
    );
}

#[test]
fn a_limit_is_reported() {
    let mut module = String::from(CLEAN);
    for kernel in 0..20_000 {
        let _ = writeln!(module, ".visible .entry k{kernel}()\n{{\n\tret;\n}}");
    }
    let folder = folder(&[("big.ptx", module.as_bytes())]);
    let (code, document) = json_in(&folder, &["--timeout", "0.000000001", "big.ptx"]);
    assert_eq!(code, 2);
    assert!(
        report::codes(&document).contains(&"PTX903"),
        "{:#}",
        document["inputs"]
    );
}

#[test]
fn an_empty_file_is_no_device_code() {
    let files: [(&str, &[u8]); 2] = [("empty.ptx", b""), ("blank.ptx", b"\r\n \0\0")];
    for (name, bytes) in files {
        let folder = folder(&[(name, bytes)]);
        assert_eq!(run_in(&folder, &[name]).status.code(), Some(2), "{name}");
        assert_eq!(
            run_in(&folder, &["--allow-empty", name]).status.code(),
            Some(0),
            "{name}"
        );
    }
}

#[test]
fn standard_input_has_findings() {
    let mut child = binary::command()
        .args(["--format", "concise", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), FIRES.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).starts_with("-:6:2: error: "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn concise_is_one_line_a_finding() {
    let folder = folder(&[("bad.ptx", FIRES.as_bytes())]);
    let text = stdout(&run_in(&folder, &["--format", "concise", "bad.ptx"]));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.starts_with("bad.ptx:6:2: error: ") && text.ends_with(" [PTX407]\n"),
        "{text}"
    );
}

#[test]
fn full_shows_the_line() {
    let folder = folder(&[("bad.ptx", FIRES.as_bytes())]);
    let text = stdout(&run_in(&folder, &["bad.ptx"]));
    for part in [
        "error[PTX407] zero-mask: ",
        "--> bad.ptx:6:2",
        "bar.warp.sync 0",
        "^^^",
        "kernel: bad1()",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn full_shows_the_source_where_it_is_at_hand() {
    let fires = FIRES.replace("\tbar", "\t.loc 1 2 3\n\tbar") + ".file 1 \"k.cu\"\n";
    let folder = folder(&[
        ("bad.ptx", fires.as_bytes()),
        ("k.cu", b"__global__ void bad1() {\n  __syncwarp(0);\n}\n"),
    ]);
    let text = stdout(&run_in(&folder, &["bad.ptx"]));
    for part in ["--> k.cu:2:3", "__syncwarp(0);", "^^^^^^^^^^", "= ptx: bad.ptx:7"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let elsewhere = binary::run([folder.path().join("bad.ptx")]);
    assert!(
        stdout(&elsewhere).contains("__syncwarp(0);"),
        "{}",
        stdout(&elsewhere)
    );
    fs::remove_file(folder.path().join("k.cu")).unwrap();
    let text = stdout(&run_in(&folder, &["bad.ptx"]));
    for part in ["--> k.cu:2:3", "bar.warp.sync 0;", "= ptx: bad.ptx:7"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn names_from_inputs_are_escaped() {
    let fires = FIRES.replace("\tbar", "\t.loc 1 2 3\n\tbar") + ".file 1 \"\x1b[2J\u{202e}k.cu\"\n";
    let folder = folder(&[("bad.ptx", fires.as_bytes())]);
    for format in ["full", "concise"] {
        let text = stdout(&run_in(
            &folder,
            &["--format", format, "--color", "never", "bad.ptx"],
        ));
        assert!(text.contains("\\u{1b}[2J\\u{202e}k.cu"), "{text}");
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn the_document_does_not_depend_on_threads() {
    let modules: Vec<(String, String)> = (0..60)
        .map(|number| {
            let text = if number % 3 == 0 { CLEAN } else { FIRES };
            (format!("m{number:02}.ptx"), text.to_owned())
        })
        .collect();
    let files: Vec<(&str, &[u8])> = modules
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let folder = folder(&files);
    let document = |threads, places| {
        let text = stdout(&run_in(
            &folder,
            &["--format", "json", "--places", places, threads, "."],
        ));
        let kept: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("\"elapsed_ms\""))
            .collect();
        kept.join("\n")
    };
    for (places, findings) in [("all", 40), ("grouped", 1)] {
        let one = document("-j1", places);
        assert_eq!(one.matches("\"PTX407\"").count(), findings);
        for _ in 0..3 {
            assert!(one == document("-j8", places), "-j1 and -j8 differ");
        }
    }
}

#[test]
fn odd_bytes_do_not_move_lines() {
    let with_bom = [b"\xef\xbb\xbf", FIRES.as_bytes()].concat();
    let with_crlf = FIRES.replace('\n', "\r\n");
    let with_latin1 = [b"// gr\xfc\xdfe\n" as &[u8], FIRES.as_bytes()].concat();
    let folder = folder(&[
        ("bom.ptx", &with_bom),
        ("crlf.ptx", with_crlf.as_bytes()),
        ("latin1.ptx", &with_latin1),
    ]);
    for (file, line) in [("bom.ptx", 6), ("crlf.ptx", 6), ("latin1.ptx", 7)] {
        let (code, document) = json_in(&folder, &[file]);
        assert_eq!(code, 1, "{file}: {:#}", document["inputs"]);
        assert_eq!(report::codes(&document), ["PTX407"], "{file}");
        assert_eq!(report::findings(&document)[0]["location"]["line"], line, "{file}");
    }
}

#[test]
fn hostile_inputs_leave_the_others_alone() {
    let deep = format!(
        "{CLEAN}.func f()\n{}{}\n",
        "{".repeat(200_000),
        "}".repeat(200_000)
    );
    let open = format!("{CLEAN}.func f()\n{}", "{".repeat(200_000));
    let long = format!("{CLEAN}// {}\n", "x".repeat(8_000_000));
    let parens = format!("{CLEAN}.func f()\n{{ mov.u32 %r1, {}; }}\n", "(".repeat(200_000));
    let half = &FIRES.as_bytes()[..FIRES.len() / 2];
    let with_nul = FIRES.replace("ret", "ret\0");
    let noise: Vec<u8> = (0..100_000u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let folder = folder(&[
        ("0-bad.ptx", FIRES.as_bytes()),
        ("1-deep.ptx", deep.as_bytes()),
        ("2-open.ptx", open.as_bytes()),
        ("3-long.ptx", long.as_bytes()),
        ("4-parens.ptx", parens.as_bytes()),
        ("5-half.ptx", half),
        ("6-nul.ptx", with_nul.as_bytes()),
        ("7-noise.ptx", &noise),
        ("8-empty.ptx", b""),
        ("9-nul.ptx", &[0; 4096]),
    ]);
    for format in ["full", "concise"] {
        let output = run_in(&folder, &["--format", format, "."]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stdout(&output).contains("PTX407"));
        assert!(output.stdout.len() < 1_000_000, "{} bytes", output.stdout.len());
    }
    let (code, document) = json_in(&folder, &["."]);
    assert_eq!(code, 2);
    assert_eq!(report::codes(&document)[0], "PTX407");
    assert!(
        !report::codes(&document).contains(&"PTX904"),
        "{:#}",
        document["inputs"]
    );
}

#[test]
fn every_prefix_of_a_module_is_an_input() {
    let prefixes: Vec<String> = (0..FIRES.len())
        .map(|length| format!("{length:03}.ptx"))
        .collect();
    let files: Vec<(&str, &[u8])> = (0..FIRES.len())
        .map(|length| (prefixes[length].as_str(), &FIRES.as_bytes()[..length]))
        .collect();
    let (_, document) = json_in(&folder(&files), &["."]);
    assert_eq!(document["inputs"].as_array().unwrap().len(), FIRES.len());
    assert!(!report::codes(&document).contains(&"PTX904"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let many: Vec<String> = (0..500).map(|number| format!("m{number}.ptx")).collect();
    let files: Vec<(&str, &[u8])> = many
        .iter()
        .map(|name| (name.as_str(), FIRES.as_bytes()))
        .collect();
    let folder = folder(&files);
    let mut child = binary::command()
        .current_dir(&folder)
        .args(["--quiet", "."])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

//! What surrounds findings: places without lines of a source, the last lines of a run, links, the width of the terminal, completions.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::process::{Command, Output};

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::{binary, root};
use serde_json::Value;
use tempfile::TempDir;

const WRONG: &str = "\
.version 9.0
.target sm_90
.address_size 64
.visible .entry _Z1kPi(.param .u64 p)
{
.reg .pred %p<2>;
.reg .b32 %r<3>;
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
setp.gt.u32 %p1, %r1, 15;
@%p1 bra $done;
shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1;
$done:
st.global.u32 [%rd1], %r1;
ret;
}
";

/// A folder with an object that was compiled without `-lineinfo`, and one finding in its PTX.
fn object() -> TempDir {
    let bytes = fs::read(root().join("corpus/images/launches.nvcc-O2.o")).unwrap();
    folder(&[("k.o", &bytes)])
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_line_of_an_image_is_never_a_line_of_its_file() {
    let folder = object();
    let shown = |format: &str| stdout(&run_in(&folder, &["k.o", "--format", format]));
    let full = shown("full");
    assert!(full.contains("--> k.o(image 1):32:1\n"), "{full}");
    let concise = shown("concise");
    assert!(
        concise.starts_with("k.o: error: ") && concise.contains(", image 1, line 32)"),
        "{concise}"
    );
    let github = shown("github");
    assert!(github.starts_with("::error file=k.o,title="), "{github}");
    let gitlab: Value = serde_json::from_str(&shown("gitlab")).unwrap();
    assert_eq!(gitlab[0]["location"]["lines"]["begin"], 1);
    let sarif: Value = serde_json::from_str(&shown("sarif")).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"k.o".into(), &1.into())
    );
    let json: Value = serde_json::from_str(&shown("json")).unwrap();
    let location = &json["findings"][0]["location"];
    assert_eq!(
        (&location["line"], &location["in_image"]),
        (&32.into(), &true.into())
    );
    for format in ["full", "concise", "github", "gitlab", "junit", "html", "markdown"] {
        let text = shown(format);
        assert!(
            !text.contains("k.o:") || !text.contains("k.o:32"),
            "{format}: {text}"
        );
        assert!(!text.contains("line=32"), "{format}: {text}");
    }
}

#[test]
fn the_last_lines_of_a_run_help_on() {
    let folder = object();
    let said = stderr(&run_in(&folder, &["k.o"]));
    assert_eq!(
        said.matches("compile with -lineinfo for source lines").count(),
        1,
        "{said}"
    );
    assert!(
        said.contains("`ptxcheck explain PTX404` explains PTX404\n"),
        "{said}"
    );
    assert!(
        said.ends_with("`-W conditional` searches 2 kernels for launches with which they go wrong\n"),
        "{said}"
    );
    // The object's own launches state the block.
    assert!(!said.contains("--launch-block"), "{said}");
    assert_eq!(stderr(&run_in(&folder, &["k.o", "-q"])), "");
    let said = stderr(&run_in(&folder, &["k.o", "-W", "conditional"]));
    assert!(!said.contains("-W conditional"), "{said}");

    let folder = self::folder(&[("k.ptx", WRONG.as_bytes())]);
    let said = stderr(&run_in(&folder, &["k.ptx"]));
    assert!(
        said.contains(
            "findings in 1 kernel depend on the block that is assumed (k(int*)): --launch-block X,Y,Z"
        ),
        "{said}"
    );
    let said = stderr(&run_in(&folder, &["k.ptx", "--launch-block", "128"]));
    assert!(!said.contains("is assumed"), "{said}");
    // Who has a configuration has decided about levels.
    fs::write(folder.path().join("ptxcheck.toml"), "").unwrap();
    let said = stderr(&run_in(&folder, &["k.ptx"]));
    assert!(!said.contains("-W conditional"), "{said}");
}

#[test]
fn the_note_on_the_assumed_block_comes_last() {
    let folder = folder(&[("k.ptx", WRONG.as_bytes())]);
    let json: Value =
        serde_json::from_str(&stdout(&run_in(&folder, &["k.ptx", "--format", "json"]))).unwrap();
    let notes = json["findings"][0]["notes"].as_array().unwrap();
    let last = notes.last().unwrap().as_str().unwrap();
    assert!(last.starts_with("blocks are assumed"), "{notes:?}");
}

#[test]
fn codes_are_links_where_the_site_is_known() {
    const ADDRESS: &str = "https://docs.example/ptxcheck/rules/PTX401.html";
    let folder = folder(&[
        ("k.ptx", WRONG.as_bytes()),
        ("ptxcheck.toml", b"docs = \"https://docs.example/ptxcheck/\"\n"),
    ]);
    let run = |args: &[&str], force: &str| {
        let mut command = binary::command();
        let command = command
            .current_dir(&folder)
            .args(args)
            .env("FORCE_HYPERLINK", force);
        stdout(&command.output().unwrap())
    };
    for format in ["full", "concise"] {
        let args = ["k.ptx", "-q", "--color", "always", "--format", format];
        let text = run(&args, "1");
        let link = format!("\x1b]8;;{ADDRESS}\x1b\\PTX401\x1b]8;;\x1b\\");
        assert_eq!(text.matches(&link).count(), 1, "{format}: {text:?}");
        assert!(!run(&args, "0").contains("docs.example"), "{format}");
        let plain = run(&["k.ptx", "-q", "--color", "never", "--format", format], "1");
        assert!(plain.contains("[PTX401]") && !plain.contains('\x1b'), "{plain:?}");
    }
    let sarif: Value = serde_json::from_str(&run(&["k.ptx", "--format", "sarif"], "0")).unwrap();
    let driver = &sarif["runs"][0]["tool"]["driver"];
    assert_eq!(driver["informationUri"], "https://docs.example/ptxcheck");
    assert_eq!(driver["rules"][0]["helpUri"], ADDRESS);
    assert_eq!(
        driver["rules"].as_array().unwrap().len(),
        1,
        "rules without a result"
    );
}

#[test]
fn a_configuration_names_the_baseline() {
    let folder = folder(&[
        ("k.ptx", WRONG.as_bytes()),
        ("sub/ptxcheck.toml", b"baseline = \"known.json\"\n"),
    ]);
    let run = |args: &[&str]| {
        let mut all = vec!["../k.ptx", "-q"];
        all.extend(args);
        let output = binary::command()
            .current_dir(folder.path().join("sub"))
            .args(all)
            .output()
            .unwrap();
        (output.status.code(), stderr(&output))
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("known.json"), "{said}");
    assert_eq!(run(&["--write-baseline", "known.json"]).0, Some(0));
    assert_eq!(run(&[]).0, Some(0));
    assert_eq!(run(&["--no-baseline"]).0, Some(1));
    fs::write(folder.path().join("empty.json"), "").unwrap();
    assert_eq!(run(&["--baseline", "../empty.json"]).0, Some(2), "an option wins");
    let (code, said) = run(&["--no-baseline", "--baseline", "known.json"]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn names_of_files_are_relative_to_the_working_directory_or_the_root() {
    let folder = folder(&[("build/k.ptx", WRONG.as_bytes()), ("src/k.cu", b"a\nb\nc\n")]);
    let source = fs::canonicalize(folder.path().join("src/k.cu")).unwrap();
    let text = WRONG
        .replace(".visible", &format!(".file 1 \"{}\"\n.visible", source.display()))
        .replace("shfl", ".loc 1 2 1\nshfl");
    fs::write(folder.path().join("build/k.ptx"), text).unwrap();
    let concise = |args: &[&str]| {
        let mut all = vec!["build/k.ptx", "-q", "--format", "concise"];
        all.extend(args);
        stdout(&run_in(&folder, &all))
    };
    assert!(concise(&[]).starts_with("src/k.cu:2:1: "), "{}", concise(&[]));
    assert!(concise(&["--root", "src"]).starts_with("k.cu:2:1: "));
    assert!(concise(&["--root", "build"]).starts_with(&format!("{}:2:1: ", source.display())));
}

#[cfg(target_os = "linux")]
#[test]
fn words_are_wrapped_at_the_width_of_a_terminal() {
    let folder = folder(&[("k.ptx", WRONG.as_bytes())]);
    let program = binary::path().display().to_string();
    let on = |columns: u32, args: &str| -> Option<String> {
        let command = format!("stty rows 40 cols {columns} && '{program}' {args}");
        let output = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(&folder)
            .env("TERM", "xterm")
            .output()
            .ok()?;
        Some(anstream_free(&String::from_utf8_lossy(&output.stdout)))
    };
    if on(80, "--version").is_none_or(|said| !said.starts_with("ptxcheck ")) {
        eprintln!("skipped: no terminal can be made here");
        return;
    }
    for columns in [60, 100, 160] {
        for args in ["k.ptx -q", "explain PTX401"] {
            let text = on(columns, args).unwrap();
            // Code is not wrapped, nor is an address.
            let is_text = |line: &&str| {
                !args.starts_with("explain") || !line.starts_with("    ") && line.trim().contains(' ')
            };
            let widths = text
                .lines()
                .filter(is_text)
                .map(|line| line.trim_end().chars().count());
            let widest = widths.max().unwrap();
            assert!(widest <= columns as usize, "{columns} {args}: {widest}\n{text}");
        }
    }
    let narrow = on(60, "k.ptx -q").unwrap();
    assert!(
        narrow
            .contains("\n   = note: blocks are assumed to be one-dimensional, with a\r\n           multiple"),
        "{narrow:?}"
    );
    // Lines in a file or a pipe are as long as they are.
    let piped = stdout(&run_in(&folder, &["k.ptx", "-q"]));
    assert!(piped.lines().any(|line| line.len() > 120), "{piped}");
}

/// A text without the styles of a terminal.
#[cfg(target_os = "linux")]
fn anstream_free(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, style)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = style.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}

#[test]
fn shells_complete_rules_and_families() {
    let complete = |words: &str| {
        let count = words.split(' ').count();
        let last = words.rsplit(' ').next().unwrap();
        let script = format!(
            "eval \"$(\"$1\" completions bash)\"; COMP_WORDS=({words}); COMP_CWORD={}; _ptxcheck ptxcheck '{last}' x; echo \"${{COMPREPLY[@]}}\"",
            count - 1
        );
        let output = Command::new("bash")
            .args(["-c", &script, "bash"])
            .arg(binary::path())
            .output();
        output.ok().map(|output| stdout(&output))
    };
    let Some(said) = complete("ptxcheck explain PTX40") else {
        eprintln!("skipped: there is no bash");
        return;
    };
    assert!(said.starts_with("PTX401 PTX402 "), "{said}");
    assert!(!said.contains("PTX501"), "{said}");
    // `ptxcheck -W asy`: bash gives the word before as the third argument.
    let script = "eval \"$(\"$1\" completions bash)\"; COMP_WORDS=(ptxcheck check -W asy); COMP_CWORD=3; \
                  _ptxcheck ptxcheck asy -W; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["-c", script, "bash"])
        .arg(binary::path())
        .output()
        .unwrap();
    assert_eq!(stdout(&output), "async\n");
    // What completes is no limit of what is read.
    let folder = folder(&[("k.ptx", WRONG.as_bytes())]);
    assert_eq!(
        run_in(&folder, &["-q", "-A", "extra-lane-in-mask", "k.ptx"])
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn color_before_a_command_is_the_commands() {
    let folder = folder(&[]);
    let page = |args: &[&str]| stdout(&run_in(&folder, args));
    let after = page(&["explain", "PTX401", "--color", "always"]);
    assert!(after.contains('\x1b'));
    assert_eq!(page(&["--color", "always", "explain", "PTX401"]), after);
    assert_eq!(page(&["--color=never", "rules"]), page(&["rules"]));
}

#[test]
fn explain_says_which_levels_are_off() {
    let folder = folder(&[]);
    for (rule, level) in [
        ("PTX401", "error; conditional findings are off by default"),
        (
            "PTX404",
            "error; conditional and potential findings are off by default",
        ),
        (
            "PTX417",
            "off by default: all its findings are conditional and potential (`-W PTX417`)",
        ),
        ("PTX412", "off by default (`-W PTX412`)"),
    ] {
        let page = stdout(&run_in(&folder, &["explain", rule]));
        assert!(page.contains(&format!("\nlevel       {level}\n")), "{page}");
    }
}

#[test]
fn a_run_can_be_about_some_kernels() {
    let other = WRONG.replace("_Z1kPi", "_Z5otherPi");
    let other = other.split_once("64\n").unwrap().1;
    let folder = folder(&[("k.ptx", format!("{WRONG}{other}").as_bytes())]);
    let kernels = |args: &[&str]| -> Vec<String> {
        let mut all = vec!["k.ptx", "--format", "json", "--places", "all"];
        all.extend(args);
        let json: Value = serde_json::from_str(&stdout(&run_in(&folder, &all))).unwrap();
        let findings = json["findings"].as_array().unwrap().clone();
        let name = |finding: &Value| finding["kernel"].as_str().unwrap().to_owned();
        findings.iter().map(name).collect()
    };
    assert_eq!(kernels(&[]).len(), 2);
    assert_eq!(kernels(&["--kernel", "other*"]), ["_Z5otherPi"]);
    assert_eq!(kernels(&["--kernel", "other*", "--kernel", "_Z1k*"]).len(), 2);
    assert_eq!(kernels(&["--kernel", "none"]), Vec::<String>::new());
    let output = run_in(&folder, &["k.ptx", "-q", "--kernel", "none"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    // The findings of other kernels are not gone from a baseline.
    let output = run_in(&folder, &["k.ptx", "-q", "--write-baseline", "known.json"]);
    assert_eq!(output.status.code(), Some(0));
    let output = run_in(
        &folder,
        &["k.ptx", "-q", "--baseline", "known.json", "--kernel", "other*"],
    );
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    for wrong in [["--kernel", ""], ["--kernel", "re:("]] {
        let mut all = vec!["k.ptx"];
        all.extend(wrong);
        assert_eq!(run_in(&folder, &all).status.code(), Some(2), "{wrong:?}");
    }
    // A file that is no device code is reported whatever the kernels are.
    fs::write(folder.path().join("bad.ptx"), ".version 9.0\n.target\n").unwrap();
    assert_eq!(
        run_in(&folder, &["bad.ptx", "--kernel", "none"]).status.code(),
        Some(2)
    );
}

#[test]
fn a_folder_of_sources_is_told_what_to_give() {
    let folder = folder(&[
        ("src/k.cu", b"__global__ void k() {}\n"),
        ("src/readme.txt", b"x"),
    ]);
    let single = stdout(&run_in(&folder, &["src/k.cu"]));
    let (_, advice) = single.lines().next().unwrap().split_once("it is ").unwrap();
    let output = run_in(&folder, &["src"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains(&format!("no input found: `src/k.cu` is {advice}")),
        "{said}"
    );
    assert_eq!(run_in(&folder, &["src", "--allow-empty"]).status.code(), Some(0));
    // Beside an input, sources are what they are.
    fs::write(folder.path().join("src/k.ptx"), WRONG).unwrap();
    assert!(!stderr(&run_in(&folder, &["src"])).contains("CUDA source"));
}

#[test]
fn a_literal_mask_has_its_fix_as_data() {
    let source = "__global__ void k(int* p) {\n/* ö */ x = __shfl_xor_sync(0xffffffff, x, 8);\n}\n";
    let text = WRONG
        .replace(".visible", ".file 1 \"k.cu\"\n.visible")
        .replace("shfl", ".loc 1 2 13\nshfl");
    let folder = folder(&[("k.ptx", text.as_bytes()), ("k.cu", source.as_bytes())]);
    let document = |format: &str| -> Value {
        serde_json::from_str(&stdout(&run_in(&folder, &["k.ptx", "--format", format]))).unwrap()
    };
    let fix = document("json")["findings"][0]["fixes"][0].clone();
    let line = source.lines().nth(1).unwrap();
    let at = |key: &str| usize::try_from(fix[key].as_u64().unwrap()).unwrap() - 1;
    assert_eq!(&line[at("column")..at("end_column")], "0xffffffff");
    assert_eq!(
        (&fix["file"], &fix["line"], &fix["replacement"]),
        (&"k.cu".into(), &2.into(), &"0x0000ffff".into())
    );
    let change = document("sarif")["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0].clone();
    let replacement = &change["replacements"][0];
    // Columns are code units of UTF-16 there, and bytes in JSON.
    assert_eq!(
        replacement["deletedRegion"]["startColumn"].as_u64().unwrap(),
        at("column") as u64
    );
    assert_eq!(replacement["insertedContent"]["text"], "0x0000ffff");
    // A name may stand for more than this call.
    fs::write(folder.path().join("k.cu"), source.replace("0xffffffff", "FULL")).unwrap();
    assert!(document("json")["findings"][0]["fixes"].is_null());
    assert!(document("sarif")["runs"][0]["results"][0]["fixes"].is_null());
}

#[test]
fn a_replay_shows_lines_of_the_source_and_folds_rounds() {
    let folder = folder(&[]);
    let file = root().join("corpus/witnesses/wrong.ptx");
    let text = stdout(&run_in(&folder, &["replay", file.to_str().unwrap()]));
    assert!(text.contains("\n      if (i < n) {\n"), "{text}");
    assert!(
        text.contains(" once more\n") || text.contains(" times more\n"),
        "{text}"
    );
    assert!(text.contains("loads 7 from parameter "), "{text}");
}

#[test]
fn a_diff_is_a_page_as_well() {
    let other = WRONG.replace("_Z1kPi", "_Z5otherPi");
    let folder = folder(&[("old.ptx", WRONG.as_bytes()), ("new<b>.ptx", other.as_bytes())]);
    let page = stdout(&run_in(
        &folder,
        &["diff", "old.ptx", "new<b>.ptx", "--format", "html"],
    ));
    for wanted in [
        "<!DOCTYPE html>",
        "new&lt;b&gt;.ptx",
        "other(int*)",
        "before: k(int*)",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    assert!(!page.contains("<b>.ptx") && !page.contains(" src="), "{page}");
}

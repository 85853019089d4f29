//! Completions for shells, manual pages, and the progress display on terminals.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use ptxcheck_tests::binary;
use ptxcheck_tests::folder::{folder, run_in};

const CLEAN: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

#[test]
fn shells_complete_commands_and_options() {
    let folder = folder(&[]);
    for (shell, wanted) in [
        ("bash", "--strict-config"),
        ("zsh", "#compdef ptxcheck"),
        ("fish", "complete -c ptxcheck"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[ptxcheck]"),
    ] {
        let output = run_in(&folder, &["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains(wanted) && script.contains("path-map"), "{shell}");
    }
    assert_eq!(run_in(&folder, &["completions", "dosh"]).status.code(), Some(2));
    // Bash reads what is meant for it, and completes with it.
    let script = "eval \"$(\"$1\" completions bash)\"; COMP_WORDS=(ptxcheck audi); COMP_CWORD=1; _ptxcheck ptxcheck audi ptxcheck; \
                  echo \"${COMPREPLY[@]}\"";
    if let Ok(output) = Command::new("bash")
        .args(["-c", script, "bash"])
        .arg(binary::path())
        .output()
    {
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "audit\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = folder(&[]);
    let output = run_in(&folder, &["man", "-o", "pages"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for command in [
        "", "-check", "-audit", "-rules", "-explain", "-extract", "-config", "-init",
    ] {
        let page = folder.path().join(format!("pages/ptxcheck{command}.1"));
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(
            text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"),
            "{command}"
        );
    }
    let output = run_in(&folder, &["man"]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains(".TH ptxcheck 1")
    );
}

/// Runs the program with a terminal as its standard error and an input that takes a while, and returns what the terminal got.
#[cfg(target_os = "linux")]
fn on_a_terminal(seconds: f32, options: &str) -> String {
    let program = binary::path().to_str().unwrap();
    // Its standard input takes so long.
    let command = format!("(sleep {seconds}; printf '%s' '{CLEAN}') | '{program}' {options} -");
    let output = script(&command).unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command with `script`, which makes a terminal for it.
#[cfg(target_os = "linux")]
fn script(command: &str) -> std::io::Result<std::process::Output> {
    Command::new("script")
        .args(["-qec", command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
}

/// Why no terminal can be made, where none can: there is no `script`, or no `/dev/pts`, as in many containers.
#[cfg(target_os = "linux")]
fn no_terminal() -> Option<String> {
    match script("true") {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            Some(String::from_utf8_lossy(&said).trim().to_owned())
        }
        Err(error) => Some(format!("script: {error}")),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_shown_on_a_terminal_once_a_run_takes_a_while() {
    const SHOWN: &str = "0 of 1 inputs, 1s";
    if let Some(reason) = no_terminal() {
        eprintln!("skipped: no terminal can be made here ({reason})");
        return;
    }
    let long = on_a_terminal(2.5, "");
    assert!(long.contains(SHOWN), "{long:?}");
    assert!(long.contains("0 errors, 0 warnings"), "{long:?}");
    // No colours, and the line is gone before the summary comes.
    let (display, summary) = long.rsplit_once("0 errors").unwrap();
    assert!(display.ends_with("\r\u{1b}[2K\u{1b}[1m"), "{long:?}");
    let colours = ["\u{1b}[3", "\u{1b}[9"];
    assert!(colours.iter().all(|colour| !display.contains(colour)), "{long:?}");
    assert!(!summary.contains("of 1 inputs"), "{long:?}");
    for (seconds, options) in [(2.5, "-q"), (0.1, "")] {
        let other = on_a_terminal(seconds, options);
        assert!(!other.contains("of 1 inputs"), "{seconds} {options}: {other:?}");
    }
}

#[test]
fn progress_is_not_shown_in_a_pipe() {
    let mut child = binary::command()
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    stdin.write_all(CLEAN.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("inputs,") && said.contains("0 errors"), "{said}");
}

//! What a person reads on a terminal, at three widths, with colours and without: it fits, both say the same, and pictures of it are made.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use ptxcheck_tests::folder::folder;
use ptxcheck_tests::{binary, root};
use tempfile::TempDir;

use crate::browser::{Browser, Mode, address, trial};

/// Columns of terminals.
const WIDTHS: [usize; 3] = [60, 100, 160];

/// Where `script` makes terminals. Elsewhere there is no test.
pub fn trials() -> Vec<Trial> {
    if cfg!(target_os = "linux") {
        vec![trial("terminal_texts_fit_their_width", fits)]
    } else {
        Vec::new()
    }
}

/// Kernels of the corpus with findings of several kinds, and their source.
pub(crate) fn project() -> Result<TempDir, Failed> {
    let read = |name: &str| fs::read(root().join("corpus").join(name));
    Ok(folder(&[
        ("atomic_bits.cu", &read("cuda/atomic_bits.cu")?),
        ("ballot_relations.cu", &read("cuda/ballot_relations.cu")?),
        (
            "atomic_bits.ptx",
            &read("compilers/nvcc/atomic_bits.sm_120.O3.ptx")?,
        ),
        (
            "ballot_relations.ptx",
            &read("compilers/nvcc/ballot_relations.sm_90.O3.ptx")?,
        ),
        ("ptxcheck.toml", b"docs = \"https://docs.example/ptxcheck\"\n"),
    ]))
}

/// The output of a command on a terminal with so many columns.
fn on_terminal(project: &TempDir, columns: usize, args: &str) -> Result<String, Failed> {
    let program = binary::path().display();
    let command = format!("stty rows 40 cols {columns} && '{program}' {args}");
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(project)
        .env("TERM", "xterm")
        .env("FORCE_HYPERLINK", "1")
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    // Two runs do not take equally long.
    let without_digits = |part: &str| match part.strip_suffix(" ms") {
        Some(rest) => format!(
            "{}9 ms",
            rest.trim_end_matches(|digit: char| digit.is_ascii_digit())
        ),
        None => part.to_owned(),
    };
    Ok(text.split_inclusive(" ms").map(without_digits).collect())
}

/// A piece of text with the codes of its style, and whether it is a link.
#[derive(Debug, PartialEq)]
struct Piece<'a> {
    text: &'a str,
    style: Vec<u8>,
    is_link: bool,
}

/// The text of a terminal in pieces.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut style, mut is_link) = (Vec::new(), false);
    for (number, part) in text.split('\x1b').enumerate() {
        let text = match part.strip_prefix('[').and_then(|rest| rest.split_once('m')) {
            _ if number == 0 => part,
            Some((codes, rest)) => {
                for code in codes.split(';').map(|code| code.parse().unwrap_or(0)) {
                    if code == 0 {
                        style.clear();
                    } else {
                        style.push(code);
                    }
                }
                rest
            }
            None => match part.strip_prefix("]8;;") {
                Some(address) => {
                    is_link = !address.is_empty();
                    ""
                }
                // The end of an address.
                None => part.strip_prefix('\\').unwrap_or(part),
            },
        };
        if !text.is_empty() {
            pieces.push(Piece {
                text,
                style: style.clone(),
                is_link,
            });
        }
    }
    pieces
}

fn plain(text: &str) -> String {
    pieces(text).iter().map(|piece| piece.text).collect()
}

/// A page that looks as a terminal does.
fn page(text: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let mut page = String::from(
        "<!doctype html><meta charset=utf-8><style>body{margin:16px;background:#111;color:#ddd;font:15px/1.3 monospace;white-space:pre}\
         .s1{font-weight:bold}.s2{opacity:.65}.s31,.s91{color:#ff7b72}.s33,.s93{color:#e3b341}.s32,.s92{color:#7ee787}\
         .s36,.s96{color:#76e3ea}.s34,.s94{color:#79c0ff}.link{text-decoration:underline dotted}</style>",
    );
    for piece in pieces(text) {
        let classes: Vec<String> = piece.style.iter().map(|code| format!("s{code}")).collect();
        let link = if piece.is_link { " link" } else { "" };
        let _ = write!(
            page,
            "<span class=\"{}{link}\">{}</span>",
            classes.join(" "),
            escaped(piece.text)
        );
    }
    page
}

/// True for a line that is wider than a terminal and may be: a line of code, a row of a table, or one word.
fn may_be_wide(name: &str, line: &str) -> bool {
    let words = line.trim_start_matches(|character: char| !character.is_alphanumeric());
    let is_code = line
        .trim_start()
        .trim_start_matches(|digit: char| digit.is_ascii_digit())
        .starts_with(" |")
        || line.trim_start().starts_with('|')
        || ["explain", "replay"].contains(&name) && line.starts_with("    ");
    let is_row = line.starts_with("  ") && words.contains("  ");
    is_code || is_row || !words.contains(' ')
}

fn fits(browser: &Browser) -> Result<(), Failed> {
    let project = project()?;
    if !on_terminal(&project, 80, "--version").is_ok_and(|said| said.starts_with("ptxcheck ")) {
        return Ok(()); // No terminal can be made here.
    }
    for (name, args) in [
        ("check", "atomic_bits.ptx ballot_relations.ptx -W conditional"),
        ("replay", "replay ballot_relations.ptx"),
        ("audit", "audit ballot_relations.ptx --require-sm 80,90"),
        ("explain", "explain PTX401"),
    ] {
        for columns in WIDTHS {
            let coloured = on_terminal(&project, columns, &format!("--color always {args}"))?;
            let without = on_terminal(&project, columns, &format!("--color never {args}"))?;
            assert!(coloured.contains('\x1b'), "{name}: no colours");
            assert!(!without.contains('\x1b'), "{name}: {without:?}");
            for line in without.lines() {
                let width = line.chars().count();
                assert!(
                    width <= columns || may_be_wide(name, line),
                    "{name} at {columns}: {width}\n{line}"
                );
            }
            // But for the time that it took.
            let untimed = |text: &str| -> Vec<String> {
                let lines = text
                    .lines()
                    .filter(|line| !line.contains(" in ") || !line.contains("module"));
                lines.map(str::to_owned).collect()
            };
            assert_eq!(
                untimed(&plain(&coloured)),
                untimed(&without),
                "{name} at {columns}"
            );
            let file = project.path().join("terminal.html");
            fs::write(&file, page(&coloured))?;
            let width = u32::try_from(columns * 9 + 40)?;
            let shot = root().join(format!("target/page/terminal-{name}-{columns}.png"));
            let picture = browser.picture(&address(&file), (width.max(500), 1000), Mode::Dark, &shot)?;
            assert!(picture.len() > 5_000, "{}", shot.display());
        }
    }
    Ok(())
}

//! What the program says about LLVM IR of clang's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::expectation::{Expected, difference, expected, tags_of_ir};
use crate::outputs::{IR_MODES, Output, marker_mode};
use crate::{binary, report};

/// A program under test.
#[derive(Clone)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// It reads IR with LLVM 19.
    pub is_19: bool,
}

impl Program {
    /// That of this build.
    #[must_use]
    pub fn under_test() -> Self {
        Self {
            path: binary::path().clone(),
            is_19: cfg!(feature = "llvm19"),
        }
    }

    /// That of this build, and the one with LLVM 19 where there is one.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let older = binary::with_llvm_19().map(|path| Self { path, is_19: true });
        std::iter::once(Self::under_test()).chain(older).collect()
    }

    /// Its exit code and JSON document.
    ///
    /// # Errors
    ///
    /// A sentence if it prints no document.
    pub fn check<Arg: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<(i32, serde_json::Value), String> {
        report::check_with(&self.path, args)
    }

    /// A command that runs it in the workspace's folder.
    #[must_use]
    pub fn command(&self) -> Command {
        binary::command_of(&self.path)
    }

    /// Has text of clang 22 such that this program's LLVM reads it.
    ///
    /// # Errors
    ///
    /// Those of reading and writing.
    pub fn prepare(&self, text: &Path) -> std::io::Result<()> {
        if self.is_19 {
            fs::write(text, older(&fs::read_to_string(text)?))?;
        }
        Ok(())
    }
}

/// The findings that IR has by the markers of its source, of those that the program found.
///
/// IR keeps what a code generator loses, such as stores that optimised PTX does not have and casts whose result it leaves undefined:
/// what holds for one of clang's modes may be found in IR of the other.
///
/// # Errors
///
/// A sentence about a marker that can't be read.
pub fn wanted(output: &Output, found: &[Expected]) -> Result<Vec<Expected>, String> {
    let of = |mode| expected(&output.case.text, &tags_of_ir(&output.target, marker_mode(mode)));
    let mut wanted = of(&output.mode)?;
    wanted.dedup();
    for mode in IR_MODES {
        wanted.extend(of(mode)?.into_iter().filter(|one| found.contains(one)));
    }
    // Where clang leaves a register that nothing writes, IR has the cast that it could not make sense of.
    let has_cast = |line| found.iter().any(|one| one.line == line && one.code == "PTX202");
    wanted.retain(|one| one.code != "PTX210" || found.contains(one) || !has_cast(one.line));
    wanted.sort();
    wanted.dedup();
    Ok(wanted)
}

/// Holds the findings of all programs in IR, a file with its text, against the markers of its source.
///
/// # Errors
///
/// What differs.
pub fn hold(output: &Output, file: &Path) -> Result<(), String> {
    for program in Program::all() {
        program.prepare(file).map_err(|error| error.to_string())?;
        hold_with(&program, output, file)
            .map_err(|problem| format!("{}: {problem}", program.path.display()))?;
    }
    Ok(())
}

fn hold_with(program: &Program, output: &Output, file: &Path) -> Result<(), String> {
    let case = &output.case;
    let (code, document) = program.check(case.args_for(file))?;
    let found = report::by_source_line(&document, &format!("{}.cu", case.stem()))?;
    let wanted = wanted(output, &found)?;
    let mut problems = difference(&wanted, &found);
    if code == 2 {
        problems.push(format!("the exit code is 2: {:#}", document["inputs"]));
    }
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    problems.extend(misplaced(&text, &document));
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// The errors in the lines of the text that findings name: if such a line has a debug location, the finding's place in the source is
/// that, or one that it is inlined at.
#[must_use]
pub fn misplaced(text: &str, document: &serde_json::Value) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let number = |value: &serde_json::Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let mut problems = Vec::new();
    for finding in report::findings(document) {
        let line = number(&finding["location"]["line"]).and_then(|line| lines.get(line.checked_sub(1)?));
        let Some(line) = line else {
            problems.push(format!("a finding has no line of the text: {finding:#}"));
            continue;
        };
        let wanted = debug_lines(&lines, line);
        let found = number(&finding["source"]["line"]);
        // A finding in a function that the kernel calls may be shown at the call.
        let is_own = finding["kernel"].is_null() || finding["kernel"] == finding["function"];
        if is_own && !wanted.is_empty() && !wanted.contains(&found.unwrap_or_default()) {
            problems.push(format!(
                "`{line}` is on lines {wanted:?} of the source, not {found:?}"
            ));
        }
    }
    problems
}

/// The lines of the source that an instruction's debug location names, from the inside out.
fn debug_lines(lines: &[&str], instruction: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut node = instruction.rsplit_once("!dbg ").map(|(_, node)| node.trim());
    while let Some(name) = node.filter(|_| found.len() < 64) {
        let start = format!("{name} = ");
        let text = lines.iter().find(|line| line.starts_with(&start));
        let field = |name: &str| {
            let (_, rest) = text?.split_once(name)?;
            rest.split([',', ')']).next()
        };
        found.extend(field("DILocation(line: ").and_then(|line| line.parse::<usize>().ok()));
        node = field("inlinedAt: ");
    }
    found.retain(|line| *line > 0);
    found
}

/// Text of clang 22 without the attributes that LLVM 19 does not know, without `contract`, which it does not know of
/// conversions and of calls that return several floats, and without the debug information of labels, which has a column
/// there; none of it matters to an analysis.
fn older(text: &str) -> String {
    let is_label = |line: &&str| line.contains(" = !DILabel(") || line.contains("#dbg_label(");
    let text: String = text
        .split_inclusive('\n')
        .filter(|line| !is_label(line))
        .collect();
    const WORDS: [&str; 5] = [
        " contract",
        " samesign",
        " nocreateundeforpoison",
        ", target_mem0: none",
        ", target_mem1: none",
    ];
    const CALLS: [&str; 2] = [" captures(", " initializes("];
    let mut text = WORDS.iter().fold(text, |text, word| text.replace(word, ""));
    for call in CALLS {
        let mut rest = text.as_str();
        let mut without = String::new();
        while let Some((before, after)) = rest.split_once(call) {
            without.push_str(before);
            let mut depth = 1;
            let end = after.find(|letter| {
                depth += i32::from(letter == '(') - i32::from(letter == ')');
                depth == 0
            });
            rest = &after[end.map_or(after.len(), |end| end + 1)..];
        }
        text = without + rest;
    }
    text
}

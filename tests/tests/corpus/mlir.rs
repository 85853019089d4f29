//! MLIR: the texts of the corpus have their findings on their lines, as text and as bytecode, and those that the PTX has which
//! MLIR's own tools make of them.
//!
//! `corpus/mlir/*.mlir` have markers after `//`. Directives at their top:
//!
//! * `// ptxcheck-args: …` adds arguments.
//! * `// only-in-mlir: …` says why the PTX has other findings: then it is not compared.
//! * `// no-bytecode: …` says why a text has no bytecode with the same findings.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::cases::{Case, files};
use ptxcheck_tests::expectation::{difference, expected};
use ptxcheck_tests::{binary, missing, report};
use serde_json::Value;

const MLIR_OPT: &str = "mlir-opt-22";

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for path in files("corpus/mlir", "mlir") {
        let case = match Case::read(&path) {
            Ok(case) => case,
            Err(problem) => {
                trials.push(Trial::test(path.display().to_string(), || Err(problem.into())));
                continue;
            }
        };
        let mut add = |kind: &str, test: fn(&Case) -> Result<Completion, Failed>| {
            let (name, case) = (format!("{}, {kind}", case.name), case.clone());
            trials.push(Trial::ignorable_test(name, move || test(&case)));
        };
        add("text", as_text);
        if case.directive("no-bytecode").is_none() {
            add("bytecode", as_bytecode);
        }
        if case.directive("only-in-mlir").is_none() {
            add("PTX", as_ptx);
        }
    }
    trials
}

/// Findings stand on the lines of the text, as its markers say.
fn as_text(case: &Case) -> Result<Completion, Failed> {
    let (_, document) = report::check(case.args())?;
    let found = report::by_input_line(&document)?;
    verdict(&difference(&expected(&case.text, &[])?, &found), &document)
}

/// Bytecode has the places that it carries: those of the text that it was made of.
fn as_bytecode(case: &Case) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let bytecode = folder.path().join("k.mlirbc");
    let args = ["--emit-bytecode", "--allow-unregistered-dialect", "-o"];
    let Some(()) = mlir_opt(
        case,
        args.map(std::ffi::OsStr::new)
            .into_iter()
            .chain([bytecode.as_os_str()]),
    )?
    else {
        return missing::skip("mlir-opt-22 is not installed");
    };
    let (_, of_text) = report::check(case.args())?;
    let (_, document) = checked(case, &bytecode)?;
    let text = extracted(&bytecode, folder.path())?;
    if !text.contains(" loc(") || text.contains('\0') {
        return Err(format!("`extract` gives no text with places:\n{text}").into());
    }
    let (wanted, found) = (sources(&of_text, case), sources(&document, case));
    if wanted == found {
        Ok(Completion::Completed)
    } else {
        Err(format!("text: {wanted:?}\nbytecode: {found:?}\n{document:#}").into())
    }
}

/// The text that `extract` makes of bytecode.
fn extracted(bytecode: &Path, folder: &Path) -> Result<String, Failed> {
    let output = binary::command()
        .current_dir(folder)
        .args(["extract", "-o", "images"])
        .arg(bytecode)
        .output()?;
    if output.stdout != b"00000.mlir\n" || !output.status.success() {
        return Err(format!("{output:?}").into());
    }
    Ok(fs::read_to_string(folder.join("images/00000.mlir"))?)
}

/// Code, certainty, file and line of each finding: of the source where there is one, else of the text.
fn sources(document: &Value, case: &Case) -> Vec<(String, String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = |finding: &Value| {
        let source = &finding["source"];
        let line = source["line"].as_u64();
        match line {
            // MLIR names the text by the path that it was given.
            Some(line) if case.path.ends_with(text(&source["file"])) => (case.name.clone(), line),
            Some(line) => (text(&source["file"]), line),
            None => (
                text(&finding["location"]["file"]),
                finding["location"]["line"].as_u64().unwrap_or(0),
            ),
        }
    };
    let mut all: Vec<_> = report::findings(document)
        .iter()
        .map(|finding| {
            let (file, line) = place(finding);
            (text(&finding["code"]), text(&finding["certainty"]), file, line)
        })
        .collect();
    all.sort();
    all
}

/// The PTX that MLIR's own pipeline makes has the same codes with the same certainty in the same kernels.
fn as_ptx(case: &Case) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("k.out");
    let target = case.directive("target").unwrap_or_default().concat();
    let chip = if target.is_empty() { "sm_90" } else { &target };
    let pipeline =
        format!("--gpu-lower-to-nvvm-pipeline=cubin-chip={chip} cubin-features=+ptx80 cubin-format=isa");
    let args = ["--gpu-kernel-outlining", pipeline.as_str(), "-o"];
    let Some(()) = mlir_opt(
        case,
        args.map(std::ffi::OsStr::new)
            .into_iter()
            .chain([text.as_os_str()]),
    )?
    else {
        return missing::skip("mlir-opt-22 is not installed");
    };
    let mut of_ptx = Vec::new();
    let mut documents = Vec::new();
    for (number, ptx) in assembly(&fs::read_to_string(&text)?).into_iter().enumerate() {
        let file = folder.path().join(format!("{number}.ptx"));
        fs::write(&file, ptx)?;
        let (_, document) = checked(case, &file)?;
        of_ptx.extend(kinds(&document));
        documents.push(document);
    }
    if documents.is_empty() {
        return Err("MLIR's pipeline makes no PTX of it".into());
    }
    let (_, document) = report::check(case.args())?;
    let mut of_mlir = kinds(&document);
    of_ptx.sort();
    of_mlir.sort();
    // An operation that is one finding here may be several there.
    of_ptx.dedup();
    of_mlir.dedup();
    if of_ptx == of_mlir {
        Ok(Completion::Completed)
    } else {
        Err(format!("MLIR: {of_mlir:?}\nPTX: {of_ptx:?}\n{documents:#?}").into())
    }
}

/// Code, certainty and kernel of the findings.
fn kinds(document: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    report::findings(document)
        .iter()
        .map(|finding| {
            (
                text(&finding["kernel"]),
                text(&finding["code"]),
                text(&finding["certainty"]),
            )
        })
        .collect()
}

/// The strings of `gpu.binary` that hold PTX, with their escapes undone.
fn assembly(text: &str) -> Vec<String> {
    text.split("assembly = \"")
        .skip(1)
        .filter_map(|rest| {
            let mut ptx = String::new();
            let mut letters = rest.chars();
            loop {
                match letters.next()? {
                    '"' => return Some(ptx.trim_end_matches('\0').to_owned()),
                    '\\' => {
                        let digits: String = letters.by_ref().take(2).collect();
                        ptx.push(char::from(u8::from_str_radix(&digits, 16).ok()?));
                    }
                    letter => ptx.push(letter),
                }
            }
        })
        .collect()
}

/// Checks a file with the arguments of a case.
fn checked(case: &Case, file: &Path) -> Result<(i32, Value), String> {
    let mut args: Vec<std::ffi::OsString> = case.args().into_iter().map(Into::into).collect();
    args.pop();
    args.push(file.into());
    report::check(args)
}

/// Runs MLIR's tool on a case; `None` where it is not installed.
fn mlir_opt<'a>(
    case: &Case,
    args: impl IntoIterator<Item = &'a std::ffi::OsStr>,
) -> Result<Option<()>, Failed> {
    let mut command = Command::new(MLIR_OPT);
    command
        .current_dir(ptxcheck_tests::root())
        .arg(&case.name)
        .args(args);
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
        Ok(output) if output.status.success() => Ok(Some(())),
        Ok(output) => Err(format!("{MLIR_OPT}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn verdict(problems: &[String], document: &Value) -> Result<Completion, Failed> {
    if problems.is_empty() {
        Ok(Completion::Completed)
    } else {
        Err(format!("{}\n{document:#}", problems.join("\n")).into())
    }
}

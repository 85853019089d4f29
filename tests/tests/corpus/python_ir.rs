//! LLVM IR that Triton and Numba make of the kernels in `corpus/python`, without a GPU: it is analysed without an error, and
//! the findings are those that the sources name. Where they are not installed, the tests are counted as ignored.

use std::fs;
use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::cases::Case;
use ptxcheck_tests::expectation::{difference, expected};
use ptxcheck_tests::{missing, report, root};

pub fn trials() -> Vec<Trial> {
    ["triton", "numba"]
        .map(|what| Trial::ignorable_test(format!("IR of {what}"), move || try_kernels(what)))
        .into()
}

fn try_kernels(what: &str) -> Result<Completion, Failed> {
    let installed = root().join(".toolchain/python-ir");
    let Ok(python) = fs::read_to_string(installed.join("python")) else {
        return missing::skip("Triton and Numba are not installed");
    };
    let libraries = root().join(".toolchain/nvcc/cuda/lib");
    if what == "numba" && !libraries.exists() {
        return missing::skip("Numba wants libraries that come with nvcc");
    }
    let sources = root().join("corpus/python");
    let folder = tempfile::tempdir()?;
    let output = Command::new(python.trim())
        .arg(root().join("tools/toolchain/write_ir.py"))
        .arg(what)
        .args([&installed.join("packages"), &sources])
        .arg(folder.path())
        .env("LD_LIBRARY_PATH", libraries)
        .env("TRITON_CACHE_DIR", folder.path().join("cache"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()?;
    if !output.status.success() {
        return Err(format!("write_ir.py failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let mut modules = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "ll") {
            modules.push(path);
        }
    }
    modules.sort();
    let source = format!("{what}_kernels.py");
    let wanted = expected(&Case::read(&sources.join(&source))?.text, &[])?;
    let (code, document) = report::check(&modules)?;
    let found = report::by_source_line(&document, &source)?;
    let mut problems = difference(&wanted, &found);
    if modules.len() < 8 || code != 1 {
        problems.push(format!(
            "exit code {code} for {} modules: {:#}",
            modules.len(),
            document["inputs"]
        ));
    }
    if problems.is_empty() {
        Ok(Completion::Completed)
    } else {
        Err(problems.join("\n").into())
    }
}

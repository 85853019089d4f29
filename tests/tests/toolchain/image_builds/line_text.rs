//! PTX that ptxas keeps in machine code with source lines (`-lineinfo`): its findings are those of the PTX itself.

use std::process::Command;

use ptxcheck_tests::{cases, report};
use serde_json::Value;

use super::build::{Build, same};

/// Sources that are compared.
const SOURCES: usize = 20;

pub(super) fn findings(build: &Build) -> Result<(), String> {
    let ptxas = build.toolchain.join("nvcc/cuda/bin/ptxas");
    let (mut compared, mut found_in_all) = (0, 0);
    for source in cases::files("corpus/compilers/nvcc", "ptx") {
        let name = source
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // Names are those of source, target and level of optimisation.
        let [_, target, "O3", _] = name.split('.').collect::<Vec<_>>()[..] else {
            continue;
        };
        let output = Command::new(&ptxas)
            .args(["-c", "-lineinfo", "-arch", target])
            .arg(&source)
            .arg("-o")
            .arg(build.path("lines.cubin"))
            .output()
            .map_err(|error| error.to_string())?;
        // It refuses what a linker would add.
        if !output.status.success() {
            continue;
        }
        std::fs::copy(&source, build.path("lines.ptx")).map_err(|error| error.to_string())?;
        let of_text = found(build, "lines.ptx")?;
        same(&name, found(build, "lines.cubin")?, of_text.clone())?;
        found_in_all += of_text.len();
        compared += 1;
        if compared == SOURCES {
            break;
        }
    }
    same("compared sources", compared, SOURCES)?;
    same("sources with findings", found_in_all > 0, true)
}

/// Code, function and message of each finding about code. Rules about images see machine code beside the text.
fn found(build: &Build, input: &str) -> Result<Vec<[String; 3]>, String> {
    let document = build.check(&format!("-W potential -A image -A potential:host {input}"))?;
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = report::findings(&document).iter();
    let mut found: Vec<_> = findings
        .map(|finding| ["code", "function", "message"].map(|key| word(finding, key)))
        .collect();
    found.sort();
    Ok(found)
}

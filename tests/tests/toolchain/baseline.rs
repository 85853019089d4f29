//! Baselines with code that nvcc compiles: known findings stay known after edits elsewhere, with other options and for other architectures;
//! new ones fail, and fixed ones are reported. Without nvcc, these tests are counted as ignored.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::{binary, missing, root};
use serde_json::Value;
use tempfile::TempDir;

/// Defects on lines 3 and 11.
const SOURCE: &str = "\
__global__ void first(float *out) {
    if (threadIdx.x % 32 < 16)
        __syncwarp();
    out[threadIdx.x] = 1;
}

__global__ void second(int *out) {
    int value = out[threadIdx.x];
    // Half of the lanes are not there.
    if (threadIdx.x % 32 < 8)
        value = __shfl_down_sync(0xffffffff, value, 1);
    out[threadIdx.x] = value;
}
";

/// Flags that leave the lines in optimised code.
const LINES: &str = "-arch=sm_90 -lineinfo";

type Case = fn(&Project) -> Result<(), String>;

const CASES: &[(&str, Case)] = &[
    ("recompiled and moved", recompiled_and_moved),
    ("other options", other_options),
    ("other architectures", other_architectures),
    ("the order of inputs", order_of_inputs),
    ("sources that are not at hand", sources_not_at_hand),
    ("a renamed function", renamed),
    ("a second defect", second_defect),
    ("a mended defect", mended),
    ("two targets, one file", two_targets),
    ("many writers", many_writers),
    ("check and audit", check_and_audit),
    ("adoption by a team", adoption),
];

pub fn trials() -> Vec<Trial> {
    let trials = CASES.iter().map(|&(name, case)| {
        Trial::ignorable_test(name, move || {
            let nvcc = root().join(".toolchain/nvcc/cuda/bin/nvcc");
            if !nvcc.exists() {
                return missing::skip("nvcc is not installed");
            }
            let folder = tempfile::tempdir()?;
            case(&Project { nvcc, folder })
                .map(|()| Completion::Completed)
                .map_err(Failed::from)
        })
    });
    trials.collect()
}

/// A folder with sources, and what is compiled from them.
struct Project {
    nvcc: PathBuf,
    folder: TempDir,
}

impl Project {
    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        fs::write(self.folder.path().join(name), text).map_err(|error| error.to_string())
    }

    fn read(&self, name: &str) -> Result<String, String> {
        fs::read_to_string(self.folder.path().join(name)).map_err(|error| error.to_string())
    }

    fn compile(&self, source: &str, output: &str, flags: &str) -> Result<(), String> {
        let kind = if output.ends_with(".ptx") {
            "-ptx"
        } else {
            "-fatbin"
        };
        let compiled = Command::new(&self.nvcc)
            .current_dir(self.folder.path())
            .args([kind, source, "-o", output])
            .args(flags.split_whitespace())
            .output()
            .map_err(|error| error.to_string())?;
        if compiled.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&compiled.stderr).into_owned())
        }
    }

    /// Writes `k.cu` and compiles it to `k.ptx`.
    fn build(&self, text: &str, flags: &str) -> Result<(), String> {
        self.write("k.cu", text)?;
        self.compile("k.cu", "k.ptx", flags)
    }

    fn command(&self, args: &str) -> Command {
        let mut command = binary::command();
        command
            .current_dir(self.folder.path())
            .args(args.split_whitespace());
        command
    }

    fn run(&self, args: &str) -> Result<Output, String> {
        self.command(args).output().map_err(|error| error.to_string())
    }

    /// Holds the exit code of a run, and the codes and lines of the findings that count, against what is wanted.
    fn check(&self, args: &str, code: i32, wanted: &[&str]) -> Result<String, String> {
        let output = self.run(&format!("{args} --format json"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let document: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {said}"))?;
        let findings = document["findings"].as_array().cloned().unwrap_or_default();
        let mut found: Vec<String> = findings
            .iter()
            .filter(|finding| finding["suppressed"].is_null())
            .map(|finding| {
                let line = [&finding["source"]["line"], &finding["location"]["line"]]
                    .into_iter()
                    .find_map(Value::as_u64)
                    .unwrap_or(0);
                format!("{}:{line}", finding["code"].as_str().unwrap_or_default())
            })
            .collect();
        found.dedup();
        if output.status.code() != Some(code) || found != wanted {
            return Err(format!(
                "`{args}`: {:?} with {found:?} where {code} with {wanted:?} is wanted\n{said}",
                output.status.code()
            ));
        }
        Ok(said)
    }

    /// Everything is known, and nothing is gone.
    fn all_is_known(&self, args: &str) -> Result<(), String> {
        let said = self.check(&format!("--strict-config --fail-on warning {args}"), 0, &[])?;
        holds(said.is_empty(), &said)
    }
}

fn holds(what: bool, why: &str) -> Result<(), String> {
    if what { Ok(()) } else { Err(why.to_owned()) }
}

fn contains(text: &str, part: &str) -> Result<(), String> {
    holds(text.contains(part), &format!("`{part}` is not in: {text}"))
}

const BASELINE: &str = "--baseline known.json k.ptx";

/// A project whose two defects are known.
fn known(project: &Project) -> Result<(), String> {
    project.build(SOURCE, LINES)?;
    project.check("k.ptx", 1, &["PTX401:3", "PTX401:11"])?;
    let said = project.check("--write-baseline known.json k.ptx", 0, &[])?;
    contains(&said, "2 findings stand in `known.json` now")?;
    project.all_is_known(BASELINE)
}

fn recompiled_and_moved(project: &Project) -> Result<(), String> {
    known(project)?;
    project.build(SOURCE, LINES)?;
    project.all_is_known(BASELINE)?;
    let moved = format!(
        "{}{}",
        "// A line.\n".repeat(10),
        SOURCE.replace("    out[", "\tout[")
    );
    project.build(&moved, LINES)?;
    project.all_is_known(BASELINE)?;
    // They are shown on request, and counted.
    let output = project.run(&format!("-v {BASELINE}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    contains(&said, "k.cu:13:9: error: the mask 0xffffffff of `__syncwarp`")?;
    contains(&said, "0 errors, 0 warnings, 2 known")?;
    holds(output.stdout.is_empty(), "nothing is shown without -v")
}

fn other_options(project: &Project) -> Result<(), String> {
    known(project)?;
    for flags in [
        "-arch=sm_90 -G",
        "-arch=sm_90",
        "-arch=sm_90 -lineinfo -O1",
        "-arch=sm_90 -G -dopt=on",
    ] {
        project.build(SOURCE, flags)?;
        project
            .all_is_known(BASELINE)
            .map_err(|why| format!("{flags}: {why}"))?;
    }
    // Written without lines, and read with them.
    project.build(SOURCE, "-arch=sm_90")?;
    project.check("--write-baseline plain.json k.ptx", 0, &[])?;
    project.build(SOURCE, LINES)?;
    project.all_is_known("--baseline plain.json k.ptx")
}

fn other_architectures(project: &Project) -> Result<(), String> {
    known(project)?;
    project.build(SOURCE, "-arch=sm_75 -lineinfo")?;
    project.all_is_known(BASELINE)?;
    let two = "-lineinfo -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90";
    project.compile("k.cu", "k.fatbin", two)?;
    project.check("--baseline known.json k.fatbin", 0, &[]).map(drop)
}

fn order_of_inputs(project: &Project) -> Result<(), String> {
    project.build(SOURCE, LINES)?;
    project.write(
        "l.cu",
        &SOURCE.replace("first", "third").replace("second", "fourth"),
    )?;
    project.compile("l.cu", "l.ptx", LINES)?;
    project.check("--write-baseline one.json k.ptx l.ptx", 0, &[])?;
    project.check("--write-baseline other.json l.ptx k.ptx", 0, &[])?;
    holds(
        project.read("one.json")? == project.read("other.json")?,
        "the order shows",
    )?;
    project.all_is_known("--baseline one.json l.ptx k.ptx -j1")
}

fn sources_not_at_hand(project: &Project) -> Result<(), String> {
    known(project)?;
    let source = project.folder.path().join("k.cu");
    fs::remove_file(&source).map_err(|error| error.to_string())?;
    project.all_is_known(BASELINE)?;
    project.check("--write-baseline blind.json k.ptx", 0, &[])?;
    project.write("k.cu", SOURCE)?;
    project.all_is_known("--baseline blind.json k.ptx")
}

fn renamed(project: &Project) -> Result<(), String> {
    known(project)?;
    project.build(&SOURCE.replace("second", "another"), LINES)?;
    project.all_is_known(BASELINE)
}

fn second_defect(project: &Project) -> Result<(), String> {
    known(project)?;
    let line = "        value = __shfl_down_sync(0xffffffff, value, 1);\n";
    let other = "    if (value >= 0 && threadIdx.x % 32 < 4)\n        value += __shfl_xor_sync(0xffffffff, value, 1);\n";
    let end = "    out[threadIdx.x] = value;\n";
    let worse = SOURCE.replace(end, &format!("{}{end}", other.replace("value >= 0 && ", "")));
    project.build(&worse, LINES)?;
    project.check(BASELINE, 1, &["PTX401:13"])?;
    // An equal line.
    let twice = SOURCE.replace(end, &format!("    if (threadIdx.x % 32 < 8)\n{line}{end}"));
    project.build(&twice, LINES)?;
    project.check(BASELINE, 1, &["PTX401:13"])?;
    // The same operation of the same function, above the known one.
    let above = "    // Half of the lanes are not there.\n";
    let before = SOURCE.replace(
        above,
        &format!("    if (threadIdx.x % 32 < 9)\n        value = __shfl_down_sync(~0u, value, 2);\n{above}"),
    );
    project.build(&before, LINES)?;
    project.check(BASELINE, 1, &["PTX401:10"]).map(drop)
}

fn mended(project: &Project) -> Result<(), String> {
    known(project)?;
    project.build(
        &SOURCE.replace("        __syncwarp();\n", "        out[0] = 2;\n"),
        LINES,
    )?;
    let said = project.check(BASELINE, 0, &[])?;
    contains(
        &said,
        "ptxcheck: known.json:4: this entry of the baseline no longer occurs: PTX401 at `__syncwarp();` in k.cu",
    )?;
    let strict = format!("--strict-config -D PTX906 {BASELINE}");
    project.check(&strict, 1, &["PTX906:4"])?;
    // Entries of inputs that were not part of the run are not gone.
    project.check(&format!("{strict} -A PTX401"), 0, &[])?;
    project.check("--write-baseline known.json k.ptx", 0, &[])?;
    project.all_is_known(BASELINE)
}

fn two_targets(project: &Project) -> Result<(), String> {
    project.build(SOURCE, LINES)?;
    project.write("l.cu", &SOURCE.replace("__shfl_down_sync", "__shfl_up_sync"))?;
    project.compile("l.cu", "l.ptx", LINES)?;
    project.check("--write-baseline known.json k.ptx", 0, &[])?;
    let said = project.check("--write-baseline known.json l.ptx", 0, &[])?;
    contains(&said, "2 findings stand in")?;
    holds(
        project.read("known.json")?.matches("\"code\"").count() == 4,
        "four entries",
    )?;
    project.all_is_known(BASELINE)?;
    project.all_is_known("--baseline known.json l.ptx")?;
    project.all_is_known("--baseline known.json l.ptx k.ptx")
}

fn many_writers(project: &Project) -> Result<(), String> {
    const WRITERS: usize = 12;
    project.build(SOURCE, LINES)?;
    let text = project.read("k.ptx")?;
    for number in 0..WRITERS {
        // Each with lines of its own.
        project.write(&format!("k{number}.cu"), SOURCE)?;
        project.write(
            &format!("k{number}.ptx"),
            &text.replace("k.cu", &format!("k{number}.cu")),
        )?;
    }
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            quiet(&mut project.command(&format!("-q --write-baseline known.json k{number}.ptx")))
                .spawn()
                .map_err(|error| error.to_string())
        })
        .collect::<Result<_, _>>()?;
    for mut writer in writers {
        let status = writer.wait().map_err(|error| error.to_string())?;
        holds(status.success(), &status.to_string())?;
    }
    let all: Vec<String> = (0..WRITERS).map(|number| format!("k{number}.ptx")).collect();
    holds(
        project.read("known.json")?.matches("\"code\"").count() == 2 * WRITERS,
        "an entry is lost",
    )?;
    project.all_is_known(&format!("--baseline known.json {}", all.join(" ")))?;
    // Nothing else lies there.
    let left = fs::read_dir(project.folder.path()).map_err(|error| error.to_string())?;
    let is_left = |name: &str| name.starts_with('.') || name.ends_with(".lock");
    let mut names = left
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    holds(!names.any(|name| is_left(&name)), "a temporary file is left")
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

fn check_and_audit(project: &Project) -> Result<(), String> {
    project.write("k.cu", SOURCE)?;
    let ptx = "-lineinfo -gencode arch=compute_80,code=compute_80";
    project.compile("k.cu", "k.fatbin", ptx)?;
    project.check("--write-baseline known.json k.fatbin", 0, &[])?;
    let audit = "audit --require-sm 90 --strict-config --fail-on warning";
    project.check(&format!("{audit} k.fatbin"), 1, &["PTX501:0"])?;
    let said = project.check(
        "audit --require-sm 90 --write-baseline known.json k.fatbin",
        0,
        &[],
    )?;
    contains(&said, "1 finding stands in `known.json` now")?;
    project.all_is_known("--baseline known.json k.fatbin")?;
    project.check(&format!("{audit} --baseline known.json k.fatbin"), 0, &[])?;
    // Entries of audits are gone only in audits.
    let satisfied = "audit --strict-config --fail-on warning --baseline known.json k.fatbin";
    project.check(satisfied, 1, &["PTX906:4"])?;
    project.all_is_known("--baseline known.json k.fatbin")
}

/// Many findings; then one is new, one fixed, one moved, one excepted with a reason, and an exception that has ended.
fn adoption(project: &Project) -> Result<(), String> {
    let kernel = |number: usize| {
        format!(
            "__global__ void kernel_{number}(int *out, const int *in) {{\n    if (threadIdx.x % 32 < {number})\n        \
             out[{number}] = __shfl_xor_sync(0xffffffff, in[{number}], {number});\n    out[threadIdx.x] = 1;\n}}\n"
        )
    };
    let all = |numbers: &[usize]| numbers.iter().map(|&number| kernel(number)).collect::<String>();
    let old: Vec<usize> = (1..=20).collect();
    project.build(&all(&old), LINES)?;
    let found: Vec<String> = (0..20)
        .map(|number| format!("PTX401:{}", number * 5 + 3))
        .collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    project.check("k.ptx", 1, &found)?;
    contains(
        &project.check("--write-baseline known.json k.ptx", 0, &[])?,
        "20 findings stand in `known.json` now",
    )?;
    project.all_is_known(BASELINE)?;

    // Kernel 20 is fixed, 21 is new, and all others have moved; 2 has an exception that counts, 22 one that has ended.
    let mut now: Vec<usize> = (1..=19).collect();
    now.extend([21, 22]);
    let text = format!("// Some words.\n{}", all(&now));
    let text = text.replace(
        "        out[2] =",
        "        // ptxcheck: allow(PTX401) ticket 7: a test pattern of the hardware\n        out[2] =",
    );
    project.build(&text, LINES)?;
    let config = "[[allow]]\nrule = \"PTX401\"\nkernel = \"kernel_22*\"\nreason = \"ticket 8\"\nexpires = 2001-12-31\n";
    project.write("ptxcheck.toml", config)?;
    let said = project.check(BASELINE, 1, &["PTX401:100", "PTX401:105"])?;
    contains(&said, "no longer occurs: PTX401 at `out[20] =")?;
    // The exception is enough for kernel 2: its entry is no longer needed.
    contains(&said, "no longer occurs: PTX401 at `out[2] =")?;
    let output = project.run(BASELINE)?;
    let summary = String::from_utf8_lossy(&output.stderr);
    contains(&summary, "2 errors, 0 warnings, 1 suppressed, 18 known")?;
    contains(&summary, "ended on 2001-12-31 and no longer counts: ticket 8")?;
    let shown = String::from_utf8_lossy(&output.stdout);
    holds(shown.matches("error[PTX401]").count() == 2, &shown)?;
    contains(&shown, "k.cu:100:9")?;
    let output = project.run(&format!("--format sarif {BASELINE}"))?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let results = document["runs"][0]["results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let of_state = |state: &str| {
        results
            .iter()
            .filter(|result| result["baselineState"] == state)
            .count()
    };
    holds(
        (of_state("unchanged"), of_state("new"), results.len()) == (18, 3, 21),
        &format!("{} results", results.len()),
    )
}

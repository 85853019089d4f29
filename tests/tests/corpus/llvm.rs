//! LLVM IR as text and as bitcode, IR that is none, IR of other compilers, and mutants.
//!
//! Where `PTXCHECK_LLVM_19_BIN` names a program that is built with LLVM 19, it reads the same text.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::cases::{Case, files};
use ptxcheck_tests::expectation::{difference, expected};
use ptxcheck_tests::ir::{Program, misplaced};
use ptxcheck_tests::outputs::{self, Outputs};
use ptxcheck_tests::{missing, report, root};

/// A form of LLVM IR.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Bitcode,
}

/// The source whose optimised IR is read in several forms.
const SOURCE: &str = "corpus/cuda/zero_mask_values.cu";

/// Mutants of each module, and how many bytes of it they differ in.
const MUTANTS: usize = 200;
const MUTATED_BYTES: usize = 4;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::ignorable_test("bitcode has the places of its debug information alone", bitcode),
        Trial::ignorable_test("mutants of bitcode", || {
            mutants(&Program::under_test(), Form::Bitcode)
        }),
    ];
    for program in Program::all() {
        trials.extend(of_program(&program));
    }
    trials
}

fn of_program(program: &Program) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |name: &str, test: fn(&Program) -> Result<Completion, Failed>| {
        let program = program.clone();
        let with = if program.is_19 { ", LLVM 19" } else { "" };
        trials.push(Trial::ignorable_test(format!("{name}{with}"), move || {
            test(&program)
        }));
    };
    add("mutants of text", |program| mutants(program, Form::Text));
    add("text that is no IR is reported", no_ir);
    add("IR of a newer LLVM is refused in words", newer_ir);
    add("IR of host code is no device code", host_code);
    add("constants of the host", constants_of_the_host);
    add("text with debug information has both places", both_places);
    add("the lines of text are shown", shown_lines);
    add("libdevice is clean", libdevice);
    add("hand-written text has its findings", lines_of_texts);
    trials
}

/// Findings on the lines of hand-written text that have markers.
fn lines_of_texts(program: &Program) -> Result<Completion, Failed> {
    for path in files("corpus/ir", "ll") {
        let name = path.file_name().unwrap_or_default().display().to_string();
        if name.starts_with("lines_") {
            lines_of_text(program, &path)
                .map_err(|problem| format!("{name}: {}", problem.message().unwrap_or_default()))?;
        }
    }
    Ok(Completion::Completed)
}

fn lines_of_text(program: &Program, path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let args = text
        .lines()
        .filter_map(|line| line.strip_prefix("; ptxcheck-args: "))
        .flat_map(str::split_whitespace)
        .map(std::ffi::OsStr::new);
    let (_, document) = program.check(args.chain([path.as_os_str()]))?;
    let found = report::by_input_line(&document)?;
    let problems = difference(&expected(&text, &[])?, &found);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n").into())
    }
}

fn both_places(program: &Program) -> Result<Completion, Failed> {
    let file = root().join("corpus/ir/host_variables.ll");
    let text = fs::read_to_string(&file)?;
    let (_, document) = program.check([&file])?;
    let found = report::findings(&document);
    let problems = misplaced(&text, &document);
    let have_source = found
        .iter()
        .all(|finding| finding["source"]["line"].is_u64() && finding["location"]["column"] == 3);
    if problems.is_empty() && have_source && !found.is_empty() {
        Ok(Completion::Completed)
    } else {
        Err(format!("{problems:?}, {document:#}").into())
    }
}

fn shown_lines(program: &Program) -> Result<Completion, Failed> {
    let output = program
        .command()
        .args(["--quiet", "corpus/ir/lines_of_text.ll"])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let wanted = [
        "lines_of_text.ll:21:3",
        "21 |   %shared = addrspacecast ptr %generic to ptr addrspace(3)",
        "lines_of_text.ll:12:1",
    ];
    match wanted.iter().find(|wanted| !text.contains(**wanted)) {
        None => Ok(Completion::Completed),
        Some(missing) => Err(format!("`{missing}` is not shown:\n{text}").into()),
    }
}

/// Writes the IR of [`SOURCE`] in a form; false where the tool for it is not installed.
fn write(form: Form, file: &Path) -> Result<bool, Failed> {
    let case = Case::read(&root().join(SOURCE))?;
    let outputs = outputs::committed_of(&case);
    let output = outputs.iter().find(|output| output.mode == "ir-O2");
    let output = output.ok_or("the source has no IR")?;
    fs::write(file, Outputs::read()?.content(output)?)?;
    if form == Form::Text {
        return Ok(true);
    }
    let text = file.with_extension("text");
    fs::rename(file, &text)?;
    match Command::new("llvm-as-22").arg(&text).arg("-o").arg(file).output() {
        Err(_) => Ok(false),
        Ok(output) if output.status.success() => Ok(true),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

fn bitcode() -> Result<Completion, Failed> {
    if cfg!(feature = "llvm19") {
        return Ok(Completion::ignored_with("LLVM 19 reads no bitcode of clang 22"));
    }
    let folder = tempfile::tempdir()?;
    let mut lines = Vec::new();
    for (form, name) in [(Form::Bitcode, "a.bc"), (Form::Text, "a.ll")] {
        let file = folder.path().join(name);
        if !write(form, &file)? {
            return missing::skip("llvm-as-22 is not installed");
        }
        let (_, document) = report::check([&file])?;
        let has_place = |finding: &serde_json::Value| finding["location"].is_object() == (form == Form::Text);
        if !report::findings(&document).iter().all(has_place) {
            return Err(format!("{name}: {document:#}").into());
        }
        let fingerprints: Vec<_> = report::findings(&document)
            .iter()
            .map(|finding| finding["fingerprint"].to_string())
            .collect();
        lines.push((
            report::by_source_line(&document, "zero_mask_values.cu")?,
            fingerprints,
        ));
    }
    if lines[0] == lines[1] {
        Ok(Completion::Completed)
    } else {
        Err(format!("{lines:#?}").into())
    }
}

/// A generator of numbers that are the same in every run (Steele, Lea and Flood: SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound.max(1) as u64) as usize
    }
}

/// Every mutant is analysed or reported, and a whole module beside them is analysed as ever.
fn mutants(program: &Program, form: Form) -> Result<Completion, Failed> {
    let is_bitcode = form == Form::Bitcode;
    if program.is_19 && is_bitcode {
        return Ok(Completion::ignored_with("LLVM 19 reads no bitcode of clang 22"));
    }
    let folder = tempfile::tempdir()?;
    let extension = if is_bitcode { "bc" } else { "ll" };
    let seed = folder.path().join(format!("seed.{extension}"));
    if !write(form, &seed)? {
        return missing::skip("llvm-as-22 is not installed");
    }
    if !is_bitcode {
        program.prepare(&seed)?;
    }
    let whole = fs::read(&seed)?;
    if whole.starts_with(b"BC") != is_bitcode {
        return Err("the compiler did not write the form that was asked for".into());
    }
    let mut numbers = Numbers(1);
    let mut args = vec![seed.clone().into_os_string()];
    for number in 0..MUTANTS {
        let mut bytes = whole.clone();
        if number % 8 == 0 {
            bytes.truncate(numbers.below(whole.len()));
        }
        for _ in 0..MUTATED_BYTES {
            let at = numbers.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = numbers.below(256) as u8;
            }
        }
        let file = folder.path().join(format!("{number}.{extension}"));
        fs::write(&file, bytes)?;
        args.push(file.into_os_string());
    }
    let (_, document) = program.check(args)?;
    let inputs = document["inputs"].as_array().ok_or("no inputs")?;
    if inputs.len() != MUTANTS + 1 {
        return Err(format!("{} inputs are reported on", inputs.len()).into());
    }
    for input in inputs {
        let has_errors = input["errors"]
            .as_array()
            .is_some_and(|errors| !errors.is_empty());
        if (input["status"] == "checked") == has_errors {
            return Err(format!("neither analysed nor reported: {input:#}").into());
        }
    }
    if inputs[0]["status"] != "checked" {
        return Err(format!("the whole module is not analysed: {:#}", inputs[0]).into());
    }
    let of_seed = report::findings(&document)
        .iter()
        .filter(|finding| finding["code"] == "PTX407" && finding["input"] == inputs[0]["path"])
        .count();
    let wanted = expected(&fs::read_to_string(root().join(SOURCE))?, &[])?.len();
    if of_seed != wanted {
        return Err(format!("the whole module has {of_seed} findings of {wanted}").into());
    }
    Ok(Completion::Completed)
}

fn no_ir(program: &Program) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.ll");
    fs::write(&file, "define void @k( {\n")?;
    let output = program.command().arg("--quiet").arg(&file).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code() == Some(2) && text.contains("PTX901") && text.contains("cannot read it") {
        Ok(Completion::Completed)
    } else {
        Err(format!("{}: {text}", output.status).into())
    }
}

/// The rules about variables and constants of the host need their types: no available compiler leaves such a variable in IR.
fn constants_of_the_host(program: &Program) -> Result<Completion, Failed> {
    let (code, document) = program.check(["-W", "potential", "corpus/ir/host_variables.ll"])?;
    let mut found = Vec::new();
    for finding in report::findings(&document) {
        let code = finding["code"].as_str().unwrap_or_default();
        if ["PTX101", "PTX102", "PTX103", "PTX104"].contains(&code) {
            let certainty = finding["certainty"].as_str().unwrap_or_default();
            found.push(format!("{} {code} {certainty}", finding["source"]["line"]));
        }
    }
    let wanted = [
        "11 PTX102 definite",
        "12 PTX103 definite",
        "13 PTX104 definite",
        "14 PTX104 potential",
        "16 PTX101 definite",
        "17 PTX101 definite",
    ];
    if code == 1 && found == wanted {
        Ok(Completion::Completed)
    } else {
        Err(format!("exit code {code}, {found:#?}").into())
    }
}

/// Bitcode that LLVM 3.8 to 7 wrote, and the functions that all other producers link.
fn libdevice(program: &Program) -> Result<Completion, Failed> {
    let file = root().join(".toolchain/nvcc/cuda/nvvm/libdevice/libdevice.10.bc");
    if !file.exists() {
        return missing::skip("nvcc, which brings it, is not installed");
    }
    let (code, document) = program.check(["-W".as_ref(), "potential".as_ref(), file.as_os_str()])?;
    if code == 0 && report::findings(&document).is_empty() && document["inputs"][0]["status"] == "checked" {
        Ok(Completion::Completed)
    } else {
        Err(format!("exit code {code}: {document:#}").into())
    }
}

/// As clang leaves it beside that of device code. A module without a target is recognised by its kernels; the embedding program sets the
/// target later.
fn host_code(program: &Program) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let body = "(i64 %n) {\n  %p = alloca i8, i64 %n\n  store volatile i8 0, ptr %p\n  ret void\n}\n";
    let host = "target triple = \"x86_64-pc-linux-gnu\"\n";
    let texts = [
        ("host.ll", format!("{host}define void @f{body}"), "skipped"),
        (
            "amd.ll",
            format!("target triple = \"amdgcn-amd-amdhsa\"\ndefine void @f{body}"),
            "failed",
        ),
        (
            "late.ll",
            format!("{host}define ptx_kernel void @k{body}"),
            "checked",
        ),
        ("none.ll", format!("define void @f{body}"), "checked"),
        (
            "device.ll",
            format!("target triple = \"nvptx64-nvidia-cuda\"\ndefine void @f{body}"),
            "checked",
        ),
    ];
    for (name, text, _) in &texts {
        fs::write(folder.path().join(name), text)?;
    }
    let (_, document) = program.check(texts.iter().map(|(name, ..)| folder.path().join(name)))?;
    let found = report::findings(&document);
    for (number, (name, _, status)) in texts.iter().enumerate() {
        let is_here = |finding: &&serde_json::Value| {
            finding["input"]
                .as_str()
                .is_some_and(|input| input.ends_with(name))
        };
        let count = found.iter().filter(is_here).count();
        if document["inputs"][number]["status"] != *status || count != usize::from(*status != "skipped") {
            return Err(format!("{name}: {document:#}").into());
        }
    }
    let output = program.command().arg(folder.path().join("host.ll")).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && said.contains("no device code in the inputs") {
        Ok(Completion::Completed)
    } else {
        Err(format!("{}: {said}", output.status).into())
    }
}

fn newer_ir(program: &Program) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.ll");
    fs::write(
        &file,
        "define void @k() new_attribute {\n  ret void\n}\n!llvm.ident = !{!0}\n!0 = !{!\"clang version 99.1.0\"}\n",
    )?;
    let output = program.command().arg("--quiet").arg(&file).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code() == Some(2) && text.contains("cannot read it, and LLVM 99.1.0 wrote it") {
        Ok(Completion::Completed)
    } else {
        Err(format!("{}: {text}", output.status).into())
    }
}

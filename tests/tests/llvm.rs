//! LLVM IR: what clang writes for the CUDA sources of the corpus gives the findings that its PTX gives, on the same
//! lines; and malformed IR ends no run. Without clang the tests are counted as ignored.
//!
//! Where `PTXCHECK_LLVM_19_BIN` names a program that is built with LLVM 19, it reads the same modules as text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use ptxcheck_tests::cases::{Case, files};
use ptxcheck_tests::expectation::{difference, expected, tags_of_ir};
use ptxcheck_tests::{binary, missing, report, root};

/// The ways that sources are compiled: flags, and the mode whose markers hold.
const MODES: [(&str, &str, &[&str]); 2] = [("O0", "G", &["-O0", "-g"]), ("O2", "O3", &["-O2", "-g"])];

/// Exit code of `compile.sh` where the compiler is not installed.
const NOT_INSTALLED: i32 = 3;

/// A compiler takes up to a gigabyte.
const THREADS: usize = 2;

/// Makes bitcode of what would be text.
const BITCODE: [&str; 2] = ["-Xclang", "-emit-llvm-bc"];

/// Mutants of each module, and how many bytes of it they differ in.
const MUTANTS: usize = 200;
const MUTATED_BYTES: usize = 4;

fn main() {
    let mut args = Arguments::from_args();
    args.test_threads.get_or_insert(THREADS);
    let mut trials = vec![
        Trial::ignorable_test("bitcode has the places of its debug information alone", bitcode),
        Trial::ignorable_test("mutants of bitcode", || mutants(&Program::under_test(), &BITCODE)),
    ];
    for program in Program::all() {
        trials.extend(of_program(&program));
    }
    for path in files("corpus/cuda", "cu") {
        let case = match Case::read(&path) {
            Ok(case) => case,
            Err(problem) => {
                trials.push(Trial::test(path.display().to_string(), || Err(problem.into())));
                continue;
            }
        };
        if !case.wants("compilers", "clang") {
            continue;
        }
        for (level, mode, flags) in MODES {
            let case = case.clone();
            let name = format!("{} {level}", case.name);
            trials.push(Trial::ignorable_test(name, move || try_case(&case, mode, flags)));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

/// A program under test.
#[derive(Clone)]
struct Program {
    path: PathBuf,
    /// It reads IR with LLVM 19.
    is_19: bool,
}

impl Program {
    fn under_test() -> Self {
        Self {
            path: binary::path().clone(),
            is_19: cfg!(feature = "llvm19"),
        }
    }

    fn all() -> Vec<Self> {
        let older = binary::with_llvm_19().map(|path| Self { path, is_19: true });
        std::iter::once(Self::under_test()).chain(older).collect()
    }

    fn check<Arg: AsRef<std::ffi::OsStr>>(
        &self,
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<(i32, serde_json::Value), String> {
        report::check_with(&self.path, args)
    }

    fn command(&self) -> Command {
        binary::command_of(&self.path)
    }

    /// Has text of clang 22 such that this program's LLVM reads it.
    fn prepare(&self, text: &Path) -> std::io::Result<()> {
        if self.is_19 {
            fs::write(text, older(&fs::read_to_string(text)?))?;
        }
        Ok(())
    }
}

/// The tests that need no source of the corpus.
fn of_program(program: &Program) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |name: &str, test: fn(&Program) -> Result<Completion, Failed>| {
        let program = program.clone();
        let with = if program.is_19 { ", LLVM 19" } else { "" };
        trials.push(Trial::ignorable_test(format!("{name}{with}"), move || {
            test(&program)
        }));
    };
    add("mutants of text", |program| mutants(program, &[]));
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

/// Compiles to IR; `None` where clang is not installed.
fn compile(source: &Path, target: &str, flags: &[&str], to: &Path) -> Result<Option<()>, Failed> {
    let output = Command::new(root().join("tools/toolchain/compile.sh"))
        .args(["--as-is", "clang", target, "O3"])
        .args([source, to])
        .arg("-emit-llvm")
        .args(flags)
        .output()?;
    match output.status.code() {
        Some(0) => Ok(Some(())),
        Some(NOT_INSTALLED) => Ok(None),
        _ => Err(format!("compile.sh failed:\n{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
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

fn try_case(case: &Case, mode: &str, flags: &[&str]) -> Result<Completion, Failed> {
    let target = ["sm_90", "sm_75", "sm_120", "sm_90a", "sm_100a"]
        .into_iter()
        .find(|target| case.wants("targets", target))
        .ok_or("no target is wanted")?;
    let folder = tempfile::tempdir()?;
    let compiled = folder.path().join(format!("{}.ll", case.stem()));
    if compile(&case.path, target, flags, &compiled)?.is_none() {
        return missing::skip("clang is not installed");
    }
    for program in Program::all() {
        program.prepare(&compiled)?;
        try_program(&program, case, target, mode, &compiled).map_err(|problem| {
            format!(
                "{}: {}",
                program.path.display(),
                problem.message().unwrap_or_default()
            )
        })?;
    }
    Ok(Completion::Completed)
}

/// Holds the findings of one program in a compiled case against the case's markers.
fn try_program(
    program: &Program,
    case: &Case,
    target: &str,
    mode: &str,
    compiled: &Path,
) -> Result<(), Failed> {
    let mut args: Vec<_> = case.args().into_iter().map(std::ffi::OsString::from).collect();
    args.pop();
    args.push(compiled.into());
    let (code, document) = program.check(args)?;
    let found = report::by_source_line(&document, &format!("{}.cu", case.stem()))?;
    let mut wanted = expected(&case.text, &tags_of_ir(target, mode))?;
    wanted.dedup();
    // IR keeps what a code generator loses, such as stores that optimised PTX does not have and casts whose result it
    // leaves undefined: what holds for one of clang's modes may be found in IR of the other.
    for (_, other, _) in MODES {
        let allowed = expected(&case.text, &tags_of_ir(target, other))?;
        wanted.extend(allowed.into_iter().filter(|one| found.contains(one)));
    }
    // Where clang leaves a register that nothing writes, IR has the cast that it could not make sense of.
    let has_cast = |line| found.iter().any(|one| one.line == line && one.code == "PTX202");
    wanted.retain(|one| one.code != "PTX210" || found.contains(one) || !has_cast(one.line));
    wanted.sort();
    wanted.dedup();
    let mut problems = difference(&wanted, &found);
    if code == 2 {
        problems.push(format!("the exit code is 2: {:#}", document["inputs"]));
    }
    problems.extend(misplaced(&fs::read_to_string(compiled)?, &document));
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n").into())
    }
}

/// The errors in the lines of the text that findings name: if such a line has a debug location, the finding's place in the source is
/// that, or one that it is inlined at.
fn misplaced(text: &str, document: &serde_json::Value) -> Vec<String> {
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

fn bitcode() -> Result<Completion, Failed> {
    if cfg!(feature = "llvm19") {
        return Ok(Completion::ignored_with("LLVM 19 reads no bitcode of clang 22"));
    }
    let folder = tempfile::tempdir()?;
    let source = root().join("corpus/cuda/zero_mask_values.cu");
    let mut lines = Vec::new();
    for (form, name) in [(&BITCODE[..], "a.bc"), (&[], "a.ll")] {
        let file = folder.path().join(name);
        if compile(&source, "sm_90", &[&["-O2", "-g"], form].concat(), &file)?.is_none() {
            return missing::skip("clang is not installed");
        }
        let (_, document) = report::check([&file])?;
        let has_place = |finding: &serde_json::Value| finding["location"].is_object() == form.is_empty();
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
fn mutants(program: &Program, form: &[&str]) -> Result<Completion, Failed> {
    let is_bitcode = form == BITCODE;
    if program.is_19 && is_bitcode {
        return Ok(Completion::ignored_with("LLVM 19 reads no bitcode of clang 22"));
    }
    let folder = tempfile::tempdir()?;
    let extension = if is_bitcode { "bc" } else { "ll" };
    let seed = folder.path().join(format!("seed.{extension}"));
    let source = root().join("corpus/cuda/zero_mask_values.cu");
    if compile(&source, "sm_90", &[&["-O2", "-g"], form].concat(), &seed)?.is_none() {
        return missing::skip("clang is not installed");
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
    let wanted = expected(&fs::read_to_string(&source)?, &[])?.len();
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

/// The rules about variables and constants of the host need their types: no compiler that is at hand leaves such a variable in IR.
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

/// As clang leaves it beside that of device code. What an embedding program names the target of later on is told by its
/// kernels.
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

//! `--link-set`: calls are followed to the functions that other inputs define.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::report;
use serde_json::Value;

/// The mask of this kernel's shuffle, which lanes 0 to 15 reach, is what `pick` returns.
const KERNEL: &str = "\
.visible .entry k(.param .u64 k_param_0)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<2>;
	mov.u32 %r1, %tid.x;
	mov.u32 %r7, %r1;
	setp.gt.u32 %p1, %r1, 15;
	@%p1 bra $done;
	{
	.param .b32 param0;
	st.param.b32 [param0+0], %r1;
	.param .b32 retval0;
	call.uni (retval0), pick, (param0);
	ld.param.b32 %r6, [retval0+0];
	}
	shfl.sync.bfly.b32 %r8|%p2, %r1, 1, 31, %r6;
	add.s32 %r7, %r8, %r1;
$done:
	ld.param.u64 %rd1, [k_param_0];
	st.global.u32 [%rd1], %r7;
	ret;
}
";

/// Code of 16 lanes, and of 32.
const HALF: &str = "65535";
const FULL: &str = "-1";

fn module(target: &str, parts: &[&str]) -> String {
    format!(
        ".version 8.0\n.target {target}\n.address_size 64\n{}",
        parts.concat()
    )
}

/// A function that returns a constant.
fn constant(linkage: &str, name: &str, value: &str) -> String {
    format!(
        "{linkage} .func (.param .b32 out) {name}(.param .b32 in)\n{{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, {value};\n\t\
         st.param.b32 [out+0], %r1;\n\tret;\n}}\n"
    )
}

/// A function that returns what another one does.
fn forward(linkage: &str, name: &str, to: &str) -> String {
    format!(
        "{linkage} .func (.param .b32 out) {name}(.param .b32 in)\n{{\n\t.reg .b32 %r<2>;\n\t{{\n\t.param .b32 param0;\n\t\
         st.param.b32 [param0+0], 0;\n\t.param .b32 retval0;\n\tcall.uni (retval0), {to}, (param0);\n\t\
         ld.param.b32 %r1, [retval0+0];\n\t}}\n\tst.param.b32 [out+0], %r1;\n\tret;\n}}\n"
    )
}

const EXTERN: &str = ".extern .func (.param .b32 out) pick(.param .b32 in);\n";

fn caller() -> String {
    module("sm_90", &[EXTERN, KERNEL])
}

fn other(functions: &[&str]) -> String {
    module("sm_90", functions)
}

/// The exit code and the document of a run over these texts: 0.ptx, 1.ptx and so on.
fn document(texts: &[&str], options: &[&str]) -> (i32, Value) {
    let names: Vec<String> = (0..texts.len()).map(|number| format!("{number}.ptx")).collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .zip(texts)
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    let folder = folder(&files);
    let mut args = vec!["--format", "json"];
    args.extend(options);
    args.extend(names.iter().map(String::as_str));
    report::document(&run_in(&folder, &args)).unwrap()
}

fn code(finding: &Value) -> String {
    finding["code"].as_str().unwrap().to_owned()
}

/// The findings in these texts: code and input.
fn found(texts: &[&str], options: &[&str]) -> Vec<(String, u64)> {
    let (exit, document) = document(texts, options);
    assert!(exit < 2, "{document}");
    let code_and_file = |finding: &Value| {
        let file = finding["location"]["file"].as_str().unwrap();
        (code(finding), file.trim_end_matches(".ptx").parse().unwrap())
    };
    report::findings(&document).iter().map(code_and_file).collect()
}

fn linked(texts: &[&str]) -> Vec<(String, u64)> {
    let found = found(texts, &["--link-set"]);
    assert_eq!(found, self::found(texts, &["--link-set", "-j", "1"]));
    assert_eq!(found, self::found(texts, &["--whole-program"]));
    found
}

fn defect(input: u64) -> Vec<(String, u64)> {
    vec![("PTX401".to_owned(), input)]
}

#[test]
fn a_call_leads_to_the_function_of_another_input() {
    let (caller, full) = (caller(), other(&[&constant(".visible", "pick", FULL)]));
    assert_eq!(linked(&[&caller, &full]), defect(0));
    assert_eq!(linked(&[&full, &caller]), defect(1));
    assert_eq!(found(&[&caller, &full], &[]), []);
    assert_eq!(
        linked(&[&caller, &other(&[&constant(".visible", "pick", HALF)])]),
        []
    );
    // In a chain of inputs.
    let between = other(&[
        ".extern .func (.param .b32 out) far(.param .b32 in);\n",
        &forward(".visible", "pick", "far"),
    ]);
    let far = other(&[&constant(".visible", "far", FULL)]);
    assert_eq!(linked(&[&caller, &far, &between]), defect(0));
    // Nobody defines the last of them.
    assert_eq!(found(&[&caller, &between], &["--link-set"]), []);
}

#[test]
fn the_callee_is_unknown_unless_one_input_defines_it_for_the_target() {
    let caller = caller();
    let full = constant(".visible", "pick", FULL);
    let several = [
        // Two, of which the linker refuses one.
        vec![
            other(&[&full]),
            other(&[&full, &constant(".visible", "also", HALF)]),
        ],
        vec![other(&[&full]), other(&[&constant(".visible", "pick", HALF)])],
        // Another target.
        vec![module("sm_80", &[&full])],
        vec![module("sm_90a", &[&full])],
        // A body that another may replace, and one that is nobody else's.
        vec![other(&[&constant(".weak", "pick", FULL)])],
        vec![other(&[&constant("", "pick", FULL)])],
        // Another type.
        vec![other(&[&full.replace(".param .b32 in", ".param .b64 in")])],
        vec![other(&[&full.replace("(.param .b32 in)", "()")])],
        // A text that could not be read as a whole.
        vec![other(&[
            &full,
            ".visible .func broken()\n{\n\tmov.u32 %r1 %r2;\n\tret;\n}\n",
        ])],
    ];
    for others in several {
        let mut texts = vec![caller.as_str()];
        texts.extend(others.iter().map(String::as_str));
        let options = ["--link-set", "-A", "PTX902"];
        let warps: Vec<_> = found_partly(&texts, &options);
        assert_eq!(warps, Vec::<String>::new(), "{}", others.join("\n"));
    }
    // The same text twice is one definition.
    assert_eq!(linked(&[&caller, &other(&[&full]), &other(&[&full])]), defect(0));
}

/// The codes of the family of warps, where some texts may be broken.
fn found_partly(texts: &[&str], options: &[&str]) -> Vec<String> {
    let (_, document) = document(texts, options);
    let codes = report::findings(&document).iter().map(code);
    codes.filter(|code| code.starts_with("PTX4")).collect()
}

#[test]
fn a_strong_function_counts_over_a_weak_one() {
    let strong = |value| other(&[&constant(".visible", "pick", value)]);
    let with_weak = |value| module("sm_90", &[&constant(".weak", "pick", value), KERNEL]);
    assert_eq!(linked(&[&with_weak(HALF), &strong(FULL)]), defect(0));
    assert_eq!(linked(&[&with_weak(FULL), &strong(HALF)]), []);
    assert_eq!(linked(&[&with_weak(HALF)]), []);
}

#[test]
fn functions_of_one_name_in_two_inputs_are_told_apart() {
    // Both inputs have a local function `own`, with other results.
    let caller = |own| {
        let parts = [
            EXTERN,
            &constant("", "own", own),
            &forward("", "use", "own"),
            KERNEL,
        ];
        module("sm_90", &parts)
    };
    let callee = |own| other(&[&constant("", "own", own), &forward(".visible", "pick", "own")]);
    assert_eq!(linked(&[&caller(HALF), &callee(FULL)]), defect(0));
    assert_eq!(linked(&[&caller(FULL), &callee(HALF)]), []);
}

#[test]
fn what_is_wrong_in_a_function_is_told_where_it_is_defined() {
    let wrong = constant(".visible", "pick", HALF).replace("\tret;", "\tbar.warp.sync 0;\n\tret;");
    let wrong = other(&[&wrong]);
    assert_eq!(linked(&[&caller(), &wrong]), vec![("PTX407".to_owned(), 1)]);
}

#[test]
fn functions_that_call_each_other_are_followed_once() {
    let there = other(&[
        ".extern .func (.param .b32 out) back(.param .b32 in);\n",
        &forward(".visible", "pick", "back"),
    ]);
    let back = other(&[EXTERN, &forward(".visible", "back", "pick")]);
    let codes = linked(&[&caller(), &there, &back]);
    assert!(codes.iter().all(|(code, _)| code == "PTX602"), "{codes:?}");
}

/// Half of the lanes call `fold` with the mask that is given.
fn folds(mask: &str) -> String {
    let shuffle = KERNEL.find("\tshfl").unwrap();
    let end = KERNEL.find("$done:").unwrap();
    let kernel = format!("{}\tmov.u32 %r7, %r6;\n{}", &KERNEL[..shuffle], &KERNEL[end..]);
    let kernel = kernel
        .replace("pick", "fold")
        .replace("[param0+0], %r1", &format!("[param0+0], {mask}"));
    module("sm_90", &[&EXTERN.replace("pick", "fold"), &kernel])
}

/// A function that passes its mask, or another one, to a shuffle.
fn fold(mask: &str) -> String {
    other(&[&format!(
        ".visible .func (.param .b32 out) fold(.param .b32 in)\n{{\n\t.reg .b32 %r<4>;\n\tld.param.b32 %r1, [in];\n\t\
         mov.u32 %r2, %tid.x;\n\tshfl.sync.bfly.b32 %r3, %r2, 1, 31, {mask};\n\tst.param.b32 [out+0], %r3;\n\tret;\n}}\n"
    )])
}

#[test]
fn what_is_passed_to_a_function_of_another_input_is_told_of_the_call() {
    assert_eq!(linked(&[&folds(FULL), &fold("%r1")]), defect(0));
    assert_eq!(linked(&[&folds(HALF), &fold("%r1")]), []);
    // Two that call it, of which one is right.
    let right = folds(HALF)
        .replace(" k(", " right(")
        .replace("k_param", "right_param");
    assert_eq!(linked(&[&right, &folds(FULL), &fold("%r1")]), defect(1));
    // Without a call it is wrong as well, and told once.
    assert_eq!(
        linked(&[&folds(FULL), &fold("0")]),
        vec![("PTX407".to_owned(), 1)]
    );
}

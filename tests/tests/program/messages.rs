//! The wording of findings: masks and lanes, advice, and calls of helpers.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;

use ptxcheck_tests::binary;

/// The program's output for a module with these functions.
fn printed(functions: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(".version 8.1\n.target sm_90\n.address_size 64\n{functions}\n");
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let output = binary::command()
        .current_dir(&folder)
        .args(["-q", "k.ptx"])
        .args(args)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A kernel in which the lanes for which `condition` holds of `%r2` execute `instruction`, and all store after.
fn in_an_arm(condition: &str, instruction: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<3>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<2>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\n{condition}\n@!%p1 bra A;\n\
         {instruction}\nA:\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
    )
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn masks_are_hexadecimal_and_lanes_are_words() {
    let even = in_an_arm(
        "and.b32 %r3, %r2, 1;\nsetp.eq.u32 %p1, %r3, 0;",
        "bar.warp.sync -1;",
    );
    let text = printed(&even, &[]);
    assert_has(
        &text,
        &[
            "the mask 0xffffffff of `__syncwarp` names lanes 1, 3, 5, …, 31, which do not reach a matching call\n",
            "lanes 1, 3, 5, …, 31 go another way here\n",
            "= help: name the lanes that take part: `0x55555555` (lanes 0, 2, 4, …, 30)\n",
            "= kernel: k\n",
        ],
    );
    let one = in_an_arm("setp.ne.u32 %p1, %r2, 31;", "bar.warp.sync -1;");
    assert_has(
        &printed(&one, &[]),
        &[
            "names lane 31, which does not reach a matching call\n",
            "lane 31 goes another way here\n",
            "`0x7fffffff` (lanes 0-30)\n",
        ],
    );
    for text in [text, printed(&one, &[])] {
        assert!(
            !text.contains("0b") && !text.contains("(s)") && !text.contains("within"),
            "{text}"
        );
    }
}

#[test]
fn help_gives_the_mask_that_is_meant() {
    let octet = ".visible .entry k()\n{\nbar.warp.sync 255;\nret;\n}\n";
    assert_has(
        &printed(octet, &[]),
        &[
            "lanes 8-31 execute `__syncwarp` with the mask 0x000000ff (lanes 0-7), which does not name them\n",
            "= help: name the lanes that call: `0xffffffff`\n",
            "let each lane name its group: `0x000000ff << (lane & 24)`\n",
        ],
    );
    let zero = in_an_arm("setp.lt.u32 %p1, %r2, 8;", "bar.warp.sync 0;");
    assert_has(
        &printed(&zero, &[]),
        &["= help: name the lanes that reach this `__syncwarp`: `0x000000ff` (lanes 0-7)\n"],
    );
    let by_data = in_an_arm(
        "ld.global.u32 %r3, [%rd1];\nadd.u32 %r3, %r3, %r1;\nsetp.gt.u32 %p1, %r3, 7;",
        "bar.warp.sync 255;",
    )
    .replace("(.param .u64 out)", "(.param .u64 out) .reqntid 8");
    assert_has(
        &printed(&by_data, &["-W", "PTX402"]),
        &[
            "names lanes 0-7, some of which may not reach a matching call\n",
            "`__ballot_sync(0x000000ff, condition)`, taken before the branch\n",
        ],
    );
}

#[test]
fn counts_go_with_their_nouns_and_parameters_have_names() {
    let many = ".visible .entry k(.param .align 1 .b8 k_param_0[32764], .param .u8 k_param_1, .param .u8 flag)\n{\nret;\n}\n";
    assert_has(
        &printed(many, &[]),
        &[
            "the parameters take 32766 bytes, and a kernel of this module can have at most 32764\n",
            "the first parameter takes 32764 bytes at offset 0\n",
            "the second parameter takes 1 byte at offset 32764\n",
            "parameter `flag` takes 1 byte at offset 32765\n",
        ],
    );
}

/// The code of `helper` and its callers as nvcc compiles them with `-G`: functions of their own.
const HELPER: &str = "\
.file 1 \"k.cu\"
.func helper()
{
	.loc 1 4 3
	bar.warp.sync 0;
	ret;
}
.visible .entry first()
{
	.loc 1 9 5
	call.uni helper, ();
	ret;
}
";

#[test]
fn a_finding_in_a_helper_names_the_line_that_calls() {
    let message = "the member mask of `__syncwarp` is 0, so it does not name the lane that calls";
    assert_eq!(
        printed(HELPER, &["--format", "concise"]),
        format!("k.cu:4:3: error: {message} (kernel first, called at k.cu:9:5) [PTX407]\n")
    );
    let text = printed(HELPER, &[]);
    assert_has(
        &text,
        &[
            "= called at: k.cu:9:5",
            "= function: helper, reached from kernel first\n",
        ],
    );
    assert!(!text.contains("places"), "{text}");
    let second = HELPER[HELPER.find(".visible").unwrap()..]
        .replace("first", "second")
        .replace("1 9 5", "1 14 5");
    assert_has(
        &printed(&format!("{HELPER}{second}"), &[]),
        &[
            "= called at: k.cu:9:5",
            "= note: `helper` is called in 2 places, of which the first is shown\n",
        ],
    );
    // A function that calls itself, and one that nothing calls.
    let recursive = HELPER.replace("ret;\n}\n.visible", "call.uni helper, ();\n\tret;\n}\n.visible");
    assert_has(&printed(&recursive, &[]), &["= called at: k.cu:9:5"]);
    let alone = &HELPER[..HELPER.find(".visible").unwrap()];
    assert_eq!(
        printed(alone, &["--format", "concise"]),
        format!("k.cu:4:3: error: {message} (function helper) [PTX407]\n")
    );
}

/// A finding that may be wrong does not say that something is so.
#[test]
fn potential_findings_state_no_fact() {
    let mut count = 0;
    for args in [["check", "corpus"], ["audit", "corpus/images"]] {
        let output = binary::run(args.into_iter().chain(["-W", "potential", "--format", "json"]));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = document["findings"].as_array().unwrap().iter();
        for finding in findings.filter(|finding| finding["certainty"] == "potential") {
            for key in ["message", "message_here"] {
                let Some(message) = finding[key].as_str() else {
                    continue;
                };
                let mut words = message.split(|character: char| !character.is_alphanumeric());
                assert!(
                    words.any(|word| ["may", "might", "can", "could"].contains(&word)),
                    "{}: {message}",
                    finding["code"]
                );
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count} messages");
}

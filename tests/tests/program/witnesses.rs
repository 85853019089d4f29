//! Kernels that are wrong for some launch or some argument, and their fixed versions: `corpus/witnesses`. `-W conditional` finds the
//! former, with a run, and is silent about the latter.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::BTreeMap;

use ptxcheck_tests::{binary, report, root};
use serde_json::Value;

/// The rule that finds what is wrong with each kernel.
const WRONG: [(&str, &str); 14] = [
    ("claimed_warp", "PTX415"),
    ("counted_tail", "PTX415"),
    ("early_break", "PTX401"),
    ("early_return", "PTX401"),
    ("filled_tile", "PTX416"),
    ("flag_barrier", "PTX411"),
    ("half_mask", "PTX403"),
    ("other_ballot", "PTX403"),
    ("phase_sum", "PTX403"),
    ("stride_barrier", "PTX411"),
    ("tail_reduce", "PTX401"),
    ("tile_barrier", "PTX411"),
    ("trip_counts", "PTX401"),
    ("wide_mask", "PTX401"),
];

fn path(file: &str) -> String {
    let path = root().join("corpus/witnesses").join(file);
    path.to_str().unwrap().to_owned()
}

fn findings(file: &str) -> Vec<Value> {
    let output = binary::run(["--format", "json", "-W", "conditional", &path(file)]);
    let (_, document) = report::document(&output).unwrap();
    document["findings"].as_array().unwrap().clone()
}

#[test]
fn what_is_wrong_for_some_launch_is_found_with_a_run() {
    let mut found = BTreeMap::new();
    for finding in findings("wrong.ptx") {
        assert_eq!(finding["certainty"], "conditional", "{finding}");
        let steps = finding["steps"].as_array().unwrap();
        let last = steps.last().unwrap()["message"].as_str().unwrap();
        let end = match finding["code"].as_str().unwrap() {
            "PTX415" => "read here",
            "PTX416" => "writes here",
            _ => "wrong here",
        };
        assert!(last.contains(end), "{finding}");
        let kernel = finding["kernel"].as_str().unwrap().to_owned();
        found.insert(kernel, finding["code"].as_str().unwrap().to_owned());
    }
    let wrong = WRONG.map(|(kernel, code)| (kernel.to_owned(), code.to_owned()));
    assert_eq!(found, BTreeMap::from(wrong));
}

/// Findings end with the command that shows them on a GPU, where a tool of compute-sanitizer sees them. Synccheck does not see lanes that
/// a mask names and that never arrive, and no vote or shuffle.
#[test]
fn commands_that_confirm_a_finding_name_a_tool_that_sees_it() {
    for finding in findings("wrong.ptx") {
        let kernel = finding["kernel"].as_str().unwrap();
        let tool = match finding["code"].as_str().unwrap() {
            "PTX411" => "synccheck",
            "PTX415" | "PTX416" => "racecheck",
            _ => {
                assert!(finding.get("confirm").is_none(), "{finding}");
                continue;
            }
        };
        let command = finding["confirm"].as_str().unwrap();
        let begin = format!(
            "compute-sanitizer --tool {tool} --kernel-name kne={kernel} PROGRAM  # {kernel}<<<1, 128>>>"
        );
        assert!(command.starts_with(&begin), "{command}");
        for parameter in finding["data"]["parameters"].as_array().unwrap() {
            assert!(command.contains(parameter.as_str().unwrap()), "{command}");
        }
    }
    let output = binary::run([
        "-A",
        "all",
        "-W",
        "conditional",
        "--format",
        "sarif",
        &path("wrong.ptx"),
    ]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = document["runs"][0]["results"].as_array().unwrap();
    let confirmed = |result: &&Value| result["properties"]["confirm"].is_string();
    assert_eq!(results.iter().filter(confirmed).count(), 6);
    // A text has the command of a kernel and tool once: of each kernel here.
    let output = binary::run(["-A", "all", "-W", "conditional", &path("wrong.ptx")]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("= confirm: compute-sanitizer --tool ").count(), 6);
}

/// A barrier of a wrapper has no command of its own, one in `__syncwarp` alone has one for its callers.
#[test]
fn synccheck_is_named_for_the_callers_of_syncwarp_alone() {
    let folder = root().join("corpus");
    let paths = ["rules/PTX403", "compilers/nvcc"].map(|path| folder.join(path));
    let mut arguments = vec!["--format", "json", "-A", "all", "-W", "potential:PTX403"];
    arguments.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let (_, document) = report::document(&binary::run(&arguments)).unwrap();
    let found = document["findings"].as_array().unwrap();
    let of_syncwarp = |finding: &&Value| finding["data"]["operation"] == "__syncwarp";
    assert!(found.iter().any(|finding| of_syncwarp(&finding)));
    assert!(!found.iter().all(|finding| of_syncwarp(&finding)));
    for finding in found {
        let has_command = finding.get("confirm").is_some();
        assert_eq!(has_command, of_syncwarp(&finding), "{finding}");
    }
}

/// Other values of a parameter that are said to go wrong do so where they are the only one.
#[test]
fn other_values_that_go_wrong_are_told() {
    let all = findings("wrong.ptx");
    let of = |kernel: &str| {
        let mut own = all.iter().filter(|finding| finding["kernel"] == kernel);
        let data = &own.next().unwrap()["data"];
        let number = |key: &str| data[key].as_u64();
        (
            number("general_least"),
            number("general_most"),
            number("general_no_multiple_of"),
        )
    };
    assert_eq!(of("tail_reduce"), (Some(1), Some(127), Some(32)));
    assert_eq!(of("stride_barrier"), (Some(1), Some(255), Some(32)));
    // They depend on loaded values.
    assert_eq!(of("flag_barrier"), (None, None, None));
    assert_eq!(of("early_break"), (None, None, None));

    let with = |value: u64| {
        let assumption = format!("stride_barrier:2 = {value}");
        let options = ["--format", "json", "-W", "conditional", "--assume", &assumption];
        let output = binary::run(options.into_iter().chain([path("wrong.ptx").as_str()]));
        let (_, document) = report::document(&output).unwrap();
        let findings = document["findings"].as_array().unwrap().clone();
        findings
            .iter()
            .any(|finding| finding["kernel"] == "stride_barrier")
    };
    let wrong: Vec<u64> = [31, 32, 129, 160]
        .into_iter()
        .filter(|value| with(*value))
        .collect();
    assert_eq!(wrong, [31, 129]);
}

/// A barrier in each of a million rounds: no run gets to the shuffle after them.
const LONG: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry long(.param .u64 out, .param .u32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
L:
    bar.sync 0;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 1000000;
    @%p1 bra L;
    setp.ge.u32 %p2, %r2, %r1;
    @%p2 bra E;
    shfl.sync.down.b32 %r4, %r2, 16, 31, -1;
    st.global.u32 [%d1], %r4;
E:
    st.global.u32 [%d1+4], %r2;
    ret;
}
";

#[test]
fn what_limits_left_open_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let said = |text: &str| {
        let file = folder.path().join("long.ptx");
        std::fs::write(&file, text).unwrap();
        let output = binary::run(["-v", "-W", "conditional", file.to_str().unwrap()]);
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (
            text.contains("[PTX401]"),
            text.contains("the search for witnesses of 1 kernel ended at a limit"),
        )
    };
    assert_eq!(said(LONG), (false, true));
    assert_eq!(said(&LONG.replace("1000000", "10")), (true, false));
}

#[test]
fn what_is_mended_is_silent() {
    assert_eq!(findings("fixed.ptx"), [Value::Null; 0]);
}

/// The witness of a missing barrier has two threads of different warps, and its run the steps of both warps.
#[test]
fn a_run_of_two_warps_shows_both() {
    let all = findings("wrong.ptx");
    let tile = all
        .iter()
        .find(|finding| finding["kernel"] == "filled_tile")
        .unwrap();
    let threads: Vec<u64> = tile["data"]["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| thread.as_u64().unwrap())
        .collect();
    let [writer, reader] = threads[..] else {
        panic!("{tile}");
    };
    assert_ne!(writer / 32, reader / 32);
    let fingerprint = tile["fingerprint"].as_str().unwrap();
    let output = binary::run(["replay", "--fingerprint", &fingerprint[..8], &path("wrong.ptx")]);
    let text = String::from_utf8(output.stdout).unwrap();
    let when = format!(
        "threads {} and {} of the first block",
        writer.min(reader),
        writer.max(reader)
    );
    assert!(text.contains(&when), "{text}");
    let reads = format!("in warp {}, lane {} reads here", reader / 32, reader % 32);
    let writes = format!("in warp {}, lane {} writes here", writer / 32, writer % 32);
    assert!(text.find(&reads) < text.find(&writes), "{text}");
    for warp in [writer / 32, reader / 32] {
        let passes = format!("in warp {warp}, all lanes pass the barrier");
        assert!(text.contains(&passes), "{text}");
    }
}

/// One thread of each block writes to one place.
#[test]
fn a_run_of_two_blocks_shows_both() {
    let path = root().join("corpus/rules/PTX417/fires_on_shared_places.ptx");
    let path = path.to_str().unwrap();
    let output = binary::run(["--format", "json", "-W", "conditional:PTX417", path]);
    let (_, document) = report::document(&output).unwrap();
    let mut all = document["findings"].as_array().unwrap().iter();
    let found = all.find(|finding| finding["kernel"] == "blocks").unwrap();
    assert_eq!(
        (&found["code"], &found["certainty"]),
        (&"PTX417".into(), &"conditional".into())
    );
    let numbers = |key: &str| -> Vec<u64> {
        let numbers = found["data"][key].as_array().unwrap().iter();
        numbers.map(|number| number.as_u64().unwrap()).collect()
    };
    assert_eq!((numbers("threads"), numbers("blocks")), (vec![0, 0], vec![0, 1]));
    let fingerprint = found["fingerprint"].as_str().unwrap();
    let output = binary::run(["replay", "--fingerprint", &fingerprint[..8], path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("2 blocks"), "{text}");
    assert!(
        text.contains("thread 0 of block 0 and thread 0 of block 1"),
        "{text}"
    );
    for block in [0, 1] {
        let writes = format!("in warp 0 of block {block}, lane 0 writes here");
        assert!(text.contains(&writes), "{text}");
    }
}

/// Threads that wait for ever: each warp stands where it waits.
#[test]
fn a_run_that_hangs_shows_where_each_warp_waits() {
    let path = root().join("corpus/rules/PTX421/fires_on_named_barriers.ptx");
    let path = path.to_str().unwrap();
    let output = binary::run(["--format", "json", "-W", "conditional:PTX421", path]);
    let (_, document) = report::document(&output).unwrap();
    let mut all = document["findings"].as_array().unwrap().iter();
    let found = all.find(|finding| finding["kernel"] == "one_less").unwrap();
    let data = &found["data"];
    assert_eq!(
        (&data["operation"], &data["parameters"][0]),
        (&"barrier".into(), &"parameter 1 = 1".into())
    );
    assert_eq!(data["waiting"].as_array().unwrap().len(), 1);
    let fingerprint = found["fingerprint"].as_str().unwrap();
    let output = binary::run(["replay", "--fingerprint", &fingerprint[..8], path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("in warp 1, all lanes come to the barrier and wait"),
        "{text}"
    );
    assert!(text.contains("in warp 1, all lanes wait in vain"), "{text}");
}

#[test]
fn runs_are_shown_by_fingerprint() {
    let all = findings("wrong.ptx");
    let fingerprint = all[0]["fingerprint"].as_str().unwrap();
    let file = path("wrong.ptx");
    let output = binary::run(["replay", "--fingerprint", &fingerprint[..8], &file]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let heads = text.lines().filter(|line| line.contains("PTX"));
    assert_eq!(heads.count(), 1, "{text}");
    assert!(
        text.contains("\n   1  ") && text.contains("pairs.cu:") && text.contains("wrong here"),
        "{text}"
    );

    // With what `check` takes to say how kernels are launched.
    let blocks = ["replay", "--launch-block", "64", "--launch-block", "96"];
    let output = binary::run(
        blocks
            .into_iter()
            .chain(["--assume", "tail_reduce:2 <= 40", &file]),
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("when: blocks of 64 threads"), "{text}");
    assert!(text.contains("in general: whenever parameter 2 is "), "{text}");
    assert!(!text.contains("blocks of 128 threads"), "{text}");

    let none = binary::run(["replay", "--fingerprint", "0000000000000000", &file]);
    assert_eq!(none.status.code(), Some(2));
    let text = String::from_utf8(none.stderr).unwrap();
    assert!(
        text.contains("no conditional finding with the fingerprint"),
        "{text}"
    );
    for wrong in ["12", "xyzw", "12345678901234567"] {
        let output = binary::run(["replay", "--fingerprint", wrong, &file]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

//! Assumptions about kernels' parameters: `[assume]` and `--assume`.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::root;

/// `if (i < n) { __shfl_down_sync(full); … } out = …`
const FORCES: &str = ".version 8.8\n.target sm_90\n.address_size 64\n\
    .visible .entry _Z6forcesPiih(.param .u64 _Z6forcesPiih_param_0, .param .u32 n, .param .u8 _Z6forcesPiih_param_2)\n{\n\
    .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [_Z6forcesPiih_param_0];\n\
    ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nsetp.ge.s32 %p1, %r2, %r1;\n@%p1 bra L;\n\
    shfl.sync.down.b32 %r6|%p2, %r2, 1, 31, -1;\nst.global.u32 [%rd1], %r6;\nL:\nst.global.u32 [%rd1], %r2;\nret;\n}\n";

/// The exit code and what is printed of a check with this configuration.
fn check(configuration: &str, args: &[&str]) -> (Option<i32>, String) {
    let files: &[(&str, &[u8])] = &[
        ("k.ptx", FORCES.as_bytes()),
        ("ptxcheck.toml", configuration.as_bytes()),
    ];
    let folder = folder(files);
    let output = run_in(&folder, &[&["-q", "--format", "concise", "k.ptx"], args].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn witnesses_keep_to_what_is_assumed() {
    let conditional = ["-W", "conditional"];
    let (code, text) = check("", &conditional);
    assert!(code == Some(0) && text.contains("PTX401"), "{text}");
    for right in [
        "[assume.forces]\nn = \"% 32\"\n",
        "[assume.\"_Z6*\"]\n1 = [\"% 32\", \">= 32\"]\n",
        "[assume.\"forces(int*, int, unsigned char)\"]\nn = 64\n",
    ] {
        assert_eq!(check(right, &conditional), (Some(0), String::new()), "{right}");
    }
    let option = ["-W", "conditional", "--assume", "forces:n % 32"];
    assert_eq!(check("", &option), (Some(0), String::new()));
    // Those of the file and of options hold together.
    let option = [
        "-W",
        "conditional",
        "--assume",
        "forces:n >= 1",
        "--assume=forces:1 != 100",
    ];
    let (_, text) = check("[assume.forces]\nn = \"% 5\"\n", &option);
    assert!(text.contains("PTX401"), "{text}");
    // Other findings are as they are.
    let (_, with) = check("[assume.forces]\nn = \"% 32\"\n", &["-W", "potential"]);
    assert_eq!(check("", &["-W", "potential"]).1, with);
}

#[test]
fn an_assumption_that_contradicts_its_kernel_is_an_error_with_its_place() {
    for (condition, reason) in [
        ("3 = \"% 32\"", "the kernel has 3 parameters: numbers 0 to 2"),
        ("2 = 300", "300 is no signed integer of 1 byte"),
        ("\"1+4\" = 1", "the parameter has 4 bytes"),
        (
            "n = [\"% 32\", \"= 33\"]",
            "no value of it is as `n % 32` and `n = 33` say",
        ),
    ] {
        let (code, text) = check(&format!("[assume.forces]\n{condition}\n"), &[]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.starts_with("ptxcheck.toml:2:"), "{text}");
        assert!(
            text.contains("contradicts kernel `forces(int*, int, unsigned char)`"),
            "{text}"
        );
        assert!(text.contains(reason) && text.contains("[PTX908]"), "{text}");
    }
    let (code, text) = check("", &["--assume", "forces:3 % 32"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the assumption `3 % 32` contradicts"), "{text}");
    assert!(text.starts_with("k.ptx"), "{text}");
    assert_eq!(
        check("[assume.forces]\n3 = 1\n", &["-A", "PTX908"]),
        (Some(0), String::new())
    );
}

#[test]
fn an_assumption_about_nothing_is_told_where_that_is_asked_for() {
    let configuration = "[assume.fores]\nn = 1\n[assume.forces]\nm = 1\nn = 2\n";
    assert_eq!(check(configuration, &[]), (Some(0), String::new()));
    let (_, text) = check(configuration, &["--strict-config", "--assume", "k:0 = 3"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(
        lines[0].starts_with("ptxcheck.toml:2:5: warning: no kernel fits the pattern `fores`"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("ptxcheck.toml:4:5: warning: no kernel that fits `forces` is known"),
        "{text}"
    );
    assert!(
        lines[2].contains("no kernel fits the pattern `k` of the assumption `0 = 3`"),
        "{text}"
    );
}

#[test]
fn what_is_no_assumption_is_2() {
    for (args, configuration, wanted) in [
        (&["--assume", "n % 32"][..], "", "is no assumption"),
        (&["--assume", "k:n 32"], "", "is no condition"),
        (&["--assume", "k:n % 0"], "", "a number over 0"),
        (
            &[],
            "[assume.k]\nn = \"32\"\n",
            "ptxcheck.toml:2:5: `32` is no condition",
        ),
        (&[], "[assume]\nn = 3\n", "ptxcheck.toml:2:5: a table is wanted"),
    ] {
        let (code, text) = check(configuration, args);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn assumptions_are_listed() {
    let files: &[(&str, &[u8])] = &[("ptxcheck.toml", b"[assume.\"forces*\"]\nn = [\"% 32\"]\n")];
    let folder = folder(files);
    let output = run_in(&folder, &["config", "--assume", "k:1 <= 8"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("assume.\"forces*\".n = [\"% 32\"]"), "{text}");
    assert!(text.contains("--assume 'k:1 <= 8'"), "{text}");
}

#[test]
fn parameters_have_the_names_of_debug_information() {
    for (file, known, unknown) in [
        (
            "nvcc/activemask_stale.sm_75.G.ptx",
            &[
                "at_once:n % 32",
                "*:out != 0",
                "at_once:_Z7at_oncePii_param_1 = 3",
            ][..],
            "at_once:m",
        ),
        (
            "clang/bare_headers.sm_90.G.ptx",
            &["energy:out != 0", "energy:samples > 0"],
            "energy:n",
        ),
    ] {
        let text = std::fs::read(root().join(format!("corpus/compilers/{file}"))).unwrap();
        let folder = folder(&[("k.ptx", &text)]);
        let with = |option: &str| {
            let strict = [
                "-q",
                "--format",
                "concise",
                "--strict-config",
                "k.ptx",
                "--assume",
                option,
            ];
            String::from_utf8(run_in(&folder, &strict).stdout).unwrap()
        };
        for known in known {
            let text = with(known);
            assert!(
                !text.contains("PTX906") && !text.contains("PTX908"),
                "{file}, {known}: {text}"
            );
        }
        let text = with(&format!("{unknown} % 32"));
        assert!(
            text.contains("ptxcheck: warning: no kernel that fits"),
            "{file}: {text}"
        );
    }
}

#[test]
fn a_witness_names_its_parameters_and_what_would_rule_it_out() {
    let (_, text) = check("", &["-W", "conditional", "--format", "full"]);
    assert!(text.contains("`n` (parameter 1) = 100"), "{text}");
    let wanted = "if it is never called so, say it: `[assume.\"forces\"] n = \"% 128\"` in ptxcheck.toml";
    assert!(text.contains(wanted), "{text}");
    let suggested = "[assume.\"forces\"]\nn = \"% 128\"\n";
    assert_eq!(check(suggested, &["-W", "conditional"]), (Some(0), String::new()));
    let (_, text) = check("", &["-W", "conditional", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let data = &document["findings"][0]["data"];
    assert_eq!(
        data["parameters"],
        serde_json::json!(["parameter 1 = 100"]),
        "{text}"
    );
    assert_eq!(data["parameter_names"], serde_json::json!(["n"]), "{text}");
}

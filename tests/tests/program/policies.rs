//! Policies of audits: values that no GPU has are refused, and parts that nothing is for are reported.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use ptxcheck_tests::fatbin::{Elf, Entry, container};
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::report;
use serde_json::Value;

/// Two kernels in machine code for two targets; the second one lacks one of them.
fn file() -> Vec<u8> {
    let code = |sm, kernels: &[&str]| {
        let kernels: Vec<(&str, &[(u16, u32)])> = kernels.iter().map(|name| (*name, &[][..])).collect();
        Entry::cubin(sm, Elf::cubin(sm, &kernels).bytes())
    };
    container(&[code(80, &["gemm"]), code(90, &["gemm", "tma"])])
}

/// Line and message of each finding of PTX906 about a policy.
fn unused(policy: &str, args: &[&str]) -> Vec<(u64, String)> {
    let text = format!("[audit]\n{policy}");
    let folder = folder(&[("k.fatbin", &file()[..]), ("ptxcheck.toml", text.as_bytes())]);
    let all = [
        &[
            "audit",
            "--format",
            "json",
            "--places",
            "all",
            "--strict-config",
            "k.fatbin",
        ],
        args,
    ]
    .concat();
    let output = run_in(&folder, &all);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report::findings(&document).iter();
    findings
        .filter(|finding| finding["code"] == "PTX906")
        .map(|finding| {
            let line = finding["location"]["line"].as_u64().unwrap_or_default();
            (line, finding["message"].as_str().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn what_matches_something_is_silent() {
    for policy in [
        "gpus = [\"8.0\", \"9.0\"]\nallow-jit = \"8.0\"\nmax-jit = \"1M\"\n",
        "require-block = { \"gemm*\" = 1024 }\nhidden-symbols = \"nothing*\"\n",
        "[[audit.budget]]\nkernels = [\"tma\", \"gemm\"]\ntargets = [\"80\", \"90\"]\nmax-registers = 255\n",
        "gpus = [\"8.0\", \"9.0\"]\n[[audit.by-design]]\nkernel = \"tma\"\ngpu = \"8.0\"\nreason = \"needs TMA\"\n",
        "gpus = [\"8.0\", \"9.0\"]\n[[audit.by-design]]\nkernel = \"*\"\nreason = \"asked for\"\n",
    ] {
        assert_eq!(unused(policy, &[]), [], "{policy}");
    }
    // The option is another list than that of the file.
    assert_eq!(unused("", &["--require-gpu", "9.0", "--max-jit", "1M"]), []);
}

#[test]
fn what_matches_nothing_is_reported() {
    let one = |policy: &str, line: u64, part: &str| {
        let found = unused(policy, &[]);
        let is_it = found.len() == 1 && found[0].0 == line && found[0].1.contains(part);
        assert!(is_it, "{policy}: {found:?}");
    };
    one(
        "require-block = { \"old*\" = 256 }\n",
        2,
        "no kernel fits the pattern `old*`",
    );
    one("max-jit = \"20M\"\n", 2, "`max-jit` is about `gpus`");
    one(
        "gpus = [\"9.0\"]\nallow-jit = [\"12.0\"]\n",
        3,
        "`allow-jit` names 12.0",
    );
    one("[[audit.budget]]\nkernels = \"gemm\"\n", 2, "limits nothing");
    one(
        "[[audit.budget]]\ntargets = \"75\"\nmax-code = \"1M\"\n",
        2,
        "for sm_75, which no machine code",
    );
    one(
        "[[audit.budget]]\nkernels = \"gem\"\nmax-code = \"1M\"\n",
        3,
        "`gem`",
    );
    let excused = |kernel: &str, gpu: &str| {
        format!(
            "gpus = [\"8.0\", \"9.0\"]\n[[audit.by-design]]\nkernel = \"{kernel}\"\ngpu = \"{gpu}\"\nreason = \"x\"\n"
        )
    };
    one(&excused("tma*", "7.5"), 3, "this exception names 7.5");
    one(&excused("tmb*", "8.0"), 4, "no kernel fits the pattern `tmb*`");
    one(&excused("gemm", "8.0"), 3, "load on all its GPUs");
    assert_eq!(
        unused("", &["--require-gpu", "9.0", "--allow-jit", "8.6"]).len(),
        1
    );
}

#[test]
fn an_image_that_is_not_read_may_hold_any_kernel() {
    let closed = Entry {
        kind: 8,
        sm: 90,
        flags: 1,
        content: b"\xed\x43\x4e\x7f".to_vec(),
        ..Entry::default()
    };
    let policy = b"[audit]\nrequire-block = { \"old*\" = 256 }\n";
    let folder = folder(&[("k.fatbin", &container(&[closed])[..]), ("ptxcheck.toml", policy)]);
    let output = run_in(
        &folder,
        &["audit", "--format", "json", "--strict-config", "k.fatbin"],
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!report::codes(&document).contains(&"PTX906"), "{document}");
}

#[test]
fn values_that_no_gpu_has_are_refused() {
    for (policy, place) in [
        (
            "require-sm = [\"90\", \"81\"]\n",
            ":2:21: there is no target `sm_81`",
        ),
        ("require-ptx = \"80a\"\n", ":2:15: there is no target `sm_80a`"),
        (
            "require-block = { \"k\" = 1025 }\n",
            ":2:25: a block has at most 1024 threads",
        ),
        (
            "[[audit.budget]]\nmax-registers = 0\n",
            ":3:17: a thread has 1 to 255 registers",
        ),
        (
            "[[audit.budget]]\nmax-registers = 256\n",
            ":3:17: a thread has 1 to 255 registers",
        ),
        (
            "[[audit.budget]]\ntargets = \"98\"\n",
            ":3:11: there is no target `sm_98`",
        ),
    ] {
        let text = format!("[audit]\n{policy}");
        let folder = folder(&[("k.fatbin", &file()[..]), ("ptxcheck.toml", text.as_bytes())]);
        let output = run_in(&folder, &["audit", "k.fatbin"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && said.contains(place),
            "{policy}: {said}"
        );
    }
    let folder = folder(&[("k.fatbin", &file()[..])]);
    for option in [
        ["--require-sm", "81"],
        ["--require-block", "2048"],
        ["--max-registers", "0"],
    ] {
        let output = run_in(&folder, &["audit", option[0], option[1], "k.fatbin"]);
        assert_eq!(output.status.code(), Some(2), "{option:?}");
    }
}

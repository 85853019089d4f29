//! The formats of findings, as the program writes them: one defect stands on the same line of its source in all of them.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use ptxcheck_tests::binary;
use ptxcheck_tests::folder::{folder, run_in};
use ptxcheck_tests::root;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The source; its fourth line is wrong.
const SOURCE: &str = "\
// größer
__global__ void k(float* out) {
  float v = out[threadIdx.x];
  /* ö */ __syncwarp(0); // <script>alert(1)</script> | `x`
  out[threadIdx.x] = v;
}
";

/// The PTX that nvcc makes of it, as far as it matters: twice, as of an unrolled loop.
const PTX: &str = "\
.version 9.0
.target sm_90
.address_size 64
.file 1 \"src/k.cu\"
.visible .entry _Z1kPf()
{
.loc 1 4 12
bar.warp.sync 0;
bar.warp.sync 0;
ret;
}
";

fn project() -> TempDir {
    folder(&[
        ("src/k.cu", SOURCE.as_bytes()),
        ("build/k.ptx", PTX.as_bytes()),
        ("bad.ptx", b".version 9.0\n.target\n"),
    ])
}

/// The standard output of a run that finds something.
fn found(project: &TempDir, args: &[&str]) -> String {
    let output = run_in(project, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn read(project: &TempDir, file: &str) -> String {
    fs::read_to_string(project.path().join(file)).unwrap()
}

#[test]
fn one_defect_stands_on_its_line_in_every_format() {
    let project = project();
    let formats = ["concise", "sarif", "github", "gitlab", "junit", "json", "html"];
    let outputs: Vec<String> = formats
        .iter()
        .map(|format| format!("{format}=out.{format}"))
        .collect();
    let mut args = vec!["build/k.ptx"];
    for output in &outputs {
        args.extend(["--output", output]);
    }
    let text = found(&project, &args);
    // Text counts characters.
    assert!(text.contains("--> src/k.cu:4:11"), "{text}");
    assert_eq!(text.matches("PTX407").count(), 1, "{text}");
    for format in formats {
        let alone = found(&project, &["build/k.ptx", "-q", "--format", format]);
        if !["json", "junit", "html"].contains(&format) {
            assert_eq!(alone, read(&project, &format!("out.{format}")), "{format}");
        }
    }
    assert!(read(&project, "out.concise").starts_with("src/k.cu:4:12: error: "));

    let sarif: Value = serde_json::from_str(&read(&project, "out.sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(
        place["artifactLocation"],
        json!({"uri": "src/k.cu", "uriBaseId": "%SRCROOT%"})
    );
    // Byte 12 of the line is its 11th UTF-16 unit.
    assert_eq!(
        place["region"],
        json!({"startLine": 4, "startColumn": 11, "endLine": 4, "endColumn": 21})
    );

    let github = read(&project, "out.github");
    assert!(
        github.starts_with("::error file=src/k.cu,line=4,endLine=4,col=11,endColumn=21,title=PTX407 zero-mask::the member mask "),
        "{github}"
    );
    let gitlab: Value = serde_json::from_str(&read(&project, "out.gitlab")).unwrap();
    assert_eq!(
        gitlab[0]["location"],
        json!({"path": "src/k.cu", "lines": {"begin": 4}})
    );
    let junit = read(&project, "out.junit");
    assert!(
        junit.contains("<testcase classname=\"ptxcheck\" name=\"build/k.ptx\">"),
        "{junit}"
    );
    assert!(
        junit.contains(">src/k.cu:4:12: error: the member mask "),
        "{junit}"
    );
    let html = read(&project, "out.html");
    assert!(html.contains("<code>src/k.cu:4:12</code>"), "{html}");
    assert!(html.contains("&lt;script&gt;alert(1)"), "{html}");
}

#[test]
fn sarif_is_what_the_standard_says() {
    let project = project();
    let config = "[[allow]]\nrule = \"PTX407\"\npath = \"src/**\"\nreason = \"known since [2024](x)\"\n";
    fs::write(project.path().join("ptxcheck.toml"), config).unwrap();
    let documents = [
        run_in(
            &project,
            &["build", "bad.ptx", "--format", "sarif", "-W", "potential"],
        ),
        run_in(
            &project,
            &[
                "build",
                "--format",
                "sarif",
                "--sarif-results",
                "definite,potential",
            ],
        ),
        run_in(
            &project,
            &["audit", "build/k.ptx", "bad.ptx", "--format", "sarif"],
        ),
        run_in(
            &project,
            &["build", "--format", "sarif", "--root", "no such folder"],
        ),
    ];
    for output in &documents {
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let problems: Vec<String> = schema()
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{problems:#?}");
    }
    let run = |number: usize| -> Value {
        let document: Value = serde_json::from_slice(&documents[number].stdout).unwrap();
        document["runs"][0].clone()
    };
    // One that counts, about the malformed file, and one that is allowed.
    let results = run(0)["results"].clone();
    assert_eq!(results.as_array().unwrap().len(), 2);
    assert_eq!(
        results[1]["suppressions"][0],
        json!({"kind": "external", "status": "accepted", "justification": "known since [2024] (x)"})
    );
    let invocation = &run(0)["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(
        invocation["toolExecutionNotifications"][0]["descriptor"]["id"],
        "PTX902"
    );
    assert_eq!(run(1)["results"], json!([]));
    let elsewhere = &run(3)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert!(
        elsewhere["uri"].as_str().unwrap().starts_with("file:///"),
        "{elsewhere}"
    );
    let rules = run(0)["tool"]["driver"]["rules"].clone();
    // Rules without a result would be most of the document.
    let results = run(0)["results"].clone();
    let notifications = invocation["toolExecutionNotifications"].as_array().unwrap();
    let named = notifications
        .iter()
        .filter_map(|notification| notification["descriptor"]["id"].as_str());
    let found: BTreeSet<&str> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["ruleId"].as_str().unwrap())
        .chain(named)
        .collect();
    let listed: BTreeSet<&str> = rules
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    assert_eq!(listed, found);
    for rule in rules.as_array().unwrap() {
        assert!(rule["help"]["markdown"].as_str().unwrap().len() > 100, "{rule}");
        let severity = &rule["properties"]["security-severity"];
        assert!(severity.is_null() || severity.is_string(), "{rule}");
    }
}

/// The schema of SARIF, from the sources of the crate that brings it.
fn schema() -> &'static jsonschema::Validator {
    static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked"])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let package = packages
            .iter()
            .find(|package| package["name"] == "serde-sarif")
            .unwrap();
        let manifest = std::path::Path::new(package["manifest_path"].as_str().unwrap());
        let schema = fs::read_to_string(manifest.with_file_name("src").join("schema.json")).unwrap();
        let mut schema: Value = serde_json::from_str(&schema).unwrap();
        // Its pattern of languages, which we do not name, has a bracket too many for a strict reader.
        for object in ["run", "toolComponent"] {
            let language = &mut schema["definitions"][object]["properties"]["language"];
            language.as_object_mut().unwrap().remove("pattern");
        }
        assert_eq!(
            schema["title"],
            "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
        );
        jsonschema::validator_for(&schema).unwrap()
    })
}

#[test]
fn fingerprints_hold_no_path_and_no_line() {
    let fingerprint = |name: &str, source: &str, ptx: &str| {
        let project = folder(&[("src/k.cu", source.as_bytes()), (name, ptx.as_bytes())]);
        let text = found(&project, &[name, "--format", "sarif"]);
        let document: Value = serde_json::from_str(&text).unwrap();
        document["runs"][0]["results"][0]["partialFingerprints"].clone()
    };
    let first = fingerprint("build/k.ptx", SOURCE, PTX);
    assert!(first["ptxcheckFingerprint/v1"].is_string(), "{first}");
    let moved = format!("\n\n{SOURCE}");
    let ptx = PTX
        .replace(".loc 1 4 12", ".loc 1 6 12")
        .replace("sm_90", "sm_80");
    assert_eq!(first, fingerprint("other/name.ptx", &moved, &ptx));
}

#[test]
fn the_summary_of_a_job_is_appended() {
    let project = project();
    fs::write(project.path().join("summary.md"), "# before\n").unwrap();
    let run = |args: &[&str]| {
        let status = binary::command()
            .current_dir(&project)
            .args(args)
            .env("GITHUB_STEP_SUMMARY", project.path().join("summary.md"))
            .output()
            .unwrap();
        assert_eq!(status.status.code(), Some(1), "{status:?}");
    };
    run(&["build"]);
    assert_eq!(read(&project, "summary.md"), "# before\n");
    run(&["build", "--output", "github=commands"]);
    let text = read(&project, "summary.md");
    assert!(
        text.starts_with("# before\n### ptxcheck: 1 error, 0 warnings\n"),
        "{text}"
    );
    assert!(
        text.contains("| error | PTX407 zero-mask | src/k&#46;cu&#58;4, and 1 more | "),
        "{text}"
    );
}

#[test]
fn audits_have_every_format() {
    let project = folder(&[("k.ptx", PTX.as_bytes())]);
    let args = ["audit", "k.ptx", "--require-sm", "90", "--fail-on", "error"];
    let words = |more: &[&'static str]| -> Vec<&'static str> {
        args.iter().copied().chain(more.iter().copied()).collect()
    };
    let text = run_in(
        &project,
        &words(&[
            "--format",
            "text",
            "--output",
            "sarif=a.sarif",
            "--output",
            "json=a.json",
        ]),
    );
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("k.ptx: 1 image"), "{text}");
    let json: Value = serde_json::from_str(&read(&project, "a.json")).unwrap();
    assert!(json["policy"].is_object());
    let sarif: Value = serde_json::from_str(&read(&project, "a.sarif")).unwrap();
    let count = json["findings"].as_array().unwrap().len();
    assert!(count > 0);
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), count);
    let concise = run_in(&project, &words(&["--format", "concise"]));
    assert!(String::from_utf8(concise.stdout).unwrap().starts_with("k.ptx"));
}

#[test]
fn audits_say_what_gpus_load() {
    let project = folder(&[("k.ptx", PTX.as_bytes())]);
    let printed = |args: &[&str]| {
        let all: Vec<&str> = ["audit", "k.ptx"].iter().chain(args).copied().collect();
        let output = run_in(&project, &all);
        String::from_utf8(output.stdout).unwrap()
    };
    let of = |format: &str| printed(&["--gpu", "8.0,12.0", "--format", format]);
    let text = of("text");
    assert!(text.contains("what each GPU loads, of"), "{text}");
    let markdown = of("markdown");
    assert!(markdown.contains("| kernels | 8.0 | 12.0 |"), "{markdown}");
    let page = of("html");
    assert!(
        page.contains("class=\"fails\"") && page.contains("class=\"compiled\""),
        "{page}"
    );
    let bill: Value = serde_json::from_str(&of("cyclonedx")).unwrap();
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let properties = bill["components"][0]["properties"].as_array().unwrap();
    let names: Vec<&str> = properties
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["ptxcheck:forecast:8.0:none", "ptxcheck:forecast:12.0:jit"]
    );
    // Without GPUs there is no forecast.
    let json: Value = serde_json::from_str(&printed(&["--format", "json"])).unwrap();
    assert!(json["forecast"].is_null());
    for wrong in ["8", "9.9", "sm_1"] {
        assert_eq!(
            run_in(&project, &["audit", "k.ptx", "--gpu", wrong])
                .status
                .code(),
            Some(2)
        );
    }
}

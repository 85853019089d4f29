//! `ptxcheck serve --stdio`: requests with bytes, and what becomes of those that fail; and the Python package that speaks to it.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ptxcheck_tests::{binary, missing, root, schema};
use serde_json::{Value, json};

/// A kernel with one definite finding, PTX407.
const WRONG: &str =
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { bar.warp.sync 0; ret; }\n";

struct Server {
    child: Child,
    requests: ChildStdin,
    replies: ChildStdout,
}

impl Server {
    fn start() -> Self {
        let mut child = binary::command()
            .args(["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (requests, replies) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self {
            child,
            requests,
            replies,
        }
    }

    fn ask(&mut self, request: &Value, bytes: &[&[u8]]) -> Value {
        let document = request.to_string();
        let length = u32::try_from(document.len()).unwrap();
        self.requests.write_all(&length.to_le_bytes()).unwrap();
        self.requests.write_all(document.as_bytes()).unwrap();
        for bytes in bytes {
            self.requests.write_all(bytes).unwrap();
        }
        self.requests.flush().unwrap();
        let mut length = [0; 4];
        self.replies.read_exact(&mut length).unwrap();
        let mut reply = vec![0; u32::from_le_bytes(length) as usize];
        self.replies.read_exact(&mut reply).unwrap();
        serde_json::from_slice(&reply).unwrap()
    }

    /// Checks one text.
    fn check(&mut self, options: &[&str]) -> Value {
        let request = json!({
            "id": 7, "method": "check", "options": options, "inputs": [{ "name": "k.ptx", "bytes": WRONG.len() }],
        });
        self.ask(&request, &[WRONG.as_bytes()])
    }

    fn end(mut self) -> Option<i32> {
        drop(self.requests);
        self.child.wait().unwrap().code()
    }
}

fn codes(reply: &Value) -> Vec<&str> {
    let findings = reply["document"]["findings"].as_array().unwrap();
    findings.iter().map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn texts_are_checked_one_after_the_other() {
    let mut server = Server::start();
    for _ in 0..3 {
        let reply = server.check(&[]);
        assert_eq!(reply["id"], 7);
        assert_eq!(codes(&reply), ["PTX407"]);
        assert!(schema::problems(&reply["document"]).is_empty());
    }
    assert!(codes(&server.check(&["-A", "PTX407"])).is_empty());
    assert_eq!(codes(&server.check(&[])), ["PTX407"]);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn reports_are_those_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, WRONG).unwrap();
    let path = path.to_str().unwrap();
    let mut server = Server::start();
    for (method, options) in [("check", ["-W", "potential"]), ("audit", ["--require-sm", "90"])] {
        let request = json!({ "id": 1, "method": method, "options": options, "inputs": [{ "path": path }] });
        let mut reply = server.ask(&request, &[]);
        let output = binary::run([method, path, "--format", "json"].into_iter().chain(options));
        let mut expected: Value = serde_json::from_slice(&output.stdout).unwrap();
        for document in [&mut expected, &mut reply["document"]] {
            document["summary"]["elapsed_ms"] = 0.into();
        }
        assert_eq!(reply["document"], expected);
    }
    let request =
        json!({ "id": 2, "method": "audit", "inputs": [{ "name": "k.ptx", "bytes": WRONG.len() }] });
    let reply = server.ask(&request, &[WRONG.as_bytes()]);
    assert_eq!(reply["document"]["inputs"][0]["kernels"][0]["name"], "k");
}

#[test]
fn what_makes_no_sense_is_said_and_the_next_request_is_answered() {
    let mut server = Server::start();
    for options in [
        &["--frobnicate"][..],
        &["--output", "json=report.json"],
        &["--write-baseline", "known.json"],
        &["--config", "/nowhere.toml"],
    ] {
        let reply = server.check(options);
        assert_eq!(reply["error"]["kind"], "usage", "{reply}");
        assert!(!reply["error"]["message"].as_str().unwrap().is_empty());
    }
    for (method, inputs) in [
        ("check", json!([{ "path": "-" }])),
        ("check", json!([{ "name": "a" }])),
        ("diff", json!([{ "path": "a" }])),
    ] {
        let reply = server.ask(&json!({ "id": 5, "method": method, "inputs": inputs }), &[]);
        assert_eq!(
            (&reply["id"], &reply["error"]["kind"]),
            (&json!(5), &json!("usage")),
            "{reply}"
        );
    }
    assert_eq!(codes(&server.check(&[])), ["PTX407"]);
    let version = server.ask(&json!({ "id": 1, "method": "version" }), &[]);
    assert_eq!(version["document"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_do_not_fit_into_memory_are_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.ptx");
    // Zeros that take no room on the disk: more than is read of what cannot be mapped.
    std::fs::File::create(&path)
        .unwrap()
        .set_len((1 << 30) + 1)
        .unwrap();
    let mut server = Server::start();
    let request = json!({ "id": 1, "method": "audit", "inputs": [{ "path": path.to_str().unwrap() }] });
    let reply = server.ask(&request, &[]);
    assert_eq!(reply["document"]["inputs"][0]["status"], "skipped", "{reply}");
}

#[test]
fn time_that_is_over_is_a_finding_about_each_input() {
    let mut server = Server::start();
    let request = json!({
        "id": 1, "method": "check", "timeout": 0,
        "inputs": [{ "name": "a.ptx", "bytes": WRONG.len() }, { "path": "b.ptx" }],
    });
    let reply = server.ask(&request, &[WRONG.as_bytes()]);
    assert_eq!(codes(&reply), ["PTX903", "PTX903"]);
    assert_eq!(codes(&server.check(&[])), ["PTX407"]);
}

/// The processes that a process has started.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<String> {
    let tasks = format!("/proc/{parent}/task/{parent}/children");
    let text = std::fs::read_to_string(tasks).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_dies_costs_a_finding() {
    let mut server = Server::start();
    assert_eq!(codes(&server.check(&[])), ["PTX407"]);
    let checkers = children(server.child.id());
    assert_eq!(checkers.len(), 1);
    // Stopped, so that it certainly has the request when it dies.
    let signal = |name: &str| Command::new("kill").args([name, &checkers[0]]).status().unwrap();
    assert!(signal("-STOP").success());
    let killer = std::thread::spawn({
        let checker = checkers[0].clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            Command::new("kill").args(["-KILL", &checker]).status().unwrap()
        }
    });
    let reply = server.check(&[]);
    assert!(killer.join().unwrap().success());
    assert_eq!(codes(&reply), ["PTX904"]);
    let message = reply["document"]["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("signal: 9"), "{message}");
    assert_eq!(codes(&server.check(&[])), ["PTX407"]);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn something_else_than_messages_ends_it() {
    let mut server = Server::start();
    server.requests.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    assert_eq!(server.end(), Some(2));
    let output = binary::run(["serve"]);
    assert_eq!(output.status.code(), Some(2));
}

/// The tests of the package in `tools/python`: with Dask and PyArrow where the toolchain has them, else with the interpreter that is
/// there, and without what needs them.
#[test]
fn the_python_package_keeps_its_tests() {
    let installed = root().join(".toolchain/python");
    let python = std::fs::read_to_string(installed.join("python"));
    let python = python.as_deref().map_or("python3", str::trim);
    let is_new = ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"];
    if !Command::new(python)
        .args(is_new)
        .status()
        .is_ok_and(|status| status.success())
    {
        missing::skip("Python 3.10 is not there").unwrap();
        return;
    }
    let package = root().join("tools/python");
    let folders = [package.join("src"), installed.join("packages")];
    let tested = Command::new(python)
        .args(["-m", "unittest", "discover", "--verbose", "--start-directory"])
        .arg(package.join("tests"))
        .env("PYTHONPATH", std::env::join_paths(folders).unwrap())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PTXCHECK_BIN", binary::path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tested.stderr);
    assert!(tested.status.success(), "{said}");
    for needed in ["pyarrow", "dask.distributed", "fsspec"] {
        let is_left_out = said.contains(&format!("{needed} is not installed"));
        assert!(!is_left_out || !installed.exists(), "{said}");
    }
}

//! `ptxcheck lsp`: what an editor is told, and messages that make no sense.

#![allow(clippy::unwrap_used, reason = "a test that fails")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use ptxcheck_tests::folder::run_in;
use ptxcheck_tests::{binary, root};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A kernel with a definite PTX407, on line 4.
const WRONG: &str =
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { bar.warp.sync 0; ret; }\n";

/// The time that an answer may take on a machine with other work.
const SOON: Duration = Duration::from_secs(120);

/// An editor with a server.
struct Editor {
    server: Child,
    requests: Option<ChildStdin>,
    /// What the server sends; closed at its end.
    answers: Receiver<Value>,
    /// Messages that were passed over.
    earlier: Vec<Value>,
    number: i32,
}

impl Editor {
    fn start(args: &[&str]) -> Self {
        let mut server = binary::command()
            .arg("lsp")
            .args(args)
            // Not the folder of the project, which the first message names.
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let mut header = String::new();
                if output.read_line(&mut header).unwrap() == 0 {
                    return;
                }
                let length = header.trim().strip_prefix("Content-Length: ").unwrap();
                let mut bytes = vec![0; length.parse::<usize>().unwrap() + 2];
                output.read_exact(&mut bytes).unwrap();
                if sender.send(serde_json::from_slice(&bytes).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self {
            requests: server.stdin.take(),
            server,
            answers,
            earlier: Vec::new(),
            number: 0,
        }
    }

    /// One that has said what it is able to.
    fn open(folder: &Path, args: &[&str], options: &Value) -> Self {
        let mut editor = Self::start(args);
        let published = json!({ "relatedInformation": true });
        let params = json!({
            "processId": null,
            "rootUri": uri(folder),
            "capabilities": { "textDocument": { "publishDiagnostics": published } },
            "initializationOptions": options,
        });
        let result = &editor.ask("initialize", &params)["result"];
        assert_eq!(result["serverInfo"]["name"], "ptxcheck");
        assert_eq!(result["capabilities"]["textDocumentSync"]["change"], 2);
        editor.tell("initialized", &json!({}));
        editor
    }

    fn write(&mut self, bytes: &[u8]) {
        let requests = self.requests.as_mut().unwrap();
        requests.write_all(bytes).unwrap();
        requests.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let id = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.wait(|message| message["id"] == id)
    }

    /// The next message that is meant, an earlier one that was passed over among them.
    fn wait(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.earlier.iter().position(&is_meant) {
            return self.earlier.remove(at);
        }
        loop {
            let message = self.answers.recv_timeout(SOON).unwrap();
            if is_meant(&message) {
                return message;
            }
            self.earlier.push(message);
        }
    }

    fn open_text(&mut self, uri: &str, language: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
    }

    /// The next diagnostics of a text.
    fn diagnostics(&mut self, uri: &str) -> Value {
        self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri
        })["params"]
            .clone()
    }

    fn at(&mut self, method: &str, uri: &str, line: u32, character: u32) -> Value {
        let position = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": uri }, "position": position });
        self.ask(method, &params)["result"].clone()
    }

    /// Ends the server as editors do.
    fn end(mut self) {
        assert_eq!(self.ask("shutdown", &Value::Null)["result"], Value::Null);
        self.tell("exit", &Value::Null);
        self.must_end_with(0);
    }

    /// Waits for the end of the server, which has an exit code and no panic.
    fn must_end_with(mut self, code: i32) -> String {
        self.requests = None;
        let status = self.server.wait().unwrap();
        let mut said = String::new();
        self.server
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert!(!said.contains("internal error"), "{said}");
        assert_eq!(status.code(), Some(code), "{said}");
        said
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A folder with a source, and a subfolder with the PTX that a compiler made of it.
fn project() -> TempDir {
    let folder = folder();
    let demo = root().join("corpus/demo");
    fs::create_dir(folder.path().join("build")).unwrap();
    for (from, to) in [
        ("partial_warp.cu", "partial_warp.cu"),
        ("partial_warp.ptx", "build/partial_warp.ptx"),
    ] {
        fs::copy(demo.join(from), folder.path().join(to)).unwrap();
    }
    folder
}

#[test]
fn a_text_is_checked_as_it_is_edited() {
    let folder = folder();
    let docs = "docs = \"https://docs.example\"\n";
    fs::write(folder.path().join("ptxcheck.toml"), docs).unwrap();
    let mut editor = Editor::open(folder.path(), &["--stdio"], &Value::Null);
    // Not saved: the text is the editor's.
    let uri = uri(&folder.path().join("k.ptx"));
    editor.open_text(&uri, "ptx", WRONG);
    let published = editor.diagnostics(&uri);
    assert_eq!(published["version"], 1);
    let [one] = published["diagnostics"].as_array().unwrap().as_slice() else {
        panic!("{published}")
    };
    assert_eq!(
        one["range"],
        json!({ "start": { "line": 3, "character": 22 }, "end": { "line": 3, "character": 38 } })
    );
    assert_eq!((&one["code"], &one["severity"]), (&json!("PTX407"), &json!(1)));
    assert_eq!(
        one["codeDescription"]["href"],
        "https://docs.example/rules/PTX407.html"
    );
    assert!(
        one["message"].as_str().unwrap().contains("\nhelp: "),
        "{published}"
    );
    let hover = editor.at("textDocument/hover", &uri, 3, 30);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(
        text.starts_with("**PTX407 zero-mask**") && text.contains("## "),
        "{text}"
    );
    assert_eq!(editor.at("textDocument/hover", &uri, 0, 0), Value::Null);
    // The mask names all lanes.
    let range = json!({ "start": { "line": 3, "character": 36 }, "end": { "line": 3, "character": 37 } });
    let change = json!({
        "textDocument": { "uri": uri, "version": 2 },
        "contentChanges": [{ "range": range, "text": "-1" }],
    });
    editor.tell("textDocument/didChange", &change);
    let published = editor.diagnostics(&uri);
    assert_eq!(
        (&published["version"], &published["diagnostics"]),
        (&json!(2), &json!([]))
    );
    editor.tell(
        "textDocument/didChange",
        &json!({ "textDocument": { "uri": uri, "version": 3 }, "contentChanges": [{ "text": WRONG }] }),
    );
    assert_eq!(
        editor.diagnostics(&uri)["diagnostics"].as_array().unwrap().len(),
        1
    );
    editor.tell(
        "textDocument/didClose",
        &json!({ "textDocument": { "uri": uri } }),
    );
    assert_eq!(editor.diagnostics(&uri)["diagnostics"], json!([]));
    editor.end();
}

/// Texts in the editor alone, with errors in their syntax or none at all, with another configuration.
#[test]
fn a_text_can_be_wrong_empty_or_without_a_file() {
    let folder = folder();
    let mut editor = Editor::open(folder.path(), &["-A", "PTX407"], &Value::Null);
    for (uri, text, codes) in [
        ("untitled:1", WRONG, &[][..]),
        ("untitled:empty", "", &[]),
        (
            "untitled:half",
            ".version 9.0\n.target sm_90\n.visible .entry k() { bar.warp.sync",
            &["PTX902", "PTX902"],
        ),
    ] {
        editor.open_text(uri, "ptx", text);
        let published = editor.diagnostics(uri);
        let found = published["diagnostics"].as_array().unwrap();
        let found: Vec<&str> = found.iter().map(|one| one["code"].as_str().unwrap()).collect();
        assert_eq!(found, codes, "{published}");
    }
    fs::write(folder.path().join("ptxcheck.toml"), "lunch = 1\n").unwrap();
    let uri = uri(&folder.path().join("k.ptx"));
    editor.open_text(&uri, "ptx", WRONG);
    let said = editor.wait(|message| message["method"] == "window/showMessage");
    let message = said["params"]["message"].as_str().unwrap();
    assert!(message.contains("ptxcheck.toml:1:1"), "{message}");
    editor.end();
}

#[test]
#[cfg(feature = "ir")]
fn llvm_ir_and_mlir_are_checked() {
    let folder = folder();
    let mut editor = Editor::open(folder.path(), &[], &Value::Null);
    for (file, line) in [
        ("corpus/ir/lines_of_text.ll", 12),
        #[cfg(feature = "mlir")]
        ("corpus/mlir/masks.mlir", 8),
    ] {
        let path = root().join(file);
        let uri = uri(&path);
        editor.open_text(&uri, "", &fs::read_to_string(&path).unwrap());
        let published = editor.diagnostics(&uri);
        assert_eq!(
            published["diagnostics"][0]["range"]["start"]["line"], line,
            "{published}"
        );
    }
    editor.end();
}

/// The first line of a result of `ptxcheck` about the demo.
const DEFECT: &str = "PTX401";

#[test]
fn sources_are_marked_by_the_files_of_the_last_build() {
    let folder = project();
    let source = uri(&folder.path().join("partial_warp.cu"));
    let mut editor = Editor::open(folder.path(), &[], &json!({ "build": "build" }));
    editor.open_text(&source, "cuda-cpp", "");
    let published = editor.diagnostics(&source);
    let one = &published["diagnostics"][0];
    assert_eq!(one["code"], DEFECT, "{published}");
    let line = u32::try_from(one["range"]["start"]["line"].as_u64().unwrap()).unwrap();
    let text = fs::read_to_string(folder.path().join("partial_warp.cu")).unwrap();
    let marked = text
        .lines()
        .nth(usize::try_from(line).unwrap())
        .unwrap_or_default();
    assert!(marked.contains("__shfl"), "{marked}");
    let related = one["relatedInformation"].as_array().unwrap();
    let places = editor.at("textDocument/definition", &source, line, 0);
    let places = places.as_array().unwrap();
    let compiled = uri(&folder.path().join("build/partial_warp.ptx"));
    assert!(places.iter().any(|place| place["uri"] == *compiled), "{places:?}");
    assert_eq!(related.len(), places.len());
    let hover = editor.at("textDocument/hover", &source, line, 0);
    assert!(
        hover["contents"]["value"].as_str().unwrap().contains(DEFECT),
        "{hover}"
    );
    // The compiled text leads back.
    let text = fs::read_to_string(folder.path().join("build/partial_warp.ptx")).unwrap();
    editor.open_text(&compiled, "ptx", &text);
    let published = editor.diagnostics(&compiled);
    let range = &published["diagnostics"][0]["range"]["start"];
    let at = |key: &str| u32::try_from(range[key].as_u64().unwrap()).unwrap();
    let places = editor.at("textDocument/definition", &compiled, at("line"), at("character"));
    assert_eq!(
        (&places[0]["uri"], &places[0]["range"]["start"]["line"]),
        (&json!(source), &json!(line))
    );
    // A build without the defect.
    fs::write(folder.path().join("build/partial_warp.ptx"), "").unwrap();
    assert_eq!(editor.diagnostics(&source)["diagnostics"], json!([]));
    editor.end();
}

#[test]
fn sources_are_marked_by_a_sarif_file() {
    let folder = project();
    let source = uri(&folder.path().join("partial_warp.cu"));
    let mut editor = Editor::open(folder.path(), &["--sarif", "found.sarif"], &Value::Null);
    // No build yet.
    editor.open_text(&source, "cuda-cpp", "");
    let output = run_in(&folder, &["--output", "sarif=found.sarif", "build"]);
    assert_eq!(output.status.code(), Some(1));
    let published = editor.diagnostics(&source);
    assert_eq!(published["diagnostics"][0]["code"], DEFECT, "{published}");
    fs::write(folder.path().join("found.sarif"), "{").unwrap();
    let said = editor.wait(|message| message["method"] == "window/showMessage");
    assert!(
        said["params"]["message"]
            .as_str()
            .unwrap()
            .contains("found.sarif"),
        "{said}"
    );
    fs::remove_file(folder.path().join("found.sarif")).unwrap();
    assert_eq!(editor.diagnostics(&source)["diagnostics"], json!([]));
    editor.end();
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut editor = Editor::start(&[]);
    let code = |answer: &Value| answer["error"]["code"].as_i64().unwrap();
    assert_eq!(
        code(&editor.ask("textDocument/hover", &Value::Null)),
        -32002,
        "before `initialize`"
    );
    assert_eq!(code(&editor.ask("initialize", &json!([1]))), -32602);
    let params = json!({ "capabilities": {}, "initializationOptions": { "build": 3 } });
    assert!(editor.ask("initialize", &params)["result"].is_object());
    assert_eq!(code(&editor.ask("initialize", &params)), -32600, "a second time");
    for wrong in ["", "{", "[]", "{\"id\":3}", "\u{0}", &"[".repeat(100_000)] {
        editor.write(format!("Content-Length: {}\r\n\r\n{wrong}", wrong.len()).as_bytes());
        let answer = editor.wait(|message| message["error"].is_object());
        assert_eq!((code(&answer), &answer["id"]), (-32700, &Value::Null));
    }
    for (method, params, refused) in [
        ("textDocument/completion", Value::Null, -32601),
        ("", Value::Null, -32601),
        ("textDocument/hover", Value::Null, -32602),
        ("textDocument/definition", json!({ "textDocument": 3 }), -32602),
        (
            "textDocument/hover",
            json!({ "textDocument": { "uri": "::" }, "position": { "line": -1, "character": 1 } }),
            -32602,
        ),
    ] {
        assert_eq!(code(&editor.ask(method, &params)), refused, "{method}");
    }
    // Notifications have no answer.
    for method in [
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didSave",
        "textDocument/didClose",
        "$/setTrace",
    ] {
        for params in [
            Value::Null,
            json!([]),
            json!({ "textDocument": { "uri": "a:b", "version": 9 } }),
        ] {
            editor.tell(method, &params);
        }
    }
    let uri = "file:///no/such/k.ptx";
    editor.open_text(uri, "ptx", WRONG);
    let far = json!({ "line": u32::MAX, "character": u32::MAX });
    let ranges = [
        json!({ "start": far, "end": { "line": 0, "character": 0 } }),
        json!({ "start": far, "end": far }),
    ];
    for (version, range) in (2..).zip(ranges) {
        let change = json!({
            "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "range": range, "text": WRONG }],
        });
        editor.tell("textDocument/didChange", &change);
    }
    assert_eq!(
        editor.at("textDocument/hover", uri, u32::MAX, u32::MAX),
        Value::Null
    );
    assert_eq!(editor.ask("shutdown", &Value::Null)["result"], Value::Null);
    assert_eq!(code(&editor.ask("textDocument/hover", &Value::Null)), -32600);
    editor.tell("exit", &Value::Null);
    editor.must_end_with(0);
}

#[test]
fn a_text_that_is_too_large_is_not_checked() {
    let folder = folder();
    let mut editor = Editor::open(folder.path(), &[], &Value::Null);
    editor.open_text("untitled:1", "ptx", &" ".repeat((64 << 20) + 1));
    let published = editor.diagnostics("untitled:1");
    let message = published["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.contains("larger than 67108864 bytes"), "{message}");
    editor.end();
}

#[test]
fn closed_pipes_end_the_server() {
    let folder = folder();
    let editor = Editor::open(folder.path(), &[], &Value::Null);
    // Without `shutdown`.
    editor.must_end_with(1);
    for (bytes, said) in [
        (&b"Content-Length: 99999999999999999999\r\n\r\n"[..], "no number"),
        (b"GET / HTTP/1.1\r\n\r\n", "without `:`"),
        (
            b"Content-Length: 100\r\n\r\n{",
            "failed to fill whole buffer|unexpected end of file",
        ),
    ] {
        let mut editor = Editor::start(&[]);
        editor.write(bytes);
        let text = editor.must_end_with(2);
        assert!(said.split('|').any(|said| text.contains(said)), "{text}");
    }
    // An editor that reads no more.
    let mut server = binary::command()
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(server.stdout.take());
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#;
    let message = format!("Content-Length: {}\r\n\r\n{request}", request.len()).repeat(3);
    let _ = server.stdin.as_mut().unwrap().write_all(message.as_bytes());
    let output = server.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// The option that other servers need is taken, and a wrong one is a usage error.
#[test]
fn options_are_those_of_a_check() {
    let ended = |args: &[&str]| {
        let mut command: Command = binary::command();
        let output = command
            .arg("lsp")
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(
        ended(&["--stdio", "-W", "potential", "--launch-block", "256"]).0,
        Some(1)
    );
    let (code, said) = ended(&["-W", "no-such-rule"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("no-such-rule"), "{said}");
}

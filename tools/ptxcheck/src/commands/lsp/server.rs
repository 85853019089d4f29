//! The state of the server, and what it does at an event.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, GotoDefinitionParams, HoverParams, HoverProviderCapability, InitializeParams,
    InitializeResult, MessageType, OneOf, PublishDiagnosticsParams, ServerCapabilities, ServerInfo,
    ShowMessageParams, TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri,
};
use ptxcheck_report::marks::{Mark, Region};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::build::{self, Build};
use super::checks::{self, Job};
use super::documents::{Document, MAX_TEXT};
use super::events::{Built, Checked, Event};
use super::{LspArgs, answers, messages, uris};
use crate::exit::Exit;
use crate::output;

/// Time without a change after which a changed text is checked.
const PAUSE: Duration = Duration::from_millis(300);

/// Time to wait where nothing is due.
const LONG: Duration = Duration::from_secs(3600);

/// Most texts that may be open.
const MAX_DOCUMENTS: usize = 10_000;

/// `initializationOptions`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    build: Option<PathBuf>,
    sarif: Option<PathBuf>,
}

/// The part of its life that the server is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Uninitialised,
    Running,
    ShutDown,
}

/// The server.
pub(super) struct Server<W> {
    args: Arc<LspArgs>,
    events: Sender<Event>,
    output: W,
    phase: Phase,
    /// The editor shows the other places of a diagnostic.
    has_related: bool,
    /// The open texts, by their URIs.
    documents: BTreeMap<String, Document>,
    /// The thread that checks texts, and the text that it has.
    checks: Option<Sender<Job>>,
    in_check: Option<String>,
    /// The marks of each build.
    built: BTreeMap<usize, Vec<Mark>>,
    /// The published marks, by URI.
    shown: BTreeMap<String, Vec<Mark>>,
    /// The messages that were shown, each once.
    said: BTreeSet<String>,
}

impl<W: Write> Server<W> {
    /// A server that was asked for nothing yet.
    pub(super) fn new(args: Arc<LspArgs>, events: Sender<Event>, output: W) -> Self {
        Self {
            args,
            events,
            output,
            phase: Phase::Uninitialised,
            has_related: false,
            documents: BTreeMap::new(),
            checks: None,
            in_check: None,
            built: BTreeMap::new(),
            shown: BTreeMap::new(),
            said: BTreeSet::new(),
        }
    }

    /// Handles events until the editor is gone.
    ///
    /// # Errors
    ///
    /// If nothing can be written.
    pub(super) fn run(mut self, events: &Receiver<Event>) -> io::Result<Exit> {
        loop {
            let event = match events.recv_timeout(self.time_to_wait()) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Clean),
            };
            match event {
                None => {}
                Some(Event::Closed(None)) => return Ok(self.end()),
                Some(Event::Closed(Some(problem))) => {
                    return Ok(output::complain(&format!(
                        "the editor's messages end here: {problem}"
                    )));
                }
                Some(Event::Wrong(problem)) => messages::write_parse_error(&mut self.output, &problem)?,
                Some(Event::Message(Message::Notification(one))) if one.method == "exit" => {
                    return Ok(self.end());
                }
                Some(Event::Message(Message::Request(request))) => {
                    let response = self.respond(request);
                    self.send(response)?;
                }
                Some(Event::Message(Message::Notification(one))) => self.notice(one)?,
                // Nothing was asked.
                Some(Event::Message(Message::Response(_))) => {}
                Some(Event::Checked(checked)) => self.take_checked(checked)?,
                Some(Event::Built(built)) => self.take_built(built)?,
            }
            self.check_next()?;
        }
    }

    /// The protocol wants 1 where `exit` comes without `shutdown`.
    fn end(&self) -> Exit {
        match self.phase {
            Phase::ShutDown => Exit::Clean,
            Phase::Uninitialised | Phase::Running => Exit::Findings,
        }
    }

    fn send(&mut self, message: impl Into<Message>) -> io::Result<()> {
        messages::write(&mut self.output, &message.into())
    }

    fn respond(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        match (self.phase, method.as_str()) {
            (Phase::Uninitialised, "initialize") => match parse(params) {
                Ok(params) => match self.initialise(params) {
                    Ok(result) => Response::new_ok(id, result),
                    Err(error) => refuse(id, ErrorCode::InternalError, error.to_string()),
                },
                Err(problem) => refuse(id, ErrorCode::InvalidParams, problem),
            },
            (Phase::Uninitialised, _) => refuse(
                id,
                ErrorCode::ServerNotInitialized,
                "`initialize` comes first".to_owned(),
            ),
            (Phase::ShutDown, _) => refuse(
                id,
                ErrorCode::InvalidRequest,
                "the server is shut down".to_owned(),
            ),
            (Phase::Running, "shutdown") => {
                self.phase = Phase::ShutDown;
                Response::new_ok(id, Value::Null)
            }
            (Phase::Running, "textDocument/hover") => match parse::<HoverParams>(params) {
                Ok(params) => {
                    let (marks, position) = self.marks_at(&params.text_document_position_params);
                    Response::new_ok(id, answers::hover(marks, position))
                }
                Err(problem) => refuse(id, ErrorCode::InvalidParams, problem),
            },
            (Phase::Running, "textDocument/definition") => match parse::<GotoDefinitionParams>(params) {
                Ok(params) => {
                    let (marks, position) = self.marks_at(&params.text_document_position_params);
                    Response::new_ok(id, answers::definition(marks, position))
                }
                Err(problem) => refuse(id, ErrorCode::InvalidParams, problem),
            },
            (Phase::Running, "initialize") => refuse(
                id,
                ErrorCode::InvalidRequest,
                "`initialize` was sent before".to_owned(),
            ),
            (Phase::Running, _) => refuse(
                id,
                ErrorCode::MethodNotFound,
                "the server has no such method".to_owned(),
            ),
        }
    }

    fn marks_at(&self, place: &TextDocumentPositionParams) -> (&[Mark], lsp_types::Position) {
        let marks = self.shown.get(place.text_document.uri.as_str());
        (marks.map_or(&[], Vec::as_slice), place.position)
    }

    fn initialise(&mut self, params: InitializeParams) -> io::Result<InitializeResult> {
        let documents = params.capabilities.text_document;
        let published = documents.and_then(|documents| documents.publish_diagnostics);
        self.has_related = published
            .and_then(|published| published.related_information)
            .unwrap_or_default();
        let folders = params.workspace_folders.unwrap_or_default();
        #[allow(deprecated, reason = "older editors name the folder so")]
        let root = folders
            .first()
            .map(|folder| &folder.uri)
            .or(params.root_uri.as_ref());
        let root = root
            .and_then(|uri| uris::path_of(uri.as_str()))
            .map_or_else(std::env::current_dir, Ok)?;
        // Compilers name sources relative to the folder of a project. An editor may start the server anywhere.
        let _ = std::env::set_current_dir(&root);
        // Options of another client are none of ours.
        let options = params
            .initialization_options
            .map(serde_json::from_value::<Options>);
        let options = options.and_then(Result::ok).unwrap_or_default();
        let folder = self.args.build.clone().or(options.build);
        let file = self.args.sarif.clone().or(options.sarif);
        let folder = folder.map(|folder| Build::Folder(root.join(folder)));
        let file = file.map(|file| Build::Sarif(root.join(file), root.clone()));
        for (index, build) in folder.into_iter().chain(file).enumerate() {
            build::watch(index, build, Arc::clone(&self.args), self.events.clone())?;
        }
        self.checks = Some(checks::start(Arc::clone(&self.args), self.events.clone())?);
        self.phase = Phase::Running;
        Ok(InitializeResult {
            capabilities: ServerCapabilities {
                text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(TextDocumentSyncSaveOptions::Supported(true)),
                    ..TextDocumentSyncOptions::default()
                })),
                hover_provider: Some(HoverProviderCapability::Simple(true)),
                definition_provider: Some(OneOf::Left(true)),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "ptxcheck".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    /// Handles a notification. One that is not known or makes no sense is ignored: nobody waits for an answer.
    fn notice(&mut self, one: Notification) -> io::Result<()> {
        if self.phase != Phase::Running {
            return Ok(());
        }
        match one.method.as_str() {
            "textDocument/didOpen" => {
                if let Ok(DidOpenTextDocumentParams {
                    text_document: opened,
                }) = parse(one.params)
                    && self.documents.len() < MAX_DOCUMENTS
                {
                    let uri = opened.uri.as_str().to_owned();
                    let document = Document::new(&uri, &opened.language_id, opened.version, opened.text);
                    self.documents.insert(uri, document);
                    self.publish_built()?;
                }
            }
            "textDocument/didChange" => {
                if let Ok(DidChangeTextDocumentParams {
                    text_document,
                    content_changes,
                }) = parse(one.params)
                    && let Some(document) = self.documents.get_mut(text_document.uri.as_str())
                {
                    document.change(text_document.version, content_changes);
                    document.due = document.text.is_some().then(|| Instant::now() + PAUSE);
                }
            }
            "textDocument/didSave" => {
                if let Ok(DidSaveTextDocumentParams { text_document, .. }) = parse(one.params)
                    && let Some(document) = self.documents.get_mut(text_document.uri.as_str())
                {
                    document.due = document.text.is_some().then(Instant::now);
                }
            }
            "textDocument/didClose" => {
                if let Ok(DidCloseTextDocumentParams { text_document }) = parse(one.params)
                    && let Some(document) = self.documents.remove(text_document.uri.as_str())
                {
                    if document.text.is_some() {
                        self.publish(text_document.uri.as_str(), Vec::new(), None)?;
                    }
                    self.publish_built()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn time_to_wait(&self) -> Duration {
        if self.in_check.is_some() {
            return LONG;
        }
        let due = self.documents.values().filter_map(|document| document.due).min();
        due.map_or(LONG, |due| due.saturating_duration_since(Instant::now()))
    }

    /// Has the text that is due be checked, if no other one is.
    fn check_next(&mut self) -> io::Result<()> {
        if self.in_check.is_some() {
            return Ok(());
        }
        let now = Instant::now();
        let due = self.documents.iter_mut();
        let due = due.filter(|(_, document)| document.due.is_some_and(|due| due <= now));
        let Some((uri, document)) = due.min_by_key(|(_, document)| document.due) else {
            return Ok(());
        };
        document.due = None;
        let (uri, version) = (uri.clone(), document.version);
        let text = document.text.as_deref().unwrap_or_default();
        if text.len() > MAX_TEXT {
            let message = format!("the text is not checked: it is larger than {MAX_TEXT} bytes");
            let marks = vec![at_beginning(document.path.as_deref(), message)];
            return self.publish(&uri, marks, Some(version));
        }
        // A file that is begun is not one without device code.
        if text.trim().is_empty() {
            return self.publish(&uri, Vec::new(), Some(version));
        }
        let job = Job {
            uri: uri.clone(),
            version,
            path: document.path.clone(),
            text: text.to_owned(),
        };
        if self
            .checks
            .as_ref()
            .is_some_and(|checks| checks.send(job).is_ok())
        {
            self.in_check = Some(uri);
        }
        Ok(())
    }

    fn take_checked(&mut self, checked: Checked) -> io::Result<()> {
        self.in_check = None;
        let Checked { uri, version, marks } = checked;
        // Of an older version, or of a text that was closed, nothing is said: the newer one is due.
        let is_current = self
            .documents
            .get(&uri)
            .is_some_and(|document| document.version == version && document.text.is_some());
        match marks {
            Ok(marks) if is_current => self.publish(&uri, marks, Some(version)),
            Ok(_) => Ok(()),
            Err(problem) => self.say(&problem),
        }
    }

    fn take_built(&mut self, built: Built) -> io::Result<()> {
        match built.marks {
            Ok(marks) => {
                self.built.insert(built.index, marks);
                self.publish_built()
            }
            Err(problem) => self.say(&problem),
        }
    }

    /// Publishes the marks of the builds that are not published yet; a text that is checked has its own.
    fn publish_built(&mut self) -> io::Result<()> {
        let mut wanted: BTreeMap<String, Vec<Mark>> = BTreeMap::new();
        for mark in self.built.values().flatten() {
            let path = Path::new(&mark.file);
            let open = self.documents.iter();
            let open = open.filter(|(_, document)| document.path.as_deref() == Some(path));
            let uri = match open.clone().next() {
                Some((_, document)) if document.text.is_some() => continue,
                Some((uri, _)) => uri.clone(),
                None => uris::uri_of(path),
            };
            wanted.entry(uri).or_default().push(mark.clone());
        }
        let is_own = |uri: &String| {
            let document = self.documents.get(uri);
            document.is_some_and(|document| document.text.is_some())
        };
        let gone = self.shown.iter();
        let gone =
            gone.filter(|(uri, marks)| !marks.is_empty() && !wanted.contains_key(*uri) && !is_own(uri));
        let gone: Vec<String> = gone.map(|(uri, _)| uri.clone()).collect();
        for uri in gone {
            self.publish(&uri, Vec::new(), None)?;
        }
        for (uri, marks) in wanted {
            if self.shown.get(&uri) != Some(&marks) {
                self.publish(&uri, marks, None)?;
            }
        }
        Ok(())
    }

    fn publish(&mut self, uri: &str, marks: Vec<Mark>, version: Option<i32>) -> io::Result<()> {
        let Ok(parsed) = Uri::from_str(uri) else {
            return Ok(());
        };
        let diagnostics = marks
            .iter()
            .map(|mark| answers::diagnostic(mark, self.has_related))
            .collect();
        self.shown.insert(uri.to_owned(), marks);
        self.send(Notification::new(
            "textDocument/publishDiagnostics".to_owned(),
            PublishDiagnosticsParams {
                uri: parsed,
                diagnostics,
                version,
            },
        ))
    }

    /// Shows a message in the editor, once.
    fn say(&mut self, message: &str) -> io::Result<()> {
        if !self.said.insert(message.to_owned()) {
            return Ok(());
        }
        self.send(Notification::new(
            "window/showMessage".to_owned(),
            ShowMessageParams {
                typ: MessageType::ERROR,
                message: format!("ptxcheck: {message}"),
            },
        ))
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}

fn refuse(id: RequestId, code: ErrorCode, message: String) -> Response {
    Response::new_err(id, code as i32, message)
}

/// A mark about a text as a whole.
fn at_beginning(path: Option<&Path>, message: String) -> Mark {
    Mark {
        file: path
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default(),
        region: Region {
            line: 1,
            column: 1,
            end_line: 1,
            end_column: 2,
        },
        level: ptxcheck_passes::rule::Level::Warning,
        code: String::new(),
        page: None,
        message,
        others: Vec::new(),
    }
}

//! A document as diagnostics: those of its findings that are reported, and their words.

use std::fmt::Write as _;

use crate::document::{Document, Finding, Frame, Place, VERSION};
use crate::limits;

/// A diagnostic of the compilation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    pub(crate) kind: Kind,
    /// The first line is the message.
    pub(crate) message: String,
    /// The kernel that a finding is in or is reached from, where there is one.
    pub(crate) kernel: String,
    /// The function that it is in.
    pub(crate) function: String,
    /// The place in the source; `None` where no line is known.
    pub(crate) place: Option<Frame>,
}

/// The order is that of the output: opt ends at the first error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Something was not checked: a warning without a place.
    Failure,
    /// A finding that the compilation survives.
    Warning,
    /// A finding that ends it.
    Error,
}

impl Diagnostic {
    pub(crate) fn failure(message: &str) -> Self {
        Self {
            kind: Kind::Failure,
            message: format!("ptxcheck: {message}"),
            kernel: String::new(),
            function: String::new(),
            place: None,
        }
    }
}

/// The exit codes of `ptxcheck` with which it has printed a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// 0: nothing that is found fails a build.
    Clean,
    /// 1: something does. Options such as `--fail-on` decide.
    Fails,
    /// 2: not all could be checked.
    Undone,
}

/// Rules about what could not be checked. The document has that a second time, for each input.
const UNCHECKED: [&str; 4] = ["PTX901", "PTX902", "PTX903", "PTX904"];

/// The diagnostics of a document, in the order of the output. `has_lines` says whether the module has line information.
///
/// # Errors
///
/// A sentence if it is not such a document.
pub(crate) fn of_document(text: &[u8], verdict: Verdict, has_lines: bool) -> Result<Vec<Diagnostic>, String> {
    let document: Document = serde_json::from_slice(text).map_err(|_| "it printed no document".to_owned())?;
    if document.schema_version != VERSION {
        return Err(format!(
            "its document is of version {}, and the plugin reads version {VERSION}",
            document.schema_version
        ));
    }
    let problems = document.inputs.iter().flat_map(|input| &input.errors);
    let mut all: Vec<Diagnostic> = problems
        .map(|problem| Diagnostic::failure(&format!("not checked: {} [{}]", problem.message, problem.code)))
        .collect();
    let found: Vec<&Finding> = document
        .findings
        .iter()
        .filter(|finding| finding.suppressed.is_none() && !UNCHECKED.contains(&finding.code.as_str()))
        .collect();
    let is_error = |finding: &&Finding| finding.level == "error";
    let has_errors = found.iter().any(is_error);
    let kind = |finding: &&Finding| match verdict {
        Verdict::Clean => Kind::Warning,
        // Without an error, it is the warnings that the program failed for.
        Verdict::Fails if !has_errors => Kind::Error,
        _ if is_error(finding) => Kind::Error,
        _ => Kind::Warning,
    };
    all.extend(found.iter().take(limits::DIAGNOSTICS).map(|finding| Diagnostic {
        kind: kind(finding),
        message: message(finding, has_lines),
        kernel: finding.kernel.clone().unwrap_or_default(),
        function: finding.function.clone().unwrap_or_default(),
        place: finding.source.as_ref().map(|source| source.at.clone()),
    }));
    if let rest @ 1.. = found.len().saturating_sub(limits::DIAGNOSTICS) {
        all.push(Diagnostic::failure(&format!(
            "{rest} more findings are not shown"
        )));
    }
    all.sort_by_key(|diagnostic| diagnostic.kind);
    Ok(all)
}

const NO_LINE: &str =
    "the compilation has no line information: -gline-tables-only or -Rpass=ptxcheck gives it";

/// `the mask is 0 [PTX407 zero-mask]`, then a line for each thing that is known besides.
fn message(finding: &Finding, has_lines: bool) -> String {
    let own = finding.message_here.as_ref().unwrap_or(&finding.message);
    let mut text = format!("{own} [{} {}]", finding.code, finding.name);
    let mut add = |what: &str, of: &str| {
        // Writing to a string can't fail.
        let _ = write!(text, "\n  = {what}{of}");
    };
    if let (None, Some(name)) = (
        &finding.source,
        finding.kernel.as_ref().or(finding.function.as_ref()),
    ) {
        add("in ", &format!("`{name}`"));
    }
    for call in finding.source.iter().flat_map(|source| &source.inlined_at) {
        add("called at ", &position(call));
    }
    for related in &finding.related {
        // Without a line, there is nothing that "here" could mean.
        if let Some(source) = &related.source {
            add(&format!("{}: ", position(&source.at)), &related.message);
        }
    }
    for note in &finding.notes {
        add("note: ", note);
    }
    for help in &finding.help {
        add("help: ", help);
    }
    if !has_lines {
        add("note: ", NO_LINE);
    }
    let others = further(finding);
    if !others.is_empty() {
        add("also ", &others);
    }
    text
}

/// The further places of a finding.
fn further(finding: &Finding) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut left_out = finding.places_left_out;
    for place in &finding.places {
        let place = further_place(finding, place);
        if shown.contains(&place) {
            continue;
        }
        if shown.len() < limits::FURTHER_PLACES {
            shown.push(place);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        shown.push(format!("in {left_out} more places"));
    }
    shown.join(", ")
}

/// Its line, where that is another, else the function that it is compiled into.
fn further_place(finding: &Finding, place: &Place) -> String {
    let first = finding.source.as_ref().map(|source| &source.at);
    match (&place.source, &place.kernel) {
        (Some(source), _) if Some(&source.at) != first => format!("at {}", position(&source.at)),
        (_, Some(kernel)) if Some(kernel) != finding.kernel.as_ref() => format!("in `{kernel}`"),
        _ => "in a copy of the code".to_owned(),
    }
}

/// `k.cu:9:3`, without the folder, which the compiler's own message has.
fn position(frame: &Frame) -> String {
    let name = frame.file.rsplit('/').next().unwrap_or_default();
    match frame.column {
        Some(column) => format!("{name}:{}:{column}", frame.line),
        None => format!("{name}:{}", frame.line),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Kind, Verdict, of_document};

    fn finding(code: &str, level: &str) -> Value {
        json!({
            "code": code, "name": "zero-mask", "level": level, "message": "the mask is 0", "message_here": null,
            "notes": ["a note"], "help": ["some help"], "function": "f", "kernel": "k",
            "source": {"file": "/s/k.cu", "line": 3, "column": null, "inlined_at": [
                {"file": "/s/k.cu", "line": 9, "column": 2},
            ]},
            "related": [
                {"message": "goes another way", "location": null, "source": {
                    "file": "/s/k.cu", "line": 2, "column": 1, "inlined_at": [],
                }},
                {"message": "is passed here", "location": null, "source": null},
            ],
            "suppressed": null, "places": [], "places_left_out": 0,
        })
    }

    fn document(findings: &[Value]) -> Vec<u8> {
        json!({"schema_version": 2, "inputs": [{"errors": []}], "findings": findings})
            .to_string()
            .into_bytes()
    }

    fn kinds(findings: &[Value], verdict: Verdict) -> Vec<Kind> {
        let found = of_document(&document(findings), verdict, true).unwrap();
        found.iter().map(|diagnostic| diagnostic.kind).collect()
    }

    #[test]
    fn a_finding_says_all_that_is_known() {
        let found = of_document(&document(&[finding("PTX407", "error")]), Verdict::Fails, true).unwrap();
        assert_eq!(
            found[0].message,
            "the mask is 0 [PTX407 zero-mask]\n  = called at k.cu:9:2\n  = k.cu:2:1: goes another way\n  = note: a note\n  = \
             help: some help"
        );
        assert_eq!((&*found[0].kernel, &*found[0].function), ("k", "f"));
        let place = found[0].place.as_ref().unwrap();
        assert_eq!((&*place.file, place.line, place.column), ("/s/k.cu", 3, None));
    }

    #[test]
    fn without_a_line_it_says_how_to_get_one() {
        let mut finding = finding("PTX407", "error");
        finding["source"] = Value::Null;
        let found = |has_lines| {
            of_document(
                &document(std::slice::from_ref(&finding)),
                Verdict::Fails,
                has_lines,
            )
            .unwrap()
        };
        assert!(found(false)[0].place.is_none() && found(false)[0].message.contains("-gline-tables-only"));
        assert!(!found(true)[0].message.contains("-gline-tables-only"));
    }

    #[test]
    fn further_places_are_named_once() {
        let mut all = finding("PTX407", "error");
        let place = |line: u32, kernel: &str| json!({"kernel": kernel, "source": {"file": "k.cu", "line": line, "column": 1, "inlined_at": []}});
        all["source"]["column"] = 1.into();
        all["source"]["file"] = "k.cu".into();
        all["places"] = (4..12).map(|line| place(line, "k")).collect();
        all["places_left_out"] = 2.into();
        let found = of_document(&document(&[all.clone()]), Verdict::Fails, true).unwrap();
        let wanted = "\n  = also at k.cu:4:1, at k.cu:5:1, at k.cu:6:1, at k.cu:7:1, in 6 more places";
        assert!(found[0].message.ends_with(wanted), "{}", found[0].message);
        all["places"] = json!([place(3, "other"), place(3, "other"), place(3, "k")]);
        all["places_left_out"] = 0.into();
        let found = of_document(&document(&[all]), Verdict::Fails, true).unwrap();
        assert!(
            found[0]
                .message
                .ends_with("\n  = also in `other`, in a copy of the code"),
            "{}",
            found[0].message
        );
    }

    #[test]
    fn errors_come_last() {
        let findings = [finding("PTX407", "error"), finding("PTX401", "warning")];
        assert_eq!(kinds(&findings, Verdict::Fails), [Kind::Warning, Kind::Error]);
    }

    #[test]
    fn the_exit_code_decides_over_errors() {
        let error = [finding("PTX407", "error")];
        let warning = [finding("PTX407", "warning")];
        assert_eq!(kinds(&error, Verdict::Clean), [Kind::Warning]); // --fail-on never
        assert_eq!(kinds(&warning, Verdict::Fails), [Kind::Error]); // --fail-on warning
        assert_eq!(kinds(&warning, Verdict::Undone), [Kind::Warning]);
        assert_eq!(kinds(&error, Verdict::Undone), [Kind::Error]);
        let of_the_run = [finding("PTX906", "error"), finding("PTX407", "warning")];
        assert_eq!(kinds(&of_the_run, Verdict::Fails), [Kind::Warning, Kind::Error]);
        assert_eq!(kinds(&warning, Verdict::Clean), [Kind::Warning]);
    }

    #[test]
    fn what_is_suppressed_is_silent() {
        let mut suppressed = finding("PTX407", "error");
        suppressed["suppressed"] = json!({"by": "comment", "reason": ""});
        assert_eq!(kinds(&[suppressed], Verdict::Fails), []);
    }

    #[test]
    fn what_was_not_checked_is_no_error() {
        let text = json!({
            "schema_version": 2,
            "inputs": [{"errors": [{"code": "PTX904", "message": "LLVM crashed", "line": null}]}],
            "findings": [finding("PTX904", "error")],
        });
        let found = of_document(text.to_string().as_bytes(), Verdict::Fails, true).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].kind, &*found[0].message),
            (Kind::Failure, "ptxcheck: not checked: LLVM crashed [PTX904]")
        );
    }

    #[test]
    fn other_texts_are_no_documents() {
        for text in ["", "garbage", "{}", "[]"] {
            assert!(
                of_document(text.as_bytes(), Verdict::Clean, true).is_err(),
                "{text}"
            );
        }
        let newer = json!({"schema_version": 3, "inputs": [], "findings": []});
        let problem = of_document(newer.to_string().as_bytes(), Verdict::Clean, true).unwrap_err();
        assert!(problem.contains("version 3"), "{problem}");
    }

    #[test]
    fn a_flood_is_cut() {
        let many = vec![finding("PTX407", "error"); super::limits::DIAGNOSTICS + 5];
        let found = of_document(&document(&many), Verdict::Fails, true).unwrap();
        assert_eq!(found.len(), super::limits::DIAGNOSTICS + 1);
        assert!(found[0].message.contains("5 more findings"));
    }
}

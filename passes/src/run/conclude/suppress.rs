//! Suppression of findings by comments in the input or in the sources, and by exceptions of the configuration.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::places::frames;
use crate::comments::{Comment, for_line};
use crate::exceptions::Allow;
use crate::finding::{Finding, Suppression};
use crate::inventory::InputReport;
use crate::limits::MAX_EXPIRED_NOTES;
use crate::selector;
use crate::settings::Settings;
use crate::sources::Sources;

/// The suppressions of a run, and their use so far.
pub(super) struct Suppressions<'a> {
    pub(super) settings: &'a Settings,
    pub(super) sources: Sources,
    /// For each exception of the settings: true if a finding matched it.
    pub(super) used: Vec<bool>,
    /// For each exception of the settings: number of findings that name it as one that no longer counts.
    expired_notes: Vec<usize>,
    /// Comments that suppressed a finding: the file or image that they lie in, and their index there.
    pub(super) used_comments: HashSet<(CommentFile, usize)>,
    /// For each word of a comment: the codes that it stands for, or the error in it.
    covered: HashMap<String, Result<Vec<&'static str>, String>>,
}

/// The file that a comment lies in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CommentFile {
    /// An image of an input.
    Image(usize, u32),
    /// A source.
    Source(PathBuf),
}

impl<'a> Suppressions<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            sources: Sources::default(),
            used: vec![false; settings.allows.len()],
            expired_notes: vec![0; settings.allows.len()],
            used_comments: HashSet::new(),
            covered: HashMap::new(),
        }
    }

    /// A sentence for each exception that no longer counts.
    pub(super) fn expired(&self) -> Vec<String> {
        let said = |allow: &Allow| {
            let day = allow.expired.as_deref()?;
            let codes = allow.codes.join(", ");
            Some(format!(
                "{}: the exception for {codes} ended on {day} and no longer counts: {}",
                self.place(allow),
                allow.reason
            ))
        };
        self.settings.allows.iter().filter_map(said).collect()
    }

    fn place(&self, allow: &Allow) -> String {
        let file = self.settings.file.as_deref().unwrap_or_default();
        format!("{file}:{}:{}", allow.written.0, allow.written.1)
    }

    /// Suppresses a finding if a comment or an exception is for it; all that are count as used. `allows`: indices of the exceptions
    /// that are for the place of the finding.
    pub(super) fn decide(
        &mut self,
        finding: &mut Finding,
        inputs: &[InputReport],
        input: &str,
        allows: &[usize],
    ) {
        if self.settings.reads_comments {
            self.by_input(finding, inputs);
            self.by_sources(finding, input);
        }
        self.by_settings(finding, input, allows);
        if self.settings.forbids(finding.rule, finding.certainty)
            && let Some(suppression) = finding.suppressed.take()
        {
            finding.notes.push(format!(
                "it is forbidden, so the exception for it does not count: {}",
                suppression.reason
            ));
        }
    }

    /// Comments of the text that was analysed.
    fn by_input(&mut self, finding: &mut Finding, inputs: &[InputReport]) {
        let (Some(number), Some(location)) = (finding.image, &finding.location) else {
            return;
        };
        let (line, file) = (location.line, location.file.clone());
        let image = inputs
            .get(finding.input)
            .and_then(|input| input.images.get(number as usize));
        let Some(image) = image.filter(|image| !image.comments.is_empty()) else {
            return;
        };
        let at = CommentFile::Image(finding.input, number);
        self.by_comments(finding, &image.comments, &at, &file, line);
    }

    /// Comments of the sources, on any line of the chain of calls.
    fn by_sources(&mut self, finding: &mut Finding, input: &str) {
        let Some(source) = &finding.source else { return };
        let lines: Vec<(String, u32)> = frames(source)
            .map(|frame| (frame.file.clone(), frame.line))
            .collect();
        for (file, line) in lines {
            let Some(found) = self.sources.find(&file, input) else {
                continue;
            };
            let comments = self.sources.comments(&found);
            if for_line(comments, line).next().is_some() {
                let comments = comments.to_vec();
                self.by_comments(finding, &comments, &CommentFile::Source(found), &file, line);
            }
        }
    }

    fn by_comments(
        &mut self,
        finding: &mut Finding,
        comments: &[Comment],
        at: &CommentFile,
        file: &str,
        line: u32,
    ) {
        for index in for_line(comments, line) {
            let comment = &comments[index];
            match self.is_for(comment, finding.rule.code) {
                Ok(false) => {}
                Ok(true) => {
                    self.used_comments.insert((at.clone(), index));
                    if let (None, Ok(said)) = (&finding.suppressed, &comment.says) {
                        finding.suppressed = Some(Suppression {
                            by: "comment",
                            reason: said.reason.clone(),
                        });
                    }
                }
                Err(wrong) => finding.notes.push(format!(
                    "the comment at {file}:{}:{} does not count: {wrong}",
                    comment.written.0, comment.written.1
                )),
            }
        }
    }

    /// True if a comment is for findings of the rule with this code; an error if it is malformed.
    fn is_for(&mut self, comment: &Comment, code: &str) -> Result<bool, String> {
        let said = comment.says.as_ref().map_err(|wrong| (*wrong).to_owned())?;
        let mut is_for = false;
        for word in &said.words {
            is_for |= self.codes(word)?.contains(&code);
        }
        Ok(is_for)
    }

    /// The codes of the rules that a word of a comment stands for.
    fn codes(&mut self, word: &str) -> Result<&[&'static str], String> {
        let registry = &self.settings.registry;
        let codes = self
            .covered
            .entry(word.to_owned())
            .or_insert_with(|| selector::covered(word, registry).map_err(|unknown| unknown.to_string()));
        codes.as_deref().map_err(Clone::clone)
    }

    /// The error in a comment, if there is one.
    pub(super) fn wrong_with(&mut self, comment: &Comment) -> Option<String> {
        self.is_for(comment, "").err()
    }

    /// Exceptions of the configuration, of those that hold in its place.
    fn by_settings(&mut self, finding: &mut Finding, input: &str, allows: &[usize]) {
        let settings = self.settings;
        let mut line: Option<Option<String>> = None;
        for &index in allows {
            let allow = &settings.allows[index];
            if !allow.codes.contains(&finding.rule.code) {
                continue;
            }
            if let Some(pattern) = &allow.line {
                let text = line.get_or_insert_with(|| line_of(finding, input, &mut self.sources));
                if !text.as_ref().is_some_and(|text| pattern.fits(text)) {
                    continue;
                }
            }
            self.used[index] = true;
            if let Some(day) = &allow.expired {
                self.expired_notes[index] += 1;
                if self.expired_notes[index] <= MAX_EXPIRED_NOTES {
                    let place = self.place(allow);
                    finding.notes.push(format!(
                        "the exception at {place} for it ended on {day}: {}",
                        allow.reason
                    ));
                }
            } else if finding.suppressed.is_none() {
                finding.suppressed = Some(Suppression {
                    by: "config",
                    reason: allow.reason.clone(),
                });
            }
        }
    }

    /// Reads the comments of a source, for those that are never used.
    pub(super) fn read(&mut self, file: &str, input: &str) {
        if self.settings.reads_comments {
            self.sources.find(file, input);
        }
    }

    /// The comments of sources that suppress nothing: the file, and the comment.
    pub(super) fn unused_in_sources(&self) -> Vec<(String, Comment)> {
        let mut unused = Vec::new();
        for (path, name, comments) in self.sources.files_with_comments() {
            for (index, comment) in comments.iter().enumerate() {
                if !self.is_used(CommentFile::Source(Path::to_owned(path)), index) {
                    unused.push((name.to_string_lossy().into_owned(), comment.clone()));
                }
            }
        }
        unused
    }

    pub(super) fn is_used(&self, at: CommentFile, index: usize) -> bool {
        self.used_comments.contains(&(at, index))
    }
}

/// The line that a finding points to, without white space around it.
fn line_of(finding: &Finding, input: &str, sources: &mut Sources) -> Option<String> {
    let text = match &finding.source {
        Some(source) => sources.line(&source.at.file, input, source.at.line)?,
        None => &finding.line_text.as_ref()?.text,
    };
    Some(text.trim().to_owned())
}

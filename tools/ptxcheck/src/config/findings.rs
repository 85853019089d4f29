//! The tables of the configuration about findings: levels, exceptions, exclusions, headers.

use ptxcheck_passes::exceptions::{self, ReportAt};
use ptxcheck_passes::patterns::{BadPattern, Pattern, Written};
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::scope::Scope;
use ptxcheck_passes::selector;
use ptxcheck_passes::settings::{self, Change, LevelSetting, Selector};
use ptxcheck_passes::{Registry, patterns};
use time::OffsetDateTime;
use toml::Spanned;

use super::file::{Allow, Exclude, Headers, LevelWord, Levels, Override, ReportAtWord, StringList};
use super::{FileError, place};

/// Most patterns of a configuration.
const MAX_PATTERNS: usize = 4096;

/// Makes patterns of texts, and counts them.
pub(super) struct PatternReader<'t> {
    /// The file.
    pub(super) text: &'t str,
    patterns: usize,
}

impl<'t> PatternReader<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, patterns: 0 }
    }

    pub(super) fn error(&self, offset: usize, message: impl Into<String>) -> FileError {
        let (line, column) = place(self.text, offset);
        (line, column, message.into())
    }

    /// Reads a text with its offset.
    pub(super) fn read<T, E: std::fmt::Display>(
        &self,
        (offset, text): (usize, &str),
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, FileError> {
        read(text).map_err(|error| self.error(offset, error.to_string()))
    }

    pub(super) fn written(&self, offset: usize) -> Written {
        let (line, column) = place(self.text, offset);
        (number(line), number(column))
    }

    fn pattern(
        &mut self,
        (offset, text): (usize, &str),
        make: impl Fn(&str) -> Result<Pattern, BadPattern>,
    ) -> Result<Pattern, FileError> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(self.error(offset, format!("there are more than {MAX_PATTERNS} patterns")));
        }
        if text.is_empty() {
            return Err(self.error(offset, "a pattern has at least one character"));
        }
        let pattern = make(text).map_err(|bad| self.error(offset, bad.to_string()))?;
        let (line, column) = self.written(offset);
        Ok(pattern.at(line, column))
    }

    /// A pattern of names.
    pub(super) fn name(&mut self, at: usize, text: &str) -> Result<Pattern, FileError> {
        self.pattern((at, text), patterns::Pattern::name)
    }

    /// Patterns of names.
    pub(super) fn names(&mut self, texts: Option<&Spanned<StringList>>) -> Result<Vec<Pattern>, FileError> {
        let texts = texts.into_iter().flat_map(StringList::with_offsets);
        texts.map(|(at, text)| self.name(at, text)).collect()
    }

    pub(super) fn paths(&mut self, texts: Option<&Spanned<StringList>>) -> Result<Vec<Pattern>, FileError> {
        let texts = texts.into_iter().flat_map(StringList::with_offsets);
        texts.map(|at| self.pattern(at, path_pattern)).collect()
    }

    fn scope(
        &mut self,
        path: Option<&Spanned<StringList>>,
        kernel: Option<&Spanned<StringList>>,
    ) -> Result<Scope, FileError> {
        Ok(Scope {
            paths: self.paths(path)?,
            kernels: self.names(kernel)?,
        })
    }

    /// A table of levels, the narrower selectors last, each with its place.
    pub(super) fn levels(&self, levels: &Levels) -> Result<Vec<(LevelSetting, Written)>, FileError> {
        let mut read = Vec::with_capacity(levels.len());
        for (selector, level) in levels {
            let offset = selector.span().start;
            let chosen = Selector::parse(selector.get_ref())
                .map_err(|unknown| self.error(offset, unknown.to_string()))?;
            let setting = LevelSetting {
                selector: chosen,
                level: level_of(*level.get_ref()),
                change: Change::Set,
            };
            read.push((setting, self.written(offset)));
        }
        read.sort_by_key(|(setting, written)| (setting.selector.narrowness(), *written));
        Ok(read)
    }

    pub(super) fn level_override(&mut self, over: &Override) -> Result<settings::Override, FileError> {
        let levels = self.levels(&over.rules)?;
        let scope = self.scope(over.path.as_ref(), over.kernel.as_ref())?;
        Ok(settings::Override {
            scope,
            levels: levels.into_iter().map(|(setting, _)| setting).collect(),
        })
    }

    pub(super) fn exclude(&mut self, exclude: &Exclude) -> Result<exceptions::Exclude, FileError> {
        Ok(exceptions::Exclude {
            paths: self.paths(exclude.paths.as_ref())?,
            kernels: self.names(exclude.kernels.as_ref())?,
            system_headers: exclude.system_headers,
        })
    }

    pub(super) fn headers(&mut self, headers: &Headers) -> Result<exceptions::Headers, FileError> {
        Ok(exceptions::Headers {
            report_at: match headers.report_at {
                ReportAtWord::Call => ReportAt::Call,
                ReportAtWord::Header => ReportAt::Header,
                ReportAtWord::Both => ReportAt::Both,
            },
            system: self.paths(headers.system.as_ref())?,
        })
    }

    pub(super) fn allow(&mut self, allow: &Spanned<Allow>) -> Result<exceptions::Allow, FileError> {
        let start = allow.span().start;
        let allow = allow.get_ref();
        let rule = allow.rule.span().start;
        let mut codes = Vec::new();
        let registry = Registry::default();
        for (at, word) in StringList::with_offsets(&allow.rule) {
            let covered =
                selector::covered(word, &registry).map_err(|unknown| self.error(at, unknown.to_string()))?;
            codes.extend(covered);
        }
        if codes.is_empty() {
            return Err(self.error(rule, "an exception names at least one rule"));
        }
        codes.sort_unstable();
        codes.dedup();
        let reason = match &allow.reason {
            Some(reason) if !reason.get_ref().trim().is_empty() => reason.get_ref().trim().to_owned(),
            other => {
                let at = other.as_ref().map_or(start, |reason| reason.span().start);
                return Err(self.error(
                    at,
                    "an exception needs a reason: `reason = \"why it is all right\"`",
                ));
            }
        };
        let line = allow
            .line
            .as_ref()
            .map(|line| self.name(line.span().start, line.get_ref()))
            .transpose()?;
        Ok(exceptions::Allow {
            codes,
            scope: self.scope(allow.path.as_ref(), allow.kernel.as_ref())?,
            line,
            reason,
            expired: self.expired(allow)?,
            written: self.written(start),
        })
    }

    /// The day on which an exception ended, if it has.
    fn expired(&self, allow: &Allow) -> Result<Option<String>, FileError> {
        let Some(expires) = &allow.expires else {
            return Ok(None);
        };
        let Some(date) = expires.get_ref().date else {
            return Err(self.error(expires.span().start, "a day is wanted, as in `2027-01-31`"));
        };
        let today = OffsetDateTime::now_utc().date();
        let last = (i32::from(date.year), date.month, date.day);
        let is_over = (today.year(), u8::from(today.month()), today.day()) > last;
        Ok(is_over.then(|| date.to_string()))
    }
}

/// A pattern of paths. A folder stands for all that is in it.
/// A pattern of paths; one that ends with `/` is for all in the folder.
///
/// # Errors
///
/// A sentence, if it is none.
pub fn path_pattern(text: &str) -> Result<Pattern, BadPattern> {
    if text.starts_with("re:") {
        return Pattern::path(text);
    }
    let bare = text.strip_prefix("./").unwrap_or(text);
    match bare.strip_suffix('/') {
        Some(folder) => Pattern::path(&format!("{folder}/**")),
        None => Pattern::path(bare),
    }
}

const fn level_of(word: LevelWord) -> Level {
    match word {
        LevelWord::Allow => Level::Allow,
        LevelWord::Warning => Level::Warning,
        LevelWord::Error => Level::Error,
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

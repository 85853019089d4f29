//! [`Checked`] as bytes: numbers little-endian, texts and lists with their length in front.
//!
//! Both ends are the same build of the same program, so there is no version. What does not decode is a worker that
//! died while it wrote.

use std::sync::Mutex;

use super::Checked;
use crate::externs;
use crate::finding::{Certainty, Finding, Frame, LineText, Located, Location, Related, Source, Value};
use crate::link::{Open, Symbols, What};
use crate::rule::{Level, ProblemKind};
use crate::rules;

/// Writes a message.
pub(super) fn encode(checked: &Checked) -> Vec<u8> {
    let mut out = Writer(Vec::new());
    out.text(&checked.target);
    out.text(&checked.isa);
    out.list(&checked.kernels, Writer::owned);
    out.number(u64::from(checked.functions));
    out.option(checked.symbols.as_ref(), Writer::symbols);
    out.list(&checked.findings, Writer::finding);
    out.number(u64::from(checked.is_elsewhere));
    out.number(u64::from(checked.is_cut_short));
    out.number(checked.left_out as u64);
    out.option(checked.limit.as_ref(), Writer::owned);
    out.option(checked.failure.as_ref(), |out, (kind, message)| {
        out.text(kind.code());
        out.text(message);
    });
    out.0
}

/// Reads a message.
pub(super) fn decode(bytes: &[u8]) -> Option<Checked> {
    let mut from = Reader(bytes);
    let checked = Checked {
        target: from.text()?,
        isa: from.text()?,
        kernels: from.list(Reader::text)?,
        functions: from.small()?,
        symbols: from.option(Reader::symbols)?,
        findings: from.list(Reader::finding)?,
        is_elsewhere: from.number()? != 0,
        is_cut_short: from.number()? != 0,
        left_out: usize::try_from(from.number()?).ok()?,
        limit: from.option(Reader::text)?,
        failure: from.option(|from| {
            let code = from.text()?;
            Some((problem(&code)?, from.text()?))
        })?,
    };
    from.0.is_empty().then_some(checked)
}

fn problem(code: &str) -> Option<ProblemKind> {
    [
        ProblemKind::Unreadable,
        ProblemKind::Syntax,
        ProblemKind::Limit,
        ProblemKind::Internal,
    ]
    .into_iter()
    .find(|kind| kind.code() == code)
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }

    fn option<T>(&mut self, item: Option<&T>, each: impl FnOnce(&mut Self, &T)) {
        self.number(u64::from(item.is_some()));
        if let Some(item) = item {
            each(self, item);
        }
    }

    fn owned(&mut self, text: &impl AsRef<str>) {
        self.text(text.as_ref());
    }

    /// Without suppressions, of which a worker knows none.
    fn finding(&mut self, finding: &Finding) {
        self.text(finding.rule.code);
        self.number(u64::from(finding.certainty == Certainty::Potential));
        self.text(finding.level.as_str());
        self.text(&finding.message);
        self.list(&finding.notes, Self::owned);
        self.list(&finding.help, Self::owned);
        self.number(u64::from(finding.offset));
        self.option(finding.function.as_ref(), Self::owned);
        self.option(finding.kernel.as_ref(), Self::owned);
        self.place(finding.location.as_ref(), finding.line_text.as_ref());
        self.option(finding.source.as_ref(), Self::source);
        self.list(&finding.related, |out, related| {
            out.text(&related.message);
            out.option(related.location.as_ref(), Self::location);
            out.option(related.source.as_ref(), Self::source);
        });
        self.number(finding.data.iter().len() as u64);
        for (key, value) in finding.data.iter() {
            self.text(key);
            self.value(value);
        }
        self.text(&finding.fingerprint);
    }

    fn symbols(&mut self, symbols: &Symbols) {
        self.list(&symbols.defined, Self::owned);
        self.list(&symbols.open, |out, open| {
            out.text(&open.name);
            out.number(u64::from(open.what == What::Function));
            out.number(u64::from(open.runtime.is_some()));
            out.list(&open.uses, |out, at| {
                out.option(at.function.as_ref(), Self::owned);
                out.option(at.kernel.as_ref(), Self::owned);
                out.number(u64::from(at.offset));
                out.place(at.location.as_ref(), at.line_text.as_ref());
                out.option(at.source.as_ref(), Self::source);
            });
            out.number(u64::from(open.more));
        });
    }

    fn place(&mut self, location: Option<&Location>, line: Option<&LineText>) {
        self.option(location, Self::location);
        self.option(line, |out, line| {
            out.text(&line.text);
            out.number(u64::from(line.from));
        });
    }

    fn location(&mut self, location: &Location) {
        self.text(&location.file);
        for number in [
            location.line,
            location.column,
            location.end_line,
            location.end_column,
        ] {
            self.number(u64::from(number));
        }
    }

    fn source(&mut self, source: &Source) {
        self.frame(&source.at);
        self.list(&source.inside, Self::frame);
        self.list(&source.inlined_at, Self::frame);
    }

    fn frame(&mut self, frame: &Frame) {
        self.text(&frame.file);
        self.number(u64::from(frame.line));
        self.number(u64::from(frame.column));
        self.option(frame.function.as_ref(), Self::owned);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Text(text) => {
                self.number(0);
                self.text(text);
            }
            Value::Number(number) => {
                self.number(1);
                self.number(*number);
            }
            Value::Numbers(numbers) => {
                self.number(2);
                self.list(numbers, |out, number| out.number(*number));
            }
            Value::Texts(texts) => {
                self.number(3);
                self.list(texts, Self::owned);
            }
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        // Every item takes at least 8 bytes, so a false count ends soon.
        (0..count).map(|_| each(self)).collect()
    }

    fn option<T>(&mut self, each: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.number()? {
            0 => Some(None),
            _ => each(self).map(Some),
        }
    }

    fn finding(&mut self) -> Option<Finding> {
        Some(Finding {
            rule: rules::find(&self.text()?)?,
            certainty: match self.number()? {
                0 => Certainty::Definite,
                _ => Certainty::Potential,
            },
            level: {
                let level = self.text()?;
                [Level::Allow, Level::Warning, Level::Error]
                    .into_iter()
                    .find(|known| known.as_str() == level)?
            },
            message: self.text()?,
            notes: self.list(Self::text)?,
            help: self.list(Self::text)?,
            input: 0,
            image: Some(0),
            offset: self.small()?,
            function: self.option(Self::text)?,
            kernel: self.option(Self::text)?,
            location: self.option(Self::location)?,
            line_text: self.option(Self::line)?,
            source: self.option(Self::source)?,
            related: self.list(|from| {
                Some(Related {
                    message: from.text()?,
                    location: from.option(Self::location)?,
                    source: from.option(Self::source)?,
                })
            })?,
            data: self
                .list(|from| Some((interned(&from.text()?), from.value()?)))?
                .into_iter()
                .collect(),
            fingerprint: self.text()?,
            suppressed: None,
        })
    }

    fn location(&mut self) -> Option<Location> {
        Some(Location {
            file: self.text()?,
            line: self.small()?,
            column: self.small()?,
            end_line: self.small()?,
            end_column: self.small()?,
        })
    }

    fn line(&mut self) -> Option<LineText> {
        Some(LineText {
            text: self.text()?,
            from: self.small()?,
        })
    }

    fn symbols(&mut self) -> Option<Symbols> {
        Some(Symbols {
            defined: self.list(Self::text)?,
            open: self.list(|from| {
                let name = from.text()?;
                Some(Open {
                    what: match from.number()? {
                        0 => What::Variable,
                        _ => What::Function,
                    },
                    runtime: match from.number()? {
                        0 => None,
                        _ => externs::host_runtime(&name),
                    },
                    name,
                    uses: from.list(|from| {
                        Some(Located {
                            function: from.option(Self::text)?,
                            kernel: from.option(Self::text)?,
                            offset: from.small()?,
                            location: from.option(Self::location)?,
                            line_text: from.option(Self::line)?,
                            source: from.option(Self::source)?,
                        })
                    })?,
                    more: from.small()?,
                })
            })?,
        })
    }

    fn source(&mut self) -> Option<Source> {
        Some(Source {
            at: self.frame()?,
            inside: self.list(Self::frame)?,
            inlined_at: self.list(Self::frame)?,
        })
    }

    fn frame(&mut self) -> Option<Frame> {
        Some(Frame {
            file: self.text()?,
            line: self.small()?,
            column: self.small()?,
            function: self.option(Self::text)?,
        })
    }

    fn value(&mut self) -> Option<Value> {
        Some(match self.number()? {
            0 => Value::Text(self.text()?),
            1 => Value::Number(self.number()?),
            2 => Value::Numbers(self.list(Self::number)?),
            3 => Value::Texts(self.list(Self::text)?),
            _ => return None,
        })
    }
}

/// The keys of payloads are constants of the rules: each becomes one again, once.
fn interned(key: &str) -> &'static str {
    static KEYS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut keys = KEYS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = keys.iter().find(|known| **known == key) {
        return known;
    }
    let key: &'static str = Box::leak(key.to_owned().into_boxed_str());
    keys.push(key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Checked {
        let frame = |line| Frame {
            file: "a.cu".to_owned(),
            line,
            column: 7,
            function: Some("f".to_owned()),
        };
        let source = Source {
            at: frame(3),
            inside: vec![frame(1)],
            inlined_at: vec![frame(9), frame(10)],
        };
        let location = Location {
            file: String::new(),
            line: 3,
            column: 5,
            end_line: 3,
            end_column: 9,
        };
        Checked {
            target: "sm_90".to_owned(),
            isa: "8.8".to_owned(),
            kernels: vec!["k".to_owned(), "l".to_owned()],
            functions: 1,
            symbols: Some(Symbols {
                defined: vec!["table".to_owned()],
                open: vec![Open {
                    name: "__cxa_throw".to_owned(),
                    what: What::Function,
                    runtime: externs::host_runtime("__cxa_throw"),
                    uses: vec![Located {
                        function: Some("k".to_owned()),
                        offset: 3,
                        source: Some(source.clone()),
                        ..Located::default()
                    }],
                    more: 2,
                }],
            }),
            findings: vec![Finding {
                rule: rules::find("PTX407").unwrap(),
                certainty: Certainty::Definite,
                level: Level::Error,
                message: "m".to_owned(),
                notes: vec!["n".to_owned()],
                help: vec![],
                input: 0,
                image: Some(0),
                offset: 5,
                function: Some("k".to_owned()),
                kernel: None,
                location: Some(location.clone()),
                line_text: Some(LineText {
                    text: "call void @f()".to_owned(),
                    from: 1,
                }),
                source: Some(source.clone()),
                related: vec![Related {
                    message: "r".to_owned(),
                    location: Some(location),
                    source: Some(source),
                }],
                data: [
                    ("mask", Value::Number(0)),
                    ("lanes", Value::Numbers(vec![1, 2])),
                    ("operation", Value::Text("__shfl_sync".to_owned())),
                    ("names", Value::Texts(vec!["a".to_owned()])),
                ]
                .into_iter()
                .collect(),
                fingerprint: "0123456789abcdef".to_owned(),
                suppressed: None,
            }],
            is_elsewhere: true,
            is_cut_short: true,
            left_out: 3,
            limit: Some("too large".to_owned()),
            failure: Some((ProblemKind::Limit, "late".to_owned())),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let written = encode(&sample());
        let read = decode(&written).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", sample()));
    }

    #[test]
    fn half_a_message_is_none() {
        let written = encode(&sample());
        for length in 0..written.len() {
            assert!(decode(&written[..length]).is_none(), "{length}");
        }
    }
}

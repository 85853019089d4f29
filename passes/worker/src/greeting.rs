//! The line that a worker writes whenever it is ready for an input: `ptxcheck-llvm 0.1.0: LLVM 22`.

use std::io::{self, Read};

use crate::limits::MAX_GREETING;

/// The data on which both ends have to agree: the messages change with the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The name of the worker's program.
    pub program: &'static str,
    /// The version of that program and of those that ask it.
    pub version: &'static str,
}

impl Protocol {
    /// The greeting of a worker that reads `what`.
    pub(crate) fn greeting(self, what: &str) -> String {
        format!("{} {}: {}\n", self.program, self.version, what.replace('\n', " "))
    }

    /// The kind of input that the worker with this greeting reads. The error says why the worker cannot be used.
    fn reads(self, line: &[u8]) -> Result<String, String> {
        let Self { program, version } = self;
        let no_worker = || format!("it is not `{program}`");
        let line = std::str::from_utf8(line).map_err(|_| no_worker())?;
        let rest = line.strip_prefix(program).and_then(|rest| rest.strip_prefix(' '));
        let (its, reads) = rest
            .and_then(|rest| rest.split_once(": "))
            .ok_or_else(no_worker)?;
        let is_version = |text: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
            text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(is_part)
        };
        if !is_version(its) || reads.chars().any(char::is_control) {
            return Err(no_worker());
        }
        if its != version {
            return Err(format!(
                "it is `{program}` {its}, and {version} is needed: both programs must be of one version"
            ));
        }
        Ok(reads.to_owned())
    }
}

/// A greeting that was read.
#[derive(Default)]
pub(crate) struct Greeting {
    /// Its bytes, with which the worker is ready each time.
    pub(crate) line: Vec<u8>,
    /// The kind of input that the worker reads.
    pub(crate) reads: String,
}

/// Why there is no greeting.
#[derive(Debug)]
pub(crate) enum NoGreeting {
    /// The pipe ended or failed before there was a line.
    Silent,
    /// The line is another one.
    Other(String),
}

/// Reads the first greeting, and no byte after it.
pub(crate) fn read(from: &mut impl Read, protocol: Protocol) -> Result<Greeting, NoGreeting> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') && line.len() < MAX_GREETING {
        match from.read(&mut byte) {
            Ok(0) => return Err(NoGreeting::Silent),
            Ok(_) => line.extend(byte),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(NoGreeting::Silent),
        }
    }
    let text = line.strip_suffix(b"\n").unwrap_or(&line);
    let reads = protocol.reads(text).map_err(NoGreeting::Other)?;
    Ok(Greeting { line, reads })
}

#[cfg(test)]
mod tests {
    use super::{NoGreeting, Protocol, read};

    const PROTOCOL: Protocol = Protocol {
        program: "ptxcheck-llvm",
        version: "1.2.3",
    };

    fn said(line: &[u8]) -> String {
        match read(&mut &*line, PROTOCOL) {
            Ok(greeting) => greeting.reads,
            Err(NoGreeting::Silent) => "silent".to_owned(),
            Err(NoGreeting::Other(why)) => why,
        }
    }

    #[test]
    fn a_greeting_is_read_alone() {
        let mut sent = PROTOCOL.greeting("LLVM 22").into_bytes();
        let length = sent.len();
        sent.extend(b"answer");
        let mut left = sent.as_slice();
        let greeting = read(&mut left, PROTOCOL).unwrap();
        assert_eq!((greeting.reads.as_str(), left), ("LLVM 22", &b"answer"[..]));
        assert_eq!(greeting.line, sent[..length]);
    }

    #[test]
    fn another_version_is_named() {
        assert_eq!(
            said(b"ptxcheck-llvm 1.2.4-rc.1: LLVM 22\n"),
            "it is `ptxcheck-llvm` 1.2.4-rc.1, and 1.2.3 is needed: both programs must be of one version"
        );
    }

    #[test]
    fn other_lines_are_no_greeting() {
        for line in [
            &b"ptxcheck-mlir 1.2.3: MLIR 22\n"[..],
            b"ptxcheck-llvm: LLVM 22\n",
            b"ptxcheck-llvm 1.2.3\n",
            b"ptxcheck-llvm \x1b[31m: LLVM 22\n",
            b"ptxcheck-llvm 1.2.3: \x1b[31m\n",
            b"ptxcheck-llvm 1.2.3: \xff\n",
            b"\n",
            &[b'y'; 10_000],
        ] {
            assert_eq!(said(line), "it is not `ptxcheck-llvm`", "{line:?}");
        }
        for line in [&b""[..], b"ptxcheck-llvm 1.2.3: LLVM"] {
            assert_eq!(said(line), "silent", "{line:?}");
        }
    }
}

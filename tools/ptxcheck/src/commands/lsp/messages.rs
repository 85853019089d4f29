//! The frames of the protocol: `Content-Length: 12`, an empty line, and a JSON document.
//!
//! `lsp-server` has the documents. It reserves memory for any length that a header states, so frames are read here.

use std::io::{self, BufRead, BufReader, ErrorKind, Read as _, Write};
use std::sync::mpsc::Sender;
use std::thread;

use lsp_server::{ErrorCode, Message};
use serde_json::json;

use super::events::Event;

/// Largest document that is read, in bytes; a larger one is skipped.
const MAX_MESSAGE: u64 = 128 << 20;

/// Longest line of a header, in bytes.
const MAX_HEADER: u64 = 4096;

/// Most lines of a header.
const MAX_HEADERS: usize = 32;

/// Reads standard input in a thread of its own.
///
/// # Errors
///
/// If there is no thread to be had.
pub(super) fn read_in_thread(events: Sender<Event>) -> io::Result<()> {
    let read_all = move || {
        let mut stream = BufReader::new(io::stdin());
        loop {
            let event = match read(&mut stream) {
                Ok(Some(event)) => event,
                Ok(None) => Event::Closed(None),
                Err(error) => Event::Closed(Some(error.to_string())),
            };
            let is_last = matches!(event, Event::Closed(_));
            if events.send(event).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("lsp messages".to_owned())
        .spawn(read_all)?;
    Ok(())
}

/// Reads a message; `None` at the end of the stream.
fn read(stream: &mut impl BufRead) -> io::Result<Option<Event>> {
    let Some(length) = read_length(stream)? else {
        return Ok(None);
    };
    if length > MAX_MESSAGE {
        if io::copy(&mut stream.take(length), &mut io::sink())? < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        return Ok(Some(Event::Wrong(format!(
            "a message of {length} bytes is skipped: at most {MAX_MESSAGE} are read"
        ))));
    }
    // The bytes are counted as they come: no room is made for what is only announced.
    let mut document = Vec::new();
    stream.take(length).read_to_end(&mut document)?;
    if document.len() as u64 != length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(match serde_json::from_slice(&document) {
        Ok(message) => Event::Message(message),
        Err(error) => Event::Wrong(format!("no message of the protocol: {error}")),
    }))
}

/// Reads a header: the length of the document; `None` at the end of the stream.
fn read_length(stream: &mut impl BufRead) -> io::Result<Option<u64>> {
    let wrong = |problem: &str| io::Error::new(ErrorKind::InvalidData, problem.to_owned());
    let mut length = None;
    for number in 0..MAX_HEADERS {
        let mut line = Vec::new();
        stream.take(MAX_HEADER).read_until(b'\n', &mut line)?;
        if line.is_empty() && number == 0 {
            return Ok(None);
        }
        let Some(text) = line.strip_suffix(b"\n") else {
            return Err(wrong("a line of a header does not end"));
        };
        let text = String::from_utf8_lossy(text);
        let text = text.trim();
        if text.is_empty() {
            return length
                .map(Some)
                .ok_or_else(|| wrong("a header without `Content-Length`"));
        }
        let (key, value) = text
            .split_once(':')
            .ok_or_else(|| wrong("a line of a header without `:`"))?;
        if key.trim().eq_ignore_ascii_case("Content-Length") {
            let value = value.trim().parse();
            length = Some(value.map_err(|_| wrong("`Content-Length` is no number of bytes"))?);
        }
    }
    Err(wrong("a header with too many lines"))
}

/// Writes a message.
///
/// # Errors
///
/// If the stream takes none.
pub(super) fn write(stream: &mut impl Write, message: &Message) -> io::Result<()> {
    message.write(stream)
}

/// Answers something that was no message, so that nobody knows its number.
///
/// # Errors
///
/// If the stream takes nothing.
pub(super) fn write_parse_error(stream: &mut impl Write, problem: &str) -> io::Result<()> {
    let error = json!({ "code": ErrorCode::ParseError as i32, "message": problem });
    let text = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    write!(stream, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use lsp_server::Message;

    use super::{Event, MAX_MESSAGE, read};

    fn read_one(bytes: &[u8]) -> std::io::Result<Option<Event>> {
        read(&mut BufReader::new(bytes))
    }

    #[test]
    fn messages_have_headers_in_any_case() {
        let text = "content-type: x\r\nCONTENT-LENGTH: 18\r\n\r\n{\"method\":\"exit\"} ";
        let event = read_one(text.as_bytes()).unwrap();
        assert!(matches!(event, Some(Event::Message(Message::Notification(one))) if one.method == "exit"));
        assert!(read_one(b"").unwrap().is_none());
    }

    #[test]
    fn a_document_that_is_no_message_does_not_end_the_stream() {
        for document in ["", "{}", "[", "\u{fffd}", "[[[[[[[[[[", "{\"id\":1}", "3"] {
            let text = format!("Content-Length: {}\r\n\r\n{document}", document.len());
            let event = read_one(text.as_bytes()).unwrap();
            assert!(matches!(event, Some(Event::Wrong(_))), "{document}");
        }
        let deep = "[".repeat(1_000_000);
        let text = format!("Content-Length: {}\r\n\r\n{deep}", deep.len());
        assert!(matches!(
            read_one(text.as_bytes()).unwrap(),
            Some(Event::Wrong(_))
        ));
    }

    #[test]
    fn frames_that_make_no_sense_end_it() {
        let endless = "a".repeat(10_000);
        let many = "a: b\r\n".repeat(100);
        for text in [
            "\r\n",
            "Content-Length\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n",
            "Content-Length: 3\r\n\r\n{}",
            "Content-Length: 3\r\n",
            "Content-Length: 3",
            &format!("Content-Length: {}\r\n\r\n{{}}", MAX_MESSAGE + 1),
            &format!("Content-Length: {}\r\n\r\n", u64::MAX),
            &endless,
            &many,
        ] {
            assert!(read_one(text.as_bytes()).is_err(), "{text:.60}");
        }
    }
}

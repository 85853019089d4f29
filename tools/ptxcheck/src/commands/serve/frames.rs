//! Messages: the length of a JSON document in four bytes, the lowest first, and the document. The bytes of inputs follow that of a
//! request, with no lengths of their own: the document has them.

use std::io::{self, ErrorKind, Read, Write};

use serde::Deserialize;

/// Largest document of a request, in bytes.
const MAX_REQUEST: usize = 16 << 20;

/// Most bytes of inputs that come with one request.
const MAX_INPUT_BYTES: u64 = 1 << 30;

/// Most inputs of a request.
const MAX_INPUTS: usize = 65_536;

/// The command that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Method {
    /// As `ptxcheck check`.
    Check,
    /// As `ptxcheck audit`.
    Audit,
    /// As `ptxcheck diff`: two inputs, with paths.
    Diff,
    /// The version of the program.
    Version,
}

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Any number; the reply has it, too.
    pub id: u64,
    pub method: Method,
    /// Options of the command, as on the command line.
    #[serde(default)]
    pub options: Vec<String>,
    /// The inputs.
    #[serde(default)]
    pub inputs: Vec<RequestInput>,
    /// Seconds that the reply may take.
    #[serde(default)]
    pub timeout: Option<f64>,
}

/// An input of a request: bytes with a name, or a path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestInput {
    /// The name in the report, for bytes.
    #[serde(default)]
    pub name: Option<String>,
    /// Number of the bytes, which follow the document.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// A file or folder.
    #[serde(default)]
    pub path: Option<String>,
}

/// A request as received: the document, its content, and the bytes after it.
pub(super) struct Message {
    pub document: Vec<u8>,
    /// Its content.
    pub request: Request,
    /// A sentence about what is wrong with its inputs.
    pub problem: Option<String>,
    /// The bytes of the inputs that have some, in their order.
    pub bytes: Vec<Vec<u8>>,
}

/// Reads a message; `None` at the end of the stream.
///
/// # Errors
///
/// Where the stream fails, ends within a message, or does not say where the next one begins.
pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<Message>> {
    let Some(document) = read_document(stream, MAX_REQUEST)? else {
        return Ok(None);
    };
    let request: Result<Request, serde_json::Error> = serde_json::from_slice(&document);
    // Without a document that says how many bytes follow, nobody knows where the next message begins.
    let request = request.map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))?;
    let sizes = request.inputs.iter().filter_map(|input| input.bytes);
    let sizes: Vec<u64> = sizes.collect();
    let total = sizes.iter().fold(0_u64, |all, &one| all.saturating_add(one));
    if total > MAX_INPUT_BYTES {
        let message =
            format!("a request has at most {MAX_INPUT_BYTES} bytes of inputs, and this one {total}");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    let mut bytes = Vec::new();
    for size in sizes {
        // The bytes are counted as they come: no room is made for what is only announced.
        let mut one = Vec::new();
        stream.take(size).read_to_end(&mut one)?;
        if one.len() as u64 != size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        bytes.push(one);
    }
    Ok(Some(Message {
        document,
        problem: problem(&request),
        request,
        bytes,
    }))
}

/// A sentence, if there are too many inputs, or one is not of one kind.
fn problem(request: &Request) -> Option<String> {
    if request.inputs.len() > MAX_INPUTS {
        return Some(format!("a request has at most {MAX_INPUTS} inputs"));
    }
    let is_one = |input: &RequestInput| {
        let given = (&input.name, input.bytes, &input.path);
        matches!(given, (Some(_), Some(_), None) | (None, None, Some(_)))
    };
    let is_wrong = !request.inputs.iter().all(is_one);
    is_wrong.then(|| "an input has `name` and `bytes`, or `path`".to_owned())
}

/// Reads a document of at most so many bytes; `None` at the end of the stream.
pub(super) fn read_document(stream: &mut impl Read, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut filled = 0;
    while filled < length.len() {
        match stream.read(&mut length[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        let message = format!("a document of {length} bytes is more than the {most} that are read");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    let mut document = Vec::new();
    stream.take(length as u64).read_to_end(&mut document)?;
    if document.len() != length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(document))
}

/// Writes a document with its length.
pub(super) fn write(stream: &mut impl Write, document: &[u8]) -> io::Result<()> {
    let length = u32::try_from(document.len())
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "a reply of more than 4 GiB"))?;
    stream.write_all(&length.to_le_bytes())?;
    stream.write_all(document)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    fn message(document: &str, bytes: &[u8]) -> Vec<u8> {
        let mut made = Vec::new();
        write(&mut made, document.as_bytes()).unwrap();
        made.extend_from_slice(bytes);
        made
    }

    #[test]
    fn bytes_follow_the_document() {
        let text = message(
            r#"{"id":1,"method":"check","inputs":[{"name":"a","bytes":2},{"path":"p"},{"name":"b","bytes":1}]}"#,
            b"xyz",
        );
        let one = read(&mut text.as_slice()).unwrap().unwrap();
        assert_eq!(one.bytes, [b"xy".to_vec(), b"z".to_vec()]);
        assert_eq!((one.request.id, one.problem), (1, None));
        assert!(read(&mut [].as_slice()).unwrap().is_none());
    }

    #[test]
    fn messages_that_end_early_or_make_no_sense_are_errors() {
        let whole = message(
            r#"{"id":1,"method":"check","inputs":[{"name":"a","bytes":3}]}"#,
            b"xyz",
        );
        for end in 1..whole.len() {
            assert!(read(&mut &whole[..end]).is_err(), "{end}");
        }
        for wrong in [
            "{}",
            "[",
            r#"{"id":1,"method":"run"}"#,
            r#"{"id":1,"method":"check","more":1}"#,
            r#"{"id":1,"method":"check","inputs":[{"name":"a","bytes":99999999999}]}"#,
        ] {
            assert!(read(&mut message(wrong, b"").as_slice()).is_err(), "{wrong}");
        }
        assert!(read(&mut [0xff; 8].as_slice()).is_err());
    }

    #[test]
    fn an_input_is_bytes_or_a_path() {
        for wrong in [
            r#"{"name":"a"}"#,
            r#"{"path":"a","name":"b"}"#,
            "{}",
            r#"{"bytes":0}"#,
        ] {
            let text = message(&format!(r#"{{"id":1,"method":"check","inputs":[{wrong}]}}"#), b"");
            let one = read(&mut text.as_slice()).unwrap().unwrap();
            assert!(one.problem.is_some(), "{wrong}");
        }
    }
}

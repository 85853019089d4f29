//! Tar archives, read in one pass: ustar, with the long names of GNU and the extended headers of pax.

use std::io::{self, Read};

use tar::{EntryType, Header, PaxExtensions};

use crate::kind::{TAR_BLOCK_BYTES, has_right_sum};
use crate::limits::{MAX_HEADERS_BEFORE, MAX_MEMBER_BYTES, MAX_NAME_BYTES, MAX_PAX_BYTES, STEP_BYTES};
use crate::names;
use crate::open::{Interest, Walk};
use crate::trouble::Trouble;

/// The statements of the headers before a member about it.
#[derive(Default)]
struct Said {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
    headers: usize,
}

/// Adds the members of a tar archive.
///
/// # Errors
///
/// [`Trouble`] with the archive as a whole. Members that were found before are added.
pub(crate) fn walk(walk: &mut Walk<'_>, stream: &mut dyn Read) -> Result<(), Trouble> {
    let from = walk.entries();
    let walked = members(walk, stream);
    walk.settle_repeated(from);
    walked?;
    // Up to its end, so that its checksums count.
    io::copy(stream, &mut io::sink()).map_err(of_archive)?;
    Ok(())
}

fn members(walk: &mut Walk<'_>, stream: &mut dyn Read) -> Result<(), Trouble> {
    let mut said = Said::default();
    let mut last_was_empty = false;
    while let Some(block) = block(stream)? {
        if block.iter().all(|byte| *byte == 0) {
            if last_was_empty {
                return Ok(());
            }
            last_was_empty = true;
            continue;
        }
        last_was_empty = false;
        if !has_right_sum(&block) {
            return Err(Trouble::broken(
                "the archive is broken: the checksum of a header is wrong",
            ));
        }
        let header = Header::from_byte_slice(&block);
        if said.read(header, stream)? {
            continue;
        }
        walk.count(0)?;
        member(walk, header, std::mem::take(&mut said), stream)?;
    }
    Ok(())
}

impl Said {
    /// Reads a header that says something about the next member; `false` for any other.
    fn read(&mut self, header: &Header, stream: &mut dyn Read) -> Result<bool, Trouble> {
        let size = header.entry_size().map_err(of_archive)?;
        match header.entry_type() {
            EntryType::GNULongName => self.name = Some(text(stream, size, MAX_NAME_BYTES)?),
            EntryType::GNULongLink => self.link = Some(text(stream, size, MAX_NAME_BYTES)?),
            EntryType::XHeader => {
                let extended = content(stream, size, MAX_PAX_BYTES)?;
                self.extend(&extended);
            }
            EntryType::XGlobalHeader => {
                content(stream, size, MAX_PAX_BYTES)?;
            }
            _ => return Ok(false),
        }
        self.headers += 1;
        if self.headers > MAX_HEADERS_BEFORE {
            let text = format!("the archive has more than {MAX_HEADERS_BEFORE} headers before a member");
            return Err(Trouble::Limit(text));
        }
        Ok(true)
    }

    fn extend(&mut self, extended: &[u8]) {
        for extension in PaxExtensions::new(extended).flatten() {
            let value = || extension.value_bytes().to_vec();
            match extension.key_bytes() {
                b"path" => self.name = Some(value()),
                b"linkpath" => self.link = Some(value()),
                b"size" => self.size = extension.value().ok().and_then(|size| size.parse().ok()),
                key if key.starts_with(b"GNU.sparse.") => {
                    self.is_sparse = true;
                    if key == b"GNU.sparse.name" {
                        self.name = Some(value());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Adds one member, if it is wanted, and reads on to the next header.
fn member(walk: &mut Walk<'_>, header: &Header, said: Said, stream: &mut dyn Read) -> Result<(), Trouble> {
    let raw = said.name.unwrap_or_else(|| header.path_bytes().into_owned());
    let name = names::clean(&raw);
    let kind = header.entry_type();
    let is_file = matches!(
        kind,
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse
    );
    // Other members have no content, and the field is ignored.
    if matches!(kind, EntryType::Link | EntryType::Symlink) {
        walk.note(&name, 0);
        let target = said
            .link
            .or_else(|| header.link_name_bytes().map(|name| name.into_owned()));
        if walk.is_likely_input(&name) {
            link(walk, &name, kind, &names::clean(&target.unwrap_or_default()));
        }
        return Ok(());
    }
    if matches!(
        kind,
        EntryType::Directory | EntryType::Char | EntryType::Block | EntryType::Fifo
    ) {
        if kind != EntryType::Directory && walk.is_likely_input(&name) {
            let text = "it is a device or a pipe, and no file: it is not looked at";
            walk.add(&name, Err(Trouble::Elsewhere(text.to_owned())));
        }
        return Ok(());
    }
    let size = match said.size {
        Some(size) => size,
        None => header.entry_size().map_err(of_archive)?,
    };
    let is_sparse = said.is_sparse || kind == EntryType::GNUSparse;
    if kind == EntryType::GNUSparse {
        skip_sparse_headers(header, stream)?;
    }
    let mut content = (&mut *stream).take(size);
    // In the oldest archives, folders are files whose names end with a slash.
    if is_file && !raw.ends_with(b"/") {
        walk.note(&name, size);
        file(walk, &name, size, is_sparse, &mut content)?;
    }
    skip(&mut content, &name)?;
    padding(stream, size)
}

/// Adds a file, if it is wanted.
fn file(
    walk: &mut Walk<'_>,
    name: &str,
    size: u64,
    is_sparse: bool,
    content: &mut dyn Read,
) -> Result<(), Trouble> {
    let mut head = Vec::new();
    let mut failed = None;
    let mut start = |count: usize| {
        let more = (count as u64).saturating_sub(head.len() as u64);
        if let Err(error) = (&mut *content).take(more).read_to_end(&mut head) {
            failed = Some(error);
        }
        Some(head[..head.len().min(count)].to_vec())
    };
    let interest = walk.interest(name, &mut start);
    if let Some(error) = failed {
        return Err(of_archive(error));
    }
    if interest == Interest::None {
        return Ok(());
    }
    if is_sparse {
        let text = "it is stored without its holes (a sparse file of GNU tar), which is not read";
        walk.add(name, Err(Trouble::broken(text)));
        return Ok(());
    }
    if size > MAX_MEMBER_BYTES {
        let text = format!("it has more than {MAX_MEMBER_BYTES} bytes");
        walk.add(name, Err(Trouble::Limit(text)));
        return Ok(());
    }
    let mut whole = Whole {
        inner: head.as_slice().chain(content),
        left: size,
    };
    walk.add_read(name, interest, &mut whole)
}

/// Reads so many bytes: fewer are an error.
struct Whole<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.saturating_sub(count as u64);
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(count)
    }
}

/// Looks where a link leads. A hard link leads to a name in the archive, a symbolic one to a place beside itself. Its target in the archive
/// is a member of its own.
fn link(walk: &mut Walk<'_>, name: &str, kind: EntryType, target: &str) {
    match kind {
        EntryType::Link if names::check(target).is_err() => walk.leads_out(name, target),
        EntryType::Link => {}
        _ => walk.check_link(name, target),
    }
}

/// The next block; `None` at the end.
fn block(stream: &mut dyn Read) -> Result<Option<[u8; TAR_BLOCK_BYTES]>, Trouble> {
    let mut block = [0; TAR_BLOCK_BYTES];
    let mut filled = 0;
    while filled < TAR_BLOCK_BYTES {
        match stream.read(&mut block[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(Trouble::broken("the archive is cut short")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(of_archive(error)),
        }
    }
    Ok(Some(block))
}

/// The content of a member that says something about others, and what fills its last block up.
fn content(stream: &mut dyn Read, size: u64, most: u64) -> Result<Vec<u8>, Trouble> {
    if size > most {
        let text = format!("the archive has a header of {size} bytes, and {most} is the most that is read");
        return Err(Trouble::Limit(text));
    }
    let mut bytes = Vec::new();
    stream.take(size).read_to_end(&mut bytes).map_err(of_archive)?;
    if (bytes.len() as u64) < size {
        return Err(Trouble::broken("the archive is cut short"));
    }
    padding(stream, size)?;
    Ok(bytes)
}

/// The same for a text that a NUL may end.
fn text(stream: &mut dyn Read, size: u64, most: u64) -> Result<Vec<u8>, Trouble> {
    let mut bytes = content(stream, size, most)?;
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    Ok(bytes)
}

/// Reads the rest of a member.
fn skip<R: Read>(content: &mut io::Take<R>, name: &str) -> Result<(), Trouble> {
    let mut buffer = vec![0; STEP_BYTES.min(usize::try_from(content.limit()).unwrap_or(STEP_BYTES))];
    while content.limit() > 0 {
        match content.read(&mut buffer) {
            Ok(0) => return Err(Trouble::broken(format!("the archive is cut short in `{name}`"))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(of_archive(error)),
        }
    }
    Ok(())
}

/// Reads what fills the last block of a member up.
fn padding(stream: &mut dyn Read, size: u64) -> Result<(), Trouble> {
    let over = size % TAR_BLOCK_BYTES as u64;
    if over > 0 {
        let fill = TAR_BLOCK_BYTES as u64 - over;
        io::copy(&mut stream.take(fill), &mut io::sink()).map_err(of_archive)?;
    }
    Ok(())
}

/// Reads the further headers of a sparse file.
fn skip_sparse_headers(header: &Header, stream: &mut dyn Read) -> Result<(), Trouble> {
    /// Place of the byte that says that another header follows.
    const GOES_ON: usize = 504;
    let mut goes_on = header.as_gnu().is_some_and(tar::GnuHeader::is_extended);
    while goes_on {
        let block = block(stream)?.ok_or_else(|| Trouble::broken("the archive is cut short"))?;
        goes_on = block[GOES_ON] == 1;
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn of_archive(error: io::Error) -> Trouble {
    Trouble::of_read("the archive", &error)
}

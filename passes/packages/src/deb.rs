//! Debian packages: an `ar` archive with a tar archive in it, compressed or not, that has the files.

use rawzip::ReaderAt as _;

use crate::compressed::Compression;
use crate::limits::MAX_DEB_MEMBERS;
use crate::open::Walk;
use crate::source::Source;
use crate::tar;
use crate::trouble::Trouble;

/// Bytes in front of the first header, and of a header.
const MAGIC_BYTES: u64 = 8;
const HEADER_BYTES: usize = 60;

/// Adds the files of a Debian package.
///
/// # Errors
///
/// [`Trouble`] with the package as a whole. Files that were found before are added.
pub(crate) fn walk(walk: &mut Walk<'_>, source: &Source) -> Result<(), Trouble> {
    let mut at = MAGIC_BYTES;
    walk.is_root = true;
    for _ in 0..MAX_DEB_MEMBERS {
        let header = header(source, at)?;
        let (name, size) = name_and_size(&header)?;
        let start = at + HEADER_BYTES as u64;
        let left = source.length().saturating_sub(start);
        if let Some(ending) = name.strip_prefix("data.tar") {
            let data = source.slice(start, size);
            files(walk, &data, ending)?;
            if size > left {
                return Err(Trouble::broken("the package is cut short"));
            }
            return Ok(());
        }
        at = start
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(2))
            .filter(|next| *next < source.length())
            .ok_or_else(|| Trouble::broken("the package has no `data.tar`"))?;
    }
    Err(Trouble::broken("the package has no `data.tar`"))
}

fn header(source: &Source, at: u64) -> Result<[u8; HEADER_BYTES], Trouble> {
    let mut header = [0; HEADER_BYTES];
    let mut filled = 0;
    while filled < HEADER_BYTES {
        match source.read_at(&mut header[filled..], at.saturating_add(filled as u64)) {
            Ok(0) => return Err(Trouble::broken("the package is cut short")),
            Ok(count) => filled += count,
            Err(error) => return Err(Trouble::of_read("the package", &error)),
        }
    }
    Ok(header)
}

/// The name of a member of `ar`, and its size in bytes.
fn name_and_size(header: &[u8; HEADER_BYTES]) -> Result<(&str, u64), Trouble> {
    let broken = || Trouble::broken("the package is broken: one of its headers is none");
    let field = |from: usize, to: usize| {
        let text = std::str::from_utf8(&header[from..to]).ok()?;
        Some(text.trim_end().trim_end_matches('/'))
    };
    if header[58..] != *b"`\n" {
        return Err(broken());
    }
    let size = field(48, 58).and_then(|size| size.parse().ok());
    field(0, 16).zip(size).ok_or_else(broken)
}

/// Adds the files of the archive `data.tar` with this ending.
fn files(walk: &mut Walk<'_>, data: &Source, ending: &str) -> Result<(), Trouble> {
    if ending.is_empty() {
        let mut reader = walk.bounds.metered(data.reader());
        return tar::walk(walk, &mut reader);
    }
    let Some(compression) = Compression::of(&data.start(SNIFFED_BYTES)) else {
        let text = format!("the files of the package are compressed as `{ending}`, which is not read");
        return Err(Trouble::broken(text));
    };
    walk.compressed_tar(compression, data.reader())
}

/// Bytes that identify a compression.
const SNIFFED_BYTES: usize = 16;

//! Zip archives, and the formats based on them: wheels and conda packages.
//!
//! Only the directory at the end of the archive is used. Members are unpacked one by one, on request, in any thread.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use rawzip::{
    CompressionMethod, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ZipArchive, ZipArchiveEntryWayfinder, ZipLocator,
};

use crate::compressed::{Compression, zstd_reader};
use crate::keep::{Unpacked, unpack};
use crate::limits::{
    CLOCK_BYTES, MAX_IN_MEMORY_BYTES, MAX_MEMBER_BYTES, MAX_NAME_BYTES, MAX_ZIP_END_BYTES, STEP_BYTES,
};
use crate::names;
use crate::open::{Interest, Walk};
use crate::source::Source;
use crate::trouble::Trouble;

type Archive = Arc<ZipArchive<Source>>;

/// A member, packed.
#[derive(Clone, Debug)]
pub(crate) struct PackedMember {
    archive: Archive,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

/// A member as the directory has it.
struct Listed {
    name: String,
    packed: PackedMember,
    /// Offset of its header in the archive.
    offset: u64,
    is_encrypted: bool,
    is_link: bool,
    /// Its bytes are also bytes of another.
    overlaps: bool,
}

/// Adds the members of a zip archive.
///
/// # Errors
///
/// [`Trouble`] with the archive as a whole. Members that were found before are added.
pub(crate) fn walk(walk: &mut Walk<'_>, source: &Source) -> Result<(), Trouble> {
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipLocator::new()
        .max_search_space(MAX_ZIP_END_BYTES)
        .locate_in_reader(source.clone(), &mut buffer, source.length())
        .map_err(|(_, error)| Trouble::from(error))?;
    let (mut members, listed) = list(walk, &Arc::new(archive), &mut buffer);
    mark_overlaps(&mut members);
    if is_conda(&members) {
        for member in members.iter().filter(|member| is_part_of_conda(&member.name)) {
            conda_part(walk, member)?;
        }
        return listed;
    }
    let is_wheel = members.iter().any(|member| is_wheel_file(&member.name));
    walk.is_in_archive &= !is_wheel;
    let mut last = HashMap::new();
    for (at, member) in members.iter().enumerate() {
        last.insert(&member.name, at);
    }
    let repeated: Vec<bool> = (0..members.len())
        .map(|at| last.get(&members[at].name) != Some(&at))
        .collect();
    for (member, is_repeated) in members.iter().zip(repeated) {
        add(walk, member, is_repeated)?;
    }
    listed
}

/// The members that the directory lists but for folders, and the error that it ends with.
fn list(walk: &mut Walk<'_>, archive: &Archive, buffer: &mut [u8]) -> (Vec<Listed>, Result<(), Trouble>) {
    let mut members = Vec::new();
    let mut seen = 0_u64;
    let mut entries = archive.entries(buffer);
    loop {
        let entry = match entries.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(error) => return (members, Err(error.into())),
        };
        seen += 1;
        if let Err(trouble) = walk.count(entry.file_path().as_bytes().len()) {
            return (members, Err(trouble));
        }
        if entry.is_dir() {
            continue;
        }
        members.push(Listed {
            name: names::clean_in_zip(entry.file_path().as_bytes()),
            packed: PackedMember {
                archive: Arc::clone(archive),
                place: entry.wayfinder(),
                method: entry.compression_method(),
            },
            offset: entry.local_header_offset(),
            is_encrypted: entry.flags().is_encrypted()
                || entry.compression_method() == CompressionMethod::AES,
            is_link: entry.mode().is_symlink(),
            overlaps: false,
        });
    }
    let claimed = archive.entries_hint();
    if seen < claimed {
        let text = format!("the zip archive is broken: its directory has {seen} members, and says {claimed}");
        return (members, Err(Trouble::broken(text)));
    }
    (members, Ok(()))
}

/// Marks the members whose bytes are also bytes of another: archives that unpack to far more than they have are made so.
fn mark_overlaps(members: &mut [Listed]) {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&at| members[at].offset);
    let mut furthest: Option<(u64, usize)> = None;
    for at in order {
        let start = members[at].offset;
        let end = start
            .saturating_add(LOCAL_HEADER_BYTES)
            .saturating_add(members[at].packed.place.compressed_size_hint());
        if let Some((before, other)) = furthest
            && start < before
        {
            members[at].overlaps = true;
            members[other].overlaps = true;
        }
        if furthest.is_none_or(|(before, _)| end > before) {
            furthest = Some((end, at));
        }
    }
}

/// Bytes of the header in front of a member, at least.
const LOCAL_HEADER_BYTES: u64 = 30;

fn add(walk: &mut Walk<'_>, member: &Listed, is_repeated: bool) -> Result<(), Trouble> {
    let name = member.name.as_str();
    walk.note(name, member.packed.size());
    if member.is_link {
        return add_link(walk, member);
    }
    let obstacle = member.obstacle();
    let mut start = |count| match &obstacle {
        None => member.packed.start(count),
        Some(_) => None,
    };
    let interest = walk.interest(name, &mut start);
    if interest == Interest::None {
        return Ok(());
    }
    if is_repeated {
        let text = "another member has the same name and comes later, so that it is unpacked over this one";
        walk.add(name, Err(Trouble::broken(text)));
        return Ok(());
    }
    if let Some(trouble) = obstacle.or_else(|| walk.bounds.take(member.packed.size()).err()) {
        walk.add(name, Err(trouble));
        return Ok(());
    }
    if interest == Interest::Input {
        walk.add_packed(name, member.packed.clone());
        return Ok(());
    }
    match member.packed.stored() {
        Ok(Some(source)) => walk.inner(name, &source),
        Ok(None) => {
            let opened = member.packed.opened(walk.bounds.is_late());
            match opened {
                Ok(mut reader) => walk.add_read(name, interest, &mut reader)?,
                Err(trouble) => walk.add(name, Err(trouble)),
            }
        }
        Err(trouble) => walk.add(name, Err(trouble)),
    }
    Ok(())
}

/// Looks where a link leads: its content is the name of its target. Its target in the archive is a member of its own.
fn add_link(walk: &mut Walk<'_>, member: &Listed) -> Result<(), Trouble> {
    if walk.is_likely_input(&member.name) {
        let target = match member.obstacle() {
            Some(trouble) => Err(trouble),
            None => member
                .packed
                .start(MAX_NAME_BYTES as usize)
                .ok_or_else(|| Trouble::broken("it is a link, and the name that it leads to cannot be read")),
        };
        match target {
            Ok(target) => walk.check_link(&member.name, &names::clean_in_zip(&target)),
            Err(trouble) => walk.add(&member.name, Err(trouble)),
        }
    }
    Ok(())
}

impl Listed {
    /// The reason why it can't be unpacked, if the directory has one.
    fn obstacle(&self) -> Option<Trouble> {
        if self.is_encrypted {
            return Some(Trouble::broken("it is encrypted, and cannot be looked at"));
        }
        if self.overlaps {
            let text = "its bytes are also those of another member, as in archives that are made to unpack to far too much";
            return Some(Trouble::broken(text));
        }
        let method = self.packed.method;
        if !METHODS.contains(&method) {
            let name = method.name().unwrap_or("unknown");
            let text = format!(
                "it is compressed by method {} of zip ({name}), which is not read",
                method.as_u16()
            );
            return Some(Trouble::broken(text));
        }
        if self.packed.size() > MAX_MEMBER_BYTES {
            let text = format!("it unpacks to more than {MAX_MEMBER_BYTES} bytes");
            return Some(Trouble::Limit(text));
        }
        None
    }
}

/// The methods of compression that are read.
const METHODS: [CompressionMethod; 5] = [
    CompressionMethod::STORE,
    CompressionMethod::DEFLATE,
    CompressionMethod::BZIP2,
    CompressionMethod::ZSTD,
    CompressionMethod::XZ,
];

impl PackedMember {
    /// Bytes that it unpacks to, as the directory says.
    pub(crate) fn size(&self) -> u64 {
        self.place.uncompressed_size_hint()
    }

    /// Its first bytes, at most `count`; `None` if they are broken.
    fn start(&self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let reader = self.reader().ok()?;
        let limit = self.size().min(count as u64);
        reader.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The place of its bytes in the archive, if they are not compressed.
    fn stored(&self) -> Result<Option<Source>, Trouble> {
        if self.method != CompressionMethod::STORE {
            return Ok(None);
        }
        let (start, end) = self.archive.get_entry(self.place)?.compressed_data_range();
        let length = end.saturating_sub(start);
        if length != self.size() {
            return Err(Trouble::broken(
                "its content is broken: the directory says two sizes of it",
            ));
        }
        Ok(Some(self.archive.get_ref().slice(start, length)))
    }

    /// A reader of the unpacked content, which does not trust the sizes in the directory.
    fn reader(&self) -> Result<Box<dyn Read + '_>, Trouble> {
        let packed = self.archive.get_entry(self.place)?.reader();
        let broken = |error| Trouble::of_read("its content", &error);
        Ok(match self.method {
            CompressionMethod::STORE => Box::new(packed),
            CompressionMethod::BZIP2 => Compression::Bzip2.reader(packed).map_err(broken)?,
            CompressionMethod::XZ => Compression::Xz.reader(packed).map_err(broken)?,
            CompressionMethod::ZSTD => {
                let packed = BufReader::with_capacity(STEP_BYTES, packed);
                Box::new(zstd_reader(packed).map_err(broken)?)
            }
            _ => {
                let packed = BufReader::with_capacity(STEP_BYTES, packed);
                Box::new(flate2::bufread::DeflateDecoder::new(packed))
            }
        })
    }

    /// A reader that fails where size or checksum are others than the directory says.
    fn opened<'a>(&'a self, is_late: &'a dyn Fn() -> bool) -> Result<Exact<'a>, Trouble> {
        let entry = self.archive.get_entry(self.place)?;
        Ok(Exact {
            inner: Box::new(entry.verifying_reader(self.reader()?)),
            left: self.size(),
            size: self.size(),
            until_clock: CLOCK_BYTES,
            is_late,
        })
    }

    pub(crate) fn unpack(&self, is_late: &dyn Fn() -> bool) -> Result<Unpacked, Trouble> {
        unpack(&mut self.opened(is_late)?, self.size(), MAX_IN_MEMORY_BYTES)
    }
}

/// Reads so many bytes, no more and no less.
struct Exact<'a> {
    inner: Box<dyn Read + 'a>,
    left: u64,
    size: u64,
    until_clock: u64,
    is_late: &'a dyn Fn() -> bool,
}

impl Read for Exact<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // At the end, the checksum is compared.
        let count = self
            .inner
            .read(buffer)
            .map_err(|error| reworded(error, self.size))?;
        let bytes = count as u64;
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or_else(|| Trouble::broken(larger(self.size)).into_io())?;
        match self.until_clock.checked_sub(bytes) {
            Some(left) => self.until_clock = left,
            None if (self.is_late)() => return Err(Trouble::Late.into_io()),
            None => self.until_clock = CLOCK_BYTES,
        }
        Ok(count)
    }
}

fn larger(size: u64) -> String {
    format!("its content is broken: it unpacks to more than the {size} bytes that the directory says")
}

/// An error of the comparison with the directory, in words.
fn reworded(error: io::Error, size: u64) -> io::Error {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rawzip::Error>());
    let text = match inner.map(rawzip::Error::kind) {
        Some(rawzip::ErrorKind::InvalidChecksum { .. }) => {
            "its content is broken: its checksum is another than the directory says".to_owned()
        }
        Some(rawzip::ErrorKind::InvalidSize { actual, .. }) if *actual > size => larger(size),
        Some(rawzip::ErrorKind::InvalidSize { actual, .. }) => {
            format!("its content is broken: it unpacks to {actual} bytes, and the directory says {size}")
        }
        _ => return error,
    };
    Trouble::broken(text).into_io()
}

/// True for the file that every wheel has: `NAME-VERSION.dist-info/WHEEL`.
fn is_wheel_file(name: &str) -> bool {
    name.strip_suffix(".dist-info/WHEEL")
        .is_some_and(|rest| !rest.contains('/'))
}

/// True if the members are those of a conda package of version 2.
fn is_conda(members: &[Listed]) -> bool {
    let has = |is: &dyn Fn(&str) -> bool| members.iter().any(|member| is(&member.name));
    has(&|name| name == "metadata.json") && has(&|name| name.starts_with("pkg-") && is_part_of_conda(name))
}

/// True for the archives in a conda package: `pkg-NAME.tar.zst` has its files, `info-NAME.tar.zst` its metadata.
fn is_part_of_conda(name: &str) -> bool {
    (name.starts_with("pkg-") || name.starts_with("info-")) && name.contains(".tar.") && !name.contains('/')
}

/// Adds the members of an archive in a conda package, as if they were those of the package. Its errors are errors of the package.
fn conda_part(walk: &mut Walk<'_>, part: &Listed) -> Result<(), Trouble> {
    let about = |trouble: Trouble| match trouble {
        Trouble::Broken(text) => Trouble::Broken(format!("`{}`: {text}", part.name)),
        Trouble::Limit(text) => Trouble::Limit(format!("`{}`: {text}", part.name)),
        other => other,
    };
    if let Some(trouble) = part.obstacle() {
        walk.add("", Err(about(trouble)));
        return Ok(());
    }
    walk.is_in_archive = false;
    let start = part.packed.start(SNIFFED_BYTES).unwrap_or_default();
    let Some(compression) = Compression::of(&start) else {
        walk.add(
            "",
            Err(about(Trouble::broken("its compression is none that is read"))),
        );
        return Ok(());
    };
    let is_late = walk.bounds.is_late();
    let walked = part
        .packed
        .opened(is_late)
        .and_then(|reader| walk.compressed_tar(compression, reader));
    match walked {
        Err(Trouble::Late) => Err(Trouble::Late),
        Err(trouble) => {
            walk.add("", Err(about(trouble)));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Bytes that identify a compression.
const SNIFFED_BYTES: usize = 16;

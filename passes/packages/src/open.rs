//! A package opened: its members that are inputs, and those of packages in it.

use std::collections::HashMap;
use std::io::Read;

use crate::bounds::Bounds;
use crate::compressed::Compression;
use crate::keep::{Kept, Unpacked};
use crate::kind::{PackageKind, is_archive, is_installed_package, recognise};
use crate::limits::{MAX_DEPTH, MAX_MEMBERS, MAX_NAMES_BYTES, MAX_TROUBLES};
use crate::source::Source;
use crate::trouble::Trouble;
use crate::zip::PackedMember;
use crate::{deb, names, tar, zip};

/// Says which members are wanted. Paths are those in the outermost package, such as `torch.whl!torch/lib/libtorch.so`.
pub trait Select {
    /// True if the member is an input. The function has its first bytes, as many as are asked for or there
    /// are; `None` if they can't be read.
    fn is_input(&self, path: &str, start: &mut dyn FnMut(usize) -> Option<Vec<u8>>) -> bool;

    /// True if a member that is an input, or a package, is left out all the same.
    fn leaves_out(&self, path: &str) -> bool;

    /// Takes note of a file or link, wanted or not, and of its unpacked bytes as the package states them.
    fn note(&self, _path: &str, _bytes: u64) {}
}

/// A member that is an input, or that has an error.
#[derive(Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Its path in the package, and after a `!` its path in a nested package; empty for the package as a whole.
    pub path: String,
    /// Its content.
    pub content: Result<Member, Trouble>,
}

/// The content of a member: unpacked, or packed yet.
#[derive(Clone, Debug)]
pub struct Member(Content);

#[derive(Clone, Debug)]
enum Content {
    Unpacked(Unpacked),
    Packed(PackedMember),
}

impl Member {
    /// The number of its bytes, unpacked; of packed members, what the directory of the package says.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.0 {
            Content::Unpacked(Unpacked::Memory(bytes)) => bytes.len() as u64,
            Content::Unpacked(Unpacked::File { length, .. }) => *length,
            Content::Packed(packed) => packed.size(),
        }
    }

    /// Its bytes.
    ///
    /// # Errors
    ///
    /// [`Trouble`], if they are broken, exceed a limit, or the time is over first.
    pub fn unpack(self, is_late: &dyn Fn() -> bool) -> Result<Unpacked, Trouble> {
        match self.0 {
            Content::Unpacked(unpacked) => Ok(unpacked),
            Content::Packed(packed) => packed.unpack(is_late),
        }
    }
}

/// The members of a package that are wanted, sorted by their paths, part by part as a walk over folders meets them. The error of a member
/// is in the member's position, and an error of the package is last.
///
/// Zip archives are read at any offset: their members are unpacked when asked for. Others are read once, from start to end.
#[must_use]
pub fn open(
    source: &Source,
    kind: PackageKind,
    select: &dyn Select,
    is_late: &dyn Fn() -> bool,
) -> Vec<Entry> {
    let mut walk = Walk {
        select,
        bounds: Bounds::of(source.length(), is_late),
        kept: Kept::default(),
        members: 0,
        names_bytes: 0,
        troubles: 0,
        entries: Vec::new(),
        is_in_archive: true,
        is_root: false,
        prefix: String::new(),
        depth: 1,
    };
    walk.package(source, kind);
    let mut entries = walk.into_entries();
    entries.sort_by(|one, other| {
        let key = |entry: &Entry| entry.path.is_empty();
        key(one)
            .cmp(&key(other))
            .then_with(|| parts(&one.path).cmp(parts(&other.path)))
    });
    entries
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
}

/// The walk over a package and those in it.
pub(crate) struct Walk<'a> {
    select: &'a dyn Select,
    pub(crate) bounds: Bounds<'a>,
    kept: Kept,
    members: usize,
    /// Bytes of the names that are kept.
    names_bytes: usize,
    /// Number of members with something wrong.
    troubles: usize,
    entries: Vec<Entry>,
    /// The package is an archive, and none that is installed as it is: all archives in it are opened.
    pub(crate) is_in_archive: bool,
    /// The package is unpacked to the root of a file system: links to absolute paths do not lead out of it.
    pub(crate) is_root: bool,
    /// The path of the package in the outermost one, with `!`.
    prefix: String,
    depth: usize,
}

/// The role of a member in the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Nothing.
    None,
    /// An input.
    Input,
    /// A package.
    Package,
}

impl Walk<'_> {
    /// Adds the members of a package. An error is an entry of its own.
    fn package(&mut self, source: &Source, kind: PackageKind) {
        let walked = match kind {
            PackageKind::Zip => zip::walk(self, source),
            PackageKind::Deb => deb::walk(self, source),
            PackageKind::Tar => {
                let mut reader = self.bounds.metered(source.reader());
                tar::walk(self, &mut reader)
            }
            PackageKind::CompressedTar(compression) => self.compressed_tar(compression, source.reader()),
        };
        if let Err(trouble) = walked {
            self.add("", Err(trouble));
        }
    }

    /// Adds the members of a tar archive that is compressed.
    ///
    /// # Errors
    ///
    /// [`Trouble`] with the archive as a whole.
    pub(crate) fn compressed_tar(
        &mut self,
        compression: Compression,
        packed: impl Read,
    ) -> Result<(), Trouble> {
        let reader = compression.reader(packed);
        let reader = reader.map_err(|error| Trouble::of_read("the archive", &error))?;
        let mut reader = self.bounds.metered(reader);
        tar::walk(self, &mut reader)
    }

    /// Number of entries so far.
    pub(crate) const fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Counts a member, and so many bytes of its name that are kept.
    ///
    /// # Errors
    ///
    /// [`Trouble`], if there are too many, or the time is over.
    pub(crate) fn count(&mut self, name_bytes: usize) -> Result<(), Trouble> {
        self.names_bytes = self.names_bytes.saturating_add(name_bytes);
        if self.names_bytes > MAX_NAMES_BYTES {
            let text = format!(
                "the names of its members have more than {MAX_NAMES_BYTES} bytes: the rest is not looked at"
            );
            return Err(Trouble::Limit(text));
        }
        if self.members >= MAX_MEMBERS {
            let text = format!("it has more than {MAX_MEMBERS} members: the rest is not looked at");
            return Err(Trouble::Limit(text));
        }
        self.members += 1;
        self.bounds.check_time()
    }

    /// Has the caller take note of a file or link, by its clean name.
    pub(crate) fn note(&self, name: &str, bytes: u64) {
        self.select.note(&self.path(name), bytes);
    }

    /// The path of a member in the outermost package.
    fn path(&self, name: &str) -> String {
        if name.is_empty() {
            return self.prefix.strip_suffix('!').unwrap_or_default().to_owned();
        }
        format!("{}{name}", self.prefix)
    }

    /// The role of a member, by its clean name and its first bytes, which are `None` where they cannot be read. Of one that leads out
    /// of the package, an error is noted, and it is nothing.
    pub(crate) fn interest(
        &mut self,
        name: &str,
        start: &mut dyn FnMut(usize) -> Option<Vec<u8>>,
    ) -> Interest {
        let mut is_readable = true;
        let mut start = |count| {
            let bytes = start(count);
            is_readable &= bytes.is_some();
            bytes
        };
        let path = self.path(name);
        let is_package = is_installed_package(name) || self.is_in_archive && is_archive(name);
        let interest = match () {
            () if is_package => Interest::Package,
            () if self.select.is_input(&path, &mut start) => Interest::Input,
            () if !is_readable && self.is_likely_input(name) => Interest::Input,
            () => return Interest::None,
        };
        if self.select.leaves_out(&path) {
            return Interest::None;
        }
        if let Err(trouble) = names::check(name) {
            self.add(name, Err(trouble));
            return Interest::None;
        }
        interest
    }

    /// True if a file of this name is an input, or is likely to hold device code, judged by the name alone.
    pub(crate) fn is_likely_input(&self, name: &str) -> bool {
        let file = name.rsplit('/').next().unwrap_or(name);
        let endings = [".a", ".cubin", ".dll", ".fatbin", ".o", ".pyd", ".so"];
        let path = self.path(name);
        let is_library = endings.iter().any(|ending| file.ends_with(ending)) || file.contains(".so.");
        (is_library || self.select.is_input(&path, &mut |_| None)) && !self.select.leaves_out(&path)
    }

    /// Notes a link that leads out of the package.
    pub(crate) fn check_link(&mut self, name: &str, target: &str) {
        if !self.is_root && names::target(name, target).is_none() {
            self.leads_out(name, target);
        }
    }

    /// Notes that a link leads out of the package.
    pub(crate) fn leads_out(&mut self, name: &str, target: &str) {
        let text = format!("it is a link to `{target}`, out of the package: nothing of it is looked at");
        self.add(name, Err(Trouble::Elsewhere(text)));
    }

    /// Adds a member, or its error.
    pub(crate) fn add(&mut self, name: &str, content: Result<Member, Trouble>) {
        if content.is_err() {
            self.troubles += 1;
            if self.troubles > MAX_TROUBLES {
                return;
            }
        }
        let path = self.path(name);
        self.names_bytes = self.names_bytes.saturating_add(path.len());
        self.entries.push(Entry { path, content });
    }

    /// The entries, with one that counts the troubles that are not among them.
    fn into_entries(mut self) -> Vec<Entry> {
        let more = self.troubles.saturating_sub(MAX_TROUBLES);
        if more > 0 {
            let text = format!("something is wrong with {more} more of its members");
            self.entries.push(Entry {
                path: String::new(),
                content: Err(Trouble::Limit(text)),
            });
        }
        self.entries
    }

    /// Adds a member that is unpacked when its turn comes.
    pub(crate) fn add_packed(&mut self, name: &str, packed: PackedMember) {
        self.add(name, Ok(Member(Content::Packed(packed))));
    }

    /// Keeps the content of a member, and adds it: an input, or the members of the package that it is.
    ///
    /// # Errors
    ///
    /// [`Trouble::Late`], and other trouble that leaves nothing to go on with.
    pub(crate) fn add_read(
        &mut self,
        name: &str,
        interest: Interest,
        reader: &mut dyn Read,
    ) -> Result<(), Trouble> {
        match self.kept.keep(reader) {
            Ok(kept) if interest == Interest::Package => self.inner(name, &kept.into_source()),
            Ok(kept) => self.add(name, Ok(Member(Content::Unpacked(kept)))),
            Err(trouble) => {
                let is_over = trouble.is_late();
                self.add(name, Err(trouble.clone()));
                if is_over {
                    return Err(trouble);
                }
            }
        }
        Ok(())
    }

    /// Adds the members of a package that is a member.
    pub(crate) fn inner(&mut self, name: &str, source: &Source) {
        let Some(kind) = recognise(source) else {
            let text = "its name is that of a package, and it is none that is read";
            return self.add(name, Err(Trouble::broken(text)));
        };
        if self.depth >= MAX_DEPTH {
            let text = format!("it lies in {MAX_DEPTH} packages, one in another: it is not opened");
            return self.add(name, Err(Trouble::Limit(text)));
        }
        let prefix = format!("{}!", self.path(name));
        let prefix = std::mem::replace(&mut self.prefix, prefix);
        let (is_in_archive, is_root) = (self.is_in_archive, std::mem::take(&mut self.is_root));
        self.depth += 1;
        self.package(source, kind);
        self.depth -= 1;
        (self.is_in_archive, self.is_root) = (is_in_archive, is_root);
        self.prefix = prefix;
    }

    /// Of entries with one path, the last stays: an archive that was added to has several, and unpacking it leaves the last.
    pub(crate) fn settle_repeated(&mut self, from: usize) {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate().skip(from) {
            last.insert(&entry.path, at);
        }
        if last.len() == self.entries.len() - from {
            return;
        }
        let stays: Vec<bool> = self
            .entries
            .iter()
            .enumerate()
            .map(|(at, entry)| at < from || last.get(entry.path.as_str()) == Some(&at))
            .collect();
        let mut stays = stays.into_iter();
        self.entries.retain(|_| stays.next().unwrap_or(true));
    }
}

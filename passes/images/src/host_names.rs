//! The names that host code defines, as digests: executables have millions, and few are ever asked for.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The kinds of definitions that host code has under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HostKind {
    /// A variable.
    Variable,
    /// A function.
    Function,
}

/// One definition: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Definition {
    name: u64,
    member: u32,
    kind: HostKind,
    is_local: bool,
}

/// The symbol tables of the host files in one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostNames {
    /// Sorted once all are in.
    definitions: Vec<Definition>,
    /// Names of the members of an archive.
    members: Vec<String>,
}

fn digest(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

impl HostNames {
    /// Begins the definitions of this member of an archive, or of the file itself.
    pub fn begin(&mut self, member: Option<&str>) {
        self.members.push(member.unwrap_or_default().to_owned());
    }

    /// Adds a definition; a local one is seen in its own object only.
    pub fn add(&mut self, name: &[u8], kind: HostKind, is_local: bool) {
        self.definitions.push(Definition {
            name: digest(name),
            member: self.members.len().saturating_sub(1) as u32,
            kind,
            is_local,
        });
    }

    /// To be called after the last [`HostNames::add`].
    pub fn sort(&mut self) {
        self.definitions.sort_unstable();
        self.definitions.dedup();
        self.definitions.shrink_to_fit();
    }

    /// The definition under this name that other objects can refer to, and the member of an archive that has it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(HostKind, Option<&str>)> {
        self.all(name)
            .find(|known| !known.is_local)
            .map(|known| (known.kind, self.member(known)))
    }

    /// The definition under this name in the object called `member`, whether other objects can refer to it or not.
    #[must_use]
    pub fn find_in(&self, member: Option<&str>, name: &str) -> Option<HostKind> {
        self.all(name)
            .find(|known| self.member(known) == member)
            .map(|known| known.kind)
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &Definition> {
        let wanted = digest(name.as_bytes());
        let first = self.definitions.partition_point(|known| known.name < wanted);
        self.definitions[first..]
            .iter()
            .take_while(move |known| known.name == wanted)
    }

    fn member(&self, definition: &Definition) -> Option<&str> {
        self.members
            .get(definition.member as usize)
            .map(String::as_str)
            .filter(|member| !member.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_are_seen_in_their_own_object() {
        let mut names = HostNames::default();
        names.begin(Some("a.o"));
        names.add(b"limit", HostKind::Variable, false);
        names.add(b"_ZL3tab", HostKind::Variable, true);
        names.begin(Some("b.o"));
        names.add(b"run", HostKind::Function, false);
        names.sort();
        assert_eq!(names.find("limit"), Some((HostKind::Variable, Some("a.o"))));
        assert_eq!(names.find("run"), Some((HostKind::Function, Some("b.o"))));
        assert_eq!(names.find("_ZL3tab"), None);
        assert_eq!(names.find_in(Some("a.o"), "_ZL3tab"), Some(HostKind::Variable));
        assert_eq!(names.find_in(Some("b.o"), "_ZL3tab"), None);
        assert_eq!(names.find("other"), None);
    }
}

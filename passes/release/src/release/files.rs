//! The files of a release, by names that stay the same in the next one.
//!
//! Each library launches the kernels of its own images, so a figure belongs to a kernel of a file. Names lose what changes from
//! release to release: the folder that was named, versions, the hash and the tag that packaging adds.

use std::collections::BTreeMap;

use super::contents::Contents;
use crate::forecast::Gpu;
use crate::inventory::InputReport;

/// The mark between a package and its member in the name of an input.
const MEMBER: char = '!';

/// Digits of the hash that auditwheel puts after the name of a library.
const HASH_DIGITS: usize = 8;

/// A file with device code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRecord {
    /// Index of its input; the first, if several have the name.
    pub input: usize,
    /// Its contents.
    pub contents: Contents,
}

/// The files of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(pub(super) BTreeMap<String, FileRecord>);

impl Files {
    /// Those of a run that hold device code, with the forecast for these GPUs.
    #[must_use]
    pub fn of(inputs: &[InputReport], gpus: &[Gpu]) -> Self {
        let mut files: BTreeMap<String, FileRecord> = BTreeMap::new();
        for (name, (index, input)) in stable_names_of_inputs(inputs)
            .into_iter()
            .zip(inputs.iter().enumerate())
        {
            if input.images.is_empty() {
                continue;
            }
            let record = files.entry(name).or_insert_with(|| FileRecord {
                input: index,
                contents: Contents::default(),
            });
            record.contents.add(input, gpus);
        }
        Self(files)
    }

    /// The file of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&FileRecord> {
        self.0.get(name)
    }

    /// Number of kernels: one that several files have counts in each.
    #[must_use]
    pub fn kernels(&self) -> usize {
        self.0.values().map(|file| file.contents.kernels.len()).sum()
    }
}

/// A name for each input. Names that would be equal keep every part in which they differ.
fn stable_names_of_inputs(inputs: &[InputReport]) -> Vec<String> {
    let folder = common_folder(inputs.iter().map(|input| input.name.as_str()));
    let relative = |input: &InputReport| input.name[folder..].to_owned();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let stable: Vec<String> = inputs
        .iter()
        .map(|input| stable_path(&input.name[folder..]))
        .collect();
    for name in &stable {
        *count.entry(name.clone()).or_default() += 1;
    }
    let named = stable.into_iter().zip(inputs);
    named
        .map(|(name, input)| if count[&name] == 1 { name } else { relative(input) })
        .collect()
}

/// The bytes of the folders that all names begin with.
fn common_folder<'a>(mut names: impl Iterator<Item = &'a str>) -> usize {
    // After the mark of a package are folders of the package.
    let folders = |name: &'a str| {
        let file = name.split(MEMBER).next().unwrap_or_default();
        &file[..file.rfind(['/', '\\']).map_or(0, |end| end + 1)]
    };
    let Some(first) = names.next().map(folders) else {
        return 0;
    };
    names.map(folders).fold(first.len(), |length, other| {
        let equal = first[..length]
            .bytes()
            .zip(other.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        first[..first.floor_char_boundary(equal)]
            .rfind(['/', '\\'])
            .map_or(0, |end| end + 1)
    })
}

fn stable_path(name: &str) -> String {
    let parts = name.split_inclusive(['/', '\\', MEMBER]);
    parts
        .map(|part| {
            let end = part.trim_end_matches(['/', '\\', MEMBER]);
            let is_package = part.ends_with(MEMBER);
            let stable = if is_package {
                package_name_without_version(end)
            } else {
                part_name(end)
            };
            stable + &part[end.len()..]
        })
        .collect()
}

/// `torch` of `torch-2.8.0-cp312-….whl` and of `torch_2.8_amd64.deb`.
fn package_name_without_version(name: &str) -> String {
    let mut end = name.len();
    for (at, _) in name.match_indices(['-', '_']) {
        if name[at + 1..].starts_with(|letter: char| letter.is_ascii_digit()) {
            end = at;
            break;
        }
    }
    name[..end].to_owned()
}

/// The name of a folder or file without version, hash and tag: `libx.so` of `libx-1a2b3c4d.so.5.1`.
fn part_name(name: &str) -> String {
    let (stem, extension) = match name.find(".so").filter(|at| is_version(&name[at + 3..])) {
        Some(at) => name.split_at(at),
        None => name.split_at(name.rfind('.').unwrap_or(name.len())),
    };
    let extension = if extension.starts_with(".so") {
        ".so"
    } else {
        extension
    };
    let mut kept = String::with_capacity(name.len());
    for piece in stem.split_inclusive(['-', '.']) {
        let word = piece.trim_end_matches(['-', '.']);
        let is_hash = word.len() == HASH_DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if is_hash || is_number {
            continue;
        }
        // The version of Python in the tag of a module.
        let is_tag = word.starts_with("cp3") && word[3..].bytes().all(|byte| byte.is_ascii_digit());
        kept.push_str(if is_tag { "cp" } else { word });
        kept.push_str(&piece[word.len()..]);
    }
    kept.truncate(kept.trim_end_matches(['-', '.']).len());
    kept + extension
}

/// True for the text after `.so`: nothing, or `.5.1`.
fn is_version(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_the_same_in_the_next_release() {
        for (one, other) in [
            (
                "x-1.0-cp312-linux.whl!x/libx.so",
                "x-1.1-cp313-linux.whl!x/libx.so",
            ),
            (
                "x_1.0_amd64.deb!usr/lib/libx.so.1",
                "x_2.0_amd64.deb!usr/lib/libx.so.2.1",
            ),
            (
                "x.whl!x.libs/libx-1a2b3c4d.so.5",
                "x.whl!x.libs/libx-00aabbcc.so.6",
            ),
            (
                "_C.cpython-312-x86_64-linux-gnu.so",
                "_C.cpython-313-x86_64-linux-gnu.so",
            ),
            ("_C.cp312-win_amd64.pyd", "_C.cp313-win_amd64.pyd"),
            ("x-1.0.data/lib/x.so", "x-1.2.data/lib/x.so"),
        ] {
            assert_eq!(stable_path(one), stable_path(other), "{one}");
        }
        for (one, other) in [
            ("a.so", "b.so"),
            ("libsm80.so", "libsm90.so"),
            ("a/k.so", "b/k.so"),
        ] {
            assert_ne!(stable_path(one), stable_path(other), "{one}");
        }
    }

    #[test]
    fn the_folder_that_was_named_does_not_count() {
        let folder = |names: &[&'static str]| common_folder(names.iter().copied());
        assert_eq!(folder(&["v1/a.so", "v1/b.so"]), 3);
        assert_eq!(folder(&["v1/x/a.so", "v1/y/b.so"]), 3);
        assert_eq!(folder(&["v1/x/a.so", "v1x/b.so"]), 0);
        assert_eq!(folder(&["v1/a.so"]), 3);
        assert_eq!(folder(&["d/x.whl!p/a.so", "d/x.whl!p/b.so"]), 2);
        assert_eq!(folder(&[]), 0);
    }
}

//! Names: those of wheels, and of the files with metadata.

use std::collections::BTreeMap;

/// The separator of a package and its member in the name of an input.
const MEMBER: char = '!';

/// The name of the metadata of a wheel, in its `.dist-info` folder. PEP 825, Variant metadata.
const METADATA: &str = "variant.json";

/// The end of the name of the metadata of all wheels of a release. PEP 825, Index-level metadata.
const INDEX: &str = "-variants.json";

/// The parts of a wheel's name that identify the release and the variant.
///
/// ```
/// use ptxcheck_release::variants::WheelName;
///
/// let name = WheelName::of("x-1.0-cp312-cp312-linux_x86_64-cu13.whl").expect("a wheel");
/// assert_eq!((name.release.as_str(), name.label), ("x-1.0", Some("cu13")));
/// let with_build = WheelName::of("x-1.0-2-cp312-cp312-linux_x86_64.whl").expect("a wheel");
/// assert_eq!(with_build.label, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WheelName<'a> {
    /// Name and version of the distribution: `x-1.0`, in the spelling that [`MetadataName::release`] has, too.
    pub release: String,
    /// The label of the variant; `None` if it is not a variant.
    pub label: Option<&'a str>,
}

impl<'a> WheelName<'a> {
    /// The parts of a file's name; `None` if it is not that of a wheel.
    ///
    /// PEP 825, Variant label: `{name}-{version}(-{build tag})?-{python}-{abi}-{platform}(-{label})?.whl`.
    #[must_use]
    pub fn of(file: &'a str) -> Option<Self> {
        let parts: Vec<&str> = file.strip_suffix(".whl")?.split('-').collect();
        let has_build = parts
            .get(2)
            .is_some_and(|part| part.starts_with(|first: char| first.is_ascii_digit()));
        let label = match parts.len() - usize::from(has_build) {
            5 => None,
            6 => parts.last().copied(),
            _ => return None,
        };
        Some(Self {
            release: release(parts[0], parts[1]),
            label,
        })
    }
}

/// The Python interpreters that the name of a wheel promises. Displayed: `cp311`, `cp39-abi3`, `py3-none`.
///
/// ```
/// use ptxcheck_release::variants::PythonTags;
///
/// let tags = PythonTags::of("x-1.0-cp39-abi3-linux_x86_64.whl").expect("a wheel");
/// assert!(!tags.is_for("cp310"));
/// let tags = PythonTags::of("x-1.0-cp310.cp311-cp310.cp311-linux_x86_64.whl").expect("a wheel");
/// assert!(tags.is_for("cp310") && !tags.is_for("cp312"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PythonTags<'a> {
    python: &'a str,
    abi: &'a str,
}

impl<'a> PythonTags<'a> {
    /// Those of a file's name; `None` if it is not that of a wheel.
    #[must_use]
    pub fn of(file: &'a str) -> Option<Self> {
        let label = WheelName::of(file)?.label;
        let mut parts: Vec<&str> = file.strip_suffix(".whl")?.split('-').collect();
        parts.truncate(parts.len() - usize::from(label.is_some()));
        match parts.as_slice() {
            [.., python, abi, _] => Some(Self { python, abi }),
            _ => None,
        }
    }

    /// True if all interpreters that the wheel is offered to load a module for this one, `cp310` or `cp313t`. A wheel with the
    /// stable interface is offered to later ones, too.
    #[must_use]
    pub fn is_for(&self, module: &str) -> bool {
        let has = |tags: &str| tags.split('.').any(|tag| tag == module);
        has(self.abi) || self.abi == "none" && has(self.python)
    }
}

impl std::fmt::Display for PythonTags<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.python == self.abi {
            formatter.write_str(self.python)
        } else {
            write!(formatter, "{}-{}", self.python, self.abi)
        }
    }
}

/// The name of an input that holds metadata about variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataName<'a> {
    /// `x.whl!x-1.0.dist-info/variant.json`.
    Wheel {
        /// The beginning of the names of all members of the wheel: `x.whl!`.
        root: &'a str,
        /// The release, by the name of the folder.
        release: String,
        /// The name of the wheel; `None` if it is none that wheels have.
        wheel: Option<WheelName<'a>>,
    },
    /// `x-1.0-variants.json`.
    Index {
        /// The release.
        release: String,
    },
}

impl<'a> MetadataName<'a> {
    /// The parts of an input's name; `None` if it is not that of such metadata.
    #[must_use]
    pub fn of(input: &'a str) -> Option<Self> {
        let path = match input.rfind(MEMBER) {
            Some(at) if input[..at].ends_with(".whl") => {
                let (root, path) = input.split_at(at + MEMBER.len_utf8());
                let folder = path.strip_suffix(METADATA)?.strip_suffix('/')?;
                let (name, version) = folder.strip_suffix(".dist-info")?.split_once('-')?;
                return (!folder.contains('/')).then(|| Self::Wheel {
                    root,
                    release: release(name, version),
                    wheel: WheelName::of(file_name(&input[..at])),
                });
            }
            Some(at) => &input[at + MEMBER.len_utf8()..],
            None => input,
        };
        let (name, version) = file_name(path).strip_suffix(INDEX)?.split_once('-')?;
        Some(Self::Index {
            release: release(name, version),
        })
    }

    /// Name and version of the distribution.
    #[must_use]
    pub fn release(&self) -> &str {
        match self {
            Self::Wheel { release, .. } | Self::Index { release } => release,
        }
    }
}

/// The wheels that inputs come from, each with its path and the number of its first input, in the order of their paths.
pub fn wheel_names<'a>(inputs: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut wheels = BTreeMap::new();
    for (number, input) in inputs.into_iter().enumerate() {
        let package = input.rfind(MEMBER).map_or(input, |at| &input[..at]);
        if package.ends_with(".whl") {
            wheels.entry(package).or_insert(number);
        }
    }
    wheels
}

/// The last part of a path, or of the path of a member.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\', MEMBER]).next().unwrap_or(path)
}

/// One spelling for a release: case and runs of `-`, `_` and `.` in the name make no difference. PEP 503, Normalized Names.
fn release(name: &str, version: &str) -> String {
    let words: Vec<&str> = name
        .split(['-', '_', '.'])
        .filter(|word| !word.is_empty())
        .collect();
    format!("{}-{version}", words.join("_").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_known_by_their_names() {
        let name = "dist/My.Lib-1.0-cp312-cp312-linux_x86_64-cu13.whl!my_lib-1.0.dist-info/variant.json";
        let MetadataName::Wheel { root, release, wheel } = MetadataName::of(name).unwrap() else {
            panic!("a wheel");
        };
        assert!(root.ends_with(".whl!"));
        assert_eq!(release, "my_lib-1.0");
        assert_eq!(
            wheel,
            Some(WheelName {
                release,
                label: Some("cu13")
            })
        );
        let index = MetadataName::of("dist/my_lib-1.0-variants.json").unwrap();
        assert_eq!(index.release(), "my_lib-1.0");
        for other in [
            "variant.json",
            "my_lib-1.0.dist-info/variant.json",
            "x.whl!data/my_lib-1.0.dist-info/variant.json",
            "x.whl!my_lib-1.0.dist-info/METADATA",
            "x.zip!my_lib-1.0.dist-info/variant.json",
            "-variants.json",
        ] {
            assert_eq!(MetadataName::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_wheel_has_five_to_seven_parts() {
        let label = |file| WheelName::of(file).map(|name| name.label);
        assert_eq!(label("x-1-py3-none-any.whl"), Some(None));
        assert_eq!(label("x-1-2b-py3-none-any-null.whl"), Some(Some("null")));
        for other in [
            "x.whl",
            "x-1.whl",
            "x-1-py3-none-any-a-b.whl",
            "x-1-py3-none-any.zip",
        ] {
            assert_eq!(label(other), None, "{other}");
        }
    }

    #[test]
    fn wheels_are_found_in_the_names_of_their_members() {
        let wheels = wheel_names(["a.so", "b.whl", "c.whl!x.so", "c.whl!y.so", "d.zip!e.whl!z.so"]);
        assert_eq!(
            wheels.into_iter().collect::<Vec<_>>(),
            [("b.whl", 1), ("c.whl", 2), ("d.zip!e.whl", 4)]
        );
    }
}

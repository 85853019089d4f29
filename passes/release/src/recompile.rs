//! PTX of code that a file holds in other forms only: a compiler makes it again.

use std::fmt::Debug;
use std::path::Path;

use crate::image::PackedImage;
use crate::image::cubin;
use crate::image::decompress::unpack;
use crate::image::kinds::split_target;
use crate::inventory::ImageKind;

/// A compiler that makes PTX for the check, without touching the file that it is for.
pub trait Recompile: Debug + Send + Sync + std::panic::RefUnwindSafe {
    /// The PTX of `object`, for those of its architectures that it can be made for. The implementation reports why the others fail.
    fn recompile(&self, object: &Object<'_>) -> Vec<Text>;
}

/// A file with device code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Object<'a> {
    /// The name to show.
    pub name: &'a str,
    /// Its path; `None` for an input that is not a file.
    pub path: Option<&'a Path>,
    /// The architectures that it has code for, each once.
    pub architectures: Vec<WantedArchitecture>,
}

/// An architecture that a file has code for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WantedArchitecture {
    /// The virtual architecture that the code was made from.
    pub architecture: Architecture,
    /// The file has PTX for it.
    pub has_ptx: bool,
}

/// PTX that was made.
#[derive(Clone, Debug)]
pub struct Text {
    /// The architecture that it was asked for.
    pub architecture: Architecture,
    /// The text.
    pub ptx: Vec<u8>,
    /// PTX in the file for the same architecture is not analysed: this one says more.
    pub replaces: bool,
}

/// A virtual architecture: 90 and `a` of `compute_90a`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture {
    /// The number; 0 if it is not known.
    pub number: u32,
    /// `a`, `f` or nothing.
    pub suffix: String,
}

impl<'a> Object<'a> {
    /// The file with these images; `None` if they have no code for an architecture.
    #[must_use]
    pub fn of_images(name: &'a str, path: Option<&'a Path>, images: &[PackedImage<'_>]) -> Option<Self> {
        let architectures = architectures(images);
        (!architectures.is_empty()).then_some(Self {
            name,
            path,
            architectures,
        })
    }
}

impl Architecture {
    /// The architecture of PTX for a target, `sm_90a`.
    #[must_use]
    pub fn of_target(target: &str) -> Self {
        let (number, suffix) = split_target(target);
        Self {
            number,
            suffix: suffix.to_owned(),
        }
    }

    /// The one that machine code for a target was made from: `number`, if it says one, else the target's own. Of the suffix it says
    /// nothing; code that only its own architecture runs comes from PTX that does.
    #[must_use]
    pub fn of_machine_code(target: &str, number: Option<u32>) -> Self {
        let own = Self::of_target(target);
        match number.filter(|number| *number != own.number) {
            Some(number) => Self {
                number,
                suffix: String::new(),
            },
            None => own,
        }
    }

    /// True if code for it was made from PTX for `target`. A suffix says more than the number: `sm_100f` is a source of code for
    /// `sm_103`, whose note has the number alone.
    #[must_use]
    pub fn is_from(&self, target: &str, machine_number: u32) -> bool {
        let (number, suffix) = split_target(target);
        number == self.number && (suffix == self.suffix || machine_number != self.number)
    }
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}{}", self.number, self.suffix)
    }
}

/// The architectures that the images of a file have code for, each once, in the order of the file.
fn architectures(found: &[PackedImage<'_>]) -> Vec<WantedArchitecture> {
    let mut wanted: Vec<WantedArchitecture> = Vec::new();
    let ptx: Vec<&str> = found
        .iter()
        .filter(|found| found.kind == ImageKind::Ptx)
        .map(|found| found.target.as_str())
        .collect();
    for image in found {
        let target = split_target(&image.target).0;
        let architecture = match image.kind {
            ImageKind::Ptx | ImageKind::LtoIr => Architecture::of_target(&image.target),
            ImageKind::Cubin => match of_cubin(image) {
                Some(architecture) => architecture,
                None => continue,
            },
            ImageKind::LlvmIr | ImageKind::Mlir | ImageKind::Bundle | ImageKind::Other => continue,
        };
        if architecture.number == 0 || wanted.iter().any(|known| known.architecture == architecture) {
            continue;
        }
        wanted.push(WantedArchitecture {
            has_ptx: ptx.iter().any(|ptx| architecture.is_from(ptx, target)),
            architecture,
        });
    }
    wanted
}

/// The architecture that a cubin was made from; `None` if it has no code or can't be read, which is reported elsewhere.
fn of_cubin(image: &PackedImage<'_>) -> Option<Architecture> {
    let bytes = unpack(image.compression, image.payload, image.unpacked).ok()?;
    let cubin = cubin::read(&bytes).ok()?;
    let has_code = !cubin.facts.kernels.is_empty() || cubin.facts.functions > 0;
    let target = if image.target.is_empty() {
        &cubin.target
    } else {
        &image.target
    };
    has_code.then(|| Architecture::of_machine_code(target, cubin.virtual_number))
}

#[cfg(test)]
mod tests {
    use super::Architecture;

    #[test]
    fn machine_code_comes_from_the_architecture_in_its_note() {
        for (target, number, ptx, wanted) in [
            ("sm_80", Some(80), "sm_80", true),
            ("sm_86", Some(80), "sm_80", true),
            ("sm_86", Some(80), "sm_86", false),
            ("sm_86", Some(86), "sm_80", false),
            ("sm_90", None, "sm_90", true),
            ("sm_90", Some(90), "sm_90a", false),
            ("sm_90a", Some(90), "sm_90", false),
            ("sm_90a", Some(90), "sm_90a", true),
            ("sm_103", Some(100), "sm_100f", true),
            ("", None, "sm_90", false),
        ] {
            let architecture = Architecture::of_machine_code(target, number);
            let machine = super::split_target(target).0;
            assert_eq!(
                architecture.is_from(ptx, machine),
                wanted,
                "{target} {number:?} {ptx}"
            );
        }
    }
}

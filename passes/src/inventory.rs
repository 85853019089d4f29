//! What a run holds, as the rules about images and the reports see it: inputs, their images, and what those declare.
//! Plain data that names no file format.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::finding::Frame;
use crate::ir::{IsaVersion, LaunchBounds};
use crate::limits::{MAX_COMPARED_IMAGES, SHOWN_NAMES};
use crate::link::{HostNames, Symbols};
use crate::rule::ProblemKind;

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All of it was analysed.
    Checked,
    /// Some of it could not be.
    Partly,
    /// None of it could be.
    Failed,
    /// It holds no device code.
    Skipped,
}

impl Status {
    /// The word in documents: `checked`, `partly`, `failed`, `skipped`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Partly => "partly",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What could not be done for an input. Each is also a finding of the 9xx rule for its kind.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Which kind.
    pub kind: ProblemKind,
    /// One sentence.
    pub message: String,
    /// The image it is about, where it is about one.
    pub image: Option<u32>,
    /// 1-based line in the input, where there is one.
    pub line: Option<u32>,
}

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImageKind {
    /// PTX text: analysed.
    Ptx,
    /// Machine code: what it declares is read, its instructions are not.
    Cubin,
    /// LTO-IR, a closed format.
    LtoIr,
    /// What `nvcc --concat` writes, a closed format.
    Bundle,
    /// LLVM IR, as text or bitcode: analysed where the feature `llvm` is on.
    LlvmIr,
    /// None of these.
    Other,
}

impl ImageKind {
    /// The word in documents: `ptx`, `cubin`, `lto-ir`, `bundle`, `llvm-ir`, `other`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::LtoIr => "lto-ir",
            Self::Bundle => "bundle",
            Self::LlvmIr => "llvm-ir",
            Self::Other => "other",
        }
    }

    /// Whether what it declares is known.
    #[must_use]
    pub const fn is_read(self) -> bool {
        match self {
            Self::Ptx | Self::Cubin => true,
            Self::LlvmIr => cfg!(feature = "ir"),
            Self::LtoIr | Self::Bundle | Self::Other => false,
        }
    }
}

/// Who loads an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The driver.
    Loadable,
    /// The device linker: relocatable device code in an object or archive.
    Relocatable,
    /// Nobody: relocatable device code that a finished link left in the file.
    LeftOver,
    /// Debuggers: PTX inside a cubin.
    Embedded,
}

impl Role {
    /// The word in documents: `loadable`, `relocatable`, `left-over`, `embedded`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loadable => "loadable",
            Self::Relocatable => "relocatable",
            Self::LeftOver => "left-over",
            Self::Embedded => "embedded",
        }
    }

    /// Whether a program can end up running it.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Loadable | Self::Relocatable)
    }
}

/// What an image declares. Images with the same content share one.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Kernels defined, in the order of the image.
    pub kernels: Vec<Kernel>,
    /// Variables defined that have a size.
    pub variables: Vec<Variable>,
    /// Weak functions and kernels defined, with a digest of each body.
    pub weak: Vec<WeakFunction>,
    /// Functions defined, without the kernels.
    pub functions: u32,
    /// What it shows to a linker; `None` where that is not known.
    pub symbols: Option<Symbols>,
    /// The compiler or assembler, as the image names it.
    pub producer: Option<String>,
    /// Absolute paths of the machine that built it, each once.
    pub paths: Vec<String>,
    /// Built for debugging (`-G`).
    pub is_debug: bool,
    /// Some of it could not be read: what is missing proves nothing.
    pub is_damaged: bool,
}

/// A kernel of an image.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As the image names it.
    pub name: String,
    /// The name without what changes from build to build (see [`crate::names::normalised`]).
    pub identity: String,
    /// Offset and size of each parameter in bytes, where they are known.
    pub params: Option<Vec<(u32, u32)>>,
    /// Launch bounds. Machine code does not keep [`LaunchBounds::min_ctas`].
    pub launch: LaunchBounds,
    /// Where the source declares it, where debug information says so.
    pub source: Option<Frame>,
}

/// A variable of an image.
#[derive(Clone, Debug)]
pub struct Variable {
    /// As the image names it.
    pub name: String,
    /// The name without what changes from build to build.
    pub identity: String,
    /// Bytes.
    pub size: u64,
}

/// A weak function: of several definitions, the linker keeps one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeakFunction {
    /// Its name.
    pub name: String,
    /// Digest of its parameters and results.
    pub signature: u64,
    /// Digest of its body, numbers of registers and labels aside.
    pub body: u64,
    /// Digest of the calls in it, in order.
    pub calls: u64,
}

/// One image of an input.
#[derive(Clone, Debug)]
pub struct ImageReport {
    /// What it is.
    pub kind: ImageKind,
    /// Who loads it.
    pub role: Role,
    /// `sm_90a`; empty if nothing says.
    pub target: String,
    /// PTX ISA version, `9.2`; empty if nothing says.
    pub isa: String,
    /// Size in bytes, unpacked.
    pub bytes: u64,
    /// Size in the file, in bytes.
    pub packed: u64,
    /// Offset in the input, in bytes; 0 where the input is the image.
    pub offset: u64,
    /// Kernels defined.
    pub kernels: u32,
    /// Functions defined, without the kernels.
    pub functions: u32,
    /// How it is packed: `lz4`, `zstd`.
    pub compression: Option<&'static str>,
    /// The section it lies in.
    pub section: Option<String>,
    /// The member of the archive it lies in.
    pub member: Option<String>,
    /// The container it lies in, numbered through the input: of the images in one, the driver loads the best for its
    /// device.
    pub container: Option<u32>,
    /// Options of the compiler that the container keeps.
    pub options: String,
    /// It is for hosts with 64-bit addresses.
    pub is_64_bit: bool,
    /// Built for debugging (`-G`).
    pub is_debug: bool,
    /// It was unpacked, and what it declares was read.
    pub is_read: bool,
    /// What of its code was too much work to analyse, as a sentence.
    pub limit: Option<String>,
    /// Two images with the same digest have the same bytes, unpacked. Of machine code it is made where a policy asks
    /// for duplicates.
    pub digest: Option<u128>,
    /// What it declares.
    pub facts: Arc<Facts>,
}

impl ImageReport {
    /// 90 for `sm_90a`; 0 if nothing says.
    #[must_use]
    pub fn sm(&self) -> u32 {
        split_target(&self.target).0
    }

    /// `a` of `sm_90a`, `f` of `sm_100f`, else empty.
    #[must_use]
    pub fn suffix(&self) -> &str {
        split_target(&self.target).1
    }

    /// Its PTX ISA version, where it says.
    #[must_use]
    pub fn isa_version(&self) -> Option<IsaVersion> {
        let (major, minor) = self.isa.split_once('.')?;
        Some(IsaVersion {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

/// 90 and `a` of `sm_90a` or `90a`.
#[must_use]
pub fn split_target(target: &str) -> (u32, &str) {
    let digits = target.strip_prefix("sm_").unwrap_or(target);
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    (digits[..end].parse().unwrap_or(0), &digits[end..])
}

/// A name that host code gives to the CUDA runtime.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Registration {
    /// The name of a kernel or variable in device code.
    pub name: String,
    /// The member of the archive whose code registers it.
    pub member: Option<String>,
    /// It is a variable.
    pub is_variable: bool,
    /// Read off the arguments of the registering call, or off a symbol that only a registered kernel has.
    pub is_certain: bool,
}

/// The host side of an input.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// What it registers, sorted.
    pub registered: Vec<Registration>,
    /// A linker is done with it: an executable or shared library.
    pub is_linked: bool,
    /// It has no symbol table: what it registers is not known.
    pub is_stripped: bool,
    /// What its code defines. Of a stripped file, what other files can refer to.
    pub names: HostNames,
}

/// What the run says of one input.
#[derive(Debug)]
pub struct InputReport {
    /// The name to show.
    pub name: String,
    /// What became of it.
    pub status: Status,
    /// Its images.
    pub images: Vec<ImageReport>,
    /// Its host code, where it has some.
    pub host: Option<Host>,
    /// What could not be done.
    pub problems: Vec<Problem>,
}

/// The images of one container, with their indices: the driver loads one of them.
pub type Group<'a> = Vec<(u32, &'a ImageReport)>;

impl InputReport {
    /// The images that are read, whole and not left over, by the container they lie in. Images without one are alone.
    #[must_use]
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut open = None;
        for (number, image) in (0_u32..).zip(&self.images) {
            if !image.is_whole() || !image.role.counts() {
                continue;
            }
            // Images are in the order of the file, so those of a container stand together.
            match groups
                .last_mut()
                .filter(|_| image.container.is_some() && open == image.container)
            {
                Some(group) if group.len() >= MAX_COMPARED_IMAGES => {}
                Some(group) => group.push((number, image)),
                None => groups.push(vec![(number, image)]),
            }
            open = image.container;
        }
        groups
    }

    /// The groups that one source was compiled to: of several images, no two for the same target. Containers that a
    /// tool filled with the images of several sources say nothing when they are compared.
    #[must_use]
    pub fn alternatives(&self) -> Vec<Group<'_>> {
        let is_one_source = |group: &Group<'_>| {
            let mut kinds: Vec<_> = group
                .iter()
                .map(|(_, image)| (image.kind, image.target.as_str()))
                .collect();
            kinds.sort_unstable();
            kinds.windows(2).all(|pair| pair[0] != pair[1])
        };
        let mut groups = self.groups();
        groups.retain(|group| group.len() > 1 && is_one_source(group));
        groups
    }

    /// The containers with an image that is not read, or not whole: what is missing in them proves nothing.
    #[must_use]
    pub fn closed(&self) -> FxHashSet<Option<u32>> {
        let open = self.images.iter().filter(|image| !image.is_whole());
        open.map(|image| image.container).collect()
    }

    /// The images that a program can end up running, with their indices.
    pub fn counting(&self) -> impl Iterator<Item = (u32, &ImageReport)> {
        let counts = |(_, image): &(u32, &ImageReport)| image.kind.is_read() && image.role.counts();
        (0_u32..).zip(&self.images).filter(counts)
    }
}

impl ImageReport {
    /// Whether all that it declares is known.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_read && !self.facts.is_damaged
    }

    /// What to call it: `PTX for sm_90`, `machine code for sm_90a`.
    #[must_use]
    pub fn describe(&self) -> String {
        let kind = match self.kind {
            ImageKind::Ptx => "PTX",
            ImageKind::Cubin => "machine code",
            ImageKind::LtoIr => "LTO-IR",
            ImageKind::Bundle => "bundle",
            ImageKind::LlvmIr => "LLVM bitcode",
            ImageKind::Other => "image",
        };
        if self.target.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind} for {}", self.target)
        }
    }
}

/// Whether a path is one from the root, of Linux or Windows.
#[must_use]
pub fn is_absolute(path: &[u8]) -> bool {
    path.starts_with(b"/") || path.get(1..3).is_some_and(|head| head == b":\\" || head == b":/")
}

/// `a, b and 3 more`.
#[must_use]
pub fn listed(mut names: Vec<String>, total: usize) -> String {
    names.truncate(SHOWN_NAMES);
    match total - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::split_target;

    #[test]
    fn targets_have_a_number_and_a_suffix() {
        assert_eq!(split_target("sm_90a"), (90, "a"));
        assert_eq!(split_target("120f"), (120, "f"));
        assert_eq!(split_target("sm_75"), (75, ""));
        assert_eq!(split_target(""), (0, ""));
    }
}

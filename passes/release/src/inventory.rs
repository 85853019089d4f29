//! The inputs of a run, their images and the facts that those declare, as the rules about images and the reports see them.
//! Plain data that names no file format.

use std::sync::Arc;

pub use ptxcheck_images::kinds::{
    Host, HostLaunch, ImageKind, Launchable, NeededLibrary, ProblemKind, Registration, Role, split_target,
};
pub use ptxcheck_ir::facts::{
    CodeClass, Facts, Kernel, Resources, SectionBytes, Stub, Variable, WeakFunction, is_absolute,
};
pub use ptxcheck_ir::index_limits::{IndexFactor, IndexLimit, IndexTerm};
pub use ptxcheck_ir::places::Located;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::comments::Comment;
use crate::image::PackedImage;
use crate::ir::IsaVersion;
use crate::limits::{MAX_COMPARED_IMAGES, MAX_POLICY_VIOLATIONS, SHOWN_NAMES};
use crate::variants::VariantMetadata;

/// The outcome for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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

/// A part of the check of an input that could not be done. Each is also a finding of the 9xx rule for its kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// The kind: it decides which rule reports it.
    pub kind: ProblemKind,
    /// One sentence.
    pub message: String,
    /// The image it is about, where it is about one.
    pub image: Option<u32>,
    /// 1-based line in the input, where there is one.
    pub line: Option<u32>,
}

impl Problem {
    /// A problem of this kind.
    #[must_use]
    pub const fn new(kind: ProblemKind, message: String, image: Option<u32>, line: Option<u32>) -> Self {
        Self {
            kind,
            message,
            image,
            line,
        }
    }
}

/// True if the declarations of images of this kind are read.
#[must_use]
pub const fn is_read(kind: ImageKind) -> bool {
    match kind {
        ImageKind::Ptx | ImageKind::Cubin | ImageKind::LlvmIr | ImageKind::Mlir => true,
        ImageKind::LtoIr | ImageKind::Bundle | ImageKind::Other => false,
    }
}

/// The name of a compression: `lz4`, `zstd`.
pub type CompressionName = &'static str;

/// Names of compressions that are read back are those that images have.
mod compression {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(name: &Option<&'static str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name.unwrap_or_default())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<&'static str>, D::Error> {
        let name = String::deserialize(from)?;
        Ok(["lz4", "zstd"].into_iter().find(|known| *known == name))
    }
}

/// Digests are texts of hexadecimal digits, since not every reader of JSON has numbers of 128 bits.
mod digest {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(digest: &Option<u128>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&digest.map_or_else(String::new, |digest| format!("{digest:x}")))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<u128>, D::Error> {
        let text = String::deserialize(from)?;
        if text.is_empty() {
            return Ok(None);
        }
        u128::from_str_radix(&text, 16)
            .map(Some)
            .map_err(D::Error::custom)
    }
}

/// Declarations, without those that only a linker and the rules ask for.
mod facts {
    use super::{Arc, Facts};
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(facts: &Arc<Facts>, to: S) -> Result<S::Ok, S::Error> {
        let facts = Facts {
            kernels: facts.kernels.clone(),
            functions: facts.functions,
            producer: facts.producer.clone(),
            code_class: facts.code_class,
            sections: facts.sections,
            is_debug: facts.is_debug,
            is_damaged: facts.is_damaged,
            ..Facts::default()
        };
        facts.serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Arc<Facts>, D::Error> {
        Facts::deserialize(from).map(Arc::new)
    }
}

/// One image of an input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImageReport {
    /// The format of its code.
    pub kind: ImageKind,
    /// The consumer it is for: driver, linker, debugger or none.
    pub role: Role,
    /// `sm_90a`; empty if nothing says.
    pub target: String,
    /// The number of the virtual architecture that machine code was made from, where it says so: 80 of `compute_80`.
    pub virtual_number: Option<u32>,
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
    /// Name of its compression, `lz4` or `zstd`; `None` if it is not compressed.
    #[serde(with = "compression")]
    pub compression: Option<CompressionName>,
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
    /// A sentence about code that was too much work to analyse.
    pub limit: Option<String>,
    /// Number of kernels in which the search for witnesses of conditional findings ended at a limit.
    #[serde(default)]
    pub unsearched: u32,
    /// Two images with the same digest have the same bytes, unpacked. Of machine code it is made where a policy asks
    /// for duplicates, and where PTX is made of code without.
    #[serde(with = "digest")]
    pub digest: Option<u128>,
    /// Its declarations.
    #[serde(with = "facts")]
    pub facts: Arc<Facts>,
    /// The comments of its text that suppress findings: applied before it is serialised.
    #[serde(skip)]
    pub comments: Vec<Comment>,
}

impl ImageReport {
    /// For an image of which only the data in its file are known.
    #[must_use]
    pub fn unread(image: &PackedImage<'_>) -> Self {
        Self {
            kind: image.kind,
            role: image.role,
            target: image.target.clone(),
            virtual_number: None,
            isa: image.isa.clone(),
            bytes: image.unpacked.max(image.payload.len() as u64),
            packed: image.payload.len() as u64,
            offset: image.offset,
            kernels: 0,
            functions: 0,
            compression: image.compression.name(),
            section: image.section.clone(),
            member: image.member.clone(),
            container: image.container,
            options: image.options.clone(),
            is_64_bit: image.is_64_bit,
            is_debug: image.is_debug,
            is_read: false,
            limit: None,
            unsearched: 0,
            digest: None,
            facts: Arc::default(),
            comments: Vec::new(),
        }
    }

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

/// The report about one input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InputReport {
    /// The name to show.
    pub name: String,
    /// The outcome.
    pub status: Status,
    /// Its images.
    pub images: Vec<ImageReport>,
    /// Its host code, where it has some.
    pub host: Option<Host>,
    /// The parts of the check that could not be done.
    pub problems: Vec<Problem>,
    /// The symbols that it exports and that the policy wants hidden, sorted.
    pub exported: Vec<ExportedSymbol>,
    /// Its metadata about wheel variants, if it is a file with such metadata and the policy has them checked.
    #[serde(default)]
    pub variants: Option<VariantMetadata>,
    /// The files that the policy does not allow, if it is a package as a whole or a file in none, and has such files.
    #[serde(default)]
    pub contents: Option<PolicyContents>,
}

/// The files of a package, or a file in none, that the policy does not allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PolicyContents {
    /// The first of them.
    pub files: Vec<PolicyFile>,
    /// Number of others.
    pub left_out: usize,
}

/// A file that the policy does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFile {
    /// Its path in the package; empty for the input itself.
    pub path: String,
    /// The reason.
    pub violation: PolicyViolation,
}

/// The reason why the policy does not allow a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyViolation {
    /// It is a package with so many bytes.
    PackageSize(u64),
    /// It has so many bytes, unpacked.
    FileSize(u64),
    /// It has a name that matches the pattern with this index.
    Name(usize),
}

impl PolicyContents {
    /// Adds a file; those beyond the limit are counted.
    pub fn add(&mut self, path: &str, violation: PolicyViolation) {
        let file = PolicyFile {
            path: path.to_owned(),
            violation,
        };
        // An archive that was added to holds a path several times.
        if self.files.len() >= MAX_POLICY_VIOLATIONS {
            self.left_out += 1;
        } else if !self.files.contains(&file) {
            self.files.push(file);
        }
    }

    /// None if it holds nothing.
    pub fn some(self) -> Option<Self> {
        (!self.files.is_empty()).then_some(self)
    }
}

/// A symbol that an input exports and that the policy wants hidden.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExportedSymbol {
    /// Index of the first pattern of the policy that it matches.
    pub pattern: usize,
    /// Its name, as the file has it.
    pub name: String,
}

/// The images of one container, with their indices: the driver loads one of them.
pub type Group<'a> = Vec<(u32, &'a ImageReport)>;

impl InputReport {
    /// For an input with this name, of which nothing else is known.
    #[must_use]
    pub const fn new(name: String) -> Self {
        Self {
            name,
            status: Status::Checked,
            images: Vec::new(),
            host: None,
            problems: Vec::new(),
            exported: Vec::new(),
            variants: None,
            contents: None,
        }
    }

    /// The images that are read, whole and not linked by the driver, by the container they lie in. Images without one are alone.
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

    /// The containers with an image that is not read, or not whole: that they lack a declaration proves nothing.
    #[must_use]
    pub fn closed(&self) -> FxHashSet<Option<u32>> {
        let open = self.images.iter().filter(|image| !image.is_whole());
        open.map(|image| image.container).collect()
    }

    /// The images that a program can end up running without a link by the driver, with their indices.
    pub fn counting(&self) -> impl Iterator<Item = (u32, &ImageReport)> {
        let counts = |(_, image): &(u32, &ImageReport)| is_read(image.kind) && image.role.counts();
        (0_u32..).zip(&self.images).filter(counts)
    }
}

impl ImageReport {
    /// True if all its declarations are known.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_read && !self.facts.is_damaged
    }

    /// True if it is known to define nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.is_whole()
            && self.facts.kernels.is_empty()
            && self.facts.functions == 0
            && self.facts.variables.is_empty()
    }

    /// True for PTX that the driver compiles where no machine code fits: by itself, or linked with that of other objects.
    #[must_use]
    pub fn is_ptx_of_driver(&self) -> bool {
        self.kind == ImageKind::Ptx && (self.role.counts() || self.role == Role::LinkedAtLoad)
    }

    /// Its kind and target in words: `PTX for sm_90`, `machine code for sm_90a`.
    #[must_use]
    pub fn describe(&self) -> String {
        let kind = match self.kind {
            ImageKind::Ptx => "PTX",
            ImageKind::Cubin => "machine code",
            ImageKind::LtoIr => "LTO-IR",
            ImageKind::Bundle => "bundle",
            ImageKind::LlvmIr => "LLVM bitcode",
            ImageKind::Mlir => "MLIR",
            ImageKind::Other => "image",
        };
        if self.target.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind} for {}", self.target)
        }
    }
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

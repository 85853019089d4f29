//! Packages as inputs: a wheel, a conda or Debian package, a zip or tar archive stands for its members that hold device code.
//!
//! A member is called `torch.whl!torch/lib/libtorch_cuda.so`. The rules for folders decide which members are inputs, and
//! [`Exclude::paths`](crate::exceptions::Exclude) leaves out the matching ones.
//!
//! ```
//! use ptxcheck_passes::image::Content;
//! use ptxcheck_passes::packages::Package;
//!
//! // Nothing that is a package comes back as it is.
//! let content = Package::of(Content::from(b".version 9.0\n".to_vec())).expect_err("a text");
//! assert_eq!(&content[..8], b".version");
//! ```

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use ptxcheck_packages::{Entry, Member, PackageKind, Select, Source, Trouble, Unpacked};

pub use ptxcheck_packages::{is_installed_package, limits};

use crate::candidates::{self, Readable};
use crate::deadline::Deadline;
use crate::image::{Content, InputError, ReadError};
use crate::inventory::{PolicyContents, PolicyViolation};
use crate::patterns::Pattern;
use crate::policy::Policy;
use crate::rule::ProblemKind;
use crate::scope::{Root, fits_path};
use crate::variants::MetadataName;

/// A package, open.
#[derive(Debug)]
pub struct Package {
    content: Arc<Content>,
    kind: PackageKind,
}

/// The members of a package that are inputs.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Members {
    /// The members that are inputs, sorted by their paths, and the errors of other members and of the package.
    pub members: Vec<PackageMember>,
    /// Names of those that are left out.
    pub left_out: Vec<String>,
    /// The files that the policy does not allow, if there are some.
    pub contents: Option<PolicyContents>,
}

/// Members that are inputs beside those with device code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Additional {
    /// MLIR with kernels: there is a program that reads it.
    pub mlir: bool,
    /// Metadata about wheel variants.
    pub metadata: bool,
}

/// A member of a package, packed or not.
#[derive(Debug)]
#[non_exhaustive]
pub struct PackageMember {
    /// Its name: that of the package, `!`, and its path there. For a problem of the package as a whole, the name of the package.
    pub name: String,
    /// Its path in the package; empty for the package as a whole.
    pub path: String,
    content: Result<Member, Trouble>,
}

impl Package {
    /// The package with this content, which comes back if it is none.
    ///
    /// # Errors
    ///
    /// The content.
    pub fn of(content: Content) -> Result<Self, Arc<Content>> {
        let content = Arc::new(content);
        match ptxcheck_packages::recognise(&Source::memory(Arc::<Content>::clone(&content))) {
            Some(kind) => Ok(Self { content, kind }),
            None => Err(content),
        }
    }

    /// The members of the package called `name` that are inputs, but for those that `exclude` fits, and the files that the policy does not
    /// allow.
    #[must_use]
    pub fn members(
        &self,
        name: &str,
        exclude: &[Pattern],
        root: &Root,
        additional: Additional,
        policy: &Policy,
        deadline: &Deadline,
    ) -> Members {
        let selection = Selection {
            package: name,
            exclude,
            root,
            additional,
            policy,
            left_out: RefCell::default(),
            contents: RefCell::default(),
        };
        selection.note_package("", self.content.len() as u64);
        let source = Source::memory(Arc::<Content>::clone(&self.content));
        let entries = ptxcheck_packages::open(&source, self.kind, &selection, &|| deadline.is_over());
        let member = |Entry { path, content, .. }| PackageMember {
            name: if path.is_empty() {
                name.to_owned()
            } else {
                full_name(name, &path)
            },
            path,
            content,
        };
        Members {
            members: entries.into_iter().map(member).collect(),
            left_out: selection.left_out.into_inner(),
            contents: selection.contents.into_inner().some(),
        }
    }

    /// The change of the package's file since it was opened, as one sentence. Nothing that was read of it counts then.
    #[must_use]
    pub fn change(&self) -> Option<&'static str> {
        self.content.change()
    }
}

impl PackageMember {
    /// The number of its bytes, unpacked, as far as it is known; 0 where something is wrong with it.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.content.as_ref().map_or(0, Member::size)
    }

    /// Its bytes, unpacked.
    ///
    /// # Errors
    ///
    /// The trouble with it; `None` if `deadline` came first.
    pub fn open(self, deadline: &Deadline) -> Result<Content, Option<InputError>> {
        let unpacked = self
            .content
            .and_then(|member| member.unpack(&|| deadline.is_over()));
        match unpacked.map_err(|trouble| input_error_of(&trouble))? {
            Unpacked::Memory(bytes) => Ok(Content::from(bytes)),
            Unpacked::File { file, offset, length } => {
                Content::of_file(&file, offset, length).map_err(|unread| input_error_of_read(&unread))
            }
        }
    }
}

fn input_error_of(trouble: &Trouble) -> Option<InputError> {
    let kind = match trouble {
        Trouble::Late => return None,
        Trouble::Limit(_) => ProblemKind::Limit,
        Trouble::Elsewhere(_) => ProblemKind::Unsupported,
        _ => ProblemKind::Unreadable,
    };
    Some(InputError::new(kind, trouble.to_string()))
}

/// The problem of an input that could not be read; `None` if the time was over first.
pub(crate) fn input_error_of_read(unread: &ReadError) -> Option<InputError> {
    let kind = match unread {
        ReadError::Late => return None,
        ReadError::TooLarge(_) => ProblemKind::Limit,
        ReadError::System(_) | ReadError::Changed(_) => ProblemKind::Unreadable,
    };
    Some(InputError::new(kind, unread.to_string()))
}

fn full_name(package: &str, path: &str) -> String {
    format!("{package}!{path}")
}

/// The members that are inputs.
struct Selection<'a> {
    package: &'a str,
    exclude: &'a [Pattern],
    root: &'a Root,
    additional: Additional,
    policy: &'a Policy,
    left_out: RefCell<Vec<String>>,
    contents: RefCell<PolicyContents>,
}

impl Selection<'_> {
    /// Notes a package that is too large.
    fn note_package(&self, path: &str, bytes: u64) {
        if exceeds(bytes, self.policy.max_package_bytes) {
            let mut contents = self.contents.borrow_mut();
            contents.add(path, PolicyViolation::PackageSize(bytes));
        }
    }
}

/// True if there is a limit, and these bytes are more.
pub(crate) fn exceeds(bytes: u64, limit: Option<u64>) -> bool {
    limit.is_some_and(|limit| bytes > limit)
}

impl Select for Selection<'_> {
    fn is_input(&self, path: &str, start: &mut dyn FnMut(usize) -> Option<Vec<u8>>) -> bool {
        // LLVM IR that nothing reads is a refused member: no warning is about files that are not members.
        let readable = Readable {
            ir: true,
            mlir: self.additional.mlir,
        };
        candidates::is_input(Path::new(path), readable, start)
            || self.additional.metadata
                && path.ends_with(".json")
                && MetadataName::of(&full_name(self.package, path)).is_some()
    }

    fn leaves_out(&self, path: &str) -> bool {
        if self.exclude.is_empty() {
            return false;
        }
        let name = full_name(self.package, path);
        let spellings = self.root.spellings(&name);
        let is_out = self.exclude.iter().any(|pattern| fits_path(pattern, &spellings));
        if is_out {
            self.left_out.borrow_mut().push(name);
        }
        is_out
    }

    fn note(&self, path: &str, bytes: u64) {
        if !self.policy.is_about_files() {
            return;
        }
        if is_installed_package(path) {
            self.note_package(path, bytes);
        }
        let mut contents = self.contents.borrow_mut();
        if exceeds(bytes, self.policy.max_file_bytes) {
            contents.add(path, PolicyViolation::FileSize(bytes));
        }
        let spellings = [path.to_owned()];
        let mut patterns = self.policy.forbidden_files.iter();
        if let Some(pattern) = patterns.position(|pattern| fits_path(pattern, &spellings)) {
            contents.add(path, PolicyViolation::Name(pattern));
        }
    }
}

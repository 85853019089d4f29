//! Compares a release with pinned figures.

use std::collections::{BTreeMap, BTreeSet};

use super::files::Files;
use super::ratchet::{KernelFigures, Pin, PinnedFile, Ratchet};

/// The quantity of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Registers of a thread.
    Registers,
    /// Bytes of a thread's stack frame.
    Stack,
    /// Bytes of static shared memory of a block.
    Shared,
    /// Bytes of a kernel's machine code.
    Code,
    /// Bytes of the images for a target.
    Bytes,
    /// Bytes of PTX that the driver compiles for a GPU.
    Compiled,
    /// 1 for a kernel that a GPU does not load.
    Missing,
    /// 1 for a kernel that the file does not have.
    Gone,
}

impl Figure {
    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::Stack => "stack",
            Self::Shared => "shared",
            Self::Code => "code",
            Self::Bytes => "bytes",
            Self::Compiled => "compiled",
            Self::Missing => "missing",
            Self::Gone => "gone",
        }
    }
}

/// A figure that differs from the pinned one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The file, by its name in [`Files`]; `None` for a figure of the release.
    pub file: Option<String>,
    /// The kernel; `None` for a figure of the release.
    pub kernel: Option<String>,
    /// The form or GPU that it is about; empty for a kernel that is gone.
    pub about: String,
    /// The quantity.
    pub figure: Figure,
    /// As it was pinned.
    pub old: u64,
    /// As it is.
    pub new: u64,
}

/// The comparison of a release with pinned figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Figures that got worse.
    pub worse: Vec<Moved>,
    /// Figures that got better.
    pub better: Vec<Moved>,
    /// Kernels that are not pinned.
    pub unpinned: usize,
}

/// A kernel of a file.
type KernelOf<'a> = (&'a str, &'a str);

impl Ratchet {
    /// Holds a release against it. Sizes may grow by `slack` per cent. Files are compared with their forecasts for
    /// [`Ratchet::gpus`].
    #[must_use]
    pub fn compare(&self, files: &Files, slack: f64) -> Comparison {
        let now = Self::of(files, Vec::new(), Pin::default());
        let mut found = Comparison::default();
        found.compare_totals(self, &now, slack);
        let names = same_files(&self.files, &now.files);
        let (mut lost, mut fresh): (Vec<KernelOf<'_>>, BTreeSet<KernelOf<'_>>) = Default::default();
        for (name, file) in &now.files {
            let pinned = names.get(name.as_str()).and_then(|old| self.files.get(*old));
            let kernels = file.kernels.keys().map(String::as_str);
            let is_fresh = |kernel: &&str| pinned.is_none_or(|file| !file.kernels.contains_key(*kernel));
            fresh.extend(kernels.filter(is_fresh).map(|kernel| (kernel, name.as_str())));
        }
        let now_of: BTreeMap<&str, &str> = names.iter().map(|(now, old)| (*old, *now)).collect();
        for (old_name, pinned) in &self.files {
            let name = now_of.get(old_name.as_str()).copied();
            let file = name.and_then(|name| now.files.get(name));
            for (kernel, figures) in &pinned.kernels {
                match (name, file.and_then(|file| file.kernels.get(kernel))) {
                    (Some(name), Some(new)) => found.compare_kernel((kernel, name), figures, new, slack),
                    _ => lost.push((kernel, old_name)),
                }
            }
            if let (Some(name), Some(file)) = (name, file) {
                for gpu in self.compiled_bytes().keys() {
                    found.compare_loading(name, gpu, pinned, file);
                }
            }
        }
        for (kernel, old_name) in lost {
            // A file that is not read to its end may have it yet.
            let name = now_of.get(old_name).copied();
            let is_unread = |name: &str| files.get(name).is_some_and(|file| file.contents.unread > 0);
            if name.is_some_and(is_unread) {
                continue;
            }
            // It lies in another file now.
            let place = fresh.range((kernel, "")..).next().copied();
            let pinned = self.files.get(old_name).and_then(|file| file.kernels.get(kernel));
            if let Some((_, name)) = place.filter(|(other, _)| *other == kernel)
                && let (Some(old), Some(file)) = (pinned, now.files.get(name))
                && let Some(new) = file.kernels.get(kernel)
            {
                fresh.remove(&(kernel, name));
                found.compare_kernel((kernel, name), old, new, slack);
                continue;
            }
            found.worse.push(Moved {
                file: Some(name.unwrap_or(old_name).to_owned()),
                kernel: Some(kernel.to_owned()),
                about: String::new(),
                figure: Figure::Gone,
                old: 0,
                new: 1,
            });
        }
        found.unpinned = fresh.len();
        found
    }
}

/// For each file of a release, its name among pinned files: the same one, or one that is the same but for folders before it.
fn same_files<'a>(
    pinned: &'a BTreeMap<String, PinnedFile>,
    now: &'a BTreeMap<String, PinnedFile>,
) -> BTreeMap<&'a str, &'a str> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open: Vec<&str> = Vec::new();
    for name in now.keys() {
        match pinned.get_key_value(name) {
            Some((old, _)) => {
                names.insert(name, old);
            }
            None => open.push(name),
        }
    }
    let is_taken = |name: &&String| !now.contains_key(*name);
    let free: Vec<&str> = pinned.keys().filter(is_taken).map(String::as_str).collect();
    let ends = |one: &str, other: &str| {
        let rest = one.strip_suffix(other);
        rest.is_some_and(|rest| rest.ends_with(['/', '\\']))
    };
    for name in open {
        let mut fitting = free.iter().filter(|old| ends(name, old) || ends(old, name));
        if let (Some(old), None) = (fitting.next(), fitting.next())
            && !names.values().any(|taken| taken == old)
        {
            names.insert(name, old);
        }
    }
    names
}

impl Comparison {
    /// Compares the figures of the release. A target or GPU that is not pinned is not growth, nor is one that is gone: kernels that are
    /// lost with it are seen by themselves.
    fn compare_totals(&mut self, pinned: &Ratchet, now: &Ratchet, slack: f64) {
        let figures = [
            (Figure::Bytes, pinned.target_bytes(), now.target_bytes()),
            (Figure::Compiled, pinned.compiled_bytes(), now.compiled_bytes()),
        ];
        for (figure, old, new) in figures {
            for (about, new) in new {
                if let Some(old) = old.get(about) {
                    self.add_difference(None, about, figure, (*old, *new), slack);
                }
            }
        }
    }

    /// Compares the figures of a kernel for the targets that both have.
    fn compare_kernel(&mut self, kernel: KernelOf<'_>, old: &KernelFigures, new: &KernelFigures, slack: f64) {
        for (form, new) in new {
            let Some(old) = old.get(form) else { continue };
            let figures = [
                (Figure::Registers, old.registers, new.registers, 0.0),
                (Figure::Stack, old.stack, new.stack, 0.0),
                (Figure::Shared, old.shared, new.shared, 0.0),
                (Figure::Code, old.code, new.code, slack),
            ];
            for (figure, old, new, slack) in figures {
                if let (Some(old), Some(new)) = (old, new) {
                    self.add_difference(Some(kernel), form, figure, (old, new), slack);
                }
            }
        }
    }

    /// Compares the kernels that a GPU does not load, among those that a file had and has.
    fn compare_loading(&mut self, name: &str, gpu: &str, old: &PinnedFile, new: &PinnedFile) {
        let empty = BTreeSet::new();
        let before = old.missing.get(gpu).unwrap_or(&empty);
        let now = new.missing.get(gpu).unwrap_or(&empty);
        let is_kept =
            |kernel: &&String| old.kernels.contains_key(*kernel) && new.kernels.contains_key(*kernel);
        for kernel in now.difference(before).filter(is_kept) {
            self.add_difference(Some((kernel, name)), gpu, Figure::Missing, (0, 1), 0.0);
        }
        for kernel in before.difference(now).filter(is_kept) {
            self.add_difference(Some((kernel, name)), gpu, Figure::Missing, (1, 0), 0.0);
        }
    }

    /// Adds a figure that differs from the pinned one by more than `slack` per cent.
    #[expect(clippy::cast_precision_loss, reason = "a share of a size")]
    fn add_difference(
        &mut self,
        kernel: Option<KernelOf<'_>>,
        about: &str,
        figure: Figure,
        (old, new): (u64, u64),
        slack: f64,
    ) {
        let is_within = old.abs_diff(new) as f64 <= old as f64 * slack / 100.0;
        if is_within {
            return;
        }
        let moved = Moved {
            file: kernel.map(|(_, file)| file.to_owned()),
            kernel: kernel.map(|(kernel, _)| kernel.to_owned()),
            about: about.to_owned(),
            figure,
            old,
            new,
        };
        if new > old {
            self.worse.push(moved);
        } else {
            self.better.push(moved);
        }
    }
}

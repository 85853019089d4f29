//! Figures of a release that may only get better: registers, stack, shared memory and code of each kernel, bytes of each target, what
//! the driver compiles, and the kernels that a GPU does not load.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::contents::Contents;
use crate::forecast::State;
use crate::limits::{MAX_RATCHET_BYTES, MAX_RATCHET_PINS};

/// Raised when a key changes its meaning or goes away.
const VERSION: u32 = 1;

/// The figures that were pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratchet {
    version: u32,
    /// When and why they were pinned, the last of them last.
    pub pins: Vec<Pin>,
    /// For each form, `sm_90` or `PTX sm_80`: bytes in the files.
    targets: BTreeMap<String, u64>,
    /// For each GPU: bytes of PTX that the driver compiles.
    jit: BTreeMap<String, u64>,
    /// For each GPU: the kernels that it does not load.
    missing: BTreeMap<String, Vec<String>>,
    /// For each kernel and target: its figures.
    kernels: BTreeMap<String, BTreeMap<String, Figures>>,
}

/// One pinning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The day, `2026-11-30`.
    pub date: String,
    /// Why.
    pub reason: String,
}

/// The figures of a kernel in machine code. Those that its headers do not say are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Figures {
    #[serde(skip_serializing_if = "Option::is_none")]
    registers: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u64>,
}

/// An error in the file of a ratchet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadRatchet {
    /// Too large.
    #[error("it has more than {MAX_RATCHET_BYTES} bytes")]
    TooLarge,
    /// No such file.
    #[error("it is no ratchet: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Of another version of the format.
    #[error("it has version {0}, and this ptxcheck reads version {VERSION}: pin it anew")]
    Version(u32),
}

/// A figure that is not what was pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The kernel; `None` for a figure of the release.
    pub kernel: Option<String>,
    /// The form or GPU that it is about.
    pub about: String,
    /// `registers`, `stack`, `shared`, `code`, `bytes`, `compiled`, `missing`.
    pub what: &'static str,
    /// As it was pinned.
    pub old: u64,
    /// As it is.
    pub new: u64,
}

/// A release held against pinned figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Figures that got worse.
    pub worse: Vec<Moved>,
    /// Figures that got better.
    pub better: Vec<Moved>,
    /// Kernels that are not pinned.
    pub fresh: usize,
    /// Kernels that are pinned and no longer there.
    pub gone: usize,
}

impl Ratchet {
    /// The figures of a release.
    #[must_use]
    pub fn of(contents: &Contents, mut pins: Vec<Pin>, pin: Pin) -> Self {
        pins.push(pin);
        let surplus = pins.len().saturating_sub(MAX_RATCHET_PINS);
        pins.drain(..surplus);
        let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (identity, record) in &contents.kernels {
            for (gpu, _) in record.states.iter().filter(|(_, state)| is_missing(**state)) {
                missing.entry(gpu.to_string()).or_default().push(identity.clone());
            }
        }
        Self {
            version: VERSION,
            pins,
            targets: contents
                .forms
                .iter()
                .map(|(form, (bytes, _))| (form.to_string(), *bytes))
                .collect(),
            jit: contents
                .jit_bytes
                .iter()
                .map(|(gpu, bytes)| (gpu.to_string(), *bytes))
                .collect(),
            missing,
            kernels: kernels(contents),
        }
    }

    /// Reads the file of a ratchet.
    ///
    /// # Errors
    ///
    /// [`BadRatchet`], if it is none.
    pub fn parse(text: &str) -> Result<Self, BadRatchet> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        if text.len() > MAX_RATCHET_BYTES {
            return Err(BadRatchet::TooLarge);
        }
        let head: Head = serde_json::from_str(text)?;
        if head.version != VERSION {
            return Err(BadRatchet::Version(head.version));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The text of the file, with a line end.
    ///
    /// # Errors
    ///
    /// None in practice.
    pub fn to_text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Holds a release against it. Sizes may grow by `slack` per cent.
    #[must_use]
    pub fn compare(&self, contents: &Contents, slack: f64) -> Comparison {
        let now = Self::of(contents, Vec::new(), Pin::default());
        let mut found = Comparison::default();
        for (what, old, new) in [
            ("bytes", &self.targets, &now.targets),
            ("compiled", &self.jit, &now.jit),
        ] {
            for (about, new) in new {
                // A target that is new takes room that nothing is pinned for.
                let old = match (old.get(about), what) {
                    (Some(old), _) => *old,
                    (None, "bytes") => 0,
                    (None, _) => continue,
                };
                found.add(None, about, what, (old, *new), slack);
            }
            for (about, old) in old.iter().filter(|(about, _)| !new.contains_key(*about)) {
                if what == "bytes" {
                    found.add(None, about, what, (*old, 0), slack);
                }
            }
        }
        for gpu in now.jit.keys().filter(|gpu| self.jit.contains_key(*gpu)) {
            let (old, new) = (self.missing_on(gpu), now.missing_on(gpu));
            for kernel in new.difference(&old) {
                found.add(Some(kernel), gpu, "missing", (0, 1), 0.0);
            }
            let is_there = |kernel: &&&str| contents.kernels.contains_key(**kernel);
            for kernel in old.difference(&new).filter(is_there) {
                found.add(Some(kernel), gpu, "missing", (1, 0), 0.0);
            }
        }
        for (kernel, forms) in &now.kernels {
            let Some(pinned) = self.kernels.get(kernel) else {
                found.fresh += 1;
                continue;
            };
            for (form, new) in forms {
                let Some(old) = pinned.get(form) else { continue };
                let figures = [
                    ("registers", old.registers, new.registers, 0.0),
                    ("stack", old.stack, new.stack, 0.0),
                    ("shared", old.shared, new.shared, 0.0),
                    ("code", old.code, new.code, slack),
                ];
                for (what, old, new, slack) in figures {
                    if let (Some(old), Some(new)) = (old, new) {
                        found.add(Some(kernel), form, what, (old, new), slack);
                    }
                }
            }
        }
        found.gone = self
            .kernels
            .keys()
            .filter(|kernel| !now.kernels.contains_key(*kernel))
            .count();
        found
    }

    /// The kernels that a GPU does not load.
    fn missing_on(&self, gpu: &str) -> BTreeSet<&str> {
        let kernels = self.missing.get(gpu).into_iter().flatten();
        kernels.map(String::as_str).collect()
    }
}

impl Comparison {
    /// Adds a figure that is not what it was, by more than `slack` per cent.
    #[expect(clippy::cast_precision_loss, reason = "a share of a size")]
    fn add(
        &mut self,
        kernel: Option<&str>,
        about: &str,
        what: &'static str,
        (old, new): (u64, u64),
        slack: f64,
    ) {
        let is_within = old.abs_diff(new) as f64 <= old as f64 * slack / 100.0;
        if is_within {
            return;
        }
        let moved = Moved {
            kernel: kernel.map(str::to_owned),
            about: about.to_owned(),
            what,
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

const fn is_missing(state: State) -> bool {
    matches!(state, State::None | State::Partly)
}

fn kernels(contents: &Contents) -> BTreeMap<String, BTreeMap<String, Figures>> {
    let mut kernels = BTreeMap::new();
    for (identity, record) in &contents.kernels {
        let forms = record.forms.iter().filter(|(form, _)| !form.is_ptx);
        let figures = forms.map(|(form, of_form)| {
            let figures = Figures {
                registers: of_form.resources.registers.map(u64::from),
                stack: of_form.resources.stack.map(u64::from),
                shared: of_form.resources.shared.map(u64::from),
                code: of_form.code_bytes,
            };
            (form.to_string(), figures)
        });
        let figures: BTreeMap<String, Figures> = figures.collect();
        if !figures.is_empty() {
            kernels.insert(identity.clone(), figures);
        }
    }
    kernels
}

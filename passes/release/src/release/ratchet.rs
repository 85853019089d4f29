//! Figures of a release that may only get better: registers, stack, shared memory and code of each kernel of each file, bytes of each
//! target, what the driver compiles, and the kernels that a GPU does not load.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::files::Files;
use crate::forecast::{Gpu, State};
use crate::limits::{MAX_RATCHET_BYTES, MAX_RATCHET_PINS};

/// Raised when a key changes its meaning or goes away.
const VERSION: u32 = 2;

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
    /// For each file, by its name in [`Files`]: its kernels.
    pub(super) files: BTreeMap<String, PinnedFile>,
}

/// The figures of the kernels of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PinnedFile {
    /// For each GPU: the kernels that it does not load.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) missing: BTreeMap<String, BTreeSet<String>>,
    /// For each kernel and target of its machine code: its figures. Kernels of PTX alone have none.
    pub(super) kernels: BTreeMap<String, KernelFigures>,
}

/// For each target: the figures of a kernel.
pub(super) type KernelFigures = BTreeMap<String, Figures>;

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
pub(super) struct Figures {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) registers: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stack: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shared: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<u64>,
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

impl Ratchet {
    /// The figures of a release.
    #[must_use]
    pub fn of(files: &Files, mut pins: Vec<Pin>, pin: Pin) -> Self {
        pins.push(pin);
        let surplus = pins.len().saturating_sub(MAX_RATCHET_PINS);
        pins.drain(..surplus);
        let mut ratchet = Self {
            version: VERSION,
            pins,
            ..Self::default()
        };
        for (name, file) in &files.0 {
            let contents = &file.contents;
            for (form, (bytes, _)) in &contents.forms {
                add_bytes(&mut ratchet.targets, form.to_string(), *bytes);
            }
            for (gpu, bytes) in &contents.jit_bytes {
                add_bytes(&mut ratchet.jit, gpu.to_string(), *bytes);
            }
            ratchet.files.insert(name.clone(), PinnedFile::of(contents));
        }
        ratchet
    }

    /// Reads the file of a ratchet.
    ///
    /// # Errors
    ///
    /// [`BadRatchet`], if it is none.
    pub fn parse(text: &str) -> Result<Self, BadRatchet> {
        if text.len() > MAX_RATCHET_BYTES {
            return Err(BadRatchet::TooLarge);
        }
        let head: Head = serde_json::from_str(text)?;
        if head.version != VERSION {
            return Err(BadRatchet::Version(head.version));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The reasons in a file of whichever version, so that pinning it anew keeps them.
    ///
    /// # Errors
    ///
    /// [`BadRatchet`], if it is not a ratchet.
    pub fn pins(text: &str) -> Result<Vec<Pin>, BadRatchet> {
        if text.len() > MAX_RATCHET_BYTES {
            return Err(BadRatchet::TooLarge);
        }
        let head: Head = serde_json::from_str(text)?;
        Ok(head.pins)
    }

    /// The text of the file, with a line end.
    ///
    /// # Errors
    ///
    /// None in practice.
    pub fn to_text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The GPUs that something is pinned for.
    #[must_use]
    pub fn gpus(&self) -> Vec<Gpu> {
        self.jit.keys().filter_map(|gpu| gpu.parse().ok()).collect()
    }

    /// Bytes of the images of each form.
    pub(super) const fn target_bytes(&self) -> &BTreeMap<String, u64> {
        &self.targets
    }

    /// For each GPU, bytes of PTX that the driver compiles.
    pub(super) const fn compiled_bytes(&self) -> &BTreeMap<String, u64> {
        &self.jit
    }
}

/// The beginning of every version of the file.
#[derive(Deserialize)]
struct Head {
    version: u32,
    #[serde(default)]
    pins: Vec<Pin>,
}

impl PinnedFile {
    fn of(contents: &Contents) -> Self {
        let mut file = Self::default();
        for (identity, record) in &contents.kernels {
            for (gpu, _) in record.states.iter().filter(|(_, state)| is_missing(**state)) {
                let missing = file.missing.entry(gpu.to_string()).or_default();
                missing.insert(identity.clone());
            }
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
            file.kernels.insert(identity.clone(), figures.collect());
        }
        file
    }
}

const fn is_missing(state: State) -> bool {
    matches!(state, State::None | State::Partly)
}

fn add_bytes(sums: &mut BTreeMap<String, u64>, key: String, bytes: u64) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(bytes);
}

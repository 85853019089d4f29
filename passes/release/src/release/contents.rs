//! The kernels and images of a release, regardless of the files that contain them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::forecast::{Gpu, InputForecast, State};
use crate::inventory::{ImageKind, ImageReport, InputReport, Kernel, Resources, Stub, is_read, split_target};
use crate::ir::LaunchBounds;

/// A form in which kernels are there: machine code or PTX for a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Form {
    /// The number of the target, so that forms sort by it.
    number: u32,
    /// `sm_90a`.
    pub target: String,
    /// It is PTX.
    pub is_ptx: bool,
}

impl Form {
    fn of(image: &ImageReport) -> Self {
        Self {
            number: split_target(&image.target).0,
            target: image.target.clone(),
            is_ptx: image.kind == ImageKind::Ptx,
        }
    }
}

/// `sm_90`, `PTX sm_80`.
impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = if self.target.is_empty() { "?" } else { &self.target };
        match self.is_ptx {
            true => write!(formatter, "PTX {target}"),
            false => formatter.write_str(target),
        }
    }
}

/// A kernel in one form. If several files or containers have it: all of them together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormRecord {
    /// Digests of its bodies; empty where they are not known.
    pub bodies: BTreeSet<u64>,
    /// Offset and size of each parameter in bytes, where they are known.
    pub params: Option<Vec<(u32, u32)>>,
    /// Launch bounds.
    pub launch: LaunchBounds,
    /// The largest figures of all copies.
    pub resources: Resources,
    /// The machine code of the largest copy, in bytes.
    pub code_bytes: Option<u64>,
    /// It has no body.
    pub stub: Option<Stub>,
    /// Number of copies.
    pub copies: usize,
}

impl FormRecord {
    fn add(&mut self, kernel: &Kernel) {
        self.bodies.extend(kernel.body);
        if self.copies == 0 {
            self.params.clone_from(&kernel.params);
            self.launch = kernel.launch;
            self.stub = kernel.stub;
        } else if self.stub != kernel.stub {
            self.stub = None;
        }
        self.code_bytes = self.code_bytes.max(kernel.code_bytes);
        if let Some(own) = kernel.resources {
            let all = &mut self.resources;
            all.registers = all.registers.max(own.registers);
            all.stack = all.stack.max(own.stack);
            all.shared = all.shared.max(own.shared);
            all.constant = all.constant.max(own.constant);
        }
        self.copies += 1;
    }
}

/// A kernel of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelRecord {
    /// As an image names it.
    pub name: String,
    /// Its forms.
    pub forms: BTreeMap<Form, FormRecord>,
    /// Its loading on each GPU that was asked for: the worst of all files that have it.
    pub states: BTreeMap<Gpu, State>,
}

/// The device code of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Its kernels, by their names without what changes from build to build.
    pub kernels: BTreeMap<String, KernelRecord>,
    /// For each form: bytes that its images take in the files, and their number.
    pub forms: BTreeMap<Form, (u64, usize)>,
    /// For each GPU that was asked for: bytes of PTX that the driver compiles.
    pub jit_bytes: BTreeMap<Gpu, u64>,
    /// Images that could not be read: what is missing proves nothing.
    pub unread: usize,
}

impl Contents {
    /// The contents of all inputs of a run, with the forecast for these GPUs.
    #[must_use]
    pub fn of(inputs: &[InputReport], gpus: &[Gpu]) -> Self {
        let mut contents = Self::default();
        for input in inputs {
            contents.add(input, gpus);
        }
        contents
    }

    pub(super) fn add(&mut self, input: &InputReport, gpus: &[Gpu]) {
        for image in input.images.iter().filter(|image| image.role.counts()) {
            let form = Form::of(image);
            let (bytes, images) = self.forms.entry(form.clone()).or_default();
            *bytes = bytes.saturating_add(image.packed);
            *images += 1;
            if is_read(image.kind) && !image.is_whole() {
                self.unread += 1;
            }
            for kernel in &image.facts.kernels {
                let record = self
                    .kernels
                    .entry(kernel.identity.clone())
                    .or_insert_with(|| KernelRecord {
                        name: kernel.name.clone(),
                        ..KernelRecord::default()
                    });
                record.forms.entry(form.clone()).or_default().add(kernel);
            }
        }
        if gpus.is_empty() {
            return;
        }
        let forecast = InputForecast::new(input, gpus, None);
        for row in &forecast.kernels {
            let Some(record) = self.kernels.get_mut(&row.kernel.identity) else {
                continue;
            };
            for (gpu, cell) in gpus.iter().zip(&row.cells) {
                let state = record.states.entry(*gpu).or_insert(cell.state);
                *state = cell.state.max(*state);
            }
        }
        for (gpu, bytes) in gpus.iter().zip(&forecast.jit_bytes) {
            let sum = self.jit_bytes.entry(*gpu).or_default();
            *sum = sum.saturating_add(*bytes);
        }
    }
}

//! Kernels by the GPUs that load them.

use std::collections::BTreeMap;

use ptxcheck_common::maps::NameMap;

use crate::forecast::{Cell, Gpu, InputForecast, KernelForecast, State};
use crate::inventory::InputReport;

/// The part of the kernels that a GPU loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// At least half of what the best served GPU loads, and most of it from machine code.
    Code,
    /// As many, and most of it from PTX, which the driver compiles.
    Compiled,
    /// Fewer, and at least a tenth.
    Part,
    /// Fewer.
    Few,
    /// Only kernels whose bodies are in images for other GPUs.
    Stubs,
    /// Perhaps some: nothing certain is known.
    Unsure,
    /// None.
    Nothing,
}

impl Load {
    /// The word in documents: `code`, `compiled`, `part`, `few`, `stubs`, `unsure`, `nothing`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Compiled => "compiled",
            Self::Part => "part",
            Self::Few => "few",
            Self::Stubs => "stubs",
            Self::Unsure => "unsure",
            Self::Nothing => "nothing",
        }
    }

    /// True if kernels certainly load.
    #[must_use]
    pub const fn is_some(self) -> bool {
        matches!(self, Self::Code | Self::Compiled | Self::Part | Self::Few)
    }
}

/// A GPU, and the kernels that it loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuLoad {
    /// The GPU.
    pub gpu: Gpu,
    /// The part that it loads.
    pub load: Load,
    /// Number of kernels that it loads.
    pub kernels: usize,
}

/// The GPUs that load the kernels of a file or a package.
///
/// Displayed, it is a sentence: `loads on 7.0–8.9 (perhaps not 8.7); no kernel on 9.0, 10.x, 11.0, 12.x`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Number of kernels that a driver can load on some GPU.
    pub kernels: usize,
    /// All GPUs from Maxwell on, in their order; none if there is no kernel.
    pub gpus: Vec<GpuLoad>,
}

/// The state of one kernel on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loaded {
    Code,
    Compiled,
    Unsure,
    Stub,
    No,
}

impl Loaded {
    const fn of(cell: &Cell, has_body: bool) -> Self {
        match cell.state {
            State::None => Self::No,
            State::Unsure => Self::Unsure,
            _ if has_body && cell.stub.is_some() => Self::Stub,
            State::Jit | State::JitLink => Self::Compiled,
            State::Exact | State::Older | State::Partly => Self::Code,
        }
    }

    const fn loads(self) -> bool {
        matches!(self, Self::Code | Self::Compiled)
    }
}

/// Kernels by their identity, with their states on all GPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadedKernels<'a>(NameMap<&'a str, Vec<Loaded>>);

impl<'a> LoadedKernels<'a> {
    /// Those of an input.
    pub(super) fn of(input: &'a InputReport) -> Self {
        let gpus: Vec<Gpu> = Gpu::all().collect();
        let forecast = InputForecast::new(input, &gpus, None);
        let row = |row: &KernelForecast<'a>| {
            let cells = row.cells.iter().map(|cell| Loaded::of(cell, row.has_body));
            (row.kernel.identity.as_str(), cells.collect())
        };
        Self(forecast.kernels.iter().map(row).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds those of another input: a kernel of both loads where one of them does.
    pub(super) fn add(&mut self, others: &Self) {
        for (identity, row) in &others.0 {
            match self.0.get_mut(identity) {
                Some(known) => {
                    for (best, one) in known.iter_mut().zip(row) {
                        *best = (*best).min(*one);
                    }
                }
                None => {
                    self.0.insert(identity, row.clone());
                }
            }
        }
    }

    /// True if these kernels have at least half of the kernels of `wanted` on a GPU.
    pub(super) fn serve_as_well_as(&self, wanted: &Self, gpu: Gpu) -> bool {
        let Some(column) = Gpu::all().position(|one| one == gpu) else {
            return false;
        };
        let loads = |identity: &&str| self.0.get(identity).is_some_and(|row| row[column].loads());
        let served = wanted.0.keys().filter(|identity| loads(identity)).count();
        served > 0 && served.saturating_mul(2) >= wanted.0.len()
    }

    /// The GPUs that load them.
    pub(super) fn reach(&self) -> Reach {
        if self.0.is_empty() {
            return Reach::default();
        }
        let gpus: Vec<Gpu> = Gpu::all().collect();
        let mut counts: Vec<BTreeMap<Loaded, usize>> = vec![BTreeMap::new(); gpus.len()];
        for row in self.0.values() {
            for (counts, loaded) in counts.iter_mut().zip(row) {
                *counts.entry(*loaded).or_default() += 1;
            }
        }
        let number =
            |counts: &BTreeMap<Loaded, usize>, wanted| counts.get(&wanted).copied().unwrap_or_default();
        let loading = |counts: &BTreeMap<Loaded, usize>| {
            number(counts, Loaded::Code) + number(counts, Loaded::Compiled)
        };
        let most = counts.iter().map(loading).max().unwrap_or_default();
        let of_gpu = gpus.into_iter().zip(&counts).map(|(gpu, counts)| {
            let kernels = loading(counts);
            let load = match kernels {
                0 if number(counts, Loaded::Unsure) > 0 => Load::Unsure,
                0 if number(counts, Loaded::Stub) > 0 => Load::Stubs,
                0 => Load::Nothing,
                _ if kernels.saturating_mul(10) < most => Load::Few,
                _ if kernels.saturating_mul(2) < most => Load::Part,
                _ if number(counts, Loaded::Compiled).saturating_mul(2) > kernels => Load::Compiled,
                _ => Load::Code,
            };
            GpuLoad { gpu, load, kernels }
        });
        Reach {
            kernels: self.0.len(),
            gpus: of_gpu.collect(),
        }
    }
}

impl Reach {
    /// The GPUs that load the kernels of an input.
    #[must_use]
    pub fn of(input: &InputReport) -> Self {
        LoadedKernels::of(input).reach()
    }

    /// The GPUs with this load.
    #[must_use]
    pub fn with(&self, load: Load) -> Vec<Gpu> {
        let those = self.gpus.iter().filter(|one| one.load == load);
        those.map(|one| one.gpu).collect()
    }

    /// The load on a GPU; [`Load::Nothing`] if there is no kernel.
    #[must_use]
    pub fn load(&self, gpu: Gpu) -> Load {
        let found = self.gpus.iter().find(|one| one.gpu == gpu);
        found.map_or(Load::Nothing, |one| one.load)
    }

    /// The oldest GPU that loads something.
    #[must_use]
    pub fn oldest(&self) -> Option<Gpu> {
        self.gpus.iter().find(|one| one.load.is_some()).map(|one| one.gpu)
    }

    /// The GPUs that load nothing, or stubs alone, and are newer than one that loads something.
    #[must_use]
    pub fn left_out(&self) -> Vec<Gpu> {
        let Some(oldest) = self.oldest() else {
            return Vec::new();
        };
        let those = self
            .gpus
            .iter()
            .filter(|one| one.gpu > oldest && matches!(one.load, Load::Nothing | Load::Stubs));
        those.map(|one| one.gpu).collect()
    }
}

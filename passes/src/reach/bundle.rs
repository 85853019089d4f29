//! The files of a run that are released together, and what they load together.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::kernels::{LoadedKernels, Reach};
use crate::forecast::Gpu;
use crate::inventory::InputReport;

/// The mark between a package and its member in the name of an input.
const MEMBER: char = '!';

/// A package, or all files of a run that lie in none.
#[derive(Clone, Debug)]
pub struct Bundle<'a> {
    /// The name of the package; `None` for files that lie in none.
    pub package: Option<&'a str>,
    /// Its files with kernels that a driver loads, in the order of the run.
    pub files: Vec<FileReach<'a>>,
    /// The GPUs that load its kernels.
    pub reach: Reach,
    kernels: LoadedKernels<'a>,
}

/// A file, and the GPUs that load its kernels.
#[derive(Clone, Debug)]
pub struct FileReach<'a> {
    /// Index of the input.
    pub input: usize,
    /// The GPUs.
    pub reach: Reach,
    kernels: LoadedKernels<'a>,
}

/// The packages of a run, in the order of their first files, and its other files. Those without a kernel that a driver loads are left
/// out.
#[must_use]
pub fn bundles(inputs: &[InputReport]) -> Vec<Bundle<'_>> {
    let files: Vec<FileReach<'_>> = inputs
        .par_iter()
        .enumerate()
        .map(|(input, report)| {
            let kernels = LoadedKernels::of(report);
            FileReach {
                input,
                reach: kernels.reach(),
                kernels,
            }
        })
        .filter(|file| file.reach.kernels > 0)
        .collect();
    let mut order: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let mut bundles: Vec<(Option<&str>, Vec<FileReach<'_>>)> = Vec::new();
    for file in files {
        let package = inputs[file.input]
            .name
            .rsplit_once(MEMBER)
            .map(|(package, _)| package);
        let place = *order.entry(package).or_insert(bundles.len());
        if place == bundles.len() {
            bundles.push((package, Vec::new()));
        }
        bundles[place].1.push(file);
    }
    bundles
        .into_iter()
        .map(|(package, files)| Bundle::new(package, files))
        .collect()
}

impl<'a> Bundle<'a> {
    fn new(package: Option<&'a str>, files: Vec<FileReach<'a>>) -> Self {
        let mut kernels = LoadedKernels::default();
        for file in &files {
            kernels.add(&file.kernels);
        }
        Self {
            package,
            reach: kernels.reach(),
            files,
            kernels,
        }
    }

    /// True if a GPU loads the kernels of one of these files from others: a package can have a library for each version of CUDA.
    #[must_use]
    pub fn has_elsewhere(&self, file: &FileReach<'a>, gpu: Gpu) -> bool {
        self.kernels.serve(&file.kernels, gpu)
    }
}

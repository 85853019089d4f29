//! The files of a run that are released together, and what they load together.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::kernels::{LoadedKernels, Reach};
use crate::forecast::Gpu;
use crate::inventory::InputReport;

/// The mark between a package and its member in the name of an input.
const MEMBER: char = '!';

/// A package, or all files of a run that lie in none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bundle {
    /// The name of the package; `None` for files that lie in none.
    pub package: Option<String>,
    /// Its files with kernels that a driver loads, in the order of the run.
    pub files: Vec<FileReach>,
    /// The GPUs that load its kernels.
    pub reach: Reach,
}

/// A file, and the GPUs that load its kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileReach {
    /// Index of the input.
    pub input: usize,
    /// The GPUs.
    pub reach: Reach,
    /// The GPUs that the file leaves out and that load its kernels from other files of the package: a package can have a library for
    /// each version of CUDA.
    pub elsewhere: Vec<Gpu>,
}

/// An input, and its kernels.
type LoadedInput<'a> = (usize, LoadedKernels<'a>);

/// The packages of a run, in the order of their first files, and its other files. Those without a kernel that a driver loads are left
/// out.
#[must_use]
pub fn bundles(inputs: &[InputReport]) -> Vec<Bundle> {
    let files: Vec<LoadedInput<'_>> = inputs
        .par_iter()
        .map(LoadedKernels::of)
        .enumerate()
        .filter(|(_, kernels)| !kernels.is_empty())
        .collect();
    let mut order: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    let mut bundles: Vec<(Option<&str>, Vec<LoadedInput<'_>>)> = Vec::new();
    for file in files {
        let package = inputs[file.0]
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
        .map(|(package, files)| Bundle::new(package, &files))
        .collect()
}

impl Bundle {
    fn new(package: Option<&str>, files: &[LoadedInput<'_>]) -> Self {
        let package = package.map(str::to_owned);
        if let [(input, kernels)] = files {
            let reach = kernels.reach();
            return Self {
                package,
                files: vec![FileReach {
                    input: *input,
                    reach: reach.clone(),
                    elsewhere: Vec::new(),
                }],
                reach,
            };
        }
        let mut all = LoadedKernels::default();
        for (_, kernels) in files {
            all.add(kernels);
        }
        let of_file = |(input, kernels): &LoadedInput<'_>| {
            let reach = kernels.reach();
            let mut elsewhere = reach.left_out();
            elsewhere.retain(|gpu| all.serve_as_well_as(kernels, *gpu));
            FileReach {
                input: *input,
                reach,
                elsewhere,
            }
        };
        Self {
            package,
            files: files.iter().map(of_file).collect(),
            reach: all.reach(),
        }
    }
}

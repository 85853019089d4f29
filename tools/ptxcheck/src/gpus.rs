//! Options that name GPUs and their driver.

use clap::Args;
use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::policy::{Driver, Policy};
use ptxcheck_report::forecast::Columns;

use crate::config;

/// The options of the forecast: it is shown, and demands nothing.
#[derive(Args, Clone, Debug)]
pub struct ForecastArgs {
    /// Show which image of each kernel these GPUs load, as in `7.5,8.6,12.0`; `all` for all that CUDA 13 compiles for. Without
    /// this option, those of the policy
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = parse_gpus, help_heading = "Forecast")]
    pub gpu: Vec<GpuList>,

    /// The driver that they have; without it, the newest
    #[arg(
        long,
        value_name = "VERSION",
        conflicts_with = "cuda",
        help_heading = "Forecast"
    )]
    pub driver: Option<Driver>,

    /// The version of CUDA that their driver reports, as in `12.4`
    #[arg(long, value_name = "VERSION", value_parser = config::driver_of_cuda, help_heading = "Forecast")]
    pub cuda: Option<Driver>,
}

impl ForecastArgs {
    /// The forecast that they ask for, else for the GPUs of the policy.
    pub fn columns(&self, policy: &Policy) -> Columns {
        Columns {
            gpus: if self.gpu.is_empty() {
                policy.gpus.clone()
            } else {
                GpuList::all(&self.gpu)
            },
            driver: self.driver.or(self.cuda),
        }
    }

    /// True if one of them is given.
    pub const fn is_given(&self) -> bool {
        !self.gpu.is_empty() || self.driver.is_some() || self.cuda.is_some()
    }
}

/// The GPUs of one word of a list.
#[derive(Clone, Debug)]
pub struct GpuList(Vec<Gpu>);

impl GpuList {
    /// The GPUs of all words, each once, in their order.
    #[must_use]
    pub fn all(lists: &[Self]) -> Vec<Gpu> {
        config::sorted(lists.iter().flat_map(|list| list.0.iter().copied()).collect())
    }
}

/// `7.5,8.6`, or `all`.
///
/// # Errors
///
/// A sentence about what is wanted.
pub fn parse_gpus(text: &str) -> Result<GpuList, String> {
    config::parse_gpus(text).map(GpuList)
}

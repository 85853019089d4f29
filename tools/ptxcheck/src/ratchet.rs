//! `--ratchet` and `--pin`: figures of a release that may only get better.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::policy::PinnedFigures;
use ptxcheck_passes::release::{Comparison, Files, Pin, Ratchet};
use ptxcheck_passes::run::InputReport;
use ptxcheck_report::escape;
use time::OffsetDateTime;

/// Most that sizes may grow, in per cent, unless something else is said.
const SLACK: f64 = 1.0;

/// The options of a ratchet.
#[derive(Args, Clone, Debug)]
pub struct RatchetArgs {
    /// Report figures that are worse than FILE has them (PTX526): registers, stack, shared memory and code of each kernel of each
    /// file, kernels that are gone, bytes of each target, and on the GPUs that were pinned what the driver compiles and what does not
    /// load
    #[arg(long, value_name = "FILE", conflicts_with = "shard", help_heading = "Policy")]
    pub ratchet: Option<PathBuf>,

    /// Write the figures to the file of `--ratchet`, and why; on the GPUs of `--gpu` and those that were pinned before
    #[arg(long, value_name = "REASON", requires = "ratchet", help_heading = "Policy")]
    pub pin: Option<String>,

    /// Most that sizes may grow, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = SLACK, value_parser = parse_slack, requires = "ratchet", help_heading = "Policy")]
    pub ratchet_slack: f64,
}

/// Hundredths of a per cent in one.
const HUNDREDTHS: f64 = 100.0;

fn parse_slack(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|slack: &f64| (0.0..=1000.0).contains(slack))
        .ok_or_else(|| "per cent: 0 to 1000".to_owned())
}

/// The file of a ratchet, as it is before the run.
#[derive(Debug, Default)]
pub struct Prepared {
    /// The figures that the release is compared with.
    pub figures: Option<PinnedFigures>,
    /// The reasons for pinning, with their days; those of a file of another version, too.
    pins: Vec<Pin>,
}

impl Prepared {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// A sentence: there is no such file, or it is not a ratchet.
    pub fn of(args: &RatchetArgs) -> Result<Self, String> {
        let Some(file) = &args.ratchet else {
            return Ok(Self::default());
        };
        let about = |problem: String| format!("`{}`: {problem}", file.to_string_lossy());
        if args.pin.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
            return Err("the reason of `--pin` is empty".to_owned());
        }
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && args.pin.is_some() => {
                return Ok(Self::default());
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(about(
                    "there is no such file: `--pin REASON` writes it".to_owned(),
                ));
            }
            Err(error) => return Err(about(error.to_string())),
        };
        let pins = Ratchet::pins(&text).map_err(|bad| about(bad.to_string()))?;
        let ratchet = match Ratchet::parse(&text) {
            Ok(ratchet) => Some(ratchet),
            Err(_) if args.pin.is_some() => None,
            Err(bad) => return Err(about(bad.to_string())),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 1000 per cent"
        )]
        let slack = (args.ratchet_slack * HUNDREDTHS).round() as u32;
        let figures = ratchet.map(|ratchet| PinnedFigures {
            ratchet: Arc::new(ratchet),
            slack,
        });
        Ok(Self { figures, pins })
    }

    /// Holds the inputs of a run against the figures.
    pub fn compare(&self, inputs: &[InputReport]) -> Option<Comparison> {
        let figures = self.figures.as_ref()?;
        Some(figures.compare(&Files::of(inputs, &figures.ratchet.gpus())))
    }

    /// Writes the figures of a run, if the arguments say so; the lines to say of it.
    ///
    /// # Errors
    ///
    /// A sentence: the file cannot be written.
    pub fn pin(&self, args: &RatchetArgs, inputs: &[InputReport], gpus: &[Gpu]) -> Result<String, String> {
        let (Some(file), Some(reason)) = (&args.ratchet, &args.pin) else {
            return Ok(String::new());
        };
        let mut gpus = gpus.to_vec();
        gpus.extend(self.figures.iter().flat_map(|figures| figures.ratchet.gpus()));
        gpus.sort_unstable();
        gpus.dedup();
        let files = Files::of(inputs, &gpus);
        let pin = Pin {
            date: OffsetDateTime::now_utc().date().to_string(),
            reason: reason.trim().to_owned(),
        };
        let name = file.to_string_lossy();
        write(file, &Ratchet::of(&files, self.pins.clone(), pin))
            .map_err(|problem| format!("`{name}`: {problem}"))?;
        let kernels = match files.kernels() {
            1 => "1 kernel".to_owned(),
            count => format!("{count} kernels"),
        };
        Ok(format!("pinned {kernels} in `{}`\n", escape::line(&name)))
    }
}

fn write(file: &Path, ratchet: &Ratchet) -> Result<(), String> {
    let text = ratchet.to_text().map_err(|error| error.to_string())?;
    fs::write(file, text).map_err(|error| error.to_string())
}

//! The GPUs that load a file and a package: the first lines of an audit.

use std::fmt::Write as _;

use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::reach::{Bundle, FileReach, GpuLoad, Reach};
use ptxcheck_passes::run::{InputReport, Outcome};
use serde::Serialize;

use crate::amounts::plural;
use crate::escape;
use crate::styles::BOLD;

/// The packages and files of a run, with the GPUs that load them.
#[derive(Debug)]
pub(crate) struct Loads<'a> {
    inputs: &'a [InputReport],
    bundles: &'a [Bundle],
}

impl<'a> Loads<'a> {
    pub(crate) fn of(outcome: &'a Outcome) -> Self {
        Self {
            inputs: &outcome.inputs,
            bundles: outcome.bundles(),
        }
    }

    /// A name and a sentence for each package, and for all other files together.
    pub(crate) fn sentences(&self) -> Vec<(String, String)> {
        if self.bundles.is_empty() {
            let mut held = self.inputs.iter().filter(|input| !input.images.is_empty());
            let name = match (held.next(), held.count()) {
                (None, _) => return Vec::new(),
                (Some(only), 0) => only.name.clone(),
                (Some(_), more) => plural(more as u64 + 1, "file"),
            };
            return vec![(name, Reach::default().to_string())];
        }
        let of_bundle = |bundle: &Bundle| (self.name(bundle), bundle.reach.to_string());
        self.bundles.iter().map(of_bundle).collect()
    }

    /// The sentences as lines of text.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line =
            |(name, sentence): (String, String)| format!("{BOLD}{}: {sentence}{BOLD:#}", escape::line(&name));
        self.sentences().into_iter().map(line).collect()
    }

    /// The sentences as a list in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        for (name, sentence) in self.sentences() {
            let _ = writeln!(text, "* `{}`: {sentence}", escape::code_span(&name));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// The GPUs that load an input, if its package has other files.
    pub(crate) fn of_input(&self, input: usize) -> Option<&Reach> {
        let files = self.bundles.iter().filter(|bundle| bundle.files.len() > 1);
        let mut files = files.flat_map(|bundle| &bundle.files);
        files.find(|file| file.input == input).map(|file| &file.reach)
    }

    fn name(&self, bundle: &Bundle) -> String {
        match (bundle.package.as_deref(), bundle.files.as_slice()) {
            (Some(package), [_]) => package.to_owned(),
            (Some(package), files) => format!("{package} ({})", plural(files.len() as u64, "file")),
            (None, [file]) => self.inputs[file.input].name.clone(),
            (None, files) => plural(files.len() as u64, "file"),
        }
    }
}

/// A package, or all files that lie in none.
#[derive(Serialize)]
pub(crate) struct BundleJson<'a> {
    package: Option<&'a str>,
    #[serde(flatten)]
    reach: ReachJson,
    files: Vec<FileJson<'a>>,
}

#[derive(Serialize)]
struct FileJson<'a> {
    input: &'a str,
    #[serde(flatten)]
    reach: ReachJson,
}

#[derive(Serialize)]
struct ReachJson {
    /// The sentence of the text.
    text: String,
    kernels: usize,
    gpus: Vec<GpuLoadJson>,
}

#[derive(Serialize)]
struct GpuLoadJson {
    gpu: Gpu,
    load: &'static str,
    kernels: usize,
}

impl ReachJson {
    fn new(reach: &Reach) -> Self {
        let of_gpu = |one: &GpuLoad| GpuLoadJson {
            gpu: one.gpu,
            load: one.load.as_str(),
            kernels: one.kernels,
        };
        Self {
            text: reach.to_string(),
            kernels: reach.kernels,
            gpus: reach.gpus.iter().map(of_gpu).collect(),
        }
    }
}

/// The packages and other files of a run, as JSON.
pub(crate) fn json(outcome: &Outcome) -> Vec<BundleJson<'_>> {
    let file = |file: &FileReach| FileJson {
        input: &outcome.inputs[file.input].name,
        reach: ReachJson::new(&file.reach),
    };
    outcome
        .bundles()
        .iter()
        .map(|bundle| BundleJson {
            package: bundle.package.as_deref(),
            reach: ReachJson::new(&bundle.reach),
            files: bundle.files.iter().map(file).collect(),
        })
        .collect()
}

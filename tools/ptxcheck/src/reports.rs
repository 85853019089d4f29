//! The formats of a run's findings: on standard output, and in the files of `--output`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use anstream::ColorChoice;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use ptxcheck_passes::group;
use ptxcheck_passes::rules;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::shard::Shard;
use ptxcheck_report::format::{self as report, Audit, Renderer, Run, Wanted};
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::renderers::RENDERERS;
use ptxcheck_report::view::View;
use ptxcheck_report::{escape, github, job_summary};

use crate::exit::Exit;
use crate::options::{Color, FailOn};
use crate::output;

/// The variable with the file that GitHub makes the summary of a job from.
const SUMMARY_FILE: &str = "GITHUB_STEP_SUMMARY";

/// A format of findings: that of one of the renderers.
#[derive(Clone, Copy)]
pub struct Format(pub &'static dyn Renderer);

impl std::fmt::Debug for Format {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.format().fmt(formatter)
    }
}

impl Format {
    /// That of people at a terminal.
    pub const FULL: Self = Self(&ptxcheck_report::full::Full);
    /// That of programs.
    pub const JSON: Self = Self(&ptxcheck_report::json::document::Json);

    /// True if the summary goes beside it, on standard error.
    #[must_use]
    pub fn has_summary(self) -> bool {
        self.0.format().has_summary
    }
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Format>> = LazyLock::new(|| RENDERERS.map(Format).to_vec());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let format = self.0.format();
        let value = PossibleValue::new(format.name).help(format.about);
        Some(value.aliases(format.alias))
    }
}

/// One `--output`.
#[derive(Clone, Debug)]
pub struct Output {
    /// The format.
    pub format: Format,
    /// The file.
    pub file: PathBuf,
}

impl Output {
    /// Reads `json=report.json`.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (format, file) = text
            .split_once('=')
            .ok_or_else(|| format!("a format, `=` and a file are wanted, as in `{}`", example(text)))?;
        let format = Format::from_str(format, false).map_err(|_| {
            let formats = Format::value_variants()
                .iter()
                .filter_map(Format::to_possible_value);
            let names: Vec<String> = formats.map(|format| format.get_name().to_owned()).collect();
            format!("`{format}` is no format; the formats are {}", names.join(", "))
        })?;
        match file {
            "" => Err("the name of the file is missing after `=`".to_owned()),
            "-" => Err("use --format for standard output".to_owned()),
            _ => Ok(Self {
                format,
                file: PathBuf::from(file),
            }),
        }
    }
}

/// An `--output` with the format that the ending of a file is for.
fn example(file: &str) -> String {
    let mut formats = RENDERERS.iter().map(|renderer| renderer.format());
    let is_its = |format: &report::Format| file.ends_with(&format!(".{}", format.extension));
    match formats.find(is_its) {
        Some(format) => format!("{}={file}", format.name),
        None => "json=report.json".to_owned(),
    }
}

/// A kind of results that a SARIF document can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SarifResults {
    /// Definite findings that count
    Definite,
    /// Potential findings, where they are on
    Potential,
    /// Suppressed findings, with the reasons
    Suppressed,
}

/// The values of `--places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Places {
    /// One finding for each cause
    Grouped,
    /// One finding for each place
    All,
}

impl Places {
    /// Makes the groups of an outcome as they are to be reported.
    pub fn apply(self, outcome: &mut Outcome) {
        if self == Self::All {
            outcome.groups = group::one_each(&outcome.findings);
        }
    }
}

/// The options of reports.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Lowest level of a finding that makes the exit code 1
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,

    /// Format of the findings
    #[arg(long, value_enum, default_value_t = Format::FULL, help_heading = "Output")]
    pub format: Format,

    /// Also write findings to a file; repeatable
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Output::parse, help_heading = "Output")]
    pub output: Vec<Output>,

    /// One finding for each cause, with the other places in it, or one for each place
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Places::Grouped, help_heading = "Output")]
    pub places: Places,

    /// The folder that paths are relative to; without it, the working directory, and in sarif, github, gitlab, junit and html the
    /// folder of the configuration, where there is one
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub root: Option<PathBuf>,

    /// The results that a SARIF document holds; `definite` alone for GitHub, which makes open alerts of suppressed findings, too
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        default_values_t = [SarifResults::Definite, SarifResults::Suppressed],
        help_heading = "Output"
    )]
    pub sarif_results: Vec<SarifResults>,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub color: Color,
}

/// A run, to be written in any format.
pub struct Report<'a> {
    /// The result.
    pub outcome: &'a Outcome,
    /// The time it took.
    pub elapsed: Duration,
    /// The results of an audit alone; `None` for a check.
    pub audit: Option<Audit<'a>>,
    /// The folders of the settings.
    pub root: &'a Root,
    /// The options.
    pub args: &'a ReportArgs,
    /// The data of the shard that the run is.
    pub shard: Option<&'a Shard>,
    /// The findings were compared with a baseline, or written to one.
    pub has_baseline: bool,
    /// The pages about rules.
    pub pages: &'a RulePages,
}

impl Report<'_> {
    /// Writes the files of `--output`, then prints the findings: a reader that closes the pipe must not keep files from being
    /// written.
    #[must_use]
    pub fn write(&self) -> Exit {
        let (format, outputs, color) = (self.args.format, &self.args.output, self.args.color.into());
        let written = self.write_files(outputs);
        let printed = match self.render_in(format, &self.on_terminal(color)) {
            Ok(texts) => output::print_each(&texts, self.color(format, color)),
            Err(problem) => output::complain(&problem),
        };
        let mut formats = outputs.iter().map(|output| output.format).chain([format]);
        let summed = if formats.any(|format| format.0.format().has_job_summary) {
            self.write_job_summary()
        } else {
            Exit::Clean
        };
        written.worst(printed).worst(summed)
    }

    /// Writes the files of `--output`.
    #[must_use]
    pub fn write_files(&self, outputs: &[Output]) -> Exit {
        let written = outputs.iter().map(|output| self.write_file(output));
        written.fold(Exit::Clean, Exit::worst)
    }

    /// One text a finding, or one document.
    ///
    /// # Errors
    ///
    /// None in practice: documents hold nothing that their formats can't say.
    pub fn render(&self, format: Format) -> Result<Vec<String>, String> {
        self.render_in(format, &self.view())
    }

    /// The view of texts on standard error, with the terminal's width and its links.
    #[must_use]
    pub fn view_on_stderr(&self, color: ColorChoice) -> View {
        View {
            pages: match output::has_links_on_stderr(color) {
                true => self.pages.clone(),
                false => RulePages::default(),
            },
            width: output::width_of_stderr(),
            ..self.view()
        }
    }

    /// A view of texts that go anywhere: names of files are relative to `--root`, else to the working directory.
    #[must_use]
    pub fn view(&self) -> View {
        View {
            root: Root {
                root: self.args.root.clone().or_else(|| self.root.working.clone()),
                working: self.root.working.clone(),
            },
            ..View::default()
        }
    }

    /// The view of texts on standard output, with the terminal's width and its links.
    fn on_terminal(&self, color: ColorChoice) -> View {
        View {
            pages: match output::has_links(color) {
                true => self.pages.clone(),
                false => RulePages::default(),
            },
            width: output::width(),
            ..self.view()
        }
    }

    fn render_in(&self, format: Format, view: &View) -> Result<Vec<String>, String> {
        self.with_run(view, |run| format.0.render(run))
    }

    /// What `make` makes of the run, as renderers see it.
    fn with_run<T>(&self, view: &View, make: impl FnOnce(&Run<'_>) -> T) -> T {
        let wants = |kind| self.args.sarif_results.contains(&kind);
        let fails = |level| self.args.fail_on.fails(level);
        make(&Run {
            outcome: self.outcome,
            elapsed: self.elapsed,
            audit: self.audit,
            view,
            root: &self.root(),
            pages: self.pages,
            rules: rules::ALL,
            fails: &fails,
            wanted: Wanted {
                potential: wants(SarifResults::Potential),
                suppressed: wants(SarifResults::Suppressed),
            },
            has_baseline: self.has_baseline,
            shard: self.shard,
        })
    }

    /// The folders, with that of `--root`.
    fn root(&self) -> Root {
        Root {
            root: self.args.root.clone().or_else(|| self.root.root.clone()),
            working: self.root.working.clone(),
        }
    }

    /// The colours of standard output. A document for programs has none, and must not lose what looks like one.
    fn color(&self, format: Format, color: ColorChoice) -> ColorChoice {
        if format.0.format().is_styled {
            color
        } else {
            ColorChoice::AlwaysAnsi
        }
    }

    fn write_file(&self, output: &Output) -> Exit {
        let written = self.render(output.format).and_then(|texts| {
            let text = texts.concat();
            let text = if output.format.0.format().is_styled {
                anstream::adapter::strip_str(&text).to_string()
            } else {
                text
            };
            std::fs::write(&output.file, text).map_err(|error| error.to_string())
        });
        match written {
            Ok(()) => Exit::Clean,
            Err(problem) => unwritten(&output.file, &problem),
        }
    }

    /// Appends the table to the file that GitHub's runner names, if it does.
    fn write_job_summary(&self) -> Exit {
        let Some(file) = std::env::var_os(SUMMARY_FILE).filter(|file| !file.is_empty()) else {
            return Exit::Clean;
        };
        let append = || -> std::io::Result<()> {
            let mut file: File = OpenOptions::new().create(true).append(true).open(&file)?;
            let taken = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
            let room = github::SUMMARY_BYTES.saturating_sub(taken);
            let summary = self.with_run(&self.view(), |run| job_summary::render(run, room));
            file.write_all(summary.as_bytes())
        };
        match append() {
            Ok(()) => Exit::Clean,
            Err(error) => unwritten(Path::new(&file), &error.to_string()),
        }
    }
}

fn unwritten(file: &Path, problem: &str) -> Exit {
    output::complain(&format!(
        "`{}` could not be written: {problem}",
        escape::line(&file.to_string_lossy())
    ))
}

#[cfg(test)]
mod tests {
    use super::Output;

    #[test]
    fn outputs_name_a_format_and_a_file() {
        let name = |text| Output::parse(text).map(|output| output.format.0.format().name);
        assert_eq!(name("json=a=b.json"), Ok("json"));
        assert_eq!(name("text=a"), Ok("full"));
        let problem = name("out/report.sarif").unwrap_err();
        assert!(problem.ends_with("as in `sarif=out/report.sarif`"), "{problem}");
        for wrong in ["json", "sariff=x", "json=", "json=-"] {
            assert!(Output::parse(wrong).is_err(), "{wrong}");
        }
    }
}

//! The formats of a run's findings: on standard output, and in the files of `--output`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::ColorChoice;
use clap::{Args, ValueEnum};
use ptxcheck_passes::group;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::release::Comparison;
use ptxcheck_passes::rules;
use ptxcheck_passes::run::Outcome;
use ptxcheck_passes::scope::Root;
use ptxcheck_passes::shard::Shard;
use ptxcheck_report::forecast::Columns;
use ptxcheck_report::pages::RulePages;
use ptxcheck_report::view::View;
use ptxcheck_report::{
    audit, concise, cyclonedx, escape, forecast, full, github, gitlab, html, json, junit, pinned, sarif,
};

use crate::args::FailOn;
use crate::exit::Exit;
use crate::{output, shards};

/// The variable with the file that GitHub makes the summary of a job from.
const SUMMARY_FILE: &str = "GITHUB_STEP_SUMMARY";

/// A format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// With the source, notes and help
    #[value(alias = "text")]
    Full,
    /// One line a finding, as compilers print it
    Concise,
    /// One document for programs
    Json,
    /// The same as JSON lines: an object a line for each input, cell of the forecast and finding
    Jsonl,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub's workflows, and a table for the job's summary
    Github,
    /// GitLab's code quality report
    Gitlab,
    /// JUnit's XML, a test case for each input
    Junit,
    /// One page for a browser, with everything in it
    Html,
    /// Markdown for the summary of a job or a comment: the findings, and the forecast of an audit
    Markdown,
    /// A CycloneDX 1.6 document of the device code, for a bill of materials
    Cyclonedx,
    /// The data of a shard, for `ptxcheck merge`
    Shard,
}

impl Format {
    /// True if it is text for a terminal, with colours.
    #[must_use]
    pub const fn is_styled(self) -> bool {
        matches!(self, Self::Full | Self::Concise)
    }

    /// True if the summary goes beside it, on standard error.
    #[must_use]
    pub const fn has_summary(self) -> bool {
        matches!(self, Self::Full | Self::Concise | Self::Github)
    }
}

/// One `--output`.
#[derive(Clone, Debug, PartialEq, Eq)]
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
            .ok_or("a format, `=` and a file are wanted, as in `json=report.json`")?;
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
}

/// The command that ran.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// `check`.
    Check,
    /// `audit`, with its policy.
    Audit {
        /// The policy.
        policy: &'a Policy,
        /// The GPUs of the forecast.
        forecast: &'a Columns,
        /// The comparison of the release with pinned figures.
        ratchet: Option<&'a Comparison>,
        /// Tables stand before the findings in text.
        has_tables: bool,
        /// Those that are asked for.
        shown: audit::Shown,
    },
}

/// A run, to be written in any format.
#[derive(Debug)]
pub struct Report<'a> {
    /// The result.
    pub outcome: &'a Outcome,
    /// The time it took.
    pub elapsed: Duration,
    /// The command.
    pub kind: Kind<'a>,
    /// The folders of the settings.
    pub root: &'a Root,
    /// The options.
    pub args: &'a ReportArgs,
    /// The levels that fail the run.
    pub fail_on: FailOn,
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
    pub fn write(&self, format: Format, outputs: &[Output], color: ColorChoice) -> Exit {
        let written = self.write_files(outputs);
        let printed = match self.render_in(format, &self.on_terminal(color)) {
            Ok(texts) => output::print_each(&texts, self.color(format, color)),
            Err(problem) => output::complain(&problem),
        };
        let has_github = outputs.iter().any(|output| output.format == Format::Github);
        let summed = if format == Format::Github || has_github {
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
        let outcome = self.outcome;
        let root = &self.root();
        let document = match format {
            Format::Full => {
                return Ok(self
                    .tables()
                    .into_iter()
                    .chain(full::render(outcome, view))
                    .collect());
            }
            Format::Concise => return Ok(concise::render(outcome, view)),
            Format::Github => return Ok(github::render(outcome, root)),
            Format::Jsonl => {
                return match self.kind {
                    Kind::Check => json::lines::render(outcome, self.elapsed),
                    Kind::Audit {
                        policy,
                        forecast,
                        ratchet,
                        ..
                    } => json::lines::render_audit(outcome, policy, forecast, ratchet, self.elapsed),
                }
                .map_err(|error| error.to_string());
            }
            Format::Json => match self.kind {
                Kind::Check => json::render(outcome, self.elapsed),
                Kind::Audit {
                    policy,
                    forecast,
                    ratchet,
                    ..
                } => json::audit::render(outcome, policy, forecast, ratchet, self.elapsed),
            }
            .map_err(|error| error.to_string()),
            Format::Shard => return shards::render(self.shard),
            Format::Sarif => self.sarif(root),
            Format::Html => Ok(html::render(
                outcome,
                root,
                self.pages,
                self.columns(),
                self.elapsed,
            )),
            Format::Markdown => Ok(self.markdown(root, github::SUMMARY_BYTES)),
            Format::Cyclonedx => cyclonedx::render(outcome, self.columns().unwrap_or(&Columns::default()))
                .map_err(|error| error.to_string()),
            Format::Gitlab => gitlab::render(outcome, root).map_err(|error| error.to_string()),
            Format::Junit => junit::render(outcome, root, |level| self.fail_on.fails(level), self.elapsed)
                .map_err(|error| error.to_string()),
        };
        document.map(|text| vec![text])
    }

    fn sarif(&self, root: &Root) -> Result<String, String> {
        let wants = |kind| self.args.sarif_results.contains(&kind);
        let options = sarif::Options {
            rules: rules::ALL,
            pages: self.pages,
            root,
            // Those of an audit are on because it is one, and about images.
            has_potential: wants(SarifResults::Potential) || matches!(self.kind, Kind::Audit { .. }),
            has_suppressed: wants(SarifResults::Suppressed),
            has_baseline: self.has_baseline,
            is_check: matches!(self.kind, Kind::Check),
        };
        sarif::render(self.outcome, &options).map_err(|error| error.to_string())
    }

    /// The GPUs of the forecast of an audit.
    const fn columns(&self) -> Option<&Columns> {
        match self.kind {
            Kind::Check => None,
            Kind::Audit { forecast, .. } => Some(forecast),
        }
    }

    /// The findings and the forecast as Markdown, within so many bytes.
    fn markdown(&self, root: &Root, room: usize) -> String {
        let is_check = matches!(self.kind, Kind::Check);
        let forecast = self
            .columns()
            .map(|columns| audit::loads_markdown(self.outcome) + &forecast::markdown(self.outcome, columns));
        let forecast = forecast.filter(|text| text.len() < room / 2).unwrap_or_default();
        let ratchet = match self.kind {
            Kind::Audit {
                ratchet: Some(found), ..
            } => pinned::markdown(found),
            _ => String::new(),
        };
        let ratchet = Some(ratchet)
            .filter(|text| text.len() < room / 4)
            .unwrap_or_default();
        let room = room - forecast.len() - ratchet.len();
        let findings = github::summary(self.outcome, root, is_check, room);
        findings + &ratchet + &forecast
    }

    /// The tables of an audit.
    fn tables(&self) -> Option<String> {
        match self.kind {
            Kind::Audit {
                has_tables: true,
                shown,
                forecast,
                ..
            } => Some(audit::render(self.outcome, forecast, shown)),
            _ => None,
        }
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
        if format.is_styled() {
            color
        } else {
            ColorChoice::AlwaysAnsi
        }
    }

    fn write_file(&self, output: &Output) -> Exit {
        let written = self.render(output.format).and_then(|texts| {
            let text = texts.concat();
            let text = if output.format.is_styled() {
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
            file.write_all(self.markdown(&self.root(), room).as_bytes())
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
    use super::{Format, Output};

    #[test]
    fn outputs_name_a_format_and_a_file() {
        assert_eq!(Output::parse("json=a=b.json").unwrap().format, Format::Json);
        assert_eq!(Output::parse("text=a").unwrap().format, Format::Full);
        for wrong in ["json", "sariff=x", "json=", "json=-"] {
            assert!(Output::parse(wrong).is_err(), "{wrong}");
        }
    }
}

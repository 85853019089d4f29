//! `ptxcheck check`: the analysis.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anstream::ColorChoice;
use ptxcheck_passes::launches::Launches;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::progress::Progress;
use ptxcheck_passes::recompile::Recompile;
use ptxcheck_passes::run::{self, Outcome, Status};
use ptxcheck_passes::settings::Settings;

use crate::args::{CheckArgs, Format, Output};
use crate::compile::{Database, Recompiler};
use crate::coverage::{Coverage, gaps};
use crate::exit::Exit;
use crate::progress::Display;
use crate::render::{concise, escape, full, json};
use crate::{config, file_list, inputs, output, summary, unanalysed};

/// Analyses the inputs and prints what was found.
#[must_use]
pub fn run(args: &CheckArgs) -> Exit {
    let started = Instant::now();
    let settings = match settings(args) {
        Ok(settings) => settings,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let paths = match file_list::with_listed(&args.paths, args.files_from.as_deref()) {
        Ok(paths) => paths,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let recompiler = match recompiler(args) {
        Ok(recompiler) => recompiler.map(Arc::new),
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let progress = Arc::new(Progress::default());
    let (inputs, left_out) = inputs::collect(&paths, &settings.exclude, &settings.root);
    let settings = Settings {
        worker: super::worker::command(),
        progress: Some(Arc::clone(&progress)),
        left_out,
        recompile: recompiler
            .clone()
            .map(|recompiler| recompiler as Arc<dyn Recompile>),
        ..settings
    };
    let display = Display::of(progress, args.quiet);
    let outcome = run::check(inputs, &settings);
    drop(display);
    let coverage = Coverage::of(&outcome);
    let elapsed = started.elapsed();

    // Files first: a reader that closes the pipe must not keep them from being written.
    let mut exit = Exit::Clean;
    for output in &args.output {
        exit = exit.worst(write(output, &outcome, elapsed));
    }
    exit = exit.worst(match render(args.format, &outcome, elapsed) {
        Ok(texts) => output::print_each(&texts, color(args)),
        Err(problem) => output::complain(&problem),
    });
    if args.verbose {
        output::say(&summary::render_inputs(&outcome), args.color.into());
    }
    if !args.quiet && args.format != Format::Json {
        let summary = summary::render(&outcome, &coverage, &coverage.render(), elapsed);
        output::say(&summary, args.color.into());
    }
    exit.worst(account(&outcome, &coverage, recompiler.as_deref(), args))
        .worst(judge(&outcome, args))
}

/// The compilations to do again.
fn recompiler(args: &CheckArgs) -> Result<Option<Recompiler>, String> {
    let Some(file) = &args.compile_commands else {
        return Ok(None);
    };
    let database = Database::read(file)?;
    Ok(Some(Recompiler::by_database(database, args.timeout)))
}

/// Says which code was not analysed, and the exit code that this deserves.
fn account(
    outcome: &Outcome,
    coverage: &Coverage<'_>,
    recompiler: Option<&Recompiler>,
    args: &CheckArgs,
) -> Exit {
    if recompiler.is_none() && !args.require_analysed {
        if let Some(warning) = coverage.warning() {
            output::say(&format!("ptxcheck: warning: {warning}\n"), args.color.into());
        }
        return Exit::Clean;
    }
    let gaps = gaps(outcome);
    let failures = recompiler.map(Recompiler::failures).unwrap_or_default();
    let mut sentences = unanalysed::sentences(&gaps, failures, recompiler.is_some());
    if args.require_analysed {
        sentences.extend(coverage.reasons());
    }
    if sentences.is_empty() {
        return Exit::Clean;
    }
    let head = if args.require_analysed {
        "not everything was analysed (--require-analysed): "
    } else {
        ""
    };
    output::complain(&format!("{head}{}", sentences.join("\nptxcheck: ")))
}

/// The settings of the configuration file, with the options of the command line over them.
///
/// # Errors
///
/// What is wrong with the file.
pub(super) fn settings(args: &CheckArgs) -> Result<Settings, String> {
    let config = config::read(args.config.as_deref())?;
    let settings = config.settings();
    Ok(Settings {
        levels: args.levels.0.clone(),
        link_set: args.link_set,
        whole_program: args.whole_program,
        launches: Launches {
            run: args.launch_block,
            ..settings.launches
        },
        // What a release has to hold is for audits.
        policy: Policy::default(),
        path_maps: args.path_map.clone(),
        is_strict: args.strict_config,
        timeout: args.timeout,
        threads: args.jobs,
        ..settings
    })
}

/// The exit code that the outcome deserves.
fn judge(outcome: &Outcome, args: &CheckArgs) -> Exit {
    if outcome.inputs.iter().any(summary::is_undone) {
        return Exit::Undone;
    }
    let is_empty = outcome.inputs.iter().all(|input| input.status == Status::Skipped);
    if is_empty && !args.allow_empty {
        return output::complain(
            if outcome.inputs.is_empty() && outcome.decisions.excluded_inputs > 0 {
                "all inputs are excluded by the configuration (--allow-empty makes this a success)"
            } else if outcome.inputs.is_empty() {
                "no input found (--allow-empty makes this a success)"
            } else {
                "no device code in the inputs: they hold code of the host alone (--allow-empty makes this a success)"
            },
        );
    }
    let fails = outcome
        .findings
        .iter()
        .any(|finding| finding.suppressed.is_none() && args.fail_on.fails(finding.level));
    if fails { Exit::Findings } else { Exit::Clean }
}

/// The colours of standard output. A document for programs has none, and must not lose what looks like one.
fn color(args: &CheckArgs) -> ColorChoice {
    match args.format {
        Format::Full | Format::Concise => args.color.into(),
        Format::Json => ColorChoice::AlwaysAnsi,
    }
}

/// One text a finding, or one document.
fn render(format: Format, outcome: &Outcome, elapsed: Duration) -> Result<Vec<String>, String> {
    match format {
        Format::Full => Ok(full::render(outcome)),
        Format::Concise => Ok(concise::render(outcome)),
        Format::Json => json::render(outcome, elapsed)
            .map(|text| vec![text])
            .map_err(|error| error.to_string()),
    }
}

fn write(output: &Output, outcome: &Outcome, elapsed: Duration) -> Exit {
    let written = render(output.format, outcome, elapsed).and_then(|texts| {
        let text = texts.concat();
        let text = match output.format {
            Format::Full | Format::Concise => anstream::adapter::strip_str(&text).to_string(),
            Format::Json => text,
        };
        std::fs::write(&output.file, text).map_err(|error| error.to_string())
    });
    match written {
        Ok(()) => Exit::Clean,
        Err(problem) => output::complain(&format!(
            "`{}` could not be written: {problem}",
            escape::line(&output.file.to_string_lossy())
        )),
    }
}

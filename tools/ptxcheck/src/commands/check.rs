//! `ptxcheck check`: the analysis.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anstream::ColorChoice;
use ptxcheck_passes::launches::Launches;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::progress::Progress;
use ptxcheck_passes::run::{self, Outcome, Status};
use ptxcheck_passes::settings::Settings;

use crate::args::{CheckArgs, Format, Output};
use crate::coverage::Coverage;
use crate::exit::Exit;
use crate::progress::Display;
use crate::render::{concise, escape, full, json};
use crate::{config, file_list, inputs, output, summary};

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
    let progress = Arc::new(Progress::default());
    let (inputs, left_out) = inputs::collect(&paths, &settings.exclude, &settings.root);
    let settings = Settings {
        worker: super::worker::command(),
        progress: Some(Arc::clone(&progress)),
        left_out,
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
    exit.worst(judge(&outcome, &coverage, args))
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
fn judge(outcome: &Outcome, coverage: &Coverage<'_>, args: &CheckArgs) -> Exit {
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
                "no device code in the inputs (--allow-empty makes this a success)"
            },
        );
    }
    if args.require_analysed && !coverage.is_complete() {
        let unanalysed = coverage.render();
        let sentences: Vec<&str> = unanalysed.lines().collect();
        return output::complain(&format!(
            "not everything was analysed (--require-analysed): {}",
            sentences.join("; ")
        ));
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

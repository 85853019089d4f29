//! `ptxcheck config`: what applies, and where it comes from.

use std::fmt::Write as _;
use std::path::PathBuf;

use anstream::ColorChoice;
use clap::Args;
use ptxcheck_passes::finding::Certainty;
use ptxcheck_passes::launches::Shape;
use ptxcheck_passes::rule::{Level, Rule};
use ptxcheck_passes::rules;
use ptxcheck_passes::scope::PathMap;
use ptxcheck_passes::settings::{Change, LevelSetting, Settings};
use ptxcheck_report::escape;
use ptxcheck_report::styles::BOLD;
use serde::Serialize;

use super::launched::Launched;
use crate::config::{self, Config, written};
use crate::exit::Exit;
use crate::levels::Levels;
use crate::options::{Color, ListFormat, parse_path_map};
use crate::output;

/// Arguments of `config`.
#[derive(Args, Debug)]
pub struct ConfigArgs {
    /// Print the JSON schema of the configuration file, for editors
    #[arg(long)]
    pub schema: bool,

    /// Format of the settings
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,

    /// Colours on the terminal
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,

    /// Read the configuration from this file, not from the nearest `ptxcheck.toml` above the working directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// As `check` takes them.
    #[command(flatten)]
    pub levels: Levels,

    /// As `check` takes them.
    #[command(flatten)]
    pub launched: Launched,

    /// As `check` takes it
    #[arg(long, help_heading = "Options of `check`")]
    pub strict_config: bool,

    /// As `check` takes it
    #[arg(long, value_name = "FROM=TO", value_parser = parse_path_map, help_heading = "Options of `check`")]
    pub path_map: Vec<PathMap>,
}

/// The settings that are in force unless something else is said.
const DEFAULTS: [(&str, &str); 6] = [
    ("exclude.system-headers", "false"),
    ("headers.report-at", "\"call\""),
    ("launch.block", "any one-dimensional block of whole warps"),
    ("launch.shared", "any size"),
    ("params.near-limit", "90"),
    ("audit.forbid-duplicates", "false"),
];

/// The key of a size of dynamic shared memory, at the end of its path.
const SHARED: &str = "shared";

/// The word for the source of a default.
const DEFAULT: &str = "default";

/// Prints the settings, or the schema of the file.
#[must_use]
pub fn run(args: &ConfigArgs) -> Exit {
    if args.schema {
        return output::print(config::SCHEMA, ColorChoice::AlwaysAnsi);
    }
    let config = match config::read(args.config.as_deref()) {
        Ok(config) => config,
        Err(problem) => return output::complain(&escape::line(&problem)),
    };
    let document = Document::new(&config, args);
    match args.format {
        ListFormat::Text => output::print(&document.text(), args.color.into()),
        ListFormat::Json => match serde_json::to_string_pretty(&document) {
            Ok(text) => output::print(&(text + "\n"), ColorChoice::AlwaysAnsi),
            Err(error) => output::complain(&error.to_string()),
        },
    }
}

#[derive(Serialize)]
struct Document {
    schema_version: u32,
    /// The configuration that is read.
    file: Option<String>,
    settings: Vec<AppliedSetting>,
    levels: Vec<AppliedLevel>,
}

/// A setting.
#[derive(Serialize)]
struct AppliedSetting {
    key: String,
    value: String,
    /// `ptxcheck.toml:3:1`, an option, or `default`.
    from: String,
    /// The option that wins over it.
    overruled_by: Option<String>,
}

/// A rule's findings whose level is not their own, outside overrides.
#[derive(Serialize)]
struct AppliedLevel {
    code: &'static str,
    name: &'static str,
    certainty: &'static str,
    level: &'static str,
    from: String,
}

impl Document {
    fn new(config: &Config, args: &ConfigArgs) -> Self {
        let file = config.file.as_ref().map(|file| file.display().to_string());
        let name = file.as_deref().unwrap_or_default();
        let launch =
            (!args.launched.launch_block.is_empty()).then(|| launch_options(&args.launched.launch_block));
        let shared = args.launched.launch_shared;
        let shared_option = shared.map(|bytes| format!("--launch-shared {bytes}"));
        let option_over = |key: &str| match key.strip_prefix("launch.") {
            Some(key) if key.ends_with(SHARED) => shared_option.clone(),
            Some(_) => launch.clone(),
            None => None,
        };
        let mut settings: Vec<AppliedSetting> = written::settings(&config.text)
            .into_iter()
            .map(|setting| AppliedSetting {
                overruled_by: option_over(&setting.key),
                from: format!("{name}:{}:{}", setting.line, setting.column),
                key: setting.key,
                value: setting.value,
            })
            .collect();
        let of_option = |key: &str, value: String, from: String| AppliedSetting {
            key: key.to_owned(),
            value,
            from,
            overruled_by: None,
        };
        if let Some(option) = launch {
            let value = match args.launched.launch_block[..] {
                [shape] => format!("{shape:?}"),
                ref shapes => format!("{shapes:?}"),
            };
            settings.push(of_option("launch.block", value, option));
        }
        if let (Some(bytes), Some(option)) = (shared, shared_option) {
            settings.push(of_option("launch.shared", bytes.to_string(), option));
        }
        settings.extend(args.launched.assume.iter().map(|one| {
            let kernels = one.kernels.as_str();
            let option = format!("--assume '{kernels}:{}'", one.text);
            of_option(&format!("assume.{kernels:?}"), format!("{:?}", one.text), option)
        }));
        settings.extend(args.path_map.iter().map(|map| {
            let option = format!("--path-map {}={}", map.from, map.to);
            of_option("path-map", format!("\"{}\" is \"{}\"", map.from, map.to), option)
        }));
        if args.strict_config {
            settings.push(of_option(
                "strict-config",
                "true".to_owned(),
                "--strict-config".to_owned(),
            ));
        }
        for (key, value) in DEFAULTS {
            if settings.iter().all(|setting| setting.key != key) {
                settings.push(of_option(key, value.to_owned(), DEFAULT.to_owned()));
            }
        }
        Self {
            schema_version: 1,
            settings,
            levels: levels(config, name, &args.levels.0),
            file,
        }
    }

    fn text(&self) -> String {
        let mut text = match &self.file {
            Some(file) => format!("{BOLD}configuration: {}{BOLD:#}\n", escape::line(file)),
            None => format!("{BOLD}no configuration file{BOLD:#}\n"),
        };
        let wide = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0).min(60);
        let width = wide(
            &mut self
                .settings
                .iter()
                .map(|setting| setting.key.len() + setting.value.len() + 3),
        );
        for setting in &self.settings {
            let line = format!("{} = {}", setting.key, setting.value);
            let _ = write!(
                text,
                "{:width$}  # {}",
                escape::line(&line),
                escape::line(&setting.from)
            );
            if let Some(option) = &setting.overruled_by {
                let _ = write!(text, ", but {option} wins");
            }
            text.push('\n');
        }
        if !self.levels.is_empty() {
            let _ = writeln!(
                text,
                "\n{BOLD}findings whose level is not their own, outside overrides{BOLD:#}"
            );
        }
        let width = self
            .levels
            .iter()
            .map(|level| level.name.len())
            .max()
            .unwrap_or(0);
        for level in &self.levels {
            let _ = writeln!(
                text,
                "{}  {:width$}  {:9}  {:7}  # {}",
                level.code,
                level.name,
                level.certainty,
                level.level,
                escape::line(&level.from)
            );
        }
        text
    }
}

fn launch_options(shapes: &[Shape]) -> String {
    let options = shapes
        .iter()
        .map(|[x, y, z]| format!("--launch-block {x},{y},{z}"));
    options.collect::<Vec<_>>().join(" ")
}

/// The levels that differ from what they are without any setting, and what set them last.
fn levels(config: &Config, file: &str, options: &[LevelSetting]) -> Vec<AppliedLevel> {
    let base = config
        .levels
        .iter()
        .map(|(setting, (line, column))| (*setting, format!("{file}:{line}:{column}")));
    let run = options.iter().map(|setting| (*setting, option(setting)));
    let all: Vec<(LevelSetting, String)> = base.chain(run).collect();
    let mut levels = Vec::new();
    for rule in rules::ALL {
        for certainty in Certainty::ALL {
            if rule.can_be(certainty)
                && let Some(level) = applied(rule, certainty, &all)
            {
                levels.push(level);
            }
        }
    }
    levels
}

fn applied(
    rule: &'static Rule,
    certainty: Certainty,
    all: &[(LevelSetting, String)],
) -> Option<AppliedLevel> {
    let level_after = |count: usize| {
        let settings = Settings {
            levels: all[..count].iter().map(|(setting, _)| *setting).collect(),
            ..Settings::default()
        };
        settings.level(rule, certainty, rule.definite)
    };
    let level = level_after(all.len());
    let set = |index: &usize| {
        let setting = all[*index].0;
        setting.matches(rule, certainty) && setting.level == level && level_after(*index + 1) == level
    };
    if level == level_after(0) {
        return None;
    }
    // The first from which on it has this level.
    let mut from = all.len();
    for index in (0..all.len())
        .rev()
        .take_while(|index| level_after(index + 1) == level)
    {
        if set(&index) {
            from = index;
        }
    }
    Some(AppliedLevel {
        code: rule.code,
        name: rule.name,
        certainty: certainty.as_str(),
        level: level.as_str(),
        from: all.get(from).map(|(_, from)| from.clone()).unwrap_or_default(),
    })
}

/// A level setting of the command line, as it can be written.
fn option(setting: &LevelSetting) -> String {
    let flag = match (setting.change, setting.level) {
        (Change::Raise, _) => "-W",
        (Change::Forbid, _) => "-F",
        (Change::Set, Level::Allow) => "-A",
        (Change::Set, Level::Error) => "-D",
        (_, level) => return format!("--level {}={}", setting.selector, level.as_str()),
    };
    format!("{flag} {}", setting.selector)
}

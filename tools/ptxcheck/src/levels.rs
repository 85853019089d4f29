//! `-A`, `-W`, `-D`, `-F` and `--level`: one list in the order given, since later ones win over earlier ones of any kind.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::settings::{Change, LevelSetting, Selector};

/// The level settings of the command line.
#[derive(Clone, Debug, Default)]
pub struct Levels(pub Vec<LevelSetting>);

struct Flag {
    id: &'static str,
    short: char,
    help: &'static str,
    level: Level,
    change: Change,
}

/// `--level`: the one that can lower a level without switching findings off.
const LEVEL: &str = "level";

const FLAGS: [Flag; 4] = [
    Flag {
        id: "allow",
        short: 'A',
        help: "Do not report these findings",
        level: Level::Allow,
        change: Change::Set,
    },
    Flag {
        id: "warn",
        short: 'W',
        help: "Report these findings, at least as warnings: errors stay errors",
        level: Level::Warning,
        change: Change::Raise,
    },
    Flag {
        id: "deny",
        short: 'D',
        help: "Report these findings as errors",
        level: Level::Error,
        change: Change::Set,
    },
    Flag {
        id: "forbid",
        short: 'F',
        help: "Like --deny, and no later option lowers it",
        level: Level::Error,
        change: Change::Forbid,
    },
];

/// The names of the options that take a selector.
pub fn flags() -> impl Iterator<Item = &'static str> {
    FLAGS.iter().map(|flag| flag.id)
}

impl Args for Levels {
    fn augment_args(command: Command) -> Command {
        let command = FLAGS.iter().fold(command, |command, flag| {
            command.arg(
                Arg::new(flag.id)
                    .short(flag.short)
                    .long(flag.id)
                    .value_name("SELECTOR")
                    .help(flag.help)
                    .help_heading("Levels")
                    .action(ArgAction::Append)
                    .value_parser(Selector::parse),
            )
        });
        command.arg(
            Arg::new(LEVEL)
                .long(LEVEL)
                .value_name("SELECTOR=LEVEL")
                .help("Report these findings at this level: allow, warning or error")
                .help_heading("Levels")
                .action(ArgAction::Append)
                .value_parser(parse_level),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Levels {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut settings: Vec<(usize, LevelSetting)> = Vec::new();
        for flag in &FLAGS {
            let (Some(places), Some(selectors)) =
                (matches.indices_of(flag.id), matches.get_many::<Selector>(flag.id))
            else {
                continue;
            };
            settings.extend(places.zip(selectors).map(|(place, selector)| {
                let setting = LevelSetting {
                    selector: *selector,
                    level: flag.level,
                    change: flag.change,
                };
                (place, setting)
            }));
        }
        if let (Some(places), Some(given)) =
            (matches.indices_of(LEVEL), matches.get_many::<LevelSetting>(LEVEL))
        {
            settings.extend(places.zip(given.copied()));
        }
        settings.sort_by_key(|(place, _)| *place);
        Ok(Self(settings.into_iter().map(|(_, setting)| setting).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `PTX404=warning`.
fn parse_level(text: &str) -> Result<LevelSetting, String> {
    let (selector, level) = text
        .rsplit_once('=')
        .ok_or("a selector, `=` and a level are wanted, as in `PTX404=warning`")?;
    let level = match level {
        "allow" => Level::Allow,
        "warning" => Level::Warning,
        "error" => Level::Error,
        _ => {
            return Err(format!(
                "`{level}` is no level; the levels are allow, warning and error"
            ));
        }
    };
    Ok(LevelSetting {
        selector: Selector::parse(selector).map_err(|unknown| unknown.to_string())?,
        level,
        change: Change::Set,
    })
}

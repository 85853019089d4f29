//! `-A`, `-W`, `-D` and `-F`: one list in the order given, since later ones win over earlier ones of any kind.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use ptxcheck_passes::rule::Level;
use ptxcheck_passes::settings::{LevelSetting, Selector};

/// The level settings of the command line.
#[derive(Clone, Debug, Default)]
pub struct Levels(pub Vec<LevelSetting>);

struct Flag {
    id: &'static str,
    short: char,
    help: &'static str,
    level: Level,
    forbid: bool,
}

const FLAGS: [Flag; 4] = [
    Flag {
        id: "allow",
        short: 'A',
        help: "Do not report these findings",
        level: Level::Allow,
        forbid: false,
    },
    Flag {
        id: "warn",
        short: 'W',
        help: "Report these findings as warnings",
        level: Level::Warning,
        forbid: false,
    },
    Flag {
        id: "deny",
        short: 'D',
        help: "Report these findings as errors",
        level: Level::Error,
        forbid: false,
    },
    Flag {
        id: "forbid",
        short: 'F',
        help: "Like --deny, and no later option lowers it",
        level: Level::Error,
        forbid: true,
    },
];

impl Args for Levels {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| {
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
        })
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
                    forbid: flag.forbid,
                };
                (place, setting)
            }));
        }
        settings.sort_by_key(|(place, _)| *place);
        Ok(Self(settings.into_iter().map(|(_, setting)| setting).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

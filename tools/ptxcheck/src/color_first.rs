//! `--color WHEN` before a command, where the options of the implied `check` stand: it is meant for the command.

use std::ffi::OsString;

use clap::CommandFactory as _;

use crate::cli::Cli;

/// The arguments, with `--color` moved from before a command to after it, and left out where the command has no colours.
pub fn moved(mut args: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = args.get(1).and_then(|word| word.to_str()) else {
        return args;
    };
    let count = match first {
        "--color" => 2,
        word if word.starts_with("--color=") => 1,
        _ => return args,
    };
    let command = Cli::command();
    let named = args.get(1 + count).and_then(|word| word.to_str());
    let Some(command) = named.and_then(|name| command.find_subcommand(name)) else {
        return args;
    };
    let has_colors = command.get_arguments().any(|arg| arg.get_id() == "color");
    let color: Vec<OsString> = args.drain(1..=count).collect();
    if has_colors {
        args.splice(2..2, color);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::moved;

    #[test]
    fn color_is_moved_after_the_command() {
        for (written, meant) in [
            (
                "x --color always explain PTX401",
                "x explain --color always PTX401",
            ),
            ("x --color=never rules", "x rules --color=never"),
            ("x --color always completions bash", "x completions bash"),
            ("x --color always k.ptx", "x --color always k.ptx"),
            ("x --color", "x --color"),
            ("x -q rules", "x -q rules"),
        ] {
            let words = written.split(' ').map(Into::into).collect();
            assert_eq!(moved(words).join(std::ffi::OsStr::new(" ")), meant);
        }
    }
}

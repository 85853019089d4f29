//! Writing to the terminal: findings to standard output, everything else to standard error.

use std::io::{self, ErrorKind, Write as _};

use anstream::{AutoStream, ColorChoice};

use crate::exit::Exit;

/// Writes `text` to standard output; colours as `color` says. A reader that went away is no failure.
pub fn print(text: &str, color: ColorChoice) -> Exit {
    let mut stdout = AutoStream::new(io::stdout().lock(), choice(&io::stdout(), color));
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Exit::Clean,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Clean,
        Err(error) => complain(&format!("standard output: {error}")),
    }
}

/// Writes `text` to standard error, if that is possible.
pub fn say(text: &str, color: ColorChoice) {
    let mut stderr = AutoStream::new(io::stderr().lock(), choice(&io::stderr(), color));
    let _ = stderr.write_all(text.as_bytes());
}

/// Says on standard error what went wrong.
pub fn complain(problem: &str) -> Exit {
    say(&format!("ptxcheck: {problem}\n"), ColorChoice::Auto);
    Exit::Undone
}

fn choice(stream: &impl anstream::stream::RawStream, color: ColorChoice) -> ColorChoice {
    match color {
        ColorChoice::Auto => AutoStream::choice(stream),
        _ => color,
    }
}

//! Writing to the terminal: findings to standard output, everything else to standard error.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write as _};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};

use crate::exit::Exit;

/// Writes `text` to standard output; colours as `color` says. A reader that went away is not a failure.
pub fn print(text: &str, color: ColorChoice) -> Exit {
    print_each(&[text], color)
}

/// Writes texts to standard output, each with one write, so that what programs say side by side does not mix within one.
pub fn print_each(texts: &[impl AsRef<str>], color: ColorChoice) -> Exit {
    let color = choice(&io::stdout(), color);
    let mut stdout = AutoStream::new(io::stdout().lock(), of_stream(color));
    let written = texts
        .iter()
        .try_for_each(|text| stdout.write_all(stripped(text.as_ref(), color).as_bytes()));
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Exit::Clean,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Clean,
        Err(error) => complain(&format!("standard output: {error}")),
    }
}

/// Writes `text` to standard error with one write, if that is possible.
pub fn write_stderr(text: &str, color: ColorChoice) {
    let color = choice(&io::stderr(), color);
    let mut stderr = AutoStream::new(io::stderr().lock(), of_stream(color));
    let _ = stderr.write_all(stripped(text, color).as_bytes());
}

/// A stream that takes colours out writes what stands between them piece by piece: they are taken out before.
const fn of_stream(color: ColorChoice) -> ColorChoice {
    match color {
        ColorChoice::Never => ColorChoice::AlwaysAnsi,
        _ => color,
    }
}

fn stripped(text: &str, color: ColorChoice) -> Cow<'_, str> {
    match color {
        ColorChoice::Never => Cow::Owned(strip_str(text).to_string()),
        _ => Cow::Borrowed(text),
    }
}

/// Columns of the terminal that standard output is.
#[must_use]
pub fn width() -> Option<usize> {
    let (columns, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(columns.0))
}

/// Columns of the terminal that standard error is.
#[must_use]
pub fn width_of_stderr() -> Option<usize> {
    let (columns, _) = terminal_size::terminal_size_of(io::stderr())?;
    Some(usize::from(columns.0))
}

/// True if standard output shows links: it is a terminal that is known to, or FORCE_HYPERLINK says so.
#[must_use]
pub fn has_links(color: ColorChoice) -> bool {
    choice(&io::stdout(), color) != ColorChoice::Never
        && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout)
}

/// The same of standard error.
#[must_use]
pub fn has_links_on_stderr(color: ColorChoice) -> bool {
    choice(&io::stderr(), color) != ColorChoice::Never
        && supports_hyperlinks::on(supports_hyperlinks::Stream::Stderr)
}

/// Says on standard error what went wrong.
pub fn complain(problem: &str) -> Exit {
    write_stderr(&format!("ptxcheck: {problem}\n"), ColorChoice::Auto);
    Exit::Undone
}

fn choice(stream: &impl anstream::stream::RawStream, color: ColorChoice) -> ColorChoice {
    match color {
        ColorChoice::Auto => AutoStream::choice(stream),
        _ => color,
    }
}

//! The colours of text that we style ourselves.

use anstyle::{AnsiColor, Style};
use ptxcheck_passes::rule::Level;

/// Headings and names.
pub const BOLD: Style = Style::new().bold();

/// Code in running text.
pub const CODE: Style = AnsiColor::Cyan.on_default();

/// What a reader may skip.
pub const QUIET: Style = Style::new().dimmed();

/// The word for a level.
#[must_use]
pub const fn level(level: Level) -> Style {
    match level {
        Level::Error => AnsiColor::BrightRed.on_default().bold(),
        Level::Warning => AnsiColor::Yellow.on_default().bold(),
        Level::Allow => Style::new().dimmed(),
    }
}

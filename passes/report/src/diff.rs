//! Differences between two releases: as text, as Markdown for the summary of a job, and as a document for programs.

mod html;
mod json;
mod markdown;
mod shown;
mod text;

pub use html::render as html;
pub use json::render as json;
pub use markdown::render as markdown;
pub use shown::{Releases, denied};
pub use text::render as text;

//! The forecast of an audit: what each GPU loads, as tables of text and as Markdown.

mod alike;
mod markdown;
mod text;

pub(crate) use alike::{Shown, grouped};
pub use markdown::render as markdown;
pub use text::Columns;

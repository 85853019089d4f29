//! Reports: the findings of a run of [`ptxcheck_passes`], for people and for programs.
//!
//! One renderer a file; [`renderers::RENDERERS`] has them all. A renderer takes an [`Outcome`] and gives text; where that goes is its caller's. Renderers know findings,
//! not rules: a program with rules of its own renders them as ptxcheck does its own.
//!
//! ```
//! use ptxcheck_passes::{Bytes, Input, Settings, check};
//!
//! let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { bar.warp.sync 0; ret; }\n";
//! let input = Input { name: "k.ptx".to_owned(), bytes: Bytes::Memory(text.into()) };
//! let outcome = check(vec![input], &Settings::default());
//! let lines = ptxcheck_report::concise::render(&outcome, &ptxcheck_report::view::View::default());
//! assert!(lines[0].starts_with("k.ptx:4:"));
//! ```
//!
//! [`full`], [`concise`], [`summary`] and [`audit`] style their text for a terminal with ANSI codes; a caller that writes elsewhere removes
//! them. All text from inputs is escaped for its reader.

#![warn(unreachable_pub, unnameable_types)]

mod amounts;
pub mod audit;
pub mod capacity;
mod causes;
pub mod concise;
pub mod coverage;
pub mod cyclonedx;
pub mod diff;
pub mod escape;
mod fixes;
pub mod forecast;
pub mod format;
pub mod full;
mod further;
pub mod github;
pub mod gitlab;
pub mod hints;
pub mod html;
pub mod job_summary;
pub mod json;
pub mod junit;
pub mod known;
mod loads;
pub mod markdown;
pub mod marks;
pub mod pages;
pub mod paths;
pub mod pinned;
mod places;
pub mod renderers;
pub mod replay;
mod resources;
mod rounds;
#[cfg(test)]
mod samples;
pub mod sarif;
pub mod shard;
mod sizes;
pub mod styles;
pub mod summary;
mod table;
mod unread;
pub mod view;

use ptxcheck_passes::finding::Finding;
use ptxcheck_passes::group::Group;
use ptxcheck_passes::inventory::Role;
use ptxcheck_passes::run::{ImageReport, Outcome};

/// The name of the program in documents.
const PROGRAM: &str = "ptxcheck";

/// The groups that are shown to people: the suppressed ones are only counted.
pub fn shown(outcome: &Outcome) -> impl Iterator<Item = &Group> {
    outcome.groups.iter().filter(|group| group.suppressed.is_none())
}

/// The image that a finding is about, with its number, where it is one of several things in its file.
fn packed_image<'a>(outcome: &'a Outcome, finding: &Finding) -> Option<(u32, &'a ImageReport)> {
    let number = finding.image?;
    let image = outcome.inputs.get(finding.input)?.images.get(number as usize)?;
    let is_packed = image.container.is_some()
        || image.section.is_some()
        || image.member.is_some()
        || image.role == Role::Recompiled;
    is_packed.then_some((number, image))
}

/// A noun for that image in a line: its number, and the section of its text if it is a copy that machine code keeps.
fn image_label(number: u32, image: &ImageReport) -> String {
    match &image.section {
        Some(section) if image.role == Role::Embedded => format!("image {number}, {section}"),
        _ if image.role == Role::Recompiled => format!("compiled again for {}", image.target),
        _ => format!("image {number}"),
    }
}

/// The name of the input that a finding is about; of a finding about the configuration, the name of its file.
fn input_name<'a>(outcome: &'a Outcome, finding: &'a Finding) -> &'a str {
    let location = finding.location.as_ref().map(|location| &location.file);
    let source = finding.source.as_ref().map(|source| &source.at.file);
    outcome
        .inputs
        .get(finding.input)
        .map(|input| &input.name)
        .or(location)
        .or(source)
        .map_or("", String::as_str)
}

//! The way of a package: each member that is an input goes that of an input.

use rayon::prelude::*;

use super::content::{catch_panic, scan_content};
use super::problem::out_of_time;
use super::scanned::ScannedInput;
use super::text_cache::{Place, TextCache};
use crate::deadline::Deadline;
use crate::image::InputError;
use crate::packages::{Additional, Members, Package, PackageMember};
use crate::rule::ProblemKind;
use crate::settings::Settings;
use crate::shard_assignment::Deal;

/// The inputs that one input stands for, and the names of those that are left out.
#[derive(Default)]
pub(super) struct Scanned {
    /// Each with its number among all inputs that it stands for, those of other shards included.
    pub(super) inputs: Vec<(usize, ScannedInput)>,
    pub(super) left_out: Vec<String>,
    /// Those of other shards are not among them.
    pub(super) is_dealt: bool,
}

/// Scans the members of a package that are of the shard: in parallel, and each with the time of an input. A package without any is an
/// input that holds no device code.
pub(super) fn scan(
    index: usize,
    name: &str,
    package: &Package,
    deal: Option<Deal>,
    deadline: &Deadline,
    settings: &Settings,
    texts: &TextCache,
) -> Scanned {
    let opened = catch_panic(|| {
        let additional = Additional {
            mlir: settings.mlir_worker.is_some(),
            metadata: settings.policy.check_variants,
        };
        Ok(package.members(
            name,
            &settings.exclude.paths,
            &settings.root,
            additional,
            &settings.policy,
            deadline,
        ))
    });
    let Members {
        members,
        left_out,
        contents,
    } = match opened {
        Ok(members) => members,
        Err(error) => return Scanned::refused(name, error),
    };
    if members.is_empty() {
        let input = ScannedInput {
            contents,
            ..ScannedInput::without_device_code(name.to_owned())
        };
        return Scanned {
            left_out,
            ..input.into()
        };
    }
    // One shard reports what is said about the package as a whole.
    let is_reporting = deal.is_none_or(Deal::is_first);
    let whole = contents.filter(|_| is_reporting).map(|contents| {
        let input = ScannedInput {
            contents: Some(contents),
            ..ScannedInput::without_device_code(name.to_owned())
        };
        (members.len(), input)
    });
    let is_ours = deal.map(|deal| deal.members(&members));
    let ours = |number: usize| is_ours.as_ref().is_none_or(|is_ours| is_ours[number]);
    if let Some(progress) = &settings.progress {
        progress.add((0..members.len()).filter(|number| ours(*number)).count());
    }
    let mut inputs: Vec<(usize, ScannedInput)> = members
        .into_par_iter()
        .enumerate()
        .filter(|(number, _)| ours(*number))
        .map(|(number, member)| {
            let scanned = scan_member((index, number), member, settings, texts);
            if let Some(progress) = &settings.progress {
                progress.step();
            }
            (number, scanned)
        })
        .collect();
    inputs.extend(whole);
    match package.change() {
        Some(change) => Scanned::refused(name, InputError::new(ProblemKind::Unreadable, change)),
        None => Scanned {
            inputs,
            left_out: if is_reporting { left_out } else { Vec::new() },
            is_dealt: deal.is_some(),
        },
    }
}

fn scan_member(place: Place, member: PackageMember, settings: &Settings, texts: &TextCache) -> ScannedInput {
    let deadline = Deadline::after(settings.timeout);
    let name = member.name.clone();
    let content = catch_panic(|| {
        let late = || out_of_time(settings);
        member.open(&deadline).map_err(|error| error.unwrap_or_else(late))
    });
    match content {
        Ok(content) => scan_content(place, name, None, &content, &deadline, settings, texts),
        // It lies elsewhere: there is nothing to be read here.
        Err(error) if error.kind == ProblemKind::Unsupported => ScannedInput {
            errors: vec![error],
            ..ScannedInput::without_device_code(name)
        },
        Err(error) => ScannedInput::refused(name, error),
    }
}

impl Scanned {
    pub(super) fn refused(name: &str, error: InputError) -> Self {
        ScannedInput::refused(name.to_owned(), error).into()
    }
}

impl From<ScannedInput> for Scanned {
    fn from(input: ScannedInput) -> Self {
        Self {
            inputs: vec![(0, input)],
            left_out: Vec::new(),
            is_dealt: false,
        }
    }
}

//! The way of a package: each member that is an input goes that of an input.

use rayon::prelude::*;

use super::content::{guarded, scan_content};
use super::problem::out_of_time;
use super::scanned::ScannedInput;
use super::text_cache::{Place, TextCache};
use crate::deadline::Deadline;
use crate::image::InputError;
use crate::packages::{Additional, Members, Package, PackageMember};
use crate::rule::ProblemKind;
use crate::settings::Settings;

/// The inputs that one input stands for, and the names of those that are left out.
#[derive(Default)]
pub(super) struct Scanned {
    pub(super) inputs: Vec<ScannedInput>,
    pub(super) left_out: Vec<String>,
}

/// Scans the members of a package: in parallel, and each with the time of an input. A package without any is an input that holds no
/// device code.
pub(super) fn scan(
    index: usize,
    name: &str,
    package: &Package,
    deadline: &Deadline,
    settings: &Settings,
    texts: &TextCache,
) -> Scanned {
    let opened = guarded(|| {
        let additional = Additional {
            mlir: settings.mlir_worker.is_some(),
            metadata: settings.policy.check_variants,
        };
        Ok(package.members(
            name,
            &settings.exclude.paths,
            &settings.root,
            additional,
            deadline,
        ))
    });
    let Members {
        members, left_out, ..
    } = match opened {
        Ok(members) => members,
        Err(error) => return Scanned::refused(name, error),
    };
    let mut inputs: Vec<ScannedInput> = members
        .into_par_iter()
        .enumerate()
        .map(|(number, member)| scan_member((index, number), member, settings, texts))
        .collect();
    if inputs.is_empty() {
        inputs.push(ScannedInput::without_device_code(name.to_owned()));
    }
    match package.change() {
        Some(change) => Scanned::refused(name, InputError::new(ProblemKind::Unreadable, change)),
        None => Scanned { inputs, left_out },
    }
}

fn scan_member(place: Place, member: PackageMember, settings: &Settings, texts: &TextCache) -> ScannedInput {
    let deadline = Deadline::after(settings.timeout);
    let name = member.name.clone();
    let content = guarded(|| {
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
            inputs: vec![input],
            left_out: Vec::new(),
        }
    }
}

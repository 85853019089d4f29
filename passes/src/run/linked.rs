//! PTX of inputs that are linked together: analysed once all inputs have been scanned, so that a call leads to the function of
//! another text where exactly one text for the same target has a strong definition of it (`definitions.rs`).
//!
//! Findings about a text are about its own code. A finding in a function of another text belongs to that text, unless it depends on
//! the arguments of calls in this one.

use std::collections::HashSet;

use ptxcheck_cache::Key;
use ptxcheck_common::maps::NameSet;
use rayon::prelude::*;

use super::definitions::{Definitions, ParsedTexts};
use super::text::TextOptions;
use super::text_cache::{PendingText, TextCache};
use crate::deadline::Deadline;
use crate::inventory::{ImageKind, ImageReport, Role};
use crate::limits::MAX_LINKED_BYTES;
use crate::settings::Settings;

/// Analyses the texts, by input: each input has the time of one. `images`: those of all inputs, by input.
pub(super) fn analyse<'i, I: Iterator<Item = &'i ImageReport>>(
    inputs: &[Vec<PendingText>],
    images: impl Iterator<Item = I>,
    settings: &Settings,
    texts: &TextCache,
) {
    if inputs.is_empty() {
        return;
    }
    let all: Vec<&[u8]> = inputs
        .iter()
        .flatten()
        .map(|pending| pending.text.as_slice())
        .collect();
    let size: usize = all.iter().map(|text| text.len()).sum();
    let parsed = ParsedTexts::of(
        if size <= MAX_LINKED_BYTES { &all } else { &[] },
        &symbols_without_ptx(images),
    );
    let origins = parsed.origins();
    let definitions = Definitions::of(&parsed, &origins, settings);
    let keys: Vec<Key> = match &settings.report_cache {
        Some(_) => all.par_iter().map(|text| Key::of(&[text])).collect(),
        None => Vec::new(),
    };
    let firsts = inputs.iter().scan(0, |next, input| {
        let first = *next;
        *next += input.len();
        Some(first)
    });
    let inputs: Vec<(usize, &Vec<PendingText>)> = firsts.zip(inputs).collect();
    inputs.par_iter().for_each(|&(first, input)| {
        let deadline = Deadline::after(settings.timeout);
        input.par_iter().enumerate().for_each(|(number, pending)| {
            let options = TextOptions {
                settings: pending.settings.as_deref().unwrap_or(settings),
                deadline: &deadline,
                with_weak: pending.key.with_weak,
                definitions: Some(&definitions),
                link_key: definitions.link_key(first + number, &keys),
            };
            texts.analyse_ptx(pending.key, &pending.text, options);
        });
    });
}

/// Functions and variables that relocatable machine code defines where no PTX lies beside it.
fn symbols_without_ptx<'i, I: Iterator<Item = &'i ImageReport>>(
    inputs: impl Iterator<Item = I>,
) -> NameSet<&'i str> {
    let mut defined = NameSet::default();
    for images in inputs {
        let images: Vec<&ImageReport> = images.collect();
        let beside = |image: &ImageReport| (image.member.clone(), image.container);
        let ptx: HashSet<_> = images
            .iter()
            .filter(|image| image.kind == ImageKind::Ptx && image.role != Role::Embedded)
            .map(|image| beside(image))
            .collect();
        let is_alone = |image: &&&ImageReport| {
            image.kind == ImageKind::Cubin && image.role.is_linked() && !ptx.contains(&beside(image))
        };
        for image in images.iter().filter(is_alone) {
            let symbols = image.facts.symbols.iter();
            defined.extend(symbols.flat_map(|symbols| &symbols.defined).map(String::as_str));
        }
    }
    defined
}

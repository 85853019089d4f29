//! The way of one input: opened, and taken for a package or for a file with images.

use super::bytes::Bytes;
use super::content::{catch_panic, scan_content};
use super::package::{self, Scanned};
use super::scanned::ScannedInput;
use super::text_cache::TextCache;
use crate::deadline::Deadline;
use crate::inventory::{PolicyContents, PolicyViolation};
use crate::packages::{Package, exceeds};
use crate::settings::Settings;
use crate::shard_assignment::Deal;

/// A file, or bytes, to check. A package stands for its members that hold device code.
#[derive(Debug)]
pub struct Input {
    /// The name to show, as the user gave it (`-` for standard input).
    pub name: String,
    /// The source of its bytes.
    pub bytes: Bytes,
}

impl Input {
    /// True for a wheel: its members can be dealt over shards, as each is unpacked by itself.
    pub(crate) fn has_dealt_members(&self) -> bool {
        self.bytes.path().is_some() && self.name.ends_with(".whl")
    }
}

/// Opens the input with this index, finds its images, and reads each of them. Texts are analysed on the way, each where it comes
/// up first in the run, but for those that are linked with other inputs: `texts` keeps them until all inputs have been scanned.
///
/// Whatever goes wrong, a panic included, is an error of this input.
pub(super) fn scan(index: usize, input: Input, settings: &Settings, texts: &TextCache) -> Scanned {
    let deal = settings.member_deal.filter(|_| input.has_dealt_members());
    let scanned = scan_part(index, input, deal, settings, texts);
    // An input that is not a package after all is of one shard.
    match deal.is_none_or(Deal::is_first) || scanned.is_dealt {
        true => scanned,
        false => Scanned::default(),
    }
}

fn scan_part(
    index: usize,
    input: Input,
    deal: Option<Deal>,
    settings: &Settings,
    texts: &TextCache,
) -> Scanned {
    let Input { name, bytes } = input;
    let deadline = Deadline::after(settings.timeout);
    let path = bytes.path().map(ToOwned::to_owned);
    let content = match catch_panic(|| bytes.open(&name, settings, &deadline)) {
        Ok(content) => content,
        Err(error) => return Scanned::refused(&name, error),
    };
    match catch_panic(|| Ok(Package::of(content))) {
        Ok(Ok(opened)) => package::scan(index, &name, &opened, deal, &deadline, settings, texts),
        Ok(Err(content)) => {
            let place = (index, 0);
            let scanned = scan_content(place, name, path.as_deref(), &content, &deadline, settings, texts);
            ScannedInput {
                contents: too_large(content.len() as u64, settings),
                ..scanned
            }
            .into()
        }
        Err(error) => Scanned::refused(&name, error),
    }
}

/// The note that a file which is no package has more bytes than the policy allows.
fn too_large(bytes: u64, settings: &Settings) -> Option<PolicyContents> {
    let mut contents = PolicyContents::default();
    if exceeds(bytes, settings.policy.max_file_bytes) {
        contents.add("", PolicyViolation::FileSize(bytes));
    }
    contents.some()
}

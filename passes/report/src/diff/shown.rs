//! The parts of a comparison that text and Markdown show.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ptxcheck_passes::release::{Change, ChangeKind, Contents, Diff, KernelChange, TargetSize};

use crate::amounts::{plural, size};
use crate::table::shortened;

/// Most kernels of one kind of change that are listed.
pub(super) const LISTED_KERNELS: usize = 20;

/// Two releases, by the names that the user gave them.
#[derive(Clone, Copy, Debug)]
pub struct Releases<'a> {
    /// The old one.
    pub old: &'a str,
    /// The new one.
    pub new: &'a str,
    /// Their differences.
    pub diff: &'a Diff<'a>,
}

/// `120 kernels, 118 before: 3 added, 1 removed, 2 changed`.
pub(super) fn headline(diff: &Diff<'_>) -> String {
    let kernels = |contents: &Contents| contents.kernels.len() as u64;
    let mut text = format!(
        "{}, {} before",
        plural(kernels(diff.new), "kernel"),
        kernels(diff.old)
    );
    let counts: Vec<String> = diff
        .counts()
        .into_iter()
        .map(|(kind, count)| format!("{count} {}", described(kind)))
        .collect();
    if diff.is_empty() {
        text.push_str(": nothing changed");
    } else if !counts.is_empty() {
        let _ = write!(text, ": {}", counts.join(", "));
    }
    text
}

/// The words for a kind of change, after the number of kernels.
const fn described(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Renamed => "renamed",
        ChangeKind::TargetAdded => "with another target",
        ChangeKind::TargetRemoved => "without a target they had",
        ChangeKind::Signature => "with other parameters",
        ChangeKind::Bounds => "with other launch bounds",
        ChangeKind::Registers => "with other registers",
        ChangeKind::Stack => "with another stack frame",
        ChangeKind::Shared => "with other shared memory",
        ChangeKind::Stub => "with or without a body",
        ChangeKind::Size => "of another size",
        ChangeKind::Body => "with other code of the same size",
        ChangeKind::Forecast => "loaded otherwise",
    }
}

/// The bytes of each target, old and new, under a head.
pub(super) fn target_rows(targets: &[TargetSize]) -> Vec<[String; 4]> {
    let mut rows = vec![["target", "before", "now", "change"].map(str::to_owned)];
    for target in targets {
        let bytes = |side: Option<(u64, usize)>| side.map_or(0, |(bytes, _)| bytes);
        let shown =
            |side: Option<(u64, usize)>| side.map_or_else(|| "-".to_owned(), |(bytes, _)| size(bytes));
        let (old, new) = (bytes(target.old), bytes(target.new));
        let change = match (target.old, target.new) {
            (None, _) => "added".to_owned(),
            (_, None) => "removed".to_owned(),
            _ => signed(old, new),
        };
        rows.push([
            target.form.to_string(),
            shown(target.old),
            shown(target.new),
            change,
        ]);
    }
    rows
}

/// `+1.2 MiB`, `-3 B`, `-`.
fn signed(old: u64, new: u64) -> String {
    match old.cmp(&new) {
        std::cmp::Ordering::Less => format!("+{}", size(new - old)),
        std::cmp::Ordering::Equal => "-".to_owned(),
        std::cmp::Ordering::Greater => format!("-{}", size(old - new)),
    }
}

/// A kernel with the lines about its changes.
pub(super) type Told<'a> = (&'a KernelChange<'a>, Vec<String>);

/// The kernels by what became of them: added, removed, renamed, then those that changed, the kinds of change one by one.
pub(super) fn sections<'a>(diff: &'a Diff<'a>) -> Vec<(&'static str, Vec<Told<'a>>)> {
    let mut sections: BTreeMap<ChangeKind, Vec<Told<'a>>> = BTreeMap::new();
    for kernel in &diff.kernels {
        let mut by_kind: BTreeMap<ChangeKind, Vec<String>> = BTreeMap::new();
        for change in &kernel.changes {
            by_kind.entry(change.kind).or_default().push(told(change));
        }
        for (kind, mut lines) in by_kind {
            lines.retain(|line| !line.is_empty());
            sections.entry(kind).or_default().push((kernel, lines));
        }
    }
    let heading = |kind: ChangeKind| match kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Renamed => "renamed",
        ChangeKind::TargetAdded => "targets added",
        ChangeKind::TargetRemoved => "targets removed",
        ChangeKind::Signature => "parameters",
        ChangeKind::Bounds => "launch bounds",
        ChangeKind::Registers => "registers",
        ChangeKind::Stack => "stack frame",
        ChangeKind::Shared => "shared memory",
        ChangeKind::Stub => "body",
        ChangeKind::Size => "machine code",
        ChangeKind::Body => "other code of the same size",
        ChangeKind::Forecast => "loading",
    };
    sections
        .into_iter()
        .map(|(kind, kernels)| (heading(kind), kernels))
        .collect()
}

/// A change in a line.
fn told(change: &Change) -> String {
    let about = match (&change.form, change.gpu) {
        (Some(form), _) => format!("{form}"),
        (None, Some(gpu)) => format!("on {gpu}"),
        (None, None) => String::new(),
    };
    let values = match (change.old.as_str(), change.new.as_str()) {
        ("", "") => String::new(),
        ("", new) => new.to_owned(),
        (old, "") => old.to_owned(),
        _ if change.kind == ChangeKind::Renamed => format!("before: {}", shortened(&change.old)),
        (old, new) => format!("{old} \u{2192} {new}"),
    };
    match (about.is_empty(), values.is_empty()) {
        (false, false) => format!("{about}: {values}"),
        (false, true) => about,
        (true, _) => values,
    }
}

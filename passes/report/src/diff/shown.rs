//! The parts of a comparison that text and Markdown show.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ptxcheck_passes::names::{base, template_arguments};
use ptxcheck_passes::release::{Change, ChangeKind, Contents, Diff, KernelFate, TargetSize};

use crate::amounts::{plural, size};
use crate::table::{family, shortened, without_middle};

/// Most kernels and templates of one kind of change that are listed.
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

/// Kernels of one base name that changed alike: their name, and lines about the change.
pub(super) struct Told {
    pub(super) name: String,
    /// Number of kernels.
    pub(super) count: usize,
    pub(super) lines: Vec<String>,
}

/// Most instances of a template whose arguments are listed.
const LISTED_INSTANCES: usize = 4;

/// Most characters of the arguments of an instance.
const SHOWN_ARGUMENTS: usize = 90;

/// Kernels by their base name and the lines about a change.
type Families<'a> = BTreeMap<(String, Vec<String>), Vec<&'a str>>;

/// A kind of change, and the kernels with such a change.
pub(super) struct Section {
    pub(super) heading: &'static str,
    /// Number of kernels.
    pub(super) count: usize,
    pub(super) kernels: Vec<Told>,
}

impl Section {
    /// The number of kernels that are not among the first ones.
    pub(super) fn left_out(&self) -> usize {
        let left_out = self.kernels.iter().skip(LISTED_KERNELS);
        left_out.map(|told| told.count).sum()
    }
}

/// The kernels by what became of them: added, removed, renamed, then those that changed, the kinds of change one by one.
pub(super) fn sections(diff: &Diff<'_>) -> Vec<Section> {
    let mut sections: BTreeMap<ChangeKind, Families<'_>> = BTreeMap::new();
    for kernel in &diff.kernels {
        let mut by_kind: BTreeMap<ChangeKind, Vec<&Change>> = BTreeMap::new();
        for change in &kernel.changes {
            by_kind.entry(change.kind).or_default().push(change);
        }
        for (kind, changes) in by_kind {
            let key = (base(kernel.name), told(&changes));
            let alike = sections.entry(kind).or_default().entry(key).or_default();
            alike.push(kernel.name);
        }
    }
    let counterparts = |kind| match kind {
        ChangeKind::Added => instances(diff, KernelFate::Removed),
        ChangeKind::Removed => instances(diff, KernelFate::Added),
        _ => BTreeMap::new(),
    };
    let section = |(kind, families): (ChangeKind, Families<'_>)| {
        let others = counterparts(kind);
        let told = families.into_iter().map(|((base, mut lines), names)| {
            if names.len() > 1 {
                lines.extend(arguments("", &names));
            }
            let word = if kind == ChangeKind::Added {
                "removed: "
            } else {
                "added: "
            };
            lines.extend(
                others
                    .get(&base)
                    .into_iter()
                    .flat_map(|names| arguments(word, names)),
            );
            Told {
                name: family(&names),
                count: names.len(),
                lines,
            }
        });
        let kernels: Vec<Told> = told.collect();
        Section {
            heading: heading(kind),
            count: kernels.iter().map(|told| told.count).sum(),
            kernels,
        }
    };
    sections.into_iter().map(section).collect()
}

/// The kernels with this fate, by their base names.
fn instances<'a>(diff: &'a Diff<'_>, fate: KernelFate) -> BTreeMap<String, Vec<&'a str>> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for kernel in diff.kernels.iter().filter(|kernel| kernel.fate == fate) {
        found.entry(base(kernel.name)).or_default().push(kernel.name);
    }
    found
}

/// The template arguments of some instances, a line each after `word`.
fn arguments(word: &str, names: &[&str]) -> Vec<String> {
    let shown = |name: &&str| match template_arguments(name) {
        Some((_, arguments)) => {
            let list = format!("<{}>", arguments.join(", "));
            format!("{word}{}", without_middle(&list, SHOWN_ARGUMENTS))
        }
        None => format!("{word}{}", shortened(name)),
    };
    let mut lines: Vec<String> = names.iter().take(LISTED_INSTANCES).map(shown).collect();
    if let more @ 1.. = names.len().saturating_sub(LISTED_INSTANCES) {
        lines.push(format!("{word}and {more} more"));
    }
    lines
}

const fn heading(kind: ChangeKind) -> &'static str {
    match kind {
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
    }
}

/// Changes of one kind, a line for all targets and GPUs with the same values.
fn told(changes: &[&Change]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for change in changes {
        let about = match (&change.form, change.gpu) {
            (Some(form), _) => Some(form.to_string()),
            (None, Some(gpu)) => Some(format!("on {gpu}")),
            (None, None) => None,
        };
        let values = values(change);
        match lines.iter_mut().find(|(known, _)| *known == values) {
            Some((_, abouts)) => abouts.extend(about),
            None => lines.push((values, about.into_iter().collect())),
        }
    }
    let line = |(values, abouts): (String, Vec<String>)| match (abouts.is_empty(), values.is_empty()) {
        (false, false) => format!("{}: {values}", abouts.join(", ")),
        (false, true) => abouts.join(", "),
        (true, _) => values,
    };
    let mut lines: Vec<String> = lines.into_iter().map(line).collect();
    lines.retain(|line| !line.is_empty());
    lines
}

/// The old and the new value of a change.
fn values(change: &Change) -> String {
    match (change.old.as_str(), change.new.as_str()) {
        ("", "") => String::new(),
        ("", new) => new.to_owned(),
        (old, "") => old.to_owned(),
        _ if change.kind == ChangeKind::Renamed => format!("before: {}", shortened(&change.old)),
        (old, new) => format!("{old} \u{2192} {new}"),
    }
}

/// The kinds of change of these that a comparison has, with their numbers: `3 removed, 1 with other parameters`. Empty if it has none. A
/// target that a whole release gained or lost is a change.
#[must_use]
pub fn denied(diff: &Diff<'_>, kinds: &[ChangeKind]) -> String {
    let counts = diff.counts();
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(kind, _)| kinds.contains(kind))
        .map(|(kind, count)| format!("{count} {} (`{}`)", described(*kind), kind.as_str()))
        .collect();
    for (kind, word) in [
        (ChangeKind::TargetRemoved, "removed"),
        (ChangeKind::TargetAdded, "added"),
    ] {
        let those = diff.targets.iter().filter(|target| match kind {
            ChangeKind::TargetRemoved => target.old.is_some() && target.new.is_none(),
            _ => target.old.is_none() && target.new.is_some(),
        });
        let names: Vec<String> = those.map(|target| target.form.to_string()).collect();
        if kinds.contains(&kind) && !names.is_empty() {
            parts.push(format!(
                "{} {word} for all kernels (`{}`)",
                names.join(", "),
                kind.as_str()
            ));
        }
    }
    parts.join(", ")
}

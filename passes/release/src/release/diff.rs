//! Differences between two releases.
//!
//! Kernels are matched by their names without what changes from build to build. Of those that are left, one of the old release and one
//! of the new are the same under another name if they have the same name without the versions of CUB and Thrust, hold the same, have the
//! same name and template arguments without parameters, or the same name without either, and no other does.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::contents::{Contents, Form, FormRecord, KernelRecord};
use crate::forecast::Gpu;
use crate::ir::LaunchBounds;
use crate::names;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// A kernel that the old release has not.
    Added,
    /// A kernel that the new release has not.
    Removed,
    /// A kernel with another name.
    Renamed,
    /// A target that the old release has not for a kernel.
    TargetAdded,
    /// A target that the new release has not for a kernel.
    TargetRemoved,
    /// Number, offsets or sizes of parameters.
    Signature,
    /// Launch bounds.
    Bounds,
    /// Registers of a thread.
    Registers,
    /// Stack frame of a thread.
    Stack,
    /// Static shared memory of a block.
    Shared,
    /// The kernel lost its body, or got one.
    Stub,
    /// Bytes of machine code.
    Size,
    /// Code, of the same size.
    Body,
    /// The way in which a GPU loads it.
    Forecast,
}

impl ChangeKind {
    /// All, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::Added,
        Self::Removed,
        Self::Renamed,
        Self::TargetAdded,
        Self::TargetRemoved,
        Self::Signature,
        Self::Bounds,
        Self::Registers,
        Self::Stack,
        Self::Shared,
        Self::Stub,
        Self::Size,
        Self::Body,
        Self::Forecast,
    ];

    /// The word in documents and options.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Renamed => "renamed",
            Self::TargetAdded => "target-added",
            Self::TargetRemoved => "target-removed",
            Self::Signature => "signature",
            Self::Bounds => "bounds",
            Self::Registers => "registers",
            Self::Stack => "stack",
            Self::Shared => "shared",
            Self::Stub => "stub",
            Self::Size => "size",
            Self::Body => "body",
            Self::Forecast => "forecast",
        }
    }
}

/// A change of a kernel, in one form or on one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its kind.
    pub kind: ChangeKind,
    /// The form that changed.
    pub form: Option<Form>,
    /// The GPU that loads it otherwise.
    pub gpu: Option<Gpu>,
    /// The old value, in words; empty where there is none.
    pub old: String,
    /// The new value.
    pub new: String,
}

/// The fate of a kernel between two releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFate {
    /// The new release alone has it.
    Added,
    /// The old release alone has it.
    Removed,
    /// It has another name in the new release.
    Renamed,
    /// It has the same name.
    Kept,
}

/// A kernel that is not the same in both releases.
#[derive(Clone, Debug)]
pub struct KernelChange<'a> {
    /// Its name in the newest release that has it.
    pub name: &'a str,
    /// Its name in the old release, if it has another.
    pub old_name: Option<&'a str>,
    /// Its fate.
    pub fate: KernelFate,
    /// Its changes; of kernels that one release alone has, that one.
    pub changes: Vec<Change>,
}

/// The bytes that the images of one form take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSize {
    /// The form.
    pub form: Form,
    /// Bytes and number of images in the old release; `None` if it has none.
    pub old: Option<(u64, usize)>,
    /// In the new one.
    pub new: Option<(u64, usize)>,
}

/// The differences between two releases.
#[derive(Clone, Debug)]
pub struct Diff<'a> {
    /// The old release.
    pub old: &'a Contents,
    /// The new release.
    pub new: &'a Contents,
    /// The kernels that are not the same, sorted by name.
    pub kernels: Vec<KernelChange<'a>>,
    /// The forms of both, by target.
    pub targets: Vec<TargetSize>,
    /// For each GPU: bytes of PTX that the driver compiles, old and new.
    pub jit_bytes: Vec<(Gpu, u64, u64)>,
}

impl<'a> Diff<'a> {
    /// The differences between two releases.
    #[must_use]
    pub fn new(old: &'a Contents, new: &'a Contents) -> Self {
        let mut kernels = Vec::new();
        let mut removed: Vec<&KernelRecord> = Vec::new();
        for (identity, before) in &old.kernels {
            match new.kernels.get(identity) {
                Some(after) => kernels.extend(change_of_kept_kernel(before, after, old, new)),
                None => removed.push(before),
            }
        }
        let added = new
            .kernels
            .iter()
            .filter(|(identity, _)| !old.kernels.contains_key(*identity));
        let added: Vec<&KernelRecord> = added.map(|(_, record)| record).collect();
        let is_common = |form: &Form| old.forms.contains_key(form) && new.forms.contains_key(form);
        let renamed = renamed_kernels(&removed, &added, &is_common);
        for (before, after) in &renamed {
            let mut changes = vec![Change {
                kind: ChangeKind::Renamed,
                form: None,
                gpu: None,
                old: before.name.clone(),
                new: after.name.clone(),
            }];
            changes.extend(changes_of(before, after, old, new));
            kernels.push(KernelChange {
                name: &after.name,
                old_name: Some(&before.name),
                fate: KernelFate::Renamed,
                changes,
            });
        }
        let both = renamed
            .iter()
            .flat_map(|(before, after)| [before.name.as_str(), after.name.as_str()]);
        let both: FxHashSet<&str> = both.collect();
        let is_renamed = |record: &KernelRecord| both.contains(record.name.as_str());
        for record in removed.iter().filter(|record| !is_renamed(record)) {
            kernels.push(change_of_unpaired_kernel(record, KernelFate::Removed));
        }
        for record in added.iter().filter(|record| !is_renamed(record)) {
            kernels.push(change_of_unpaired_kernel(record, KernelFate::Added));
        }
        kernels.sort_by(|one, other| one.name.cmp(other.name));
        Self {
            old,
            new,
            kernels,
            targets: target_sizes(old, new),
            jit_bytes: new
                .jit_bytes
                .iter()
                .map(|(gpu, bytes)| (*gpu, old.jit_bytes.get(gpu).copied().unwrap_or_default(), *bytes))
                .collect(),
        }
    }

    /// True if nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty() && self.targets.iter().all(|size| size.old == size.new)
    }

    /// Numbers of changes, by kind; of one kernel each kind counts once.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<ChangeKind, usize> {
        let mut counts = BTreeMap::new();
        for kernel in &self.kernels {
            let mut kinds: Vec<ChangeKind> = kernel.changes.iter().map(|change| change.kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            for kind in kinds {
                *counts.entry(kind).or_default() += 1;
            }
        }
        counts
    }
}

/// A kernel that one release alone has.
fn change_of_unpaired_kernel(record: &KernelRecord, fate: KernelFate) -> KernelChange<'_> {
    let forms: Vec<String> = record.forms.keys().map(Form::to_string).collect();
    let (kind, old, new) = match fate {
        KernelFate::Removed => (ChangeKind::Removed, forms.join(", "), String::new()),
        _ => (ChangeKind::Added, String::new(), forms.join(", ")),
    };
    KernelChange {
        name: &record.name,
        old_name: None,
        fate,
        changes: vec![Change {
            kind,
            form: None,
            gpu: None,
            old,
            new,
        }],
    }
}

/// A kernel of both releases, if it is not the same.
fn change_of_kept_kernel<'a>(
    before: &'a KernelRecord,
    after: &'a KernelRecord,
    old: &Contents,
    new: &Contents,
) -> Option<KernelChange<'a>> {
    let changes = changes_of(before, after, old, new);
    (!changes.is_empty()).then_some(KernelChange {
        name: &after.name,
        old_name: (before.name != after.name).then_some(before.name.as_str()),
        fate: KernelFate::Kept,
        changes,
    })
}

fn changes_of(before: &KernelRecord, after: &KernelRecord, old: &Contents, new: &Contents) -> Vec<Change> {
    let mut changes = Vec::new();
    for (form, record) in &before.forms {
        match after.forms.get(form) {
            Some(other) => add_changes_of_form(form, record, other, &mut changes),
            // A target that is missing entirely is reported once, for the release.
            None if new.forms.contains_key(form) => {
                changes.push(change_of_target(form, ChangeKind::TargetRemoved));
            }
            None => {}
        }
    }
    let is_new = |form: &&Form| !before.forms.contains_key(form) && old.forms.contains_key(form);
    let added = after.forms.keys().filter(is_new);
    changes.extend(added.map(|form| change_of_target(form, ChangeKind::TargetAdded)));
    for (gpu, state) in &after.states {
        if let Some(was) = before.states.get(gpu).filter(|was| *was != state) {
            changes.push(Change {
                kind: ChangeKind::Forecast,
                form: None,
                gpu: Some(*gpu),
                old: was.as_str().to_owned(),
                new: state.as_str().to_owned(),
            });
        }
    }
    changes
}

fn change_of_target(form: &Form, kind: ChangeKind) -> Change {
    Change {
        kind,
        form: Some(form.clone()),
        gpu: None,
        old: String::new(),
        new: String::new(),
    }
}

/// The changes of a kernel in a form that both releases have.
fn add_changes_of_form(form: &Form, old: &FormRecord, new: &FormRecord, changes: &mut Vec<Change>) {
    let mut push = |kind, old: String, new: String| {
        changes.push(Change {
            kind,
            form: Some(form.clone()),
            gpu: None,
            old,
            new,
        });
    };
    if let (Some(before), Some(after)) = (&old.params, &new.params)
        && before != after
    {
        push(
            ChangeKind::Signature,
            describe_params(before),
            describe_params(after),
        );
    }
    if old.launch != new.launch {
        push(
            ChangeKind::Bounds,
            describe_bounds(old.launch),
            describe_bounds(new.launch),
        );
    }
    let figures = [
        (
            ChangeKind::Registers,
            old.resources.registers,
            new.resources.registers,
        ),
        (ChangeKind::Stack, old.resources.stack, new.resources.stack),
        (ChangeKind::Shared, old.resources.shared, new.resources.shared),
    ];
    for (kind, before, after) in figures {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            push(kind, before.to_string(), after.to_string());
        }
    }
    if old.stub != new.stub {
        let word = |record: &FormRecord| record.stub.map_or("a body", |stub| stub.as_str()).to_owned();
        push(ChangeKind::Stub, word(old), word(new));
    }
    match (old.code_bytes, new.code_bytes) {
        (Some(before), Some(after)) if before != after => {
            push(ChangeKind::Size, before.to_string(), after.to_string());
        }
        _ if !old.bodies.is_empty() && !new.bodies.is_empty() && old.bodies != new.bodies => {
            push(ChangeKind::Body, String::new(), String::new());
        }
        _ => {}
    }
}

/// `2 parameters, 16 bytes`.
fn describe_params(params: &[(u32, u32)]) -> String {
    let end = params
        .iter()
        .map(|(offset, size)| u64::from(*offset) + u64::from(*size))
        .max();
    format!("{} parameters, {} bytes", params.len(), end.unwrap_or_default())
}

fn describe_bounds(launch: LaunchBounds) -> String {
    let block = |threads: [u32; 3]| format!("{}x{}x{}", threads[0], threads[1], threads[2]);
    let threads = match (launch.required_threads, launch.max_threads) {
        (Some(threads), _) => Some(format!("exactly {}", block(threads))),
        (None, Some(threads)) => Some(format!("at most {}", block(threads))),
        (None, None) => None,
    };
    let blocks = launch.min_ctas.map(|count| format!("{count} blocks"));
    let registers = launch
        .max_registers
        .map(|count| format!("at most {count} registers"));
    let parts: Vec<String> = [threads, blocks, registers].into_iter().flatten().collect();
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Pairs of kernels that hold the same in the forms that both releases have, or have equal names except for versions, parameters or
/// template arguments, and no other kernel matches them.
fn renamed_kernels<'a>(
    removed: &[&'a KernelRecord],
    added: &[&'a KernelRecord],
    is_common: &dyn Fn(&Form) -> bool,
) -> Vec<(&'a KernelRecord, &'a KernelRecord)> {
    let by_content = |records: &[&'a KernelRecord]| {
        let mut found: BTreeMap<_, Vec<&'a KernelRecord>> = BTreeMap::new();
        for record in records {
            if let Some(key) = params_and_bodies(record, is_common).filter(|key| !key.is_empty()) {
                found.entry(key).or_default().push(record);
            }
        }
        found
    };
    let mut found = unique_pairs(
        &kernels_by_name_part(removed, names::without_versions),
        &kernels_by_name_part(added, names::without_versions),
    );
    let (removed, added) = (unpaired_kernels(removed, &found), unpaired_kernels(added, &found));
    found.extend(unique_pairs(&by_content(&removed), &by_content(&added)));
    let (removed, added) = (
        unpaired_kernels(&removed, &found),
        unpaired_kernels(&added, &found),
    );
    found.extend(unique_pairs(
        &kernels_by_name_part(&removed, instance_name),
        &kernels_by_name_part(&added, instance_name),
    ));
    let (removed, added) = (
        unpaired_kernels(&removed, &found),
        unpaired_kernels(&added, &found),
    );
    found.extend(unique_pairs(
        &kernels_by_name_part(&removed, names::base),
        &kernels_by_name_part(&added, names::base),
    ));
    found
}

/// The name of an instance of a template with its arguments and without its parameters, which may have changed; of other functions,
/// their base name.
fn instance_name(name: &str) -> String {
    match names::template_arguments(name) {
        Some((base, arguments)) => format!("{base}<{}>", arguments.join(", ")),
        None => names::base(name),
    }
}

/// The kernels by a part of their names.
fn kernels_by_name_part<'a>(
    records: &[&'a KernelRecord],
    part: impl Fn(&str) -> String,
) -> BTreeMap<String, Vec<&'a KernelRecord>> {
    let mut found: BTreeMap<String, Vec<&'a KernelRecord>> = BTreeMap::new();
    for record in records {
        found.entry(part(&record.name)).or_default().push(record);
    }
    found
}

/// The kernels that are in no pair.
fn unpaired_kernels<'a>(
    records: &[&'a KernelRecord],
    pairs: &[(&'a KernelRecord, &'a KernelRecord)],
) -> Vec<&'a KernelRecord> {
    let paired = pairs
        .iter()
        .flat_map(|(old, new)| [old.name.as_str(), new.name.as_str()]);
    let paired: FxHashSet<&str> = paired.collect();
    let is_left = |record: &&&KernelRecord| !paired.contains(record.name.as_str());
    records.iter().filter(is_left).copied().collect()
}

/// The kernels that are the only ones with their key on both sides.
fn unique_pairs<'a, K: Ord>(
    removed: &BTreeMap<K, Vec<&'a KernelRecord>>,
    added: &BTreeMap<K, Vec<&'a KernelRecord>>,
) -> Vec<(&'a KernelRecord, &'a KernelRecord)> {
    let pairs = removed
        .iter()
        .filter_map(|(key, old)| match (old.as_slice(), added.get(key)?.as_slice()) {
            ([old], [new]) => Some((*old, *new)),
            _ => None,
        });
    pairs.collect()
}

/// The parameters and bodies of a kernel in one form.
type Held<'a> = (&'a Form, &'a [(u32, u32)], Vec<u64>);

/// The parameters and bodies of a kernel in each common form; `None` if one is not known, or there is no body.
fn params_and_bodies<'a>(
    record: &'a KernelRecord,
    is_common: &dyn Fn(&Form) -> bool,
) -> Option<Vec<Held<'a>>> {
    let forms = record.forms.iter().filter(|(form, _)| is_common(form));
    let held = forms.map(|(form, of_form)| {
        let is_known = !of_form.bodies.is_empty() && of_form.stub.is_none();
        let params = of_form.params.as_deref().filter(|_| is_known)?;
        Some((form, params, of_form.bodies.iter().copied().collect()))
    });
    held.collect()
}

fn target_sizes(old: &Contents, new: &Contents) -> Vec<TargetSize> {
    let mut forms: Vec<&Form> = old.forms.keys().chain(new.forms.keys()).collect();
    forms.sort();
    forms.dedup();
    let size = |form: &Form| TargetSize {
        form: form.clone(),
        old: old.forms.get(form).copied(),
        new: new.forms.get(form).copied(),
    };
    forms.into_iter().map(size).collect()
}

//! The differences as a document for programs: `schema/diff-v1.schema.json` describes it.

use ptxcheck_passes::names::demangle;
use ptxcheck_passes::release::{Change, Contents, KernelChange, KernelFate, TargetSize};
use serde::Serialize;

use super::shown::Releases;
use crate::json::Tool;

/// Raised when a key changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;

/// The document, with a line end.
///
/// # Errors
///
/// None in practice: the document holds nothing that JSON can't say.
pub fn render(releases: &Releases<'_>) -> serde_json::Result<String> {
    let diff = releases.diff;
    let document = Document {
        schema_version: SCHEMA_VERSION,
        tool: Tool::THIS,
        old: ReleaseJson::new(releases.old, diff.old),
        new: ReleaseJson::new(releases.new, diff.new),
        targets: diff.targets.iter().map(TargetJson::new).collect(),
        jit: diff
            .jit_bytes
            .iter()
            .map(|(gpu, old, new)| JitJson {
                gpu: gpu.to_string(),
                old_bytes: *old,
                new_bytes: *new,
            })
            .collect(),
        kernels: diff.kernels.iter().map(KernelJson::new).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    tool: Tool,
    old: ReleaseJson<'a>,
    new: ReleaseJson<'a>,
    targets: Vec<TargetJson<'a>>,
    jit: Vec<JitJson>,
    kernels: Vec<KernelJson<'a>>,
}

#[derive(Serialize)]
struct ReleaseJson<'a> {
    path: &'a str,
    kernels: usize,
    unread_images: usize,
}

impl<'a> ReleaseJson<'a> {
    fn new(path: &'a str, contents: &Contents) -> Self {
        Self {
            path,
            kernels: contents.kernels.len(),
            unread_images: contents.unread,
        }
    }
}

#[derive(Serialize)]
struct TargetJson<'a> {
    target: &'a str,
    kind: &'static str,
    old_bytes: Option<u64>,
    new_bytes: Option<u64>,
    old_images: usize,
    new_images: usize,
}

impl<'a> TargetJson<'a> {
    fn new(size: &'a TargetSize) -> Self {
        Self {
            target: &size.form.target,
            kind: if size.form.is_ptx { "ptx" } else { "cubin" },
            old_bytes: size.old.map(|(bytes, _)| bytes),
            new_bytes: size.new.map(|(bytes, _)| bytes),
            old_images: size.old.map_or(0, |(_, images)| images),
            new_images: size.new.map_or(0, |(_, images)| images),
        }
    }
}

/// Bytes of PTX that the driver compiles on a GPU.
#[derive(Serialize)]
struct JitJson {
    gpu: String,
    old_bytes: u64,
    new_bytes: u64,
}

#[derive(Serialize)]
struct KernelJson<'a> {
    name: &'a str,
    demangled: Option<String>,
    old_name: Option<&'a str>,
    fate: &'static str,
    changes: Vec<ChangeJson<'a>>,
}

impl<'a> KernelJson<'a> {
    fn new(kernel: &'a KernelChange<'a>) -> Self {
        Self {
            name: kernel.name,
            demangled: demangle(kernel.name),
            old_name: kernel.old_name,
            fate: match kernel.fate {
                KernelFate::Added => "added",
                KernelFate::Removed => "removed",
                KernelFate::Renamed => "renamed",
                KernelFate::Kept => "kept",
            },
            changes: kernel.changes.iter().map(ChangeJson::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    kind: &'static str,
    target: Option<&'a str>,
    is_ptx: bool,
    gpu: Option<String>,
    old: Option<&'a str>,
    new: Option<&'a str>,
}

impl<'a> ChangeJson<'a> {
    fn new(change: &'a Change) -> Self {
        let known = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        Self {
            kind: change.kind.as_str(),
            target: change.form.as_ref().map(|form| form.target.as_str()),
            is_ptx: change.form.as_ref().is_some_and(|form| form.is_ptx),
            gpu: change.gpu.map(|gpu| gpu.to_string()),
            old: known(&change.old),
            new: known(&change.new),
        }
    }
}

//! The document of an audit.

use std::collections::BTreeMap;
use std::time::Duration;

use ptxcheck_passes::inventory::{ImageKind, Registration};
use ptxcheck_passes::names::demangle;
use ptxcheck_passes::policy::Policy;
use ptxcheck_passes::run::{InputReport, Outcome};
use serde::Serialize;

use super::{FindingJson, InputJson, SCHEMA_VERSION, Summary, Tool, findings};

/// The document, with a line end: that of a check, with the policy, and for each input its kernels and what its host code
/// registers. `schema/audit-v2.schema.json` describes it.
///
/// # Errors
///
/// None in practice: the document holds nothing that JSON can't say.
pub fn render(outcome: &Outcome, policy: &Policy, elapsed: Duration) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&Document::new(outcome, policy, elapsed))?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    tool: Tool,
    policy: PolicyJson<'a>,
    inputs: Vec<AuditedJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    summary: Summary<'a>,
}

impl<'a> Document<'a> {
    fn new(outcome: &'a Outcome, policy: &'a Policy, elapsed: Duration) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: Tool::THIS,
            policy: PolicyJson {
                require_sm: &policy.require_sm,
                require_ptx: &policy.require_ptx,
                min_driver: policy.min_driver.map(|driver| driver.to_string()),
                max_target_bytes: policy.max_target_bytes,
                forbid_duplicates: policy.forbid_duplicates,
            },
            inputs: outcome.inputs.iter().map(AuditedJson::new).collect(),
            findings: findings(outcome),
            summary: Summary::new(outcome, false, elapsed),
        }
    }
}

#[derive(Serialize)]
struct PolicyJson<'a> {
    require_sm: &'a [String],
    require_ptx: &'a [String],
    min_driver: Option<String>,
    max_target_bytes: Option<u64>,
    forbid_duplicates: bool,
}

#[derive(Serialize)]
struct AuditedJson<'a> {
    #[serde(flatten)]
    input: InputJson<'a>,
    kernels: Vec<KernelJson<'a>>,
    host: Option<HostJson<'a>>,
}

impl<'a> AuditedJson<'a> {
    fn new(report: &'a InputReport) -> Self {
        let host = report.host.as_ref().map(|host| {
            let names = |is_variable| {
                let named = |one: &&'a Registration| one.is_variable == is_variable && one.is_certain;
                host.registered
                    .iter()
                    .filter(named)
                    .map(|one| one.name.as_str())
                    .collect()
            };
            HostJson {
                kernels: names(false),
                variables: names(true),
                linked: host.is_linked,
                stripped: host.is_stripped,
            }
        });
        Self {
            input: InputJson::new(report),
            kernels: kernels(report),
            host,
        }
    }
}

/// A kernel, and where it is: `sm` and `ptx` count the images that a program can end up running.
#[derive(Serialize)]
struct KernelJson<'a> {
    name: &'a str,
    demangled: Option<String>,
    images: Vec<u32>,
    sm: Vec<&'a str>,
    ptx: Vec<&'a str>,
}

fn kernels(report: &InputReport) -> Vec<KernelJson<'_>> {
    let mut kernels: BTreeMap<&str, KernelJson<'_>> = BTreeMap::new();
    for (number, image) in (0_u32..).zip(&report.images) {
        for kernel in &image.facts.kernels {
            let entry = kernels.entry(&kernel.identity).or_insert_with(|| KernelJson {
                name: &kernel.name,
                demangled: demangle(&kernel.name),
                images: Vec::new(),
                sm: Vec::new(),
                ptx: Vec::new(),
            });
            entry.images.push(number);
            let targets = match image.kind {
                ImageKind::Ptx => &mut entry.ptx,
                _ => &mut entry.sm,
            };
            if image.role.counts() && !targets.contains(&image.target.as_str()) {
                targets.push(&image.target);
            }
        }
    }
    kernels.into_values().collect()
}

#[derive(Serialize)]
struct HostJson<'a> {
    kernels: Vec<&'a str>,
    variables: Vec<&'a str>,
    linked: bool,
    stripped: bool,
}

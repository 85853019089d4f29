//! The document of an audit.

use std::collections::BTreeMap;
use std::time::Duration;

use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::inventory::{ImageKind, Kernel, NeededLibrary, Registration, Stub};
use ptxcheck_passes::names::demangle;
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::policy::{Budget, ByDesign, Policy, RequiredBlock, library_version};
use ptxcheck_passes::release::Comparison;
use ptxcheck_passes::run::{InputReport, Outcome};
use serde::Serialize;

use crate::forecast::Columns;
use crate::loads::{self, BundleJson};
use crate::pinned::RatchetJson;
use crate::resources::Fit;
use crate::sizes::SizesJson;
use crate::unread::{self, UnreadJson};

use super::{FindingJson, InputJson, SCHEMA_VERSION, Summary, Tool, findings};

/// The document, with a line end: that of a check, with the policy, and for each input its kernels and what its host code
/// registers. `schema/audit-v2.schema.json` describes it.
///
/// # Errors
///
/// None in practice: the document holds nothing that JSON can't say.
pub fn render(
    outcome: &Outcome,
    policy: &Policy,
    forecast: &Columns,
    ratchet: Option<&Comparison>,
    elapsed: Duration,
) -> serde_json::Result<String> {
    let document = Document::new(outcome, policy, forecast, ratchet, elapsed);
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    tool: Tool,
    unread: Vec<UnreadJson<'a>>,
    policy: PolicyJson<'a>,
    inputs: Vec<AuditedJson<'a>>,
    loads: Vec<BundleJson<'a>>,
    /// `None` where no forecast is asked for.
    forecast: Option<Vec<CellJson<'a>>>,
    /// `None` if the release is not compared with pinned figures.
    ratchet: Option<RatchetJson<'a>>,
    findings: Vec<FindingJson<'a>>,
    summary: Summary<'a>,
}

impl<'a> Document<'a> {
    fn new(
        outcome: &'a Outcome,
        policy: &'a Policy,
        columns: &Columns,
        ratchet: Option<&'a Comparison>,
        elapsed: Duration,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: Tool::THIS,
            unread: unread::json(outcome),
            policy: PolicyJson::new(policy),
            inputs: outcome.inputs.iter().map(AuditedJson::new).collect(),
            loads: loads::json(outcome),
            forecast: forecast(outcome, columns),
            ratchet: ratchet.map(RatchetJson::new),
            findings: findings(outcome),
            summary: Summary::new(outcome, false, elapsed),
        }
    }
}

#[derive(Serialize)]
pub(super) struct PolicyJson<'a> {
    require_sm: &'a [String],
    require_ptx: &'a [String],
    min_driver: Option<String>,
    max_target_bytes: Option<u64>,
    forbid_duplicates: bool,
    max_package_bytes: Option<u64>,
    max_file_bytes: Option<u64>,
    forbidden_files: Vec<&'a str>,
    hidden_symbols: Vec<&'a str>,
    gpus: &'a [Gpu],
    allow_jit: Option<&'a [Gpu]>,
    max_jit_bytes: Option<u64>,
    stubs: &'static str,
    by_design: Vec<ByDesignJson<'a>>,
    same_virtual_target: bool,
    check_variants: bool,
    budgets: Vec<BudgetJson<'a>>,
    required_blocks: Vec<BlockJson<'a>>,
}

impl<'a> PolicyJson<'a> {
    pub(super) fn new(policy: &'a Policy) -> Self {
        Self {
            require_sm: &policy.require_sm,
            require_ptx: &policy.require_ptx,
            min_driver: policy.min_driver.map(|driver| driver.to_string()),
            max_target_bytes: policy.max_target_bytes,
            forbid_duplicates: policy.forbid_duplicates,
            max_package_bytes: policy.max_package_bytes,
            max_file_bytes: policy.max_file_bytes,
            forbidden_files: policy.forbidden_files.iter().map(Pattern::as_str).collect(),
            hidden_symbols: policy.hidden_symbols.iter().map(Pattern::as_str).collect(),
            gpus: &policy.gpus,
            allow_jit: policy.allow_jit.as_deref(),
            max_jit_bytes: policy.max_jit_bytes,
            stubs: policy.stubs.as_str(),
            by_design: policy.by_design.iter().map(ByDesignJson::new).collect(),
            same_virtual_target: policy.same_virtual_target,
            check_variants: policy.check_variants,
            budgets: policy.budgets.iter().map(BudgetJson::new).collect(),
            required_blocks: policy.required_blocks.iter().map(BlockJson::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct BudgetJson<'a> {
    kernels: Vec<&'a str>,
    targets: &'a [String],
    max_registers: Option<u64>,
    max_stack_bytes: Option<u64>,
    max_shared_bytes: Option<u64>,
    max_code_bytes: Option<u64>,
}

impl<'a> BudgetJson<'a> {
    fn new(budget: &'a Budget) -> Self {
        Self {
            kernels: budget.kernels.iter().map(Pattern::as_str).collect(),
            targets: &budget.targets,
            max_registers: budget.max_registers,
            max_stack_bytes: budget.max_stack_bytes,
            max_shared_bytes: budget.max_shared_bytes,
            max_code_bytes: budget.max_code_bytes,
        }
    }
}

#[derive(Serialize)]
struct BlockJson<'a> {
    kernels: Option<&'a str>,
    threads: u32,
}

impl<'a> BlockJson<'a> {
    fn new(required: &'a RequiredBlock) -> Self {
        Self {
            kernels: required.kernels.as_ref().map(Pattern::as_str),
            threads: required.threads,
        }
    }
}

#[derive(Serialize)]
struct ByDesignJson<'a> {
    kernels: Vec<&'a str>,
    gpus: &'a [Gpu],
    reason: &'a str,
}

impl<'a> ByDesignJson<'a> {
    fn new(entry: &'a ByDesign) -> Self {
        Self {
            kernels: entry.kernels.iter().map(Pattern::as_str).collect(),
            gpus: &entry.gpus,
            reason: &entry.reason,
        }
    }
}

/// A kernel on a GPU.
#[derive(Serialize)]
pub(super) struct CellJson<'a> {
    input: &'a str,
    gpu: String,
    kernel: &'a str,
    state: &'static str,
    /// The image that is loaded.
    image: Option<LoadedJson<'a>>,
    /// The virtual architecture that machine code was compiled for: `compute_80`.
    built_for: Option<String>,
    stub: Option<&'static str>,
    /// The PTX that the driver compiles has nothing that its own target and version lack, as far as that is known.
    legal: Option<bool>,
    /// The first branch of drivers that loads it: `550`, or `newer than 615`.
    driver: Option<String>,
    jit_bytes: u64,
    /// Threads.
    max_block: Option<u32>,
    by_library: bool,
}

#[derive(Serialize)]
struct LoadedJson<'a> {
    kind: &'static str,
    target: &'a str,
    index: u32,
}

/// All cells, input by input, kernel by kernel.
pub(super) fn forecast<'a>(outcome: &'a Outcome, columns: &Columns) -> Option<Vec<CellJson<'a>>> {
    let mut cells = Vec::new();
    for input in &outcome.inputs {
        let forecast = columns.of(input)?;
        for row in &forecast.kernels {
            for (gpu, cell) in forecast.gpus.iter().zip(&row.cells) {
                let image = cell
                    .image
                    .and_then(|index| Some((index, input.images.get(index as usize)?)));
                cells.push(CellJson {
                    input: &input.name,
                    gpu: gpu.to_string(),
                    kernel: &row.kernel.name,
                    state: cell.state.as_str(),
                    image: image.map(|(index, image)| LoadedJson {
                        kind: image.kind.as_str(),
                        target: &image.target,
                        index,
                    }),
                    built_for: image
                        .and_then(|(_, image)| image.virtual_number)
                        .map(|number| format!("compute_{number}")),
                    stub: cell.stub.map(|stub| stub.as_str()),
                    legal: image
                        .filter(|(_, image)| image.kind == ImageKind::Ptx)
                        .map(|(_, image)| image.facts.illegal.is_none()),
                    driver: cell.driver.map(|driver| driver.to_string()),
                    jit_bytes: cell.jit_bytes,
                    max_block: cell.largest_block,
                    by_library: cell.is_by_library,
                });
            }
        }
    }
    (!columns.gpus.is_empty()).then_some(cells)
}

#[derive(Serialize)]
pub(super) struct AuditedJson<'a> {
    #[serde(flatten)]
    input: InputJson<'a>,
    kernels: Vec<KernelJson<'a>>,
    sizes: SizesJson<'a>,
    host: Option<HostJson<'a>>,
}

impl<'a> AuditedJson<'a> {
    pub(super) fn new(report: &'a InputReport) -> Self {
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
                needed: host.needed.iter().map(NeededJson::new).collect(),
                complete: !host.is_partial,
                linked: host.is_linked,
                stripped: host.is_stripped,
            }
        });
        Self {
            input: InputJson::new(report),
            kernels: kernels(report),
            sizes: SizesJson::new(report),
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
    definitions: Vec<DefinitionJson>,
}

/// A kernel in one image.
#[derive(Serialize)]
struct DefinitionJson {
    image: u32,
    stub: Option<&'static str>,
    code_bytes: Option<u64>,
    resources: Option<ResourcesJson>,
}

/// Its registers and memory; what machine code does not say is null.
#[derive(Serialize)]
struct ResourcesJson {
    registers: Option<u32>,
    stack: Option<u32>,
    shared: Option<u32>,
    constant: Option<u32>,
    max_block: Option<u32>,
    resident_warps: Option<u32>,
}

impl DefinitionJson {
    fn new(image: u32, gpu: u32, kernel: &Kernel) -> Self {
        let resources = kernel.resources.map(|used| {
            let fit = Fit::of(gpu, kernel, &used);
            ResourcesJson {
                registers: used.registers,
                stack: used.stack,
                shared: used.shared,
                constant: used.constant,
                max_block: fit.largest_block,
                resident_warps: fit.resident_warps,
            }
        });
        Self {
            image,
            stub: kernel.stub.map(Stub::as_str),
            code_bytes: kernel.code_bytes,
            resources,
        }
    }
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
                definitions: Vec::new(),
            });
            entry.images.push(number);
            entry
                .definitions
                .push(DefinitionJson::new(number, image.sm(), kernel));
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
    needed: Vec<NeededJson<'a>>,
    complete: bool,
    linked: bool,
    stripped: bool,
}

/// A shared library that host code needs.
#[derive(Serialize)]
struct NeededJson<'a> {
    library: &'a str,
    versions: &'a [String],
    /// The first driver that runs it, of libraries of CUDA.
    driver: Option<String>,
}

impl<'a> NeededJson<'a> {
    fn new(needed: &'a NeededLibrary) -> Self {
        Self {
            library: &needed.name,
            versions: &needed.versions,
            driver: library_version(&needed.name).map(|(_, driver)| driver.to_string()),
        }
    }
}

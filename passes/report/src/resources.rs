//! The table of registers and memory: the kernels that take most, by target.

use std::collections::BTreeMap;

use ptxcheck_passes::inventory::{ImageKind, Kernel, Resources};
use ptxcheck_passes::occupancy::{largest_block, resident_warps};
use ptxcheck_passes::run::InputReport;

use crate::amounts::plural;
use crate::table::{shortened, table};

/// Most kernels that are listed for a target.
const LISTED: usize = 10;

/// Threads of the block that warps are counted with, where the kernel says nothing smaller.
const BLOCK: u64 = 256;

/// The kernels of machine code in an input that take most registers, by target; those with as many by their stack and their code.
pub(crate) fn render(input: &InputReport) -> String {
    let mut targets: BTreeMap<(u32, &str), Vec<(&Kernel, Resources)>> = BTreeMap::new();
    for (_, image) in input
        .counting()
        .filter(|(_, image)| image.kind == ImageKind::Cubin)
    {
        let kernels = image.facts.kernels.iter();
        let known = kernels.filter_map(|kernel| Some((kernel, kernel.resources?)));
        targets
            .entry((image.sm(), &image.target))
            .or_default()
            .extend(known);
    }
    targets.retain(|_, kernels| !kernels.is_empty());
    if targets.is_empty() {
        return String::new();
    }
    let head = [
        "target",
        "registers",
        "stack",
        "shared",
        "constant",
        "code",
        "largest block",
        "warps/SM",
        "kernel",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut left_out = 0;
    for ((gpu, target), mut kernels) in targets {
        kernels.sort_by_key(|(kernel, used)| {
            let most = (used.registers, used.stack, kernel.code_bytes);
            (std::cmp::Reverse(most), kernel.name.as_str())
        });
        left_out += kernels.len().saturating_sub(LISTED) as u64;
        rows.extend(
            kernels
                .iter()
                .take(LISTED)
                .map(|(kernel, used)| row(gpu, target, kernel, used)),
        );
    }
    let right = [false, true, true, true, true, true, true, true, false];
    let mut text = table(&rows, &right);
    if left_out > 0 {
        text.push_str(&format!("  and {}\n", plural(left_out, "more kernel")));
    }
    text
}

/// Blocks of a kernel on a GPU, limited by its registers and its static shared memory alone.
pub(crate) struct Fit {
    /// The largest block that can be launched, in threads.
    pub(crate) largest_block: Option<u32>,
    /// The warps of blocks of [`BLOCK`] threads, or of as many as the kernel allows, that are resident on a multiprocessor.
    pub(crate) resident_warps: Option<u32>,
}

impl Fit {
    pub(crate) fn of(gpu: u32, kernel: &Kernel, used: &Resources) -> Self {
        let bounds = kernel.launch.required_threads.or(kernel.launch.max_threads);
        let bound = bounds.map_or(u64::MAX, |sizes| {
            sizes.iter().map(|size| u64::from(*size)).product()
        });
        let largest_block = used.registers.and_then(|registers| largest_block(gpu, registers));
        let block = bound.min(BLOCK).min(u64::from(largest_block.unwrap_or(u32::MAX)));
        let known = used.registers.zip(used.shared);
        Self {
            largest_block,
            resident_warps: known.and_then(|(registers, shared)| {
                resident_warps(gpu, registers, shared, u32::try_from(block).ok()?)
            }),
        }
    }
}

fn row(gpu: u32, target: &str, kernel: &Kernel, used: &Resources) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let fit = Fit::of(gpu, kernel, used);
    vec![
        target.to_owned(),
        number(used.registers),
        number(used.stack),
        number(used.shared),
        number(used.constant),
        kernel
            .code_bytes
            .map_or_else(|| "?".to_owned(), |bytes| bytes.to_string()),
        number(fit.largest_block),
        number(fit.resident_warps),
        shortened(&kernel.name),
    ]
}

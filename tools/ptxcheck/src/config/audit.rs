//! `[audit]`: the policy that release files are compared with.

use std::str::FromStr as _;

use ptxcheck_passes::forecast::Gpu;
use ptxcheck_passes::policy::{
    self, Budget, ByDesign, Driver, JitWritten, Policy, RequiredBlock, StubPolicy,
};
use toml::Spanned;

use super::file::{
    Audit, BudgetEntry, ByDesignEntry, StringList, StubsWord, VariantsWord, VirtualTargetWord,
};
use super::findings::PatternReader;
use super::{FileError, parse_size};

/// The word for every GPU that CUDA 13 compiles for.
const ALL: &str = "all";

/// The policy of a file.
pub(super) fn policy(audit: &Audit, reader: &mut PatternReader<'_>) -> Result<Policy, FileError> {
    let by_design = audit
        .by_design
        .iter()
        .map(|entry| by_design(entry.span().start, entry.get_ref(), reader))
        .collect::<Result<_, _>>()?;
    let hidden_symbols = reader.names(audit.hidden_symbols.as_ref())?;
    let forbidden_files = reader.paths(audit.forbidden_files.as_ref())?;
    let budgets = audit
        .budget
        .iter()
        .map(|entry| budget(entry.span().start, entry.get_ref(), reader))
        .collect::<Result<_, _>>()?;
    let required_blocks = required_blocks(audit, reader)?;
    let target = |text: (usize, &str)| reader.read(text, policy::target);
    let driver = |text: (usize, &str)| reader.read(text, Driver::from_str);
    let cuda = |text: (usize, &str)| reader.read(text, driver_of_cuda);
    let size = |text: (usize, &str)| reader.read(text, parse_size);
    let min_driver = audit.min_driver.as_ref().map(spelt).map(driver).transpose()?;
    let of_cuda = audit.min_cuda.as_ref().map(spelt).map(cuda).transpose()?;
    Ok(Policy {
        require_sm: audit
            .require_sm
            .iter()
            .map(|text| target(spelt(text)))
            .collect::<Result<_, _>>()?,
        require_ptx: texts(audit.require_ptx.as_ref())
            .map(target)
            .collect::<Result<_, _>>()?,
        gpus: gpus(audit.gpus.as_ref(), reader)?,
        allow_jit: audit
            .allow_jit
            .as_ref()
            .map(|list| gpus(Some(list), reader))
            .transpose()?,
        max_jit_bytes: audit.max_jit.as_ref().map(spelt).map(size).transpose()?,
        jit_written: JitWritten {
            allow: audit
                .allow_jit
                .as_ref()
                .map(|list| reader.written(list.span().start)),
            max: audit
                .max_jit
                .as_ref()
                .map(|text| reader.written(text.span().start)),
        },
        stubs: match audit.stubs {
            None | Some(StubsWord::AllowTrap) => StubPolicy::AllowTrap,
            Some(StubsWord::Deny) => StubPolicy::Deny,
            Some(StubsWord::Allow) => StubPolicy::Allow,
        },
        by_design,
        same_virtual_target: matches!(audit.virtual_target, Some(VirtualTargetWord::Same)),
        check_variants: matches!(audit.variants, Some(VariantsWord::Check)),
        min_driver: min_driver.max(of_cuda),
        max_target_bytes: audit.max_target_size.as_ref().map(spelt).map(size).transpose()?,
        forbid_duplicates: audit.forbid_duplicates,
        max_package_bytes: audit.max_package_size.as_ref().map(spelt).map(size).transpose()?,
        max_file_bytes: audit.max_file_size.as_ref().map(spelt).map(size).transpose()?,
        forbidden_files,
        hidden_symbols,
        budgets,
        required_blocks,
        ratchet: None,
    })
}

fn budget(at: usize, entry: &BudgetEntry, reader: &mut PatternReader<'_>) -> Result<Budget, FileError> {
    let kernels = reader.names(entry.kernels.as_ref())?;
    if let Some(number) = &entry.max_registers
        && !policy::THREAD_REGISTERS.contains(number.get_ref())
    {
        return Err(reader.error(number.span().start, NO_REGISTERS));
    }
    let size =
        |text: Option<&Spanned<String>>| text.map(|text| reader.read(spelt(text), parse_size)).transpose();
    Ok(Budget {
        kernels,
        targets: texts(entry.targets.as_ref())
            .map(|text| reader.read(text, policy::target))
            .collect::<Result<_, _>>()?,
        max_registers: entry.max_registers.as_ref().map(|number| *number.get_ref()),
        max_stack_bytes: size(entry.max_stack.as_ref())?,
        max_shared_bytes: size(entry.max_shared.as_ref())?,
        max_code_bytes: size(entry.max_code.as_ref())?,
        written: Some(reader.written(at)),
    })
}

fn required_blocks(audit: &Audit, reader: &mut PatternReader<'_>) -> Result<Vec<RequiredBlock>, FileError> {
    let entries = audit.require_block.iter();
    entries
        .map(|(pattern, threads)| {
            let kernels = reader.name(pattern.span().start, pattern.get_ref())?;
            let threads = block_of(*threads.get_ref())
                .map_err(|problem| reader.error(threads.span().start, problem))?;
            Ok(RequiredBlock {
                kernels: Some(kernels),
                threads,
            })
        })
        .collect()
}

/// The problem of a budget without or with too many registers.
pub const NO_REGISTERS: &str = "a thread has 1 to 255 registers";

/// The threads of a block.
///
/// # Errors
///
/// A sentence, if no block has so many.
pub fn block_of(threads: u32) -> Result<u32, &'static str> {
    match threads {
        0 => Err("a block has at least one thread"),
        1..=policy::MAX_BLOCK_THREADS => Ok(threads),
        _ => Err("a block has at most 1024 threads"),
    }
}

fn by_design(
    at: usize,
    entry: &ByDesignEntry,
    reader: &mut PatternReader<'_>,
) -> Result<ByDesign, FileError> {
    let reason = entry.reason.get_ref().trim();
    if reason.is_empty() {
        return Err(reader.error(entry.reason.span().start, "the reason is missing"));
    }
    Ok(ByDesign {
        kernels: reader.names(Some(&entry.kernel))?,
        gpus: gpus(entry.gpu.as_ref(), reader)?,
        reason: reason.to_owned(),
        written: Some(reader.written(at)),
    })
}

fn spelt(text: &Spanned<String>) -> (usize, &str) {
    (text.span().start, text.get_ref())
}

fn texts(list: Option<&Spanned<StringList>>) -> impl Iterator<Item = (usize, &str)> {
    list.into_iter().flat_map(StringList::with_offsets)
}

/// The GPUs of a list, each once, in their order.
fn gpus(list: Option<&Spanned<StringList>>, reader: &PatternReader<'_>) -> Result<Vec<Gpu>, FileError> {
    let lists: Vec<Vec<Gpu>> = texts(list)
        .map(|text| reader.read(text, parse_gpus))
        .collect::<Result<_, _>>()?;
    Ok(sorted(lists.concat()))
}

/// GPUs, each once, in their order.
pub fn sorted(mut gpus: Vec<Gpu>) -> Vec<Gpu> {
    gpus.sort_unstable();
    gpus.dedup();
    gpus
}

/// One GPU, `8.6`, or `all`.
///
/// # Errors
///
/// A sentence, if it is neither.
pub fn parse_gpus(text: &str) -> Result<Vec<Gpu>, String> {
    if text == ALL {
        return Ok(Gpu::of_cuda_13().collect());
    }
    text.parse()
        .map(|gpu| vec![gpu])
        .map_err(|unknown| format!("{unknown}, and not `{ALL}`"))
}

/// The first driver of a version of CUDA.
///
/// # Errors
///
/// A sentence, if it is not known.
pub fn driver_of_cuda(text: &str) -> Result<Driver, String> {
    policy::driver_of_cuda(text).ok_or_else(|| format!("`{text}` is no known version of CUDA such as `12.4`"))
}

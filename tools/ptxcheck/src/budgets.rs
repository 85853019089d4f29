//! Options for what the machine code of kernels may take.

use clap::Args;
use ptxcheck_passes::patterns::Pattern;
use ptxcheck_passes::policy::{Budget, RequiredBlock, THREAD_REGISTERS};

use crate::config;

/// Budgets for the machine code of each kernel.
#[derive(Debug, Args)]
pub struct BudgetArgs {
    /// Most registers of a thread, 1 to 255
    #[arg(long, value_name = "NUMBER", value_parser = registers, help_heading = "Policy")]
    pub max_registers: Option<u64>,

    /// Most bytes of the stack of a thread, as in `512` or `1K`
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, help_heading = "Policy")]
    pub max_stack: Option<u64>,

    /// Most bytes of static shared memory of a block, as in `48K`
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, help_heading = "Policy")]
    pub max_shared: Option<u64>,

    /// Most bytes of machine code of a kernel, as in `100K`
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size, help_heading = "Policy")]
    pub max_code: Option<u64>,

    /// Threads of a block that kernels have to be launchable with, all of them or those with such a name (may be repeated)
    #[arg(long, value_name = "[PATTERN=]THREADS", value_parser = required_block, help_heading = "Policy")]
    pub require_block: Vec<RequiredBlock>,
}

impl BudgetArgs {
    /// The budget for all kernels.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget {
            max_registers: self.max_registers,
            max_stack_bytes: self.max_stack,
            max_shared_bytes: self.max_shared,
            max_code_bytes: self.max_code,
            ..Budget::default()
        }
    }
}

fn registers(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok();
    number
        .filter(|number| THREAD_REGISTERS.contains(number))
        .ok_or(config::NO_REGISTERS)
}

fn required_block(text: &str) -> Result<RequiredBlock, String> {
    let (kernels, threads) = match text.rsplit_once('=') {
        Some((pattern, threads)) => (Some(pattern), threads),
        None => (None, text),
    };
    let threads: u32 = threads
        .trim()
        .parse()
        .map_err(|_| format!("`{text}` is no number of threads such as `256` or `gemm*=256`"))?;
    let threads = config::block_of(threads)?;
    let kernels = kernels
        .map(Pattern::name)
        .transpose()
        .map_err(|error| error.to_string())?;
    Ok(RequiredBlock { kernels, threads })
}

#[cfg(test)]
mod tests {
    use super::required_block;

    #[test]
    fn blocks_have_a_number_of_threads() {
        let read = |text| {
            let block = required_block(text).map_err(drop)?;
            let pattern = block.kernels.map(|pattern| pattern.as_str().to_owned());
            Ok((pattern, block.threads))
        };
        assert_eq!(read("256"), Ok::<_, ()>((None, 256)));
        assert_eq!(read("gemm*=512"), Ok((Some("gemm*".to_owned()), 512)));
        assert_eq!(read("f<a=b>=64"), Ok((Some("f<a=b>".to_owned()), 64)));
        for wrong in ["", "0", "gemm*", "gemm*=", "=0", "k=-1", "99999999999", "1025"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

//! The blocks that host code of a file launches kernels with.

use std::collections::BTreeMap;

use ptxcheck_frontend_mlir::message::{Block, Launched};

use crate::mlir::Operation;

/// By module and kernel: the blocks of each launch; none for a launch whose block is not constant.
#[derive(Debug, Default)]
pub(crate) struct Launches(BTreeMap<Kernel, Vec<Option<Block>>>);

/// The names of a module and of a kernel in it.
type Kernel = (Vec<u8>, Vec<u8>);

/// The constants whose `value` is read.
const CONSTANTS: [&[u8]; 3] = [b"arith.constant", b"index.constant", b"llvm.mlir.constant"];

/// Of the numbers of operands that `gpu.launch_func` has in each group, those before its block (dependencies and the three sizes
/// of the grid), and those of the block.
const BEFORE_BLOCK: usize = 4;
const OF_BLOCK: usize = 3;

impl Launches {
    /// Those among these operations.
    pub(crate) fn of(operations: &[Operation<'_>]) -> Self {
        let mut launches = Self::default();
        for operation in operations {
            if operation.name() == b"gpu.launch_func"
                && let Some((module, kernel)) =
                    operation.attribute("kernel").and_then(|kernel| kernel.symbol())
            {
                let key = (module.to_vec(), kernel.to_vec());
                launches.0.entry(key).or_default().push(block(*operation));
            }
        }
        launches
    }

    /// Those of the kernels of a module.
    pub(crate) fn of_module(&self, module: &[u8]) -> Vec<Launched> {
        let mut found = Vec::new();
        for ((of, kernel), blocks) in &self.0 {
            if of == module {
                let constant: Option<Vec<Block>> = blocks.iter().copied().collect();
                let mut blocks = constant.unwrap_or_default();
                blocks.sort_unstable();
                blocks.dedup();
                found.push(Launched {
                    kernel: String::from_utf8_lossy(kernel).into_owned(),
                    blocks,
                });
            }
        }
        found
    }
}

/// The block of a launch, if it is constant.
fn block(launch: Operation<'_>) -> Option<Block> {
    let sizes = launch.attribute("operandSegmentSizes")?.numbers()?;
    let before = sizes.get(..BEFORE_BLOCK)?;
    let first = before.iter().sum::<i32>();
    let first = usize::try_from(first).ok()?;
    if sizes.get(BEFORE_BLOCK..BEFORE_BLOCK + OF_BLOCK)? != [1; OF_BLOCK] {
        return None;
    }
    let mut block = [0; OF_BLOCK];
    for (side, position) in block.iter_mut().zip(first..) {
        let constant = launch.operand(position)?;
        if !CONSTANTS.contains(&constant.name()) {
            return None;
        }
        *side = u32::try_from(constant.attribute("value")?.integer()?).ok()?;
    }
    Some(block)
}

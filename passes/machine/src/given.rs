//! A world of values that are given one by one. Of all else, nothing is known.

use std::collections::BTreeMap;

use ptxcheck_ir::{FunctionId, InstructionId, Space, SymbolId};

use crate::evaluate::Word;
use crate::world::{At, Outside, Read, Unmodelled, World};

/// A world of values that are given one by one. Of all else, nothing is known.
///
/// ```
/// use ptxcheck_ir::Space;
/// use ptxcheck_machine::Given;
///
/// let mut world = Given::default();
/// // The first parameter points to memory that begins with 7; the second, of 4 bytes, is 100.
/// world.parameter(0, 8, 0x1_0000).memory(Space::Global, 0x1_0000, 4, 7).parameter(8, 4, 100);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Bytes by space and address.
    bytes: BTreeMap<(Space, u64), u8>,
    loads: BTreeMap<(FunctionId, InstructionId, Option<usize>), u64>,
    results: BTreeMap<(FunctionId, InstructionId, usize), u64>,
    callees: BTreeMap<SymbolId, Outside>,
}

impl Given {
    /// The low bytes of a value, at most 8, at a byte offset of the kernel's parameters.
    pub fn parameter(&mut self, offset: u64, bytes: u8, value: u64) -> &mut Self {
        self.memory(Space::Param, offset, bytes, value)
    }

    /// The low bytes of a value, at most 8, at an address of a space, when the kernel begins. A generic address is one of global
    /// memory.
    pub fn memory(&mut self, space: Space, address: u64, bytes: u8, value: u64) -> &mut Self {
        let space = if space == Space::Generic {
            Space::Global
        } else {
            space
        };
        for (number, byte) in value.to_le_bytes().into_iter().enumerate().take(bytes.into()) {
            self.bytes
                .insert((space, address.wrapping_add(number as u64)), byte);
        }
        self
    }

    /// The value of each element that an instruction loads where nothing has written: for one thread, by its number in the block,
    /// or for all others. All threads that load the same memory get what the first of them got.
    pub fn load(
        &mut self,
        (function, instruction): (FunctionId, InstructionId),
        thread: Option<usize>,
        value: u64,
    ) -> &mut Self {
        self.loads.insert((function, instruction, thread), value);
        self
    }

    /// Result number `number` of an instruction that the machine does not compute.
    pub fn result(
        &mut self,
        (function, instruction): (FunctionId, InstructionId),
        number: usize,
        value: u64,
    ) -> &mut Self {
        self.results.insert((function, instruction, number), value);
        self
    }

    /// The effect of calls of a function that the module does not hold.
    pub fn callee(&mut self, symbol: SymbolId, effect: Outside) -> &mut Self {
        self.callees.insert(symbol, effect);
        self
    }
}

impl World for Given {
    fn read(&mut self, read: &Read<'_>) -> Word {
        let load = |thread| (read.at.function, read.at.instruction, thread);
        let by_load = self.loads.get(&load(Some(read.at.thread)));
        if let Some(&value) = by_load.or_else(|| self.loads.get(&load(None))) {
            return Some(value);
        }
        if !read.is_initial {
            return None;
        }
        (0..u64::from(read.bytes)).try_fold(0, |word, number| {
            let address = read.address.wrapping_add(number);
            let byte = *self.bytes.get(&(read.space, address))?;
            Some(word | u64::from(byte) << (8 * number))
        })
    }

    fn unmodelled(&mut self, at: &At<'_>, value: Unmodelled) -> Word {
        match value {
            Unmodelled::Result(number) => self.results.get(&(at.function, at.instruction, number)).copied(),
            Unmodelled::Special(_) | Unmodelled::Operand | Unmodelled::Update | Unmodelled::AbsentSource => {
                None
            }
        }
    }

    fn outside(&mut self, _at: &At<'_>, callee: SymbolId) -> Outside {
        self.callees.get(&callee).copied().unwrap_or(Outside::Unknown)
    }
}

//! A world of values that are given one by one. Of all else, nothing is known.

use std::collections::BTreeMap;

use ptxcheck_ir::{Space, SymbolId};
use rustc_hash::FxHashMap;

use crate::evaluate::Word;
use crate::world::{At, Outside, Read, Unmodelled, World};
use ptxcheck_ir::Site;

/// The values that a load reads.
#[derive(Clone, Debug, Default)]
struct Loads {
    of_threads: BTreeMap<usize, u64>,
    /// By number of the block among those that run, and of the thread.
    of_threads_of_blocks: BTreeMap<(u32, usize), u64>,
    of_others: Option<u64>,
}

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
    bytes: FxHashMap<(Space, u64), u8>,
    loads: BTreeMap<Site, Loads>,
    results: BTreeMap<(Site, usize), u64>,
    callees: BTreeMap<SymbolId, Outside>,
}

impl Given {
    /// The low bytes of a value, at most 8, at a byte offset of the kernel's parameters: see [`crate::Kernel::parameter_offset`].
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

    /// The value of each element that is loaded at a site where nothing has written: for one thread, by its number in the block,
    /// or for all others. All threads that load the same memory get what the first of them got.
    pub fn load(&mut self, site: Site, thread: Option<usize>, value: u64) -> &mut Self {
        let loads = self.loads.entry(site).or_default();
        match thread {
            Some(thread) => {
                loads.of_threads.insert(thread, value);
            }
            None => loads.of_others = Some(value),
        }
        self
    }

    /// The same for one thread of one block, by its number among those that run.
    pub fn load_in_block(&mut self, site: Site, (block, thread): (u32, usize), value: u64) -> &mut Self {
        let loads = self.loads.entry(site).or_default();
        loads.of_threads_of_blocks.insert((block, thread), value);
        self
    }

    /// Result number `number` of an instruction that the machine does not compute.
    pub fn result(&mut self, site: Site, number: usize, value: u64) -> &mut Self {
        self.results.insert((site, number), value);
        self
    }

    fn loaded(&self, at: &At<'_>) -> Option<u64> {
        if self.loads.is_empty() {
            return None;
        }
        let loads = self.loads.get(&at.site())?;
        let of_block = loads.of_threads_of_blocks.get(&(at.block, at.thread));
        of_block
            .or_else(|| loads.of_threads.get(&at.thread))
            .copied()
            .or(loads.of_others)
    }

    /// The effect of calls of a function that the module does not hold.
    pub fn callee(&mut self, symbol: SymbolId, effect: Outside) -> &mut Self {
        self.callees.insert(symbol, effect);
        self
    }
}

impl World for Given {
    fn read(&mut self, read: &Read<'_>) -> Word {
        if let Some(value) = self.loaded(&read.at) {
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
            Unmodelled::Result(number) if !self.results.is_empty() => {
                self.results.get(&(at.site(), number)).copied()
            }
            Unmodelled::Result(_)
            | Unmodelled::Special(_)
            | Unmodelled::Operand
            | Unmodelled::Update
            | Unmodelled::AbsentSource => None,
        }
    }

    fn outside(&mut self, _at: &At<'_>, callee: SymbolId) -> Outside {
        self.callees.get(&callee).copied().unwrap_or(Outside::Unknown)
    }
}

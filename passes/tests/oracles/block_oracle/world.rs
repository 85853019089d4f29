//! What a program does not say: the launch, parameters, numbers in memory, and the order in which threads run.

use crate::random::Random;

/// Bytes of an array that the launch gives its size.
pub const EXTERN_BYTES: u32 = 1 << 14;

/// The numbers in global memory.
#[derive(Clone, Copy, Debug)]
enum Data {
    Same(u32),
    Index,
    Below(u32),
}

/// In which order threads run between two barriers.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    Ascending,
    Descending,
    /// A warp after the other.
    Warps,
    /// A few steps of one thread after a few of another.
    Steps,
}

#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Threads of the block in x, y and z.
    pub block: [u32; 3],
    pub ctaid: u32,
    pub params: [u32; 2],
    data: Data,
    pub order: Order,
    pub seed: u64,
}

impl World {
    /// A world of a block, by its number.
    pub fn new(block: [u32; 3], number: u64, seed: u64) -> Self {
        let mut random =
            Random::new(seed.wrapping_mul(31).wrapping_add(number).wrapping_mul(1031) + u64::from(block[0]));
        // The first ones take each branch on memory in one way, in all threads.
        let data = match number {
            0 => Data::Same(0),
            1 => Data::Same(0x7fff_0000),
            2 => Data::Below(8),
            _ => *random.pick(&[
                Data::Index,
                Data::Below(2),
                Data::Below(8),
                Data::Below(40),
                Data::Same(3),
            ]),
        };
        let orders = [Order::Ascending, Order::Descending, Order::Warps, Order::Steps];
        let order = *random.pick(&orders);
        let mut param = || *random.pick(&[0, 1, 2, 3, 4, 5, 7, 12]);
        Self {
            block,
            params: [param(), param()],
            ctaid: random.below(3) as u32,
            data,
            order,
            seed: random.next(),
        }
    }

    pub const fn threads(&self) -> u32 {
        self.block[0] * self.block[1] * self.block[2]
    }

    /// A number in global memory.
    pub fn number(&self, index: u32) -> u32 {
        match self.data {
            Data::Same(number) => number,
            Data::Index => index,
            Data::Below(bound) => mixed(self.seed ^ u64::from(index)) as u32 % bound,
        }
    }

    /// What an array holds before anybody has written to it.
    pub fn unwritten(&self, array: usize, bytes: u32) -> Vec<u8> {
        let first = mixed(self.seed ^ (array as u64 + 7) << 32);
        (0..u64::from(bytes))
            .map(|at| (first.wrapping_mul(at | 1) >> 40) as u8)
            .collect()
    }
}

pub const fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

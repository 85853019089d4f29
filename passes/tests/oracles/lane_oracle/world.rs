//! The worlds that the generated kernels run in: parameters, and memory of small numbers, which follow from a seed.

use std::collections::{BTreeMap, BTreeSet};

use ptxcheck_machine::{
    At, End, Kernel, Launch, Observer, Read, Schedule, Setup, Site, Unknown, Unmodelled, Unobserved, World,
    Wrong,
};
use ptxcheck_passes::ir::{Space, Special};

use super::generator::{self, Random};

/// Numbers in memory are below this.
const NUMBERS: u64 = 40;

/// Blocks of the grid.
pub const GRID: [u32; 3] = [3, 1, 1];

/// The first parameter: where the kernel writes to.
pub const OUT: u64 = 0x1000;

/// The inputs of a run.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    pub seed: u64,
    pub n: u64,
    pub mask: u64,
    pub ctaid: u32,
    /// Threads of the block in x, y and z.
    pub block: [u32; 3],
}

impl Inputs {
    /// The inputs of one run of the kernel of a seed, by its number.
    pub fn new(made: &generator::Kernel, seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(number));
        let block = made.launched(&mut random);
        Self {
            seed: random.next(),
            n: random.below(40) as u64,
            mask: *random.pick(&[0xffff_ffff, 0xffff, 1]),
            ctaid: random.below(3) as u32,
            block,
        }
    }
}

/// The part of a run's outcome that the oracle checks.
pub struct Run {
    /// The collectives and barriers that some lane executed before anything broke.
    pub reached: BTreeSet<Site>,
    /// Those that went wrong, and how.
    pub violated: BTreeMap<Site, BTreeSet<Wrong>>,
    /// Lanes waited in vain, and what came after is no run of the kernel any more.
    pub is_broken: bool,
    /// It took too long: nothing can be said.
    pub is_cut: bool,
}

/// Runs a kernel.
pub fn run(kernel: &Kernel<'_>, inputs: Inputs, schedule: Schedule) -> Result<Run, String> {
    observed(kernel, inputs, schedule, &mut Unobserved)
}

/// Runs a kernel with an observer.
pub fn observed(
    kernel: &Kernel<'_>,
    inputs: Inputs,
    schedule: Schedule,
    observer: &mut dyn Observer,
) -> Result<Run, String> {
    let launch = Launch {
        grid: GRID,
        ctaid: [inputs.ctaid, 0, 0],
        ..Launch::of_block(inputs.block)
    };
    let mut world = Numbers {
        inputs,
        asked: BTreeMap::new(),
    };
    let outcome = kernel
        .run(&Setup::new(launch, schedule), &mut world, observer)
        .map_err(|refused| refused.to_string())?;
    match &outcome.end {
        End::Complete | End::Unknown(Unknown::Steps | Unknown::BeyondTable(_)) => {}
        // The generator writes nothing that the machine does not model and this world has no value for.
        end => return Err(format!("the machine stops: {end:?}, with {inputs:?}")),
    }
    Ok(Run {
        violated: outcome.wrongs(),
        is_cut: outcome.is_unknown(),
        is_broken: outcome.is_broken,
        reached: outcome.reached,
    })
}

struct Numbers {
    inputs: Inputs,
    /// Times that each thread has asked for a value that is not modelled.
    asked: BTreeMap<usize, u64>,
}

impl World for Numbers {
    fn read(&mut self, read: &Read<'_>) -> Option<u64> {
        if read.space == Space::Param {
            let (out, n, mask) = (OUT, self.inputs.n, self.inputs.mask);
            return [(0, out), (8, n), (12, mask)]
                .into_iter()
                .find(|(offset, _)| *offset == read.address)
                .map(|(_, value)| value);
        }
        // Memory holds small numbers, always the same ones.
        let seed = self.inputs.seed ^ read.address.wrapping_mul(77);
        Some(Random::new(seed).next() % NUMBERS)
    }

    fn unmodelled(&mut self, at: &At<'_>, value: Unmodelled) -> Option<u64> {
        match value {
            Unmodelled::AbsentSource | Unmodelled::Special(Special::Uniform) => Some(0),
            Unmodelled::Result(_) | Unmodelled::Update => {
                let asked = self.asked.entry(at.thread).or_default();
                *asked += 1;
                let seed = (at.thread as u64 + 1).wrapping_mul(911) ^ *asked << 40;
                Some(Random::new(self.inputs.seed ^ seed).next() % NUMBERS)
            }
            Unmodelled::Operand | Unmodelled::Special(_) => None,
        }
    }

    fn unwritten(&self) -> Option<u64> {
        Some(0)
    }

    // The same one whenever the same lanes ask.
    fn leader(&mut self, members: u32) -> u32 {
        if self.inputs.seed & 1 == 0 {
            members.trailing_zeros()
        } else {
            31 - members.leading_zeros()
        }
    }
}

//! Limits of this crate, by name. A run that exceeds one ends, and says which ([`crate::Unknown`]).

/// Most threads of a block (CUDA Programming Guide, Compute Capabilities).
pub const MAX_THREADS: u64 = 1_024;

/// Most instructions that the threads of a run execute in all. The machine's own work to let threads wait for each other counts, too: see
/// [`PAIRS_PER_STEP`].
pub const MAX_STEPS: u64 = 10_000_000;

/// Pairs of threads, of which one may wait for the other, that cost as much as one instruction.
pub const PAIRS_PER_STEP: u64 = 16;

/// Most instructions that a thread executes by itself before the others have their turn: one may wait for what another stores.
pub const MAX_TURN: u64 = 8_192;

/// Most words of 8 bytes of memory that a run touches.
pub const MAX_WORDS: u64 = 1 << 20;

/// Most registers of all frames of all threads.
pub const MAX_REGISTERS: u64 = 1 << 24;

/// Deepest chain of calls.
pub const MAX_CALL_DEPTH: usize = 64;

/// Most chains of calls that lead to code.
pub const MAX_CONTEXTS: usize = 1 << 16;

/// Most failures that a run keeps.
pub const MAX_FAILURES: usize = 1_024;

/// Most steps for reachability between a kernel's blocks: its blocks and edges, times the targets of edges back, times its loops, and
/// times the blocks in which threads may wait.
pub const MAX_WAY_STEPS: usize = 200_000_000;

/// Most failures for which a run keeps the positions of the block's lanes.
pub const MAX_SNAPSHOTS: usize = 64;

/// Most moments that a trace keeps.
pub const MAX_MOMENTS: usize = 65_536;

/// Most accesses to bytes of shared memory that the search for exchanges keeps, and instructions that make them.
pub const MAX_KEPT_ACCESSES: usize = 1 << 20;

/// Accesses to one byte by one warp from which on those are dropped that all lanes have synchronised with since.
pub const MAX_KEPT_OF_BYTE: usize = 64;

/// Most examples of threads of different warps that are kept of an exchange; as many reads are followed in a run.
pub const MAX_EXAMPLES: usize = 32;

/// Most exchanges that are kept of a run.
pub const MAX_EXCHANGES: usize = 4_096;

/// Most asynchronous copies that a run follows.
pub const MAX_ASYNC_COPIES: u32 = 1 << 14;
/// Most failures of asynchronous operations that a run keeps.
pub const MAX_ASYNC_WRONGS: usize = 1_024;

/// Most times that threads which wait for phases of barriers in memory test them again, before it is not known whether they wait for ever: a
/// pause between tests that doubles has reached its most by then.
pub const MAX_POLLS: u32 = 48;

/// Most fences that are kept of a word of shared memory since it was stored.
pub const MAX_FENCES_OF_WORD: usize = 128;

/// Most blocks, and edges from them, between a branch and the block at which all its paths meet.
pub const MAX_DETOUR_BLOCKS: usize = 4_096;

/// Most blocks between branches and the joins of their paths that are visited to find the branches that matter.
pub const MAX_SLICE_STEPS: usize = 1 << 22;

/// Largest piece of memory on the stack that a thread may ask for, in bytes.
pub const MAX_STACK: u64 = 1 << 20;

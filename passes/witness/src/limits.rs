//! Limits of this crate, by name. Exceeding one ends a search, and the finding stays as it was without it.

/// Most inputs of a kernel that scenarios are made of.
pub(crate) const MAX_CONDITIONAL_INPUTS: usize = 6;

/// Most registers that the search for the inputs of a kernel follows.
pub(crate) const MAX_INPUT_STEPS: usize = 4_000;

/// Most scenarios that a kernel is run under.
pub(crate) const MAX_SCENARIOS: usize = 120;

/// Most instructions of a thread, on average, in a run of a witness.
pub(crate) const MAX_THREAD_STEPS: u64 = 2_000;

/// The same if a run reached a place that a witness is searched for, but not its own end.
pub(crate) const MAX_LONG_THREAD_STEPS: u64 = 8_000;

/// Most runs of a kernel for which that holds, and most instructions of one.
pub(crate) const MAX_LONG_RUNS: u32 = 1;
pub(crate) const MAX_LONG_RUN_STEPS: u64 = 4_000_000;

/// Most instructions of all runs with the witnesses of a kernel, which show what happens, and of half as many before that, which make
/// them small.
pub(crate) const MAX_CHECK_STEPS: u64 = 16_000_000;

/// Largest value of a parameter that is run to find the values for which a finding holds.
pub(crate) const MAX_GENERAL_VALUE: u64 = 512;

/// Most instructions of all those runs, of a finding.
pub(crate) const MAX_GENERAL_STEPS: u64 = 8_000_000;

/// Values after whose runs those of the others are estimated.
pub(crate) const GENERAL_SAMPLE: u64 = 8;

/// Most instructions of all runs in the search for the witnesses of a kernel with the blocks of one group.
pub(crate) const MAX_SEARCH_STEPS: u64 = 600_000;

/// Most instructions of all runs for one kernel: about a second.
pub(crate) const MAX_KERNEL_STEPS: u64 = 24_000_000;

/// Most instructions of all runs in the search for exchanges of a kernel with the blocks of one group; these runs execute all of it.
pub(crate) const MAX_EXCHANGE_STEPS: u64 = 1_200_000;

/// The same for barriers of a block that are missing.
pub(crate) const MAX_BLOCK_STEPS: u64 = 3_000_000;

/// The same for accesses to global memory that nothing orders.
pub(crate) const MAX_GRID_STEPS: u64 = 2_000_000;

/// Most instructions of a thread, on average, in a run that searches for those.
pub(crate) const MAX_BLOCK_THREAD_STEPS: u64 = 4_000;

/// The same in a run that shows whether something depends on a value that is read: sums are used after the loop.
pub(crate) const MAX_USE_THREAD_STEPS: u64 = 16_000;

/// Runs in a row that show nothing new of the exchanges of a kernel, after which no more are made with a block.
pub(crate) const MAX_IDLE_EXCHANGE_RUNS: usize = 24;

/// The same for barriers of a block that are missing, of which each run executes all warps.
pub(crate) const MAX_IDLE_BLOCK_RUNS: usize = 8;

/// Most instructions that are run to find threads that wait for ever, with a group of blocks.
pub(crate) const MAX_PROTOCOL_STEPS: u64 = 12_000_000;

/// Most instructions of a thread, on average, in a run that searches for those: some rounds of a pipeline.
pub(crate) const MAX_PROTOCOL_THREAD_STEPS: u64 = 4_000;

/// Runs in a row that show nothing new, after which no more are made with a block.
pub(crate) const MAX_IDLE_PROTOCOL_RUNS: usize = 40;

/// Runs in a row that show nothing new about copies, after which no more are made with a block.
pub(crate) const MAX_IDLE_COPY_RUNS: usize = 6;

/// Most instructions that are run to find failures about copies, with a group of blocks.
pub(crate) const MAX_COPY_STEPS: u64 = 600_000;

/// Most accesses to shared memory and copies of a kernel and what it calls, for which failures about copies are searched for.
pub(crate) const MAX_COPY_ACCESSES: usize = 512;

/// Most operations on barriers of a kernel and what it calls, and most calls that lead to them, for which threads that wait for ever are
/// searched for.
pub(crate) const MAX_PROTOCOL_OPERATIONS: usize = 512;

/// Deepest chain of calls that leads to such an operation.
pub(crate) const MAX_PROTOCOL_DEPTH: usize = 16;

/// Most instructions that are run to find accesses that leave arrays, with a group of blocks.
pub(crate) const MAX_ARRAY_STEPS: u64 = 300_000;

/// The same for accesses that leave arrays: it takes a size of the array's own to leave it.
pub(crate) const MAX_IDLE_ARRAY_RUNS: usize = 40;

/// The same for accesses to global memory that nothing orders, of which each scenario is run with several contents of memory.
pub(crate) const MAX_IDLE_GRID_RUNS: usize = 16;

/// Number of groups of blocks without a failure after which no more groups are tried.
pub(crate) const MAX_RIGHT_GROUPS: usize = 3;

/// Most places of a kernel, in the order of its text, that a witness is searched for.
pub(crate) const MAX_SEARCHED_SITES: usize = 300;

/// Most classes of places of a kernel that are searched one by one.
pub(crate) const MAX_SITE_CLASSES: usize = 4;

/// Most steps of the run of a witness that are reported.
pub(crate) const MAX_WITNESS_STEPS: usize = 80;

/// Runs in which the content of memory changed nothing, after which it is left unknown.
pub(crate) const MAX_IDLE_MEMORY: usize = 4;

/// Most scenarios, one after the other, whose runs go as earlier ones did, before the search ends.
pub(crate) const MAX_SCENARIOS_ALIKE: usize = 5;

/// Most consecutive runs that reach no suspicious place before the search ends.
pub(crate) const MAX_RUNS_ASTRAY: usize = 6;

/// Runs one after the other that end at one branch whose way is not known, before a site of interest, after which others would end there, too.
pub(crate) const MAX_RUNS_STUCK: usize = 6;

/// Those with other blocks, after so many with the first.
pub(crate) const MORE_RUNS_STUCK: usize = 2;

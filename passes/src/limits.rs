//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Fewest branches, calls, barriers and collectives of functions that count as instances of one source for their potential findings
/// because they have the same in the same order.
pub(crate) const LEAST_CODE: usize = 64;

/// Most names of functions that the identity of a group of findings has.
pub(crate) const MAX_IDENTITY_NAMES: usize = 16;

/// Longest text of a source line in the identity of a group of findings, in bytes.
pub(crate) const MAX_IDENTITY_LINE: usize = 240;

/// Largest file of a baseline, in bytes.
pub(crate) const MAX_BASELINE_BYTES: usize = 64 << 20;

/// Most entries of a baseline.
pub(crate) const MAX_BASELINE_ENTRIES: usize = 1 << 17;

/// Longest text in an entry of a baseline, in bytes.
pub(crate) const MAX_BASELINE_TEXT: usize = 16 << 10;

/// Longest message that an entry of a baseline keeps for its readers, in bytes.
pub(crate) const MAX_BASELINE_MESSAGE: usize = 240;

/// Most functions of an entry of a baseline that is read.
pub(crate) const MAX_BASELINE_NAMES: usize = 64;

/// Most inputs of an entry of a baseline; a count stands for the rest.
pub(crate) const MAX_BASELINE_INPUTS: usize = 1024;

/// Longest piece of an input's line that a finding carries for showing, in bytes.
pub(crate) const SHOWN_LINE_BYTES: usize = 240;

/// Definitions that are followed from the address of a load to a parameter.
pub(crate) const MAX_POINTER_STEPS: usize = 32;

/// Most bytes of the reports that are kept in a folder from run to run.
pub(crate) const REPORT_CACHE_BYTES: u64 = 1 << 30;

/// Most findings of one input; a count stands for the rest. Each takes about 2 KB, and makes as much of a report.
pub(crate) const MAX_FINDINGS: usize = 1 << 16;

/// Most syntax errors of one input that become findings; a note counts the rest.
pub(crate) const SHOWN_SYNTAX_ERRORS: usize = 20;

/// Most kernels, images or names that one finding lists; a count stands for the rest.
pub(crate) const SHOWN_NAMES: usize = 8;

/// Most calls, one within the other, that the operands of a warp collective are followed through to those who pass them…
pub(crate) const MAX_OPERAND_CALLS: usize = 4;

/// … and most such calls in total that are followed for one collective.
pub(crate) const MAX_OPERAND_CHAINS: usize = 256;

/// Most images of one container that are compared with each other. Real ones have as many as there are targets.
pub(crate) const MAX_COMPARED_IMAGES: usize = 256;

/// Most kernels of a finding whose images are named in it.
pub(crate) const MAX_NAMED_FORMS: usize = 64;

/// Most symbols of an input that are exported and should not be. More are not listed.
pub(crate) const MAX_EXPORTED_SYMBOLS: usize = 10_000;

/// Most files of a package that are named as not what the policy allows. More are counted.
pub(crate) const MAX_POLICY_VIOLATIONS: usize = 1_000;

/// Most bytes of a file with metadata about wheel variants that are read.
pub(crate) const MAX_VARIANT_FILE_BYTES: usize = 4 << 20;

/// Most faults of such a file that are reported.
pub(crate) const MAX_VARIANT_FAULTS: usize = 32;

/// Most comments of one text that say that a finding does not count. Later ones are not seen.
pub(crate) const MAX_COMMENTS: usize = 1 << 14;

/// Longest reason of such a comment that is kept, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 1024;

/// Largest source file that lines are shown from and comments are looked for in, in bytes.
pub(crate) const SOURCE_BYTES: u64 = 32 << 20;

/// Most bytes of source files that are read for one run; later files count as not available.
pub(crate) const ALL_SOURCE_BYTES: u64 = 1 << 30;

/// Most source files that are read for one run, those that are not there among them.
pub(crate) const MAX_SOURCES: usize = 1 << 16;

/// Most findings that name an exception that no longer counts, each.
pub(crate) const MAX_EXPIRED_NOTES: usize = 4;

/// Most bytes of PTX of a link set in which calls are followed from one text to another: all of it is in memory at once.
pub(crate) const MAX_LINKED_BYTES: usize = 256 << 20;

/// Most instructions of functions of other inputs that are analysed with one text. Further functions count as unknown code.
pub(crate) const MAX_IMPORTED_INSTRUCTIONS: usize = 50_000;

/// Longest time that a process may spend on one module of LLVM IR, in seconds, unless `--timeout` says otherwise: a few for each
/// module…
pub(crate) const WORKER_SECONDS: u64 = 30;

/// … one more for as many of its bytes, which is a tenth of the speed at which LLVM reads text on a slow machine…
pub(crate) const WORKER_BYTES_PER_SECOND: u64 = 1 << 20;

/// … and this at most, in seconds.
pub(crate) const MAX_WORKER_SECONDS: u64 = 600;

/// Largest file of a ratchet, in bytes.
pub(crate) const MAX_RATCHET_BYTES: usize = 256 << 20;

/// Most pinnings that the file of a ratchet keeps the reasons of.
pub(crate) const MAX_RATCHET_PINS: usize = 100;

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

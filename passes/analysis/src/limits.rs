//! Limits of this crate, by name. Exceeding one is a finding or a documented loss of precision, never a panic.

/// Most calls between a collective, or a use of an address, and the place that decides its operands, in a chain of functions
/// that pass them on as arguments.
pub(crate) const MAX_CALL_DEPTH: usize = 8;

/// Most instructions that a value is traced back through, one after the other ([`crate::definitions::Definitions::trace_value`]).
pub(crate) const MAX_TRACE_STEPS: usize = 16;

/// Most chains of calls analysed for one collective.
pub(crate) const MAX_CALL_CHAINS: usize = 256;

/// Most work of a forward analysis over one body, as a multiple of its instructions and blocks. Lattices here are low;
/// reaching it means giving up on the body, not looping.
pub(crate) const MAX_DATAFLOW_ROUNDS: usize = 64;

/// Most registers that one question about constants follows. Those beyond are unknown.
pub(crate) const MAX_SLICE_REGISTERS: usize = 4_096;

/// Most instructions visited while analysing the calling contexts of one module's collectives.
pub(crate) const MAX_CONTEXT_INSTRUCTIONS: usize = 100_000_000;

/// Most lattice elements that one solution about constants keeps: blocks times registers of the slice.
pub(crate) const MAX_SOLUTION_CELLS: usize = 8_000_000;

/// Most instructions that the provenance of one body's addresses is followed through. Beyond, the body's addresses are
/// unknown.
pub(crate) const MAX_PROVENANCE_NODES: usize = 1_000_000;

/// Most rounds over the nodes of one body. An element can change four times at most, and rounds follow the order of
/// the input, so real code settles within a handful.
pub(crate) const MAX_PROVENANCE_ROUNDS: usize = 32;

/// Most blocks visited in one body to find which definitions of its rewritten registers reach which block. Beyond, all
/// of a register's definitions reach all of its uses.
pub(crate) const MAX_REACHING_STEPS: usize = 4_000_000;

/// Most accesses, each in a block of its own, that accesses outside the same objects are compared with in one body. Beyond,
/// nothing is definite.
pub(crate) const MAX_OBJECT_STEPS: usize = 4_000_000;

/// Most operations that an address is followed through to the objects that it may be based on, the nearest first. Objects beyond
/// are not found.
pub(crate) const MAX_BASE_STEPS: usize = 64;

/// Most facts from the space tests of one body. Beyond, a test gives no fact.
pub(crate) const MAX_SPACE_FACTS: usize = 256;

/// Most blocks above a use that are visited to find the first one that is executed exactly when the use is.
pub(crate) const MAX_CONDITION_BLOCKS: usize = 64;

/// Most instructions that a predicate is decomposed through, and most copies that a value is followed through.
pub(crate) const MAX_PREDICATE_STEPS: usize = 16;

/// Most operations that the value which decides a branch is computed through, …
pub(crate) const MAX_DECIDED_STEPS: usize = 128;

/// … and most operands of one.
pub(crate) const MAX_DECIDED_USES: usize = 8;

/// Most times that the blocks which a call reaches are computed again, with the remaining definitions.
pub(crate) const MAX_SETTLE_ROUNDS: usize = 4;

/// Most demands of one function on its callers' arguments. Beyond, calls are not compared with them.
pub(crate) const MAX_DEMANDS: usize = 256;

/// Bytes from address 0 up that hold no object: an access there is to a field or an element of an object at a null pointer.
pub(crate) const NULL_PAGE: i64 = 4_096;

/// Most instructions between a store to a variable and a load that reads it back, for the load to be followed.
pub(crate) const MAX_RELOAD_DISTANCE: usize = 32;

/// Most edges, and pairs of barriers, that are followed in one solution about lanes to find which collectives are executed
/// between the same barriers. Beyond, any may be.
pub(crate) const MAX_PHASE_STEPS: usize = 1_000_000;

/// Most nodes and instructions that are visited in one solution about lanes to find uniform branches. Beyond, branches count
/// as not uniform.
pub(crate) const MAX_UNIFORM_STEPS: usize = 1_000_000;

/// Most uniform branches between two barriers whose outcomes are analysed one by one: all combinations of them are.
pub(crate) const MAX_CHOSEN_BRANCHES: usize = 4;

/// Most instructions in the computation of a loop exit's condition that are visited to see whether thread numbers alone
/// decide it.
pub(crate) const MAX_EXIT_STEPS: usize = 256;

/// Rounds of a loop that are analysed one by one, if these suffice, …
pub(crate) const FEW_ROUNDS: u32 = 8;

/// The first rounds of a loop that are analysed one by one for exchanges: most pairs are in two rounds that follow each other.
pub(crate) const EXCHANGE_ROUNDS: u32 = 4;

/// … and most of them.
pub(crate) const MAX_ROUNDS: u32 = 40;

/// Most nodes of all rounds of a loop that are analysed one by one. Larger loops are analysed as a whole.
pub(crate) const MAX_ROUND_NODES: usize = 8_192;

/// Most loops of one kernel whose rounds are analysed one by one, each loop separately.
pub(crate) const MAX_COUNTED_LOOPS: usize = 8;

/// Most pieces of the objects behind its parameters that a function may touch, those of its callees included. If a function
/// touches more, its effects are unknown.
pub(crate) const MAX_TOUCHED_PIECES: usize = 128;

/// Deepest chain of calls that the lane analysis inlines, or searches for a witness.
pub(crate) const MAX_VIRTUAL_INLINE_DEPTH: usize = 12;

/// Most chains of calls in the code of one kernel after inlining.
pub(crate) const MAX_INLINE_CONTEXTS: usize = 4_096;

/// Most nodes (pieces of blocks) in the code of one kernel after inlining. Larger kernels are not analysed.
pub(crate) const MAX_INLINE_NODES: usize = 60_000;

/// Most blocks, in a module, of functions that no kernel reaches, each with all its callees, that the lane analysis visits
/// to analyse code for the first time. Beyond, such functions are not analysed.
pub(crate) const MAX_LIBRARY_BLOCKS: usize = 500_000;

/// The same for functions whose callees have all been analysed: libraries have thousands of them.
pub(crate) const MAX_REPEATED_BLOCKS: usize = 100_000;

/// Most instructions of a function that is followed only for its result.
pub(crate) const MAX_HELPER_INSTRUCTIONS: usize = 100;

/// Most blocks and registers of functions, and functions that others call, that are visited again for a caller to find the
/// kernels of a module that need the lane analysis. Beyond, more of them do.
pub(crate) const MAX_SCREEN_STEPS: usize = 100_000_000;

/// Step budget of the reachability screen, for each instruction of a function. Beyond, no more blocks are found.
pub(crate) const REACH_STEPS_PER_INSTRUCTION: usize = 32;

/// Most nested definitions that depend on each other in such a search. Beyond, anything may be known.
pub(crate) const MAX_KNOWABLE_DEPTH: usize = 64;

/// Instructions and blocks of a function for each step of the searches that begin inside it, all together.
pub(crate) const INSTRUCTIONS_PER_INNER_STEP: usize = 2;

/// Most searches that begin inside a function.
pub(crate) const MAX_INNER_SEARCHES: usize = 32;

/// Most warps of a kernel that are analysed one by one.
pub(crate) const MAX_SCREENED_WARPS: u32 = 2;

/// Most rounds of the lane analysis over one kernel. A round visits only nodes whose input has changed, so late ones are
/// short: a kernel with 31 levels of loops and 6,000 nodes takes 32, the last of 3 nodes.
pub(crate) const MAX_LANE_ROUNDS: usize = 256;

/// Most node visits in all rounds over one kernel, as a multiple of its nodes.
pub(crate) const MAX_LANE_VISITS: usize = 32;

/// Deepest nesting of predicates and masks that are computed from each other.
pub(crate) const MAX_MEANING_DEPTH: usize = 32;

/// Most loops that the instructions of a value with a known meaning are in.
pub(crate) const MAX_MEANING_LOOPS: usize = 8;

/// Most products in a sum of the coordinates of a thread.
pub(crate) const MAX_MEANING_TERMS: usize = 8;

/// Most dominators of a collective whose branches are examined for facts about the arriving lanes.
pub(crate) const MAX_FACT_STEPS: usize = 4_096;

/// Most instructions before a load of a slot among which the store of its value is searched.
pub(crate) const MAX_STEPS_TO_STORE: usize = 16;

/// Rounds after which values that still change become unknown.
pub(crate) const LANE_ROUNDS_TO_WIDEN: usize = 12;

/// Most lane vectors of one kernel.
pub(crate) const MAX_LANE_VECTORS: usize = 400_000;

/// Most lane vectors of one solution that are kept for the next one of the kernel.
pub(crate) const MAX_SHARED_VECTORS: usize = 50_000;

/// Most cells of the states of one kernel's lane analysis: nodes times registers with several definitions.
pub(crate) const MAX_LANE_CELLS: usize = 16_000_000;

/// Steps of following divergent branches to the node where their paths meet, in addition to a few for each node. After that,
/// every join counts as divergent.
pub(crate) const MAX_SYNC_STEPS: usize = 1_000_000;

/// Most potential findings of one kind about lanes at one instruction, over all kernels and calls that lead there. The last
/// of them counts the rest.
pub(crate) const MAX_POTENTIAL_CONTEXTS: usize = 256;

/// Searches for witnesses for each thread in a large module. Each search gets a share of the kernels.
pub(crate) const SEARCHES_PER_THREAD: usize = 8;

/// Kernels whose lanes are analysed before any of their findings are left out.
pub(crate) const ROOTS_AT_ONCE: usize = 512;

/// Most places where lanes leave the paths to a collective that are compared to name the one where most do.
pub(crate) const MAX_SHOWN_DEPARTURES: usize = 1_024;

/// Most collectives before one, and after it, that it is compared with to find where the missing lanes are. Beyond, they are
/// reported as missing.
pub(crate) const MAX_NEIGHBOURS: usize = 128;

/// Step budget of the search whether two of them lie on one path, for one kernel. Beyond, they count as if they did.
pub(crate) const MAX_SIBLING_STEPS: usize = 4_000_000;

/// Step budget of the search for the paths of lanes that have queried membership, for one kernel. Beyond, findings that
/// depend on it are not definite.
pub(crate) const MAX_MEMBERSHIP_STEPS: usize = 4_000_000;

/// Step budget of the search for the edges by which lanes leave the paths to a collective, for one kernel.
pub(crate) const MAX_PLACEMENT_STEPS: usize = 4_000_000;

/// Most instructions and values that are visited to find uses of values that the shuffles of one kernel read from lanes that
/// do not take part. Beyond, no use is certain.
pub(crate) const MAX_USE_STEPS: usize = 250_000;

/// The same for one shuffle: such a value is used nearby, or not at all.
pub(crate) const MAX_USE_STEPS_OF_ONE: usize = 10_000;

/// Most constant objects of a module whose contents are kept.
pub(crate) const MAX_CONSTANT_OBJECTS: usize = 256;

/// Most block sizes that one kernel is analysed for in addition to the assumed ones.
pub(crate) const MAX_THRESHOLDS: usize = 4;

/// Most bytes by lane, in units of the smallest access, that the exchanges of one segment are searched through. Beyond, it has none.
pub(crate) const MAX_EXCHANGE_PLACES: usize = 1 << 18;

/// Most blocks and accesses that the screen for exchanges visits in one function. Beyond, the function is analysed.
pub(crate) const MAX_EXCHANGE_STEPS: usize = 1 << 20;

/// Most instructions of a function that is searched for exchanges: those with more are made by unrolling, and take most of the time.
pub(crate) const MAX_EXCHANGE_INSTRUCTIONS: usize = 2048;

/// Most accesses of one segment, with known and unknown addresses, that possible exchanges are searched among. Beyond, it
/// has none.
pub(crate) const MAX_LOOSE_ACCESSES: usize = 256;

/// Most pairs of accesses that are reported for the exchanges of one kernel.
pub(crate) const MAX_EXCHANGE_PAIRS: usize = 256;

/// Most branches that all threads of a block take alike, on one path between two barriers. Beyond, code is not certain.
pub(crate) const MAX_BLOCK_DECISIONS: usize = 6;

/// Most groups of paths, by such branches, that arrive at one place. Beyond, code is not certain.
pub(crate) const MAX_BLOCK_PATHS: usize = 16;

/// Most warps of a block whose accesses are compared with each other.
pub(crate) const MAX_BLOCK_WARPS: usize = 4;

/// Most warps of a block with barriers that count threads: all of them are analysed.
pub(crate) const MAX_NAMED_WARPS: u32 = 16;

/// Most instructions, other than moves, that one operand of a warp collective is followed through to find its origin.
pub(crate) const MAX_OPERAND_STEPS: usize = 32;

/// Most definitions that are visited to find the parameters that one value may be loaded from.
pub(crate) const MAX_HELD_STEPS: usize = 64;

/// Most instructions that an index into a dynamic shared array is followed through.
pub(crate) const MAX_INDEX_STEPS: usize = 16;

/// Most uses of dynamic shared arrays in one function that are compared with each other.
pub(crate) const MAX_SHARED_USES: usize = 256;

/// Largest shared array whose bytes are compared with those that threads store: all that a block can have.
pub(crate) const MAX_COVERED_BYTES: u64 = 256 << 10;

/// Most steps of comparing what the threads of a block read of its shared arrays with what they store: bytes of accesses, and blocks of code
/// on the paths of a thread.
pub(crate) const MAX_COVER_STEPS: usize = 4 << 20;

/// Most reads of an array whose bytes no thread stores for which a use is sought.
pub(crate) const MAX_UNCOVERED_READS: usize = 64;

/// Most passes over a function to find the registers that hold addresses of such arrays.
pub(crate) const MAX_SHARED_ROUNDS: usize = 8;

/// Most nested calls through which such uses are followed.
pub(crate) const MAX_SHARED_CALLS: usize = 32;

/// Most blocks before a misaligned access whose branches are examined. Beyond, it is not definite.
pub(crate) const MAX_ALIGNMENT_BLOCKS: usize = 512;

/// Most operations in the conditions of these branches that are examined. Beyond, it is not definite.
pub(crate) const MAX_ALIGNMENT_STEPS: usize = 2_048;

/// Most accesses in loops of one kernel whose addresses are examined for the first time that a thread makes them.
pub(crate) const MAX_FIRST_TIMES: usize = 64;

/// Most calls, and calls in called functions, of one kernel whose callees are searched for accesses out of bounds.
pub(crate) const MAX_FOLLOWED_CALLS: usize = 64;

/// Most accesses of one kernel to other CTAs of the cluster that are examined, and most pairs of one and an operation that may order it.
pub(crate) const MAX_PEER_ACCESSES: usize = 64;
pub(crate) const MAX_PEER_STEPS: usize = 20_000;

/// Most triples of stores, loads and waits of one kernel that are examined for arrivals of one lane for its warp.
pub(crate) const MAX_EARLY_ARRIVALS: usize = 20_000;

/// Most pairs of a load and a wait where reads of the address of tensor memory are examined.
pub(crate) const MAX_ADDRESS_READS: usize = 100_000;

/// Most accesses through pointers of one kernel that are compared with each other about a wait for other grids.
pub(crate) const MAX_GRID_ACCESSES: usize = 1_000;

/// Most pairs of initialisations of mbarriers and writes to shared memory that are compared in one kernel.
pub(crate) const MAX_DATA_OVER_BARRIERS: usize = 20_000;

/// Most steps to count the threads that may reach the arrivals of one handover: blocks of the kernel times lanes.
pub(crate) const MAX_HANDOVER_STEPS: usize = 4_000_000;

/// Most pairs of barriers of the block and writes to shared memory or waits of one kernel, and of writes and waits after one barrier, that
/// are examined for copies of other threads.
pub(crate) const MAX_BEHIND_BARRIERS: usize = 20_000;

/// Most pairs of accesses of one kernel to tensor memory and signals, with the waits for each, that are examined for one kind of accesses.
pub(crate) const MAX_TENSOR_STEPS: usize = 20_000;

/// Most blocks visited to find the branches by which a kernel ends without freeing its tensor memory.
pub(crate) const MAX_LEAK_STEPS: usize = 100_000_000;

/// Most operations in the address computations of one kernel's stores. Beyond, it may write any memory.
pub(crate) const MAX_LASTING_STEPS: usize = 100_000;

/// Most moves that operands are followed through to find whether they are one value. Beyond, they may be.
pub(crate) const MAX_SAME_STEPS: usize = 128;

/// Most nested operations that are compared for it. Beyond, they may be the same.
pub(crate) const MAX_SAME_DEPTH: usize = 6;

/// Most instructions that an address is followed through to the memories that it may point into. Beyond, it may point anywhere.
pub(crate) const MAX_POINTED_STEPS: usize = 256;

/// Most functions that chains of calls enter with different constants, in the search for the asynchronous operations of one
/// kernel. Beyond, arguments are unknown, …
pub(crate) const MAX_ASYNC_FRAMES: usize = 1_024;

/// … nor in chains of more calls.
pub(crate) const MAX_ASYNC_CHAIN: usize = 32;

/// Most calls that are kept of those that enter a function with the same constants.
pub(crate) const MAX_FRAME_ENTRIES: usize = 32;

/// Most blocks of a function for which the analysis decides whether a thread certainly reaches an operation. In larger ones,
/// it is not known.
pub(crate) const MAX_ASKED_STEPS: usize = 512;

/// Most definitions and blocks that are examined to decide whether threads reach an instruction alike. Beyond, they may not.
pub(crate) const MAX_ALIKE_STEPS: usize = 100_000;

/// Most definitions through which an address of an asynchronous operation is followed to write it as a sum.
pub(crate) const MAX_SUM_STEPS: usize = 64;

/// Most addends of such a sum.
pub(crate) const MAX_SUM_ATOMS: usize = 8;

/// Most instructions of a function that may count as one that only returns an argument.
pub(crate) const MAX_HANDED_INSTRUCTIONS: usize = 32;

/// Most loops of one body whose later rounds are searched for in-flight copies.
pub(crate) const MAX_ASYNC_LOOPS: usize = 64;

/// Most copies of one body that are followed until they are complete. Beyond, nothing is known of any.
pub(crate) const MAX_PENDING_COPIES: usize = 1_024;

/// Most block visits of the dataflow over the states of a body's copies. Beyond, nothing is known of any.
pub(crate) const MAX_PENDING_STEPS: usize = 100_000;

/// Most branches before an access whose conditions restrict the threads that make it. Beyond, others may make it, too.
pub(crate) const MAX_CONTENTION_GUARDS: usize = 64;

/// Most instructions of a function whose accesses to memory that several threads write are examined.
pub(crate) const MAX_CONTENTION_INSTRUCTIONS: usize = 20_000;

/// Most pairs of a plain access and an atomic in one function that are compared. Others are left out.
pub(crate) const MAX_CONTENTION_PAIRS: usize = 4_096;

/// Most upper bounds of registers that comparisons give at one place.
pub(crate) const MAX_REGISTER_BOUNDS: usize = 32;

/// Most registers, over all differences in a kernel that may be remainders, whose values are computed to see it.
pub(crate) const MAX_REMAINDER_WORK: usize = 1 << 23;

/// Most places of barriers that a warp may reach, if barriers of its kernel count threads. Beyond, nothing is known of them.
pub(crate) const MAX_BARRIER_STOPS: usize = 64;

/// Most visits of nodes by which the order of these places in one warp is found. Beyond, nothing is known of them.
pub(crate) const MAX_BARRIER_STEPS: usize = 4_000_000;

/// The rounds of loops in which warps are followed through barriers that count threads.
pub(crate) const MAX_BARRIER_ROUNDS: usize = 2;

/// Most `setmaxnreg` that a kernel executes, those of called functions at each call. Beyond, nothing is known of its registers.
pub(crate) const MAX_REGISTER_STEPS: usize = 256;

/// Most indexes of a module that are said to wrap.
pub(crate) const MAX_INDEX_LIMITS: usize = 10_000;

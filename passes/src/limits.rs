//! Every limit of the analysis library, by name. Exceeding one is a finding or a documented loss of precision,
//! never a panic.

/// Longest piece of an input's line that a finding carries for showing, in bytes.
pub const SHOWN_LINE_BYTES: usize = 240;

/// Most findings of one input; a count stands for the rest. Each takes about 2 KB, and makes as much of a report.
pub const MAX_FINDINGS: usize = 1 << 16;

/// Most syntax errors of one input that become findings; a note counts the rest.
pub const SHOWN_SYNTAX_ERRORS: usize = 20;

/// Longest mangled name that is demangled, in bytes. Real kernels of template libraries stay under 8 KiB.
pub const MANGLED_NAME_BYTES: usize = 16 * 1024;

/// Longest demangled name, in bytes.
pub const DEMANGLED_NAME_BYTES: usize = 64 * 1024;

/// Deepest nesting of a name that is demangled.
pub const DEMANGLE_DEPTH: u32 = 96;

/// Most pieces that a demangled name is put together from.
pub const DEMANGLE_STEPS: usize = 64 * 1024;

/// Deepest chain of inlined calls that a debug location is followed through.
pub const MAX_INLINE_DEPTH: usize = 64;

/// Statements from which on the functions of one module are lowered and checked in parallel.
pub const PARALLEL_STATEMENTS: usize = 20_000;

/// Steps of loops in analyses between two looks at the clock: some ten microseconds.
pub const STEPS_BETWEEN_CLOCKS: u32 = 4_096;

/// Most calls between a collective, or a use of an address, and the place that decides its operands, in a chain of
/// functions that hand them on as arguments.
pub const MAX_CALL_DEPTH: usize = 8;

/// Most chains of calls looked at for one collective.
pub const MAX_CALL_CHAINS: usize = 256;

/// Most work of a forward analysis over one body, as a multiple of its instructions and blocks. Lattices here are low;
/// reaching it means giving up on the body, not looping.
pub const MAX_DATAFLOW_ROUNDS: usize = 64;

/// Most comments in front of an instruction that are looked at for the one that begins its inline assembly.
pub const MAX_ASSEMBLY_COMMENTS: usize = 1_024;

/// Most instructions that are passed over on the way up from a guard, for what branches before it decide.
pub const MAX_WAY_INSTRUCTIONS: usize = 256;

/// Most blocks on that way.
pub const MAX_WAY_BLOCKS: usize = 16;

/// How often edges are cut, as far as cut edges leave others to be cut.
pub const MAX_SETTLE_ROUNDS: usize = 4;

/// Most registers that one question about constants follows. Those beyond are unknown.
pub const MAX_SLICE_REGISTERS: usize = 4_096;

/// Most instructions passed over while looking at the calling contexts of one module's collectives.
pub const MAX_CONTEXT_INSTRUCTIONS: usize = 100_000_000;

/// Most labels of a table that each jump through it gets an edge to. Of a longer one, only the first does, and the others
/// share one block that goes to any of them.
pub const MAX_COPIED_TARGETS: usize = 16;

/// Most names that nothing declares that are kept for one body.
pub const MAX_UNDECLARED: usize = 64;

/// Most lattice elements that one solution about constants keeps: blocks times registers of the slice.
pub const MAX_SOLUTION_CELLS: usize = 8_000_000;

/// Most instructions that the provenance of one body's addresses is followed through. Beyond, nothing is known of the
/// body's addresses.
pub const MAX_PROVENANCE_NODES: usize = 1_000_000;

/// Most rounds over the nodes of one body. An element can change four times at most, and rounds follow the order of
/// the input, so real code settles within a handful.
pub const MAX_PROVENANCE_ROUNDS: usize = 32;

/// Most blocks visited in one body to find which definitions of its rewritten registers reach which block. Beyond, all
/// of a register's definitions reach all of its uses.
pub const MAX_REACHING_STEPS: usize = 4_000_000;

/// Most accesses, each in a block of its own, that accesses outside the same objects are held against in one body. Beyond,
/// nothing is definite.
pub const MAX_OBJECT_STEPS: usize = 4_000_000;

/// Most facts that the space tests of one body give. Beyond, a test tells nothing.
pub const MAX_SPACE_FACTS: usize = 256;

/// Most blocks above a use that are looked at for what parameters have to be there.
pub const MAX_CONDITION_BLOCKS: usize = 64;

/// Most instructions that a predicate is taken apart through, and most copies that a value is followed through.
pub const MAX_PREDICATE_STEPS: usize = 16;

/// Most demands that one function makes of what its callers pass. Beyond, calls are not held against it.
pub const MAX_DEMANDS: usize = 256;

/// Most words of a table of virtual functions that is looked at.
pub const MAX_TABLE_WORDS: u64 = 4_096;

/// Bytes from address 0 up that nothing lies in: what is accessed there is a field of, or an element behind, a null
/// pointer.
pub const NULL_PAGE: i64 = 4_096;

/// Most instructions between a store to a variable and a load that reads it back, for the load to be followed.
pub const MAX_RELOAD_DISTANCE: usize = 32;

/// Deepest chain of calls that the lane analysis puts in place of calls, or looks for a witness through.
pub const MAX_VIRTUAL_INLINE_DEPTH: usize = 12;

/// Most chains of calls in the code of one kernel as the lane analysis sees it.
pub const MAX_INLINE_CONTEXTS: usize = 4_096;

/// Most nodes (pieces of blocks) in the code of one kernel as the lane analysis sees it. Larger kernels are left alone.
pub const MAX_INLINE_NODES: usize = 60_000;

/// Most blocks of the functions that no kernel reaches, each with all that it calls, that the lane analysis looks at in a
/// module for the sake of code that it has not looked at. Beyond, they are left alone.
pub const MAX_LIBRARY_BLOCKS: usize = 500_000;

/// The same for functions that only call what has been looked at: libraries have thousands of them.
pub const MAX_REPEATED_BLOCKS: usize = 100_000;

/// Most instructions of a function that is followed for its result alone.
pub const MAX_HELPER_INSTRUCTIONS: usize = 100;

/// Most blocks and registers of functions, and functions that others call, that are looked at once more for a caller to
/// find the kernels of a module that need the lane analysis. Beyond, more of them do.
pub const MAX_SCREEN_STEPS: usize = 100_000_000;

/// Most steps of a look for what all lanes may come to, for each instruction of a function. Beyond, no more is found.
pub const LOOK_STEPS_PER_INSTRUCTION: usize = 32;

/// Most definitions that hang off each other in such a look. Beyond, anything may be known.
pub const MAX_LOOK_DEPTH: usize = 64;

/// Instructions and blocks of a function for each step of the looks that begin inside it, all together.
pub const INSTRUCTIONS_PER_INNER_STEP: usize = 2;

/// Most looks that begin inside a function.
pub const MAX_INNER_LOOKS: usize = 32;

/// Most warps of a kernel that are looked at one by one.
pub const MAX_LOOK_WARPS: u32 = 2;

/// Most rounds of the lane analysis over one kernel.
pub const MAX_LANE_ROUNDS: usize = 16;

/// Most lane vectors of one kernel.
pub const MAX_LANE_VECTORS: usize = 400_000;

/// Most cells of the states of one kernel's lane analysis: nodes times registers with several definitions.
pub const MAX_LANE_CELLS: usize = 16_000_000;

/// Steps of following divergent branches to where their ways meet, beyond a few a node. After that, every join counts
/// as divergent.
pub const MAX_SYNC_STEPS: usize = 1_000_000;

/// Most potential findings of one kind about lanes at one instruction, over all kernels and calls that lead there. The last
/// of them counts the rest.
pub const MAX_POTENTIAL_CONTEXTS: usize = 256;

/// Kernels whose lanes are looked at before any of their findings are left out.
pub const ROOTS_AT_ONCE: usize = 512;

/// Most places where lanes leave the way to a collective that are looked at to name the one where most do.
pub const MAX_SHOWN_DEPARTURES: usize = 1_024;

/// Most collectives before one, and after it, that it is held against to say where lanes went instead of coming to it.
/// Beyond, they are said to be missing.
pub const MAX_NEIGHBOURS: usize = 128;

/// Steps of looking whether two of them lie on one way, for one kernel. Beyond, they count as if they did.
pub const MAX_SIBLING_STEPS: usize = 4_000_000;

/// Steps of looking where lanes that have asked about others may go, for one kernel. Beyond, what hangs off that is not
/// definite.
pub const MAX_ASKED_STEPS: usize = 4_000_000;

/// Steps of looking where lanes leave the way to a collective, for one kernel.
pub const MAX_PLACEMENT_STEPS: usize = 4_000_000;

/// Most instructions and values that are looked at for uses of what the shuffles of one kernel read from lanes that do not
/// take part. Beyond, no use is certain.
pub const MAX_USE_STEPS: usize = 1_000_000;

/// Longest piece of a symbol's name in a message, in bytes. The payload has up to [`MANGLED_NAME_BYTES`] of it.
pub const SHOWN_NAME_BYTES: usize = 400;

/// Deepest nesting of scopes in the debug information of LLVM IR that a name is looked for in.
pub const MAX_SCOPE_DEPTH: usize = 256;

/// Most uses of a parameter passed by value in LLVM IR that are looked at.
pub const MAX_PARAMETER_USES: usize = 10_000;

/// Most types that a variable's type is followed through in the debug information of LLVM IR.
pub const MAX_TYPE_DEPTH: usize = 64;

/// Most parts of one initializer, or of one constant expression, in LLVM IR that are looked at.
pub const MAX_INITIALIZER_NODES: usize = 100_000;

/// Deepest constant expression in LLVM IR that is followed.
pub const MAX_CONSTANT_DEPTH: usize = 64;

/// Most cases of a `switch` in LLVM IR that become comparisons; one with more is a jump to one of its targets.
pub const MAX_SWITCH_COMPARISONS: usize = 64;

/// Most elements of a structure in LLVM IR that are followed one by one.
pub const MAX_AGGREGATE_PARTS: usize = 32;

/// Longest inline assembly that is read, in bytes.
pub const MAX_ASSEMBLY_BYTES: usize = 1 << 20;

/// Most memory of a process that reads LLVM IR, in bytes of address space.
pub const MAX_WORKER_BYTES: u64 = 16 << 30;

/// Longest that a process may look at one module of LLVM IR, in seconds, unless `--timeout` says otherwise: a few for
/// each module…
pub const WORKER_SECONDS: u64 = 30;

/// … one more for as many of its bytes, which is a tenth of the speed at which LLVM reads text on a slow machine…
pub const WORKER_BYTES_PER_SECOND: u64 = 1 << 20;

/// … and this at most, in seconds.
pub const MAX_WORKER_SECONDS: u64 = 600;

/// How much longer it is waited for the analyses, which end by themselves when the time is over. LLVM does not.
pub const WORKER_GRACE: std::time::Duration = std::time::Duration::from_millis(500);
/// … and for the process itself to say that it is over, before it is ended from outside.
pub const WORKER_LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(2);

/// Longest that a worker may take to start, in seconds.
pub const WORKER_START_SECONDS: u64 = 30;

/// Largest image, unpacked, in bytes. The largest seen in production has 94 MB.
pub const MAX_IMAGE_BYTES: u64 = 512 << 20;

/// Images that unpack to more are looked at one after the other, so that memory does not grow with the threads.
pub const LARGE_IMAGE_BYTES: u64 = 64 << 20;

/// Largest buffer that a thread keeps for its next image, in bytes.
pub const KEPT_BUFFER_BYTES: usize = 16 << 20;

/// Files from this size on are mapped into memory, smaller ones are read. In bytes.
pub const MIN_MAPPED_BYTES: u64 = 4 << 20;

/// Most files that are mapped at a time; more are read.
pub const MAX_MAPPED_FILES: usize = 256;

/// Largest file that is looked at, in bytes. The largest library known has some 3 GB.
pub const MAX_FILE_BYTES: u64 = 16 << 30;

/// Most that is read into memory of what cannot be mapped: standard input, a pipe, a device. In bytes.
pub const MAX_READ_BYTES: u64 = 1 << 30;

/// Bytes between two looks at the clock while an input is read.
pub const READ_STEP_BYTES: u64 = 4 << 20;

/// Bytes between two looks at the clock while a file is searched for images.
pub const SEARCH_STEP_BYTES: usize = 64 << 20;

/// Most bytes that all images of one input unpack to, as a multiple of the input's size…
pub const MAX_UNPACKED_RATIO: u64 = 64;

/// … and what is allowed on top of that, in bytes.
pub const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// Most bytes that one byte of an LZ4 block stands for.
pub const MAX_LZ4_RATIO: u64 = 255;

/// Most bytes that one byte of a zstd frame stands for: a block of 128 KiB takes four bytes.
pub const MAX_ZSTD_RATIO: u64 = 32 << 10;

/// Largest window of a zstd frame, as a power of two: 128 MiB, which is what `zstd --long` writes. nvcc stays under 8 MiB.
pub const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// Most images of one input. cuFFT, the richest library known, has some 26,000.
pub const MAX_IMAGES: usize = 1 << 17;

/// Largest header of an entry of a fat binary, in bytes. Real ones stay under 512.
pub const MAX_ENTRY_HEADER_BYTES: u32 = 4_096;

/// Most bytes of compiler options that are kept of an entry.
pub const MAX_OPTIONS_BYTES: u32 = 1_024;

/// Most problems of one kind of trouble in a file that become findings; a last one counts the rest.
pub const SHOWN_FILE_PROBLEMS: usize = 20;

/// Longest name in a host file that is read, in bytes.
pub const MAX_SYMBOL_BYTES: usize = 16 * 1024;

/// Most bytes of a section with debug information of machine code that are looked at.
pub const MAX_DEBUG_BYTES: usize = 16 << 20;

/// Most bytes of the section that says how that information is laid out.
pub const MAX_ABBREVIATION_BYTES: usize = 1 << 20;

/// Most units of that information that are looked at.
pub const MAX_DEBUG_UNITS: usize = 64;

/// Most absolute paths that are kept of one image.
pub const SHOWN_PATHS: usize = 8;

/// Most kernels, images or names that one finding lists; a count stands for the rest.
pub const SHOWN_NAMES: usize = 8;

/// Most places that a finding names for the uses of one symbol, the first included; a count stands for the rest.
pub const SHOWN_USES: usize = 9;

/// Most images of one container that are compared with each other. Real ones have as many as there are targets.
pub const MAX_COMPARED_IMAGES: usize = 256;

/// Most bytes of names, attributes and code that are looked at in an ELF file, as a multiple of its size. In honest files
/// they do not overlap.
pub const MAX_OVERLAP: u64 = 16;

//! Accesses at addresses that the thread number decides, and that threads certainly make outside of the object.
//!
//! The threads are those of warp 0, which every launch has, and, if one shape of blocks is known, all of them; of several shapes, those of
//! all warps of the first row. Each warp is analysed separately:
//!
//! ```text
//! place(l)     the object and the offset that the address has in lane l of warp w, evaluated with the numbers of thread 32w + l
//! wrong        lanes l that certainly reach the block of the access (`certain_paths`), whose guard holds, and place(l) outside of the
//!              object
//! ```
//!
//! Dynamic shared memory is an object, too, if the size of every launch is known: then the greatest counts. Programs access it where their
//! parameters say that a launch has enough of it, so that its constant addresses are judged here, too, and not where other analyses judge
//! those of other objects, which take no branches into account.
//!
//! The rows of a matrix are accesses of the lanes that give their addresses (`LaneRows`); below sm_80 all lanes give valid ones (PTX ISA,
//! ldmatrix).
//!
//! In a loop, the values may also be those that a thread has when it makes the access for the first time.
//!
//! So the paths contain no unknown condition: every execution of the kernel with such threads makes the access. These
//! threads are known to exist if the shape of the blocks is known (if there are several, those that exist in all), or if a
//! collective that all paths to the access, or from it, lead through names all 32 lanes of the warp. Elsewhere the first
//! such thread is a threshold: the access is wrong in every block that has this thread. From 32 on that is reported only if
//! the code shows that blocks have it (`block_size`): arrays of as many elements as the block has threads are common. Called
//! functions are analysed as parts of a kernel (`frame`), with what they are passed.

mod frame;

use std::cell::{Cell, OnceCell};
use std::sync::{Arc, OnceLock};

use ptxcheck_ir::{
    Access, BlockId, Body, Function, FunctionId, InstructionId, Op, RowAddress, Rows, Space, SymbolId, Value,
    WARP,
};
use rustc_hash::FxHashSet;

use self::frame::{Frame, Warps, names_variable, reads_thread};
use crate::block_size;
use crate::entered_function::has_guarded_end;
use crate::lanes::{LaneRows, Lanes, Launch, ShapeSource, Site, Threshold, launches_of};
use crate::launches::{DynamicShared, MAX_BLOCK_THREADS};
use crate::limits::{MAX_FIRST_TIMES, MAX_FOLLOWED_CALLS};
use crate::provenance::ViolationKind;
use crate::provenance::extent::{Object, bounds_violation, certain_size};
use crate::shared::Shared;
use crate::thread_ends::{functions_that_may_end_threads, may_end_in_call};
use crate::value::{Atom, Evaluator, Linear, Source};

/// An access that threads of one warp make outside of an object, or not aligned.
#[derive(Clone, Debug)]
pub struct OutOfBoundsAccess {
    /// The kernel.
    pub kernel: FunctionId,
    /// The access, in the kernel or in a function that it calls.
    pub site: Site,
    /// The variable; `None` for a parameter of the kernel.
    pub symbol: Option<SymbolId>,
    /// The index of the parameter, if it is one.
    pub param: Option<u16>,
    /// The size of dynamic shared memory, if it is an array there that ends with that.
    pub dynamic: Option<DynamicShared>,
    /// [`ViolationKind::OutOfBounds`] or [`ViolationKind::Misaligned`].
    pub wrong: ViolationKind,
    /// The first warp of the block for which it is wrong.
    pub warp: u32,
    /// The lanes of that warp for which it is wrong.
    pub lanes: Lanes,
    /// The least and the greatest of their offsets, in bytes from the start of the object.
    pub offsets: (i64, i64),
    /// All threads of the warp that make the access have one address, and thread 0 of each block is one of them.
    pub is_same_in_all: bool,
    /// It is so when a thread makes the access for the first time; else each time.
    pub is_first_time: bool,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
    /// It is wrong in every block of more threads than this, and in no block of this size or smaller; `None` if the threads
    /// certainly exist.
    pub above: Option<Threshold>,
}

/// An access of a kernel to an array of certain size in shared memory, at an address that is computed.
#[derive(Clone, Copy, Debug)]
pub struct ComputedAccess {
    /// The kernel.
    pub function: FunctionId,
    /// The access.
    pub instruction: InstructionId,
    /// The array.
    pub symbol: SymbolId,
    /// The known or assumed launches of the kernel.
    pub launch: Launch,
}

/// The accesses of kernels to arrays of certain size in shared memory at computed addresses, in the order of the input: an address is the
/// sum of the array's and of any unknown values.
pub(crate) fn find_computed_accesses(module: &Shared<'_>) -> Vec<ComputedAccess> {
    let mut found = Vec::new();
    for (function, known, body) in module.module.bodies() {
        if !known.is_kernel() || known.is_damaged || module.deadline.is_over_at_step() {
            continue;
        }
        let names = |value: &Value| matches!(value, Value::Symbol(symbol, _) if module.module.symbol(*symbol).space == Space::Shared);
        if !body.values.iter().any(names) {
            continue;
        }
        let launch = Launch::common_launch(&known.launch, &launches_of(module, function, false));
        let analyses = module.function(function);
        let mut sums = Evaluator::new(Source::within_body(body, analyses), Linear::of_unknowns());
        for (at, instruction) in (0..).map(InstructionId::new).zip(&body.instructions) {
            let (Op::Access(access), &[address, ..]) = (instruction.op, body.uses(instruction)) else {
                continue;
            };
            if !matches!(access.space, Space::Shared | Space::Generic) || address.register().is_none() {
                continue;
            }
            let Some(sum) = sums.description_at_read(address, at) else {
                continue;
            };
            let terms = sums.domain().terms_of(sum.parts);
            let mut symbols = terms.iter().filter_map(|(atom, factor)| match atom {
                Atom::Symbol(symbol) => Some((*symbol, *factor)),
                _ => None,
            });
            if let (Some((symbol, 1)), None) = (symbols.next(), symbols.next())
                && terms.len() > 1
                && module.module.symbol(symbol).space == Space::Shared
                && certain_size(module, symbol).is_some_and(|size| size > 0)
                && analyses.is_reached(at)
            {
                found.push(ComputedAccess {
                    function,
                    instruction: at,
                    symbol,
                    launch,
                });
            }
        }
    }
    found
}

/// The accesses of a module that are out of bounds or not aligned, by kernel, in the order of the input. Those of a called function are
/// listed for the first kernel and the first call alone.
pub(crate) fn find_accesses_out_of_bounds(module: &Shared<'_>) -> Vec<OutOfBoundsAccess> {
    let ends = OnceLock::new();
    let screens = OnceLock::new();
    let of_kernel = |id, function: &Function<'_>, body| {
        let mut found = Vec::new();
        if !function.is_kernel() || function.is_damaged || module.deadline.is_over_at_step() {
            return found;
        }
        if let Some((kernel, warps)) = BoundsKernel::new(module, id, function, body, &screens) {
            kernel.find_in_function(&Frame::of_kernel(module, id, (body, warps)), &mut found);
        }
        let ends = || ends.get_or_init(|| functions_that_may_end_threads(module));
        if !found.is_empty() && may_end_in_call(module, body, ends()) {
            found.clear();
        }
        found
    };
    let mut outside = Vec::new();
    let mut known_in_callees = FxHashSet::default();
    for of_kernel in module.map_bodies(of_kernel) {
        let is_new = |access: &OutOfBoundsAccess| {
            let Site {
                function,
                instruction,
                callers,
            } = &access.site;
            callers.is_empty() || known_in_callees.insert((*function, *instruction))
        };
        outside.extend(of_kernel.into_iter().filter(is_new));
    }
    outside
}

/// By function, for itself and what it calls: what an access in a called function that is out of bounds needs.
struct Screens {
    /// It reads the number of a thread.
    reads_thread: Vec<bool>,
    /// It names a variable.
    names_variable: Vec<bool>,
    /// It accesses memory that may be neither that of parameters, nor global, nor its own stack.
    accesses: Vec<bool>,
}

impl Screens {
    fn new(module: &Shared<'_>) -> Self {
        let with_callers = |holds: fn(&Body<'_>) -> bool| {
            let mut marked = vec![false; module.module.functions.len()];
            for (id, _, body) in module.module.bodies() {
                marked[id.index()] = holds(body);
            }
            module.call_graph().mark_callers(&mut marked);
            marked
        };
        Self {
            reads_thread: with_callers(reads_thread),
            names_variable: with_callers(names_variable),
            accesses: with_callers(|body| {
                let mut accesses = body
                    .instructions
                    .iter()
                    .filter_map(|instruction| match instruction.op {
                        Op::Access(access) => Some(access.space),
                        _ => None,
                    });
                accesses.any(|space| !matches!(space, Space::Param | Space::Global | Space::Local))
            }),
        }
    }
}

/// A kernel with enough known facts about its launches.
struct BoundsKernel<'a, 'm> {
    module: &'a Shared<'m>,
    /// Computed for the first kernel with a call.
    screens: &'a OnceLock<Screens>,
    id: FunctionId,
    function: &'a Function<'m>,
    launch: Launch,
    /// So many accesses may still be evaluated for the first time that a thread makes them, …
    first_times: Cell<usize>,
    /// … and so many calls may still be followed.
    calls: Cell<usize>,
    /// The threads that are considered: all of them, if one shape of blocks is known; those of the first row, if several are; else those of
    /// warp 0, and more if a test of the thread number shows that there are more.
    threads: u32,
    /// The size of the dynamic shared memory, if it is known and the kernel names an array there.
    dynamic: Option<DynamicShared>,
    /// Facts about the size of blocks, if their shape is not known.
    size: Option<SizeHints>,
}

/// Facts about the size of a kernel's blocks that its code implies.
struct SizeHints {
    /// The blocks of code with a collective that names all lanes, once they are needed.
    full: OnceCell<Vec<BlockId>>,
    /// See [`block_size::tested_thread_counts`].
    tests: Arc<[u32]>,
}

impl<'a, 'm> BoundsKernel<'a, 'm> {
    fn new<'f>(
        module: &'a Shared<'m>,
        id: FunctionId,
        function: &'a Function<'m>,
        body: &'a Body<'m>,
        screens: &'a OnceLock<Screens>,
    ) -> Option<(Self, Warps<'f, 'a, 'm>)> {
        let dynamic = module.dynamic_shared(id).filter(|_| {
            let mut values = body.values.iter();
            values.any(|value| is_dynamic_shared(module, value))
        });
        let of_calls = || screens.get_or_init(|| Screens::new(module));
        let may_read_thread =
            || reads_thread(body) || !body.calls.is_empty() && of_calls().reads_thread[id.index()];
        if dynamic.is_none() && !may_read_thread() || has_guarded_end(body) {
            return None;
        }
        let launches = launches_of(module, id, false);
        let launch = Launch::common_launch(&function.launch, &launches);
        // Blocks may have fewer threads than allowed.
        let is_bound = launch.source == ShapeSource::Bound;
        let block = launch.shape.filter(|_| !is_bound);
        // Where several shapes are known, the address of a lane does not depend on them: an access that is wrong in all shapes is wrong
        // in the lanes that exist in all of them.
        let rows = launches.iter().filter_map(|launch| launch.shape).map(|[x, ..]| x);
        let least_row = rows.min();
        let is_shape_unknown = is_bound || least_row.is_none() && module.reads_other_dimensions(id);
        if is_shape_unknown && dynamic.is_none() {
            return None;
        }
        let size = (!is_shape_unknown && least_row.is_none()).then(|| SizeHints {
            full: OnceCell::new(),
            tests: block_size::tested_thread_counts(module, id),
        });
        let threads = match (block, &size, least_row) {
            (Some(_), ..) => launch.thread_count().unwrap_or(1),
            (None, Some(size), _) => {
                let last = size.tests.iter().max().copied().unwrap_or(0);
                let most = launch.most.unwrap_or(MAX_BLOCK_THREADS);
                last.saturating_add(1).next_multiple_of(WARP).min(most).max(WARP)
            }
            (None, None, Some(row)) if !is_bound => row,
            // The first thread always exists.
            (None, None, _) => 1,
        };
        let threads = threads.min(MAX_BLOCK_THREADS);
        let warps = Warps::new((module, id, body), block, threads);
        let kernel = Self {
            module,
            screens,
            id,
            function,
            launch,
            first_times: Cell::new(MAX_FIRST_TIMES),
            calls: Cell::new(MAX_FOLLOWED_CALLS),
            threads,
            dynamic,
            size,
        };
        Some((kernel, warps))
    }

    /// Adds the accesses of a function that are out of bounds, and those of the functions that it calls.
    fn find_in_function(&self, frame: &Frame<'_, 'a, 'm>, found: &mut Vec<OutOfBoundsAccess>) {
        for (id, instruction) in frame.body.iter() {
            match (instruction.op, frame.body.uses(instruction)) {
                // For global memory, only parameters are considered: most variables of the module there are not accessed by
                // thread.
                (Op::Access(access), &[address, Value::Integer(past), ..])
                    if access.space != Space::Global =>
                {
                    found.extend(self.judge_instruction(frame, id, access, (address, past)));
                }
                (Op::Call(_), _) => self.find_in_call(frame, id, found),
                _ => {}
            }
        }
    }

    /// The same for a function that an instruction calls, if it can access what it is passed, or a variable.
    fn find_in_call(
        &self,
        frame: &Frame<'_, 'a, 'm>,
        call: InstructionId,
        found: &mut Vec<OutOfBoundsAccess>,
    ) {
        let left = self.calls.get();
        let Some(callee) = frame.called_function(call).map(FunctionId::index) else {
            return;
        };
        let screens = self.screens.get_or_init(|| Screens::new(self.module));
        let may_access = screens.accesses[callee] && (frame.has_variable || screens.names_variable[callee]);
        let may_know_place = frame.reads_thread || screens.reads_thread[callee] || self.dynamic.is_some();
        if left == 0
            || !(may_access && may_know_place)
            || !frame.is_surely_executed_by_some(call, self.threads)
            || self.module.deadline.is_over_at_step()
        {
            return;
        }
        if let Some(callee) = frame.enter_call(call).filter(Frame::may_access_variable) {
            self.calls.set(left - 1);
            self.find_in_function(&callee, found);
        }
    }

    fn judge_instruction(
        &self,
        frame: &Frame<'_, 'a, 'm>,
        id: InstructionId,
        access: Access,
        (address, past): (Value, i64),
    ) -> Option<OutOfBoundsAccess> {
        // Other analyses judge accesses at constant addresses, but not the rows of a matrix.
        let row = frame.body.row_access_at(id);
        if address.register().is_none() && row.is_none() && !self.is_in_dynamic(address) {
            return None;
        }
        let access = row.map_or(access, |(row, _)| row);
        let stride = |value| frame.warps.get(0).uniform_value(value);
        let mut rows = LaneRows::of_access(frame.body, id, stride)?;
        if row.is_some_and(|(_, rows)| self.needs_all_addresses(rows)) {
            rows.lanes = Lanes::MAX;
        }
        let found = self.judge_access(frame, &frame.warps, id, (&access, rows), (address, past));
        found.or_else(|| {
            let warps = self.warps_at_first(frame, id, address)?;
            self.judge_access(frame, &warps, id, (&access, rows), (address, past))
        })
    }

    /// True if lanes without a row have to give valid addresses, too: for targets below sm_80 (PTX ISA, ldmatrix).
    fn needs_all_addresses(&self, rows: Rows) -> bool {
        rows.address == RowAddress::OfLane && (1..80).contains(&self.module.module.target.sm)
    }

    /// The warps when their threads make an access to a variable for the first time, if it is in a loop.
    fn warps_at_first<'f>(
        &self,
        frame: &Frame<'f, 'a, 'm>,
        id: InstructionId,
        address: Value,
    ) -> Option<Warps<'f, 'a, 'm>> {
        let left = self.first_times.get();
        // An address that is known each time is the same the first time.
        let is_known = || {
            let each_time = frame.warps.get(0).base_and_distances(address);
            each_time.is_some_and(|(_, by)| by.number_in_each_lane().is_some())
        };
        if left == 0 || !frame.has_variable || is_known() || !frame.is_repeated(id) {
            return None;
        }
        self.first_times.set(left - 1);
        let warps = frame.warps.at_first(id);
        let (begin, _) = warps.get(0).base_and_distances(address)?;
        matches!(begin, Atom::Symbol(_)).then_some(warps)
    }

    /// The access in the first warp that has a thread which makes it outside of the object.
    fn judge_access(
        &self,
        frame: &Frame<'_, 'a, 'm>,
        warps: &Warps<'_, 'a, 'm>,
        id: InstructionId,
        access: (&Access, LaneRows),
        (address, past): (Value, i64),
    ) -> Option<OutOfBoundsAccess> {
        // Most addresses are in no known object, or the same in all threads.
        let (begin, by) = warps.get(0).base_and_distances(address)?;
        let first = by.number_in_lane(0)?;
        let is_one_place = by.number_in_lane(self.threads.min(WARP) as usize - 1) == Some(first);
        let is_dynamic = matches!(begin, Atom::Symbol(one) if self.is_in_dynamic(Value::Symbol(one, 0)));
        if is_one_place && self.threads <= WARP && !access.1.are_spread() && !is_dynamic {
            return None;
        }
        (0..self.threads.div_ceil(WARP))
            .find_map(|warp| self.judge_access_in_warp(frame, (warps, warp), id, access, (address, past)))
    }

    fn judge_access_in_warp(
        &self,
        frame: &Frame<'_, 'a, 'm>,
        (warps, warp): (&Warps<'_, 'a, 'm>, u32),
        id: InstructionId,
        (access, rows): (&Access, LaneRows),
        (address, past): (Value, i64),
    ) -> Option<OutOfBoundsAccess> {
        let threads = warps.get(warp);
        let mut found: Option<OutOfBoundsAccess> = None;
        let (begin, by_lane) = threads.base_and_distances(address)?;
        let mut dynamic = None;
        let (object, symbol, param) = match begin {
            Atom::Symbol(symbol) => {
                dynamic = self
                    .dynamic
                    .filter(|_| self.is_in_dynamic(Value::Symbol(symbol, 0)));
                let object = match dynamic {
                    Some(memory) => Object::DynamicShared(symbol, memory.bytes),
                    None => Object::Symbol(symbol),
                };
                (object, Some(symbol), None)
            }
            Atom::ParamAddress(number) if frame.is_of_kernel() => {
                (Object::Param(self.function, number), None, Some(number))
            }
            _ => return None,
        };
        for lane in 0..(self.threads - warp * WARP).min(WARP) {
            let Some(by) = by_lane.number_in_lane(lane as usize) else {
                continue;
            };
            if rows.lanes >> lane & 1 == 0 {
                continue;
            }
            let by = rows.place_in_lane(lane as usize, (by as i64).checked_add(past)?);
            let Some(wrong) = bounds_violation(self.module, object, by, access) else {
                continue;
            };
            if !frame.surely_executes(threads, lane, id) {
                continue;
            }
            let known = found.get_or_insert(OutOfBoundsAccess {
                kernel: self.id,
                site: frame.site_of(id),
                symbol,
                param,
                dynamic,
                wrong,
                warp,
                lanes: 0,
                offsets: (by, by),
                is_same_in_all: false,
                is_first_time: warps.are_at_first(),
                launch: self.launch,
                above: None,
            });
            if known.wrong == wrong {
                known.lanes |= 1 << lane;
                known.offsets = (known.offsets.0.min(by), known.offsets.1.max(by));
            }
        }
        let mut found = found?;
        let is_uniform = by_lane.uniform_number().is_some() && !rows.are_spread();
        found.is_same_in_all = is_uniform && warp == 0 && found.lanes & 1 == 1;
        let Some(size) = &self.size else {
            return Some(found);
        };
        if warp > 0 || !self.do_all_lanes_exist(size, frame, id) {
            let threads = warp * WARP + found.lanes.trailing_zeros();
            found.above = Threshold::of_threads(threads, &size.tests);
            let is_exceeded = found.above.is_none_or(|above| above.is_exceeded);
            return Some(found).filter(|_| is_exceeded || threads < WARP);
        }
        Some(found)
    }

    /// True for an address in dynamic shared memory whose size is known.
    fn is_in_dynamic(&self, address: Value) -> bool {
        self.dynamic.is_some() && is_dynamic_shared(self.module, &address)
    }

    /// True if all lanes of warp 0 exist if an instruction of a function is executed.
    fn do_all_lanes_exist(&self, size: &SizeHints, frame: &Frame<'_, 'a, 'm>, id: InstructionId) -> bool {
        // A matrix is distributed over all of them.
        if frame.body.row_access_at(id).is_some() {
            return true;
        }
        let (kernel, at) = frame.place_in_kernel(id);
        let full = size.full.get_or_init(|| kernel.blocks_with_full_collective());
        let analyses = self.module.function(self.id);
        let (dominators, post) = (analyses.dominators(), analyses.post_dominators());
        let block = kernel.body.block_of(at);
        full.iter()
            .any(|&at| dominators.dominates(at, block) || post.dominates(at, block))
    }
}

/// True for an array in dynamic shared memory.
fn is_dynamic_shared(module: &Shared<'_>, value: &Value) -> bool {
    matches!(*value, Value::Symbol(symbol, _) if module.module.symbol(symbol).is_dynamic_shared())
}

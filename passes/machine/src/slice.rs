//! The part of a kernel that decides which of its threads meet where: its collectives and barriers, its visible effects, and everything
//! that decides whether a thread reaches them and with which operands. The rest is most of what kernels compute.
//!
//! A branch belongs to it if an instruction between it and the block at which its paths meet does. The operands of a shuffle, a vote or a
//! match belong to the slice if the result does, and the value of a store if a load of that memory does.

use ptxcheck_ir::cfg::Cfg;
use ptxcheck_ir::{
    Access, AccessKind, Block, BlockId, Body, Callee, Collective, Instruction, InstructionId, MemberMask,
    Module, Op, Register, Space, Value,
};

use crate::detour::Region;
use crate::effects::{Callees, Effects, is_returned};
use crate::limits::{MAX_DETOUR_BLOCKS, MAX_SLICE_STEPS};

/// The part of a body that matters.
#[derive(Debug)]
pub(crate) struct Slice {
    /// By instruction, and for the place after the last one: the first instruction from there on that matters, of all blocks.
    next: Vec<u32>,
    /// By block: where the paths of its branch meet, if the branch does not matter.
    past: Vec<Option<BlockId>>,
}

impl Slice {
    /// Of a body. `headers`: the blocks in which each visit of a thread has to be observed.
    pub(crate) fn new(module: &Module<'_>, body: &Body<'_>, headers: impl Iterator<Item = BlockId>) -> Self {
        let mut search = Search::new(module, body);
        search.run();
        for header in headers {
            if let Some((first, _)) = body.block(header).next() {
                search.matters[first.index()] = true;
            }
        }
        let count = body.instructions.len();
        let mut next = vec![count as u32; count + 1];
        for number in (0..count).rev() {
            next[number] = if search.matters[number] {
                number as u32
            } else {
                next[number + 1]
            };
        }
        let past = search.branches.into_iter();
        Self {
            next,
            past: past.map(|branch| Some(branch?.to)).collect(),
        }
    }

    /// The first instruction of a block that matters, from one on; `None` if none does.
    pub(crate) fn next(&self, block: &Block, from: usize) -> Option<usize> {
        let next = *self.next.get(from)? as usize;
        (next < block.instructions.range().end).then_some(next)
    }

    /// The block to which a thread goes from the end of another one whose branch does not matter.
    pub(crate) fn past(&self, block: BlockId) -> Option<BlockId> {
        self.past.get(block.index()).copied().flatten()
    }
}

/// The instructions that write each register.
struct Writers {
    starts: Vec<u32>,
    writers: Vec<InstructionId>,
}

impl Writers {
    fn new(body: &Body<'_>) -> Self {
        let mut starts = vec![0_u32; body.registers.len() + 2];
        let defined = || {
            body.iter()
                .flat_map(|(id, one)| body.defined(one).map(move |register| (register, id)))
        };
        for (register, _) in defined() {
            starts[register.index() + 2] += 1;
        }
        for number in 2..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut writers = vec![InstructionId::new(0); starts.last().map_or(0, |&last| last as usize)];
        for (register, id) in defined() {
            let place = &mut starts[register.index() + 1];
            writers[*place as usize] = id;
            *place += 1;
        }
        Self { starts, writers }
    }

    fn of(&self, register: Register) -> &[InstructionId] {
        let number = register.index();
        &self.writers[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

/// The search for the instructions that matter.
struct Search<'b> {
    module: &'b Module<'b>,
    body: &'b Body<'b>,
    writers: Writers,
    callees: Callees,
    /// By instruction.
    matters: Vec<bool>,
    /// By register: its content matters.
    is_read: Vec<bool>,
    /// By block: an instruction in it matters.
    is_entered: Vec<bool>,
    /// By block: the paths of the branch at its end, if the branch does not matter so far.
    branches: Vec<Option<Region>>,
    /// The spaces whose content matters; [`Space::Generic`] for all.
    loaded: Vec<Space>,
    /// Registers whose writers are still to be visited.
    open: Vec<Register>,
}

impl<'b> Search<'b> {
    fn new(module: &'b Module<'b>, body: &'b Body<'b>) -> Self {
        Self {
            module,
            body,
            writers: Writers::new(body),
            callees: Callees::default(),
            matters: vec![false; body.instructions.len()],
            is_read: vec![false; body.registers.len()],
            is_entered: vec![false; body.blocks.len()],
            branches: (0..body.blocks.len()).map(|_| None).collect(),
            loaded: Vec::new(),
            open: Vec::new(),
        }
    }

    fn run(&mut self) {
        self.find_regions();
        for (id, instruction) in self.body.iter() {
            if self.is_seen(id, instruction) {
                self.take(id);
            }
        }
        let mut steps = 0;
        loop {
            self.follow();
            let blocks = 0..self.branches.len();
            let decisive = |block: &usize| {
                let region = self.branches[*block].as_ref();
                region.is_some_and(|region| region.blocks.iter().any(|block| self.is_entered[block.index()]))
            };
            let decisive: Vec<usize> = blocks.filter(decisive).collect();
            if decisive.is_empty() {
                return;
            }
            let sizes = self.branches.iter().flatten().map(|region| region.blocks.len());
            steps += sizes.sum::<usize>();
            let is_over = steps > MAX_SLICE_STEPS;
            let all = 0..self.branches.len();
            for block in if is_over { all.collect() } else { decisive } {
                self.take_branch(block);
            }
        }
    }

    /// The paths of all branches, up to a limit.
    fn find_regions(&mut self) {
        let graph = Cfg::new(self.body);
        let mut left = MAX_SLICE_STEPS;
        for number in 0..self.body.blocks.len() {
            let block = BlockId::new(number);
            let Some(last) = self.body.terminator(block) else {
                continue;
            };
            let decides = match last.op {
                Op::Branch => last.guard.is_some(),
                op => op == Op::BranchTable,
            };
            if decides {
                let of_one = left.min(MAX_DETOUR_BLOCKS);
                let mut left_of_one = of_one;
                let found = Region::new(self.body, &graph, block, &mut left_of_one);
                left -= of_one - left_of_one;
                self.branches[number] = found.filter(|region| !region.may_trap);
            }
        }
    }

    /// True for an instruction that matters by itself.
    fn is_seen(&self, id: InstructionId, instruction: &Instruction) -> bool {
        let block = || self.branches[self.body.block_of(id).index()].as_ref();
        match instruction.op {
            Op::Branch => instruction.guard.is_some() && block().is_none(),
            Op::BranchTable => block().is_none(),
            Op::Collective(..)
            | Op::Barrier(_)
            | Op::Return
            | Op::Exit
            | Op::Trap
            | Op::Assume
            | Op::StackAlloc => true,
            Op::Access(access) => match access.kind {
                AccessKind::Load => false,
                _ => is_returned(self.body, instruction) || access.space != Space::Local,
            },
            Op::Call(_) => self.effects_of(id).is_none_or(|effects| {
                let writes = effects.spaces.iter().any(|space| *space != Space::Local);
                writes || effects.may_trap || !effects.outside.is_empty()
            }),
            _ => false,
        }
    }

    /// The effects of an instruction; `None` if no thread can be taken past it.
    fn effects_of(&self, id: InstructionId) -> Option<Effects> {
        let mut effects = Effects::default();
        let instruction = self.body.instruction(id);
        let added = effects.add(&self.callees, self.module, self.body, id, instruction);
        added.is_ok().then_some(effects)
    }

    fn take_branch(&mut self, block: usize) {
        if self.branches[block].take().is_some() {
            let last = self.body.blocks[block].instructions.range().end;
            self.take(InstructionId::new(last - 1));
        }
    }

    /// Adds an instruction, and everything that it needs to be executed.
    fn take(&mut self, id: InstructionId) {
        if std::mem::replace(&mut self.matters[id.index()], true) {
            return;
        }
        let body = self.body;
        self.is_entered[body.block_of(id).index()] = true;
        let instruction = body.instruction(id);
        if let Some(guard) = instruction.guard {
            self.read(Value::Register(guard.register));
        }
        let uses = body.uses(instruction);
        match instruction.op {
            // The lanes that take part, and the lane that is read.
            Op::Collective(Collective::Shuffle(_), _) => {
                for number in [0, 2, 3] {
                    self.read_at(uses, number);
                }
            }
            Op::Collective(_, MemberMask::Operand) => self.read_at(uses, 0),
            Op::Collective(_, MemberMask::Absent) => {}
            Op::Access(access) => self.take_access(access, instruction),
            // A call may read the stored values.
            Op::Call(call) => {
                let effects = self.effects_of(id);
                let known = body.call(call);
                if let Callee::Indirect(value) = known.callee {
                    self.read(value);
                }
                for argument in body.arguments(known) {
                    self.read(argument.value);
                }
                let reads = effects.map_or_else(|| vec![Space::Generic], |effects| effects.reads);
                for space in reads {
                    self.load(space);
                }
            }
            Op::CallResult(call) => {
                self.read_at(uses, 0);
                self.take(call);
            }
            // Their results are unknown for any operands.
            Op::CompareOther | Op::Opaque => {}
            _ => {
                for &value in uses {
                    self.read(value);
                }
            }
        }
    }

    fn take_access(&mut self, access: Access, instruction: &Instruction) {
        let uses = self.body.uses(instruction);
        let is_returned = is_returned(self.body, instruction);
        match access.kind {
            AccessKind::Load => {
                self.read_at(uses, 0);
                self.read_at(uses, 1);
                self.load(access.space);
            }
            _ if is_returned || self.is_loaded(access.space) => {
                for &value in uses {
                    self.read(value);
                }
            }
            // The address decides if others see it.
            _ if access.space == Space::Generic => {
                self.read_at(uses, 0);
                self.read_at(uses, 1);
            }
            _ => {}
        }
    }

    /// The content of a space matters: so do stores there.
    fn load(&mut self, space: Space) {
        if self.loaded.contains(&space) {
            return;
        }
        self.loaded.push(space);
        for (id, instruction) in self.body.iter() {
            match instruction.op {
                Op::Access(access) if access.kind != AccessKind::Load && self.is_loaded(access.space) => {
                    self.take(id);
                    for &value in self.body.uses(instruction) {
                        self.read(value);
                    }
                }
                Op::Call(_) if !self.matters[id.index()] => {
                    let writes = |effects: Effects| effects.spaces.iter().any(|&space| self.is_loaded(space));
                    if self.effects_of(id).is_none_or(writes) {
                        self.take(id);
                    }
                }
                _ => {}
            }
        }
    }

    /// True if the content of a space that an instruction names matters.
    fn is_loaded(&self, space: Space) -> bool {
        let is_shared = |space: Space| matches!(space, Space::Shared | Space::SharedCluster);
        let mut loaded = self.loaded.iter();
        loaded.any(|&loaded| {
            loaded == space
                || loaded == Space::Generic
                || space == Space::Generic
                || is_shared(loaded) && is_shared(space)
        })
    }

    fn read_at(&mut self, uses: &[Value], number: usize) {
        if let Some(&value) = uses.get(number) {
            self.read(value);
        }
    }

    fn read(&mut self, value: Value) {
        if let Value::Register(register) | Value::Not(register) = value
            && !std::mem::replace(&mut self.is_read[register.index()], true)
        {
            self.open.push(register);
        }
    }

    /// Adds all instructions that write registers whose content matters.
    fn follow(&mut self) {
        while let Some(register) = self.open.pop() {
            for number in 0..self.writers.of(register).len() {
                let id = self.writers.of(register)[number];
                self.take(id);
                let instruction = self.body.instruction(id);
                match instruction.op {
                    Op::Collective(..) => {
                        for &value in self.body.uses(instruction) {
                            self.read(value);
                        }
                    }
                    // Atomics return the old value.
                    Op::Access(access) => self.load(access.space),
                    _ => {}
                }
            }
        }
    }
}

//! Lanes of a warp that are at one instruction execute it at once, as long as others do not see it.
//!
//! ```text
//! group     lanes at one instruction of one chain of calls, with one position for all of them
//! split     at a branch that lanes decide differently
//! join      where a group reaches the position of another: the group that is deepest in calls, then furthest back in the code, goes first
//! by lane   what is not computed from registers alone: see `step`
//! ```
//!
//! What threads do silently depends on no other thread, so that a run has the same outcome as with one thread after the other.

use ptxcheck_ir::{
    Access, AccessKind, BlockId, Body, FunctionId, Instruction, InstructionId, Op, Special, Value,
};

use crate::access::is_silent_write;
use crate::address;
use crate::effects::{is_computation, is_returned, may_order, own_part};
use crate::launch::WARP;
use crate::limits::MAX_TURN;
use crate::machine::{Machine, Step, ones_of};
use crate::observe::Event;
use crate::rows::{self, Row, each};
use crate::site::Context;
use crate::thread::{Act, State};
use crate::ways::Position;
use crate::world::Unmodelled;

/// Lanes of a warp at one instruction.
#[derive(Clone, Copy, Debug)]
struct Group {
    warp: usize,
    lanes: u32,
    context: Context,
    function: FunctionId,
    /// Calls, the kernel among them.
    depth: usize,
    position: Position,
    /// Instructions that its lanes have executed in this turn, at most.
    taken: u64,
}

impl Group {
    /// The threads of the lanes.
    fn threads(&self) -> impl Iterator<Item = usize> + use<> {
        let first = self.warp * WARP;
        each(self.lanes).map(move |lane| first + lane)
    }

    fn first_thread(&self) -> usize {
        self.warp * WARP + self.lanes.trailing_zeros() as usize
    }

    fn is_with(&self, other: &Self) -> bool {
        (self.context, self.position) == (other.context, other.position)
    }

    /// The least one goes first: it is deepest in calls, then furthest back in the code.
    const fn rank(&self) -> (usize, Context, usize) {
        (usize::MAX - self.depth, self.context, self.position.instruction)
    }
}

/// The groups of a warp that can continue.
#[derive(Debug, Default)]
struct Groups(Vec<Group>);

impl Groups {
    /// Adds a group to the one at its position, or by itself.
    fn add(&mut self, group: Group) {
        match self.0.iter_mut().find(|known| known.is_with(&group)) {
            Some(known) => {
                known.lanes |= group.lanes;
                known.taken = known.taken.max(group.taken);
            }
            None => self.0.push(group),
        }
    }

    /// Takes the group that goes first, of those whose turn is not over.
    fn take(&mut self) -> Option<Group> {
        let open = self.0.iter().enumerate();
        let open = open.filter(|(_, group)| group.taken < MAX_TURN);
        let (first, _) = open.min_by_key(|(_, group)| group.rank())?;
        Some(self.0.swap_remove(first))
    }

    /// True if a group is to be joined with another, or another one goes before it.
    fn has_before(&self, group: &Group) -> bool {
        let mut open = self.0.iter().filter(|other| other.taken < MAX_TURN);
        open.any(|other| other.rank() <= group.rank())
    }
}

/// The lanes of a group by the guard of an instruction.
#[derive(Clone, Copy)]
struct Guarded {
    /// Those that execute it.
    on: u32,
    off: u32,
    /// Those for which the guard is not known.
    open: u32,
}

impl Machine<'_> {
    /// Lets the threads of a warp continue by themselves; true if one could go on.
    pub(crate) fn run_warp(&mut self, warp: usize) -> Step<bool> {
        let mut groups = Groups::default();
        self.regroup((warp, u32::MAX), 0, &mut groups);
        while let Some(group) = groups.take() {
            self.run_group(group, &mut groups)?;
        }
        for group in &groups.0 {
            self.place(group);
        }
        Ok(!groups.0.is_empty())
    }

    /// Adds the lanes of a warp that can continue, by where they are.
    fn regroup(&self, (warp, lanes): (usize, u32), taken: u64, groups: &mut Groups) {
        for lane in each(lanes) {
            let thread = &self.threads[warp * WARP + lane];
            let (State::Running, Some(frame)) = (thread.state, thread.frames.last()) else {
                continue;
            };
            groups.add(Group {
                warp,
                lanes: 1 << lane,
                context: frame.context,
                function: frame.function,
                depth: thread.frames.len(),
                position: frame.position,
                taken,
            });
        }
    }

    /// Writes the position of a group down for each of its threads.
    fn place(&mut self, group: &Group) {
        for thread in group.threads() {
            if let Some(frame) = self.frame(thread) {
                frame.position = group.position;
            }
        }
    }

    /// Runs a group until its turn is over, or another group goes first.
    fn run_group(&mut self, mut group: Group, groups: &mut Groups) -> Step {
        while group.taken < MAX_TURN {
            let before = group.position;
            let body = self.kernel.body(group.function);
            let instruction = body.and_then(|body| body.instructions.get(before.instruction));
            let (Some(body), Some(instruction)) = (body, instruction) else {
                return self.step_by_lane(group, groups);
            };
            let guarded = self.guarded(group, instruction);
            if !self.is_done_at_once(group, (body, instruction), guarded) {
                return self.step_by_lane(group, groups);
            }
            group.taken += 1;
            self.spend(u64::from(group.lanes.count_ones()))?;
            if group.depth == 1 && before.is_first(body) && self.kernel.ways.is_header(before.block) {
                for thread in group.threads() {
                    self.kernel
                        .ways
                        .enter(&mut self.threads[thread].rounds, before.block);
                }
            }
            match instruction.op {
                Op::Branch | Op::BranchTable => {
                    if let Some(other) = self.branch_at_once(&mut group, (body, instruction), guarded) {
                        groups.add(other);
                    }
                }
                op => {
                    match op {
                        Op::Access(access) => {
                            let left = self.access_at_once(group, access, (body, instruction), guarded.on)?;
                            if left == 0 {
                                return Ok(());
                            }
                            group.lanes = left;
                        }
                        _ => self.compute(group, (body, instruction), guarded),
                    }
                    let slice = self.kernel.slice_of(group.function);
                    group.position = before.advanced(body, slice);
                }
            }
            if groups.has_before(&group) {
                break;
            }
        }
        groups.add(group);
        Ok(())
    }

    /// Each lane of a group executes the instruction by itself.
    fn step_by_lane(&mut self, group: Group, groups: &mut Groups) -> Step {
        for group in groups.0.iter().chain([&group]) {
            self.place(group);
        }
        for thread in group.threads() {
            self.spend(1)?;
            self.silent_step(thread)?;
        }
        self.regroup((group.warp, group.lanes), group.taken + 1, groups);
        Ok(())
    }

    /// True if the lanes of a group can execute an instruction at once.
    fn is_done_at_once(
        &self,
        group: Group,
        (body, instruction): (&Body<'_>, &Instruction),
        guarded: Guarded,
    ) -> bool {
        if self.follows() {
            return false;
        }
        match instruction.op {
            Op::Branch | Op::BranchTable if self.path_past(group).is_some() => true,
            Op::Branch => guarded.open == 0,
            Op::Access(access) => {
                let is_plain = match access.kind {
                    AccessKind::Load => true,
                    AccessKind::Store => body.uses(instruction).len() >= 2 + usize::from(access.count),
                    _ => false,
                };
                is_plain && !is_returned(body, instruction) && guarded.open == 0
            }
            Op::Opaque | Op::CompareOther => {
                let at = InstructionId::new(group.position.instruction);
                self.agent.is_none() && !may_order(instruction) && own_part(body, at).is_none()
            }
            // They depend on more than registers: on the rank of the block, and on what a call has returned.
            Op::MapShared(_) | Op::CallResult(_) => false,
            op => is_computation(op),
        }
    }

    /// The block to which a group goes from a branch that does not matter.
    fn path_past(&self, group: Group) -> Option<BlockId> {
        self.kernel.slice_of(group.function)?.past(group.position.block)
    }

    fn guarded(&self, group: Group, instruction: &Instruction) -> Guarded {
        let lanes = group.lanes;
        let Some(guard) = instruction.guard else {
            return Guarded {
                on: lanes,
                off: 0,
                open: 0,
            };
        };
        let bank = self.banks[group.warp].of(group.context);
        let (known, holds) = bank.map_or((0, 0), |bank| bank.predicate(guard.register));
        let on = if guard.negated { !holds } else { holds };
        Guarded {
            on: lanes & known & on,
            off: lanes & known & !on,
            open: lanes & !known,
        }
    }

    /// Lets a group take a branch; the part of it that goes another way, if it splits.
    fn branch_at_once(
        &mut self,
        group: &mut Group,
        (body, instruction): (&Body<'_>, &Instruction),
        Guarded { on, off, .. }: Guarded,
    ) -> Option<Group> {
        let block = group.position.block;
        let slice = self.kernel.slice_of(group.function);
        let target = |block: Option<BlockId>| {
            let block = block.unwrap_or(BlockId::new(body.blocks.len()));
            Position::of_block(body, slice, block)
        };
        if let Some(past) = self.path_past(*group) {
            group.position = target(Some(past));
            return None;
        }
        let successors = body.successors(block);
        let (first, last) = (successors.first().copied(), successors.last().copied());
        if instruction.guard.is_none() {
            group.position = target(first);
            return None;
        }
        let point = group.position.point(group.context, group.function);
        self.place(group);
        for thread in group.threads() {
            let to = if on >> (thread % WARP) & 1 == 1 {
                first
            } else {
                last
            };
            if let Some(to) = to {
                self.tell_at(point, thread, &Event::Branch(to));
            }
        }
        let part = |lanes, to| Group {
            lanes,
            position: target(to),
            ..*group
        };
        let (jumps, passes) = (part(on, first), part(off, last));
        match (on, off) {
            (_, 0) => *group = jumps,
            (0, _) => *group = passes,
            _ => {
                *group = jumps;
                return Some(passes);
            }
        }
        None
    }

    /// Writes the results of an instruction for the lanes of a group.
    fn compute(
        &mut self,
        group: Group,
        (body, instruction): (&Body<'_>, &Instruction),
        Guarded { on, open, .. }: Guarded,
    ) {
        if on | open == 0 {
            return;
        }
        let op = instruction.op;
        let is_asked = matches!(op, Op::Opaque | Op::CompareOther);
        let mut uses = std::mem::take(&mut self.rows);
        uses.clear();
        if on != 0 && !is_asked {
            for &value in body.uses(instruction) {
                let row = self.operand_of_lanes(group, on, value);
                uses.push(row);
            }
            self.note_shifts(group, on, (body, instruction), &uses);
        }
        if is_asked {
            self.place(&group);
        }
        let first = group.warp * WARP;
        for (number, result) in body.results(instruction).iter().enumerate() {
            let row = match op {
                _ if on == 0 => Row::UNKNOWN,
                Op::Opaque | Op::CompareOther => {
                    Row::of_each(on, |lane| self.ask(first + lane, Unmodelled::Result(number)))
                }
                Op::ToGeneric(space, _) if number == 0 => {
                    addresses(on, &uses, |raw| address::to_generic(space, raw))
                }
                // An address of another space has none there (PTX ISA, cvta).
                Op::FromGeneric(space, _) if number == 0 => {
                    addresses(on, &uses, |generic| address::from_generic(space, generic))
                }
                Op::IsSpace(space) if number == 0 => {
                    addresses(on, &uses, |generic| Some(address::is_in(space, generic).into()))
                }
                op => rows::results(op, number, &uses, on),
            };
            if let Some(register) = result.register()
                && let Some(bank) = self.banks[group.warp].of_mut(group.context)
            {
                bank.write(register, on | open, &row, ones_of(body, register));
            }
        }
        self.rows = uses;
    }

    /// Lets the lanes of a group that are `on` load or store; the lanes of the group that go on. The others are poised before a store that
    /// others see.
    fn access_at_once(
        &mut self,
        group: Group,
        access: Access,
        (body, instruction): (&Body<'_>, &Instruction),
        on: u32,
    ) -> Step<u32> {
        let &[base, by, ref stored @ ..] = body.uses(instruction) else {
            return Ok(group.lanes);
        };
        self.place(&group);
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        let elements = match access.kind {
            AccessKind::Store => usize::from(access.count),
            _ => 0,
        };
        for &value in [base, by].iter().chain(stored.iter().take(elements)) {
            let row = self.operand_of_lanes(group, on, value);
            rows.push(row);
        }
        let space = self.space_of(access, base);
        let mut words = std::mem::take(&mut self.operands);
        let mut left = group.lanes;
        for lane in each(on) {
            let thread = group.warp * WARP + lane;
            let raw = rows[0].get(lane).zip(rows[1].get(lane));
            let raw = raw.map(|(base, by)| base.wrapping_add(by));
            let start = self.generic_of(thread, space, raw)?;
            if access.kind == AccessKind::Load {
                self.load_from(thread, access, (body, instruction), start)?;
            } else if !is_silent_write(access, start) {
                self.threads[thread].state = State::Poised(Act::Access(access));
                left &= !(1 << lane);
            } else if let Some(start) = start {
                words.clear();
                words.extend(rows[2..].iter().map(|row| row.get(lane)));
                self.store_to(thread, access, start, &words)?;
            } else {
                self.forget_of(thread, access.space);
            }
        }
        (self.rows, self.operands) = (rows, words);
        Ok(left)
    }

    /// An operand in some lanes of a group.
    fn operand_of_lanes(&mut self, group: Group, lanes: u32, value: Value) -> Row {
        let first = group.warp * WARP;
        match value {
            Value::Register(register) => {
                let bank = self.banks[group.warp].of(group.context);
                bank.map_or(Row::UNKNOWN, |bank| bank.row(register))
            }
            Value::Not(register) => {
                let mut row = self.operand_of_lanes(group, lanes, Value::Register(register));
                for value in &mut row.values {
                    *value = *value & 1 ^ 1;
                }
                row
            }
            Value::Integer(_) | Value::Symbol(..) | Value::Param(..) | Value::ReturnSlot(..) => {
                Row::uniform(self.value(group.first_thread(), value))
            }
            Value::Special(Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_) | Special::WarpId) => {
                Row::uniform(self.value(group.first_thread(), value))
            }
            Value::Special(Special::Tid(_)) => Row::of_each(lanes, |lane| self.value(first + lane, value)),
            // The world may be asked, and has to know where the thread is.
            Value::Special(_) | Value::Unknown => {
                self.place(&group);
                Row::of_each(lanes, |lane| self.value(first + lane, value))
            }
        }
    }

    /// Notes shifts by an amount that is not known before the run.
    fn note_shifts(
        &mut self,
        group: Group,
        lanes: u32,
        (body, instruction): (&Body<'_>, &Instruction),
        uses: &[Row],
    ) {
        let Op::Binary(op, bits) = instruction.op else {
            return;
        };
        if !op.is_shift() {
            return;
        }
        let (Some(Value::Register(_)), Some(amounts)) = (body.uses(instruction).get(1), uses.get(1)) else {
            return;
        };
        let known = lanes & amounts.known;
        if known != 0 {
            let is_beyond = |lane: usize| amounts.values[lane] & u64::from(u32::MAX) >= u64::from(bits);
            let point = group.position.point(group.context, group.function);
            self.note_shift(point, each(known).all(is_beyond));
        }
    }
}

/// An address in each lane from another one.
fn addresses(lanes: u32, uses: &[Row], of: impl Fn(u64) -> Option<u64>) -> Row {
    Row::of_each(lanes, |lane| uses.first()?.get(lane).and_then(&of))
}

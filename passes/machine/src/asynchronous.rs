//! Asynchronous operations, where a run follows them: what the instructions say, for the agent ([`crate::agent`]).

use ptxcheck_ir::{
    AsyncCopy, AsyncGroup, AsyncOp, Asynchronous, Body, Completion, CopyKind, CopyWay, InstructionId,
    MbarrierOp, Op, Space, Value,
};

use crate::address;
use crate::agent::{Agent, words};
use crate::evaluate::Word;
use crate::machine::Machine;
use crate::mbarrier::{Effect, Phase};
use crate::thread::{Act, State};

impl Machine<'_> {
    /// Executes the instruction that a thread is at, if it belongs to an asynchronous operation that the run follows: true then, and the
    /// thread has still to go on.
    pub(crate) fn execute_asynchronous(&mut self, thread: usize) -> bool {
        if self.agent.is_none() {
            return false;
        }
        let Some((body, _)) = self.code_of(thread) else {
            return false;
        };
        let at = self.point(thread).instruction;
        // The last operation that begins here or before; its other addresses are accesses of their own.
        let later = body.asynchronous.partition_point(|one| one.instruction <= at);
        let Some(one) = later
            .checked_sub(1)
            .and_then(|number| body.asynchronous.get(number))
        else {
            return false;
        };
        if body.span_of(one.instruction) != body.span_of(at) {
            return false;
        }
        if one.instruction == at {
            self.operate(thread, body, one)
        } else {
            true
        }
    }

    /// True if the agent knows what the operation does. One that it does not know, and that may complete a phase, leaves the run open.
    fn operate(&mut self, thread: usize, body: &Body<'_>, one: &Asynchronous) -> bool {
        let point = self.point(thread);
        let value = |machine: &mut Self, number: Option<u8>, default: Option<u64>| -> Word {
            match body.async_value(one, number) {
                Some(value) => machine.value(thread, value),
                None => default,
            }
        };
        let bytes = value(self, one.values.bytes, None);
        let count = value(self, one.values.count, Some(1));
        let phase = value(self, one.values.phase, None);
        let barrier = self.shared(thread, body, one.barrier());
        let source = self.shared(thread, body, one.source());
        let destination = self.shared(thread, body, one.destination());
        let Some(agent) = &mut self.agent else {
            return false;
        };
        match one.op {
            AsyncOp::Copy(copy) => {
                let known = start(
                    agent,
                    (thread, point),
                    copy,
                    bytes,
                    [source, destination, barrier],
                );
                if known == Some(Effect::Open) || known.is_none() && copy.completion == Completion::Mbarrier {
                    self.leave_open(thread);
                }
                return known.is_some();
            }
            AsyncOp::Mbarrier(op) => {
                let values = Values { bytes, count, phase };
                let Some(known) = self.operate_barrier(thread, (op, one.values.mask), barrier, values) else {
                    self.leave_open(thread);
                    return false;
                };
                return known;
            }
            AsyncOp::Commit(_) | AsyncOp::Wait { .. } | AsyncOp::ProxyFence(_) if agent.is_of_barriers() => {}
            AsyncOp::Commit(group) => agent.commit(thread, group),
            AsyncOp::Wait {
                group,
                read_only,
                all,
            } => {
                let under_way = count.and_then(|count| u32::try_from(count).ok());
                agent.wait(
                    thread,
                    point,
                    group,
                    if all { None } else { under_way },
                    read_only,
                );
            }
            AsyncOp::ProxyFence(fence) => {
                if fence.shared {
                    agent.fence(thread);
                }
            }
            AsyncOp::InitFence | AsyncOp::ThreadFence(_) => {}
            AsyncOp::Unknown => {
                self.leave_open(thread);
                return false;
            }
            AsyncOp::ClusterArrive { .. }
            | AsyncOp::ClusterWait
            | AsyncOp::Matrix(_)
            | AsyncOp::ProductFence
            | AsyncOp::TensorMemory(_)
            | AsyncOp::TensorAccess(_)
            | AsyncOp::GridWait => return false,
        }
        self.ask_results(thread);
        true
    }

    /// Executes an operation on a barrier in the shared memory of the block; true if its results are defined. `None` if it is not known
    /// what it does.
    fn operate_barrier(
        &mut self,
        thread: usize,
        (op, mask): (MbarrierOp, Option<u8>),
        barrier: Option<u64>,
        Values { bytes, count, phase }: Values,
    ) -> Option<bool> {
        let point = self.point(thread);
        let agent = self.agent.as_mut()?;
        let barrier = barrier?;
        let number = |word: Word| word.and_then(|word| i64::try_from(word & 0xffff_ffff).ok());
        let mut state = None;
        let effect = match op {
            MbarrierOp::Init => {
                agent.init(point, barrier, number(count)?);
                Effect::Known
            }
            MbarrierOp::Arrive { expects, drops, .. } => {
                let bytes = if expects { number(bytes)? } else { 0 };
                let times = number(count)?;
                state = agent.phases(barrier);
                agent.arrive((thread, point), barrier, (times, drops), bytes)
            }
            MbarrierOp::ExpectTx => {
                let bytes = number(bytes)?;
                agent.arrive((thread, point), barrier, (0, false), bytes)
            }
            MbarrierOp::CompleteTx => {
                let bytes = number(bytes)?;
                agent.arrive((thread, point), barrier, (0, false), -bytes)
            }
            MbarrierOp::ArriveAfterCopies { increments } => agent.track(thread, point, barrier, increments),
            // With a mask, at barriers of other CTAs, too.
            MbarrierOp::ArriveAfterProducts if mask.is_none() => agent.track_products(thread, point, barrier),
            MbarrierOp::Wait { parity, .. } => {
                let phase = match parity {
                    true => Phase::Parity(phase?),
                    false => Phase::After(phase?),
                };
                let Some(is_complete) = agent.test(thread, point, barrier, phase) else {
                    self.leave_open(thread);
                    self.define(thread, 0, Some(1));
                    return Some(true);
                };
                self.record.has_waited |= is_complete;
                self.define(thread, 0, Some(u64::from(is_complete)));
                return Some(true);
            }
            MbarrierOp::Invalidate => {
                agent.invalidate(barrier);
                Effect::Known
            }
            MbarrierOp::ArriveAfterProducts => return None,
        };
        if effect == Effect::Open {
            self.leave_open(thread);
        }
        self.ask_results(thread);
        if state.is_some() {
            self.define(thread, 0, state);
        }
        Some(true)
    }

    /// The address in the shared memory of the CTA that one of an operation's accesses has.
    fn shared(&mut self, thread: usize, body: &Body<'_>, access: Option<InstructionId>) -> Option<u64> {
        let instruction = body.instruction(access?);
        let Op::Access(access) = instruction.op else {
            return None;
        };
        let &[base, by, ..] = body.uses(instruction) else {
            return None;
        };
        let space = match (base, access.space) {
            (Value::Symbol(symbol, _), Space::Generic) => self.kernel.module.0.symbol(symbol).space,
            _ => access.space,
        };
        let raw = self.value(thread, base)?.wrapping_add(self.value(thread, by)?);
        let generic = address::to_generic(space, raw)?;
        (address::space_of(generic) == Space::Shared).then(|| generic - address::window(Space::Shared))
    }

    /// True for a thread that waits for a phase of a barrier in memory that is incomplete.
    pub(crate) fn is_stalled(&self, thread: usize) -> bool {
        let at_access = matches!(self.threads[thread].state, State::Poised(Act::Access(_)));
        let point = self.threads[thread].point();
        let agent = self.agent.as_ref().filter(|_| at_access);
        agent
            .zip(point)
            .is_some_and(|(agent, point)| agent.is_stalled(thread, point))
    }

    /// Lets the agent do what the schedule wants before the threads go on.
    pub(crate) fn perform_some(&mut self) {
        while self.agent.as_ref().is_some_and(Agent::has_work) {
            if !self.order.performs() {
                return;
            }
            self.perform_next();
        }
    }

    /// Lets the agent perform the next pending action; false if there is none.
    pub(crate) fn perform_next(&mut self) -> bool {
        let effect = self.agent.as_mut().and_then(Agent::perform);
        if effect == Some(Effect::Open) {
            self.leave_open(0);
        }
        effect.is_some()
    }
}

/// The values of an operation on a barrier.
#[derive(Clone, Copy)]
struct Values {
    bytes: Word,
    count: Word,
    phase: Word,
}

/// Starts a copy with these addresses in shared memory: source, destination, and barrier. `None` if the agent does not know what it does.
fn start(
    agent: &mut Agent,
    (thread, point): (usize, crate::site::Point),
    copy: AsyncCopy,
    bytes: Word,
    [source, destination, barrier]: [Option<u64>; 3],
) -> Option<Effect> {
    if copy.multicast || !matches!(copy.kind, CopyKind::Element | CopyKind::Bulk) {
        return None;
    }
    let bytes = bytes.filter(|&bytes| bytes > 0)?;
    let bytes_of = i64::try_from(bytes).unwrap_or(i64::MAX);
    if agent.is_of_barriers() {
        return match (copy.way, copy.completion, destination, barrier) {
            (CopyWay::GlobalToShared, Completion::Mbarrier, Some(_), Some(barrier)) => {
                Some(agent.copies_to(point, barrier, bytes_of))
            }
            (_, Completion::Group(_), ..) => Some(Effect::Known),
            _ => None,
        };
    }
    match (copy.way, copy.completion, source, destination, barrier) {
        (CopyWay::GlobalToShared, Completion::Group(AsyncGroup::Element), _, Some(to), _) => {
            agent.fills_words(thread, point, &words(to, bytes), None);
        }
        (CopyWay::GlobalToShared, Completion::Mbarrier, _, Some(to), Some(barrier)) => {
            agent.fills_words(thread, point, &words(to, bytes), Some((barrier, bytes_of)));
        }
        (CopyWay::SharedToGlobal, Completion::Group(group), Some(from), _, _) => {
            agent.reads(thread, point, group, &words(from, bytes));
        }
        _ => return None,
    }
    Some(Effect::Known)
}

//! Asynchronous operations, where a run follows them: what the instructions say, for the agent ([`crate::agent`]).

use ptxcheck_ir::{
    AsyncCopy, AsyncGroup, AsyncOp, Asynchronous, Body, Completion, CopyKind, CopyWay, InstructionId,
    MbarrierOp, Op, Space, Value,
};

use crate::address;
use crate::agent::{Agent, words};
use crate::evaluate::Word;
use crate::machine::Machine;
use crate::thread::{Act, State};

impl Machine<'_> {
    /// Executes the instruction that a thread is at, if it belongs to an asynchronous operation that the run follows: true then, and the
    /// thread has still to go on.
    pub(crate) fn execute_asynchronous(&mut self, thread: usize) -> bool {
        if self.agent.is_none() {
            return false;
        }
        let Some((body, instruction)) = self.code_of(thread) else {
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
        let first = body.instruction(one.instruction);
        if first.span != instruction.span {
            return false;
        }
        if one.instruction == at {
            self.operate(thread, body, one)
        } else {
            true
        }
    }

    /// True if the agent knows what the operation does.
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
                return start(
                    agent,
                    (thread, point),
                    copy,
                    bytes,
                    [source, destination, barrier],
                );
            }
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
            AsyncOp::Mbarrier(op) => {
                let Some(barrier) = barrier else {
                    return false;
                };
                let number = |word: Word| word.and_then(|word| i64::try_from(word & 0xffff_ffff).ok());
                match op {
                    MbarrierOp::Init => agent.init(point, barrier, number(count).unwrap_or(1)),
                    MbarrierOp::Arrive { expects, .. } => {
                        let bytes = if expects { number(bytes) } else { Some(0) };
                        agent.arrive(
                            thread,
                            point,
                            barrier,
                            number(count).unwrap_or(1),
                            bytes.unwrap_or(0),
                        );
                    }
                    MbarrierOp::ExpectTx => {
                        agent.arrive(thread, point, barrier, 0, number(bytes).unwrap_or(0));
                    }
                    MbarrierOp::CompleteTx => {
                        agent.arrive(thread, point, barrier, 0, -number(bytes).unwrap_or(0));
                    }
                    MbarrierOp::ArriveAfterCopies { increments } => {
                        agent.track(thread, point, barrier, increments);
                    }
                    MbarrierOp::Wait { parity: true, .. } => {
                        let is_complete = agent.test(thread, point, barrier, phase.unwrap_or(0));
                        self.define(thread, 0, Some(u64::from(is_complete)));
                        return true;
                    }
                    MbarrierOp::Wait { parity: false, .. }
                    | MbarrierOp::Invalidate
                    | MbarrierOp::ArriveAfterProducts => {
                        return false;
                    }
                }
            }
            AsyncOp::InitFence | AsyncOp::ThreadFence(_) => {}
            AsyncOp::ClusterArrive { .. }
            | AsyncOp::ClusterWait
            | AsyncOp::Matrix(_)
            | AsyncOp::ProductFence
            | AsyncOp::TensorMemory(_)
            | AsyncOp::TensorAccess(_)
            | AsyncOp::GridWait
            | AsyncOp::Unknown => return false,
        }
        self.ask_results(thread);
        true
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
        while let Some(agent) = self.agent.as_mut().filter(|agent| agent.has_work()) {
            if !self.order.performs() {
                return;
            }
            agent.perform();
        }
    }
}

/// Starts a copy with these addresses in shared memory: source, destination, and barrier.
fn start(
    agent: &mut Agent,
    (thread, point): (usize, crate::site::Point),
    copy: AsyncCopy,
    bytes: Word,
    [source, destination, barrier]: [Option<u64>; 3],
) -> bool {
    if copy.multicast || !matches!(copy.kind, CopyKind::Element | CopyKind::Bulk) {
        return false;
    }
    let Some(bytes) = bytes.filter(|&bytes| bytes > 0) else {
        return false;
    };
    match (copy.way, copy.completion, source, destination, barrier) {
        (CopyWay::GlobalToShared, Completion::Group(AsyncGroup::Element), _, Some(to), _) => {
            agent.fills_words(thread, point, &words(to, bytes), None);
        }
        (CopyWay::GlobalToShared, Completion::Mbarrier, _, Some(to), Some(barrier)) => {
            let bytes_of = i64::try_from(bytes).unwrap_or(i64::MAX);
            agent.fills_words(thread, point, &words(to, bytes), Some((barrier, bytes_of)));
        }
        (CopyWay::SharedToGlobal, Completion::Group(group), Some(from), _, _) => {
            agent.reads(thread, point, group, &words(from, bytes));
        }
        _ => return false,
    }
    true
}

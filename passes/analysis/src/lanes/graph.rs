//! The code that a kernel runs, with callees inlined at their calls.
//!
//! Each chain of direct calls is a *context* with cells of its own. Blocks are cut at collectives, barriers and calls, so
//! that each of these is a node, and a guard on one is a branch around it. All ends of threads lead to one node,
//! [`Graph::exit`]. Recursion, calls through pointers, calls of functions without a body and all code beyond the budget
//! become nodes with unknown effects.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::objects::{Frame, Objects};
use super::peeled_rounds::Rounds;
use super::slice::{Slice, Slices};
use crate::call_graph::CallSite;
use crate::limits::{MAX_INLINE_CONTEXTS, MAX_INLINE_NODES, MAX_VIRTUAL_INLINE_DEPTH};
use crate::shared::Shared;
use crate::slots::SlotId;
use ptxcheck_common::externs;
use ptxcheck_common::groups::Groups;
use ptxcheck_ir::{BlockId, Body, Callee, FunctionId, Guard, Instruction, InstructionId, Op, Rare, Value};

/// No node, no loop.
pub(super) const NONE: u32 = u32::MAX;

/// A chain of calls.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The function at its end.
    pub function: FunctionId,
    /// Its body.
    pub body: &'a Body<'a>,
    /// Its cells.
    pub slice: &'a Slice,
    /// The calling context and the call instruction.
    pub caller: Option<(u32, InstructionId)>,
    /// The index of its first single-assignment cell and, below, of its first flow-sensitive one, over all contexts.
    pub singles: u32,
    /// See `singles`.
    pub flowing: u32,
    /// Its index, or that of the context that it is a copy of: both have the same cells.
    pub home: u32,
    pub(super) depth: usize,
}

impl<'a> Context<'a> {
    /// The instructions of one of its nodes that write cells.
    pub(super) fn steps_of_node(&self, node: &Node) -> &'a [InstructionId] {
        &self.slice.steps[node.steps.start as usize..node.steps.end as usize]
    }
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// Instructions without any of the following.
    Plain,
    /// A collective.
    Collective,
    /// A barrier.
    Barrier,
    /// A call that is followed: its successor is the callee.
    Enter(u32),
    /// A call that is not followed, of a function that has no collective.
    Quiet,
    /// A call with unknown effects.
    Unknown,
}

/// Test that decides between the successors of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// There is one successor, or none.
    None,
    /// To the first where the guard holds, else to the second.
    Guard(Guard),
    /// To the successor that the value selects; with a guard, to the last one if the guard does not hold.
    Table(Value, Option<Guard>),
}

/// A piece of a block in a context.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The context.
    pub context: u32,
    /// Its instructions.
    pub instructions: Range<u32>,
    /// Its instructions that write cells: indices into [`Slice::steps`].
    pub steps: Range<u32>,
    /// Kind of the node.
    pub kind: NodeKind,
    /// Test that decides which edge a lane takes.
    pub test: Test,
    /// Its edges: indices into [`Graph::targets`].
    pub edges: Range<u32>,
}

/// The graph of a kernel.
pub(super) struct Graph<'a> {
    /// The contexts. The kernel is the first.
    pub contexts: Vec<Context<'a>>,
    /// The nodes. The entry is the first.
    pub nodes: Vec<Node>,
    /// Target of each edge.
    pub targets: Vec<u32>,
    /// Source of each edge.
    pub sources: Vec<u32>,
    /// The edges that lead to each node.
    pub(super) incoming: Groups<u32>,
    /// The context that each call enters, by the calling context and the call instruction.
    pub(super) entered: FxHashMap<(u32, InstructionId), u32>,
    /// Cells in no state, over all contexts.
    pub singles: u32,
    /// Cells in states, over all contexts.
    pub flowing: u32,
    /// The node where threads end.
    pub exit: u32,
    /// By node: it only ends threads.
    pub(super) ends: Vec<bool>,
    /// The slots that contexts access in the frames of others.
    pub objects: Arc<Objects>,
    /// The peeled rounds of a loop, if there are any.
    pub rounds: Option<Rounds>,
}

impl<'a> Graph<'a> {
    /// Graph of `root`; `None` if its code is incomplete, or too large.
    #[must_use]
    pub(super) fn new(module: &'a Shared<'a>, slices: &'a Slices, root: FunctionId) -> Option<Self> {
        let mut builder = Builder {
            module,
            slices,
            contexts: Vec::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            queue: Vec::new(),
            singles: 0,
            flowing: 0,
            reserved: 0,
        };
        let nodes = builder.node_count(root)?;
        if nodes > MAX_INLINE_NODES {
            return None;
        }
        builder.add_context(root, None, 0, EXIT)?;
        while let Some((context, first, after)) = builder.queue.pop() {
            builder.expand_context(context, first, after)?;
        }
        let exit = builder.nodes.len() as u32;
        builder.nodes.push(Node {
            context: 0,
            instructions: 0..0,
            steps: 0..0,
            kind: NodeKind::Plain,
            test: Test::None,
            edges: 0..0,
        });
        let mut nodes = builder.nodes;
        let edges = builder.edges.iter().map(|&(from, to)| (from as usize, to));
        let leading = Groups::new(nodes.len(), edges);
        let count = builder.edges.len();
        let (mut targets, mut sources) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (number, node) in nodes.iter_mut().enumerate() {
            let start = targets.len() as u32;
            for &target in leading.of(number) {
                targets.push(if target == EXIT { exit } else { target });
                sources.push(number as u32);
            }
            node.edges = start..targets.len() as u32;
            let steps = &builder.contexts[node.context as usize].slice.steps;
            let before = |end: u32| steps.partition_point(|step| (step.index() as u32) < end) as u32;
            node.steps = before(node.instructions.start)..before(node.instructions.end);
        }
        let edges = targets.iter().map(|&target| target as usize).zip(0..);
        let incoming = Groups::new(nodes.len(), edges);
        let callers = builder.contexts.iter().zip(0..);
        let entered = callers
            .filter_map(|(callee, number)| Some((callee.caller?, number)))
            .collect();
        let frame = |context: &Context<'_>| Frame {
            function: context.function,
            caller: context.caller,
        };
        let frames: Vec<Frame> = builder.contexts.iter().map(frame).collect();
        let mut graph = Self {
            objects: Arc::new(Objects::new(module, &frames)),
            contexts: builder.contexts,
            entered,
            nodes,
            targets,
            sources,
            incoming,
            singles: builder.singles,
            flowing: builder.flowing,
            exit,
            ends: Vec::new(),
            rounds: None,
        };
        graph.ends = graph.find_end_nodes();
        Some(graph)
    }

    /// By node: it only ends threads.
    pub(super) fn find_end_nodes(&self) -> Vec<bool> {
        let is_end = |node: &Node| {
            let edges = node.edges.start as usize..node.edges.end as usize;
            node.kind == NodeKind::Plain
                && node.instructions.len() <= 1
                && self.targets[edges].iter().all(|&target| target == self.exit)
        };
        self.nodes.iter().map(is_end).collect()
    }

    /// By node: all paths from it abort the kernel, by a trap or a function that does not return.
    pub(super) fn aborting_nodes(&self) -> Vec<bool> {
        let is_abort = |node: u32| {
            let current = &self.nodes[node as usize];
            let body = self.context_of_node(node).body;
            let last = current.instructions.clone().next_back();
            let last = last.map(|number| body.instruction(InstructionId::new(number as usize)));
            let traps = last.is_some_and(|last| last.op == Op::Trap && last.guard.is_none());
            let ends = self.successors(node).all(|next| next == self.exit);
            ends && (traps || current.kind == NodeKind::Quiet) && node != self.exit
        };
        let nodes = 0..self.nodes.len() as u32;
        let mut aborts: Vec<bool> = nodes.clone().map(is_abort).collect();
        let mut work: Vec<u32> = nodes.filter(|&node| aborts[node as usize]).collect();
        while let Some(node) = work.pop() {
            for before in self.predecessors(node) {
                let all_abort = self.successors(before).all(|next| aborts[next as usize]);
                if all_abort && !std::mem::replace(&mut aborts[before as usize], true) {
                    work.push(before);
                }
            }
        }
        aborts
    }

    /// The nodes after a node.
    pub(super) fn successors(&self, node: u32) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let edges = &self.nodes[node as usize].edges;
        self.targets[edges.start as usize..edges.end as usize]
            .iter()
            .copied()
    }

    /// The nodes before a node, one for each edge.
    pub(super) fn predecessors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let edges = self.incoming_edges(node).iter();
        edges.map(|&edge| self.sources[edge as usize])
    }

    /// True if a node only ends threads.
    #[must_use]
    pub(super) fn is_end_node(&self, node: u32) -> bool {
        self.ends[node as usize]
    }

    /// The edges that lead to a node.
    #[must_use]
    pub(super) fn incoming_edges(&self, node: u32) -> &[u32] {
        self.incoming.of(node as usize)
    }

    /// The context of a node.
    #[must_use]
    pub(super) fn context_of_node(&self, node: u32) -> &Context<'a> {
        &self.contexts[self.nodes[node as usize].context as usize]
    }

    /// The context that a call in another one enters.
    #[must_use]
    pub(super) fn callee_of(&self, context: u32, call: InstructionId) -> Option<&Context<'a>> {
        let entered = self.callee_number(context, call)?;
        self.contexts.get(entered as usize)
    }

    /// The index of the context that a call in another one enters.
    #[must_use]
    pub(super) fn callee_number(&self, context: u32, call: InstructionId) -> Option<u32> {
        self.entered.get(&(context, call)).copied()
    }

    /// The calls that lead to a context, innermost first.
    #[must_use]
    pub(super) fn calls_leading_to(&self, context: u32) -> Vec<CallSite> {
        let mut sites = Vec::new();
        let mut current = &self.contexts[context as usize];
        while let Some((caller, instruction)) = current.caller {
            let outer = &self.contexts[caller as usize];
            sites.push(CallSite {
                caller: outer.function,
                instruction,
                callee: current.function,
            });
            current = outer;
        }
        sites
    }

    /// The context and its slot that an instruction of a node accesses through a parameter.
    #[must_use]
    pub(super) fn accessed_slot(&self, node: u32, id: InstructionId) -> Option<(&Context<'a>, SlotId)> {
        let (owner, slot) = self.objects.accessed_slot(self.context_of_node(node).home, id)?;
        Some((&self.contexts[owner as usize], slot))
    }

    /// The instruction of a collective, barrier or call node.
    #[must_use]
    pub(super) fn instruction_of_node(&self, node: u32) -> InstructionId {
        InstructionId::new(self.nodes[node as usize].instructions.start as usize)
    }
}

const EXIT: u32 = u32::MAX;

struct Builder<'a> {
    module: &'a Shared<'a>,
    slices: &'a Slices,
    contexts: Vec<Context<'a>>,
    nodes: Vec<Node>,
    /// Source and target of each edge. Edges of one node are in the order of [`Node::edges`].
    edges: Vec<(u32, u32)>,
    queue: Vec<(u32, u32, u32)>,
    singles: u32,
    flowing: u32,
    reserved: usize,
}

/// True if a block is cut at an instruction.
fn cuts_block(op: Op) -> bool {
    matches!(op, Op::Collective(..) | Op::Barrier(_) | Op::Call(_))
}

impl<'a> Builder<'a> {
    fn body_of(&self, function: FunctionId) -> Option<&'a Body<'a>> {
        self.module.module.function(function).body.as_ref()
    }

    /// The nodes of one copy of a function.
    fn node_count(&self, function: FunctionId) -> Option<usize> {
        let body = self.body_of(function)?;
        let cuts = body.collectives.len() + body.calls.len();
        let is_barrier = |instruction: &&Instruction| matches!(instruction.op, Op::Barrier(_));
        let barriers = if body.has(Rare::BARRIER) {
            body.instructions.iter().filter(is_barrier).count()
        } else {
            0
        };
        Some(body.blocks.len() + 2 * (cuts + barriers))
    }

    /// Adds a context and reserves its nodes; returns the first of them. Its returns lead to `after`.
    fn add_context(
        &mut self,
        function: FunctionId,
        caller: Option<(u32, InstructionId)>,
        depth: usize,
        after: u32,
    ) -> Option<u32> {
        let body = self.body_of(function)?;
        let slice = self.slices.slice_of(function)?;
        let context = self.contexts.len() as u32;
        self.contexts.push(Context {
            function,
            body,
            slice,
            caller,
            singles: self.singles,
            flowing: self.flowing,
            home: context,
            depth,
        });
        self.singles += slice.singles;
        self.flowing += slice.flowing;
        let count = self.node_count(function)?;
        let first = self.nodes.len() as u32;
        self.reserved += count;
        let empty = Node {
            context,
            instructions: 0..0,
            steps: 0..0,
            kind: NodeKind::Plain,
            test: Test::None,
            edges: 0..0,
        };
        self.nodes.extend(std::iter::repeat_n(empty, count));
        self.queue.push((context, first, after));
        Some(first)
    }

    /// True if `function` is in the chain of calls that leads to a context.
    fn is_recursive(&self, context: u32, function: FunctionId) -> bool {
        let mut current = &self.contexts[context as usize];
        loop {
            if current.function == function {
                return true;
            }
            match current.caller {
                Some((caller, _)) => current = &self.contexts[caller as usize],
                None => return false,
            }
        }
    }

    fn expand_context(&mut self, context: u32, first: u32, after: u32) -> Option<()> {
        let body = self.contexts[context as usize].body;
        let mut firsts = Vec::with_capacity(body.blocks.len());
        let mut next = first;
        for block in &body.blocks {
            firsts.push(next);
            let cuts = body.instructions[block.instructions.range()]
                .iter()
                .filter(|instruction| cuts_block(instruction.op))
                .count() as u32;
            next += 1 + 2 * cuts;
        }
        for number in 0..body.blocks.len() {
            self.add_block(context, BlockId::new(number), &firsts, after)?;
        }
        Some(())
    }

    fn add_block(&mut self, context: u32, block: BlockId, firsts: &[u32], after: u32) -> Option<()> {
        let body = self.contexts[context as usize].body;
        let range = body.blocks[block.index()].instructions;
        let mut node = firsts[block.index()];
        let mut start = range.start;
        for place in range.start..range.end {
            let instruction = &body.instructions[place as usize];
            if !cuts_block(instruction.op) {
                continue;
            }
            self.nodes[node as usize].instructions = start..place;
            let (cut, rest) = (node + 1, node + 2);
            match instruction.guard {
                Some(guard) => {
                    self.nodes[node as usize].test = Test::Guard(guard);
                    self.edges.extend([(node, cut), (node, rest)]);
                }
                None => self.edges.push((node, cut)),
            }
            let (kind, target) = self.add_cut_node(context, InstructionId::new(place as usize), rest);
            self.nodes[cut as usize].instructions = place..place + 1;
            self.nodes[cut as usize].kind = kind;
            self.edges.push((cut, target));
            node = rest;
            start = place + 1;
        }
        self.nodes[node as usize].instructions = start..range.end;
        let successors = body.successors(block);
        let (test, end) = match body.terminator(block) {
            None => (Test::None, successors.is_empty().then_some(EXIT)),
            Some(last) => match (last.op, last.guard) {
                (Op::Branch, None) if successors.len() == 1 => (Test::None, None),
                (Op::Branch, Some(guard)) if successors.len() == 2 => (Test::Guard(guard), None),
                (Op::BranchTable, guard) if !successors.is_empty() => {
                    let index = body.uses(last).first().copied().unwrap_or(Value::Unknown);
                    (Test::Table(index, guard), None)
                }
                (Op::Return | Op::Exit | Op::Trap, guard) => {
                    let end = if last.op == Op::Return { after } else { EXIT };
                    (guard.map_or(Test::None, Test::Guard), Some(end))
                }
                // A label is missing: the code is incomplete.
                _ => return None,
            },
        };
        self.nodes[node as usize].test = test;
        let mut nexts = successors.iter().map(|next| firsts[next.index()]);
        let Some(end) = end else {
            self.edges.extend(nexts.map(|next| (node, next)));
            return Some(());
        };
        self.edges.push((node, end));
        if test != Test::None {
            // Lanes that do not end continue.
            self.edges.push((node, nexts.next().unwrap_or(EXIT)));
        }
        Some(())
    }

    fn add_cut_node(&mut self, context: u32, id: InstructionId, rest: u32) -> (NodeKind, u32) {
        let body = self.contexts[context as usize].body;
        let instruction = body.instruction(id);
        match instruction.op {
            Op::Collective(..) => return (NodeKind::Collective, rest),
            Op::Barrier(_) => return (NodeKind::Barrier, rest),
            _ => {}
        }
        let Some(Callee::Direct(symbol)) = body.callee(instruction) else {
            return (NodeKind::Unknown, rest);
        };
        let module = self.module.module;
        let Some(callee) = module.called(symbol) else {
            return (NodeKind::Unknown, rest);
        };
        let function = module.function(callee);
        let name = module.function_name(callee);
        if function.noreturn || name == externs::ASSERT_FAIL {
            return (NodeKind::Quiet, EXIT);
        }
        if function.body.is_none() {
            let kind = if externs::is_provided(name) {
                NodeKind::Quiet
            } else {
                NodeKind::Unknown
            };
            return (kind, rest);
        }
        let depth = self.contexts[context as usize].depth + 1;
        let fits = depth <= MAX_VIRTUAL_INLINE_DEPTH
            && self.contexts.len() < MAX_INLINE_CONTEXTS
            && self
                .node_count(callee)
                .is_some_and(|cost| self.reserved + cost <= MAX_INLINE_NODES);
        if fits
            && !self.is_recursive(context, callee)
            && self.slices.slice_of(callee).is_some()
            && let number = self.contexts.len() as u32
            && let Some(first) = self.add_context(callee, Some((context, id)), depth, rest)
        {
            return (NodeKind::Enter(number), first);
        }
        let is_silent = self.slices.slice_of(callee).is_none();
        (
            if is_silent {
                NodeKind::Quiet
            } else {
                NodeKind::Unknown
            },
            rest,
        )
    }
}

/// True if an instruction is a barrier that waits for all threads of the CTA.
#[must_use]
pub(crate) fn is_full_barrier(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Barrier(barrier) if barrier.waits && !barrier.counted && !barrier.cluster)
}

/// True if barriers cut an execution into phases: at least one waits for all threads of the CTA, and all others do so, too,
/// or are barriers of the cluster. A barrier with a thread count, or one that only arrives, could let some lanes continue
/// alone.
pub(super) fn barriers_cut_phases<'i>(mut barriers: impl Iterator<Item = &'i Instruction>) -> bool {
    let is_of_cluster =
        |instruction: &Instruction| matches!(instruction.op, Op::Barrier(barrier) if barrier.cluster);
    let mut is_cut = false;
    barriers.all(|barrier| {
        let is_full = is_full_barrier(barrier);
        is_cut |= is_full;
        is_full || is_of_cluster(barrier)
    }) && is_cut
}

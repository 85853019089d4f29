//! The functions that a kernel reaches by chains of calls, with the constants that these pass.
//!
//! ```text
//! frame     a function, entered with the constants that a call passes; calls that pass the same enter the same
//! asked     an instruction of a frame that the kernel certainly requests: the frame's function certainly reaches it, and by a call
//!           that is asked itself (see `call_chain_to_request`)
//! ```
//!
//! A function that is shared by kernels has operations that one of them never requests. If these lack something, it is not a
//! defect of that kernel.

use std::sync::Arc;

use ptxcheck_ir::{BlockId, FunctionId, InstructionId};
use rustc_hash::FxHashMap;

use super::frame_view::{FrameView, functions_testing_memory};
use crate::call_graph::CallSite;
use crate::entered_function::{Entered, Executed, KnownArguments};
use crate::limits::{MAX_ASYNC_CHAIN, MAX_ASYNC_FRAMES, MAX_FRAME_ENTRIES};
use crate::shared::Shared;

/// A function that calls enter.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) function: FunctionId,
    /// The first calls that lead to it, innermost first.
    pub(super) callers: Arc<[CallSite]>,
    pub(super) passed: KnownArguments,
    /// The blocks that are reached, if the arguments decide that.
    blocks: Option<Vec<bool>>,
    /// The calls that enter it, by frame.
    entries: Vec<(usize, CallSite)>,
}

/// The frames of a kernel.
#[derive(Debug, Default)]
pub(super) struct Frames {
    all: Vec<Frame>,
    by_function: FxHashMap<FunctionId, Vec<usize>>,
    known: FxHashMap<(FunctionId, KnownArguments), usize>,
}

impl Frames {
    pub(super) fn of_kernel(kernel: FunctionId) -> Self {
        let mut frames = Self::default();
        frames.add_frame(kernel, Arc::default(), KnownArguments::new());
        frames
    }

    fn add_frame(&mut self, function: FunctionId, callers: Arc<[CallSite]>, passed: KnownArguments) {
        self.by_function.entry(function).or_default().push(self.all.len());
        self.known.insert((function, passed.clone()), self.all.len());
        self.all.push(Frame {
            function,
            callers,
            passed,
            blocks: None,
            entries: Vec::new(),
        });
    }

    pub(super) fn frame_at(&self, number: usize) -> Option<&Frame> {
        self.all.get(number)
    }

    /// Keeps the blocks that are reached in a frame.
    pub(super) fn set_reached_blocks(&mut self, number: usize, blocks: Option<Vec<bool>>) {
        if let Some(frame) = self.all.get_mut(number) {
            frame.blocks = blocks;
        }
    }

    /// True if a call of a frame may pass constants that are followed.
    pub(super) fn may_pass_constants(&self, from: usize) -> bool {
        let depth = self.frame_at(from).map_or(0, |frame| frame.callers.len());
        self.all.len() < MAX_ASYNC_FRAMES && depth < MAX_ASYNC_CHAIN
    }

    /// Adds the function that a call of a frame enters, with the constants that it passes.
    pub(super) fn add_callee_frame(&mut self, from: usize, call: CallSite, passed: KnownArguments) {
        let key = (call.callee, passed);
        let number = self.known.get(&key).copied().unwrap_or(self.all.len());
        if number == self.all.len() {
            let outer = self.frame_at(from).map(|frame| Arc::clone(&frame.callers));
            let outer = outer.iter().flat_map(|callers| callers.iter().copied());
            let callers = std::iter::once(call).chain(outer).collect();
            self.add_frame(call.callee, callers, key.1);
        }
        let entries = self.all.get_mut(number).map(|frame| &mut frame.entries);
        if let Some(entries) = entries.filter(|entries| entries.len() < MAX_FRAME_ENTRIES) {
            entries.push((from, call));
        }
    }

    /// The first chain of calls, innermost first, that leads to a block of a function.
    pub(super) fn call_chain_to(&self, function: FunctionId, block: BlockId) -> Option<&[CallSite]> {
        Some(&self.frames_reaching(function, block).next()?.1.callers)
    }

    fn frames_reaching(&self, function: FunctionId, block: BlockId) -> impl Iterator<Item = (usize, &Frame)> {
        let numbers = self.by_function.get(&function).into_iter().flatten();
        let is_in = move |blocks: &Vec<bool>| blocks.get(block.index()) == Some(&true);
        numbers
            .map(|&number| (number, &self.all[number]))
            .filter(move |(_, frame)| frame.blocks.as_ref().is_none_or(is_in))
    }

    /// The first chain of calls, innermost first, by which the kernel certainly requests an instruction.
    pub(super) fn call_chain_to_request(
        &self,
        module: &Shared<'_>,
        function: FunctionId,
        at: InstructionId,
    ) -> Option<Vec<CallSite>> {
        let body = module.module.function(function).body.as_ref()?;
        let mut search = RequestSearch {
            module,
            frames: self,
            tests_memory: functions_testing_memory(module),
            chains: FxHashMap::default(),
        };
        let mut reaching = self.frames_reaching(function, body.block_of(at));
        reaching.find_map(|(number, _)| {
            search
                .frame_surely_reaches(number, at)
                .then(|| search.call_chain_to_frame(number, 0))?
        })
    }
}

/// A search for calls that a kernel certainly requests.
struct RequestSearch<'a, 'm> {
    module: &'a Shared<'m>,
    frames: &'a Frames,
    tests_memory: Vec<bool>,
    /// By frame: the chain of calls that are certainly requested.
    chains: FxHashMap<usize, Option<Vec<CallSite>>>,
}

impl RequestSearch<'_, '_> {
    /// True if the function of a frame certainly reaches an instruction.
    fn frame_surely_reaches(&self, number: usize, at: InstructionId) -> bool {
        let Some(frame) = self.frames.frame_at(number) else {
            return false;
        };
        let body = self.module.module.function(frame.function).body.as_ref();
        body.is_some_and(|body| {
            let view = FrameView::new(
                self.module,
                frame.function,
                &frame.passed,
                body,
                &self.tests_memory,
            );
            view.is_reached(at) && view.is_surely_requested(at)
        })
    }

    fn call_chain_to_frame(&mut self, number: usize, depth: usize) -> Option<Vec<CallSite>> {
        let frame = self.frames.frame_at(number)?;
        if self.module.module.function(frame.function).is_kernel() {
            return Some(Vec::new());
        }
        if let Some(known) = self.chains.get(&number) {
            return known.clone();
        }
        // A frame does not count as its own caller.
        self.chains.insert(number, None);
        let found = frame.entries.iter().find_map(|&(from, call)| {
            if depth > MAX_ASYNC_CHAIN || !self.frame_surely_reaches(from, call.instruction) {
                return None;
            }
            let outer = self.call_chain_to_frame(from, depth + 1)?;
            Some(std::iter::once(call).chain(outer).collect())
        });
        self.chains.insert(number, found.clone());
        found
    }
}

/// True if an instruction of a function is certainly requested when a chain of calls, innermost first, enters the function,
/// false if a branch there may skip it; `None` if the arguments make a branch skip it.
pub(super) fn is_requested_through(
    module: &Shared<'_>,
    callers: &[CallSite],
    (function, at): (FunctionId, InstructionId),
) -> Option<bool> {
    let mut passed = KnownArguments::new();
    for call in callers.iter().rev() {
        let Some(mut entered) = Entered::new(module, call.caller, passed) else {
            return Some(false);
        };
        entered.remove_unreachable_definitions();
        if entered.execution_of(call.instruction) == Executed::Never {
            return None;
        }
        passed = entered.arguments_passed_by(call.instruction);
    }
    let body = module.module.function(function).body.as_ref()?;
    let view = FrameView::new(module, function, &passed, body, &[]);
    view.is_reached(at).then(|| view.is_surely_requested(at))
}

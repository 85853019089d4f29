//! One function: its kinds, block by block in reverse postorder, until nothing changes.
//!
//! Each sweep takes the values of the one before along back edges, and none where there was none before: the way in
//! which `flow` solves for lanes. So what a sweep gives covers what `flow` has after as many rounds, and what no longer
//! changes covers what `flow` ends with.

use std::rc::Rc;

use super::kind::{self, Kind};
use super::needs::needed;
use super::reader::{Reader, of_result};
use super::regions::{Decided, Regions};
use super::{Params, Screen, Suspect, special};
use crate::analysis::cfg::Cfg;
use crate::analysis::definitions::Definitions;
use crate::analysis::dominators::Dominators;
use crate::analysis::lanes::slice::{loaded_param, returned};
use crate::analysis::lanes::verdict::is_full_barrier;
use crate::analysis::slots::{Effect, SlotId, Slots};
use crate::analysis::versions::{Meeting, Version, Versions};
use crate::ir::{
    AccessKind, BlockId, Body, CallId, FunctionId, Instruction, InstructionId, Op, Register, Special, Value,
};
use crate::limits::{MAX_SCREEN_SWEEPS, VERSIONS_PER_INSTRUCTION};

/// A function being looked at.
pub struct Pass<'p, 'a, 'm> {
    screen: &'p Screen<'a, 'm>,
    pub(super) id: FunctionId,
    pub(super) body: &'a Body<'m>,
    /// What callers pass; anything, if that is not known.
    params: Option<&'p Params>,
    pub(super) cfg: &'a Cfg,
    definitions: &'a Definitions,
    slots: &'a Slots,
    /// The instructions that count, and where those of each block begin.
    steps: Vec<InstructionId>,
    starts: Vec<u32>,
    versions: Rc<Versions>,
    /// By register with one version, then by version.
    known: Vec<Known>,
    /// By register with several: the one that holds at the place being looked at.
    current: Vec<Version>,
    /// By slot: all that the sweep before has stored, and this one so far.
    stored: [Vec<Kind>; 2],
    pub(super) regions: Regions,
    sweep: u32,
    /// Something has been read that this sweep then made differ.
    changed: bool,
    outcome: Outcome,
}

/// What a function does to others.
#[derive(Default)]
pub struct Outcome {
    /// What it returns.
    pub result: Kind,
    /// What it passes: to whom, as which piece of which parameter.
    pub passed: Vec<(FunctionId, (u32, i32), Kind)>,
    /// Something may be definite in it.
    pub is_suspect: bool,
}

/// The kind of a register or version.
#[derive(Clone, Copy, Default)]
struct Known {
    kind: Kind,
    /// The sweep that it is from, and the last one that has read what an earlier one left.
    set_in: u32,
    read_in: u32,
}

impl Known {
    fn read(&mut self, sweep: u32) -> Kind {
        if self.set_in != sweep {
            self.read_in = sweep;
        }
        self.kind
    }

    /// Whether something has been read that is no longer so.
    fn set(&mut self, kind: Kind, sweep: u32) -> bool {
        let is_new = self.kind != kind && self.read_in == sweep;
        self.kind = kind;
        self.set_in = sweep;
        is_new
    }
}

/// A register that nothing has written holds anything.
const fn defined(kind: Kind) -> Kind {
    if kind.is_defined { kind } else { Kind::UNKNOWN }
}

/// What comes together along edges that control takes once.
#[derive(Default)]
struct Together {
    /// Where nobody knows along which edge.
    open: Kind,
    /// Where a branch picks one.
    picked: Kind,
    version: Option<Version>,
    differs: bool,
    by_lane: bool,
}

impl Together {
    fn add(&mut self, version: Version, kind: Kind, decided: Decided) {
        if decided == Decided::No {
            self.open = self.open.agree(kind);
        } else {
            self.picked = self.picked.join(kind);
            self.differs |= *self.version.get_or_insert(version) != version;
            self.by_lane |= decided == Decided::ByLane;
        }
    }

    fn kind(self) -> Kind {
        let is_split = self.by_lane && self.differs && !self.picked.is_literal();
        let picked = if is_split {
            self.picked.split()
        } else {
            self.picked
        };
        picked.agree(self.open)
    }
}

impl<'p, 'a, 'm> Pass<'p, 'a, 'm> {
    /// Looks at a function that is called with `params`. An error: it is too large to tell.
    pub fn run(
        screen: &'p Screen<'a, 'm>,
        id: FunctionId,
        body: &'a Body<'m>,
        params: Option<&'p Params>,
    ) -> Result<Outcome, Suspect> {
        let analyses = screen.module.function(id);
        let (cfg, definitions, slots) = (analyses.cfg(), analyses.definitions(), analyses.slots());
        let steps = needed(body, definitions, slots);
        let limit = VERSIONS_PER_INSTRUCTION.saturating_mul(body.instructions.len());
        let versions = Versions::new(body, (cfg, analyses.dominators(), definitions), &steps, limit);
        let versions = versions.ok_or(Suspect)?;
        let mut starts = Vec::with_capacity(body.blocks.len() + 1);
        let mut next = 0;
        for block in &body.blocks {
            let start = block.instructions.start;
            next += steps[next..]
                .iter()
                .take_while(|step| (step.index() as u32) < start)
                .count();
            starts.push(next as u32);
        }
        starts.push(steps.len() as u32);
        let mut pass = Self {
            known: vec![Known::default(); body.registers.len() + versions.count()],
            current: vec![Version::NONE; body.registers.len()],
            stored: [(); 2].map(|()| vec![Kind::default(); slots.slots.len()]),
            regions: Regions::new(cfg, body.blocks.len()),
            sweep: 0,
            changed: false,
            outcome: Outcome::default(),
            screen,
            id,
            body,
            params,
            cfg,
            definitions,
            slots,
            steps,
            starts,
            versions: Rc::new(versions),
        };
        pass.settle()?;
        pass.outcome.is_suspect |= pass.is_restricted_suspect();
        Ok(pass.outcome)
    }

    fn settle(&mut self) -> Result<(), Suspect> {
        let function = self.screen.module.module.function(self.id);
        let counts_restricted = !self.slots.slots.is_empty() || !function.results.is_empty();
        while self.sweep < MAX_SCREEN_SWEEPS {
            self.sweep += 1;
            self.changed = false;
            self.outcome = Outcome::default();
            self.regions.begin();
            self.stored.swap(0, 1);
            self.stored[1].fill(Kind::default());
            for &block in self.cfg.reverse_postorder() {
                self.block(block)?;
            }
            self.changed |= self.stored[0] != self.stored[1] || self.regions.have_changed(counts_restricted);
            if !self.changed {
                return Ok(());
            }
        }
        Err(Suspect)
    }

    pub(super) fn post_dominators(&self) -> &'a Dominators {
        self.screen.module.function(self.id).post_dominators()
    }

    fn steps_of(&self, block: BlockId) -> std::ops::Range<usize> {
        self.starts[block.index()] as usize..self.starts[block.index() + 1] as usize
    }

    fn block(&mut self, block: BlockId) -> Result<(), Suspect> {
        let versions = Rc::clone(&self.versions);
        for meeting in versions.meetings(block) {
            let kind = self.met(meeting);
            self.set(self.place_of(meeting.version), meeting.register, kind);
            self.current[meeting.register.index()] = meeting.version;
        }
        for entry in versions.entries(block) {
            self.current[entry.register.index()] = entry.version;
        }
        let is_restricted = self.regions.is_restricted(block);
        for place in self.steps_of(block) {
            self.instruction(self.steps[place], is_restricted);
        }
        let Some(last) = self.body.terminator(block) else {
            return Ok(());
        };
        let looked_at = match (last.guard, last.op) {
            (Some(guard), _) => Value::Register(guard.register),
            (None, Op::BranchTable) => self.body.uses(last).first().copied().unwrap_or(Value::Unknown),
            _ => return Ok(()),
        };
        let test = self.kind(looked_at);
        if test.lane {
            self.follow(block, Decided::ByLane)
        } else if test.low > 0 {
            self.follow(block, Decided::Together)
        } else {
            Ok(())
        }
    }

    const fn place_of(&self, version: Version) -> usize {
        self.body.registers.len() + version.index()
    }

    /// What versions that come together have in common, or any of those among which a branch that may be known picks.
    ///
    /// Lanes come into a loop before they go round it: where it may be known that some do not go round, these have what
    /// came in.
    fn met(&mut self, meeting: &Meeting) -> Kind {
        let here = self.cfg.rank(meeting.block);
        let mut entering = Together::default();
        let (mut back, mut one_of_back) = (Kind::default(), Kind::default());
        let mut is_left = Decided::No;
        let first = self.cfg.first_edge(meeting.block);
        let sources = self.cfg.predecessors(meeting.block);
        for (place, &version) in self.versions.operands(meeting, self.cfg).iter().enumerate() {
            let is_back = self.cfg.rank(sources[place]) >= here;
            let picked = self.regions.picked(first + place, is_back);
            if is_back {
                is_left = is_left.max(picked);
            }
            if version == Version::NONE {
                continue;
            }
            let index = self.place_of(version);
            let kind = self.known[index].read(self.sweep);
            if is_back {
                back = back.agree(kind);
                one_of_back = one_of_back.join(kind);
            } else if kind.is_defined {
                entering.add(version, kind, picked);
            }
        }
        let entering = entering.kind();
        if !back.is_defined {
            return entering;
        }
        let mut met = match is_left {
            Decided::No => entering.agree(back),
            _ if !entering.is_defined => one_of_back,
            _ => entering.join(entering.agree(one_of_back)),
        };
        if is_left == Decided::ByLane && !met.is_literal() {
            met = met.split();
        }
        if entering.bits != one_of_back.bits {
            // It would grow bit by bit.
            met.bits = 64;
        }
        met
    }

    fn instruction(&mut self, id: InstructionId, is_restricted: bool) {
        let body = self.body;
        let instruction = &body.instructions[id.index()];
        let guard = instruction
            .guard
            .map(|guard| self.kind(Value::Register(guard.register)));
        let by_lane = is_restricted || guard.is_some_and(|kind| kind.lane);
        self.outcome.is_suspect |= self.is_suspect_at(instruction, by_lane);
        let results = body.results(instruction);
        if let Some(&first) = results.first() {
            let kind = self.result(body, id, instruction);
            for &result in results {
                if let Value::Register(register) = result {
                    let kind = of_result(instruction.op, kind, result == first);
                    self.define(register, kind, id, guard);
                }
            }
        }
        match instruction.op {
            Op::Access(access) if access.kind != AccessKind::Load => {
                let uses = body.uses(instruction);
                if let Some((_, value)) = returned(body, instruction.op, uses) {
                    let kind = if by_lane { Kind::LANE } else { self.kind(value) };
                    self.outcome.result = self.outcome.result.join(kind);
                }
                self.store(id, instruction, by_lane);
            }
            Op::Call(call) => self.pass_arguments(call),
            _ => {}
        }
    }

    fn define(&mut self, register: Register, kind: Kind, by: InstructionId, guard: Option<Kind>) {
        let mut kind = kind;
        if let Some(guard) = guard {
            // The lanes where the guard does not hold keep what they have.
            let old = self.register(register);
            kind = kind::result(Op::Select, &[kind, old, guard], &[Value::Unknown; 3]);
        }
        let index = if self.versions.has(register) {
            let version = self.versions.made(self.definitions, register, by);
            self.current[register.index()] = version;
            self.place_of(version)
        } else {
            register.index()
        };
        self.set(index, register, kind);
    }

    fn set(&mut self, index: usize, register: Register, kind: Kind) {
        let kind = kind.cut(self.body.registers[register.index()].bits);
        self.changed |= self.known[index].set(kind, self.sweep);
    }

    fn callee(&self, instruction: &Instruction) -> Option<FunctionId> {
        self.screen.basis.callee(self.body, instruction)
    }

    fn pass_arguments(&mut self, call: CallId) {
        let body = self.body;
        let call = body.call(call);
        let Some(callee) = self.callee(body.instruction(call.instruction)) else {
            return;
        };
        for argument in body.arguments(call) {
            if let Ok(offset) = i32::try_from(argument.offset) {
                let kind = self.kind(argument.value);
                self.outcome.passed.push((callee, (argument.param, offset), kind));
            }
        }
    }

    fn store(&mut self, id: InstructionId, instruction: &Instruction, by_lane: bool) {
        if let Effect::Store(slot) = self.slots.effect(id, instruction) {
            let stored = self.body.uses(instruction).get(2).copied();
            let kind = stored.map_or(Kind::UNKNOWN, |value| self.kind(value));
            self.fill(slot, if by_lane { Kind::LANE } else { kind });
            for other in self.slots.overlapping(slot) {
                let is_known = by_lane || kind.low > 0;
                self.fill(other, if is_known { Kind::LANE } else { Kind::UNKNOWN });
            }
        }
    }

    fn fill(&mut self, slot: SlotId, kind: Kind) {
        let [before, now] = &mut self.stored;
        let (before, now) = (before[slot as usize], &mut now[slot as usize]);
        *now = now.join(kind);
        if before.is_defined && now.bits > before.bits {
            now.bits = 64;
        }
    }

    /// Whether something may be definite at an instruction that only some lanes reach, or all.
    fn is_suspect_at(&mut self, instruction: &Instruction, by_lane: bool) -> bool {
        if let Op::Collective(_, true) = instruction.op {
            let mask = self.body.uses(instruction).first().copied();
            let mask = self.kind(mask.unwrap_or(Value::Unknown));
            by_lane || mask.may_be_exact() && !mask.is_full()
        } else {
            by_lane && self.needs_all_lanes(instruction)
        }
    }

    fn needs_all_lanes(&self, instruction: &Instruction) -> bool {
        match instruction.op {
            Op::Collective(_, is_sync) => is_sync,
            Op::Barrier(_) => is_full_barrier(instruction),
            Op::Call(_) => self.may_end_lanes(instruction),
            _ => false,
        }
    }

    /// The same for the blocks that lanes may be kept from by branches further on, around a loop.
    fn is_restricted_suspect(&self) -> bool {
        let is_called = !self.screen.module.call_graph().calls_to(self.id).is_empty();
        let is_split = self.regions.is_split();
        self.cfg.reverse_postorder().iter().any(|&block| {
            let is_restricted = self.regions.is_restricted(block);
            self.steps[self.steps_of(block)].iter().any(|&step| {
                let instruction = self.body.instruction(step);
                is_restricted && self.needs_all_lanes(instruction)
                    // Lanes that a called function ends do not come back to its callers.
                    || is_split && is_called && matches!(instruction.op, Op::Exit | Op::Trap)
            })
        })
    }

    /// Whether a call that only some lanes make may meet others, or not come back.
    fn may_end_lanes(&self, instruction: &Instruction) -> bool {
        let basis = self.screen.basis;
        let meets = self
            .callee(instruction)
            .is_some_and(|callee| basis.meets[callee.index()]);
        meets || basis.may_end_lanes(self.body, instruction)
    }
}

impl Reader for Pass<'_, '_, '_> {
    fn register(&mut self, register: Register) -> Kind {
        let index = if self.versions.has(register) {
            match self.current[register.index()] {
                Version::NONE => return Kind::UNKNOWN,
                version => self.place_of(version),
            }
        } else {
            register.index()
        };
        defined(self.known[index].read(self.sweep))
    }

    fn special(&self, of: Special) -> Kind {
        special(of, self.screen.basis.has_shape)
    }

    fn loaded(&mut self, id: InstructionId, instruction: &Instruction) -> Kind {
        let uses = self.body.uses(instruction);
        if let Effect::Load(slot) = self.slots.effect(id, instruction) {
            let [before, now] = &self.stored;
            defined(before[slot as usize].join(now[slot as usize]))
        } else if let Some((number, offset)) = loaded_param(instruction.op, uses) {
            let piece = (u32::from(number), offset);
            match self.params {
                Some(params) => params.get(&piece).copied().unwrap_or(Kind::UNKNOWN),
                None => Kind::LANE,
            }
        } else {
            Kind::UNKNOWN
        }
    }

    fn returned(&self, call: InstructionId) -> Kind {
        self.callee(self.body.instruction(call))
            .map_or(Kind::UNKNOWN, |callee| self.screen.result_of(callee))
    }
}

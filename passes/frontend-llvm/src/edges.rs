//! Edges between blocks, and the copies on them that replace phis.
//!
//! A phi is a copy at the end of each block that leads to it, into a register of its own, and a copy from there where the
//! phi stands: so its result is defined once, and the copies of one edge do not overwrite each other's sources.
//! The copies of an edge whose source has other successors get a block of their own on the edge.

use super::body::{Label, Lowering};
use super::raw::{Block as LlvmBlock, User, Value as LlvmValue};
use super::types::Shape;
use ptxcheck_common::groups::Groups;
use ptxcheck_ir::{Op, Register, Slots, Value};

/// The label of no block of the function.
pub(super) const NOWHERE: Label = Label::MAX;

/// A phi, and the registers to which edges copy its operands.
#[derive(Clone, Copy)]
pub(super) struct Phi<'m> {
    user: User<'m>,
    shape: Shape,
    landing: Register,
    /// In [`Scratch::landing_parts`].
    parts: Slots,
}

/// The value that a phi takes on an edge.
#[derive(Clone, Copy)]
struct PhiSource<'m> {
    to: Label,
    phi: u32,
    source: LlvmValue<'m>,
}

/// The values that phis take on edges, by the blocks that the edges come from.
#[derive(Default)]
pub(super) struct PhiSources<'m> {
    /// As they were noted: by the blocks that edges go to, then by phi.
    noted: Vec<(Label, PhiSource<'m>)>,
    /// The noted values, by the blocks that edges come from.
    by_block: Groups<PhiSource<'m>>,
}

impl<'m> PhiSources<'m> {
    pub(super) fn clear(&mut self) {
        self.noted.clear();
    }

    /// Sorts the noted values; `blocks` is the number of blocks.
    pub(super) fn sort(&mut self, blocks: usize) {
        let noted = self.noted.iter().map(|&(from, one)| (from as usize, one));
        self.by_block = Groups::new(blocks, noted);
    }

    /// The values that one edge brings.
    fn on(&self, from: Label, to: Label) -> &[PhiSource<'m>] {
        let of_block = self.by_block.of(from as usize);
        let of_edge = &of_block[of_block.partition_point(|one| one.to < to)..];
        &of_edge[..of_edge.partition_point(|one| one.to == to)]
    }
}

impl<'m> Lowering<'_, '_, 'm> {
    /// Gives the phis of a block registers to which edges copy their operands, and notes the operands.
    pub(super) fn phis(&mut self, number: usize) {
        for phi in self.scratch.blocks[number].phis() {
            let shape = self.shape(phi.ty());
            let landing = self.fresh(shape.bits);
            let first = self.scratch.landing_parts.len();
            if let Some(elements) = Some(phi.ty())
                .filter(|_| shape.is_aggregate)
                .and_then(|ty| self.elements(ty))
            {
                for (ty, _) in elements {
                    let bits = self.bits(ty);
                    let part = self.fresh(bits);
                    self.scratch.landing_parts.push(part);
                }
            }
            for (source, from) in phi.incoming() {
                if let Some(from) = self.scratch.label_of.get(from.address()) {
                    let leaving = PhiSource {
                        to: number as Label,
                        phi: self.scratch.phis.len() as u32,
                        source,
                    };
                    self.scratch.phi_sources.noted.push((from, leaving));
                }
            }
            self.scratch.phis.push(Phi {
                user: phi,
                shape,
                landing,
                parts: Slots::new(first, self.scratch.landing_parts.len()),
            });
        }
    }

    /// The target of an edge. Where the block needs copies that others of `from`'s successors do not, a block of the
    /// edge's own is queued; with a single successor, the copies are added here. Damaged bitcode may name a block that is not in the
    /// function: nothing is known of lanes that go there, and they end.
    pub(super) fn edge(&mut self, from: Label, to: LlvmBlock<'m>, alone: bool) -> Label {
        let to = self.scratch.label_of.get(to.address()).unwrap_or(NOWHERE);
        if to != NOWHERE {
            let firsts = &self.scratch.first_phis[to as usize..];
            if firsts[0] == firsts[1] {
                return to;
            }
            if alone {
                self.copies(from, to);
                return to;
            }
        }
        let mut nearest = self.scratch.queued.iter().rev().take(8);
        if let Some((.., label)) = nearest.find(|(_, known, _)| *known == to) {
            return *label;
        }
        let label = self.new_label();
        self.scratch.queued.push((from, to, label));
        label
    }

    /// The copies that the phis of `to` want on the edge from `from`.
    pub(super) fn copies(&mut self, from: Label, to: Label) {
        let phi_sources = std::mem::take(&mut self.scratch.phi_sources);
        let mut last = None;
        for one in phi_sources.on(from, to) {
            // Of several edges between two blocks, a phi says the same for each.
            if last.replace(one.phi) == Some(one.phi) {
                continue;
            }
            let phi = self.scratch.phis[one.phi as usize];
            let whole = self.value(one.source);
            self.emit(Op::Copy, &[Value::Register(phi.landing)], &[whole]);
            if !phi.parts.range().is_empty() {
                let parts = self.parts(one.source).unwrap_or_default();
                for (number, place) in phi.parts.range().enumerate() {
                    let landing = Value::Register(self.scratch.landing_parts[place]);
                    let part = parts.get(number).copied().unwrap_or(Value::Unknown);
                    self.emit(Op::Copy, &[landing], &[part]);
                }
            }
        }
        self.scratch.phi_sources = phi_sources;
    }

    /// Lowers a phi to a copy of the value that the edges brought.
    pub(super) fn lower_phi(&mut self, number: usize) {
        let phi = self.scratch.phis[number];
        let result = self.defined(phi.user, phi.shape.bits);
        self.emit(
            Op::Copy,
            &[Value::Register(result)],
            &[Value::Register(phi.landing)],
        );
        if phi.parts.range().is_empty() {
            return;
        }
        let mut parts = Vec::new();
        for place in phi.parts.range() {
            let landing = self.scratch.landing_parts[place];
            let part = Value::Register(self.fresh(self.body.registers.bits(landing)));
            self.emit(Op::Copy, &[part], &[Value::Register(landing)]);
            parts.push(part);
        }
        self.scratch.parts.insert(phi.user.value(), parts);
    }
}

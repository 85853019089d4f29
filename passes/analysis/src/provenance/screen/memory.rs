//! Accesses: stores by symbol, parameters and results, bounds, escaping local objects.

use super::cell::{Cell, Kinds, Location, PackedLocation};
use super::pass::{ScreenPass, join_cells};
use crate::limits::NULL_PAGE;
use crate::provenance::extent::{self, Object};
use crate::provenance::judge::{faulting_offset, use_of};
use ptxcheck_ir::{Access, AccessKind, Op, Space, SymbolId, Value};

/// Addresses of memory that other threads can read.
const SEEN: Kinds = Kinds::address_in(Space::Global)
    .union(Kinds::address_in(Space::Shared))
    .union(Kinds::address_in(Space::SharedCluster));

impl ScreenPass<'_> {
    pub(super) fn screen_access(&mut self, access: &Access, results: &[Value], uses: &[Value]) {
        let Some(&base) = uses.first() else {
            return self.write_results(results, Cell::OTHER);
        };
        if let Value::ReturnSlot(_, start) = base {
            return self.note_results(access, start, uses);
        }
        let mut cell = self.cell_of_operand(base);
        let by = match uses.get(1) {
            Some(&Value::Integer(by)) => Some(by),
            _ => None,
        };
        if let Some(used) = use_of(Op::Access(*access)) {
            self.screen_bounds(access, by, cell);
            if faulting_offset(Op::Access(*access), uses).is_some() {
                let may_be = match cell.location.unpack() {
                    Location::Number(at) => {
                        let to = by.and_then(|by| by.checked_add(i64::from(at)));
                        to.is_some_and(|to| (0..NULL_PAGE).contains(&to))
                    }
                    _ => true,
                };
                if may_be {
                    self.note_null(base, cell);
                }
            }
            // A symbol in the operand of a generic access is one in its space.
            if access.space == Space::Generic && matches!(base, Value::Symbol(..)) {
                let raw = [Space::Global, Space::Shared, Space::Local];
                let generic = raw
                    .into_iter()
                    .find(|&space| cell.kinds.intersects(Kinds::raw_in(space)));
                cell.kinds = generic.map_or(cell.kinds, Kinds::generic_in).union(Kinds::ALONE);
            }
            self.judge_use(used, cell);
        }
        let address = match (cell.location.unpack(), by.map(i32::try_from)) {
            (Location::Symbol(symbol, at), Some(Ok(by))) => at.checked_add(by).map(|at| (symbol, at)),
            _ => None,
        };
        let is_word = access.count == 1 && matches!(access.bits, 32 | 64);
        match access.kind {
            AccessKind::Load => {
                let loaded = match (base, address) {
                    (Value::Param(number, offset), _) if access.space == Space::Param && by == Some(0) => {
                        return self.load_param(access, results, (number, offset));
                    }
                    (_, Some(address)) if is_word => self.load_word(address),
                    _ => Cell::OTHER,
                };
                self.write_results(results, loaded);
            }
            kind => {
                if kind == AccessKind::Store
                    && is_word
                    && let (Some(address), Some(&data)) = (address, uses.get(2))
                {
                    let data = self.cell_of_operand(data);
                    self.store_word(address, data);
                }
                self.screen_escape(access, cell, uses);
                self.write_results(results, Cell::OTHER);
            }
        }
    }

    /// The cell of the word at a constant offset in a variable.
    pub(super) fn load_word(&mut self, address: (SymbolId, i32)) -> Cell {
        let Some(stored) = self.memory.stored.get_mut(&address) else {
            // A later store in the text has to know that the cell was read.
            if self.module.module.symbol(address.0).space == Space::Local {
                self.memory.stored.insert(address, Cell::of_kinds(Kinds::READ));
            }
            return Cell::OTHER;
        };
        stored.kinds = stored.kinds.union(Kinds::READ);
        // Memory without a store holds anything.
        Cell {
            kinds: stored.kinds.difference(Kinds::READ).union(Kinds::OTHER),
            ..*stored
        }
    }

    pub(super) fn store_word(&mut self, address: (SymbolId, i32), data: Cell) {
        let stored = self.memory.stored.entry(address).or_default();
        let before = *stored;
        join_cells(self.module, stored, data.without_register_flags());
        self.is_stale |= before.kinds.intersects(Kinds::READ) && stored.requires_reevaluation(before);
    }

    /// A load of the parameters themselves.
    fn load_param(&mut self, access: &Access, results: &[Value], (number, offset): (u16, i32)) {
        let declared = self
            .function
            .params
            .get(usize::from(number))
            .and_then(|parameter| parameter.points_to);
        let stride = u32::from(access.bits / 8);
        for (nth, register) in (0_u32..).zip(results) {
            let &Value::Register(register) = register else {
                continue;
            };
            let cell = match (access.bits, u32::try_from(offset), declared) {
                (64, Ok(_), declared) if self.function.is_kernel() => Cell::of_kinds(match declared {
                    Some(space @ (Space::Shared | Space::Const | Space::Local)) => Kinds::raw_in(space),
                    _ => Kinds::generic_in(Space::Global),
                }),
                (32, Ok(_), Some(space @ (Space::Shared | Space::Const | Space::Local)))
                    if self.function.is_kernel() =>
                {
                    Cell::of_kinds(Kinds::raw_in(space))
                }
                (32 | 64, Ok(offset), _) if !self.function.is_kernel() => {
                    let formals = self.bit_of_piece((number, offset.saturating_add(nth * stride)));
                    Cell {
                        kinds: Kinds::NONE,
                        formals,
                        location: PackedLocation::PASSED,
                    }
                }
                _ => Cell::OTHER,
            };
            self.write_register(register, cell.marked_as_only_value());
        }
    }

    /// A store of a return value.
    pub(super) fn note_results(&mut self, access: &Access, start: i32, uses: &[Value]) {
        let stride = i64::from(access.bits / 8);
        for (number, &value) in uses.iter().skip(2).enumerate() {
            let cell = self
                .cell_of_operand(value)
                .without_register_flags()
                .without_test_flag();
            let Ok(offset) = u32::try_from(i64::from(start) + stride * number as i64) else {
                continue;
            };
            let known = self
                .summary
                .results
                .iter_mut()
                .find(|(known, _)| *known == offset);
            match known {
                Some((_, known)) => {
                    join_cells(self.module, known, cell);
                }
                None => self.summary.results.push((offset, cell)),
            }
        }
    }

    /// Constant offsets in objects whose size is known.
    pub(super) fn screen_bounds(&mut self, access: &Access, by: Option<i64>, cell: Cell) {
        let Some(by) =
            by.filter(|_| access.bytes() != 0 && access.kind != AccessKind::Other && self.reportable.spaces)
        else {
            return;
        };
        let (object, at) = match cell.location.unpack() {
            Location::Symbol(symbol, at) => (Object::Symbol(symbol), at),
            Location::Param(number, at) => (Object::Param(self.function, number), at),
            Location::Several | Location::Far => {
                return self.mark_suspect_if(cell.kinds.intersects(Kinds::NAMED));
            }
            Location::Inside(window) => {
                return self.mark_suspect_if(
                    cell.kinds.intersects(Kinds::NAMED) && !window.contains_access(by, access),
                );
            }
            Location::Nowhere | Location::Number(_) | Location::Passed(_) => return,
        };
        let start = i64::from(at).checked_add(by);
        let is_outside = start.is_none_or(|start| {
            cell.kinds.intersects(Kinds::NAMED)
                && extent::bounds_violation(self.module, object, start, access).is_some()
        });
        self.mark_suspect_if(is_outside);
    }

    /// The address of a local object, stored where other threads can read it.
    pub(super) fn screen_escape(&mut self, access: &Access, to: Cell, uses: &[Value]) {
        if !matches!(access.bits, 32 | 64) || !self.reportable.spaces {
            return;
        }
        let is_seen = match access.space {
            Space::Global | Space::Shared | Space::SharedCluster => true,
            Space::Generic => to.kinds.intersects(SEEN),
            _ => false,
        };
        if !is_seen {
            return;
        }
        for &data in uses.iter().skip(2) {
            let data = self.cell_of_operand(data);
            self.mark_suspect_if(self.reportable.is_wrong(data, Kinds::address_in(Space::Local)));
        }
    }
}

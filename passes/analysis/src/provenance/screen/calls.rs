//! Calls: arguments and results.

use super::cell::{Cell, Kinds, Location, PackedLocation};
use super::pass::{MAX_PIECES, ScreenPass, join_cells};
use super::summary::ScreenSummary;
use ptxcheck_ir::{Argument, Callee, InstructionId, Op, SymbolId, Value};

impl<'a> ScreenPass<'a> {
    pub(super) fn summary_of(&self, symbol: SymbolId) -> Option<&'a ScreenSummary> {
        let function = self.module.module.called(symbol)?;
        self.known
            .get(function.index())
            .filter(|summary| summary.is_known)
    }

    /// Compares the arguments of a call with the uses that the callee makes of its parameters.
    pub(super) fn check_arguments(&mut self, symbol: SymbolId, arguments: &[Argument]) {
        let Some(callee) = self.summary_of(symbol) else {
            return;
        };
        for argument in arguments {
            let wrong = callee.wrong_kinds_for(argument);
            if wrong == Kinds::NONE {
                continue;
            }
            let cell = self.cell_of_operand(argument.value);
            self.mark_suspect_if(self.reportable.is_wrong(cell, wrong.difference(Kinds::CONSTANT)));
            self.record_demand(cell.formals, wrong);
            if wrong.intersects(Kinds::CONSTANT) {
                self.note_null(argument.value, cell);
            }
        }
    }

    /// Writes the results of a call.
    pub(super) fn write_call_results(&mut self, call: InstructionId, results: &[Value], uses: &[Value]) {
        let body = self.body;
        let called = match body.callee(body.instruction(call)) {
            Some(Callee::Direct(symbol)) => self.summary_of(symbol),
            _ => None,
        };
        let arguments = match body.instruction(call).op {
            Op::Call(call) => body.arguments(body.call(call)),
            _ => &[],
        };
        let offset = match uses.first() {
            Some(&Value::Integer(offset)) => u32::try_from(offset).ok(),
            _ => None,
        };
        let returned = called.zip(offset).and_then(|(summary, offset)| {
            let known = summary.results.iter().find(|(known, _)| *known == offset);
            known.map(|(_, cell)| (summary, *cell))
        });
        let Some((summary, result)) = returned else {
            return self.write_results(results, Cell::OTHER);
        };
        if result.kinds.intersects(Kinds::TRUTH) {
            for argument in arguments {
                self.note_test(argument.value, summary.tested);
            }
        }
        let mut cell = Cell {
            kinds: result.kinds.union(Kinds::OTHER),
            formals: 0,
            location: match result.location.unpack() {
                Location::Param(..) => PackedLocation::NOWHERE,
                _ => result.location.without_caller_part(),
            },
        };
        for argument in arguments {
            let number = summary.piece_index(argument).unwrap_or(MAX_PIECES);
            if result.formals >> number & 1 == 0 {
                continue;
            }
            let passed = self.cell_of_operand(argument.value);
            let location = match result.location.unpack() {
                Location::Passed(by) => passed.location.offset_by(by),
                Location::Several | Location::Inside(_) | Location::Far => PackedLocation::FAR,
                _ => PackedLocation::NOWHERE,
            };
            let passed = Cell {
                location,
                ..passed.without_register_flags().without_test_flag()
            };
            join_cells(self.module, &mut cell, passed);
        }
        self.write_results(results, cell);
    }
}

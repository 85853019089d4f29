//! Calls: what is passed, and what comes back.

use super::cell::{Cell, Kinds, Location, Place};
use super::outline::Outline;
use super::pass::{MAX_PIECES, Pass, join};
use ptxcheck_ir::{Argument, Callee, InstructionId, Op, SymbolId, Value};

impl<'a> Pass<'a> {
    pub(super) fn outline_of(&self, symbol: SymbolId) -> Option<&'a Outline> {
        let function = self.module.module.called(symbol)?;
        self.known
            .get(function.index())
            .filter(|outline| outline.is_known)
    }

    /// Holds what a call passes against what the function called makes of it.
    pub(super) fn call(&mut self, symbol: SymbolId, arguments: &[Argument]) {
        let Some(callee) = self.outline_of(symbol) else {
            return;
        };
        for argument in arguments {
            let wrong = callee.wants(argument);
            if wrong == Kinds::NONE {
                continue;
            }
            let cell = self.value(argument.value);
            self.suspect(self.wanted.is_wrong(cell, wrong.without(Kinds::CONSTANT)));
            self.demand(cell.formals, wrong);
            if wrong.has(Kinds::CONSTANT) {
                self.note_null(argument.value, cell);
            }
        }
    }

    /// What a call returns.
    pub(super) fn returned(&mut self, call: InstructionId, results: &[Value], uses: &[Value]) {
        let body = self.body;
        let called = match body.callee(body.instruction(call)) {
            Some(Callee::Direct(symbol)) => self.outline_of(symbol),
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
        let returned = called.zip(offset).and_then(|(outline, offset)| {
            let known = outline.results.iter().find(|(known, _)| *known == offset);
            known.map(|(_, cell)| (outline, *cell))
        });
        let Some((outline, result)) = returned else {
            return self.write_all(results, Cell::OTHER);
        };
        if result.kinds.has(Kinds::TRUTH) {
            for argument in arguments {
                self.note_test(argument.value, outline.tested);
            }
        }
        let mut cell = Cell {
            kinds: result.kinds.with(Kinds::OTHER),
            formals: 0,
            place: match result.place.get() {
                Location::Param(..) => Place::NOWHERE,
                _ => result.place.without_passed(),
            },
        };
        for argument in arguments {
            let number = outline.place(argument).unwrap_or(MAX_PIECES);
            if result.formals >> number & 1 == 0 {
                continue;
            }
            let passed = self.value(argument.value);
            let place = match result.place.get() {
                Location::Passed(by) => passed.place.moved(by),
                Location::Several | Location::Inside(_) | Location::Far => Place::FAR,
                _ => Place::NOWHERE,
            };
            let passed = Cell {
                place,
                ..passed.unmixed().computed()
            };
            join(self.module, &mut cell, passed);
        }
        self.write_all(results, cell);
    }
}

//! The transfer functions on cells: they cover every result of `super::super::transfer` on the values of the cells.

use super::cell::{Cell, Kinds};
use super::pass::{Pass, join};
use ptxcheck_ir::{BinaryOp, Class, Op, Space, Value};

impl Pass<'_> {
    /// Writes the results of an instruction that is neither an access nor a call.
    pub(super) fn compute(&mut self, op: Op, results: &[Value], uses: &[Value]) {
        if results.is_empty() {
            return;
        }
        let cell = match (op, uses) {
            (Op::Copy, &[from]) => {
                let cell = self.value(from);
                self.note_moved(cell, uses, results);
                return self.write_all(results, cell);
            }
            (Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), _), &[a, b]) => {
                let (first, second) = (self.value(a), self.value(b));
                let cell = match op {
                    BinaryOp::Add => first.plus(second),
                    _ => first.minus(second),
                };
                self.note_moved(cell, uses, results);
                return self.write_all(results, cell.computed());
            }
            (Op::Select, &[a, b, ref rest @ ..]) => {
                let (mut cell, other) = (self.value(a), self.value(b));
                let is_mixed = cell.brings_no_constant() || other.brings_no_constant();
                // An operand that is not written yet leaves the other one, and so does the previous value of the result.
                let is_alone = [(a, cell), (b, other)].iter().all(|(value, cell)| {
                    results.first() == Some(value) || cell.is_nothing() || cell.kinds.has(Kinds::ALONE)
                });
                join(self.module, &mut cell, other);
                cell.kinds = cell.kinds.without(Kinds::ALONE);
                if is_alone {
                    cell = cell.alone();
                }
                cell.kinds = cell.kinds.with(self.truth(rest).kinds.and(Kinds::TRUTH));
                cell.kinds = cell.kinds.with(Kinds::MIXED.when(is_mixed));
                self.note_moved(cell, &uses[..2], results);
                return self.write_all(results, cell.computed());
            }
            (Op::Binary(op, bits), &[a, b]) => self.binary(op, bits, a, b),
            (Op::MulAdd(..), &[_, _, c]) => self.value(c).plus(Cell::OTHER),
            (Op::Convert { from, to, .. }, &[a]) => converted(self.value(a), from, to),
            (Op::ToGeneric(space, _), &[a]) => {
                let cell = self.value(a);
                let to = in_window(cell, space, Kinds::raw, Kinds::generic);
                cast(cell, Kinds::GENERIC, to, space)
            }
            (Op::FromGeneric(space, _), &[a]) => {
                let cell = self.value(a);
                let to = in_window(cell, space, Kinds::generic, Kinds::raw);
                cast(cell, Kinds::NONE, to, space)
            }
            (Op::MapShared(space), &[a, ..]) => {
                let mapped = if space == Space::Generic {
                    Kinds::generic(Space::SharedCluster)
                } else {
                    Kinds::raw(Space::SharedCluster)
                };
                cast(self.value(a), Kinds::NONE, mapped, Space::SharedCluster)
            }
            (Op::IsSpace(_), _) => Cell::of_kinds(Kinds::TRUTH.with(Kinds::OTHER)),
            (_, uses) => self.truth(uses),
        };
        self.write_all(results, cell.unmixed().computed().alone());
    }

    /// Anything, and the outcome of a test if one of these may be that.
    fn truth(&mut self, uses: &[Value]) -> Cell {
        let mut kinds = Kinds::OTHER;
        if self.tested != Kinds::NONE {
            for &value in uses {
                kinds = kinds.with(self.truth_of(value));
            }
        }
        Cell::of_kinds(kinds)
    }

    fn binary(&mut self, op: BinaryOp, bits: u8, a: Value, b: Value) -> Cell {
        match op.class() {
            Class::And => {
                let top = bits.saturating_sub(1).min(63);
                let is_number = |value: Value| match value {
                    Value::Integer(mask) => mask >> top & 1 == 0 && bits > 32 && (0..1 << 31).contains(&mask),
                    _ => false,
                };
                if is_number(a) || is_number(b) {
                    return self.truth(&[a, b]);
                }
                self.value(a).vague().plus(self.value(b).vague())
            }
            Class::Or | Class::Xor => self.value(a).vague().plus(self.value(b).vague()),
            Class::ShiftedLeft | Class::Product | Class::WideProduct { .. }
                if bits == 64 && matches!(b, Value::Integer(_)) =>
            {
                Cell::of_kinds(Kinds::INDEX.with(Kinds::OTHER))
            }
            Class::Sum
            | Class::Difference
            | Class::Product
            | Class::WideProduct { .. }
            | Class::Quotient { .. }
            | Class::Remainder { .. }
            | Class::Least { .. }
            | Class::Greatest { .. }
            | Class::ShiftedLeft
            | Class::ShiftedRight { .. }
            | Class::Other => self.truth(&[a, b]),
        }
    }
}

fn converted(cell: Cell, from: u8, to: u8) -> Cell {
    let truth = Cell::of_kinds(Kinds::OTHER.with(cell.kinds.and(Kinds::TRUTH)));
    if from < 32 || to < 32 {
        return truth;
    }
    if from == to {
        return cell;
    }
    // 32 bits hold half of a generic address, and the caller's argument may be one.
    let narrow = Kinds::RAW
        .without(Kinds::raw(Space::Global))
        .with(Kinds::GENERIC)
        .with(Kinds::CONSTANT)
        .with(Kinds::UNDEFINED)
        .with(Kinds::NAMED)
        .with(Kinds::TRUTH);
    Cell {
        kinds: cell.kinds.and(narrow).with(Kinds::OTHER),
        formals: 0,
        location: cell.location.without_passed(),
    }
}

/// Addresses in a space after a conversion: those in the cluster's shared memory stay there.
fn in_window(cell: Cell, space: Space, from: fn(Space) -> Kinds, to: fn(Space) -> Kinds) -> Kinds {
    let cluster = Space::SharedCluster;
    let stays = space == Space::Shared && cell.kinds.has(from(cluster));
    to(space).with(to(cluster).when(stays))
}

/// The result of a cast: an address in the space, for any operand. The kinds `same` are kept.
fn cast(cell: Cell, same: Kinds, to: Kinds, space: Space) -> Cell {
    let mut kept = Kinds::UNDEFINED.with(Kinds::NAMED);
    if space == Space::Global {
        kept = kept.with(Kinds::CONSTANT).with(same);
    }
    Cell {
        kinds: cell.kinds.and(kept).with(to),
        formals: 0,
        location: cell.location.without_passed(),
    }
}

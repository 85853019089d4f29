//! The transfer functions on cells: they cover every result of `super::super::transfer` on the values of the cells.

use super::cell::{Cell, Kinds};
use super::pass::{ScreenPass, join_cells};
use ptxcheck_ir::{BinaryOp, Class, Op, Space, Value};

impl ScreenPass<'_> {
    /// Writes the results of an instruction that is neither an access nor a call.
    pub(super) fn write_operation_results(&mut self, op: Op, results: &[Value], uses: &[Value]) {
        if results.is_empty() {
            return;
        }
        let cell = match (op, uses) {
            (Op::Copy, &[from]) => {
                let cell = self.cell_of_operand(from);
                self.record_moved_constant(cell, uses, results);
                return self.write_results(results, cell);
            }
            (Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), _), &[a, b]) => {
                let (first, second) = (self.cell_of_operand(a), self.cell_of_operand(b));
                let cell = match op {
                    BinaryOp::Add => first.plus(second),
                    _ => first.minus(second),
                };
                self.record_moved_constant(cell, uses, results);
                return self.write_results(results, cell.without_test_flag());
            }
            (Op::Select, &[a, b, ref rest @ ..]) => {
                let (mut cell, other) = (self.cell_of_operand(a), self.cell_of_operand(b));
                let is_mixed = cell.has_value_but_no_constant() || other.has_value_but_no_constant();
                // An operand that is not written yet leaves the other one, and so does the previous value of the result.
                let is_alone = [(a, cell), (b, other)].iter().all(|(value, cell)| {
                    results.first() == Some(value)
                        || cell.has_no_value_yet()
                        || cell.kinds.intersects(Kinds::ALONE)
                });
                join_cells(self.module, &mut cell, other);
                cell.kinds = cell.kinds.difference(Kinds::ALONE);
                if is_alone {
                    cell = cell.marked_as_only_value();
                }
                cell.kinds = cell.kinds.union(
                    self.unknown_or_test_outcome(rest)
                        .kinds
                        .intersection(Kinds::TRUTH),
                );
                cell.kinds = cell.kinds.union(Kinds::MIXED.kinds_if(is_mixed));
                self.record_moved_constant(cell, &uses[..2], results);
                return self.write_results(results, cell.without_test_flag());
            }
            (Op::Binary(op, bits), &[a, b]) => self.binary_result(op, bits, a, b),
            (Op::MulAdd(..), &[_, _, c]) => self.cell_of_operand(c).plus(Cell::OTHER),
            (Op::Convert { from, to, .. }, &[a]) => converted_cell(self.cell_of_operand(a), from, to),
            (Op::ToGeneric(space, _), &[a]) => {
                let cell = self.cell_of_operand(a);
                let to = kinds_after_conversion(cell, space, Kinds::raw_in, Kinds::generic_in);
                cell_after_cast(cell, Kinds::GENERIC, to, space)
            }
            (Op::FromGeneric(space, _), &[a]) => {
                let cell = self.cell_of_operand(a);
                let to = kinds_after_conversion(cell, space, Kinds::generic_in, Kinds::raw_in);
                cell_after_cast(cell, Kinds::NONE, to, space)
            }
            (Op::MapShared(space), &[a, ..]) => {
                let mapped = if space == Space::Generic {
                    Kinds::generic_in(Space::SharedCluster)
                } else {
                    Kinds::raw_in(Space::SharedCluster)
                };
                cell_after_cast(self.cell_of_operand(a), Kinds::NONE, mapped, Space::SharedCluster)
            }
            (Op::IsSpace(_), _) => Cell::of_kinds(Kinds::TRUTH.union(Kinds::OTHER)),
            (_, uses) => self.unknown_or_test_outcome(uses),
        };
        self.write_results(
            results,
            cell.without_register_flags()
                .without_test_flag()
                .marked_as_only_value(),
        );
    }

    /// Anything, and the outcome of a test if one of these may be that.
    fn unknown_or_test_outcome(&mut self, uses: &[Value]) -> Cell {
        let mut kinds = Kinds::OTHER;
        if self.tested != Kinds::NONE {
            for &value in uses {
                kinds = kinds.union(self.truth_kind_of(value));
            }
        }
        Cell::of_kinds(kinds)
    }

    fn binary_result(&mut self, op: BinaryOp, bits: u8, a: Value, b: Value) -> Cell {
        match op.class() {
            Class::And => {
                let top = bits.saturating_sub(1).min(63);
                let is_number = |value: Value| match value {
                    Value::Integer(mask) => mask >> top & 1 == 0 && bits > 32 && (0..1 << 31).contains(&mask),
                    _ => false,
                };
                if is_number(a) || is_number(b) {
                    return self.unknown_or_test_outcome(&[a, b]);
                }
                self.cell_of_operand(a)
                    .without_location()
                    .plus(self.cell_of_operand(b).without_location())
            }
            Class::Or | Class::Xor => self
                .cell_of_operand(a)
                .without_location()
                .plus(self.cell_of_operand(b).without_location()),
            Class::ShiftedLeft | Class::Product | Class::WideProduct { .. }
                if bits == 64 && matches!(b, Value::Integer(_)) =>
            {
                Cell::of_kinds(Kinds::INDEX.union(Kinds::OTHER))
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
            | Class::Other => self.unknown_or_test_outcome(&[a, b]),
        }
    }
}

fn converted_cell(cell: Cell, from: u8, to: u8) -> Cell {
    let truth = Cell::of_kinds(Kinds::OTHER.union(cell.kinds.intersection(Kinds::TRUTH)));
    if from < 32 || to < 32 {
        return truth;
    }
    if from == to {
        return cell;
    }
    // 32 bits hold half of a generic address, and the caller's argument may be one.
    let narrow = Kinds::RAW
        .difference(Kinds::raw_in(Space::Global))
        .union(Kinds::GENERIC)
        .union(Kinds::CONSTANT)
        .union(Kinds::UNDEFINED)
        .union(Kinds::NAMED)
        .union(Kinds::TRUTH);
    Cell {
        kinds: cell.kinds.intersection(narrow).union(Kinds::OTHER),
        formals: 0,
        location: cell.location.without_caller_part(),
    }
}

/// Addresses in a space after a conversion: those in the cluster's shared memory stay there.
fn kinds_after_conversion(
    cell: Cell,
    space: Space,
    from: fn(Space) -> Kinds,
    to: fn(Space) -> Kinds,
) -> Kinds {
    let cluster = Space::SharedCluster;
    let stays = space == Space::Shared && cell.kinds.intersects(from(cluster));
    to(space).union(to(cluster).kinds_if(stays))
}

/// The result of a cast: an address in the space, for any operand. The kinds `same` are kept.
fn cell_after_cast(cell: Cell, same: Kinds, to: Kinds, space: Space) -> Cell {
    let mut kept = Kinds::UNDEFINED.union(Kinds::NAMED);
    if space == Space::Global {
        kept = kept.union(Kinds::CONSTANT).union(same);
    }
    Cell {
        kinds: cell.kinds.intersection(kept).union(to),
        formals: 0,
        location: cell.location.without_caller_part(),
    }
}

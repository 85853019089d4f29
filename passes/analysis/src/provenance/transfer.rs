//! The transfer functions of the operations that compute addresses.
//!
//! ```text
//! a + n, a - n, a & -2^k, a | n, a ^ n    a's elements; the offset is kept for constants added or subtracted
//! a × n, a << n, tid, 32 → 64 bits        a number, if a is not a known address; for unknown values of 64 bits: ⊤,
//!                                         because they may be a difference of addresses, in elements
//! a - b                                   a number in one window: added to any address, it stays in that address's window; else composed,
//!                                         as are a ^ b, a × n, a >> n for known addresses, and values computed from a composed one
//! a + composed                            ⊤: (s - g) + p may point anywhere that s does
//! a + ⊤                                   a, but: a parameter of unknown kind may itself be the integer, so ⊤; else the ⊤
//!                                         may be composed, so trusted no more
//! cvta.X, cvta.to.X                       an address in X, for any operand (a wrong operand is judged at the conversion)
//! 64 → 32 bits, a & 0xffffffff            raw addresses of small windows survive, and so do generic ones that the code
//!                                         itself made, trusted no more; the caller's argument does not
//! ```
//!
//! Sources: PTX ISA, cvta, isspacep, mapa, and Operands: Addresses.

use super::value::{Base, Element, ElementKind, Provenance, Trust};
use ptxcheck_ir::{BinaryOp, Class, InstructionId, Op, Space, UnaryOp, Value};

/// The operands that the result of an operation depends on: of `selp` the two to choose from, of `mapa` the address. `None`
/// for an operation whose result is ⊤ for all operands.
#[must_use]
pub(super) fn relevant_operands(op: Op, uses: &[Value]) -> Option<&[Value]> {
    match op {
        Op::Copy | Op::Convert { .. } | Op::Unary(..) => uses.get(..1),
        Op::ToGeneric(..) | Op::FromGeneric(..) | Op::MapShared(_) => uses.get(..1),
        Op::Select | Op::Binary(..) => uses.get(..2),
        Op::MulAdd(..) => uses.get(..3),
        _ => None,
    }
}

/// The result of `op`, which stands at `at`, on its [`relevant_operands`].
#[must_use]
pub(super) fn value_of_result(op: Op, inputs: &[Provenance], at: InstructionId) -> Provenance {
    match (op, inputs) {
        (Op::Copy, [a]) => a.clone(),
        (Op::Select, [a, b]) => {
            let mut joined = a.clone();
            joined.join(b);
            joined
        }
        (Op::Binary(BinaryOp::Add, _), [a, b]) => sum_of_values(a, b),
        (Op::Binary(BinaryOp::Sub, bits), [a, b]) => difference_of_values(a, b, bits),
        (Op::Binary(BinaryOp::And, bits), [a, b]) => masked_value(a, b, bits),
        (Op::Binary(op @ (BinaryOp::Or | BinaryOp::Xor), bits), [a, b]) => {
            value_with_bits_changed(op, a, b, bits)
        }
        (Op::Binary(op, bits), [a, b]) => value_of_arithmetic(op, a, b, bits),
        (Op::MulAdd(op, bits), [a, b, c]) => sum_of_values(&value_of_arithmetic(op, a, b, bits), c),
        (Op::Unary(op, _), [a]) => value_of_unary(op, a),
        (Op::Convert { from, signed, to }, [a]) => converted_value(a, from, signed, to),
        (Op::ToGeneric(space, _), [a]) => cast_value(a, ElementKind::Raw, ElementKind::Generic, space, at),
        (Op::FromGeneric(space, _), [a]) => cast_value(a, ElementKind::Generic, ElementKind::Raw, space, at),
        (Op::MapShared(space), [a]) => {
            let kind = if space == Space::Generic {
                ElementKind::Generic
            } else {
                ElementKind::Raw
            };
            map_shared(a, kind, at)
        }
        _ => Provenance::Top,
    }
}

/// True if it may be computed from several addresses.
fn is_composed(value: &Provenance) -> bool {
    value
        .elements()
        .iter()
        .any(|element| element.kind == ElementKind::Composed)
}

/// True if it may be a known address, or computed from known addresses.
fn has_address(value: &Provenance) -> bool {
    value.elements().iter().any(|element| {
        element.kind == ElementKind::Composed || element.is_address() && element.trust != Trust::Assumed
    })
}

fn is_bottom(value: &Provenance) -> bool {
    *value == Provenance::Bottom
}

/// True if all possible values of both lie in one window, so that adding their difference to an address never leaves its
/// window. An address that is known to be in the window of the cluster may be in that of any of its CTAs.
fn do_values_share_window(a: &Provenance, b: &Provenance) -> bool {
    let window = |element: &Element| match (element.kind, element.space) {
        _ if element.trust == Trust::Weak => None,
        (_, Space::SharedCluster) => None,
        // The windows of global and of generic addresses have the same base.
        (_, Space::Global) => Some((ElementKind::Generic, Space::Global)),
        (kind @ (ElementKind::Raw | ElementKind::Generic), space) => Some((kind, space)),
        _ => None,
    };
    let mut windows = a.elements().iter().chain(b.elements()).map(window);
    let first = windows.next().flatten();
    first.is_some() && windows.all(|window| window == first)
}

/// Without offsets: `or` and `xor` change bits, and do not add.
fn without_offsets(value: &Provenance) -> Provenance {
    value.map(|element| Element {
        offset: None,
        ..*element
    })
}

fn offset_by(value: &Provenance, by: Option<i64>) -> Provenance {
    value.map(|element| Element {
        offset: element
            .offset
            .zip(by)
            .and_then(|(offset, by)| offset.checked_add(by)),
        ..*element
    })
}

fn sum_of_values(a: &Provenance, b: &Provenance) -> Provenance {
    match (a, b) {
        (Provenance::Bottom, _) | (_, Provenance::Bottom) => Provenance::Bottom,
        _ if b.is_number() => offset_by(a, b.constant()),
        _ if a.is_number() => offset_by(b, a.constant()),
        _ => match (has_only_addresses(a), has_only_addresses(b)) {
            (true, false) => address_plus_unknown(a, b),
            (false, true) => address_plus_unknown(b, a),
            (false, false) if is_composed(a) || is_composed(b) => Provenance::COMPOSED,
            _ => Provenance::Top,
        },
    }
}

fn has_only_addresses(value: &Provenance) -> bool {
    let elements = value.elements();
    !elements.is_empty() && elements.iter().all(Element::is_address)
}

/// An address plus something that may be an address or a number.
fn address_plus_unknown(address: &Provenance, other: &Provenance) -> Provenance {
    let has_known_address = has_address(other) || other.elements().iter().any(Element::is_address);
    let is_assumed = address
        .elements()
        .iter()
        .any(|element| element.trust != Trust::Certain);
    if has_known_address || is_assumed {
        return Provenance::Top;
    }
    address.map(|element| Element {
        offset: None,
        trust: Trust::Weak,
        ..*element
    })
}

fn difference_of_values(a: &Provenance, b: &Provenance, bits: u8) -> Provenance {
    match (has_only_addresses(a), has_only_addresses(b)) {
        _ if is_bottom(a) || is_bottom(b) => Provenance::Bottom,
        _ if b.is_number() => offset_by(a, b.constant().and_then(i64::checked_neg)),
        (true, true) if do_values_share_window(a, b) => Provenance::NUMBER,
        (true, true) => Provenance::COMPOSED,
        (true, false) if is_composed(b) => Provenance::Top,
        // The program may mean a difference of pointers, which is not an address.
        (true, false) if bits > 32 => address_plus_unknown(a, b),
        // An argument may be an address or not.
        _ if has_address(a)
            || has_address(b)
            || bits > 32 && may_be_passed_by_caller(a) && may_be_passed_by_caller(b) =>
        {
            Provenance::COMPOSED
        }
        _ => Provenance::Top,
    }
}

fn may_be_passed_by_caller(value: &Provenance) -> bool {
    value
        .elements()
        .iter()
        .any(|element| element.kind == ElementKind::Formal)
}

/// `or` and `xor`. An address exclusive-or a number may be a hash or an encrypted pointer, which leads nowhere: it stays certain
/// where the number can be a tag or a swizzle ([`changes_only_tag_bits`]), and in 32 bits, where indices in shared memory are swizzled.
fn value_with_bits_changed(op: BinaryOp, a: &Provenance, b: &Provenance, bits: u8) -> Provenance {
    let is_one = a.is_number() || b.is_number() || is_bottom(a) || is_bottom(b);
    if !is_one && has_address(a) && has_address(b) {
        return if is_composed(a) != is_composed(b) {
            Provenance::Top
        } else {
            Provenance::COMPOSED
        };
    }
    let changed = sum_of_values(&without_offsets(a), &without_offsets(b));
    let number = if a.is_number() { a } else { b };
    if op == BinaryOp::Or || bits <= 32 || number.constant().is_some_and(changes_only_tag_bits) {
        return changed;
    }
    changed.map(|element| match element.trust {
        Trust::Certain if element.is_address() => Element {
            trust: Trust::Weak,
            ..*element
        },
        _ => *element,
    })
}

/// True if a number changes bits of an address that a program may use freely: below the 16 MiB of a window, or above the 48
/// bits of an address.
const fn changes_only_tag_bits(number: i64) -> bool {
    const ADDRESS: i64 = (1 << 48) - (1 << 24);
    number & ADDRESS == 0
}

fn value_of_unary(op: UnaryOp, a: &Provenance) -> Provenance {
    match op {
        _ if is_bottom(a) || a.is_number() => offset_by(a, None),
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs if has_address(a) => Provenance::COMPOSED,
        UnaryOp::Neg | UnaryOp::Not => Provenance::Top,
        _ => Provenance::NUMBER,
    }
}

/// Aligning an address down keeps it; any other mask makes a number or something unknown.
fn masked_value(a: &Provenance, b: &Provenance, bits: u8) -> Provenance {
    if is_composed(a) || is_composed(b) {
        return Provenance::COMPOSED;
    }
    let (value, mask) = match (a.constant(), b.constant()) {
        (_, Some(mask)) => (a, mask),
        (Some(mask), _) => (b, mask),
        _ if a.is_number() && b.is_number() => return Provenance::NUMBER,
        _ => return Provenance::Top,
    };
    let top = bits.saturating_sub(1).min(63);
    if mask >> top & 1 == 1 {
        return without_offsets(value);
    }
    if (0..1 << 31).contains(&mask) && bits > 32 {
        return Provenance::NUMBER;
    }
    if mask == i64::from(u32::MAX) && *value != Provenance::Top {
        return converted_value(&converted_value(value, 64, false, 32), 32, false, 64);
    }
    if value.is_number() {
        Provenance::NUMBER
    } else {
        Provenance::Top
    }
}

/// Products, quotients, shifts, and the like. A difference of elements is a shifted difference of addresses, and becomes one
/// again when it is multiplied by the element size.
fn value_of_arithmetic(op: BinaryOp, a: &Provenance, b: &Provenance, bits: u8) -> Provenance {
    if is_bottom(a) || is_bottom(b) {
        return Provenance::Bottom;
    }
    if is_composed(a) || is_composed(b) {
        return Provenance::COMPOSED;
    }
    if a.is_number() && b.is_number() {
        return Provenance::NUMBER;
    }
    let of_address = has_address(a) || has_address(b);
    // A loaded number may be the difference of addresses in two windows, in elements.
    let may_be_composed = bits > 32 && (*a == Provenance::Top || *b == Provenance::Top);
    match op.class() {
        Class::Remainder { .. } => Provenance::NUMBER,
        Class::Least { .. } | Class::Greatest { .. } => Provenance::Top,
        _ if of_address => Provenance::COMPOSED,
        Class::Product | Class::ShiftedLeft if may_be_composed => Provenance::Top,
        Class::Product | Class::WideProduct { .. } | Class::Quotient { .. } => Provenance::NUMBER,
        // A shift by 0 changes nothing; a shift by half a word assembles an address from pieces.
        Class::ShiftedLeft if b.constant().is_some_and(|by| (1..32).contains(&by)) => Provenance::NUMBER,
        Class::Sum
        | Class::Difference
        | Class::And
        | Class::Or
        | Class::Xor
        | Class::ShiftedLeft
        | Class::ShiftedRight { .. }
        | Class::Other => Provenance::Top,
    }
}

fn converted_value(a: &Provenance, from: u8, signed: bool, to: u8) -> Provenance {
    if is_bottom(a) {
        return Provenance::Bottom;
    }
    if from < 32 || to < 32 {
        return if is_composed(a) {
            Provenance::COMPOSED
        } else {
            Provenance::NUMBER
        };
    }
    if from == to {
        return a.clone();
    }
    let is_widened = to > from;
    if *a == Provenance::Top {
        // 32 bits hold no generic address, and the other operand of a sum with one is a number.
        return if is_widened {
            Provenance::NUMBER
        } else {
            Provenance::Top
        };
    }
    let survives = |element: &Element| match element.kind {
        ElementKind::Number | ElementKind::Composed | ElementKind::Undefined => true,
        ElementKind::Raw => element.space != Space::Global,
        // A parameter of a kernel is as likely a number.
        ElementKind::Generic => element.trust != Trust::Assumed,
        ElementKind::Formal => false,
    };
    if a.elements().iter().all(survives) {
        // A number that is truncated is sign-extended, as offsets in a window are.
        return a
            .map(|element| extended_number(truncated_element(element), from.min(to), signed || !is_widened));
    }
    if is_widened {
        Provenance::NUMBER
    } else {
        Provenance::Top
    }
}

/// The number that the low `bits` bits of a number are, with or without a sign.
fn extended_number(element: Element, bits: u8, signed: bool) -> Element {
    let number = |number: i64| match (bits, signed) {
        (32, true) => i64::from(number as i32),
        (32, false) => i64::from(number as u32),
        _ => number,
    };
    match element.kind {
        ElementKind::Number => Element {
            offset: element.offset.map(number),
            ..element
        },
        _ => element,
    }
}

/// An element truncated to 32 bits: of a generic address, the half that hardware treats as an address in a window.
fn truncated_element(element: &Element) -> Element {
    match element.kind {
        ElementKind::Generic => Element {
            trust: Trust::Weak,
            offset: None,
            ..*element
        },
        _ => *element,
    }
}

/// `cvta` and `cvta.to`: the result is in the space that the instruction names.
fn cast_value(
    a: &Provenance,
    from: ElementKind,
    to: ElementKind,
    space: Space,
    at: InstructionId,
) -> Provenance {
    let fresh = Element::of_address(to, space, Base::Unknown, at);
    let cast_element = |element: &Element| match element.kind {
        ElementKind::Undefined => *element,
        // The windows of global and generic memory have the same base.
        ElementKind::Number if space == Space::Global && element.offset.is_some() => *element,
        // Already converted: global generic and raw addresses are equal, so a double conversion is harmless.
        kind if kind == to
            && (element.space == space || kind == ElementKind::Generic && space == Space::Global) =>
        {
            *element
        }
        kind if (kind == from || space == Space::Global) && element.space == space => Element {
            kind: to,
            trust: Trust::Certain,
            origin: Some(at),
            ..*element
        },
        // One window lies in the other: the address is still in its original space.
        kind if kind == from && (space, element.space) == (Space::Shared, Space::SharedCluster) => Element {
            kind: to,
            trust: Trust::Certain,
            ..*element
        },
        ElementKind::Formal => Element {
            base: element.base,
            ..fresh
        },
        _ => fresh,
    };
    match a {
        Provenance::Top => Provenance::One(fresh),
        other => other.map(cast_element),
    }
}

fn map_shared(a: &Provenance, kind: ElementKind, at: InstructionId) -> Provenance {
    let fresh = Element::of_address(kind, Space::SharedCluster, Base::Unknown, at);
    let map_element = |element: &Element| match element.kind {
        ElementKind::Undefined => *element,
        ElementKind::Raw | ElementKind::Generic => Element {
            base: element.base,
            offset: element.offset,
            ..fresh
        },
        ElementKind::Formal | ElementKind::Number | ElementKind::Composed => fresh,
    };
    match a {
        Provenance::Top => Provenance::One(fresh),
        other => other.map(map_element),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptxcheck_ir::SymbolId;

    const AT: InstructionId = InstructionId::new(7);

    fn address_in_tile(kind: ElementKind, offset: i64) -> Provenance {
        Provenance::One(Element {
            offset: Some(offset),
            ..Element::of_address(
                kind,
                Space::Shared,
                Base::Symbol(SymbolId::new(0)),
                InstructionId::new(1),
            )
        })
    }

    fn number(value: i64) -> Provenance {
        Provenance::One(Element::of_number(Some(value)))
    }

    fn result_of_binary(op: BinaryOp, bits: u8, a: &Provenance, b: &Provenance) -> Provenance {
        value_of_result(Op::Binary(op, bits), &[a.clone(), b.clone()], AT)
    }

    #[test]
    fn constant_offsets_are_added() {
        let tile = |offset| address_in_tile(ElementKind::Raw, offset);
        assert_eq!(
            result_of_binary(BinaryOp::Add, 32, &tile(4), &number(8)),
            tile(12)
        );
        assert_eq!(
            result_of_binary(BinaryOp::Sub, 32, &tile(4), &number(8)),
            tile(-4)
        );
        assert_eq!(
            result_of_binary(BinaryOp::Sub, 32, &tile(4), &tile(0)),
            Provenance::NUMBER
        );
        assert_eq!(
            result_of_binary(BinaryOp::Add, 32, &tile(4), &tile(0)),
            Provenance::Top
        );
    }

    /// A pointer to the global variable with this index.
    fn pointer_to_global(number: usize) -> Provenance {
        Provenance::One(Element {
            offset: Some(0),
            ..Element::of_address(
                ElementKind::Generic,
                Space::Global,
                Base::Symbol(SymbolId::new(number)),
                InstructionId::new(2),
            )
        })
    }

    #[test]
    fn differences_are_numbers_in_one_window() {
        let within = result_of_binary(BinaryOp::Sub, 64, &pointer_to_global(1), &pointer_to_global(2));
        assert_eq!(within, Provenance::NUMBER);
        assert_eq!(
            result_of_binary(BinaryOp::Add, 64, &pointer_to_global(1), &within),
            offset_by(&pointer_to_global(1), None)
        );
        let tile = address_in_tile(ElementKind::Generic, 4);
        for other in [
            pointer_to_global(1),
            super::tests::address_in_tile(ElementKind::Raw, 4),
        ] {
            let across = result_of_binary(BinaryOp::Sub, 64, &tile, &other);
            assert_eq!(across, Provenance::COMPOSED);
            assert_eq!(
                result_of_binary(BinaryOp::Add, 64, &other, &across),
                Provenance::Top
            );
            assert_eq!(
                result_of_binary(BinaryOp::Add, 64, &across, &number(8)),
                Provenance::COMPOSED
            );
        }
    }

    #[test]
    fn composed_values_stay_composed() {
        let across = result_of_binary(
            BinaryOp::Sub,
            64,
            &address_in_tile(ElementKind::Generic, 4),
            &pointer_to_global(1),
        );
        let elements = result_of_binary(BinaryOp::ShrSigned, 64, &across, &number(2));
        let bytes = result_of_binary(BinaryOp::Shl, 64, &elements, &number(2));
        assert_eq!(bytes, Provenance::COMPOSED);
        let masked = result_of_binary(BinaryOp::And, 64, &across, &Provenance::NUMBER);
        assert_eq!(masked, Provenance::COMPOSED);
        let or_none = value_of_result(Op::Select, &[number(0), across.clone()], AT);
        assert_eq!(
            result_of_binary(BinaryOp::Add, 64, &pointer_to_global(1), &or_none),
            Provenance::Top
        );
        let product = [Provenance::NUMBER, across, pointer_to_global(1)];
        assert_eq!(
            value_of_result(Op::MulAdd(BinaryOp::MulLow, 64), &product, AT),
            Provenance::Top
        );
        let narrow = Op::Convert {
            from: 64,
            signed: true,
            to: 16,
        };
        assert_eq!(value_of_result(narrow, &[bytes], AT), Provenance::COMPOSED);
        let bits = result_of_binary(
            BinaryOp::Xor,
            64,
            &address_in_tile(ElementKind::Generic, 4),
            &pointer_to_global(1),
        );
        assert_eq!(
            result_of_binary(BinaryOp::Xor, 64, &pointer_to_global(1), &bits),
            Provenance::Top
        );
    }

    #[test]
    fn masks_align_addresses_or_make_numbers() {
        let aligned = result_of_binary(
            BinaryOp::And,
            64,
            &address_in_tile(ElementKind::Generic, 4),
            &number(-16),
        );
        assert_eq!(
            aligned,
            without_offsets(&address_in_tile(ElementKind::Generic, 4))
        );
        let cut = result_of_binary(
            BinaryOp::And,
            64,
            &address_in_tile(ElementKind::Generic, 4),
            &number(15),
        );
        assert_eq!(cut, Provenance::NUMBER);
    }

    #[test]
    fn small_windows_fit_in_32_bits() {
        let narrow = Op::Convert {
            from: 64,
            signed: false,
            to: 32,
        };
        assert_eq!(
            value_of_result(narrow, &[address_in_tile(ElementKind::Raw, 4)], AT),
            address_in_tile(ElementKind::Raw, 4)
        );
        // Half of a generic address is known to be one, and trusted no more.
        let half = value_of_result(narrow, &[address_in_tile(ElementKind::Generic, 4)], AT);
        let [element] = half.elements() else {
            panic!("{half:?}")
        };
        assert_eq!(
            (element.kind, element.offset, element.trust),
            (ElementKind::Generic, None, Trust::Weak)
        );
        let masked = result_of_binary(
            BinaryOp::And,
            64,
            &address_in_tile(ElementKind::Generic, 4),
            &number(0xffff_ffff),
        );
        assert_eq!(masked, half);
        let passed = address_in_tile(ElementKind::Generic, 4).map(|element| Element {
            trust: Trust::Assumed,
            ..*element
        });
        assert_eq!(value_of_result(narrow, &[passed], AT), Provenance::Top);
    }

    #[test]
    fn casts_give_the_space_that_they_name() {
        let global = value_of_result(
            Op::FromGeneric(Space::Global, 64),
            &[address_in_tile(ElementKind::Generic, 4)],
            AT,
        );
        let [element] = global.elements() else {
            panic!("{global:?}")
        };
        assert_eq!(
            (element.kind, element.space, element.base),
            (ElementKind::Raw, Space::Global, Base::Unknown)
        );
        let back = value_of_result(
            Op::FromGeneric(Space::Shared, 64),
            &[address_in_tile(ElementKind::Generic, 4)],
            AT,
        );
        assert_eq!(
            back.elements()[0].base,
            address_in_tile(ElementKind::Raw, 0).elements()[0].base
        );
    }
}

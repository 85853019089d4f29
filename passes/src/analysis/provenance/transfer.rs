//! What each operation makes of the addresses it is given.
//!
//! ```text
//! a + n, a - n, a & -2^k, a | n, a ^ n    a's elements; the offset is kept for constants added or subtracted
//! a - b, a × b, a << k, tid, 32 → 64 bits   a number
//! a + ⊤                                   a, but: a parameter of unknown kind may itself be the integer, so ⊤; a raw
//!                                         address of 64 bits may be the offset, so trusted no more
//! cvta.X, cvta.to.X                       an address in X, whatever it was given (what was wrong is judged there)
//! 64 → 32 bits                            raw addresses of small windows survive, generic ones do not
//! ```
//!
//! Sources: PTX ISA, cvta, isspacep, mapa, and Operands: Addresses.

use super::value::{Base, Element, Form, Provenance, Trust};
use crate::ir::{BinaryOp, InstructionId, Op, Space, UnaryOp};

/// The result of `op`, which stands at `at`, on the operands that matter: of a multiply-add the last, of `selp` the two
/// to choose from, of `mapa` the address.
#[must_use]
pub fn result(op: Op, inputs: &[Provenance], at: InstructionId) -> Provenance {
    match (op, inputs) {
        (Op::Copy, [a]) => a.clone(),
        (Op::Select, [a, b]) => {
            let mut joined = a.clone();
            joined.join(b);
            joined
        }
        (Op::Binary(BinaryOp::Add, bits), [a, b]) => add(a, b, bits),
        (Op::Binary(BinaryOp::Sub, bits), [a, b]) => subtract(a, b, bits),
        (Op::Binary(BinaryOp::And, bits), [a, b]) => mask(a, b, bits),
        (Op::Binary(BinaryOp::Or | BinaryOp::Xor, bits), [a, b]) => add(&vague(a), &vague(b), bits),
        (Op::Binary(op, _), [_, amount]) => arithmetic(op, amount),
        (Op::MulAdd(_, bits), [c]) => add(&Provenance::NUMBER, c, bits),
        (Op::Unary(UnaryOp::Neg | UnaryOp::Not, _), [a]) if !a.is_number() => Provenance::Top,
        (Op::Unary(..), _) => Provenance::NUMBER,
        (Op::Convert { from, to, .. }, [a]) => convert(a, from, to),
        (Op::ToGeneric(space, _), [a]) => cast(a, Form::Raw, Form::Generic, space, at),
        (Op::FromGeneric(space, _), [a]) => cast(a, Form::Generic, Form::Raw, space, at),
        (Op::MapShared(space), [a]) => {
            let form = if space == Space::Generic {
                Form::Generic
            } else {
                Form::Raw
            };
            map_shared(a, form, at)
        }
        _ => Provenance::Top,
    }
}

/// Without offsets: `or` and `xor` change bits, not amounts.
fn vague(value: &Provenance) -> Provenance {
    value.map(|element| Element {
        offset: None,
        ..*element
    })
}

fn moved(value: &Provenance, by: Option<i64>) -> Provenance {
    value.map(|element| Element {
        offset: element
            .offset
            .zip(by)
            .and_then(|(offset, by)| offset.checked_add(by)),
        ..*element
    })
}

fn add(a: &Provenance, b: &Provenance, bits: u8) -> Provenance {
    match (a, b) {
        (Provenance::Bottom, _) | (_, Provenance::Bottom) => Provenance::Bottom,
        _ if b.is_number() => moved(a, b.constant()),
        _ if a.is_number() => moved(b, a.constant()),
        _ => match (is_all_addresses(a), is_all_addresses(b)) {
            (true, false) => with_unknown(a, b, bits),
            (false, true) => with_unknown(b, a, bits),
            _ => Provenance::Top,
        },
    }
}

fn is_all_addresses(value: &Provenance) -> bool {
    let elements = value.elements();
    !elements.is_empty() && elements.iter().all(Element::is_address)
}

/// An address plus something that may be an address or a number.
fn with_unknown(address: &Provenance, other: &Provenance, bits: u8) -> Provenance {
    let has_known_address = other.elements().iter().any(Element::is_address);
    let is_assumed = address
        .elements()
        .iter()
        .any(|element| element.trust != Trust::Certain);
    if has_known_address || is_assumed {
        return Provenance::Top;
    }
    address.map(|element| Element {
        offset: None,
        trust: if bits > 32 && element.form == Form::Raw && element.space != Space::Global {
            Trust::Weak
        } else {
            element.trust
        },
        ..*element
    })
}

fn subtract(a: &Provenance, b: &Provenance, bits: u8) -> Provenance {
    if b.is_number() {
        return moved(a, b.constant().and_then(i64::checked_neg));
    }
    match (a, b) {
        (Provenance::Bottom, _) | (_, Provenance::Bottom) => Provenance::Bottom,
        _ if is_all_addresses(b) && is_all_addresses(a) => Provenance::NUMBER,
        _ if is_all_addresses(b) => Provenance::Top,
        // A difference of pointers may be meant, which is no address.
        _ if is_all_addresses(a) && bits > 32 => with_unknown(a, b, bits).map(|element| Element {
            trust: Trust::Weak,
            ..*element
        }),
        _ => Provenance::Top,
    }
}

/// Aligning an address down keeps it; any other mask makes a number or something unknown.
fn mask(a: &Provenance, b: &Provenance, bits: u8) -> Provenance {
    let (value, mask) = match (a.constant(), b.constant()) {
        (_, Some(mask)) => (a, mask),
        (Some(mask), _) => (b, mask),
        _ if a.is_number() && b.is_number() => return Provenance::NUMBER,
        _ => return Provenance::Top,
    };
    let top = bits.saturating_sub(1).min(63);
    if mask >> top & 1 == 1 {
        return vague(value);
    }
    if (0..1 << 31).contains(&mask) && bits > 32 {
        return Provenance::NUMBER;
    }
    if value.is_number() {
        Provenance::NUMBER
    } else {
        Provenance::Top
    }
}

fn arithmetic(op: BinaryOp, amount: &Provenance) -> Provenance {
    use BinaryOp as B;
    match op {
        B::MulLow | B::MulWideSigned | B::MulWideUnsigned | B::DivSigned | B::DivUnsigned => {
            Provenance::NUMBER
        }
        B::RemSigned | B::RemUnsigned => Provenance::NUMBER,
        // Shifted by 0, it would be what it was; by half a word, a piece of an address being put together.
        B::Shl if amount.constant().is_some_and(|by| (1..32).contains(&by)) => Provenance::NUMBER,
        _ => Provenance::Top,
    }
}

fn convert(a: &Provenance, from: u8, to: u8) -> Provenance {
    if from < 32 || to < 32 {
        return Provenance::NUMBER;
    }
    if from == to {
        return a.clone();
    }
    let is_widened = to > from;
    if *a == Provenance::Top {
        // 32 bits hold no generic address, and what is added to one is a number.
        return if is_widened {
            Provenance::NUMBER
        } else {
            Provenance::Top
        };
    }
    let survives = |element: &Element| match element.form {
        Form::Number | Form::Undefined => true,
        Form::Raw => element.space != Space::Global,
        Form::Generic | Form::Formal => false,
    };
    if a.elements().iter().all(survives) {
        return a.clone();
    }
    if is_widened {
        Provenance::NUMBER
    } else {
        Provenance::Top
    }
}

/// `cvta` and `cvta.to`: what comes out is in the space that the instruction names.
fn cast(a: &Provenance, from: Form, to: Form, space: Space, at: InstructionId) -> Provenance {
    let fresh = Element::address(to, space, Base::Unknown, at);
    let one = |element: &Element| match element.form {
        Form::Undefined => *element,
        // The windows of global and generic memory begin at the same place.
        Form::Number if space == Space::Global && element.offset.is_some() => *element,
        // Converted already: of global memory the number is right all the same.
        form if form == to && (element.space == space || form == Form::Generic && space == Space::Global) => {
            *element
        }
        form if (form == from || space == Space::Global) && element.space == space => Element {
            form: to,
            trust: Trust::Certain,
            origin: Some(at),
            ..*element
        },
        // One window lies in the other: it is still where it was.
        form if form == from && (space, element.space) == (Space::Shared, Space::SharedCluster) => Element {
            form: to,
            trust: Trust::Certain,
            ..*element
        },
        Form::Formal => Element {
            base: element.base,
            ..fresh
        },
        _ => fresh,
    };
    match a {
        Provenance::Top => Provenance::One(fresh),
        other => other.map(one),
    }
}

fn map_shared(a: &Provenance, form: Form, at: InstructionId) -> Provenance {
    let fresh = Element::address(form, Space::SharedCluster, Base::Unknown, at);
    let one = |element: &Element| match element.form {
        Form::Undefined => *element,
        Form::Raw | Form::Generic => Element {
            base: element.base,
            offset: element.offset,
            ..fresh
        },
        Form::Formal | Form::Number => fresh,
    };
    match a {
        Provenance::Top => Provenance::One(fresh),
        other => other.map(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::SymbolId;

    const AT: InstructionId = InstructionId::new(7);

    fn tile(form: Form, offset: i64) -> Provenance {
        Provenance::One(Element {
            offset: Some(offset),
            ..Element::address(
                form,
                Space::Shared,
                Base::Symbol(SymbolId::new(0)),
                InstructionId::new(1),
            )
        })
    }

    fn constant(value: i64) -> Provenance {
        Provenance::One(Element::number(Some(value)))
    }

    fn binary(op: BinaryOp, bits: u8, a: &Provenance, b: &Provenance) -> Provenance {
        result(Op::Binary(op, bits), &[a.clone(), b.clone()], AT)
    }

    #[test]
    fn constants_add_up() {
        let tile = |offset| tile(Form::Raw, offset);
        assert_eq!(binary(BinaryOp::Add, 32, &tile(4), &constant(8)), tile(12));
        assert_eq!(binary(BinaryOp::Sub, 32, &tile(4), &constant(8)), tile(-4));
        assert_eq!(binary(BinaryOp::Sub, 32, &tile(4), &tile(0)), Provenance::NUMBER);
        assert_eq!(binary(BinaryOp::Add, 32, &tile(4), &tile(0)), Provenance::Top);
    }

    #[test]
    fn masks_align_or_cut() {
        let aligned = binary(BinaryOp::And, 64, &tile(Form::Generic, 4), &constant(-16));
        assert_eq!(aligned, vague(&tile(Form::Generic, 4)));
        let cut = binary(BinaryOp::And, 64, &tile(Form::Generic, 4), &constant(15));
        assert_eq!(cut, Provenance::NUMBER);
    }

    #[test]
    fn small_windows_fit_in_32_bits() {
        let narrow = Op::Convert {
            from: 64,
            signed: false,
            to: 32,
        };
        assert_eq!(result(narrow, &[tile(Form::Raw, 4)], AT), tile(Form::Raw, 4));
        assert_eq!(result(narrow, &[tile(Form::Generic, 4)], AT), Provenance::Top);
    }

    #[test]
    fn a_cast_says_where_it_points_now() {
        let global = result(Op::FromGeneric(Space::Global, 64), &[tile(Form::Generic, 4)], AT);
        let [element] = global.elements() else {
            panic!("{global:?}")
        };
        assert_eq!(
            (element.form, element.space, element.base),
            (Form::Raw, Space::Global, Base::Unknown)
        );
        let back = result(Op::FromGeneric(Space::Shared, 64), &[tile(Form::Generic, 4)], AT);
        assert_eq!(back.elements()[0].base, tile(Form::Raw, 0).elements()[0].base);
    }
}

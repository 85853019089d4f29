//! PTX ISA, Integer Arithmetic Instructions.

use super::check;

#[test]
fn add_and_sub() {
    // "add", "sub": no saturation unless asked for; results are cut to the width.
    check(
        "
        add.u16 | h h h | 0xffff 1 | 0
        add.s16 | h h h | 0x7fff 1 | 0x8000
        add.u32 | r r r | 0xffffffff 2 | 1
        add.s32 | r r r | 0x7fffffff 1 | 0x80000000
        add.s32 | r r r | -5 3 | 0xfffffffe
        add.u64 | d d d | 0xffffffffffffffff 1 | 0
        add.s64 | d d d | 0xffffffff 1 | 0x100000000
        add.s32 | r r i | 7 -7 | 0
        sub.u16 | h h h | 0 1 | 0xffff
        sub.s32 | r r r | 0x80000000 1 | 0x7fffffff
        sub.u32 | r r r | 3 5 | 0xfffffffe
        sub.s64 | d d d | 0 1 | 0xffffffffffffffff
        # Saturated to the range of 32 bits: not in the IR.
        add.sat.s32 | r r r | 0x7fffffff 1 | ?
        sub.sat.s32 | r r r | 0x80000000 1 | ?
        ",
    );
}

#[test]
fn mul() {
    // "mul": the full product has twice the width; .hi and .lo are its halves, .wide is all of it.
    check(
        "
        mul.lo.u16 | h h h | 0x100 0x101 | 0x0100
        mul.hi.u16 | h h h | 0xffff 0xffff | 0xfffe
        mul.hi.s16 | h h h | 0xffff 2 | 0xffff
        mul.lo.s32 | r r r | -3 5 | 0xfffffff1
        mul.lo.u32 | r r r | 0x10000 0x10000 | 0
        mul.hi.u32 | r r r | 0x10000 0x10000 | 1
        mul.hi.u32 | r r r | 0xffffffff 0xffffffff | 0xfffffffe
        mul.hi.s32 | r r r | -1 -1 | 0
        mul.hi.s32 | r r r | -1 1 | 0xffffffff
        mul.hi.s32 | r r r | 0x80000000 0x80000000 | 0x40000000
        mul.lo.u64 | d d d | 0x100000001 0x100000001 | 0x0000000200000001
        mul.hi.u64 | d d d | 0xffffffffffffffff 0xffffffffffffffff | 0xfffffffffffffffe
        mul.hi.s64 | d d d | 0x8000000000000000 2 | 0xffffffffffffffff
        mul.hi.s64 | d d d | 0x8000000000000000 0x8000000000000000 | 0x4000000000000000
        mul.wide.u16 | r h h | 0xffff 0xffff | 0xfffe0001
        mul.wide.s16 | r h h | 0xffff 0xffff | 1
        mul.wide.s16 | r h h | 0x8000 2 | 0xffff0000
        mul.wide.u32 | d r r | 0xffffffff 4 | 0x3fffffffc
        mul.wide.s32 | d r r | 0xffffffff 4 | 0xfffffffffffffffc
        mul.wide.s32 | d r r | 0x80000000 0x80000000 | 0x4000000000000000
        mul24.lo.u32 | r r r | 2 3 | ?
        ",
    );
}

#[test]
fn mad() {
    // "mad": as mul, and the addition at the width of the result.
    check(
        "
        mad.lo.s32 | r r r r | 3 4 5 | 17
        mad.lo.u32 | r r r r | 0x10000 0x10000 7 | 7
        mad.lo.u16 | h h h h | 0x100 0x100 0xffff | 0xffff
        mad.hi.u32 | r r r r | 0xffffffff 0xffffffff 3 | 1
        mad.hi.s32 | r r r r | -1 1 1 | 0
        mad.wide.u16 | r h h r | 0xffff 0xffff 0x20000 | 1
        mad.wide.u32 | d r r d | 0xffffffff 0xffffffff 0xffffffff | 0xffffffff00000000
        mad.wide.s32 | d r r d | -1 4 4 | 0
        mad.lo.s64 | d d d d | 0x7fffffffffffffff 2 3 | 1
        mad.hi.sat.s32 | r r r r | 1 1 1 | ?
        mad24.lo.u32 | r r r r | 2 3 4 | ?
        sad.u32 | r r r r | 1 2 3 | ?
        ",
    );
}

#[test]
fn div_and_rem() {
    // "div": division by zero yields an unspecified, machine-specific value. A quotient that the width does not hold is
    // not specified either. "rem": quotients are rounded towards zero, as in C.
    check(
        "
        div.u32 | r r r | 0xffffffff 2 | 0x7fffffff
        div.u32 | r r r | 7 0 | ?
        div.s32 | r r r | -7 2 | 0xfffffffd
        div.s32 | r r r | 7 -2 | 0xfffffffd
        div.s32 | r r r | 7 0 | ?
        div.s32 | r r r | 0x80000000 -1 | ?
        div.s32 | r r r | 0x80000000 1 | 0x80000000
        div.u32 | r r r | 0x80000000 0xffffffff | 0
        div.s16 | h h h | 0x8000 0xffff | ?
        div.s16 | h h h | 0x8000 2 | 0xc000
        div.u64 | d d d | 0xffffffffffffffff 0x10 | 0x0fffffffffffffff
        div.s64 | d d d | 0x8000000000000000 -1 | ?
        rem.u32 | r r r | 0xffffffff 16 | 15
        rem.u32 | r r r | 7 0 | ?
        rem.s32 | r r r | -7 2 | 0xffffffff
        rem.s32 | r r r | 7 -2 | 1
        rem.s32 | r r r | 0x80000000 -1 | ?
        rem.s64 | d d d | -9 4 | 0xffffffffffffffff
        rem.u16 | h h h | 0xffff 0x100 | 0xff
        ",
    );
}

#[test]
fn abs_neg_min_max() {
    // "abs", "neg": the lowest number has no positive counterpart, and stays. "min", "max".
    check(
        "
        abs.s32 | r r | -5 | 5
        abs.s32 | r r | 5 | 5
        abs.s32 | r r | 0x80000000 | 0x80000000
        abs.s16 | h h | 0xffff | 1
        abs.s64 | d d | -1 | 1
        neg.s32 | r r | 5 | 0xfffffffb
        neg.s32 | r r | 0 | 0
        neg.s32 | r r | 0x80000000 | 0x80000000
        neg.s16 | h h | 1 | 0xffff
        neg.s64 | d d | 1 | 0xffffffffffffffff
        min.s32 | r r r | -1 1 | 0xffffffff
        min.u32 | r r r | 0xffffffff 1 | 1
        max.s32 | r r r | -1 1 | 1
        max.u32 | r r r | 0xffffffff 1 | 0xffffffff
        min.s16 | h h h | 0x8000 0x7fff | 0x8000
        max.u16 | h h h | 0x8000 0x7fff | 0x8000
        min.s64 | d d d | 0x8000000000000000 0 | 0x8000000000000000
        max.u64 | d d d | 0x8000000000000000 0 | 0x8000000000000000
        min.u64 | d d d | 0xffffffff 0x100000000 | 0xffffffff
        ",
    );
}

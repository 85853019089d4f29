//! PTX ISA, Integer Arithmetic Instructions (those on bits), Logic and Shift Instructions.

use super::check;

#[test]
fn counts() {
    // "popc", "clz": the result has 32 bits. "bfind": 0xffffffff if no bit is found. "brev".
    check(
        "
        popc.b32 | r r | 0 | 0
        popc.b32 | r r | 0xffffffff | 32
        popc.b32 | r r | 0x80000001 | 2
        popc.b64 | r d | 0xffffffffffffffff | 64
        popc.b64 | r d | 0x8000000100000000 | 2
        clz.b32 | r r | 0 | 32
        clz.b32 | r r | 1 | 31
        clz.b32 | r r | 0x80000000 | 0
        clz.b64 | r d | 0 | 64
        clz.b64 | r d | 0x100000000 | 31
        bfind.u32 | r r | 0 | 0xffffffff
        bfind.u32 | r r | 1 | 0
        bfind.u32 | r r | 0x80000000 | 31
        bfind.u64 | r d | 0x8000000000000000 | 63
        bfind.u64 | r d | 0 | 0xffffffff
        # Of signed numbers, the highest bit unlike the sign; or its distance from the top: not in the IR.
        bfind.s32 | r r | -2 | ?
        bfind.shiftamt.u32 | r r | 1 | 31
        bfind.shiftamt.u32 | r r | 0x80000000 | 0
        bfind.shiftamt.u32 | r r | 0 | 0xffffffff
        bfind.shiftamt.u64 | r d | 2 | 62
        bfind.shiftamt.s32 | r r | 1 | ?
        brev.b32 | r r | 1 | 0x80000000
        brev.b32 | r r | 0x0000f00f | 0xf00f0000
        brev.b64 | d d | 1 | 0x8000000000000000
        brev.b64 | d d | 0x00000000ffffffff | 0xffffffff00000000
        fns.b32 | r r r r | 0xff 0 1 | ?
        ",
    );
}

#[test]
fn bfe() {
    // "bfe": start and length are the low 8 bits of their operands. Above the field, and above the number, is 0, or for signed
    // numbers the bit min(start + length - 1, 31 or 63); nothing at all for a length of 0.
    check(
        "
        bfe.u32 | r r r r | 0x12345678 8 8 | 0x56
        bfe.u32 | r r r r | 0x12345678 0 32 | 0x12345678
        bfe.u32 | r r r r | 0xffffffff 4 0 | 0
        bfe.u32 | r r r r | 0xffffffff 28 8 | 0xf
        bfe.u32 | r r r r | 0xffffffff 32 4 | 0
        bfe.u32 | r r r r | 0xffffffff 255 255 | 0
        bfe.u32 | r r r r | 0xffffffff 0 255 | 0xffffffff
        bfe.u32 | r r r r | 0xffffffff 0x104 0x104 | 0xf
        bfe.s32 | r r r r | 0x0000abcd 4 8 | 0xffffffbc
        bfe.s32 | r r r r | 0x00007bcd 12 4 | 7
        bfe.s32 | r r r r | 0x80000000 31 1 | 0xffffffff
        bfe.s32 | r r r r | 0x80000000 28 8 | 0xfffffff8
        bfe.s32 | r r r r | 0x80000000 40 4 | 0xffffffff
        bfe.s32 | r r r r | 0x40000000 40 4 | 0
        bfe.s32 | r r r r | 0x80000000 31 0 | 0
        bfe.s32 | r r r r | 0x80000000 0 255 | 0x80000000
        bfe.u64 | d d r r | 0xfedcba9876543210 32 16 | 0xba98
        bfe.u64 | d d r r | 0xfedcba9876543210 60 8 | 0xf
        bfe.s64 | d d r r | 0xfedcba9876543210 32 16 | 0xffffffffffffba98
        bfe.s64 | d d r r | 0x8000000000000000 64 1 | 0xffffffffffffffff
        bfe.s64 | d d r r | 0x8000000000000000 0 64 | 0x8000000000000000
        ",
    );
}

#[test]
fn bfi() {
    // "bfi": bits of the first operand replace those of the second, from a start on, as far as there are any.
    check(
        "
        bfi.b32 | r r r r r | 0xff 0 4 4 | 0xf0
        bfi.b32 | r r r r r | 0 0xffffffff 8 8 | 0xffff00ff
        bfi.b32 | r r r r r | 0xabc 0x12345678 0 0 | 0x12345678
        bfi.b32 | r r r r r | 0xabc 0x12345678 32 4 | 0x12345678
        bfi.b32 | r r r r r | 0xff 0x12345678 28 8 | 0xf2345678
        bfi.b32 | r r r r r | 0x9abcdef0 0x12345678 0 32 | 0x9abcdef0
        bfi.b32 | r r r r r | 0x9abcdef0 0x12345678 0 255 | 0x9abcdef0
        bfi.b32 | r r r r r | 0xffffffff 0 0x100 0x101 | 1
        bfi.b64 | d d d r r | 0xff 0 60 8 | 0xf000000000000000
        bfi.b64 | d d d r r | 0x1 0xffffffffffffffff 32 32 | 0x00000001ffffffff
        bfi.b64 | d d d r r | 0x1 0xffffffffffffffff 64 1 | 0xffffffffffffffff
        bfi.b64 | d d d r r | 0x12 0 0 64 | 0x12
        ",
    );
}

#[test]
fn logic() {
    // "and", "or", "xor", "not", "cnot" (1 for 0, else 0), "lop3" (bit 4a + 2b + c of the table).
    check(
        "
        and.b32 | r r r | 0xff00ff00 0x0ff00ff0 | 0x0f000f00
        or.b32 | r r r | 0xff00ff00 0x0ff00ff0 | 0xfff0fff0
        xor.b32 | r r r | 0xff00ff00 0x0ff00ff0 | 0xf0f0f0f0
        and.b16 | h h h | 0xff00 0x0ff0 | 0x0f00
        or.b64 | d d d | 0xff00000000000000 1 | 0xff00000000000001
        xor.b64 | d d d | 0xffffffffffffffff 1 | 0xfffffffffffffffe
        and.pred | p p p | 1 0 | 0
        or.pred | p p p | 1 0 | 1
        xor.pred | p p p | 1 1 | 0
        not.pred | p p | 0 | 1
        not.b32 | r r | 0x0000ffff | 0xffff0000
        not.b16 | h h | 0x00ff | 0xff00
        not.b64 | d d | 0 | 0xffffffffffffffff
        cnot.b32 | r r | 0 | 1
        cnot.b32 | r r | 5 | 0
        cnot.b64 | d d | 0x100000000 | 0
        # a & b & c, a | b | c, a ^ b ^ c, a, b, c, the majority.
        lop3.b32 | r r r r i | 0xf0 0xcc 0xaa 0x80 | 0x80
        lop3.b32 | r r r r i | 0xf0 0xcc 0xaa 0xfe | 0xfe
        lop3.b32 | r r r r i | 0xf0 0xcc 0xaa 0x96 | 0x96
        lop3.b32 | r r r r i | 0xf0f0f0f0 0xcccccccc 0xaaaaaaaa 0xf0 | 0xf0f0f0f0
        lop3.b32 | r r r r i | 0xf0f0f0f0 0xcccccccc 0xaaaaaaaa 0xcc | 0xcccccccc
        lop3.b32 | r r r r i | 0xf0f0f0f0 0xcccccccc 0xaaaaaaaa 0xaa | 0xaaaaaaaa
        lop3.b32 | r r r r i | 0xf0 0xcc 0xaa 0xe8 | 0xe8
        lop3.b32 | r r r r i | 0 0 0 0x01 | 0xffffffff
        ",
    );
}

#[test]
fn shifts() {
    // "shl", "shr": the amount is an unsigned number of 32 bits, and clamped to the width. So a negative one is a large one.
    check(
        "
        shl.b32 | r r r | 1 31 | 0x80000000
        shl.b32 | r r r | 1 32 | 0
        shl.b32 | r r r | 1 -1 | 0
        shl.b32 | r r r | 0xffffffff 0x100000000 | 0xffffffff
        shl.b16 | h h r | 0xffff 8 | 0xff00
        shl.b16 | h h r | 0xffff 16 | 0
        shl.b64 | d d r | 1 63 | 0x8000000000000000
        shl.b64 | d d r | 1 64 | 0
        shl.b64 | d d r | 0xff 32 | 0xff00000000
        shr.u32 | r r r | 0x80000000 31 | 1
        shr.u32 | r r r | 0x80000000 32 | 0
        shr.b32 | r r r | 0x80000000 4 | 0x08000000
        shr.u32 | r r r | 0xffffffff -1 | 0
        shr.s32 | r r r | 0x80000000 31 | 0xffffffff
        shr.s32 | r r r | 0x80000000 32 | 0xffffffff
        shr.s32 | r r r | 0x80000000 -1 | 0xffffffff
        shr.s32 | r r r | 0x7fffffff 40 | 0
        shr.s16 | h h r | 0x8000 4 | 0xf800
        shr.u16 | h h r | 0x8000 4 | 0x0800
        shr.s64 | d d r | 0x8000000000000000 63 | 0xffffffffffffffff
        shr.s64 | d d r | 0x8000000000000000 100 | 0xffffffffffffffff
        shr.u64 | d d r | 0x8000000000000000 64 | 0
        ",
    );
}

#[test]
fn funnel_shifts() {
    // "shf": the 64 bits of b and a, b the upper half; 32 of them, shifted by an amount that is clamped to 32 or wrapped.
    check(
        "
        shf.l.clamp.b32 | r r r r | 0x89abcdef 0x01234567 8 | 0x23456789
        shf.l.clamp.b32 | r r r r | 0x89abcdef 0x01234567 0 | 0x01234567
        shf.l.clamp.b32 | r r r r | 0x89abcdef 0x01234567 32 | 0x89abcdef
        shf.l.clamp.b32 | r r r r | 0x89abcdef 0x01234567 40 | 0x89abcdef
        shf.l.wrap.b32 | r r r r | 0x89abcdef 0x01234567 40 | 0x23456789
        shf.l.wrap.b32 | r r r r | 0x89abcdef 0x01234567 32 | 0x01234567
        shf.r.clamp.b32 | r r r r | 0x89abcdef 0x01234567 8 | 0x6789abcd
        shf.r.clamp.b32 | r r r r | 0x89abcdef 0x01234567 0 | 0x89abcdef
        shf.r.clamp.b32 | r r r r | 0x89abcdef 0x01234567 32 | 0x01234567
        shf.r.clamp.b32 | r r r r | 0x89abcdef 0x01234567 -1 | 0x01234567
        shf.r.wrap.b32 | r r r r | 0x89abcdef 0x01234567 40 | 0x6789abcd
        shf.r.wrap.b32 | r r r r | 0x89abcdef 0x01234567 -1 | 0x02468acf
        ",
    );
}

#[test]
fn masks_of_ones() {
    // "bmsk": so many ones as b says, from the bit on that a says; clamped, or both modulo 32.
    check(
        "
        bmsk.clamp.b32 | r r r | 1 2 | 6
        bmsk.clamp.b32 | r r r | 0 32 | 0xffffffff
        bmsk.clamp.b32 | r r r | 28 8 | 0xf0000000
        bmsk.clamp.b32 | r r r | 32 4 | 0
        bmsk.clamp.b32 | r r r | 4 0 | 0
        bmsk.clamp.b32 | r r r | 4 -1 | 0xfffffff0
        bmsk.wrap.b32 | r r r | 1 2 | 6
        bmsk.wrap.b32 | r r r | 33 34 | 6
        bmsk.wrap.b32 | r r r | 0 32 | 0
        bmsk.wrap.b32 | r r r | 28 8 | 0xf0000000
        ",
    );
}

#[test]
fn operations_that_the_ir_does_not_model() {
    check(
        "
        prmt.b32 | r r r r | 0x33221100 0x77665544 0x0123 | ?
        szext.clamp.s32 | r r r | 0x80 8 | ?
        dp4a.u32.u32 | r r r r | 1 1 1 | ?
        add.f32 | r r r | 0 0 | ?
        ",
    );
}

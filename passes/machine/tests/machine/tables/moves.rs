//! PTX ISA, Comparison and Selection Instructions, Data Movement and Conversion Instructions.

use super::{check, holds};

#[test]
fn setp() {
    // "setp": p = (a cmp b) op c, q = !(a cmp b) op c.
    check(
        "
        setp.eq.s32 | p r r | 5 5 | 1
        setp.ne.s32 | p r r | 5 5 | 0
        setp.lt.s32 | p r r | -1 1 | 1
        setp.lt.u32 | p r r | -1 1 | 0
        setp.lo.u32 | p r r | 1 0xffffffff | 1
        setp.ls.u32 | p r r | 5 5 | 1
        setp.hi.u32 | p r r | 0xffffffff 1 | 1
        setp.hs.u32 | p r r | 0 1 | 0
        setp.le.s32 | p r r | 0x80000000 0x7fffffff | 1
        setp.gt.s32 | p r r | 0x80000000 0x7fffffff | 0
        setp.gt.u32 | p r r | 0x80000000 0x7fffffff | 1
        setp.ge.s32 | p r r | -1 -1 | 1
        setp.lt.s16 | p h h | 0x8000 0 | 1
        setp.lt.u16 | p h h | 0x8000 0 | 0
        setp.lt.s64 | p d d | 0x8000000000000000 0 | 1
        setp.eq.u64 | p d d | 0x100000000 0 | 0
        setp.eq.b32 | p r r | 0xffffffff 0xffffffff | 1
        setp.lt.s32 | p p r r | 1 2 | 1 0
        setp.lt.s32 | p p r r | 2 1 | 0 1
        setp.lt.and.s32 | p p r r p | 1 2 0 | 0 0
        setp.lt.and.s32 | p p r r p | 1 2 1 | 1 0
        setp.lt.or.s32 | p p r r p | 1 2 1 | 1 1
        setp.lt.or.s32 | p p r r p | 2 1 0 | 0 1
        setp.lt.xor.s32 | p p r r p | 1 2 1 | 0 1
        setp.lt.xor.s32 | p p r r p | 1 2 0 | 1 0
        setp.lt.f32 | p r r | 0 0 | ?
        ",
    );
}

#[test]
fn selp_and_mov() {
    check(
        "
        selp.b32 | r r r p | 1 2 1 | 1
        selp.b32 | r r r p | 1 2 0 | 2
        selp.b64 | d d d p | 0x100000000 2 1 | 0x100000000
        selp.b16 | h h h p | 0xffff 2 0 | 2
        mov.u32 | r r | 0xffffffff | 0xffffffff
        mov.b64 | d d | 0x123456789abcdef0 | 0x123456789abcdef0
        mov.pred | p p | 1 | 1
        slct.u32.s32 | r r r r | 1 2 3 | ?
        ",
    );
}

#[test]
fn cvt() {
    // "cvt": extended by the sign of the source's type, or by zeros; cut to the type of the result, and extended by its sign to
    // the width of its register.
    check(
        "
        cvt.u64.u32 | d r | 0xffffffff | 0xffffffff
        cvt.s64.s32 | d r | 0xffffffff | 0xffffffffffffffff
        cvt.u64.s32 | d r | 0x80000000 | 0xffffffff80000000
        cvt.s64.u32 | d r | 0x80000000 | 0x80000000
        cvt.u32.u64 | r d | 0x123456789abcdef0 | 0x9abcdef0
        cvt.s32.s64 | r d | 0x123456789abcdef0 | 0x9abcdef0
        cvt.u32.u16 | r h | 0xffff | 0xffff
        cvt.s32.s16 | r h | 0xffff | 0xffffffff
        cvt.u16.u32 | h r | 0x12345678 | 0x5678
        cvt.u32.u8 | r r | 0x12345678 | 0x78
        cvt.s32.s8 | r r | 0x00000080 | 0xffffff80
        cvt.s32.u8 | r r | 0x00000080 | 0x80
        cvt.s64.s8 | d r | 0xff | 0xffffffffffffffff
        cvt.sat.u8.s32 | r r | 300 | ?
        cvt.rn.f32.s32 | r r | 1 | ?
        cvt.rzi.s32.f32 | r r | 0 | ?
        ",
    );
}

#[test]
fn pack_and_unpack() {
    // "mov": the first element of a vector is the lowest.
    let pack = |opcode: &str, written: &[String], read: &[String]| {
        format!("{opcode} {}, {{{}}};", written[0], read.join(", "))
    };
    holds(
        "mov.b64 | d r r | 0x89abcdef 0x01234567 | 0x0123456789abcdef",
        pack,
    );
    holds("mov.b32 | r h h | 0xcdef 0x89ab | 0x89abcdef", pack);
    holds("mov.b64 | d h h h h | 1 2 3 4 | 0x0004000300020001", pack);
    let unpack = |opcode: &str, written: &[String], read: &[String]| {
        format!("{opcode} {{{}}}, {};", written.join(", "), read[0])
    };
    holds(
        "mov.b64 | r r d | 0x0123456789abcdef | 0x89abcdef 0x01234567",
        unpack,
    );
    holds("mov.b32 | h h r | 0x89abcdef | 0xcdef 0x89ab", unpack);
    holds("mov.b64 | h h h h d | 0x0004000300020001 | 1 2 3 4", unpack);
}

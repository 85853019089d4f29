//! The dotted parts of an opcode.

use ptxcheck_ir::Space;

/// An integer or untyped type: `.s32`, `.u64`, `.b16`, `.pred` (one bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IntType {
    pub(super) bits: u8,
    pub(super) signed: bool,
}

/// The parts after the opcode's name, without their dots.
pub(super) struct Modifiers<'a> {
    text: &'a [u8],
}

impl<'a> Modifiers<'a> {
    /// Splits `ld.global.u32` into `ld` and the rest.
    pub(super) fn split(opcode: &'a [u8]) -> (&'a [u8], Self) {
        let dot = memchr::memchr(b'.', opcode).unwrap_or(opcode.len());
        (&opcode[..dot], Self { text: &opcode[dot..] })
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &'a [u8]> + use<'a> {
        // Without its first dot, the text is a list separated by dots; without any text, it is nothing.
        let parts = self.text.get(1..).into_iter();
        parts.flat_map(|text| text.split(|&byte| byte == b'.'))
    }

    /// Number of parts.
    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }

    /// The first part; empty without one.
    pub(super) fn first(&self) -> &'a [u8] {
        self.iter().next().unwrap_or_default()
    }

    /// True if this part is among them.
    pub(super) fn has(&self, part: &str) -> bool {
        self.iter().any(|known| known == part.as_bytes())
    }

    /// True if a part begins so.
    pub(super) fn has_prefixed(&self, start: &str) -> bool {
        self.iter().any(|known| known.starts_with(start.as_bytes()))
    }

    /// The last part that is an integer type.
    pub(super) fn int(&self) -> Option<IntType> {
        self.iter().rev().find_map(int_type)
    }

    /// The part at this place, if it is an integer type.
    pub(super) fn int_at(&self, place: usize) -> Option<IntType> {
        int_type(self.iter().nth(place)?)
    }

    /// Bits of the last part that is an integer type.
    pub(super) fn bits(&self) -> Option<u8> {
        self.int().map(|ty| ty.bits)
    }

    /// Bits of the last part that is any type.
    pub(super) fn any_bits(&self) -> Option<u8> {
        self.iter().rev().find_map(|part| match part {
            b"f16" | b"bf16" => Some(16),
            b"f32" | b"f16x2" | b"bf16x2" => Some(32),
            b"f64" | b"f32x2" => Some(64),
            b"b128" => Some(128),
            _ => int_type(part).map(|ty| ty.bits),
        })
    }

    /// 2, 4, 8 for `.v2`, `.v4`, `.v8`, else 1.
    pub(super) fn vector(&self) -> u8 {
        self.iter()
            .find_map(|part| match part {
                b"v2" => Some(2),
                b"v4" => Some(4),
                b"v8" => Some(8),
                _ => None,
            })
            .unwrap_or(1)
    }

    /// The first state space among the parts.
    pub(super) fn space(&self) -> Option<Space> {
        self.spaces().next()
    }

    /// The state spaces among the parts, in order.
    pub(super) fn spaces(&self) -> impl Iterator<Item = Space> + use<'a> {
        self.iter().filter_map(|part| match part {
            b"global" => Some(Space::Global),
            b"shared" | b"shared::cta" => Some(Space::Shared),
            b"shared::cluster" => Some(Space::SharedCluster),
            b"local" => Some(Space::Local),
            b"const" => Some(Space::Const),
            b"param" | b"param::entry" | b"param::func" => Some(Space::Param),
            _ => None,
        })
    }
}

fn int_type(part: &[u8]) -> Option<IntType> {
    let (bits, signed) = match part {
        b"pred" => (1, false),
        b"b8" | b"u8" => (8, false),
        b"s8" => (8, true),
        b"b16" | b"u16" => (16, false),
        b"s16" => (16, true),
        b"b32" | b"u32" => (32, false),
        b"s32" => (32, true),
        b"b64" | b"u64" => (64, false),
        b"s64" => (64, true),
        _ => return None,
    };
    Some(IntType { bits, signed })
}

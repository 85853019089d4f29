//! The rows of memory that a warp loads or stores as a matrix.
//!
//! Source: PTX ISA, ldmatrix; stmatrix; wmma.load; wmma.store; Matrix Shape; Matrix Storage for WMMA.

use ptxcheck_ir::{RowAddress, Rows};

use super::modifiers::Modifiers;

/// Bytes of a row of `ldmatrix` and `stmatrix`.
const ROW_BYTES: u8 = 16;

/// The rows of an opcode of PTX, or of the name of an LLVM intrinsic after `llvm.nvvm.`, which has the same words in another order.
/// `has_stride`: it has an operand for the distance between rows. `None` for forms that are not known.
#[must_use]
pub fn matrix_rows(opcode: &[u8], has_stride: bool) -> Option<Rows> {
    let (name, words) = Modifiers::split(opcode);
    match name {
        b"ldmatrix" | b"stmatrix" => rows_of_lanes(&words),
        b"wmma" => rows_of_fragment(&words, has_stride),
        _ => None,
    }
}

/// Eight or sixteen lanes give the addresses of the rows of one matrix, and the next lanes those of the next one.
fn rows_of_lanes(words: &Modifiers<'_>) -> Option<Rows> {
    let of_one = match (words.has("m8n8"), words.has("m16n16")) {
        (true, _) if words.has("b16") => 8,
        (_, true) if words.has("b8") => 16,
        _ => return None,
    };
    let matrices = ["x1", "x2", "x4"].into_iter().position(|word| words.has(word))?;
    let count = of_one << matrices;
    (count <= 32).then_some(Rows {
        count,
        bytes: ROW_BYTES,
        address: RowAddress::OfLane,
    })
}

/// Rows of a matrix that is stored by rows, columns of one that is stored by columns.
fn rows_of_fragment(words: &Modifiers<'_>, has_stride: bool) -> Option<Rows> {
    let [m, n, k] = words.iter().find_map(shape)?;
    let (height, width) = if words.has("a") {
        (m, k)
    } else if words.has("b") {
        (k, n)
    } else if words.has("c") || words.has("d") {
        (m, n)
    } else {
        return None;
    };
    let (count, length) = match (words.has("row"), words.has("col")) {
        (true, false) => (height, width),
        (false, true) => (width, height),
        _ => return None,
    };
    let bits = words.iter().rev().find_map(element_bits)?;
    let bytes = u8::try_from(u32::from(length) * u32::from(bits) / 8).ok()?;
    (count <= 32).then_some(Rows {
        count,
        bytes,
        address: if has_stride {
            RowAddress::Strided(bits)
        } else {
            RowAddress::Dense
        },
    })
}

/// The sides of `m16n16k16`.
fn shape(word: &[u8]) -> Option<[u8; 3]> {
    let text = std::str::from_utf8(word).ok()?.strip_prefix('m')?;
    let (m, rest) = text.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// Bits of an element in memory: a `tf32` has four bytes there.
fn element_bits(word: &[u8]) -> Option<u8> {
    Some(match word {
        b"b1" => 1,
        b"s4" | b"u4" => 4,
        b"s8" | b"u8" => 8,
        b"f16" | b"bf16" => 16,
        b"f32" | b"s32" | b"tf32" => 32,
        b"f64" => 64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(opcode: &str) -> Option<(u8, u8, RowAddress)> {
        matrix_rows(opcode.as_bytes(), true).map(|rows| (rows.count, rows.bytes, rows.address))
    }

    #[test]
    fn rows_of_lanes_have_sixteen_bytes() {
        let of_lane = RowAddress::OfLane;
        assert_eq!(
            rows("ldmatrix.sync.aligned.m8n8.x1.shared.b16"),
            Some((8, 16, of_lane))
        );
        assert_eq!(
            rows("ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"),
            Some((32, 16, of_lane))
        );
        assert_eq!(
            rows("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16"),
            Some((16, 16, of_lane))
        );
        assert_eq!(
            rows("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"),
            Some((32, 16, of_lane))
        );
        // No such form.
        assert_eq!(rows("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8"), None);
        assert_eq!(
            rows("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64"),
            None
        );
    }

    #[test]
    fn rows_of_fragments_follow_the_layout() {
        let strided = RowAddress::Strided;
        let of = |opcode| rows(opcode);
        assert_eq!(
            of("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16"),
            Some((16, 32, strided(16)))
        );
        assert_eq!(
            of("wmma.load.a.sync.aligned.col.m8n32k16.shared.s8"),
            Some((16, 8, strided(8)))
        );
        assert_eq!(
            of("wmma.load.b.sync.aligned.col.m8n32k16.shared.s8"),
            Some((32, 16, strided(8)))
        );
        assert_eq!(
            of("wmma.store.d.sync.aligned.row.m8n32k16.f32"),
            Some((8, 128, strided(32)))
        );
        assert_eq!(
            of("wmma.load.b.sync.aligned.col.m8n8k128.b1"),
            Some((8, 16, strided(1)))
        );
        assert_eq!(
            of("wmma.m16n16k8.load.a.row.stride.tf32.p3"),
            Some((16, 32, strided(32)))
        );
        let dense = matrix_rows(b"wmma.load.c.sync.aligned.row.m8n8k4.f64", false);
        assert_eq!(
            dense.map(|rows| (rows.count, rows.bytes, rows.address)),
            Some((8, 64, RowAddress::Dense))
        );
        assert_eq!(of("wmma.load.a.sync.aligned.row.m255n255k255.f64"), None);
        assert_eq!(of("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), None);
    }
}

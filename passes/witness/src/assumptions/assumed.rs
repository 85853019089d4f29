//! The values that assumptions leave the parameters of one kernel.

use super::piece::Piece;
use super::values::Values;
use crate::analysis::lanes::FixedParam;
use crate::ir::evaluate::ones;

/// The assumed pieces of a kernel's parameters, each once.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    pieces: Vec<(Piece, Values)>,
}

impl Assumed {
    /// True if nothing is assumed.
    pub(crate) const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(super) fn add(&mut self, piece: Piece, values: Values) {
        self.pieces.push((piece, values));
    }

    /// True if a launch with these pieces of parameters may satisfy the assumptions; other pieces may have any value.
    pub(crate) fn admits(&self, params: &[FixedParam]) -> bool {
        self.pieces.iter().all(|(piece, values)| {
            let of_one = || params.iter().filter(|param| param.number == piece.number);
            let loaded = of_one().find(|param| param.offset == piece.offset);
            let Some(bytes) = piece.bytes.or_else(|| loaded.map(|param| param.bytes)) else {
                return true;
            };
            // Bytes that are not fixed have either sign.
            let with = |open: u64| {
                let at = |byte: u8| {
                    let at = u64::from(piece.offset) + u64::from(byte);
                    let before = |param: &FixedParam| at.checked_sub(u64::from(param.offset));
                    let fixed = of_one().find_map(|param| {
                        let before = before(param).filter(|before| *before < u64::from(param.bytes.min(8)));
                        before.map(|before| param.value >> (8 * before) & 0xff)
                    });
                    fixed.unwrap_or(open)
                };
                let value = (0..bytes.min(8)).fold(0, |value, byte| value | at(byte) << (8 * byte));
                sign_extended(value, bytes)
            };
            let is_fixed = of_one().any(|param| {
                let end = u64::from(piece.offset) + u64::from(bytes);
                u64::from(param.offset) < end
                    && u64::from(param.offset) + u64::from(param.bytes) > u64::from(piece.offset)
            });
            !is_fixed || values.admits(with(0)) || values.admits(with(0xff))
        })
    }

    /// Gives each assumed parameter the value nearest to its own that is as assumed, and those of 8 bytes that have none, one.
    pub(crate) fn move_into_assumptions(&self, params: &mut Vec<FixedParam>) {
        if self.is_empty() {
            return;
        }
        for param in params.iter_mut() {
            if let Some(values) = self.values_of_piece(param.number, param.offset) {
                param.value = low_bytes(
                    values.nearest(sign_extended(param.value, param.bytes)),
                    param.bytes,
                );
            }
        }
        for (piece, values) in &self.pieces {
            let is_it = |param: &FixedParam| (param.number, param.offset) == (piece.number, piece.offset);
            if let Some(bytes @ 8) = piece.bytes
                && !params.iter().any(is_it)
            {
                params.push(FixedParam {
                    number: piece.number,
                    offset: piece.offset,
                    bytes,
                    value: low_bytes(values.nearest(1), bytes),
                });
            }
        }
        params.sort_unstable();
    }

    /// The values of a piece of so many bytes that assumptions name; none if none is about it.
    pub(crate) fn values_named_by_assumptions(&self, number: u16, offset: u32, bytes: u8) -> Vec<u64> {
        let values = self.values_of_piece(number, offset);
        let named = values.map_or_else(Vec::new, Values::named_values).into_iter();
        named.map(|value| low_bytes(value, bytes)).collect()
    }

    /// The least and the greatest value that assumptions leave a piece; `None` if none is about it.
    #[must_use]
    pub fn range_of_piece(&self, number: u16, offset: u32) -> Option<(i64, i64)> {
        let values = self.values_of_piece(number, offset)?;
        Some((values.nearest(i64::MIN), values.nearest(i64::MAX)))
    }

    fn values_of_piece(&self, number: u16, offset: u32) -> Option<&Values> {
        let mut pieces = self.pieces.iter();
        let found = pieces.find(|(piece, _)| (piece.number, piece.offset) == (number, offset));
        found.map(|(_, values)| values)
    }
}

/// The low bytes of an integer.
fn low_bytes(value: i64, bytes: u8) -> u64 {
    value.cast_unsigned() & ones(bytes.min(8) * 8)
}

/// The integer of so many bytes, 1 to 8.
const fn sign_extended(value: u64, bytes: u8) -> i64 {
    let beyond = 64 - 8 * if bytes > 8 { 8 } else { bytes as u32 };
    if beyond >= 64 {
        return 0;
    }
    (value << beyond).cast_signed() >> beyond
}

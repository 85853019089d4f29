//! The rows of a matrix that the lanes of a warp access, each one row.

use ptxcheck_ir::{Body, InstructionId, RowAddress, Rows, Value};

use super::value::{Lanes, WARP};

/// The lanes that access rows of a matrix, and what is added to the address of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneRows {
    /// The lanes: each accesses the row of its number.
    pub lanes: Lanes,
    /// Bytes from the address of lane l to its row, by l.
    step: i64,
}

/// The lanes that access a row each.
pub(crate) fn lanes_of_rows(rows: Rows) -> Lanes {
    Lanes::MAX >> (WARP - usize::from(rows.count).min(WARP))
}

impl LaneRows {
    /// Those of an instruction of which the distance between rows is known, where it has one as an operand; of other accesses, all lanes
    /// with their own addresses.
    pub(crate) fn of_access(
        body: &Body<'_>,
        at: InstructionId,
        stride: impl FnOnce(Value) -> Option<u64>,
    ) -> Option<Self> {
        let Some(rows) = body.rows_at(at) else {
            return Some(Self {
                lanes: Lanes::MAX,
                step: 0,
            });
        };
        let step = match (rows.address, body.row_stride(at, rows)) {
            (RowAddress::Dense, _) => i64::from(rows.bytes),
            // Rows that do not begin with a byte are no matrix.
            (_, Some((distance, bits))) => {
                let elements = i64::try_from(stride(distance)?).ok()?;
                let bits = elements.checked_mul(i64::from(bits))?;
                (bits % 8 == 0).then_some(bits / 8)?
            }
            (_, None) => 0,
        };
        Some(Self {
            lanes: lanes_of_rows(rows),
            step,
        })
    }

    /// The place of the row of a lane, by the address that the lane has.
    pub(crate) const fn place_in_lane(self, lane: usize, address: i64) -> i64 {
        address.saturating_add(self.step.saturating_mul(lane as i64))
    }

    /// The places of the rows, by the addresses of the lanes.
    pub(crate) fn places(self, addresses: [i64; WARP]) -> [i64; WARP] {
        std::array::from_fn(|lane| self.place_in_lane(lane, addresses[lane]))
    }

    /// True if the rows have places of their own though all lanes have one address.
    pub(crate) const fn are_spread(self) -> bool {
        self.step != 0
    }
}

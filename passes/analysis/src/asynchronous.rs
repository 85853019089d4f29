//! Asynchronous copies and what orders and completes them, in a kernel with all that it calls, and the problems of their use.
//!
//! ```text
//! problems.rs   a problem, and the questions about a module
//!   unfenced.rs   reads through the async proxy without a proxy fence after ordinary stores
//!   overlap.rs    accesses to bytes that a copy under way still needs
//!   unwaited.rs   reads of variables that nothing but copies fills, before all waits
//!   ungrouped.rs  waits for groups that copies are not in
//!   barriers.rs   mbarriers that nothing initialises
//!   expected.rs   bytes that mbarriers expect, and bytes that copies bring
//!   invalid.rs    constants and addresses that are not allowed
//!   tensor_map.rs tensor maps in local or shared memory
//!   unordered.rs  mbarriers that are used by threads that nothing makes wait for the initialisation
//! kernel.rs     the operations that a kernel may execute, and whether there is code that nobody sees
//! operand.rs    the constants among their operands, in the contexts that decide them
//! pointed.rs    the memory that an address certainly points into
//! frames.rs     the functions that a kernel reaches, by the constants that it passes
//! asked.rs      what is executed of such a function, and what is certain to be
//! alike.rs      what all threads of a block or a warp reach alike
//! flow.rs       what may be executed behind what, through calls
//! own.rs        the own CTA among those of its cluster
//! pending.rs    the copies that are under way at a place
//! view.rs       the part of a body that one thread executes
//! sum.rs        addresses as sums, and how far apart two of them are
//! round.rs      loops, and whether they have a second round
//! sent.rs       ordinary stores to what copies send, and fences between the two
//! late.rs       fences that come too late for those who stored
//! sites.rs      names for places
//! size.rs       bytes that copies access
//! ```

mod alike;
mod asked;
mod barriers;
mod expected;
mod flow;
mod frames;
mod invalid;
mod kernel;
mod late;
mod operand;
mod overlap;
mod own;
mod pending;
mod pointed;
mod problems;
mod round;
mod sent;
mod sites;
mod size;
mod sum;
mod tensor_map;
#[cfg(test)]
mod tests;
mod unfenced;
mod ungrouped;
mod unordered;
mod unwaited;
mod view;

pub use barriers::Initialisation;
pub use expected::{MAX_BYTES, WrongBytes};
pub use invalid::{InvalidOperand, MAX_ARRIVALS};
pub use late::Late;
pub use overlap::{UnderWay, Ways};
pub(crate) use problems::AsyncParts;
pub use problems::{AsyncAnalysis, AsyncProblem};
pub use tensor_map::AddressedObject;
pub use unfenced::FenceGap;
pub use ungrouped::Ungrouped;
pub use unordered::Users;

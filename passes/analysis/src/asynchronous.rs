//! Asynchronous copies and what orders and completes them: what a kernel has of them with all that it calls.
//!
//! ```text
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
//! size.rs       bytes that copies access
//! overlap.rs    accesses to bytes that a copy under way still needs
//! ```

mod alike;
mod asked;
mod flow;
mod frames;
mod kernel;
mod late;
mod operand;
mod overlap;
mod own;
mod pending;
mod pointed;
mod round;
mod sent;
mod size;
mod sum;
#[cfg(test)]
mod tests;
mod view;

pub use crate::handed::{handed_on, hands_on};
pub use flow::Flow;
pub(crate) use kernel::kernels;
pub use kernel::{AsyncKernel, AsyncSite};
pub use late::Late;
pub use operand::AsyncOperands;
pub(crate) use operand::operands;
pub use overlap::{End, UnderWay, Ways, accesses_under_way};
pub use own::{MappedTo, cluster_size, mapped_to};
pub use pending::{Pending, PendingCopy, States};
pub use pointed::{Pointed, accessed, may_point, pointed};
pub use sent::{Sent, is_shared_fence, orders_or_writes};
pub use size::{Sizes, Written};
pub use sum::{AddressSum, constant_bounds, constant_place, leads};
pub use view::View;

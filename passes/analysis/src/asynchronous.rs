//! Asynchronous copies and what orders and completes them: what a kernel has of them with all that it calls.
//!
//! ```text
//! kernel.rs     the operations that a kernel may execute, and whether there is code that nobody sees
//! operand.rs    the constants among their operands, in the contexts that decide them
//! pointed.rs    the memory that an address certainly points into
//! flow.rs       what may be executed behind what, through calls
//! pending.rs    the copies that are under way at a place
//! spot.rs       addresses that are certainly the same
//! size.rs       bytes that copies access
//! overlap.rs    accesses to bytes that a copy under way still needs
//! ```

mod flow;
mod kernel;
mod operand;
mod overlap;
mod pending;
mod pointed;
mod size;
mod spot;

pub use flow::Flow;
pub(crate) use kernel::kernels;
pub use kernel::{AsyncKernel, AsyncSite};
pub use operand::AsyncOperands;
pub(crate) use operand::operands;
pub use overlap::{End, accesses_under_way};
pub use pending::{Pending, PendingCopy, States};
pub use pointed::{Pointed, accessed, pointed};
pub use size::Sizes;
pub use spot::{Spot, SpotBase, distance, leads, spot};

//! Asynchronous copies and the operations that order and complete them, in a kernel with all its callees, and the problems
//! of their use.
//!
//! ```text
//! problems.rs          a problem, and the questions about a module
//!   unfenced.rs        reads through the async proxy without a proxy fence after ordinary stores
//!   overlap.rs         accesses to bytes that an in-flight copy still needs
//!   behind_barriers.rs writes, after a barrier, to what a copy of another thread still reads
//!   unwaited.rs        reads of variables that only copies fill, before all waits
//!   ungrouped.rs       waits for groups that copies are not in
//!   barriers.rs        mbarriers that nothing initialises
//!   grid_waits.rs      accesses to global memory before the wait for other grids
//!   early_arrivals.rs  arrivals by one lane for its warp, before the stores of the others
//!   expected.rs        bytes that mbarriers expect, and bytes that copies transfer
//!   invalid.rs         constants and addresses that are not allowed
//!   address_reads.rs   reads of the address of tensor memory before a wait for the warp that allocates it
//!   tensor_accesses.rs accesses to tensor memory that signals to others come after, before their wait
//!   tensor_map.rs      tensor maps in local or shared memory
//!   peers.rs           accesses to other CTAs of the cluster that may not have started, or may have ended
//!   paired_memory.rs   tensor memory of a pair of CTAs that is allocated or freed before the other one has certainly come
//!   peer_signals.rs    signals to mbarriers of CTAs that may have ended
//!   unordered.rs       mbarriers used by threads that do not certainly wait for the initialisation
//!   tensor_memory.rs   tensor memory that is not freed
//! handovers.rs         waits at which a thread comes after what others have done
//! conditions.rs        the unknown values that conditions depend on
//! kernel.rs            the operations that a kernel may execute, and whether it calls unknown code
//! operand.rs           the constants among their operands, in the contexts that decide them
//! points_to.rs         the memory that an address certainly points into
//! frames.rs            the functions that a kernel reaches, by the constants that it passes
//! frame_view.rs        the instructions of such a function that are executed, and those that certainly are
//! uniform_reach.rs     instructions that all threads of a block or a warp reach uniformly
//! flow.rs              instructions that may be executed after others, through calls
//! own_cta.rs           the own CTA within its cluster
//! pending.rs           the copies that are in flight at a place
//! view.rs              the part of a body that one thread executes
//! sum.rs               addresses as sums, and the distance between two of them
//! round.rs             loops, and whether they have a second round
//! unfenced_stores.rs   ordinary stores to bytes that copies read as their source, and fences between the two
//! late_fences.rs       fences that come too late for the storing threads
//! sites.rs             names for places
//! size.rs              bytes that copies access
//! ```

mod address_reads;
mod barriers;
mod behind_barriers;
mod conditions;
mod early_arrivals;
mod expected;
mod flow;
mod frame_view;
mod frames;
mod grid_waits;
mod handovers;
mod invalid;
mod kernel;
mod late_fences;
mod operand;
mod overlap;
mod own_cta;
mod paired_memory;
mod peer_signals;
mod peers;
mod pending;
mod points_to;
mod problems;
mod round;
mod sites;
mod size;
mod sum;
mod tensor_accesses;
mod tensor_map;
mod tensor_memory;
#[cfg(test)]
mod tests;
mod unfenced;
mod unfenced_stores;
mod ungrouped;
mod uniform_reach;
mod unordered;
mod unwaited;
mod view;

pub use barriers::Initialisation;
pub use early_arrivals::EarlyArrival;
pub use expected::{MAX_BYTES, WrongBytes};
pub use grid_waits::EarlyAccess;
pub use invalid::{InvalidOperand, MAX_ARRIVALS};
pub use late_fences::Late;
pub use overlap::{CopyInFlight, Ways};
pub use peers::{MissingBarrier, PeerAccess, PeerUse};
pub(crate) use problems::AsyncParts;
pub use problems::{AsyncAnalysis, AsyncProblem};
pub use tensor_accesses::TensorSignal;
pub use tensor_map::AddressedObject;
pub use tensor_memory::Leak;
pub use unfenced::FenceGap;
pub use ungrouped::Ungrouped;
pub use unordered::Users;

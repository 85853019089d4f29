//! A machine for the device IR: it runs the threads of a block of a kernel, with the values of a [`World`] and in the order of a
//! [`Schedule`], and says which collectives and barriers went wrong, how, and where all lanes were.
//!
//! ```text
//! Kernel::new(module, function)            the kernel, prepared
//!   .run(launch, schedule, world, observer)
//!      run         turns: all run silently, then lanes meet, or those at one instruction do what others see
//!      lockstep    lanes at one instruction at once  registers, evaluate, access
//!      step        one instruction of a thread       operands, access, calls
//!      rendezvous  who waits for whom, and who is missing          collective: what those who meet get
//!   ──► Outcome    reached, violated, and why the run ended
//! ```
//!
//! It knows nothing of the analyses, and they know nothing of it: the tests hold one against the other, so what both had in common
//! could be wrong in both. It has its own [`evaluate`].
//!
//! Each register, and each byte of memory, is known or not. Values that the machine does not model are unknown, unless the world supplies
//! them; the result of an operation on an unknown value is unknown, unless the other operands decide it. If the direction of a branch is
//! unknown, a thread continues where the two paths meet, provided that other threads cannot see which path it takes; values that the paths
//! may write are unknown then. A branch of another kind, a mask or the number of a barrier that is not known ends the run: [`Unknown`].
//!
//! # Who waits for whom
//!
//! A collective with a mask completes when all lanes that the mask names have ended or wait at one of the same kind with the same
//! mask; before sm_70, at the same instruction. A barrier completes when all threads of the block have ended or wait at one with
//! its number. A lane that others wait for, that does something visible meanwhile and ends without coming, is missing: the CUDA
//! C++ Programming Guide asks all lanes that have not exited to execute the call. One that ends silently is not. Visible are
//! stores to memory that others see, atomics, calls of code that is not here, and collectives and barriers themselves. Lanes that wait for
//! each other at places that do not match are released with results of 0, and the rest is not an execution of the kernel any more
//! ([`Outcome::is_broken`]).
//!
//! # Who waits for ever
//!
//! Where no thread can go on and some wait at a barrier with a count, or for a phase of a barrier in memory, the protocol between them is wrong:
//! [`Outcome::hang`]. It is a result only if nothing that the machine does not model, and no unknown value, may let them go on
//! ([`Outcome::open`]).
//!
//! # Accesses in no order
//!
//! [`Exchanges`] observes a run and finds accesses of two threads to the same bytes, one of them a write, that nothing orders: of lanes of
//! one warp, and, where it is asked for, of threads of different warps of the block, or of the grid. It compares clocks, and not the order in which the run
//! happens to make the accesses, so that one schedule shows what may happen in another one.
//!
//! # What is left out
//!
//! * A barrier with a thread count that is never complete is passed, and so is the arrival at the barrier of a cluster.
//! * Loads are executed as early as control flow allows, stores and atomics in the order of the schedule.
//! * Accesses without a value in the IR (bulk copies, prefetches, barriers in memory) may write anything in their space: what is
//!   there is not known any more.
//!   [`Follow::All`] has copies, their groups, barriers in memory and fences between proxies followed: threads wait at those
//!   barriers then, and what the rules of the PTX ISA forbid is a failure ([`Asynchronous`]). The bytes that copies write are still
//!   unknown. Tensor copies, multicast, and the shared memory of other CTAs are passed.
//! * One block runs, by itself, or several one after the other ([`Setup::further`]). Barriers of a cluster count as passed by its other
//!   blocks.

#![warn(unreachable_pub, unnameable_types)]

mod access;
mod address;
mod agent;
mod async_view;
mod asynchronous;
mod calls;
mod collective;
mod counted;
mod detour;
mod effects;
pub mod evaluate;
mod exchange;
mod following;
mod given;
mod hang;
mod kernel;
mod launch;
pub mod limits;
mod lockstep;
mod machine;
mod mbarrier;
mod memory;
mod observe;
mod operands;
mod outcome;
mod passing;
mod random;
mod registers;
mod rendezvous;
mod rows;
mod run;
mod schedule;
mod site;
mod slice;
mod step;
mod stop;
mod thread;
mod trace;
mod waits;
mod ways;
mod world;

pub use exchange::{Example, Exchange, ExchangeKind, Exchanges};
pub use given::Given;
pub use kernel::Kernel;
pub use launch::{Launch, WARP, Warps};
pub use observe::{Accessed, Event, Observer, Unobserved, View, Watched};
pub use outcome::{
    AsyncFailure, AsyncWrong, Asynchronous, Awaited, End, Failure, Group, Hang, HangKind, Outcome, Refused,
    Standing, Stuck, Unknown, Wrong,
};
pub use ptxcheck_ir::Site;
pub use run::{Follow, Setup};
pub use schedule::{Schedule, Turns};
pub use stop::Stop;
pub use trace::{Doing, Moment, Trace};
pub use world::{At, Outside, Read, Unmodelled, World};

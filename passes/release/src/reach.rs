//! The GPUs that load the kernels of a file or a package, by its images alone.
//!
//! The kernels of a package are those of all its files: one that several files have loads where one of them does, since packages hold
//! the same library for several versions of CUDA.
//!
//! ```text
//! kernels.rs: kernels by the GPUs that load them ─► bundle.rs: the files of a package   sentence.rs: the sentence about it
//! ```

mod bundle;
mod kernels;
mod sentence;

pub use bundle::{Bundle, FileReach, bundles};
pub use kernels::{GpuLoad, Load, Reach};
pub use sentence::generations;

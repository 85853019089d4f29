//! MLIR, as far as it is understood without MLIR: what a text is made of, the places that it names, the header of bytecode, and
//! the messages of the worker that has MLIR (`tools/mlir-worker`).
//!
//! The worker turns the kernels of a text or bytecode into LLVM bitcode, which the LLVM front end reads like any other.
//!
//! | file | does |
//! | --- | --- |
//! | `parts.rs` | parts a text where lines say that one input ends |
//! | `nesting.rs` | measures how deep the brackets of a text go |
//! | `locations.rs`, `frames.rs` | blank the `loc(…)` of a text, remember them, and read the places that they name |
//! | `bytecode.rs` | says who wrote bytecode |
//! | `dialects.rs` | names compilers whose dialects MLIR does not have |
//! | `message.rs` | is what run and worker say to each other |
//! | `text.rs` | looks places up in a text |
//! | `tokens.rs` | has words, strings and brackets of a text |
//!
//! ```
//! use ptxcheck_frontend_mlir::Locations;
//!
//! let text = b"nvvm.barrier loc(\"k.py\":10:3)\n";
//! let locations = Locations::of(text);
//! // MLIR takes the place of the operation in the text for its own…
//! assert_eq!(locations.blanked(false), b"nvvm.barrier                 \n");
//! // … and the place that `loc` names is still there.
//! assert_eq!(locations.frames(1, 1)[0].file, "k.py");
//! ```

#![warn(unreachable_pub, unnameable_types)]

pub mod bytecode;
mod dialects;
mod frames;
mod limits;
mod locations;
pub mod message;
mod nesting;
mod parts;
mod text;
mod tokens;

pub use dialects::{Compiler, compiler_of};
pub use limits::{MAX_DEPTH, MAX_PARTS};
pub use locations::Locations;
pub use nesting::too_deep;
pub use parts::{Part, parts};
pub use text::Text;

//! Symbols that device code leaves undefined, and the images that define them.
//!
//! ```text
//! module ── open_symbols: symbols that it uses and does not define ──┐
//! cubin ─── image::cubin: the same, from its symbol table ───────────┤
//! host ──── names: symbols that host code defines ───────────────────┴── set: inputs that are linked together ── UndefinedSymbol
//! ```
//!
//! A link set is an input, or all inputs of a run (`--link-set`, `--whole-program`). Images that the driver loads as they
//! are (PTX in `.nv_fatbin`) are linked with nothing, and the images that a finished device link left are linked already.

mod set;
mod shapes;
mod together;

pub use ptxcheck_images::host_names::HostKind;
pub use ptxcheck_ir::facts::{Open, Shape, SymbolClass, Symbols};
pub use set::{HostDefinition, SymbolUse, UndefinedSymbol, missing};
pub use shapes::{Mismatch, mismatches, shapes_of_module};
pub use together::relocatable_sets;

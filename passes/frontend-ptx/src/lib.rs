//! PTX to device IR.
//!
//! [`lower`] takes the tree that `ptxcheck-ptx-parser` makes of a text, and returns a [`Module`](ptxcheck_ir::Module) of `ptxcheck-ir`;
//! [`declarations`] leaves out the bodies, and [`facts()`] lists the declarations of a module. [`PtxOrigin`] maps the IR back to the text.
//!
//! | file | does |
//! | --- | --- |
//! | `parse.rs` | parses large texts on several threads |
//! | `symbols.rs`, `tables.rs`, `weak.rs` | what a module declares |
//! | `body.rs` | walks the statements of a function |
//! | `direct.rs` | reads a function from its text, without a tree |
//! | `operands.rs`, `calls.rs` | turn operands into values |
//! | `scope.rs`, `short.rs` | know the names |
//! | `opcode.rs`, `opcodes.rs`, `modifiers.rs`, `asynchronous.rs`, `matrices.rs` | what the opcodes do |
//! | `head.rs`, `malformed.rs` | what the parser reads and PTX does not allow |
//! | `origin.rs` | places and texts of what was lowered |
//! | `inlined.rs` | calls that debug data says were inlined |
//!
//! This is the only crate that knows what PTX means: the parser knows its grammar alone, and analyses see the device IR. It knows
//! nothing of files, analyses and rules.
//!
//! ```
//! use ptxcheck_frontend_ptx::{PtxOrigin, lower};
//! use ptxcheck_ir::{Collective, Op};
//!
//! let text = b".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tbar.warp.sync -1;\n\tret;\n}\n";
//! let tree = ptxcheck_ptx_parser::parse(text).expect("a module");
//! let origin = PtxOrigin::new(&tree);
//! let module = lower(&tree, &origin);
//!
//! let (_, kernel, body) = module.bodies().next().expect("a kernel with a body");
//! assert!(kernel.is_kernel());
//! assert!(matches!(body.instructions[0].op, Op::Collective(Collective::Sync, _)));
//! ```

#![warn(unreachable_pub, unnameable_types)]

mod asynchronous;
mod body;
mod calls;
mod direct;
mod facts;
mod head;
mod inlined;
mod labels;
mod legal;
mod limits;
mod malformed;
mod matrices;
mod modifiers;
mod module;
mod opcode;
mod opcodes;
mod operands;
mod origin;
mod parameters;
mod parse;
mod scope;
mod short;
mod stubs;
mod symbols;
mod tables;
mod weak;

pub use facts::{digest_kernels, facts};
pub use legal::illegal;
pub use matrices::matrix_rows;
pub use module::{Code, declarations, lower, lower_until, read};
pub use opcode::{opcodes, operation};
pub use operands::special;
pub use origin::PtxOrigin;
pub use parse::parse;

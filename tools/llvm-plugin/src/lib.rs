//! ptxcheck inside the compiler: a plugin for `clang -fpass-plugin=` and `opt -load-pass-plugin=` of LLVM 22.
//!
//! Each module of device code is written to the program `ptxcheck` as bitcode, and what that finds is reported as diagnostics
//! of the compilation. Nothing is analysed in the compiler's own process, and the module stays as it is.
//!
//! | file | knows |
//! | --- | --- |
//! | `pass.cpp` | LLVM's passes and diagnostics |
//! | `bridge.rs` | the C interface between that and the rest: the only file with `unsafe` |
//! | `settings.rs` | the environment variables |
//! | `program.rs` | how `ptxcheck` is run: its input, its deadline, what it printed |
//! | `document.rs` | its JSON document, as far as it is needed |
//! | `diagnostics.rs` | what is reported of that, and in which words |
//!
//! Without the feature `llvm` the library is empty.

// `pass` is set by the build script where the C++ part is built.
#![cfg_attr(
    test,
    allow(dead_code, reason = "bridge.rs, which uses it, needs LLVM at hand")
)]

#[cfg(all(pass, not(test)))]
mod bridge;
#[cfg(any(pass, test))]
mod check;
#[cfg(any(pass, test))]
mod diagnostics;
#[cfg(any(pass, test))]
mod document;
#[cfg(any(pass, test))]
mod limits;
#[cfg(any(pass, test))]
mod program;
#[cfg(any(pass, test))]
mod settings;

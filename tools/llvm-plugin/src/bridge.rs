//! The C interface between LLVM, `pass.cpp` and the rest.

#![allow(unsafe_code, reason = "LLVM is C++: each block says why it holds")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::catch_unwind;
use std::path::Path;
use std::ptr;
use std::slice;

use crate::check::{Compiled, check};
use crate::diagnostics::{Diagnostic, Kind};
use crate::settings::Stage;

/// The version of LLVM's interface of plugins: that of LLVM 22 (llvm/Plugins/PassPlugin.h).
const API_VERSION: u32 = 2;

const NAME: &CStr = c"ptxcheck";

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// `llvm::PassPluginLibraryInfo`.
#[repr(C)]
pub struct PluginInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: extern "C" fn(*mut PassBuilder),
    /// It would run before the code generator.
    before_code_generation: *const c_void,
}

/// `llvm::PassBuilder`, of which only the address is known here.
#[repr(C)]
pub struct PassBuilder {
    _opaque: [u8; 0],
}

/// Bytes that someone else keeps.
#[repr(C)]
struct Text {
    start: *const u8,
    size: usize,
}

impl Text {
    fn of(text: &str) -> Self {
        Self {
            start: text.as_ptr(),
            size: text.len(),
        }
    }

    /// # Safety
    ///
    /// The bytes that it names live and stay as they are for `'a`.
    unsafe fn bytes<'a>(&self) -> &'a [u8] {
        if self.start.is_null() || self.size == 0 {
            return &[];
        }
        // SAFETY: not null, and the caller answers for the rest.
        unsafe { slice::from_raw_parts(self.start, self.size) }
    }
}

/// A diagnostic, as `pass.cpp` takes it.
#[repr(C)]
struct Report {
    message: Text,
    functions: [Text; 2],
    file: Text,
    line: u32,
    column: u32,
    kind: u32,
}

impl Report {
    fn of(diagnostic: &Diagnostic) -> Self {
        let place = diagnostic.place.as_ref();
        Self {
            message: Text::of(&diagnostic.message),
            functions: [Text::of(&diagnostic.kernel), Text::of(&diagnostic.function)],
            file: Text::of(place.map_or("", |place| &place.file)),
            line: place.map_or(0, |place| place.line),
            column: place.and_then(|place| place.column).unwrap_or(0),
            kind: match diagnostic.kind {
                Kind::Error => 0,
                Kind::Warning => 1,
                Kind::Failure => 2,
            },
        }
    }
}

type Reporter = extern "C" fn(*mut c_void, *const Report);
type Checker = extern "C" fn(Text, Text, bool, *mut c_void, Reporter);

unsafe extern "C" {
    /// Of `pass.cpp`: has the pass stand at the start or the end of pipelines, and be known by its name.
    fn ptxcheck_pass_register(builder: *mut PassBuilder, at_start: bool, checker: Checker);
}

/// LLVM asks for this symbol of a plugin.
// SAFETY: the name is LLVM's own for this function, and no other library's.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PluginInfo {
    PluginInfo {
        api_version: API_VERSION,
        name: NAME.as_ptr(),
        version: VERSION.as_ptr(),
        register,
        before_code_generation: ptr::null(),
    }
}

extern "C" fn register(builder: *mut PassBuilder) {
    // A variable that says something else is reported where something is checked.
    let stage = catch_unwind(Stage::from_environment).unwrap_or(Ok(Stage::DEFAULT));
    let at_start = stage.unwrap_or(Stage::DEFAULT) == Stage::Start;
    // SAFETY: the builder is LLVM's, which calls this with one that lives, and `check_module` is of the type that is called.
    unsafe { ptxcheck_pass_register(builder, at_start, check_module) };
}

/// Called by the pass with a module's bitcode, the name of its source, whether it has line information, and what reports a
/// diagnostic in `context`.
extern "C" fn check_module(
    bitcode: Text,
    source: Text,
    has_lines: bool,
    context: *mut c_void,
    reporter: Reporter,
) {
    // SAFETY: the pass keeps both until this returns.
    let (bitcode, source) = unsafe { (bitcode.bytes(), source.bytes()) };
    let module = Compiled {
        bitcode,
        source: Path::new(OsStr::from_bytes(source)),
        has_lines,
    };
    for diagnostic in check(&module) {
        // opt ends the process in here at an error, which is the last.
        let report = Report::of(&diagnostic);
        reporter(context, &raw const report);
    }
}

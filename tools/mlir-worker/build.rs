//! Links MLIR: its C interface from three archives that hold nothing but wrappers, and the rest from the shared library, which
//! lies in a folder that the loader does not search by itself.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The prefix of an installation of LLVM 22, for this package and for llvm-sys.
const PREFIX: &str = "LLVM_SYS_221_PREFIX";

/// In this order: each uses those after it.
const ARCHIVES: [&str; 4] = [
    "MLIRCAPIRegisterEverything",
    "MLIRCAPITarget",
    "MLIRCAPIGPU",
    "MLIRCAPIIR",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={PREFIX}");
    if env::var_os("CARGO_FEATURE_MLIR").is_none() {
        return;
    }
    let libraries = library_folder();
    println!("cargo:rustc-link-search=native={libraries}");
    for archive in ARCHIVES {
        println!("cargo:rustc-link-lib=static={archive}");
    }
    for library in ["MLIR", "LLVM-22", "stdc++"] {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
    println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{libraries}");
}

/// The folder of LLVM's libraries, as its own program says.
fn library_folder() -> String {
    let bin = env::var_os(PREFIX).map(|prefix| PathBuf::from(prefix).join("bin"));
    let program = |name: &str| bin.as_ref().map_or_else(|| name.into(), |bin| bin.join(name));
    let said = ["llvm-config-22", "llvm-config"].iter().find_map(|name| {
        let said = Command::new(program(name))
            .args(["--version", "--libdir"])
            .output()
            .ok()?;
        let said = String::from_utf8(said.stdout).ok()?;
        let (version, folder) = said.split_once('\n')?;
        version.starts_with("22.").then(|| folder.trim().to_owned())
    });
    said.expect("the feature `mlir` needs MLIR 22: install libmlir-22-dev, or set LLVM_SYS_221_PREFIX")
}

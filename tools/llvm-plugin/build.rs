//! Compiles the part of the pass that is C++, against the headers of LLVM 22.
//!
//! Nothing of LLVM is linked: the compiler that loads the plugin has it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(pass)");
    #[cfg(feature = "llvm")]
    pass::build();
}

#[cfg(feature = "llvm")]
mod pass {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    const SOURCE: &str = "src/pass.cpp";

    /// Where LLVM 22 is installed: the variable that the bindings of LLVM's C interface go by as well.
    const PREFIX: &str = "LLVM_SYS_221_PREFIX";

    const VERSION: &str = "22.";

    /// The names that systems give to LLVM's program that describes its installation; `tools/toolchain/has-llvm.sh` has them, too.
    const NAMES: [&str; 5] = [
        "llvm-config-22",
        "llvm-config22",
        "llvm22-config",
        "llvm-config-22.1",
        "llvm-config",
    ];

    const MISSING: &str = "the pass needs the C++ headers of LLVM 22, and no llvm-config of that version is on PATH or below \
        LLVM_SYS_221_PREFIX. Install them (Debian: llvm-22-dev), or build with --no-default-features, which leaves the pass out";

    pub fn build() {
        println!("cargo::rerun-if-changed={SOURCE}");
        println!("cargo::rerun-if-env-changed={PREFIX}");
        let target = std::env::var("CARGO_CFG_TARGET_FAMILY").unwrap_or_default();
        if !target.split(',').any(|family| family == "unix") {
            return; // Nothing there lets a plugin take symbols of the program that loads it.
        }
        let Some(include) = headers() else {
            println!("cargo::error={MISSING}");
            return;
        };
        println!(
            "cargo::rerun-if-changed={}",
            include.join("llvm/Config/llvm-config.h").display()
        );
        cc::Build::new()
            .cpp(true)
            .std("c++17")
            .file(SOURCE)
            // Not ours to fix.
            .flag("-isystem")
            .flag(&include)
            .flag("-fno-exceptions")
            .flag("-fno-rtti")
            .flag_if_supported("-fvisibility=hidden")
            .compile("ptxcheck_pass_cpp");
        println!("cargo::rustc-cfg=pass");
        if std::env::var("CARGO_CFG_TARGET_VENDOR").as_deref() == Ok("apple") {
            println!("cargo::rustc-link-arg-cdylib=-Wl,-undefined,dynamic_lookup");
        }
    }

    /// The folder of the headers.
    fn headers() -> Option<PathBuf> {
        let prefix = std::env::var_os(PREFIX).map(|prefix| Path::new(&prefix).join("bin"));
        let programs = NAMES.iter().map(|name| match &prefix {
            Some(folder) => folder.join(name),
            None => PathBuf::from(name),
        });
        // Homebrew's is not on PATH.
        let brew = said(Path::new("brew"), "--prefix");
        let of_brew = brew.map(|brew| Path::new(&brew).join("opt/llvm@22/bin/llvm-config"));
        programs
            .chain(of_brew)
            .filter(|program| said(program, "--version").is_some_and(|version| version.starts_with(VERSION)))
            .filter_map(|program| said(&program, "--includedir"))
            .map(PathBuf::from)
            .find(|folder| folder.join("llvm/Passes/PassBuilder.h").is_file())
    }

    fn said(program: &Path, question: &str) -> Option<String> {
        let output = Command::new(program).arg(question).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    }
}

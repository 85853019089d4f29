//! `ptxcheck launch` as CMake's launcher of the compiler.

use super::example::{line_of, mend};
use super::project::{Cmake, Generator, Project, on_path, output};

const LAUNCHER: &str = "-DCMAKE_CUDA_COMPILER_LAUNCHER=ptxcheck;launch";

/// The example has a defect: found, found again, fixed, unchanged.
pub(super) fn example(generator: Generator) -> Result<(), String> {
    let project = Project::new(Cmake::System, generator)?;
    project.copy("tools/launcher/example")?;
    project.configure(&[LAUNCHER])?.must_succeed()?;
    let place = format!("sums.cu:{}:", line_of(&project, "sums.cu", "mask >> 32")?);
    for _ in 0..2 {
        project.build()?.must_fail()?.has("PTX407")?.has(&place)?;
    }
    mend(&project, "sums.cu", "mask >> 32", "mask")?;
    project.build()?.must_succeed()?.has_no("PTX")?;
    project.is_up_to_date()
}

/// Machine code alone, with a file of options: the call is run again. `try_compile` is let pass.
pub(super) fn without_ptx() -> Result<(), String> {
    let project = Project::new(Cmake::Newest, Generator::Makefiles)?;
    project.copy("tools/launcher/example")?;
    project.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.22)\nproject(example LANGUAGES CUDA)\n\
         set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n\
         try_compile(compiles \"${CMAKE_BINARY_DIR}\" \"${CMAKE_SOURCE_DIR}/sums.cu\")\n\
         if(NOT compiles)\n  message(FATAL_ERROR \"the finding fails try_compile\")\nendif()\n\
         add_library(sums STATIC sums.cu)\ntarget_include_directories(sums PRIVATE \"a folder\")\n",
    )?;
    let options = ["-DCMAKE_CUDA_ARCHITECTURES=90-real"];
    let environment = [("CMAKE_CUDA_COMPILER_LAUNCHER", "ptxcheck;launch")];
    project.configure_in(&environment, &options)?.must_succeed()?;
    let said = project.build()?.must_fail()?;
    said.has("sums.cu:5:")?.has_no("warning: ")?;
    Ok(())
}

/// Objects that come from ccache's cache are checked as well.
pub(super) fn with_ccache() -> Result<(), String> {
    let ccache = on_path("ccache")?;
    let project = Project::new(Cmake::System, Generator::Ninja)?;
    project.copy("tools/launcher/example")?;
    let cache = project.path("cache").display().to_string();
    let launcher = format!("{LAUNCHER};{}", ccache.display());
    let environment = [("CCACHE_DIR", cache.as_str())];
    project.configure_in(&environment, &[&launcher])?.must_succeed()?;
    for _ in 0..2 {
        let said = project.build_in(&environment, &["--clean-first"])?.must_fail()?;
        said.has("sums.cu:5:")?;
    }
    let mut command = std::process::Command::new(&ccache);
    let statistics = output(command.arg("--print-stats").env("CCACHE_DIR", &cache))?;
    let hits = statistics.text.lines().find_map(|line| {
        let (name, count) = line.split_once('\t')?;
        (name == "direct_cache_hit").then(|| count.to_owned())
    });
    if hits.as_deref() == Some("1") {
        return Ok(());
    }
    Err(format!("1 hit was wanted:\n{}", statistics.text))
}

//! The example of the CMake package, and a project that fetches the package.

use super::project::{Cmake, Generator, Project};
use ptxcheck_tests::root;

/// The example has a defect; without it, the build passes.
pub(super) fn cmake() -> Result<(), String> {
    let project = Project::new(Cmake::System, Generator::Ninja)?;
    project.copy("tools/cmake/example")?;
    project
        .configure(&["-Dptxcheck_CACHE=kept reports"])?
        .must_succeed()?;
    let said = project.build()?.must_fail()?;
    if !project
        .path("../build/kept reports/reports/CACHEDIR.TAG")
        .is_file()
    {
        return Err("no report is kept".to_owned());
    }
    said.has("PTX407")?.has(&format!(
        "sums.cu:{}:",
        line_of(&project, "sums.cu", "mask >> 32")?
    ))?;
    mend(&project, "sums.cu", "mask >> 32", "mask")?;
    project.build()?.must_succeed()?.has_no("PTX")?;
    project.is_up_to_date()
}

/// The package is of the program's version.
pub(super) fn version() -> Result<(), String> {
    let file = root().join("tools/cmake/ptxcheck-config-version.cmake");
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let wanted = format!("set(PACKAGE_VERSION \"{}\")", env!("CARGO_PKG_VERSION"));
    if text.contains(&wanted) {
        Ok(())
    } else {
        Err(format!("ptxcheck-config-version.cmake has no {wanted}"))
    }
}

/// The line on which a file of a project has a text.
pub(super) fn line_of(project: &Project, name: &str, text: &str) -> Result<usize, String> {
    let source = std::fs::read_to_string(project.path(name)).map_err(|error| error.to_string())?;
    let before = source.lines().position(|line| line.contains(text));
    before
        .map(|before| before + 1)
        .ok_or_else(|| format!("{name} has no {text}"))
}

/// Puts one text in the place of another.
pub(super) fn mend(project: &Project, name: &str, from: &str, to: &str) -> Result<(), String> {
    let source = std::fs::read_to_string(project.path(name)).map_err(|error| error.to_string())?;
    project.write(name, &source.replace(from, to))
}

const FETCHED: &str = "\
cmake_minimum_required(VERSION 3.22)
project(fetched LANGUAGES CUDA)
include(FetchContent)
FetchContent_Declare(ptxcheck SOURCE_DIR \"REPOSITORY\" SOURCE_SUBDIR tools/cmake)
FetchContent_MakeAvailable(ptxcheck)
add_library(sums STATIC sums.cu)
ptxcheck_target(sums)
";

/// The functions come by FetchContent, the program from PATH.
pub(super) fn fetched() -> Result<(), String> {
    let project = Project::new(Cmake::System, Generator::Makefiles)?;
    project.copy("tools/cmake/example")?;
    let repository = root().display().to_string();
    project.write("CMakeLists.txt", &FETCHED.replace("REPOSITORY", &repository))?;
    project.configure(&[])?.must_succeed()?;
    project.build()?.must_fail()?.has("PTX407")?;
    Ok(())
}

const AUDITED: &str = "\
cmake_minimum_required(VERSION 3.22)
project(audited LANGUAGES CUDA)
find_package(ptxcheck REQUIRED)
add_library(sums SHARED sums.cu)
ptxcheck_audit(sums CONFIG release.toml)
";

/// A policy that the library breaks, then one that it keeps.
pub(super) fn audit() -> Result<(), String> {
    let project = Project::new(Cmake::System, Generator::Ninja)?;
    project.copy("tools/cmake/example")?;
    project.write("CMakeLists.txt", AUDITED)?;
    project.write("release.toml", "[audit]\nrequire-sm = [\"80\", \"90\"]\n")?;
    project.configure(&[])?.must_succeed()?;
    project.build()?.must_fail()?.has("PTX501")?.has("libsums.so")?;
    project.write("release.toml", "[audit]\nrequire-sm = [\"90\"]\n")?;
    project.build()?.must_succeed()?;
    project.is_up_to_date()
}

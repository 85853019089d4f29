//! Calls that can't be right stop CMake, with a sentence that says why.

use super::project::{Cmake, Generator, Project};

const BEGINNING: &str = "\
cmake_minimum_required(VERSION 3.22)
project(refused LANGUAGES CXX CUDA)
find_package(ptxcheck REQUIRED)
add_library(kernels STATIC kernels.cu)
add_executable(program main.cpp)
target_link_libraries(program PRIVATE kernels)
add_library(headers INTERFACE)
add_library(elsewhere STATIC IMPORTED)
add_library(objects OBJECT kernels.cu)
add_custom_target(text)
";

/// The lines after [`BEGINNING`], and the message that CMake has to print.
const CASES: [(&str, &str); 14] = [
    ("ptxcheck_target(nobody)", "there is no target of this name (yet)"),
    ("ptxcheck_target(headers)", "the target is an INTERFACE library"),
    ("ptxcheck_target(elsewhere)", "the target is IMPORTED"),
    ("ptxcheck_target(text)", "neither a library nor an executable"),
    (
        "ptxcheck_target(kernels)\nptxcheck_target(kernels)",
        "called twice for kernels",
    ),
    (
        "ptxcheck_target(program)",
        "the target has no CUDA sources; those that it links have: call `ptxcheck_target(kernels)`",
    ),
    (
        "ptxcheck_target(kernels LEVEL high)",
        "LEVEL is error, warning or never, not high",
    ),
    (
        "ptxcheck_target(kernels LAUNCH 32x4)",
        "LAUNCH is the threads of a block, as X[,Y[,Z]], not 32x4",
    ),
    (
        "ptxcheck_target(kernels CONFIG none.toml)",
        "there is no configuration",
    ),
    (
        "ptxcheck_target(kernels CONFIG)",
        "a value is missing behind CONFIG",
    ),
    ("ptxcheck_target(kernels LOUD)", "unknown arguments: LOUD"),
    ("ptxcheck_audit(headers)", "the target is an INTERFACE library"),
    ("ptxcheck_audit(objects)", "an OBJECT library has no file"),
    (
        "ptxcheck_audit(kernels)\nptxcheck_audit(kernels)",
        "called twice for kernels",
    ),
];

pub(super) fn calls() -> Result<(), String> {
    let project = Project::new(Cmake::System, Generator::Ninja)?;
    project.write("kernels.cu", "__global__ void k() {}\n")?;
    project.write("main.cpp", "int main() { return 0; }\n")?;
    for (call, words) in CASES {
        project.write("CMakeLists.txt", &format!("{BEGINNING}{call}\n"))?;
        project
            .configure(&[])?
            .must_fail()?
            .has(words)
            .map_err(|error| format!("{call}: {error}"))?;
    }
    Ok(())
}

/// A version that is not there, and a program that is not there.
pub(super) fn packages() -> Result<(), String> {
    let project = Project::new(Cmake::System, Generator::Ninja)?;
    let text = "cmake_minimum_required(VERSION 3.22)\nproject(versions LANGUAGES CXX)\n";
    project.write(
        "CMakeLists.txt",
        &format!("{text}find_package(ptxcheck 99 REQUIRED)\n"),
    )?;
    project.configure(&[])?.must_fail()?.has("99")?;
    project.write(
        "CMakeLists.txt",
        &format!("{text}find_package(ptxcheck REQUIRED)\n"),
    )?;
    project
        .configure(&["-Dptxcheck_EXECUTABLE=/nowhere/ptxcheck"])?
        .must_fail()?
        .has("there is no program ptxcheck beside the CMake package nor on PATH")?;
    Ok(())
}

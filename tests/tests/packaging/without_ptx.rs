//! Objects that hold no PTX: it is made by running the target's own commands again.

use super::project::{Cmake, Generator, Project, clang};

/// A kernel with a `__syncwarp` for the lanes in `mask`, in code for architectures below `OLDER`, if there is such a macro.
fn source(mask: &str) -> String {
    format!(
        "// A case of the packaging tests.\n__global__ void k(int *p) {{\n#if !defined(OLDER) || __CUDA_ARCH__ < OLDER\n  \
         if (p[0]) __syncwarp({mask});\n#endif\n  p[1] = p[2];\n}}\n"
    )
}

/// First lines, before [`source`], of the file in the folder below: its mask is in another folder.
const BEGINNING: &str = "#include \"mask.h\"\n#ifndef OF_THIS_FILE\n#error a macro is missing\n#endif\n";

/// The places of the defects in [`write_sources`].
const PLACES: [&str; 4] = [
    "real.cu:4:",
    "older.cu:4:",
    "optimised.cu:4:",
    "far/far away.cu:8:",
];

/// Writes the sources, with the defect or without.
fn write_sources(project: &Project, is_wrong: bool) -> Result<(), String> {
    let mask = if is_wrong { "0" } else { "" };
    for name in ["real", "older", "optimised"] {
        project.write(&format!("{name}.cu"), &source(mask))?;
    }
    project.write("far/far away.cu", &format!("{BEGINNING}{}", source("MASK")))?;
    project.write("far/a folder/mask.h", &format!("#define MASK {mask}\n"))
}

/// Found in each target, found again, fixed, unchanged.
pub(super) fn life(cmake: Cmake, generator: Generator) -> Result<(), String> {
    let project = Project::in_place(cmake, generator)?;
    project.copy("tests/packaging/without_ptx")?;
    write_sources(&project, true)?;
    project
        .configure(&[&Project::launcher()])?
        .must_succeed()?
        .has_no("warning")?;
    for _ in 0..2 {
        let said = project.build()?.must_fail()?;
        for place in PLACES {
            said.has(place)?;
        }
        said.has_no("not analysed")?.has_no("warning")?;
    }
    write_sources(&project, false)?;
    project.build()?.must_succeed()?.has_no("not analysed")?;
    project.is_up_to_date()
}

/// The number of files whose names together are longer than an argument of a shell may be, 128 KiB.
const MANY: usize = 700;

/// A target in a folder of its own with as many objects as fit into no command line.
pub(super) fn long_lines(cmake: Cmake, generator: Generator) -> Result<(), String> {
    let project = Project::in_place(cmake, generator)?;
    project.copy("tests/packaging/without_ptx")?;
    write_sources(&project, true)?;
    let long = "long".repeat(50);
    for number in 0..MANY {
        project.write(&format!("far/{long}{number}.c"), "int unused;\n")?;
    }
    project
        .configure(&["-DCMAKE_C_FLAGS=-fcommon", "-DCMAKE_NINJA_FORCE_RESPONSE_FILE=ON"])?
        .must_succeed()?;
    let build = || project.build_with(&["--target", "far_ptxcheck"]);
    build()?
        .must_fail()?
        .has("far/far away.cu:8:")?
        .has_no("not analysed")?;
    write_sources(&project, false)?;
    build()?.must_succeed()?.has("Checking the device code of far")?;
    build()?.must_succeed()?.has_no("Checking")?;
    Ok(())
}

const CROSSED: &str = "\
cmake_minimum_required(VERSION 3.22)
project(crossed LANGUAGES CUDA)
find_package(ptxcheck REQUIRED)
add_library(kernels STATIC kernels.cu)
set_target_properties(kernels PROPERTIES CUDA_ARCHITECTURES 90-real)
target_compile_definitions(kernels PRIVATE $<$<CONFIG:Debug>:MASK=0> $<$<CONFIG:Release>:MASK=0xffffffff>)
ptxcheck_target(kernels)
";

/// Several configurations in one build, each with the commands of its own.
pub(super) fn crossed(cmake: Cmake) -> Result<(), String> {
    let project = Project::new(cmake, Generator::MultiConfig)?;
    project.write("CMakeLists.txt", CROSSED)?;
    project.write("kernels.cu", &source("MASK"))?;
    project
        .configure(&[
            "-DCMAKE_CONFIGURATION_TYPES=Debug;Release",
            "-DCMAKE_CROSS_CONFIGS=all",
            "-DCMAKE_DEFAULT_CONFIGS=all",
        ])?
        .must_succeed()?;
    let said = project.build()?.must_fail()?;
    said.has("Debug/kernels.cu.o")?
        .has("kernels.cu:4:")?
        .has_no("Release/kernels.cu.o:")?;
    let release = ["--config", "Release", "--target", "kernels_ptxcheck:Release"];
    project.build_with(&release)?.must_succeed()?.has_no("PTX407")?;
    let debug = ["--config", "Debug", "--target", "kernels_ptxcheck"];
    project.build_with(&debug)?.must_fail()?.has("kernels.cu:4:")?;
    Ok(())
}

const OF_CLANG: &str = "\
cmake_minimum_required(VERSION 3.22)
project(of_clang LANGUAGES CUDA)
find_package(ptxcheck REQUIRED)
add_library(kernels STATIC kernels.cu)
ptxcheck_target(kernels)
add_library(relocatable STATIC relocatable.cu)
set_target_properties(relocatable PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
ptxcheck_target(relocatable)
add_library(embedded STATIC embedded.cu)
target_compile_options(embedded PRIVATE --cuda-include-ptx=all)
ptxcheck_target(embedded)
";

/// clang as CMake's compiler of CUDA.
pub(super) fn of_clang(generator: Generator) -> Result<(), String> {
    let project = Project::new(Cmake::Newest, generator)?;
    let [compiler, toolkit, flags] = clang()?;
    project.write("CMakeLists.txt", OF_CLANG)?;
    let names = ["kernels", "relocatable", "embedded"];
    let write_sources = |mask: &str| {
        names
            .iter()
            .try_for_each(|name| project.write(&format!("{name}.cu"), &source(mask)))
    };
    write_sources("0")?;
    project
        .configure(&[&compiler, &toolkit, &flags])?
        .must_succeed()?;
    let said = project.build()?.must_fail()?;
    for name in names {
        said.has(&format!("{name}.cu:4:"))?;
    }
    said.has_no("not analysed")?;
    write_sources("")?;
    project.build()?.must_succeed()?.has_no("not analysed")?;
    project.is_up_to_date()
}

//! One project with a target of every kind, through the life of a defect: found, found again, fixed, unchanged.

use super::project::{Cmake, Generator, Project};

/// The line of the defect in [`source`].
const LINE: u32 = 3;

/// Sources of which each has the defect.
const SOURCES: [&str; 15] = [
    "archive.cu",
    "shared.cu",
    "objects.cu",
    "program.cu",
    "separable.cu",
    "optimised.cu",
    "unity.cu",
    "unity_more.cu",
    "called_cpp.cpp",
    "template.txt",
    "later one.cu",
    "placeless.cu",
    "debug.cu",
    "far/far.cu",
    "excluded.cu",
];

/// A kernel whose `__syncwarp` names no lane, or all.
fn source(name: &str, is_wrong: bool) -> String {
    let kernel: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let mask = if is_wrong { "0" } else { "" };
    format!(
        "// A case of the packaging tests.\n__global__ void k_{kernel}(int *p) {{\n  if (p[0]) __syncwarp({mask});\n  \
         p[1] = p[2];\n}}\nvoid run_{kernel}(int *p) {{ k_{kernel}<<<1, 32>>>(p); }}\n"
    )
}

fn write_sources(project: &Project, is_wrong: bool) -> Result<(), String> {
    for name in SOURCES {
        project.write(name, &source(name, is_wrong))?;
    }
    project.write("spare/spare.cu", &source("spare", is_wrong))?;
    project.write("main.cpp", "int main() { return 0; }\n")
}

/// Each finding on its line in the user's source, and those that are not to be there.
fn holds_all_findings(said: &super::project::CommandOutput, places_in_objects: bool) -> Result<(), String> {
    for name in SOURCES {
        let place = match name {
            "template.txt" => format!("generated.cu:{LINE}:"),
            "placeless.cu" if places_in_objects => "placeless.cu.o(image 0):".to_owned(),
            "excluded.cu" => {
                said.has_no("k_excluded_cu")?;
                continue;
            }
            _ => format!("{name}:{LINE}:"),
        };
        said.has(&place)?;
    }
    said.has_no("k_spare")?.has("PTX407")?;
    Ok(())
}

/// The life of a defect in every target.
pub(super) fn life(cmake: Cmake, generator: Generator) -> Result<(), String> {
    let project = Project::in_place(cmake, generator)?;
    project.copy("tests/packaging/matrix")?;
    project.write("ptxcheck.toml", "# nothing yet\n")?;
    write_sources(&project, true)?;
    project
        .configure(&["-DCHECKED=ON", &Project::launcher()])?
        .must_succeed()?
        .has_no("warning")?;

    holds_all_findings(&project.build()?.must_fail()?, true)?;
    // The library is there, and the next build checks again without compiling.
    let again = project.build()?.must_fail()?;
    holds_all_findings(&again, true)?;
    again.has_no("Building CUDA")?;

    write_sources(&project, false)?;
    project
        .build()?
        .must_succeed()?
        .has("Checking the device code of far")?;
    project.is_up_to_date()?;

    project.write("ptxcheck.toml", "[launch]\nblock = [64]\n")?;
    let changed = project.build()?.must_succeed()?;
    changed
        .has("Checking the device code of archive")?
        .has("Checking the device code of far")?
        .has_no("Building CUDA")?;
    project.is_up_to_date()?;

    project.write("far/far.cu", &source("far/far.cu", true))?;
    let broken = project.build()?.must_fail()?;
    broken
        .has(&format!("far/far.cu:{LINE}:"))?
        .has_no("Checking the device code of archive")?;
    project.write("far/far.cu", &source("far/far.cu", false))?;
    project
        .build_with(&["--target", "far_ptxcheck", "spare_ptxcheck", "excluded_ptxcheck"])?
        .must_succeed()?
        .has("Checking the device code of excluded")?;
    configurations(&project, generator)
}

/// The other configuration of a build folder with several has a check of its own.
fn configurations(project: &Project, generator: Generator) -> Result<(), String> {
    if generator != Generator::MultiConfig {
        return Ok(());
    }
    let release = project.build_with(&["--config", "Release", "--target", "far_ptxcheck"])?;
    release.must_succeed()?.has("Checking the device code of far")?;
    let debug = project.build_with(&["--config", "Debug", "--target", "far_ptxcheck"])?;
    debug.must_succeed()?.has_no("Checking the device code")?;
    Ok(())
}

/// The same targets in a project that says nothing of the program.
pub(super) fn without_edits(cmake: Cmake, generator: Generator) -> Result<(), String> {
    let project = Project::in_place(cmake, generator)?;
    project.copy("tests/packaging/matrix")?;
    write_sources(&project, true)?;
    let variable = match cmake {
        Cmake::Oldest => "CMAKE_PROJECT_INCLUDE",
        Cmake::System | Cmake::Newest => "CMAKE_PROJECT_TOP_LEVEL_INCLUDES",
    };
    let include = ptxcheck_tests::root().join("tools/cmake/ptxcheck-all.cmake");
    project
        .configure(&[
            &format!("-D{variable}={}", include.display()),
            &Project::launcher(),
        ])?
        .must_succeed()?;
    holds_all_findings(&project.build()?.must_fail()?, false)?;
    write_sources(&project, false)?;
    project.build()?.must_succeed()?;
    project.is_up_to_date()
}

//! Objects, libraries and executables that nvcc and clang build from small sources, and what is found in them. Where a
//! compiler is missing, its tests are counted as ignored.

mod build;
mod containers;
mod forecasts;
mod hosts;
mod kernels;
mod launcher;
mod launches;
mod legal;
mod line_text;
mod projects;
mod recompiled;
mod releases;
mod symbols;
mod units;

use build::Build;
use libtest_mimic::{Completion, Failed, Trial};
use ptxcheck_tests::{missing, root};

type Case = fn(&Build) -> Result<(), String>;

const NVCC: &[(&str, Case)] = &[
    ("a compiler launcher", launcher::of_nvcc),
    ("calls of a launcher that are unusual", launcher::unusual),
    ("settings of a launcher", launcher::settings),
    ("archives beside recompiled objects", recompiled::beside_objects),
    ("kernels of each architecture", recompiled::each_architecture),
    ("objects without PTX", recompiled::without_ptx),
    ("everything analysed once", recompiled::require_analysed),
    ("compression modes", containers::compression_modes),
    ("relocatable device code", containers::relocatable),
    ("a device link alone", containers::device_link),
    ("link-time optimisation", containers::link_time_optimisation),
    ("targets with suffixes", containers::suffixes),
    ("an archive", containers::archived),
    ("a stripped shared library", containers::stripped),
    ("what finished host code registers", containers::registered),
    ("a debug build", containers::debug),
    ("parameters that depend on the target", symbols::signatures),
    ("a template for one target only", symbols::one_target),
    ("an argument that depends on the target", symbols::twins),
    ("launch bounds that depend on the target", symbols::bounds),
    (
        "waits for other grids that depend on the target",
        symbols::grid_waits,
    ),
    ("weak functions that differ", symbols::weak_functions),
    ("a policy", containers::policy),
    ("exported symbols", forecasts::exported),
    ("machine code for one architecture alone", forecasts::needless),
    ("differences of two releases", releases::differences),
    ("one release built twice", releases::no_differences),
    ("a ratchet", releases::ratchet),
    ("a ratchet of several files", releases::ratchet_of_files),
    ("what loads where: machine code and PTX", forecasts::mixed),
    ("what loads where: machine code alone", forecasts::real_only),
    ("what loads where: PTX alone", forecasts::ptx_only),
    ("what loads where: relocatable code", forecasts::relocatable),
    (
        "what loads where: an older virtual target",
        forecasts::older_virtual_target,
    ),
    (
        "what loads where: several containers",
        forecasts::several_containers,
    ),
    ("kernels without a body", kernels::stubs),
    ("registers and memory of kernels", kernels::resources),
    ("targets in headers", kernels::targets),
    ("instructions of targets and versions", legal::as_ptxas_says),
    ("PTX in machine code with source lines", line_text::findings),
    ("names of C, static and unused ones", symbols::registered_names),
    ("a bundle of all targets", containers::concatenated),
    ("paths of the machine", containers::build_paths),
    ("a variable of the host, in four builds", symbols::host_variable),
    ("a link set that is complete", symbols::complete),
    (
        "kernels that are launched and not registered",
        symbols::unregistered,
    ),
    ("declarations that the device linker rejects", symbols::prototypes),
    (
        "variables of relocatable machine code",
        projects::relocatable_variables,
    ),
    ("kernels of one name in many units", units::kernels_of_many_units),
    ("launches that host code shows", launches::of_nvcc),
    (
        "launches that finished host code shows",
        launches::finished_by_nvcc,
    ),
    ("images in the data of programs", hosts::data_of_programs),
    ("host code yet to be compiled", hosts::link_time_host),
    ("inline functions in many units", units::functions_of_many_units),
    ("a function of another unit", units::function_of_another_unit),
    (
        "right functions of another unit",
        units::right_functions_of_another_unit,
    ),
    (
        "whole programs with something left open",
        projects::whole_programs,
    ),
];

const CLANG: &[(&str, Case)] = &[
    ("a compiler launcher of clang's", launcher::of_clang),
    (
        "what finished host code of clang's registers and lacks",
        containers::registered_and_missing,
    ),
    ("launches that host code of clang's shows", launches::of_clang),
    (
        "launches that finished host code of clang's shows",
        launches::finished_by_clang,
    ),
    ("objects compiled again", recompiled::of_clang),
    ("host code yet to be compiled", hosts::clang_link_time_host),
    ("what relocatable objects register", hosts::registered_by_a_table),
    (
        "inline functions in many units of clang's",
        units::functions_of_many_clang_units,
    ),
    ("an object of clang's", containers::clang_object),
    (
        "a debug build of clang's, its images one by one",
        containers::clang_debug,
    ),
    ("a kernel that only the host knows", symbols::registered),
    ("bitcode for a link", containers::clang_bitcode),
    (
        "relocatable device code of clang's",
        containers::clang_relocatable,
    ),
    (
        "scopes whose names end with a digit",
        projects::scopes_with_digits,
    ),
    (
        "a variable of the host, in an executable",
        symbols::host_variable_of_a_program,
    ),
];

pub fn trials() -> Vec<Trial> {
    let trials = [("nvcc", NVCC), ("clang", CLANG)]
        .into_iter()
        .flat_map(|(compiler, cases)| {
            cases.iter().map(move |(name, case)| {
                Trial::ignorable_test(format!("{compiler}: {name}"), move || attempt(compiler, *case))
            })
        });
    trials.collect()
}

fn attempt(compiler: &str, case: Case) -> Result<Completion, Failed> {
    let toolchain = root().join(".toolchain");
    if !toolchain.join(compiler).join("stamp").is_file() {
        return missing::skip(&format!("{compiler} is not installed"));
    }
    let build = Build {
        toolchain,
        folder: tempfile::tempdir()?,
    };
    case(&build)?;
    Ok(Completion::Completed)
}

//! Targets of the macros that CMake had before it knew CUDA as a language.

use super::project::{Cmake, Generator, Project};

const KERNELS: &str = "\
__global__ void half(float *p) {
  float value = p[threadIdx.x];
  if (threadIdx.x % 32 < 16) value += __shfl_xor_sync(0xffffffffu, value, 8);
  p[threadIdx.x] = value;
}
";

/// The objects are those of rules of FindCUDA's own, with a source that CMake compiles beside them and without.
pub(super) fn objects(cmake: Cmake, generator: Generator) -> Result<(), String> {
    let project = Project::new(cmake, generator)?;
    project.write("kernels.cu", KERNELS)?;
    project.write("host.cpp", "int host() { return 1; }\n")?;
    for sources in ["kernels.cu", "host.cpp kernels.cu"] {
        project.write(
            "CMakeLists.txt",
            &format!(
                "cmake_minimum_required(VERSION 3.22)\nproject(old LANGUAGES CXX)\nfind_package(CUDA REQUIRED)\n\
                 list(APPEND CUDA_NVCC_FLAGS -arch=sm_90 -lineinfo)\ncuda_add_library(old {sources})\n\
                 find_package(ptxcheck REQUIRED)\nptxcheck_target(old)\n"
            ),
        )?;
        project.write("kernels.cu", KERNELS)?;
        project.configure(&["-Wno-dev", &toolkit()])?.must_succeed()?;
        let output = project.build()?.must_fail()?;
        output.has("PTX401")?.has("kernels.cu:3:")?;
        project.write(
            "kernels.cu",
            &KERNELS.replace("threadIdx.x % 32 < 16", "p[40] > 0"),
        )?;
        project.build()?.must_succeed()?;
    }
    Ok(())
}

fn toolkit() -> String {
    let folder = ptxcheck_tests::root().join(".toolchain/nvcc/cuda");
    format!("-DCUDA_TOOLKIT_ROOT_DIR={}", folder.display())
}

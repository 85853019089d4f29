//! The headers of the CUDA toolkit, by path: a finding points to the user's line that led into them.

/// File names of toolkit headers that appear in debug information without their folder.
const HEADERS: &[&str] = &[
    "builtin_types.h",
    "channel_descriptor.h",
    "common_functions.h",
    "cuda_awbarrier.h",
    "cuda_bf16.hpp",
    "cuda_fp16.hpp",
    "cuda_fp4.hpp",
    "cuda_fp6.hpp",
    "cuda_fp8.hpp",
    "cuda_pipeline.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cuda_device_runtime_api.h",
    "device_atomic_functions.hpp",
    "device_double_functions.hpp",
    "device_functions.hpp",
    "device_launch_parameters.h",
    "host_defines.h",
    "math_functions.hpp",
    "mma.hpp",
    "texture_indirect_functions.h",
    "surface_indirect_functions.h",
    "vector_functions.hpp",
];

/// Folders that only the toolkit, clang's CUDA headers and the C++ standard library have.
const FOLDERS: &[&str] = &[
    "/targets/x86_64-linux/include/",
    "/targets/sbsa-linux/include/",
    "/targets/aarch64-linux/include/",
    "/cooperative_groups/",
    "/cooperative_groups.h",
    "/crt/",
    "/cuda/std/",
    "/cuda/__",
    "/cub/",
    "/thrust/",
    "/cccl/",
    "/nvidia/cu13/include/",
    "/nvidia/cuda_runtime/include/",
    "/include/c++/",
];

/// True if a file, as debug information names it, is one of the CUDA toolkit's headers, of clang's CUDA headers or of
/// the C++ standard library.
#[must_use]
pub fn is_header(file: &str) -> bool {
    let path = file.replace('\\', "/");
    let name = path.rsplit('/').next().unwrap_or_default();
    let intrinsics =
        name.starts_with("sm_") && (name.contains("_intrinsics.h") || name.contains("_functions.h"));
    let clang = name.starts_with("__clang_cuda_") || name.starts_with("__clang_hip_");
    intrinsics || clang || HEADERS.contains(&name) || FOLDERS.iter().any(|folder| path.contains(folder))
}

#[cfg(test)]
mod tests {
    use super::is_header;

    #[test]
    fn headers_are_known_with_and_without_their_folder() {
        for file in [
            "/usr/local/cuda/targets/x86_64-linux/include/crt/sm_70_rt.hpp",
            "sm_30_intrinsics.hpp",
            "/opt/x/include/cooperative_groups/details/sync.h",
            "/usr/lib/llvm-22/lib/clang/22/include/__clang_cuda_intrinsics.h",
            "/usr/include/c++/12/string_view",
            "C:\\CUDA\\include\\crt\\device_functions.hpp",
        ] {
            assert!(is_header(file), "{file}");
        }
        for file in [
            "kernel.cu",
            "src/reduce.cuh",
            "include/sm_kernels.h",
            "my_cub.cuh",
        ] {
            assert!(!is_header(file), "{file}");
        }
    }
}

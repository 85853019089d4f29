//! Right projects that look wrong, each beside one that is.

use std::path::Path;

use super::build::{Build, codes, same};

/// Variables of every kind that host code can name.
const VARIABLES: &str = "\
__constant__ float gain[4] = {1, 2, 3, 4};
__device__ int counter;
static __device__ int calls;
inline __device__ int shared_by_all;
__managed__ int managed;
template <class T> __device__ T of_template = T();
namespace n { __constant__ WIDE wide; }
__global__ void k(float *out) {
  out[0] = gain[threadIdx.x & 3] + atomicAdd(&counter, 1) + calls + shared_by_all + managed + of_template<int> + n::wide; }
int run(int *p) {
  cudaMemcpyToSymbol(gain, p, 4); cudaMemcpyToSymbol(calls, p, 4); cudaMemcpyToSymbol(shared_by_all, p, 4);
  cudaMemcpyToSymbol(of_template<int>, p, 4); cudaMemcpyToSymbol(n::wide, p, sizeof n::wide); managed = 1;
  k<<<1, 32>>>(nullptr); return 0; }
";

const MACHINE_CODE: &str =
    "-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 -std=c++17 -rdc=true";

/// Variables in relocatable machine code, without PTX beside it, are symbols of another type than in finished code.
pub(super) fn relocatable_variables(build: &Build) -> Result<(), String> {
    build.write("k.cu", VARIABLES)?;
    build.nvcc(&format!("{MACHINE_CODE} -DWIDE=int -c k.cu -o k.o"))?;
    same("an object", codes(&build.check("k.o")?), vec![])?;
    build.tool(Path::new("ar"), "rcs libk.a k.o")?;
    let document = build.audit("libk.a")?;
    same("a library", codes(&document), vec![])?;
    let variables = document["inputs"][0]["host"]["variables"].as_array();
    same("its variables", variables.map(Vec::len), Some(7))?;
    build.nvcc(&format!(
        "{MACHINE_CODE} -DWIDE=int -shared -Xcompiler -fPIC k.cu -o libk.so"
    ))?;
    same("a shared library", codes(&build.check("libk.so")?), vec![])?;
    // A type that depends on the target.
    build.write(
        "w.cu",
        &format!(
            "#if __CUDA_ARCH__ >= 900\n#define WIDE double\n#else\n#define WIDE float\n#endif\n{VARIABLES}"
        ),
    )?;
    build.nvcc(&format!("{MACHINE_CODE} -c w.cu -o w.o"))?;
    same("two sizes", codes(&build.check("w.o")?), vec!["PTX503"])
}

/// Symbols that a whole program leaves undefined, and need not define.
pub(super) fn whole_programs(build: &Build) -> Result<(), String> {
    let objects = [
        (
            "shared",
            "extern __shared__ int buffer[];\n\
             __global__ void k(int *o) { buffer[threadIdx.x] = *o; __syncthreads(); *o = buffer[threadIdx.x ^ 1]; }\n",
        ),
        (
            "launches",
            "__global__ void child(int *o) { *o = 1; }\n__global__ void parent(int *o) { child<<<1, 32>>>(o); }\n",
        ),
        (
            "main",
            "extern __device__ int used(int x);\n__global__ void k(int *o) { o[0] = used(o[1]); }\n",
        ),
        ("used", "__device__ int used(int x) { return x + 1; }\n"),
        (
            "optional",
            "extern __device__ int plugin(int x);\n\
             __device__ int optional(int x) { return plugin(x) + 1; }\n",
        ),
        // As above, but something leads to it.
        (
            "caller",
            "extern __device__ int optional(int x);\n__device__ int used(int x) { return optional(x); }\n",
        ),
        (
            "table",
            "extern __device__ int optional(int x);\n__device__ int (*table)(int) = optional;\n",
        ),
        (
            "variable",
            "extern __device__ int limit;\n__device__ int unused(int x) { return x + limit; }\n",
        ),
    ];
    for (name, source) in objects {
        build.write(&format!("{name}.cu"), source)?;
        build.nvcc(&format!("-rdc=true -arch=sm_90 -c {name}.cu -o {name}.o"))?;
    }
    let runtime = build.toolchain.join("nvcc/cuda/lib/libcudadevrt.a");
    let runtime = runtime.display().to_string();
    build.tool(Path::new("ar"), "rcs lib.a used.o optional.o")?;
    for (objects, is_linked) in [
        ("shared.o", true),
        ("launches.o", true),
        (&format!("launches.o {runtime}"), true),
        ("main.o lib.a", true),
        ("main.o used.o optional.o", true),
        ("main.o caller.o optional.o", false),
        ("main.o used.o optional.o table.o", false),
        ("main.o used.o variable.o", false),
        ("main.o", false),
    ] {
        let found = build.check(&format!("--whole-program {objects}"))?;
        same(
            objects,
            codes(&found),
            if is_linked { vec![] } else { vec!["PTX105"] },
        )?;
        let answer = build.nvcc(&format!("-arch=sm_90 -dlink {objects} -lcudadevrt -o linked.out"));
        same(objects, answer.is_ok(), is_linked)?;
    }
    // Machine code without PTX says the same.
    for name in ["shared", "caller", "optional", "table"] {
        build.nvcc(&format!(
            "-rdc=true -gencode arch=compute_90,code=sm_90 -c {name}.cu -o {name}.o"
        ))?;
    }
    for (objects, wanted) in [
        ("shared.o", vec![]),
        ("main.o used.o optional.o", vec![]),
        ("main.o caller.o optional.o", vec!["PTX105"]),
        ("optional.o table.o", vec!["PTX105"]),
    ] {
        let found = build.check(&format!("--whole-program {objects}"))?;
        same(objects, codes(&found), wanted)?;
    }
    Ok(())
}

/// Scopes whose names end with a digit, before the length of a stub's name.
pub(super) fn scopes_with_digits(build: &Build) -> Result<(), String> {
    let kernel = "template <class P, class Q> __global__ void transform(P p, Q q, int n, P other, const Q &more, Long<Q> *last) \
                  { if (threadIdx.x < n) q.out[threadIdx.x] = q.in[threadIdx.x] + p.in; }\n\
                  __global__ void k(int *p) { *p = 1; }\n";
    build.write(
        "k.cu",
        &format!(
            "template <class T> struct AnotherDescriptionOfTheSameThing {{ T *in, *out; }};\n\
             template <class T> struct Long {{ T in, out; }};\n\
             namespace {{ {kernel} }}\nnamespace v2 {{ inline namespace abi116 {{ {kernel} }} }}\n\
             using P = Long<double>; using Q = AnotherDescriptionOfTheSameThing<double>;\n\
             void run(double *o, int *p) {{ transform<<<1, 32>>>(P{{}}, Q{{o, o}}, 3, P{{}}, *(Q *)o, (Long<Q> *)o); k<<<1, 1>>>(p);\n\
             v2::abi116::transform<<<1, 32>>>(P{{}}, Q{{o, o}}, 3, P{{}}, *(Q *)o, (Long<Q> *)o); v2::abi116::k<<<1, 1>>>(p); }}\n\
             int main() {{}}\n"
        ),
    )?;
    let library = build.toolchain.join("nvcc/cuda/lib");
    let libraries = format!("-L{} -lcudart_static -lpthread -ldl -lrt", library.display());
    for options in ["-O2", "-O0"] {
        build.clang(&format!("{options} -c k.cu -o k.o"))?;
        build.tool(Path::new("c++"), &format!("k.o {libraries} -o k"))?;
        for file in ["k.o", "k"] {
            let document = build.audit(file)?;
            same(file, codes(&document), vec![])?;
            let host = &document["inputs"][0]["host"];
            same(file, host["kernels"].as_array().map(Vec::len), Some(4))?;
        }
    }
    Ok(())
}

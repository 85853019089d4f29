//! Right projects that look wrong, each beside one that is.

use std::path::Path;

use super::build::{Build, codes, same};
use ptxcheck_tests::report;

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

/// What a whole program leaves open, and need not define.
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

/// Functions that every unit compiles for itself: a stack frame, strings, labels of inline assembly, arithmetic.
const HEADER: &str = "\
#include <cstdio>
inline __device__ __noinline__ float smooth(const float *p, int n) {
  float b[64]; for (int i = 0; i < n; i++) b[i] = p[n - i];
  float s = 0; for (int i = 0; i < n; i++) s += b[(i * 7) & 63];
  return s; }
inline __device__ __noinline__ int say(int i) { printf(\"value %d\\n\", i); return i; }
inline __device__ __noinline__ int wait(int x) {
  int r; asm volatile(\"{\\n.reg .pred p;\\nsetp.gt.s32 p, %1, 3;\\n@p bra DONE_%=;\\nmov.u32 %0, 5;\\nDONE_%=:\\nselp.s32 %0, 1, 2, p;\\n}\"
  : \"=r\"(r) : \"r\"(x)); return r; }
template <class T> __device__ __noinline__ T soft(T x) { return x / (T(1) + STEPS * x); }
";

/// The same functions in another place of the unit.
const FIRST: &str = "__global__ void a(float *o) { o[0] = smooth(o, 3) + say(1) + wait(2) + soft(o[1]); }\n";
const SECOND: &str = "\
inline __device__ __noinline__ int before(const int *p, int n) {
  int q[8], r; for (int i = 0; i < n; i++) q[i] = p[i];
  asm volatile(\"{\\nbra L_%=;\\nL_%=:\\nmov.u32 %0, %1;\\n}\" : \"=r\"(r) : \"r\"(n)); return q[r & 7]; }
#include \"h.h\"
__global__ void b(float *o) { printf(\"other\\n\"); o[0] = before((int *)o, 2) + soft(o[2]) + wait(7) + say(3) + smooth(o, 4); }
";

/// Writes the two units.
fn units(build: &Build) -> Result<(), String> {
    build.write(
        "h.h",
        &format!("#ifndef STEPS\n#define STEPS 2\n#endif\n{HEADER}"),
    )?;
    build.write(
        "a.cu",
        &format!("#include \"h.h\"\n{FIRST}void run_a() {{ a<<<1, 1>>>(nullptr); }}\n"),
    )?;
    build.write(
        "b.cu",
        &format!("{SECOND}void run_b() {{ b<<<1, 1>>>(nullptr); }}\n"),
    )
}

/// Codes and levels of the findings, each once.
fn levels(document: &serde_json::Value) -> Vec<(&str, &str)> {
    let findings = report::findings(document).iter();
    let mut levels: Vec<_> = findings
        .filter_map(|finding| Some((finding["code"].as_str()?, finding["level"].as_str()?)))
        .collect();
    levels.dedup();
    levels
}

/// Units with the same inline functions, and what of their options shows in these.
pub(super) fn functions_of_many_units(build: &Build) -> Result<(), String> {
    units(build)?;
    build.write(
        "main.cpp",
        "void run_a(); void run_b(); int main() { run_a(); run_b(); }\n",
    )?;
    for options in ["", "-G"] {
        for unit in ["a", "b"] {
            build.nvcc(&format!(
                "{options} -rdc=true -arch=sm_80 -c {unit}.cu -o {unit}.o"
            ))?;
        }
        let document = build.check("-A PTX507 --link-set a.o b.o")?;
        same(options, codes(&document), vec![])?;
    }
    build.nvcc("-rdc=true -arch=sm_80 -c a.cu -o a.o")?;
    build.nvcc("-rdc=true -arch=sm_80 -lineinfo -c b.cu -o b.o")?;
    build.tool(Path::new("ar"), "rcs both.a a.o b.o")?;
    same("a library", codes(&build.check("both.a")?), vec![])?;
    build.nvcc("-arch=sm_80 main.cpp a.o b.o -o app")?;
    same("an executable", codes(&build.check("app")?), vec![])?;
    build.nvcc("-rdc=true -arch=sm_80 -use_fast_math -c b.cu -o fast.o")?;
    let document = build.check("--link-set a.o fast.o")?;
    same("an option", levels(&document), vec![("PTX509", "warning")])?;
    let finding = report::findings(&document)[0].to_string();
    same("the option", finding.contains("`-use_fast_math`"), true)?;
    same(
        "both files",
        finding.contains("`a.o` and image 1 of `fast.o`"),
        true,
    )?;
    build.nvcc("-rdc=true -arch=sm_80 -DSTEPS=3 -c b.cu -o other.o")?;
    let document = build.check("--link-set a.o other.o")?;
    same("a macro", levels(&document), vec![("PTX509", "error")])?;
    // Two libraries, each linked for the device: no linker ever sees both. Together they are two definitions again.
    for (library, object) in [("one", "a.o"), ("two", "other.o")] {
        build.nvcc(&format!("-arch=sm_80 -dlink {object} -o {library}.o"))?;
        build.tool(
            Path::new("ar"),
            &format!("rcs lib{library}.a {object} {library}.o"),
        )?;
    }
    let library = build.toolchain.join("nvcc/cuda/lib");
    let libraries = format!(
        "-lcudart_static -lcudadevrt -L{} -lpthread -ldl -lrt",
        library.display()
    );
    build.tool(
        Path::new("c++"),
        &format!("main.cpp -L. -lone -ltwo {libraries} -o app"),
    )?;
    same("two device links", codes(&build.check("app")?), vec![])?;
    same(
        "their libraries",
        codes(&build.check("--link-set libone.a libtwo.a")?),
        vec![],
    )?;
    build.nvcc("-arch=sm_80 main.cpp a.o other.o -o app")?;
    same(
        "one device link",
        levels(&build.check("app")?),
        vec![("PTX509", "error")],
    )
}

/// The same by clang, which numbers otherwise.
pub(super) fn functions_of_many_clang_units(build: &Build) -> Result<(), String> {
    units(build)?;
    let clang = |options: &str, output: &str| {
        build.clang(&format!("-fgpu-rdc --cuda-include-ptx=all {options} -o {output}"))
    };
    clang("-O2 -c a.cu", "a.o")?;
    clang("-O2 -gline-tables-only -c b.cu", "lines.o")?;
    clang("-O0 -c b.cu", "slow.o")?;
    clang("-O2 -DSTEPS=3 -c b.cu", "other.o")?;
    for (other, wanted) in [
        ("lines.o", vec![]),
        ("slow.o", vec![("PTX509", "warning")]),
        ("other.o", vec![("PTX509", "error")]),
    ] {
        let document = build.check(&format!("--link-set a.o {other}"))?;
        same(other, levels(&document), wanted)?;
    }
    Ok(())
}

/// Units that launch kernels of one name, one of them without code for a target.
pub(super) fn kernels_of_many_units(build: &Build) -> Result<(), String> {
    let source = "template <class T> __global__ void fill(T *out, T value) { *out = value; }\n\
                  static __global__ void own(int *p) { *p = 1; }\n\
                  void NAME(float *o) { fill<<<1, 32>>>(o, 1.f); own<<<1, 1>>>((int *)o); }\n";
    build.write("a.cu", source)?;
    build.write("b.cu", source)?;
    build.write(
        "main.cpp",
        "void a(float *); void b(float *); int main() { a(nullptr); b(nullptr); }\n",
    )?;
    let old = "-gencode arch=compute_75,code=sm_75";
    let both = format!("{old} -gencode arch=compute_90,code=sm_90");
    let required = |file: &str| build.audit(&format!("--require-sm 75,90 {file}"));
    for (targets, wanted) in [(old, vec!["PTX501"]), (&both, vec![])] {
        build.nvcc(&format!("{both} -Xcompiler -fPIC -DNAME=a -c a.cu -o a.o"))?;
        build.nvcc(&format!("{targets} -Xcompiler -fPIC -DNAME=b -c b.cu -o b.o"))?;
        same("the unit", codes(&required("b.o")?), wanted.clone())?;
        build.tool(Path::new("ar"), "rcs both.a a.o b.o")?;
        same("a library", codes(&required("both.a")?), wanted.clone())?;
        build.nvcc("-shared a.o b.o -o libboth.so")?;
        let document = required("libboth.so")?;
        same("a shared library", codes(&document), wanted.clone())?;
        build.tool(Path::new("strip"), "libboth.so")?;
        same("stripped", codes(&required("libboth.so")?), wanted.clone())?;
        if let [finding] = report::findings(&document) {
            let kernels = finding["data"]["kernels"].as_array();
            same("the kernels", kernels.map(Vec::len), Some(2))?;
        }
    }
    // A device link makes one program of them.
    for unit in ["a", "b"] {
        build.nvcc(&format!(
            "-rdc=true {both} -DNAME={unit} -c {unit}.cu -o {unit}.o"
        ))?;
    }
    build.nvcc(&format!("{both} main.cpp a.o b.o -o app"))?;
    same("a device link", codes(&required("app")?), vec![])
}

/// What clang's relocatable objects register stands in a table, not in calls.
pub(super) fn registered_by_a_table(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "extern \"C\" __global__ void c_kernel(int *p) { *p = 1; }\n\
         namespace { __global__ void local(int *p) { *p = 4; } __device__ int inner; __constant__ int table[4]; }\n\
         extern __device__ int elsewhere; __device__ int plain; static __device__ int own;\n\
         template <class T> __device__ T of_template = T();\n\
         void set(int *p) { cudaMemcpyToSymbol(own, p, 4); cudaMemcpyToSymbol(inner, p, 4); cudaMemcpyToSymbol(table, p, 4);\n\
         cudaMemcpyToSymbol(of_template<int>, p, 4); cudaMemcpyToSymbol(elsewhere, p, 4); }\n\
         __global__ void k(int *p) { *p = plain + own + of_template<int> + inner + table[*p] + elsewhere; }\n\
         void run(int *p) { c_kernel<<<1, 1>>>(p); local<<<1, 1>>>(p); k<<<1, 1>>>(p); }\n",
    )?;
    for driver in ["--offload-new-driver", "--no-offload-new-driver"] {
        build.clang(&format!("-std=c++17 -fgpu-rdc {driver} -O2 -c k.cu -o k.o"))?;
        let document = build.audit("k.o")?;
        same(driver, codes(&document), vec![])?;
        let host = &document["inputs"][0]["host"];
        let count = |what: &str| host[what].as_array().map(Vec::len);
        same(driver, (count("kernels"), count("variables")), (Some(3), Some(5)))?;
    }
    Ok(())
}

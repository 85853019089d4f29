//! Kernels, variables and functions that images of one build, or the host's code and the device's, say differently.

use std::path::Path;

use super::build::{Build, PLAIN, TWO_TARGETS, codes, same};
use ptxcheck_tests::report;
use serde_json::Value;

pub(super) fn signatures(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "#if __CUDA_ARCH__ >= 900\nusing Real = double;\n#else\nusing Real = float;\n#endif\n\
         extern \"C\" __global__ void k(Real factor, Real *data) { *data *= factor; }\n",
    )?;
    build.nvcc(&format!("-fatbin {TWO_TARGETS} k.cu -o k.fatbin"))?;
    let document = build.check("k.fatbin")?;
    same("findings", codes(&document), vec!["PTX503"])?;
    // The line comes from the PTX beside the machine code.
    build.nvcc(&format!("-lineinfo -fatbin {TWO_TARGETS} k.cu -o k.fatbin"))?;
    for document in [build.check("k.fatbin")?, build.audit("k.fatbin")?] {
        same("findings", codes(&document), vec!["PTX503"])?;
        let source = &report::findings(&document)[0]["source"];
        same("line", source["line"].as_u64(), Some(6))?;
    }
    build.write("k.cu", PLAIN)?;
    build.nvcc(&format!("-fatbin {TWO_TARGETS} k.cu -o k.fatbin"))?;
    same("none", codes(&build.audit("k.fatbin")?), vec![])?;
    // ptxas aligns these in the constant bank, which begins at another address for each architecture.
    build.write(
        "k.cu",
        "struct alignas(32) Four { long long x[4]; };\nstruct alignas(128) Map { char bytes[256]; };\n\
         __global__ void strided(const int *in, int n, Four a, int *out, Four b) { out[n] = in[a.x[0]] + b.x[1]; }\n\
         __global__ void mapped(const __grid_constant__ Map map, int *out, int n) { *out = map.bytes[n]; }\n",
    )?;
    build.nvcc(&format!("-fatbin {TWO_TARGETS} k.cu -o k.fatbin"))?;
    same("aligned", codes(&build.audit("k.fatbin")?), vec![])
}

pub(super) fn one_target(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "template <class T> __global__ void k(T *data) { *data = 1; }\n\
         template __global__ void k<float>(float *);\n\
         #if __CUDA_ARCH__ >= 900\ntemplate __global__ void k<double>(double *);\n#endif\n",
    )?;
    build.nvcc(&format!("-fatbin {TWO_TARGETS} k.cu -o k.fatbin"))?;
    let document = build.audit("k.fatbin")?;
    same("findings", codes(&document), vec!["PTX502"])?;
    let message = report::findings(&document)[0]["message"]
        .as_str()
        .unwrap_or_default();
    if message.contains("k<double>(double*)") && message.contains("not in the machine code for sm_75") {
        Ok(())
    } else {
        Err(message.to_owned())
    }
}

/// An argument of a template that depends on the architecture: of two instances, host code registers one.
pub(super) fn twins(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "struct Old { int x; }; struct New { int x; };\n\
         #if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900\nusing Number = New;\n#else\nusing Number = Old;\n#endif\n\
         template <class T, int N> __global__ void k(T *p) { p->x = N; }\n\
         void run(void *p) { k<Number, 4><<<1, 1>>>(static_cast<Number *>(p)); }\n",
    )?;
    build.nvcc(&format!("-shared -Xcompiler -fPIC {TWO_TARGETS} k.cu -o k.so"))?;
    build.tool(Path::new("strip"), "k.so")?;
    let document = build.audit("k.so")?;
    let found: Vec<&Value> = report::findings(&document)
        .iter()
        .filter(|finding| finding["code"] == "PTX502")
        .collect();
    same("one finding of two kernels", found.len(), 1)?;
    let message = found[0]["message"].as_str().unwrap_or_default();
    same(
        message,
        message.starts_with("kernel `void k<New, 4>(New*)` may fail to launch: it is in")
            && message.ends_with("which has `void k<Old, 4>(Old*)` in its place"),
        true,
    )?;
    same(
        "the host",
        found[0]["notes"]
            .to_string()
            .contains("registers the first one alone"),
        true,
    )
}

pub(super) fn bounds(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "#if __CUDA_ARCH__ >= 900\n#define THREADS 512\n#else\n#define THREADS 256\n#endif\n\
         extern \"C\" __global__ void __launch_bounds__(THREADS) k(int *data) { *data = 1; }\n",
    )?;
    build.nvcc(&format!("-fatbin {TWO_TARGETS} k.cu -o k.fatbin"))?;
    same("audit", codes(&build.audit("k.fatbin")?), vec!["PTX510"])?;
    same("check", codes(&build.check("k.fatbin")?), vec![])
}

/// The wait for other grids shows in PTX and in machine code.
pub(super) fn grid_waits(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "extern \"C\" __global__ void k(int *data) {\n\
         #if WAITS\n  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n#endif\n\
         \x20 data[threadIdx.x] += 1;\n}\n",
    )?;
    let two = |kind: &str| {
        format!(
            "-fatbin -gencode arch=compute_90,code={kind}_90 -gencode arch=compute_100,code={kind}_100 k.cu -o k.fatbin"
        )
    };
    let in_one = "-DWAITS=(__CUDA_ARCH__==900)";
    for kind in ["sm", "compute"] {
        build.nvcc(&format!("{in_one} {}", two(kind)))?;
        // Machine code alone leaves later GPUs out, too.
        let of_waits = |build: &Build| -> Result<usize, String> {
            let document = build.audit("k.fatbin")?;
            let found = codes(&document);
            Ok(found.iter().filter(|code| **code == "PTX532").count())
        };
        same(kind, of_waits(build)?, 1)?;
        same("check", codes(&build.check("k.fatbin")?), vec![])?;
        for waits in 0..2 {
            build.nvcc(&format!("-DWAITS={waits} {}", two(kind)))?;
            same("all alike", of_waits(build)?, 0)?;
        }
    }
    Ok(())
}

pub(super) fn weak_functions(build: &Build) -> Result<(), String> {
    let source = |kernel: &str| {
        format!(
            "template <class T> __device__ __noinline__ T scaled(T value) {{ return value * STEPS; }}\n\
             __global__ void {kernel}(int *p) {{ *p = scaled(*p); }}\n"
        )
    };
    build.write("a.cu", &source("a"))?;
    build.write("b.cu", &source("b"))?;
    build.nvcc("-rdc=true -c -arch=sm_90 -DSTEPS=2 a.cu -o a.o")?;
    build.nvcc("-rdc=true -c -arch=sm_90 -DSTEPS=3 b.cu -o b.o")?;
    build.tool(Path::new("ar"), "rcs ab.a a.o b.o")?;
    same("differing", codes(&build.check("ab.a")?), vec!["PTX509"])?;
    same("two inputs", codes(&build.check("a.o b.o")?), vec![])?;
    same(
        "one program",
        codes(&build.check("--whole-program a.o b.o")?),
        vec!["PTX509"],
    )?;
    build.nvcc("-rdc=true -c -arch=sm_90 -lineinfo -DSTEPS=2 b.cu -o b.o")?;
    build.tool(Path::new("ar"), "rcs same.a a.o b.o")?;
    same("the same", codes(&build.check("same.a")?), vec![])
}

/// nvcc writes the host's calls from what it saw while it compiled for the device; clang compiles both as they are.
pub(super) fn registered(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "struct Host {}; struct Device {};\n#ifdef __CUDA_ARCH__\nusing Tag = Device;\n#else\nusing Tag = Host;\n#endif\n\
         template <class T> __global__ void k(int *p) { *p = sizeof(T); }\n\
         void run(int *p) { k<Tag><<<1, 1>>>(p); }\n",
    )?;
    build.clang("-O2 -c k.cu -o k.o")?;
    let document = build.check("k.o")?;
    same("findings", codes(&document), vec!["PTX504"])?;
    same(
        "the kernel",
        report::findings(&document)[0]["function_demangled"].as_str(),
        Some("void k<Host>(int*)"),
    )
}

/// Device code that refers to a variable, and host code that defines it.
const DEVICE: &str = "\
namespace grid { extern __device__ int limit[4]; }
__global__ void k(int *out, int i) { out[0] = grid::limit[i]; }
";

const HOST: &str = "namespace grid { int limit[4] = {1, 2, 3, 4}; }\n";

/// The one finding: what it says, and the line of `k.cu` that it shows.
fn one_host_variable(what: &str, document: &Value, defined_in: &str) -> Result<(), String> {
    same(what, codes(document), vec!["PTX101"])?;
    let finding = &report::findings(document)[0];
    same(what, finding["certainty"].as_str(), Some("definite"))?;
    same(what, finding["source"]["line"].as_u64(), Some(2))?;
    same(what, finding["data"]["symbol"].as_str(), Some("_ZN4grid5limitE"))?;
    let message = finding["message"].as_str().unwrap_or_default();
    if message.contains("`grid::limit`") && message.contains(defined_in) {
        Ok(())
    } else {
        Err(format!("{what}: {message}"))
    }
}

pub(super) fn host_variable(build: &Build) -> Result<(), String> {
    build.write("k.cu", DEVICE)?;
    build.write("host.cpp", HOST)?;
    build.nvcc("-rdc=true -lineinfo -c -arch=sm_90 k.cu -o k.o")?;
    build.tool(Path::new("c++"), "-c host.cpp -o host.o")?;
    same("the object alone", codes(&build.check("k.o")?), vec![])?;
    let alone = build.check("-W potential k.o")?;
    same("what it leaves open", codes(&alone), vec!["PTX105"])?;
    let linked = build.check("--link-set k.o host.o")?;
    one_host_variable("two objects", &linked, "`host.o`")?;
    same("two inputs", codes(&build.check("k.o host.o")?), vec![])?;
    build.tool(Path::new("ld"), "-r k.o host.o -o merged.o")?;
    one_host_variable("merged", &build.check("merged.o")?, "`merged.o`")?;
    build.tool(Path::new("ar"), "rcs lib.a k.o host.o")?;
    one_host_variable("a library", &build.check("lib.a")?, "`host.o` of `lib.a`")?;
    // nvlink finds it too, and names no line.
    build.write("main.cu", "int main() {}\n")?;
    match build.nvcc("-rdc=true -arch=sm_90 k.o host.o main.cu -o app") {
        Err(said) if said.contains("Undefined reference to '_ZN4grid5limitE'") => {}
        other => return Err(format!("nvlink: {other:?}")),
    }
    // Machine code alone has no lines, but the same symbols.
    build.nvcc("-rdc=true -c -gencode arch=compute_90,code=sm_90 k.cu -o k.o")?;
    let document = build.check("--link-set k.o host.o")?;
    same("machine code", codes(&document), vec!["PTX101"])?;
    let finding = &report::findings(&document)[0];
    same("its kernel", finding["function"].as_str(), Some("_Z1kPii"))?;
    // The definition may be in what nobody can read.
    build.write("d.cu", "namespace other { __device__ int limit[4]; }\n")?;
    build.nvcc("-dlto -c -arch=sm_90 d.cu -o d.o")?;
    let document = build.check("--link-set k.o host.o d.o")?;
    same("with LTO-IR", codes(&document), vec!["PTX905"])
}

/// clang compiles a declaration of a device variable as it stands; ptxas warns and makes a variable of its own.
pub(super) fn host_variable_of_a_program(build: &Build) -> Result<(), String> {
    build.write("k.cu", DEVICE)?;
    build.write("host.cpp", &format!("{HOST}int main() {{ return 0; }}\n"))?;
    build.clang("--cuda-include-ptx=all -gline-tables-only -O2 -c k.cu -o k.o")?;
    let library = build.toolchain.join("nvcc/cuda/lib");
    let libraries = format!("-L{} -lcudart_static -lpthread -ldl -lrt", library.display());
    build.tool(Path::new("c++"), &format!("host.cpp k.o {libraries} -o app"))?;
    one_host_variable("the executable", &build.check("app")?, "`app`")?;
    // Linked with nothing, the object is known to lack it.
    let document = build.check("k.o")?;
    same("the object", codes(&document), vec!["PTX105"])?;
    // A definition that is not exported is not seen any more; that it is missing still is.
    build.tool(Path::new("strip"), "app")?;
    same("stripped", codes(&build.check("app")?), vec!["PTX105"])
}

pub(super) fn complete(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "extern __device__ int limit; extern __device__ int cut(int); extern __device__ int unused;\n\
         __global__ void k(int *out) { out[0] = cut(limit); }\n",
    )?;
    build.write(
        "d.cu",
        "__device__ int limit; __device__ int cut(int x) { return x + limit; }\n\
         void set(int *p) { cudaMemcpyToSymbol(limit, p, 4); }\n",
    )?;
    build.write("f.cpp", "int cut(int x) { return x; }\n")?;
    build.nvcc("-rdc=true -lineinfo -c -arch=sm_90 k.cu -o k.o")?;
    build.nvcc("-rdc=true -lineinfo -c -arch=sm_90 d.cu -o d.o")?;
    build.tool(Path::new("c++"), "-c f.cpp -o f.o")?;
    let document = build.check("--whole-program k.o")?;
    same("one of two", codes(&document), vec!["PTX105", "PTX105"])?;
    let document = build.check("-W potential --whole-program k.o d.o")?;
    same("both", codes(&document), vec![])?;
    same(
        "joined",
        codes(&build.check("-W potential --link-set k.o d.o")?),
        vec![],
    )?;
    // A function for the host says nothing about one for the device.
    same(
        "a host function",
        codes(&build.check("--link-set k.o f.o")?),
        vec![],
    )?;
    build.write("main.cu", "int main() {}\n")?;
    build.nvcc("-rdc=true -arch=sm_90 k.o d.o main.cu -o app")?;
    same("linked", codes(&build.check("-W potential app")?), vec![])
}

/// All that host code can register, in an object, a library and relocatable code: nothing is missing.
pub(super) fn registered_names(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "extern \"C\" __global__ void c_kernel(int *p) { *p = 1; }\n\
         namespace n { extern \"C\" __global__ void c_nested(int *p) { *p = 2; }\n\
         __global__ void nested(int *p) { *p = 3; } namespace { __global__ void local(int *p) { *p = 4; } } }\n\
         static __global__ void unused(int *p) { *p = 5; }\n\
         extern \"C\" __device__ int c_variable; static __device__ int unused_variable;\n\
         static __constant__ int table[4]; __managed__ int managed; namespace n { __device__ float inner[2]; }\n\
         template <class T> __device__ T of_template = T();\n\
         template <class F> __global__ void apply(int *p, F f) { *p = f(*p); }\n\
         void lambdas(int *p) { apply<<<1, 1>>>(p, [=] __device__(int x) { return x + 1; });\n\
         apply<<<1, 1>>>(p, [=] __device__(int x) -> int { return x; });\n\
         apply<<<1, 1>>>(p, [=] __host__ __device__(int x) { return x - 1; }); }\n\
         void run(int *p) { n::local<<<1, 1>>>(p); n::nested<<<1, 1>>>(p); c_kernel<<<1, 1>>>(p); n::c_nested<<<1, 1>>>(p);\n\
         cudaMemcpyToSymbol(table, p, 4); cudaMemcpyToSymbol(of_template<int>, p, 4); }\n",
    )?;
    for options in [
        "-c --extended-lambda -arch=sm_90",
        "-c --extended-lambda -rdc=true -arch=sm_90",
        "-shared --extended-lambda -Xcompiler -fPIC -arch=sm_90",
        "-shared --extended-lambda -rdc=true -Xcompiler -fPIC -arch=sm_90",
    ] {
        build.nvcc(&format!("-std=c++17 {options} k.cu -o k.out"))?;
        same(options, codes(&build.check("k.out")?), vec![])?;
    }
    Ok(())
}

/// nvcc registers the kernels of its last device pass; what host code launches besides fails on every device.
pub(super) fn unregistered(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "struct Host {}; struct Device {};\n#ifdef __CUDA_ARCH__\nusing Tag = Device;\n#else\nusing Tag = Host;\n#endif\n\
         namespace n { template <class T> __global__ void k(int *p) { *p = sizeof(T); } }\n\
         template <class F> __global__ void apply(int *p, F f) { *p = f(*p); }\n\
         void run(int *p) { n::k<Tag><<<1, 1>>>(p); apply<<<1, 1>>>(p, [=] __device__(int x) { return x + 1; }); }\n\
         int main() { run(nullptr); }\n",
    )?;
    let certainties = |document: &Value| -> Vec<String> {
        report::findings(document)
            .iter()
            .filter(|finding| {
                finding["code"] == "PTX504" && finding["function_demangled"] == "void n::k<Host>(int*)"
            })
            .map(|finding| finding["certainty"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for (options, wanted) in [
        ("-c", vec!["definite"]),
        ("", vec!["definite"]),
        ("-rdc=true", vec!["definite"]),
        ("-shared -Xcompiler -fPIC", vec!["definite"]),
        // Another object may have the stub.
        ("-rdc=true -c", vec!["potential"]),
        ("-static-global-template-stub=false -c", vec!["potential"]),
        // The stub is gone: its code stands where it was called.
        ("-O3", vec![]),
    ] {
        build.nvcc(&format!("--extended-lambda -arch=sm_90 {options} k.cu -o k.out"))?;
        let document = build.check("-W potential k.out")?;
        same(
            options,
            certainties(&document),
            wanted.iter().map(|one| (*one).to_owned()).collect(),
        )?;
        let others = report::findings(&document).len() - wanted.len();
        same(options, others, 0)?;
    }
    two_orders(build)
}

/// A kernel template that is launched where the host pass and one of the device passes see it.
pub(super) fn two_orders(build: &Build) -> Result<(), String> {
    build.write(
        "o.cu",
        "template <int N> __global__ void k(int *p) { *p = N; }\n__global__ void other(int *p) { *p = 1; }\n\
         void run(int *p) {\n  other<<<1, 1>>>(p);\n#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800\n  \
         k<4><<<1, 1>>>(p);\n#endif\n}\n",
    )?;
    let (old, new) = (
        "-gencode arch=compute_75,code=sm_75",
        "-gencode arch=compute_90,code=sm_90",
    );
    for (options, wanted) in [
        // The last pass lacks the kernel.
        (format!("-c {new} {old}"), vec!["PTX502", "PTX504", "PTX527"]),
        (format!("-c {old} {new}"), vec!["PTX502", "PTX527"]),
        (format!("-c {new}"), vec!["PTX527"]),
        // Without a stub the image shows it.
        (format!("-O3 -c {new} {old}"), vec!["PTX502", "PTX504", "PTX527"]),
        (format!("-O3 -c {old} {new}"), vec!["PTX502", "PTX527"]),
    ] {
        build.nvcc(&format!("{options} o.cu -o o.o"))?;
        let document = build.check("-W potential o.o")?;
        let mut found = codes(&document);
        found.sort_unstable();
        same(&options, found, wanted)?;
    }
    Ok(())
}

pub(super) fn prototypes(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "extern \"C\" __device__ int f(int a, float b); extern __device__ int v[4];\n\
         __global__ void k(int *p) { *p = f(p[0], 1) + v[p[1]]; }\n",
    )?;
    build.nvcc("-dc -arch=sm_90 k.cu -o k.o")?;
    for (function, variable, rejected) in [
        ("int f(int a, float b) { return a; }", "int v[4]", 0),
        ("int f(float a, int b) { return b; }", "float v[4]", 0),
        ("int f(int a, double b) { return a; }", "int v[4]", 1),
        ("int f(int a) { return a; }", "int v[5]", 2),
        ("void f(int a, float b) { }", "int v[4]", 1),
        ("int f(int a, S b) { return a; }", "int v[4]", 1),
    ] {
        build.write(
            "d.cu",
            &format!(
                "struct S {{ float f; }};\nextern \"C\" __device__ {function}\n__device__ {variable};\n"
            ),
        )?;
        build.nvcc("-dc -arch=sm_90 d.cu -o d.o")?;
        let document = build.check("--link-set -W potential k.o d.o")?;
        same(function, codes(&document), vec!["PTX503"; rejected])?;
        let is_linked = build.nvcc("-dlink -arch=sm_90 k.o d.o -o l.o").is_ok();
        same(function, is_linked, rejected == 0)?;
        same(function, codes(&build.check("k.o d.o")?), vec![])?;
    }
    Ok(())
}

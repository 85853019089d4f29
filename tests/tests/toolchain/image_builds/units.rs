//! Functions and kernels of one name in several translation units.

use std::path::Path;

use super::build::{Build, codes, same};
use ptxcheck_tests::report;

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
static __device__ __noinline__ int own(int x) { return x * 17 % 13; }
namespace v2 { namespace { __device__ __noinline__ int hidden(int x) { return x + 99; } } }
inline __device__ __noinline__ int calls(int x) { return own(x) + own(x + 1) + v2::hidden(x); }
template <class T> __device__ __noinline__ T soft(T x) { return x / (T(1) + STEPS * x); }
";

/// The same functions in another place of the unit.
const FIRST: &str =
    "__global__ void a(float *o) { o[0] = smooth(o, 3) + calls(2) + say(1) + wait(2) + soft(o[1]); }\n";
const SECOND: &str = "\
inline __device__ __noinline__ int before(const int *p, int n) {
  int q[8], r; for (int i = 0; i < n; i++) q[i] = p[i];
  asm volatile(\"{\\nbra L_%=;\\nL_%=:\\nmov.u32 %0, %1;\\n}\" : \"=r\"(r) : \"r\"(n)); return q[r & 7]; }
#include \"h.h\"
__global__ void b(float *o) { printf(\"other\\n\"); o[0] = before((int *)o, 2) + soft(o[2]) + wait(7) + say(3) + calls(1) + smooth(o, 4); }
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
    build.nvcc("-rdc=true -arch=sm_80 -Xcicc -O0 -c b.cu -o slow.o")?;
    let document = build.check("--link-set a.o slow.o")?;
    same("-O0", levels(&document), vec![("PTX509", "warning")])?;
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

/// Functions of many units compiled by clang, which numbers them in another way.
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

/// A mask that a function of another object returns, and a function of that name in an object without PTX.
pub(super) fn function_of_another_unit(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "extern __device__ unsigned lanes();\n\
         __global__ void k(int *out) {\n  int v = threadIdx.x;\n  if (threadIdx.x < 16)\n\
         \x20   v += __shfl_xor_sync(lanes(), v, 1);\n  out[threadIdx.x] = v;\n}\n",
    )?;
    build.write(
        "d.cu",
        "static __device__ unsigned all() { return 0xffff0000u | LANES; }\n\
         __device__ __noinline__ unsigned lanes() { return MASK; }\n",
    )?;
    let both = "-gencode arch=compute_80,code=[compute_80,sm_80]";
    let one = |name: &str, code: &str, mask: &str| {
        build.nvcc(&format!(
            "-rdc=true -lineinfo {code} -DLANES=0xffff -DMASK={mask} -c d.cu -o {name}.o"
        ))
    };
    build.nvcc(&format!("-rdc=true -lineinfo {both} -c k.cu -o k.o"))?;
    one("wrong", both, "all()")?;
    one("right", both, "0xffff")?;
    one("closed", "-gencode arch=compute_80,code=sm_80", "all()")?;
    build.tool(Path::new("ar"), "rcs libd.a wrong.o")?;
    same("alone", codes(&build.check("k.o wrong.o")?), vec![])?;
    same("right", codes(&build.check("--link-set k.o right.o")?), vec![])?;
    same("no PTX", codes(&build.check("--link-set k.o closed.o")?), vec![])?;
    same(
        "one of two without PTX",
        codes(&build.check("-A PTX509 --link-set k.o wrong.o closed.o")?),
        vec![],
    )?;
    for set in ["k.o wrong.o", "libd.a k.o", "k.o wrong.o libd.a"] {
        let document = build.check(&format!("--link-set {set}"))?;
        same(set, codes(&document), vec!["PTX401"])?;
        let line = &report::findings(&document)[0]["source"]["line"];
        same("line", line.as_u64(), Some(5))?;
    }
    Ok(())
}

/// Kernels that are right for what functions of another unit do, and would not be for something else.
const RIGHT_KERNELS: &str = r#"
extern __device__ unsigned now();
extern __device__ unsigned half_mask(int i);
extern __device__ void leave(int i);
extern __device__ void meet();
extern __device__ void set(unsigned *p);
extern __device__ void change();
extern __device__ int *where(int *p);
__device__ unsigned lanes = 0xffffffffu;
__global__ void k1(int *o) { int v = o[threadIdx.x]; if (threadIdx.x < 16) v += __shfl_xor_sync(now(), v, 1); o[threadIdx.x] = v; }
__global__ void k2(int *o) { int v = o[threadIdx.x]; int i = threadIdx.x & 31; v += __shfl_xor_sync(half_mask(i), v, 1); o[threadIdx.x] = v; }
__global__ void k3(int *o) { leave(threadIdx.x); int v = o[threadIdx.x]; v += __shfl_xor_sync(0xffffu, v, 1); o[threadIdx.x] = v; }
__global__ void k4(int *o) { if (blockIdx.x) meet(); else { meet(); } o[threadIdx.x] = 1; }
__global__ void k5(int *o) { unsigned m; set(&m); int v = o[threadIdx.x]; if (threadIdx.x < 16) v += __shfl_xor_sync(m, v, 1); o[threadIdx.x] = v; }
__global__ void k6(int *o) { change(); int v = o[threadIdx.x]; if (threadIdx.x < 16) v += __shfl_xor_sync(lanes, v, 1); o[threadIdx.x] = v; }
__global__ void k7(int *o) { __shared__ int t[64]; int *p = where(t); *p = 1; o[threadIdx.x] = t[0]; }
"#;

const RIGHT_FUNCTIONS: &str = r#"
extern __device__ unsigned lanes;
__device__ __noinline__ unsigned now() { return __activemask(); }
__device__ __noinline__ unsigned half_mask(int i) { return i < 16 ? 0xffffu : 0xffff0000u; }
__device__ __noinline__ void leave(int i) { if ((i & 31) >= 16) asm volatile("exit;"); }
__device__ __noinline__ void meet() { __syncthreads(); }
__device__ __noinline__ void set(unsigned *p) { *p = 0xffffu; }
__device__ __noinline__ void change() { lanes = 0xffffu; }
__device__ __noinline__ int *where(int *p) { return p + 3; }
"#;

/// Masks, ends of lanes, barriers and pointers of functions of another unit, none of them wrong.
pub(super) fn right_functions_of_another_unit(build: &Build) -> Result<(), String> {
    build.write("k.cu", RIGHT_KERNELS)?;
    build.write("f.cu", RIGHT_FUNCTIONS)?;
    for options in ["-lineinfo", "-G"] {
        for unit in ["k", "f"] {
            build.nvcc(&format!(
                "-rdc=true {options} -arch=sm_90 -ptx {unit}.cu -o {unit}.ptx"
            ))?;
        }
        same(options, codes(&build.check("--link-set k.ptx f.ptx")?), vec![])?;
    }
    Ok(())
}

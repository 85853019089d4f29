//! Facts about kernels from the headers and the code of cubins: stubs, registers, memory, and the class of the instructions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::build::{Build, column, same};

const SOURCE: &str = "\
extern \"C\" __global__ void empty() {}
extern \"C\" __global__ void empty_with_parameters(int *p, int n) {}
extern \"C\" __global__ void traps(int *p) { __trap(); *p = 1; }
extern \"C\" __global__ void breaks(int *p) { __brkpt(); *p = 1; }
extern \"C\" __global__ void only_breaks(int *p) { __brkpt(); }
extern \"C\" __global__ void returns_early(int *p, int n) { if (n == 0) return; *p = n; }
extern \"C\" __global__ void traps_early(int *p, int n) { if (n == 0) __trap(); *p = n; }
extern \"C\" __global__ void waits() { __syncthreads(); }
extern \"C\" __global__ void shares(int *p) {
    __shared__ int s[1000];
    s[threadIdx.x] = *p;
    __syncthreads();
    *p = s[threadIdx.x ^ 1];
}
extern __shared__ int open[];
extern \"C\" __global__ void shares_openly(int *p) { open[threadIdx.x] = *p; __syncthreads(); *p = open[1]; }
extern \"C\" __global__ void has_a_frame(int *p, int n) {
    int a[100];
    for (int i = 0; i < 100; i++) a[p[i]] = i;
    p[0] = a[n];
}
__device__ __noinline__ int called(int n, int *p) {
    int a[20];
    for (int i = 0; i < 20; i++) a[i] = p[i] * n;
    return a[n];
}
extern \"C\" __global__ void calls(int *p, int n) { *p = called(n, p); }
__device__ __noinline__ int itself(int n, int *p) { return n < 2 ? p[n] : itself(n - 1, p) + itself(n - 2, p); }
extern \"C\" __global__ void recurses(int *p, int n) { *p = itself(n, p); }
struct B { int a[1000]; };
extern \"C\" __global__ void takes_much(int4 *p, B b, int n) { p->x = b.a[n]; }
";

/// Registers, stack, static shared memory and constant bank 0; `None` where the assembler does not know.
type Used = [Option<u64>; 4];

struct Kernels {
    stubs: Vec<(String, String)>,
    used: BTreeMap<String, Used>,
}

impl Kernels {
    fn of(document: &Value) -> Self {
        let mut kernels = Self {
            stubs: Vec::new(),
            used: BTreeMap::new(),
        };
        for kernel in document["inputs"][0]["kernels"].as_array().into_iter().flatten() {
            let name = kernel["name"].as_str().unwrap_or_default();
            let definition = &kernel["definitions"][0];
            if let Some(stub) = definition["stub"].as_str() {
                kernels.stubs.push((name.to_owned(), stub.to_owned()));
            }
            let used = ["registers", "stack", "shared", "constant"];
            let used = used.map(|key| definition["resources"][key].as_u64());
            kernels.used.insert(name.to_owned(), used);
        }
        kernels
    }
}

pub(super) fn stubs(build: &Build) -> Result<(), String> {
    build.write("k.cu", SOURCE)?;
    let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = |(name, stub): &(&str, &str)| ((*name).to_owned(), (*stub).to_owned());
        all.iter().map(owned).collect()
    };
    let optimised = pairs(&[
        ("empty", "returning"),
        ("empty_with_parameters", "returning"),
        ("traps", "trapping"),
    ]);
    for arch in ["sm_75", "sm_80", "sm_90a", "sm_120"] {
        build.nvcc(&format!("-cubin -arch={arch} k.cu -o k.cubin"))?;
        same(
            arch,
            Kernels::of(&build.audit("k.cubin")?).stubs,
            optimised.clone(),
        )?;
    }
    // The compiler keeps what stores the parameters, and a trap is not told from a breakpoint.
    let kept = pairs(&[("empty", "returning"), ("empty_with_parameters", "returning")]);
    for arch in ["sm_75", "sm_120"] {
        build.nvcc(&format!("-G -cubin -arch={arch} k.cu -o k.cubin"))?;
        same(arch, Kernels::of(&build.audit("k.cubin")?).stubs, kept.clone())?;
    }
    build.nvcc("-ptx -arch=sm_90 k.cu -o k.ptx")?;
    same("PTX", Kernels::of(&build.audit("k.ptx")?).stubs, optimised)
}

pub(super) fn resources(build: &Build) -> Result<(), String> {
    build.write("k.cu", SOURCE)?;
    for (arch, options, bank) in [
        ("sm_75", "", 352),
        ("sm_86", "-G", 352),
        ("sm_90a", "", 528),
        ("sm_90", "-G", 528),
        ("sm_100f", "", 896),
        ("sm_120", "", 896),
    ] {
        build.nvcc(&format!("{options} -cubin -arch={arch} k.cu -o k.cubin"))?;
        let kernels = Kernels::of(&build.audit("k.cubin")?);
        let used = |name: &str| {
            kernels
                .used
                .get(name)
                .copied()
                .map(|[_, stack, shared, constant]| [stack, shared, constant])
        };
        let is = |stack, shared, parameters: u64| {
            let constant = Some(bank + parameters);
            Some([stack, Some(shared), constant])
        };
        same(arch, used("empty"), is(Some(0), 0, 0))?;
        same(arch, used("shares"), is(Some(0), 4000, 8))?;
        same(arch, used("shares_openly"), is(Some(0), 0, 8))?;
        same(arch, used("has_a_frame"), is(Some(400), 0, 12))?;
        same(arch, used("recurses"), is(None, 0, 12))?;
        if let Some(tool) = cuobjdump(build) {
            let mut listed = listed(build, &tool, arch)?;
            listed.retain(|function, _| kernels.used.contains_key(function));
            same(arch, &kernels.used, &listed)?;
        }
    }
    Ok(())
}

/// NVIDIA's tool that lists resources, where it is installed: beside nvcc, or on the path.
fn cuobjdump(build: &Build) -> Option<PathBuf> {
    let beside = build.toolchain.join("nvcc/cuda/bin/cuobjdump");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("cuobjdump"));
    std::iter::once(beside).chain(on_path).find(|tool| tool.is_file())
}

/// The lines of `cuobjdump -res-usage` about each function: a line with its name, and one such as
/// `REG:10 STACK:0 SHARED:5024 LOCAL:0 CONSTANT[0]:536 TEXTURE:0 SURFACE:0 SAMPLER:0`.
fn listed(build: &Build, tool: &Path, arch: &str) -> Result<BTreeMap<String, Used>, String> {
    let output = Command::new(tool)
        .arg("-res-usage")
        .arg(build.path("k.cubin"))
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let reserved = if ["sm_75", "sm_86"].contains(&arch) {
        0
    } else {
        1024
    };
    let mut functions = BTreeMap::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some(name) = line
            .strip_prefix("Function ")
            .and_then(|rest| rest.strip_suffix(':'))
        else {
            continue;
        };
        let numbers = lines.next().unwrap_or_default();
        let number = |key: &str| {
            let mut words = numbers.split_ascii_whitespace();
            words.find_map(|word| word.strip_prefix(key)?.strip_prefix(':')?.parse::<u64>().ok())
        };
        let shared = number("SHARED").map(|bytes| bytes.saturating_sub(reserved));
        let used = [number("REG"), number("STACK"), shared, number("CONSTANT[0]")];
        functions.insert(name.to_owned(), used);
    }
    Ok(functions)
}

pub(super) fn targets(build: &Build) -> Result<(), String> {
    build.write("k.cu", "__global__ void k(int *p) { *p = 1; }\n")?;
    for (options, target, made_from, class) in [
        ("-gencode arch=compute_80,code=sm_86", "sm_86", "compute_80", ""),
        ("-arch=sm_90a", "sm_90a", "compute_90", "baseline"),
        ("-arch=sm_100a", "sm_100a", "compute_100", "baseline"),
        ("-arch=sm_100f", "sm_100f", "compute_100", "baseline"),
        ("-arch=sm_120", "sm_120", "compute_120", "baseline"),
    ] {
        build.nvcc(&format!("-cubin {options} k.cu -o k.cubin"))?;
        let document = build.audit("k.cubin")?;
        same(options, column(&document, "target"), vec![target])?;
        same(options, column(&document, "compiled_for"), vec![made_from])?;
        same(options, column(&document, "code_class"), vec![class])?;
    }
    // Instructions of one architecture, of a family, and one that ptxas does not count among them.
    for (instruction, target, class) in [
        ("wgmma.fence.sync.aligned;", "sm_90a", "architecture-specific"),
        ("setmaxnreg.inc.sync.aligned.u32 40;", "sm_90a", "baseline"),
        (
            "{ .reg .f32 f; mov.f32 f, 0f00000000; redux.sync.min.f32 f, f, -1; st.global.f32 [%0], f; }",
            "sm_100f",
            "family-specific",
        ),
    ] {
        let kernel = format!(
            "__global__ void __launch_bounds__(128) k(int *p) {{ asm volatile(\"{instruction}\" :: \"l\"(p)); }}\n"
        );
        build.write("k.cu", &kernel)?;
        build.nvcc(&format!("-cubin -arch={target} k.cu -o k.cubin"))?;
        let document = build.audit("k.cubin")?;
        same(instruction, column(&document, "code_class"), vec![class])?;
    }
    Ok(())
}

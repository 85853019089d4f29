//! Launches that the machine code of host code shows.

use std::collections::BTreeSet;
use std::fs;

use super::build::{Build, same};
use ptxcheck_tests::report;
use serde_json::Value;

/// Kernels that are wrong where their last warp lacks lanes, and host code that launches them in all ways that there are. `NAME` is wrong
/// with 48 threads and right with 64.
const SOURCE: &str = "\
#include <cuda_runtime.h>
#define KERNEL(name) name(int *p) { int v = p[threadIdx.x]; v += __shfl_down_sync(0xffffffffu, v, 16); p[threadIdx.x] = v; }
static __global__ void KERNEL(once)
static __global__ void KERNEL(twice)
static __global__ void KERNEL(loop)
static __global__ void KERNEL(right)
static __global__ void KERNEL(some)
static __global__ void KERNEL(variable)
static __global__ void KERNEL(taken)
static __global__ void KERNEL(passed)
namespace ns { namespace { __global__ void KERNEL(inner) } }
template <class T> static __global__ void KERNEL(instance)
__global__ void KERNEL(open)
__global__ void KERNEL(direct)
extern \"C\" __global__ void KERNEL(plain)
void other(int *);
void *kept;
void run_once(int *p) { once<<<dim3(8, 16), 48>>>(p); }
void run_twice(int *p) { twice<<<1, dim3(8, 6)>>>(p); twice<<<2, 40>>>(p); }
void run_loop(int *p, int n) { for (int i = 0; i < n; ++i) loop<<<(n + 255) / 256, 48>>>(p); }
void run_right(int *p) { right<<<1, 64>>>(p); }
void run_some(int *p) { some<<<1, 64>>>(p); }
void run_some_more(int *p) { some<<<3, 48>>>(p); }
void run_variable(int *p, int n) { variable<<<1, 48>>>(p); variable<<<1, n>>>(p); }
void run_taken(int *p) { taken<<<1, 48>>>(p); kept = (void *)taken; }
void run_passed(int *p) { passed<<<1, 48>>>(p); cudaFuncSetCacheConfig((const void *)passed, cudaFuncCachePreferL1); }
void run_inner(int *p) { dim3 block(16, 3); other(p); ns::inner<<<1, block>>>(p); }
void run_instance(int *p) { instance<int><<<1, 48>>>(p); }
void run_open(int *p, cudaStream_t s) { open<<<1, 48, 128, s>>>(p); }
void run_direct(int *p) { void *args[] = {&p}; cudaLaunchKernel((const void *)&direct, dim3(1), dim3(48), args, 0, 0); }
void run_plain(int *p, int n) { plain<<<n, 48>>>(p); }
";

/// The rest of a program.
const PROGRAM: &str = "\
void run_once(int *);
void other(int *) {}
int main() { run_once(nullptr); }
";

/// Kernels all of whose launches an object shows: each of them is static.
const KNOWN: [&str; 5] = ["inner", "instance", "loop", "once", "twice"];

/// Those besides for which it shows some.
const SHOWN: [&str; 6] = ["open", "passed", "plain", "some", "taken", "variable"];

/// Kernels that use dynamic shared memory, and host code that launches them with constant amounts of it, or with others.
const SHARED: &str = "\
#include <cuda_runtime.h>
extern __shared__ int memory[];
#define KERNEL(name) name(int *p) { int t = threadIdx.x; memory[t] = p[t]; __syncthreads(); p[t] = memory[t ^ 1]; }
static __global__ void KERNEL(small)
static __global__ void KERNEL(without)
static __global__ void KERNEL(least)
static __global__ void KERNEL(direct)
static __global__ void KERNEL(right)
static __global__ void KERNEL(greatest)
static __global__ void KERNEL(unknown)
static __global__ void KERNEL(computed)
static __global__ void KERNEL(chosen)
static __global__ void KERNEL(passed)
__global__ void KERNEL(open)
template <int N> static __global__ void KERNEL(instance)
static __global__ void unused(int *p, bool has_memory) {
  int t = threadIdx.x;
  if (has_memory) { memory[t] = p[t]; __syncthreads(); p[t] = memory[t ^ 1]; } else { p[t]++; }
}
static __global__ void parts(int *p) {
  int t = threadIdx.x, *a = memory, *b = a + blockDim.x, *c = b + blockDim.x;
  a[t] = p[t]; b[t] = p[t + 64]; c[t] = p[t + 128];
  __syncthreads();
  p[t] = a[63 - t] + b[63 - t] + c[63 - t];
}
static __global__ void rows(float *p) {
  int x = threadIdx.x, y = threadIdx.y;
  float *tile = (float *)memory;
  tile[y * 17 + x] = p[y * 16 + x];
  __syncthreads();
  p[y * 16 + x] = tile[x * 17 + y];
}
static __global__ void vectors(int4 *p) {
  int4 *all = (int4 *)memory;
  all[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = all[threadIdx.x ^ 1];
}
void run_small(int *p) { small<<<1, 64, 128>>>(p); }
void run_without(int *p) { without<<<1, 64>>>(p); }
void run_least(int *p) { least<<<1, 64, 64>>>(p); least<<<2, 64, 252>>>(p); }
void run_direct(int *p) { void *args[] = {&p}; cudaLaunchKernel((const void *)&direct, dim3(1), dim3(64), args, 192, 0); }
void run_right(int *p) { right<<<1, 64, 256>>>(p); }
void run_greatest(int *p, int n) { for (int i = 0; i < n; ++i) greatest<<<1, 64, 64>>>(p); greatest<<<1, 64, 256>>>(p); }
void run_unknown(int *p, int n) { unknown<<<1, 64, 64>>>(p); unknown<<<1, 64, n>>>(p); }
void run_computed(int *p, int n) { computed<<<1, 64, n * sizeof(int)>>>(p); }
void run_chosen(int *p, bool is_large) { chosen<<<1, 64, is_large ? 256 : 64>>>(p); }
void run_passed(int *p) { passed<<<1, 64, 64>>>(p); cudaFuncSetAttribute(passed, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); }
void run_open(int *p) { open<<<1, 64, 64>>>(p); }
void run_instance(int *p, cudaStream_t s) { instance<64><<<1, 64, 64 * sizeof(int), s>>>(p); }
void run_unused(int *p) { unused<<<1, 64>>>(p, false); }
void run_parts(int *p) { parts<<<1, 64, 3 * 64 * sizeof(int)>>>(p); }
void run_rows(float *p) { rows<<<1, dim3(16, 16), 16 * 17 * sizeof(float) - 4>>>(p); }
void run_vectors(int4 *p) { vectors<<<1, 32, 32 * sizeof(int4)>>>(p); }
";

/// The kernels of that source that access more than they have.
const BEYOND: [&str; 4] = ["direct", "least", "small", "without"];

/// The kernels with findings of this certainty, by the names in their source.
fn kernels(document: &Value, certainty: &str) -> BTreeSet<String> {
    let findings = report::findings(document).iter();
    let such = findings.filter(|finding| finding["certainty"] == certainty);
    such.filter_map(|finding| {
        let name = finding["kernel"].as_str().or(finding["function"].as_str())?;
        let all = KNOWN.iter().chain(&SHOWN).chain(&["right", "direct"]);
        let found = all.into_iter().find(|kernel| name.contains(*kernel));
        Some(found.map_or(name, |kernel| *kernel).to_owned())
    })
    .collect()
}

fn names<'n>(names: impl IntoIterator<Item = &'n &'n str>) -> BTreeSet<String> {
    names.into_iter().map(|name| (*name).to_owned()).collect()
}

/// Builds an object with each of the options, and compares what is found.
fn objects(
    options: &[&str],
    build: &Build,
    compile: impl Fn(&str) -> Result<(), String>,
) -> Result<(), String> {
    build.write("k.cu", SOURCE)?;
    for option in options {
        compile(&format!("{option} -c k.cu -o k.o"))?;
        same(option, kernels(&build.check("k.o")?, "definite"), names(&KNOWN))?;
        let all = build.check("-W conditional k.o")?;
        same(option, kernels(&all, "definite"), names(&KNOWN))?;
        let shown = SHOWN.iter().chain(&["direct"]);
        same(option, kernels(&all, "conditional"), names(shown))?;
        for (kernel, note) in [
            ("once", "launched with blocks of 48 threads by `run_once` in k.o"),
            (
                "twice",
                "launched with blocks of 8 × 6 threads by `run_twice` in k.o",
            ),
            ("open", "launched so by `run_open` in k.o"),
        ] {
            let text = all.to_string();
            if !text.contains(note) {
                return Err(format!("{option}: nothing says of {kernel}: {note}"));
            }
        }
    }
    Ok(())
}

/// Builds an object with each of the options, and compares the kernels that access more dynamic shared memory than they are launched with.
fn shared_memory(
    options: &[&str],
    build: &Build,
    compile: impl Fn(&str) -> Result<(), String>,
) -> Result<(), String> {
    build.write("s.cu", SHARED)?;
    for option in options {
        compile(&format!("{option} -c s.cu -o s.o"))?;
        let document = build.check("s.o")?;
        let findings = report::findings(&document).iter();
        let found = findings.map(|finding| {
            let kernel = finding["kernel"].as_str().or(finding["function"].as_str());
            let kernel = kernel.unwrap_or_default();
            let named = BEYOND.iter().find(|name| kernel.contains(*name));
            let code = finding["code"].as_str().unwrap_or_default();
            format!("{} {code}", named.unwrap_or(&kernel))
        });
        let wanted = BEYOND.map(|kernel| format!("{kernel} PTX211"));
        same(option, found.collect::<BTreeSet<_>>(), BTreeSet::from(wanted))?;
        let text = document.to_string();
        for note in [
            "at most 128 bytes of dynamic shared memory (`run_small` in s.o",
            "at most 252 bytes of dynamic shared memory (`run_least` in s.o",
            "at most 0 bytes of dynamic shared memory (`run_without` in s.o",
            "at most 192 bytes of dynamic shared memory (`run_direct` in s.o",
        ] {
            if !text.contains(note) {
                return Err(format!("{option}: nothing says: {note}"));
            }
        }
        let stated = build.check("--launch-shared 4096 s.o")?;
        same(option, report::findings(&stated).len(), 0)?;
    }
    Ok(())
}

/// The kernels with definite findings in a finished file: all that nobody else can launch.
fn finished(build: &Build, file: &str, wanted: &[&str]) -> Result<(), String> {
    let found = kernels(&build.check(file)?, "definite");
    same(file, found, names(KNOWN.iter().chain(wanted)))
}

/// A finished file of which a section says to be loaded at the end of the address space: no analysis fails, whichever section it is.
fn misplaced(build: &Build, file: &str) -> Result<(), String> {
    let read = |at: usize, size: usize, image: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&image[at..at + size]);
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|error| error.to_string())
    };
    let image = fs::read(build.path(file)).map_err(|error| error.to_string())?;
    // The offset of the section headers, and their size and number.
    let (headers, size, count) = (read(40, 8, &image)?, read(58, 2, &image)?, read(60, 2, &image)?);
    for section in 0..count {
        let mut moved = image.clone();
        let address = headers + section * size + 16;
        moved[address..address + 8].copy_from_slice(&(u64::MAX - 64).to_le_bytes());
        fs::write(build.path("moved"), moved).map_err(|error| error.to_string())?;
        let document = build.check("moved")?.to_string();
        if document.contains("PTX904") {
            return Err(format!("section {section}: {document}"));
        }
    }
    Ok(())
}

pub(super) fn finished_by_nvcc(build: &Build) -> Result<(), String> {
    build.write("k.cu", SOURCE)?;
    build.write("main.cu", PROGRAM)?;
    let all = ["direct", "open", "plain"];
    build.nvcc("-arch=sm_90 -Xcompiler -O2 k.cu main.cu -o program")?;
    finished(build, "program", &all)?;
    misplaced(build, "program")?;
    build.nvcc("-arch=sm_90 -Xcompiler -O0,-fno-pie,-no-pie -Xlinker -no-pie k.cu main.cu -o fixed")?;
    finished(build, "fixed", &all)?;
    // nvcc hides kernels.
    build.nvcc("-arch=sm_90 -Xcompiler -O2,-fPIC -shared k.cu main.cu -o lib.so")?;
    finished(build, "lib.so", &all)?;
    build.nvcc(
        "-arch=sm_90 -device-entity-has-hidden-visibility=false -Xcompiler -O2,-fPIC -shared k.cu main.cu -o open.so",
    )?;
    finished(build, "open.so", &[])?;
    // A kernel that is launched from the device, too.
    build.write(
        "d.cu",
        "static __global__ void inner(int *p) { p[threadIdx.x] += __shfl_down_sync(~0u, p[threadIdx.x], 16); }\n\
         __global__ void outer(int *p) { inner<<<1, p[0]>>>(p); }\n\
         void run(int *p) { inner<<<1, 48>>>(p); outer<<<1, 1>>>(p); }\n",
    )?;
    build.nvcc("-arch=sm_90 -rdc=true -c d.cu -o d.o")?;
    same("d.o", kernels(&build.check("d.o")?, "definite"), BTreeSet::new())
}

pub(super) fn finished_by_clang(build: &Build) -> Result<(), String> {
    build.write("k.cu", SOURCE)?;
    build.clang("-O2 -fPIC -shared k.cu -o lib.so")?;
    finished(build, "lib.so", &[])?;
    build.clang("-O2 -fPIC -fvisibility=hidden -shared k.cu -o hidden.so")?;
    finished(build, "hidden.so", &["direct", "open", "plain"])
}

pub(super) fn of_nvcc(build: &Build) -> Result<(), String> {
    let options = [
        "-arch=sm_90 -Xcompiler -O0",
        "-arch=sm_90 -Xcompiler -O2",
        "-arch=sm_90 -Xcompiler -O3",
        "-arch=sm_90 -rdc=true -Xcompiler -O2,-fPIC",
    ];
    objects(&options, build, |options| build.nvcc(options))?;
    shared_memory(&options, build, |options| build.nvcc(options))
}

pub(super) fn of_clang(build: &Build) -> Result<(), String> {
    let options = ["-O0", "-O2", "-O3"];
    objects(&options, build, |options| build.clang(options))?;
    shared_memory(&options, build, |options| build.clang(options))
}

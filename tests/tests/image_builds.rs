//! Objects, libraries and executables that nvcc and clang build from small sources, and what is found in them. Where a
//! compiler is missing, its tests are counted as ignored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use ptxcheck_tests::{binary, missing, report, root, schema};
use serde_json::Value;
use tempfile::TempDir;

/// A compiler takes up to a gigabyte.
const THREADS: usize = 2;

/// A kernel with a definite PTX407 on line 2, one that is static, and a template.
const PLAIN: &str = "\
__device__ int gv[4];
__global__ void bad(int *p) { if (p[0]) __syncwarp(0); p[1] = gv[p[2]]; }
static __global__ void hidden(int *p) { *p = 1; }
template <class T> __global__ void copy(T value, T *to) { *to = value; }
void run(int *p) { bad<<<1, 1>>>(p); hidden<<<1, 1>>>(p); copy<float><<<1, 1>>>(1, (float *)p); }
void set(int *p) { cudaMemcpyToSymbol(gv, p, 4); }
";

const MAIN: &str = "void run(int *); int main() { run(nullptr); }\n";

type Case = fn(&Build) -> Result<(), String>;

const NVCC: &[(&str, Case)] = &[
    ("compression modes", compression_modes),
    ("relocatable device code", relocatable),
    ("a device link alone", device_link),
    ("link-time optimisation", link_time_optimisation),
    ("targets with suffixes", suffixes),
    ("an archive", archived),
    ("a stripped shared library", stripped),
    ("a debug build", debug),
    ("parameters that depend on the target", signatures),
    ("a template for one target only", one_target),
    ("launch bounds that depend on the target", bounds),
    ("weak functions that differ", weak_functions),
    ("a policy", policy),
    ("names of C, static and unused ones", registered_names),
    ("a bundle of all targets", concatenated),
    ("paths of the machine", build_paths),
    ("a variable of the host, in four builds", host_variable),
    ("a link set that is complete", complete),
    ("kernels that are launched and not registered", unregistered),
    ("declarations that the device linker rejects", prototypes),
];

const CLANG: &[(&str, Case)] = &[
    ("an object of clang's", clang_object),
    ("a debug build of clang's, its images one by one", clang_debug),
    ("a kernel that only the host knows", registered),
    ("bitcode for a link", clang_bitcode),
    ("relocatable device code of clang's", clang_relocatable),
    (
        "a variable of the host, in an executable",
        host_variable_of_a_program,
    ),
];

fn main() {
    let mut args = Arguments::from_args();
    args.test_threads.get_or_insert(THREADS);
    let trials = [("nvcc", NVCC), ("clang", CLANG)]
        .into_iter()
        .flat_map(|(compiler, cases)| {
            cases.iter().map(move |(name, case)| {
                Trial::ignorable_test(format!("{compiler}: {name}"), move || attempt(compiler, *case))
            })
        });
    libtest_mimic::run(&args, trials.collect()).exit();
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

/// A folder to build in.
struct Build {
    toolchain: PathBuf,
    folder: TempDir,
}

impl Build {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        fs::write(self.path(name), text).map_err(|error| error.to_string())
    }

    fn tool(&self, program: &Path, args: &str) -> Result<(), String> {
        // clang calls NVIDIA's ptxas and fatbinary.
        let own = self.toolchain.join("nvcc/cuda/bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path)));
        let output = Command::new(program)
            .env("PATH", path.map_err(|error| error.to_string())?)
            .current_dir(self.folder.path())
            .args(args.split_whitespace())
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} {args} failed:\n{said}", program.display()))
    }

    fn nvcc(&self, args: &str) -> Result<(), String> {
        self.tool(&self.toolchain.join("nvcc/cuda/bin/nvcc"), args)
    }

    fn clang(&self, args: &str) -> Result<(), String> {
        let clang = self.toolchain.join("clang");
        let flags = format!(
            "--cuda-path={0}/cuda -Wno-unknown-cuda-version -isystem {0}/stubs -isystem {0}/cuda/include/cccl \
             --no-offload-new-driver --cuda-gpu-arch=sm_90 {args}",
            clang.display()
        );
        self.tool(&clang.join("bin/clang-22"), &flags)
    }

    fn document(&self, args: &str) -> Result<(i32, Value), String> {
        let output = binary::command()
            .current_dir(self.folder.path())
            .args(args.split_whitespace())
            .output()
            .map_err(|error| error.to_string())?;
        let document: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
        Ok((output.status.code().unwrap_or(-1), document))
    }

    fn check(&self, args: &str) -> Result<Value, String> {
        let (_, document) = self.document(&format!("check --format json {args}"))?;
        all_empty(&schema::problems(&document))?;
        Ok(document)
    }

    fn audit(&self, args: &str) -> Result<Value, String> {
        let (_, document) = self.document(&format!("audit --format json {args}"))?;
        all_empty(&schema::audit_problems(&document))?;
        Ok(document)
    }
}

fn all_empty(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

/// `found == wanted`, or a sentence.
#[allow(
    clippy::needless_pass_by_value,
    reason = "what is compared is made for the call"
)]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{what}: found {found:?}, wanted {wanted:?}"))
    }
}

/// A column of the first input's images, as text; missing values are empty.
fn column<'a>(document: &'a Value, key: &str) -> Vec<&'a str> {
    let images = document["inputs"][0]["images"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    images
        .iter()
        .map(|image| image[key].as_str().unwrap_or_default())
        .collect()
}

fn codes(document: &Value) -> Vec<&str> {
    report::codes(document)
}

fn compression_modes(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    for (mode, packing) in [("", "zstd"), ("size", "zstd"), ("speed", "lz4"), ("none", "")] {
        let option = if mode.is_empty() {
            String::new()
        } else {
            format!("--compress-mode={mode}")
        };
        build.nvcc(&format!("-c -lineinfo -arch=sm_90 {option} k.cu -o k.o"))?;
        let document = build.check("k.o")?;
        same(mode, column(&document, "kind"), vec!["cubin", "ptx"])?;
        same(mode, column(&document, "section"), vec![".nv_fatbin"; 2])?;
        same(mode, column(&document, "compression")[1], packing)?;
        // The line of the source, from inside the packed PTX of the object.
        same(mode, codes(&document), vec!["PTX407"])?;
        let finding = &report::findings(&document)[0];
        same(mode, finding["source"]["line"].as_u64(), Some(2))?;
        same(mode, finding["location"]["file"].as_str(), Some("k.o"))?;
        same(mode, finding["image"].as_u64(), Some(1))?;
    }
    build.nvcc("-fatbin -arch=sm_90 k.cu -o k.fatbin")?;
    same("a fat binary", codes(&build.check("k.fatbin")?), vec!["PTX407"])?;
    build.nvcc("-cubin -arch=sm_90 k.cu -o k.cubin")?;
    let document = build.check("k.cubin")?;
    same("a cubin", column(&document, "target"), vec!["sm_90"])?;
    same(
        "a cubin",
        document["inputs"][0]["images"][0]["kernels"].as_u64(),
        Some(3),
    )
}

fn relocatable(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.write("main.cu", MAIN)?;
    build.nvcc("-rdc=true -c -arch=sm_90 k.cu -o k.o")?;
    let document = build.audit("k.o")?;
    same("the object", column(&document, "role"), vec!["relocatable"; 2])?;
    let host = &document["inputs"][0]["host"];
    same("its kernels", host["kernels"].as_array().map(Vec::len), Some(3))?;
    same("no finding", codes(&document), vec![])?;
    build.nvcc("-rdc=true -arch=sm_90 k.o main.cu -o app")?;
    let document = build.audit("--require-sm 90 app")?;
    same("the executable", codes(&document), vec![])?;
    let mut roles = column(&document, "role");
    roles.sort_unstable();
    roles.dedup();
    same("its roles", roles, vec!["left-over", "loadable"])?;
    // The PTX of the objects is in the file, and nothing loads it.
    same(
        "PTX",
        codes(&build.audit("--require-ptx 90 app")?),
        vec!["PTX501"],
    )?;
    same("check", codes(&build.check("app")?), vec!["PTX407"])
}

fn device_link(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.nvcc("-rdc=true -c -arch=sm_90 k.cu -o k.o")?;
    build.nvcc("-dlink -arch=sm_90 k.o -o d.o")?;
    let document = build.audit("d.o")?;
    same("kinds", column(&document, "kind"), vec!["cubin"])?;
    same("roles", column(&document, "role"), vec!["loadable"])?;
    same("findings", codes(&document), vec![])
}

fn link_time_optimisation(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.nvcc("-dlto -c -arch=sm_90 k.cu -o k.o")?;
    let document = build.check("k.o")?;
    if !column(&document, "kind").contains(&"lto-ir") {
        return Err(format!("no LTO-IR: {:?}", column(&document, "kind")));
    }
    same(
        "said once",
        codes(&document).iter().filter(|code| **code == "PTX905").count(),
        1,
    )
}

fn suffixes(build: &Build) -> Result<(), String> {
    build.write("k.cu", "__global__ void k(int *p) { *p = 1; }\n")?;
    build.nvcc(
        "-fatbin -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a \
         -gencode arch=compute_100f,code=sm_100f -gencode arch=compute_120,code=[sm_120,compute_120] k.cu -o k.fatbin",
    )?;
    let document = build.audit("k.fatbin")?;
    let mut targets = column(&document, "target");
    targets.sort_unstable();
    same(
        "targets",
        targets,
        vec!["sm_100f", "sm_120", "sm_120", "sm_75", "sm_90a"],
    )?;
    same("a forward-compatible one", codes(&document), vec![])?;
    build.nvcc("-fatbin -gencode arch=compute_90a,code=[sm_90a,compute_90a] k.cu -o k.fatbin")?;
    same(
        "PTX for sm_90a only",
        codes(&build.check("k.fatbin")?),
        vec!["PTX506"],
    )
}

fn archived(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.write("l.cu", "__global__ void l(int *p) { *p = 1; }\n")?;
    build.nvcc("-lib -arch=sm_90 k.cu l.cu -o k.a")?;
    let document = build.check("k.a")?;
    let members = column(&document, "member");
    same("images", members.len(), 4)?;
    let of = |name: &str| members.iter().filter(|member| member.contains(name)).count();
    same("members", (of("k"), of("l")), (2, 2))?;
    same("findings", codes(&document), vec!["PTX407"])
}

fn stripped(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.nvcc("-shared -Xcompiler -fPIC -arch=sm_90 k.cu -o libk.so")?;
    let document = build.audit("libk.so")?;
    let host = &document["inputs"][0]["host"];
    same("stubs", host["kernels"].as_array().map(Vec::len), Some(3))?;
    build.tool(Path::new("strip"), "libk.so")?;
    let document = build.audit("libk.so")?;
    let input = &document["inputs"][0];
    same("stripped", input["host"]["stripped"].as_bool(), Some(true))?;
    same("kernels", input["kernels"].as_array().map(Vec::len), Some(3))?;
    same("findings", codes(&document), vec![])?;
    same("check", codes(&build.check("libk.so")?), vec!["PTX407"])
}

fn debug(build: &Build) -> Result<(), String> {
    build.write("k.cu", "__global__ void k(int *p) { *p = 1; }\n")?;
    build.nvcc("-G -c -arch=sm_90 k.cu -o k.o")?;
    let document = build.check("k.o")?;
    same("findings", codes(&document), vec!["PTX507"])?;
    same("images", column(&document, "kind"), vec!["cubin", "ptx"])?;
    // Machine code alone keeps its PTX for the debugger.
    build.nvcc("-G -cubin -arch=sm_90 k.cu -o k.cubin")?;
    let document = build.check("k.cubin")?;
    same("images", column(&document, "role"), vec!["loadable", "embedded"])?;
    same(
        "status",
        document["inputs"][0]["status"].as_str(),
        Some("checked"),
    )
}

const TWO_TARGETS: &str =
    "-gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_90,code=sm_90";

fn signatures(build: &Build) -> Result<(), String> {
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

fn one_target(build: &Build) -> Result<(), String> {
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

fn bounds(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "#if __CUDA_ARCH__ >= 900\n#define THREADS 512\n#else\n#define THREADS 256\n#endif\n\
         extern \"C\" __global__ void __launch_bounds__(THREADS) k(int *data) { *data = 1; }\n",
    )?;
    build.nvcc(&format!("-fatbin {TWO_TARGETS} k.cu -o k.fatbin"))?;
    same("audit", codes(&build.audit("k.fatbin")?), vec!["PTX510"])?;
    same("check", codes(&build.check("k.fatbin")?), vec![])
}

fn weak_functions(build: &Build) -> Result<(), String> {
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
fn registered(build: &Build) -> Result<(), String> {
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

fn host_variable(build: &Build) -> Result<(), String> {
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
fn host_variable_of_a_program(build: &Build) -> Result<(), String> {
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
    // What is not exported is not seen any more; that it is missing still is.
    build.tool(Path::new("strip"), "app")?;
    same("stripped", codes(&build.check("app")?), vec!["PTX105"])
}

fn complete(build: &Build) -> Result<(), String> {
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

fn policy(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.nvcc("-c -arch=sm_90 --compress-mode=size k.cu -o k.o")?;
    let document = build.audit("--require-sm 90,120 --require-ptx 90 --min-driver 535 k.o")?;
    let mut found = codes(&document);
    found.sort_unstable();
    same("findings", found, vec!["PTX501", "PTX505", "PTX508"])?;
    same(
        "none",
        codes(&build.audit("--require-sm 90 --require-ptx 90 k.o")?),
        vec![],
    )
}

/// The bundle could hold whatever a policy asks for.
fn concatenated(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.nvcc(&format!("-c --concat {TWO_TARGETS} k.cu -o k.o"))?;
    let document = build.check("k.o")?;
    let mut kinds = column(&document, "kind");
    kinds.sort_unstable();
    same("kinds", kinds, vec!["bundle", "ptx"])?;
    same("check", codes(&document), vec!["PTX905", "PTX407"])?;
    let document = build.audit("--require-sm 75,90 --require-ptx 75 k.o")?;
    same("a policy", codes(&document), vec!["PTX905"])
}

/// All that host code can register, in an object, a library and relocatable code: nothing is missing.
fn registered_names(build: &Build) -> Result<(), String> {
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

fn build_paths(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    let own = build
        .path("k.cu")
        .canonicalize()
        .map_err(|error| error.to_string())?;
    for options in [
        "-lineinfo -cubin -arch=sm_75",
        "-lineinfo -cubin -arch=sm_90",
        "-G -cubin -arch=sm_90",
    ] {
        build.nvcc(&format!("{options} k.cu -o k.cubin"))?;
        let document = build.audit("-A PTX507 -W PTX512 k.cubin")?;
        same(options, codes(&document), vec!["PTX512"])?;
        let paths = report::findings(&document)[0]["data"]["paths"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if !paths
            .iter()
            .any(|path| path.as_str().is_some_and(|path| Path::new(path) == own))
        {
            return Err(format!("{options}: {paths:?} without {}", own.display()));
        }
    }
    build.nvcc("-cubin -arch=sm_90 k.cu -o k.cubin")?;
    same("none", codes(&build.audit("-W PTX512 k.cubin")?), vec![])
}

fn clang_bitcode(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.clang("-O2 --offload-new-driver -fgpu-rdc -foffload-lto -c k.cu -o k.o")?;
    let document = build.check("k.o")?;
    same("kinds", column(&document, "kind"), vec!["llvm-ir"])?;
    same("targets", column(&document, "target"), vec!["sm_90"])?;
    same("sections", column(&document, "section"), vec![".llvm.offloading"])?;
    // A build that reads LLVM IR analyses it, another says that it does not. An audit runs no rules over it. That the static
    // kernel has a name of its own there is no difference to what the host registers.
    let found = codes(&document);
    if !["PTX407", "PTX905"].iter().any(|code| found == [*code]) {
        return Err(format!("check: {found:?}"));
    }
    let document = build.audit("k.o")?;
    same(
        "audit",
        codes(&document).iter().all(|code| *code == "PTX905"),
        true,
    )
}

fn clang_relocatable(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.clang("-O2 --offload-new-driver -fgpu-rdc -c k.cu -o k.o")?;
    same("check", codes(&build.check("k.o")?), vec![])?;
    same("audit", codes(&build.audit("k.o")?), vec![])
}

/// Two objects of machine code that keeps its PTX for debuggers, as in an application that is built for debugging.
fn clang_debug(build: &Build) -> Result<(), String> {
    build.write("a.cu", PLAIN)?;
    build.write("b.cu", "__global__ void other(int *p) { *p = 1; }\n")?;
    for name in ["a", "b"] {
        build.clang(&format!(
            "--no-cuda-include-ptx=all -g -O0 -c {name}.cu -o {name}.o"
        ))?;
    }
    build.tool(Path::new("ar"), "rcs app.a a.o b.o")?;
    let document = build.check("app.a")?;
    let kinds = column(&document, "kind");
    same("images", kinds.clone(), vec!["cubin", "ptx", "cubin", "ptx"])?;
    same("findings", codes(&document), vec!["PTX507", "PTX407"])?;
    let finding = &document["findings"][1];
    same("image of the finding", finding["image"].as_u64(), Some(1))?;
    let output = binary::command()
        .current_dir(build.folder.path())
        .args(["extract", "app.a", "-o", "images"])
        .output()
        .map_err(|error| error.to_string())?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    let wanted = (0..)
        .zip(&kinds)
        .map(|(number, kind)| format!("{number:05}.sm_90.{kind}"));
    same(
        "files",
        list.lines().map(str::to_owned).collect(),
        wanted.collect::<Vec<_>>(),
    )?;
    // The line is that of the text, as it lies in the machine code.
    let text = fs::read_to_string(build.path("images/00001.sm_90.ptx")).map_err(|error| error.to_string())?;
    let line = finding["location"]["line"].as_u64().unwrap_or_default() as usize;
    let there = text.lines().nth(line.wrapping_sub(1)).unwrap_or_default();
    if there.contains("bar.warp.sync") {
        Ok(())
    } else {
        Err(format!("line {line} of the text is `{there}`"))
    }
}

fn clang_object(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.clang("--cuda-include-ptx=all -gline-tables-only -O2 -c k.cu -o k.o")?;
    let document = build.audit("k.o")?;
    same("kinds", column(&document, "kind"), vec!["cubin", "ptx"])?;
    same(
        "kernels",
        document["inputs"][0]["host"]["kernels"].as_array().map(Vec::len),
        Some(3),
    )?;
    same("audit", codes(&document), vec![])?;
    same("check", codes(&build.check("k.o")?), vec!["PTX407"])
}

/// nvcc registers the kernels of its last device pass; what host code launches besides fails on every device.
fn unregistered(build: &Build) -> Result<(), String> {
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
fn two_orders(build: &Build) -> Result<(), String> {
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
        (format!("-c {new} {old}"), vec!["PTX502", "PTX504"]),
        (format!("-c {old} {new}"), vec!["PTX502"]),
        (format!("-c {new}"), vec![]),
        // Without a stub the image tells of it.
        (format!("-O3 -c {new} {old}"), vec!["PTX502", "PTX504"]),
        (format!("-O3 -c {old} {new}"), vec!["PTX502"]),
    ] {
        build.nvcc(&format!("{options} o.cu -o o.o"))?;
        let document = build.check("-W potential o.o")?;
        let mut found = codes(&document);
        found.sort_unstable();
        same(&options, found, wanted)?;
    }
    Ok(())
}

fn prototypes(build: &Build) -> Result<(), String> {
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

//! The images in files that compilers and linkers write, and the findings of a policy about them.

use std::fs;
use std::path::Path;

use super::build::{Build, MAIN, PLAIN, TWO_TARGETS, codes, column, same};
use ptxcheck_tests::{binary, report};

pub(super) fn compression_modes(build: &Build) -> Result<(), String> {
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

pub(super) fn relocatable(build: &Build) -> Result<(), String> {
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
    same("its roles", roles, vec!["linked-at-load", "loadable"])?;
    // The driver links the PTX of the objects where no machine code fits, if each object has some.
    same("PTX", codes(&build.audit("--require-ptx 90 app")?), vec![])?;
    build.nvcc("-rdc=true -c -gencode arch=compute_90,code=sm_90 k.cu -o bare.o")?;
    build.nvcc("-rdc=true -arch=sm_90 bare.o main.cu -o app")?;
    same(
        "an object without PTX",
        codes(&build.audit("--require-ptx 90 app")?),
        vec!["PTX501"],
    )?;
    build.nvcc("-rdc=true -arch=sm_90 k.o main.cu -o app")?;
    same("check", codes(&build.check("app")?), vec!["PTX407"])
}

pub(super) fn device_link(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.nvcc("-rdc=true -c -arch=sm_90 k.cu -o k.o")?;
    build.nvcc("-dlink -arch=sm_90 k.o -o d.o")?;
    let document = build.audit("d.o")?;
    same("kinds", column(&document, "kind"), vec!["cubin"])?;
    same("roles", column(&document, "role"), vec!["loadable"])?;
    same("findings", codes(&document), vec!["PTX527"])
}

pub(super) fn link_time_optimisation(build: &Build) -> Result<(), String> {
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

pub(super) fn suffixes(build: &Build) -> Result<(), String> {
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
    same("nothing for 8.x", codes(&document), vec!["PTX527"])?;
    build.nvcc("-fatbin -gencode arch=compute_90a,code=[sm_90a,compute_90a] k.cu -o k.fatbin")?;
    same(
        "PTX for sm_90a only",
        codes(&build.check("k.fatbin")?),
        vec!["PTX506"],
    )
}

pub(super) fn archived(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.write("l.cu", "__global__ void l(int *p) { *p = 1; }\n")?;
    build.nvcc("-lib -arch=sm_90 k.cu l.cu -o k.a")?;
    let document = build.check("k.a")?;
    let members = column(&document, "member");
    same("images", members.len(), 4)?;
    let count_of = |name: &str| members.iter().filter(|member| member.contains(name)).count();
    same("members", (count_of("k"), count_of("l")), (2, 2))?;
    same("findings", codes(&document), vec!["PTX407"])
}

pub(super) fn stripped(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.nvcc("-shared -Xcompiler -fPIC -arch=sm_90 k.cu -o libk.so")?;
    let document = build.audit("libk.so")?;
    let host = &document["inputs"][0]["host"];
    same("stubs", host["kernels"].as_array().map(Vec::len), Some(3))?;
    build.tool(Path::new("strip"), "libk.so")?;
    let document = build.audit("libk.so")?;
    let input = &document["inputs"][0];
    same("stripped", input["host"]["stripped"].as_bool(), Some(true))?;
    same(
        "registered",
        input["host"]["kernels"].as_array().map(Vec::len),
        Some(3),
    )?;
    same("kernels", input["kernels"].as_array().map(Vec::len), Some(3))?;
    same("findings", codes(&document), vec![])?;
    same("check", codes(&build.check("libk.so")?), vec!["PTX407"])
}

/// Sources with kernels of all kinds and with variables, and the numbers of what their host code registers.
const REGISTERED: [(&str, &str); 3] = [
    (
        "a.cu",
        "template <class T> __global__ void of_type(T *p) { *p = T(1); }\n\
         extern \"C\" __global__ void of_c(int *p) { *p = 3; }\n\
         __device__ int numbers[4]; __constant__ float factor; __managed__ int managed;\n\
         namespace { __global__ void local(int *p) { *p = numbers[0] + int(factor) + managed; } }\n\
         void run(int *p, double *d) { of_type<<<1, 1>>>(p); of_type<<<1, 1>>>(d); of_c<<<1, 1>>>(p); local<<<1, 1>>>(p); }\n",
    ),
    (
        "b.cu",
        "__constant__ int table[8]; __global__ void reads(int *p) { *p = table[*p]; }\n\
         void more(int *p) { reads<<<1, 1>>>(p); }\n",
    ),
    (
        "main.cu",
        "void run(int *, double *); void more(int *); int main() { run(nullptr, nullptr); more(nullptr); }\n",
    ),
];

/// The calls that register kernels and variables are read in libraries and programs, with symbols and without.
pub(super) fn registered(build: &Build) -> Result<(), String> {
    for (name, text) in REGISTERED {
        build.write(name, text)?;
    }
    for options in [
        "-shared -Xcompiler -fPIC,-O0 -cudart static a.cu b.cu",
        "-shared -Xcompiler -fPIC,-O2 -cudart static a.cu b.cu",
        "-shared -Xcompiler -fPIC,-O2,-fno-plt -cudart none a.cu b.cu",
        "-Xcompiler -O1 -cudart static a.cu b.cu main.cu",
        "-Xcompiler -Os,-no-pie,-fno-pie -cudart static a.cu b.cu main.cu",
        "-Xcompiler -O2 -rdc=true -cudart static a.cu b.cu main.cu",
    ] {
        build.nvcc(&format!("-arch=sm_90 {options} -o app"))?;
        for is_stripped in [false, true] {
            if is_stripped {
                build.tool(Path::new("strip"), "app")?;
            }
            let document = build.audit("app")?;
            let host = &document["inputs"][0]["host"];
            let count = |key: &str| host[key].as_array().map_or(0, Vec::len);
            same(options, (count("kernels"), count("variables")), (5, 4))?;
            same("complete", host["complete"].as_bool(), Some(true))?;
            same(options, codes(&document), vec![])?;
        }
    }
    Ok(())
}

/// A stripped library registers a kernel that no image has.
pub(super) fn registered_and_missing(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "#ifdef __CUDA_ARCH__\nusing Tag = int;\n#else\nusing Tag = long;\n#endif\n\
         template <class T> __global__ void k(int *p) { *p = sizeof(T); }\n\
         void run(int *p) { k<Tag><<<1, 1>>>(p); k<char><<<1, 1>>>(p); }\n",
    )?;
    // clang registers the kernels that host code mentions.
    build.clang("-O2 -shared -fPIC -nostdlib k.cu -o k.so")?;
    for is_stripped in [false, true] {
        if is_stripped {
            build.tool(Path::new("strip"), "k.so")?;
        }
        let document = build.check("k.so")?;
        same("findings", codes(&document), vec!["PTX504"])?;
    }
    Ok(())
}

pub(super) fn debug(build: &Build) -> Result<(), String> {
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

pub(super) fn policy(build: &Build) -> Result<(), String> {
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

/// The bundle could hold anything that a policy requires.
pub(super) fn concatenated(build: &Build) -> Result<(), String> {
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

pub(super) fn build_paths(build: &Build) -> Result<(), String> {
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
        let document = build.audit("-A PTX507 -A PTX527 -W PTX512 k.cubin")?;
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
    same(
        "none",
        codes(&build.audit("-A PTX527 -W PTX512 k.cubin")?),
        vec![],
    )
}

pub(super) fn clang_bitcode(build: &Build) -> Result<(), String> {
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

pub(super) fn clang_relocatable(build: &Build) -> Result<(), String> {
    build.write("k.cu", PLAIN)?;
    build.clang("-O2 --offload-new-driver -fgpu-rdc -c k.cu -o k.o")?;
    same("check", codes(&build.check("k.o")?), vec![])?;
    same("audit", codes(&build.audit("k.o")?), vec![])
}

/// Two objects of machine code that keeps its PTX for debuggers, as in an application that is built for debugging.
pub(super) fn clang_debug(build: &Build) -> Result<(), String> {
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

pub(super) fn clang_object(build: &Build) -> Result<(), String> {
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

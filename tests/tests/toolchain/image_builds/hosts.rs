//! Host code: what it registers, and device code that lies in it otherwise than in sections of images.

use std::fs;
use std::path::Path;

use super::build::{Build, codes, column, same};

/// Clang's relocatable objects register their symbols by a table, not by calls.
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

/// Images for `cuModuleLoadData` in the data of a program.
pub(super) fn data_of_programs(build: &Build) -> Result<(), String> {
    build.write(
        "k.cu",
        "extern \"C\" __global__ void k(int *p) { if (p[0]) __syncwarp(0); p[1] = 1; }\n",
    )?;
    build.nvcc("-arch=sm_90 -ptx k.cu -o k.ptx")?;
    build.nvcc("-arch=sm_90 -cubin k.cu -o k.cubin")?;
    build.write(
        "data.s",
        ".section .rodata\n.global text, code\n.asciz \"other\"\ntext: .incbin \"k.ptx\"\n.byte 0\n.align 8\n\
         code: .incbin \"k.cubin\"\n.section .note.GNU-stack,\"\",@progbits\n",
    )?;
    let text = fs::read_to_string(build.path("k.ptx")).map_err(|error| error.to_string())?;
    // Templates of modules, and pieces of them, are not modules.
    build.write(
        "main.cpp",
        &format!(
            "extern \"C\" const char text[], code[];\nconst char *literal = R\"({text})\";\n\
             const char *pieces[] = {{R\"({})\", R\"({})\", \".version 9.0\\n.target sm_%d\\n\"}};\n\
             int main(int count, char **) {{ return text[count] + code[count] + *literal + *pieces[count]; }}\n",
            text.replace("bar.warp.sync", "{what}"),
            text.replace("[%rd", "[$1"),
        ),
    )?;
    build.tool(Path::new("c++"), "-c main.cpp -o main.o")?;
    build.tool(Path::new("c++"), "-c data.s -o data.o")?;
    build.tool(Path::new("c++"), "-fPIE -pie main.o data.o -o app")?;
    build.tool(Path::new("ar"), "rcs both.a main.o data.o")?;
    for (file, wanted) in [
        ("data.o", vec!["cubin", "ptx"]),
        ("main.o", vec!["ptx"]),
        ("both.a", vec!["cubin", "ptx", "ptx"]),
        ("app", vec!["cubin", "ptx", "ptx"]),
    ] {
        let document = build.check(file)?;
        let mut kinds = column(&document, "kind");
        kinds.sort_unstable();
        same(file, kinds, wanted.clone())?;
        let texts = wanted.iter().filter(|kind| **kind == "ptx").count();
        same(file, codes(&document), vec!["PTX407"; texts])?;
        same(file, column(&document, "section")[0], ".rodata")?;
    }
    Ok(())
}

const LAUNCH: &str = "__global__ void k(int *p) { if (p[0]) __syncwarp(0); p[1] = 1; }\n\
                      void run(int *p) { k<<<1, 32>>>(p); }\n";

/// An object that is yet to be compiled, alone and in a library beside one that is.
fn yet_to_be_compiled(build: &Build, object: &str) -> Result<(), String> {
    same(object, codes(&build.check(object)?), vec!["PTX905"])?;
    build.tool(Path::new("ar"), &format!("rcs mixed.a {object} plain.o"))?;
    same(
        "a library",
        codes(&build.check("mixed.a")?),
        vec!["PTX905", "PTX407"],
    )
}

/// Host code for GCC's link-time optimiser, with device code inside, and without.
pub(super) fn link_time_host(build: &Build) -> Result<(), String> {
    build.write("k.cu", LAUNCH)?;
    build.nvcc("-arch=sm_90 -Xcompiler -fPIC -c k.cu -o plain.o")?;
    build.nvcc("-arch=sm_90 -Xcompiler -fPIC -Xcompiler -flto -c k.cu -o k.o")?;
    yet_to_be_compiled(build, "k.o")?;
    // Objects with both have the images.
    build.nvcc("-arch=sm_90 -Xcompiler -flto -Xcompiler -ffat-lto-objects -c k.cu -o k.o")?;
    same("both", codes(&build.check("k.o")?), vec!["PTX407"])?;
    build.write("h.cpp", "void run(int *p) { *p = 1; }\n")?;
    build.tool(Path::new("c++"), "-flto -c h.cpp -o h.o")?;
    same("the host alone", codes(&build.check("h.o")?), vec![])
}

/// Host objects of clang's link-time optimisation.
pub(super) fn clang_link_time_host(build: &Build) -> Result<(), String> {
    build.write("k.cu", LAUNCH)?;
    build.clang("--cuda-include-ptx=all -O2 -c k.cu -o plain.o")?;
    build.clang("--cuda-include-ptx=all -O2 -flto -c k.cu -o k.o")?;
    yet_to_be_compiled(build, "k.o")?;
    // The target of bitcode is known to builds that read it.
    if cfg!(not(feature = "llvm")) {
        return Ok(());
    }
    build.write("h.cpp", "void run(int *p) { *p = 1; }\n")?;
    build.tool(
        &build.toolchain.join("clang/bin/clang-22"),
        "-flto -c h.cpp -o h.o",
    )?;
    same("the host alone", codes(&build.check("h.o")?), vec![])
}

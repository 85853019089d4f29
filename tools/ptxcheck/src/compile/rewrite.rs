//! The words of a call that makes an object, changed into those of one that makes PTX.
//!
//! All that decides the code stays: macros, folders, dialects, options for a phase, files of options. What says where the output
//! goes, which one it is, and what is written beside it does not.

use super::invocation::Compiler;
use Value::{Joined, Next, None as Alone};

/// The place of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// It has none.
    None,
    /// In the next word, or after `=`.
    Next,
    /// After the name, in the same word.
    Joined,
}

/// Options of nvcc for outputs and architectures.
const NVCC_DROPPED: &[(&str, Value)] = &[
    ("-c", Alone),
    ("--compile", Alone),
    ("-dc", Alone),
    ("--device-c", Alone),
    ("-dw", Alone),
    ("--device-w", Alone),
    ("-ptx", Alone),
    ("--ptx", Alone),
    ("-cubin", Alone),
    ("--cubin", Alone),
    ("-fatbin", Alone),
    ("--fatbin", Alone),
    ("-o", Next),
    ("--output-file", Next),
    ("-odir", Next),
    ("--output-directory", Next),
    ("-MD", Alone),
    ("--generate-dependencies-with-compile", Alone),
    ("-MMD", Alone),
    ("--generate-nonsystem-dependencies-with-compile", Alone),
    ("-MP", Alone),
    ("--generate-dependency-targets", Alone),
    ("-MT", Next),
    ("--dependency-target-name", Next),
    ("-MF", Next),
    ("--dependency-output", Next),
    ("-gencode", Next),
    ("--generate-code", Next),
    ("-arch", Next),
    ("--gpu-architecture", Next),
    ("-code", Next),
    ("--gpu-code", Next),
    ("-dlto", Alone),
    ("--dlink-time-opt", Alone),
    ("-lto", Alone),
    ("-gen-opt-lto", Alone),
    ("--gen-opt-lto", Alone),
    ("-keep", Alone),
    ("--keep", Alone),
    ("-save-temps", Alone),
    ("--save-temps", Alone),
    ("-keep-dir", Next),
    ("--keep-dir", Next),
    ("-time", Next),
    ("--time", Next),
    ("-fdevice-time-trace", Next),
    ("--fdevice-time-trace", Next),
];

/// Options of nvcc whose value may look like one of those.
const NVCC_KEPT: &[&str] = &[
    "-Xcompiler",
    "--compiler-options",
    "-Xptxas",
    "--ptxas-options",
    "-Xlinker",
    "--linker-options",
    "-Xarchive",
    "--archive-options",
    "-Xnvlink",
    "--nvlink-options",
    "-Xcudafe",
    "--cudafe-options",
    "-Xfatbin",
    "--fatbin-options",
    "-I",
    "-isystem",
    "-include",
    "-D",
    "-U",
    "-x",
    "-ccbin",
    "--options-file",
    "-optf",
];

/// Options of clang for outputs and architectures.
const CLANG_DROPPED: &[(&str, Value)] = &[
    ("-c", Alone),
    ("-S", Alone),
    ("-emit-llvm", Alone),
    ("-o", Next),
    ("-MD", Alone),
    ("-MMD", Alone),
    ("-MP", Alone),
    ("-MV", Alone),
    ("-MT", Next),
    ("-MQ", Next),
    ("-MF", Next),
    ("-MJ", Next),
    ("--serialize-diagnostics", Next),
    ("--cuda-gpu-arch=", Joined),
    ("--no-cuda-gpu-arch=", Joined),
    ("--offload-arch=", Joined),
    ("--no-offload-arch=", Joined),
    ("--offload-arch", Next),
    ("--cuda-include-ptx=", Joined),
    ("--no-cuda-include-ptx=", Joined),
    ("--cuda-compile-host-device", Alone),
    ("--cuda-device-only", Alone),
    ("--offload-device-only", Alone),
    ("--offload-host-device", Alone),
    ("-foffload-lto", Joined),
    ("-flto", Joined),
    ("-save-temps", Joined),
    ("--save-temps", Joined),
    ("-ftime-trace", Joined),
];

/// Options of clang whose value may look like one of those.
const CLANG_KEPT: &[&str] = &[
    "-Xclang",
    "-Xarch_device",
    "-Xarch_host",
    "-Xcuda-ptxas",
    "-Xcuda-fatbinary",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xopenmp-target",
    "-mllvm",
    "-I",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-D",
    "-U",
    "-x",
    "-target",
];

/// The words without the dropped options.
fn without(words: &[String], dropped: &[(&str, Value)], kept: &[&str]) -> Vec<String> {
    let mut left = Vec::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if kept.contains(&word.as_str()) {
            left.push(word.clone());
            left.extend(words.next().cloned());
            continue;
        }
        match dropped
            .iter()
            .find(|(option, value)| is_option(word, option, *value))
        {
            Some((option, Next)) if word == option => {
                words.next();
            }
            Some(_) => {}
            None => left.push(word.clone()),
        }
    }
    left
}

/// The words that are neither options nor their values, as far as options that take a word are known here.
pub fn operands(compiler: Compiler, words: &[String]) -> Vec<&str> {
    let (dropped, kept) = match compiler {
        Compiler::Nvcc => (NVCC_DROPPED, NVCC_KEPT),
        Compiler::Clang => (CLANG_DROPPED, CLANG_KEPT),
    };
    let takes_next = |word: &String| {
        let is_it = |(option, value): &(&str, Value)| *value == Next && word == option;
        kept.contains(&word.as_str()) || dropped.iter().any(is_it)
    };
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if takes_next(word) {
            words.next();
        } else if !word.starts_with('-') {
            operands.push(word.as_str());
        }
    }
    operands
}

fn is_option(word: &str, option: &str, value: Value) -> bool {
    let Some(rest) = word.strip_prefix(option) else {
        return false;
    };
    match value {
        Alone => rest.is_empty(),
        Next => rest.is_empty() || rest.starts_with('='),
        Joined => true,
    }
}

/// The words of nvcc.
pub fn nvcc(words: &[String], number: u32, suffix: &str, output: &str) -> Vec<String> {
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let architecture = virtual_architecture(words, number, suffix);
    let mut left = without(words, NVCC_DROPPED, NVCC_KEPT);
    if has(&["-dc", "--device-c"]) {
        left.push("-rdc=true".to_owned());
    }
    if !has(&["-G", "--device-debug", "-lineinfo", "--generate-line-info"]) {
        left.push("-lineinfo".to_owned());
    }
    left.push("-ptx".to_owned());
    left.push(format!("-arch={architecture}"));
    left.extend(["-o".to_owned(), output.to_owned()]);
    left
}

/// The words of clang. An option that the call for PTX has no use for is not a mistake of it.
pub fn clang(words: &[String], number: u32, suffix: &str, output: &str) -> Vec<String> {
    let mut left = without(words, CLANG_DROPPED, CLANG_KEPT);
    left.extend(
        [
            "--cuda-device-only",
            "-S",
            "-gline-tables-only",
            "-Wno-unused-command-line-argument",
        ]
        .map(str::to_owned),
    );
    left.push(format!("--cuda-gpu-arch=sm_{number}{suffix}"));
    left.extend(["-o".to_owned(), output.to_owned()]);
    left
}

/// `compute_100f`: the one with this number that the words name, since machine code does not contain its suffix; of several, the one
/// with the suffix that is wanted.
fn virtual_architecture(words: &[String], number: u32, suffix: &str) -> String {
    let wanted = format!("compute_{number}{suffix}");
    let plain = format!("compute_{number}");
    let mut other = None;
    let not_name = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    for name in words.iter().flat_map(|word| word.split(not_name)) {
        if name == wanted {
            return wanted;
        }
        if let Some(rest) = name.strip_prefix(&plain)
            && ["", "a", "f"].contains(&rest)
        {
            other = other.or(Some(name));
        }
    }
    other.map_or(wanted, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{clang, nvcc, virtual_architecture};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn nvcc_keeps_all_that_decides_the_code() {
        let call = "-forward-unknown-to-host-compiler -DX=1 -I/s -isystem /t --options-file i.rsp \
            --generate-code=arch=compute_80,code=[sm_80] -gencode arch=compute_90,code=lto_90 -std=c++17 \
            -Xcompiler -c -MD -MT a.o -MF a.o.d -x cu -dc /s/a.cu -o a.o";
        assert_eq!(
            nvcc(&words(call), 80, "", "t.ptx").join(" "),
            "-forward-unknown-to-host-compiler -DX=1 -I/s -isystem /t --options-file i.rsp -std=c++17 \
             -Xcompiler -c -x cu /s/a.cu -rdc=true -lineinfo -ptx -arch=compute_80 -o t.ptx"
        );
        let call = "-G -arch=sm_90 -rdc=true -keep --keep-dir k -c a.cu --output-file=a.o";
        assert_eq!(
            nvcc(&words(call), 90, "", "t.ptx").join(" "),
            "-G -rdc=true a.cu -ptx -arch=compute_90 -o t.ptx"
        );
        // A value that is missing.
        assert_eq!(
            nvcc(&words("a.cu -o"), 90, "a", "t").join(" "),
            "a.cu -lineinfo -ptx -arch=compute_90a -o t"
        );
    }

    #[test]
    fn clang_compiles_for_the_device_alone() {
        let call = "-DX --cuda-gpu-arch=sm_80 --offload-arch=sm_90 --cuda-include-ptx=all -foffload-lto=full -fgpu-rdc \
            -Werror -Xarch_device -c -MD -MT a.o -MF a.o.d -x cuda -c a.cu -o a.o";
        assert_eq!(
            clang(&words(call), 90, "a", "t.ptx").join(" "),
            "-DX -fgpu-rdc -Werror -Xarch_device -c -x cuda a.cu --cuda-device-only -S -gline-tables-only \
             -Wno-unused-command-line-argument --cuda-gpu-arch=sm_90a -o t.ptx"
        );
    }

    #[test]
    fn the_virtual_architecture_is_one_that_the_call_names() {
        let call = words("-gencode arch=compute_100f,code=sm_103 -gencode arch=compute_90,code=sm_90a");
        assert_eq!(virtual_architecture(&call, 100, ""), "compute_100f");
        assert_eq!(virtual_architecture(&call, 90, "a"), "compute_90");
        assert_eq!(virtual_architecture(&call, 80, ""), "compute_80");
        let call = words(
            "--generate-code=arch=compute_90,code=[compute_90] --generate-code=arch=compute_90a,code=[sm_90a]",
        );
        assert_eq!(virtual_architecture(&call, 90, "a"), "compute_90a");
        assert_eq!(virtual_architecture(&call, 90, ""), "compute_90");
    }
}

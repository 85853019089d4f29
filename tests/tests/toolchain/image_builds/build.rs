//! A folder with compilers that build in it, and the program that is run over what they leave there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxcheck_tests::{binary, report, schema};
use serde_json::Value;
use tempfile::TempDir;

/// A kernel with a definite PTX407 on line 2, one that is static, and a template.
pub(super) const PLAIN: &str = "\
__device__ int gv[4];
__global__ void bad(int *p) { if (p[0]) __syncwarp(0); p[1] = gv[p[2]]; }
static __global__ void hidden(int *p) { *p = 1; }
template <class T> __global__ void copy(T value, T *to) { *to = value; }
void run(int *p) { bad<<<1, 1>>>(p); hidden<<<1, 1>>>(p); copy<float><<<1, 1>>>(1, (float *)p); }
void set(int *p) { cudaMemcpyToSymbol(gv, p, 4); }
";

pub(super) const MAIN: &str = "void run(int *); int main() { run(nullptr); }\n";

/// Two targets, one of them with PTX.
pub(super) const TWO_TARGETS: &str =
    "-gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_90,code=sm_90";

/// A folder to build in.
pub(super) struct Build {
    pub toolchain: PathBuf,
    pub folder: TempDir,
}

impl Build {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        fs::write(self.path(name), text).map_err(|error| error.to_string())
    }

    pub(super) fn tool(&self, program: &Path, args: &str) -> Result<(), String> {
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

    pub(super) fn nvcc(&self, args: &str) -> Result<(), String> {
        self.tool(&self.toolchain.join("nvcc/cuda/bin/nvcc"), args)
    }

    pub(super) fn clang(&self, args: &str) -> Result<(), String> {
        self.tool(
            &self.toolchain.join("clang/bin/clang-22"),
            &self.clang_flags(args),
        )
    }

    pub(super) fn clang_flags(&self, args: &str) -> String {
        format!(
            "--cuda-path={0}/cuda -Wno-unknown-cuda-version -isystem {0}/stubs -isystem {0}/cuda/include/cccl \
             --no-offload-new-driver --cuda-gpu-arch=sm_90 {args}",
            self.toolchain.join("clang").display()
        )
    }

    pub(super) fn document(&self, args: &str) -> Result<(i32, Value), String> {
        let output = binary::command()
            .current_dir(self.folder.path())
            .args(args.split_whitespace())
            .output()
            .map_err(|error| error.to_string())?;
        let document: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
        Ok((output.status.code().unwrap_or(-1), document))
    }

    pub(super) fn check(&self, args: &str) -> Result<Value, String> {
        let (_, document) = self.document(&format!("check --format json --places all {args}"))?;
        all_empty(&schema::problems(&document))?;
        Ok(document)
    }

    pub(super) fn audit(&self, args: &str) -> Result<Value, String> {
        let (_, document) = self.document(&format!("audit --format json --places all {args}"))?;
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
pub(super) fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{what}: found {found:?}, wanted {wanted:?}"))
    }
}

/// A column of the first input's images, as text; missing values are empty.
pub(super) fn column<'a>(document: &'a Value, key: &str) -> Vec<&'a str> {
    let images = document["inputs"][0]["images"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    images
        .iter()
        .map(|image| image[key].as_str().unwrap_or_default())
        .collect()
}

pub(super) fn codes(document: &Value) -> Vec<&str> {
    report::codes(document)
}

/// The messages of the findings of one rule.
pub(super) fn messages(document: &Value, code: &str) -> Vec<String> {
    let findings = document["findings"].as_array().map_or(&[][..], Vec::as_slice);
    findings
        .iter()
        .filter(|finding| finding["code"] == code)
        .filter_map(|finding| finding["message"].as_str().map(str::to_owned))
        .collect()
}

//! `ptxcheck.mk`.

use ptxcheck_tests::root;

use super::project::{CommandOutput, on_path};
use super::workspace::Workspace;

/// Runs make with the file in its path.
fn make(workspace: &Workspace, arguments: &[&str]) -> Result<CommandOutput, String> {
    let folder = root().join("tools/make").display().to_string();
    workspace.run("make", &[&["-I", &folder][..], arguments].concat())
}

/// The example has a defect: found, found again without a compilation, fixed, unchanged, checked again when its inputs change.
pub(super) fn example() -> Result<(), String> {
    on_path("make")?;
    let workspace = Workspace::of("tools/make/example")?;
    let place = workspace.place("sums.cu", "mask >> 32")?;
    let first = make(&workspace, &[])?.must_fail()?;
    first.has(&place)?.has("PTX407")?.has("nvcc -arch")?;
    let again = make(&workspace, &["-k"])?.must_fail()?;
    again.has(&place)?.has_no("nvcc -arch")?;
    if !workspace.path("libsums.a").is_file() {
        return Err("the library went away with a check that failed".to_owned());
    }
    workspace.replace("sums.cu", "mask >> 32", "mask")?;
    make(&workspace, &[])?.must_succeed()?.has("nvcc -arch")?;
    is_up_to_date(&workspace)?;

    workspace.write("ptxcheck.toml", "[launch]\nblock = [64]\n")?;
    make(&workspace, &[])?
        .must_succeed()?
        .has("--config ./ptxcheck.toml")?
        .has_no("nvcc -arch")?;
    is_up_to_date(&workspace)?;
    make(&workspace, &["PTXCHECK_CONFIG=none.toml"])?
        .must_fail()?
        .has("PTXCHECK_CONFIG: there is no none.toml")?;
    make(&workspace, &["clean"])?.must_succeed()?;
    if workspace.path("sums.o.ptxcheck").exists() {
        return Err("a stamp is left".to_owned());
    }
    Ok(())
}

fn is_up_to_date(workspace: &Workspace) -> Result<(), String> {
    make(workspace, &[])?.must_succeed()?.has("Nothing to be done")?;
    Ok(())
}

/// A copy of the program that is newer than the stamps, and a failure among several, side by side.
pub(super) fn several() -> Result<(), String> {
    on_path("make")?;
    let workspace = Workspace::of("tools/make/example")?;
    let right = workspace.read("sums.cu")?.replace("mask >> 32", "mask");
    for name in ["one.cu", "two.cu"] {
        workspace.write(name, &right)?;
    }
    // Files that only stamps name stay, and PTX is a file like others.
    workspace.write(
        "Makefile",
        "include ptxcheck.mk\nall: $(call ptxcheck,sums.o one.o two.ptx) $(call ptxcheck,)\n\
         %.o: %.cu\n\tnvcc -arch=sm_90 -lineinfo -c $< -o $@\n%.ptx: %.cu\n\tnvcc -arch=sm_90 -lineinfo -ptx $< -o $@\n",
    )?;
    let said = make(&workspace, &["-k", "-j2"])?.must_fail()?;
    said.has("sums.cu:5:")?.has_no("one.cu:")?.has_no("two.cu:")?;
    for name in ["sums.o", "one.o", "two.ptx", "one.o.ptxcheck", "two.ptx.ptxcheck"] {
        if !workspace.path(name).is_file() {
            return Err(format!("{name} is missing"));
        }
    }
    workspace.write("sums.cu", &right)?;
    make(&workspace, &["-k", "-j2"])?.must_succeed()?.has_no("one")?;
    is_up_to_date(&workspace)?;
    std::fs::copy(ptxcheck_tests::binary::path(), workspace.path("ptxcheck"))
        .map_err(|error| error.to_string())?;
    let said = make(&workspace, &["PTXCHECK=./ptxcheck"])?.must_succeed()?;
    said.has("./ptxcheck check -q -j 1 one.o")?.has_no("nvcc -arch")?;
    Ok(())
}

/// Machine code alone: a warning, or PTX made by the command that the makefile names.
pub(super) fn without_ptx() -> Result<(), String> {
    on_path("make")?;
    let workspace = Workspace::of("tools/make/example")?;
    let flags = "NVCCFLAGS=-gencode arch=compute_90,code=sm_90 -DNAME='\"a b\"'";
    let compile = "PTXCHECK_COMPILE=$(NVCC) $(NVCCFLAGS) -c $(<:.o=.cu) -o $<";
    make(&workspace, &[flags])?
        .must_succeed()?
        .has("warning: 1 of 1 kernel was not analysed")?;
    make(&workspace, &["clean"])?.must_succeed()?;
    let said = make(&workspace, &[flags, compile])?.must_fail()?;
    said.has("sums.cu:5:")?.has_no("not analysed")?;
    workspace.replace("sums.cu", "mask >> 32", "mask")?;
    make(&workspace, &[flags, compile])?.must_succeed()?;
    is_up_to_date(&workspace)
}

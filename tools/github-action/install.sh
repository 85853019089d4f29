#!/usr/bin/env bash
# The first step of the action: puts ptxcheck on the PATH of the steps behind it, built from the action's own sources unless it is
# there already.
#
# usage: install.sh     with GITHUB_PATH and RUNNER_TEMP as a runner sets them
#
# Rust 1.95 or newer is wanted. With LLVM 22's headers `ptxcheck-llvm` is built, too, which reads LLVM IR.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if command -v ptxcheck >/dev/null; then
  echo "$(ptxcheck --version) is installed"
  exit
fi
if ! command -v cargo >/dev/null; then
  echo "::error title=ptxcheck::there is neither ptxcheck nor cargo on PATH: install Rust 1.95 or newer before this step"
  exit 2
fi
folder=${RUNNER_TEMP:-/tmp}/ptxcheck
packages=(ptxcheck)
! "$root/tools/toolchain/has-llvm.sh" 22 || packages+=(llvm-worker)
for package in "${packages[@]}"; do
  cargo install --quiet --locked --path "$root/tools/$package" --root "$folder"
done
echo "$folder/bin" >>"$GITHUB_PATH"

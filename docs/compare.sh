#!/usr/bin/env bash
# The figures of the page "Comparison": how many of the wrong kernels below corpus/defects each tool says something about.
#
# usage: docs/compare.sh [PTXCHECK]     default: target/release/ptxcheck
# Needs `make toolchain llvm`. Prints a line for each tool.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${1:-$root/target/release/ptxcheck}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

count() { wc -l <"$1" | tr -d ' '; }
: >"$work/ptxcheck" >"$work/potential" >"$work/ptxas" >"$work/lint" >"$work/ir" >"$work/llvm"

for file in corpus/defects/*/wrong*.ptx; do
  echo "$file" >>"$work/all"
  [ -z "$("$program" check -q --format concise "$file" 2>&1)" ] || echo "$file" >>"$work/ptxcheck"
  [ -z "$("$program" check -q --format concise -W potential "$file" 2>&1)" ] || echo "$file" >>"$work/potential"
  target=$(grep -m1 -oE '^\.target sm_[0-9a-z]+' "$file" | cut -d' ' -f2)
  [ -z "$(.toolchain/nvcc/cuda/bin/ptxas -arch="$target" -c -o /dev/null "$file" 2>&1)" ] || echo "$file" >>"$work/ptxas"
done
for file in corpus/defects/*/wrong.cu; do
  tools/toolchain/compile.sh clang sm_90 O3 "$file" "$work/k.ll" -emit-llvm >/dev/null 2>&1 || continue
  echo "$file" >>"$work/ir"
  [ -z "$(opt-22 -passes=verify,lint -disable-output "$work/k.ll" 2>&1)" ] || echo "$file" >>"$work/lint"
  [ -z "$("$program" check -q --format concise "$work/k.ll" 2>&1)" ] || echo "$file" >>"$work/llvm"
done

echo "ptxas: $(count "$work/ptxas") of $(count "$work/all")"
echo "ptxcheck, definite: $(count "$work/ptxcheck") of $(count "$work/all")"
echo "ptxcheck, -W potential: $(count "$work/potential") of $(count "$work/all")"
echo "LLVM's verifier and lint, on clang's IR: $(count "$work/lint") of $(count "$work/ir")"
echo "ptxcheck, definite, on clang's IR: $(count "$work/llvm") of $(count "$work/ir")"

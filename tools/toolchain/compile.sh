#!/usr/bin/env bash
# Compiles one CUDA source to PTX or LLVM IR with a compiler of .toolchain, without paths of this machine in the result.
#
# usage: compile.sh [--show] [--cut-debug] COMPILER TARGET MODE SOURCE OUTPUT [EXTRA FLAGS…]
#
#   COMPILER  nvcc or clang
#   TARGET    sm_75, sm_90, sm_120, …
#   MODE      a mode of compilers.tsv: O3 (optimised, with line information), G (a debug build), ir-O2 and ir-O0 (LLVM IR)
#   SOURCE    flags are added from its `// nvcc-flags:` or `// clang-flags:` line
#   OUTPUT    the file; written only if the compiler succeeds
#   --show       prints the command as a user of an installed compiler would type it, and compiles nothing
#   --cut-debug  leaves the DWARF sections and `.target …, debug` out (.file and .loc stay)
#
# Exit codes: 0 compiled, 1 the compiler reports errors (on stderr), 2 wrong usage, 3 that compiler isn't installed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
toolchain=$(cd "$here/../.." && pwd)/.toolchain

show=false
normalise_args=()
while [[ ${1:-} == --* ]]; do
  case $1 in
    --show) show=true ;;
    --cut-debug) normalise_args+=(--cut-debug) ;;
    *) echo "compile.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ $# -lt 5 ]; then
  sed -n 's/^# usage: /usage: /p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
compiler=$1 target=$2 mode=$3 source=$4 output=$5
shift 5

# The flags that the source asks for in its comment block at the top.
directive() {
  sed -n -e '/^\/\//!q' -e "s|^// $1: *||p" "$source"
}

name=$(basename "$source")
read -r -a own_flags <<<"$(directive "$compiler-flags" | tr '\n' ' ')"
line=$(awk -F '\t' -v compiler="$compiler" -v mode="$mode" '$1 == compiler && $3 == mode { print $4 }' "$here/compilers.tsv")
[ -n "$line" ] || { echo "compile.sh: compilers.tsv has no mode $mode of $compiler" >&2; exit 2; }
read -r -a flags <<<"${line//\{target\}/$target}"
flags+=("${own_flags[@]}" "$@")

if $show; then
  program=nvcc
  [ "$compiler" = nvcc ] || program=clang-22
  echo "$program ${flags[*]} -o $(basename "$output") $name"
  exit
fi

if [ ! -f "$toolchain/$compiler/stamp" ]; then
  echo "skipped: $compiler is not installed; run tools/toolchain/install.sh" >&2
  exit 3
fi
case $compiler in
  nvcc)
    command=("$toolchain/nvcc/cuda/bin/nvcc"
      # `assert` in the headers makes `__FILE__` a string of the module: bytes that normalise.py can't see.
      -Xcompiler "-fmacro-prefix-map=$toolchain/nvcc/cuda/bin/../include=cuda/include")
    ;;
  clang)
    command=("$toolchain/clang/bin/clang-22" "--cuda-path=$toolchain/clang/cuda" -Wno-unknown-cuda-version
      -isystem "$toolchain/clang/stubs" -isystem "$toolchain/clang/cuda/include/cccl"
      # clang splits a path where it leaves the working directory's: replaced before that, it is the same everywhere.
      "-ffile-prefix-map=$toolchain/clang/cuda/include=cuda/include"
      "-ffile-prefix-map=$toolchain/clang/stubs=cuda/include"
      "-ffile-prefix-map=/usr/lib/llvm-22/lib/clang/22/include=clang/include")
    ;;
esac

source_dir=$(cd "$(dirname "$source")" && pwd)
work=$(mktemp -d -t ptxcheck.XXXXXX)
trap 'rm -rf "$work"' EXIT
# Both compilers write the working directory into their output, so it is one that normalise.py can recognise.
cp "$source" "$work/$name"
(cd "$work" && TMPDIR=$work "${command[@]}" "${flags[@]}" -I "$source_dir" -o "$work/out.ptx" "$name") >&2 || exit 1
python3 "$here/normalise.py" "${normalise_args[@]}" "$work/out.ptx" \
  "$work/=" "$source_dir/=" "$work=/build" \
  "$toolchain/nvcc/cuda/bin/../include=cuda/include" \
  "$toolchain/nvcc/cuda/include=cuda/include" \
  "$toolchain/nvcc/nvidia/cu13/include=cuda/include"
mv "$work/out.ptx" "$output"

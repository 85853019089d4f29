#!/usr/bin/env bash
# Whether the headers of LLVM, or the libraries of MLIR, are where the build looks for them: below LLVM_SYS_221_PREFIX (LLVM_SYS_191_PREFIX), else
# where an llvm-config on PATH says, else where Homebrew has them.
#
# usage: has-llvm.sh 22|19|mlir-22
#
# Exit codes: 0 yes, 1 no, 2 wrong usage.
set -euo pipefail

version=${1:-}
case $version in
  22 | 19 | mlir-22) ;;
  *)
    echo "usage: has-llvm.sh 22|19|mlir-22" >&2
    exit 2
    ;;
esac

wanted=include/llvm-c/Core.h
if [ "$version" = mlir-22 ]; then
  version=22 wanted=lib/libMLIRCAPIIR.a
fi
variable=LLVM_SYS_${version}1_PREFIX
folder=${!variable:+${!variable}/bin/}
candidates=("${folder}llvm-config-$version" "${folder}llvm-config$version" "${folder}llvm$version-config"
  "${folder}llvm-config-$version.1" "${folder}llvm-config")
if command -v brew >/dev/null; then
  candidates+=("$(brew --prefix)/opt/llvm@$version/bin/llvm-config")
fi
for candidate in "${candidates[@]}"; do
  config=$(command -v "$candidate") || continue
  case $("$config" --version) in
    "$version".*) ;;
    *) continue ;;
  esac
  case $wanted in
    include/*) file=$("$config" --includedir)/${wanted#include/} ;;
    *) file=$("$config" --libdir)/${wanted#lib/} ;;
  esac
  if [ -e "$file" ]; then
    exit 0
  fi
done
exit 1

#!/usr/bin/env bash
# Compiles CUDA sources to PTX in a temporary folder and checks it.
#
# usage: check-sources.sh [--check=OPTION]… [OPTION OF NVCC]… [--] SOURCE.cu…
#
#   OPTION OF NVCC  with its value in the same word, as -arch=sm_90 or -Iinclude; -lineinfo is added. What does not begin with a
#                   dash is a source.
#   --check=OPTION  an option of `ptxcheck check`, as --check=--fail-on=warning
#
# PTXCHECK and NVCC are the programs, unless they are on PATH.
#
# Exit codes: 0 nothing found, 1 findings or errors of the compiler, 2 wrong usage, a program that is missing, or code that could
# not be analysed.
set -uo pipefail

ptxcheck=${PTXCHECK:-ptxcheck}
nvcc=${NVCC:-nvcc}
flags=(-lineinfo)
check=()
sources=()
literal=false
for word in "$@"; do
  case $literal:$word in
    false:--) literal=true ;;
    false:--check=*) check+=("${word#--check=}") ;;
    false:-*) flags+=("$word") ;;
    *) sources+=("$word") ;;
  esac
done
if [ ${#sources[@]} -eq 0 ]; then
  echo "check-sources.sh: no source is named" >&2
  exit 2
fi
for program in "$ptxcheck" "$nvcc"; do
  if ! command -v "$program" >/dev/null; then
    echo "check-sources.sh: there is no program \`$program\` (PTXCHECK and NVCC name those that are not on PATH)" >&2
    exit 2
  fi
done

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
worst=0
note() {
  [ "$1" -le "$worst" ] || worst=$1
}

# One folder each: sources of one name in several folders are several modules.
modules=()
for index in "${!sources[@]}"; do
  source=${sources[index]}
  # nvcc takes a dash for an option, wherever it stands.
  [[ $source != -* ]] || source=./$source
  name=$(basename "$source" .cu)
  mkdir "$folder/$index" || exit 2
  if "$nvcc" "${flags[@]}" -ptx -o "$folder/$index/$name.ptx" "$source" 2>"$folder/said"; then
    modules+=("$folder/$index/$name.ptx")
  else
    cat "$folder/said" >&2
    note 1
  fi
done
if [ ${#modules[@]} -gt 0 ]; then
  "$ptxcheck" check -q --allow-empty ${check[@]+"${check[@]}"} "${modules[@]}"
  note $?
fi
exit "$worst"

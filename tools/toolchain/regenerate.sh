#!/usr/bin/env bash
# Writes the compiled files of the corpus anew from corpus/cuda, with the compilers of .toolchain:
#
#   corpus/compilers/nvcc-<version>/   <source>.<target>.<mode>.ptx and commands.tsv
#   corpus/compilers/clang-<version>/  likewise
#   corpus/demo/                       <source>.ptx, release.fatbin and commands.tsv
#   corpus/defects/<case>/             wrong.ptx and fixed.ptx
#
# usage: regenerate.sh [nvcc|clang|demo|defects|all]      default: all
#
# commands.tsv has a line for each file: its name, the command that made it, and `cut-debug` if the DWARF sections were
# removed afterwards. Folders of other compiler versions stay as they are.
# Exit codes: 0 written, 1 a source does not compile, 2 wrong usage, 3 "skipped: <why>" on stderr.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
toolchain=$root/.toolchain
sources=$root/corpus/cuda

# What is committed, to keep the folder small: all of the optimised builds; debug builds for one target of each code
# generator (nvcc has one up to sm_90 and another one from sm_100 on), without the sources whose debug build is large.
targets_O3="sm_75 sm_90 sm_120"
targets_G_nvcc="sm_75 sm_120"
targets_G_clang="sm_90"
large_G="cub_reduce cub_scan cooperative_groups_ok cooperative_partitions_ok space_cluster space_copies_ok space_bulk_copies_ok"

# The demo, of sources below corpus/demo and corpus/cuda: COMPILER TARGET MODE SOURCE.
demo="
nvcc  sm_90  O3 host_table
nvcc  sm_90  O3 partial_warp
nvcc  sm_90  O3 tile_pointer
nvcc  sm_75  O3 wide_params
nvcc  sm_90  O3 softmax_rows
clang sm_120 O3 aggregated_atomics
"

has_word() {
  [[ " $1 " == *" $2 "* ]]
}

# The value of directive $2 in the comment block at the top of source $1.
directive() {
  sed -n -e '/^\/\//!q' -e "s|^// $2: *||p" "$1"
}

# Lists "COMPILER TARGET MODE SOURCE OUTPUT" for everything that compiler $1 makes in the corpus.
selection() {
  local compiler=$1 source stem only mode target targets
  for source in "$sources"/*.cu; do
    stem=$(basename "$source" .cu)
    only=$(directive "$source" compilers)
    [ -z "$only" ] || has_word "$only" "$compiler" || continue
    only=$(directive "$source" targets)
    for mode in O3 G; do
      targets=$targets_O3
      if [ $mode = G ]; then
        ! has_word "$large_G" "$stem" || continue
        targets=targets_G_$compiler
        targets=${!targets}
        # A source for a few targets only gets the first of them.
        [ -z "$only" ] || targets=${only%% *}
      fi
      for target in $targets; do
        [ -z "$only" ] || has_word "$only" "$target" || continue
        echo "$compiler $target $mode $stem $stem.$target.$mode.ptx"
      done
    done
  done
}

demo_selection() {
  local compiler target mode stem
  while read -r compiler target mode stem; do
    [ -z "$compiler" ] || echo "$compiler $target $mode $stem $stem.ptx"
  done <<<"$demo"
}

# Compiles one line of a selection into $out. Only clang's debug builds with the CUDA headers are cut: those headers
# alone make 600 kB of DWARF.
compile_one() {
  local compiler=$1 target=$2 mode=$3 source=$sources/$4.cu file=$5 options=()
  [ -f "$source" ] || source=$root/corpus/cuda/$4.cu
  if [ "$compiler-$mode" = clang-G ] && ! grep -q -- -nocudainc "$source"; then
    options=(--cut-debug)
  fi
  "$here/compile.sh" "${options[@]}" "$compiler" "$target" "$mode" "$source" "$out/$file" 2>"$out/$file.log" || {
    echo "regenerate.sh: $file:" >&2
    cat "$out/$file.log" >&2
    return 255
  }
  rm "$out/$file.log"
  local command
  command=$("$here/compile.sh" --show "$compiler" "$target" "$mode" "$source" "$file")
  printf '%s\t%s\t%s\n' "$file" "$command" "${options[*]#--}" >"$out/$file.command"
}

# Makes folder $1 of the selection on standard input.
write_folder() {
  local folder=$1 list
  out=$(mktemp -d)
  list=$(cat)
  export -f compile_one
  export here root sources out
  # shellcheck disable=SC2016
  echo "$list" | xargs -P "$(nproc)" -L 1 bash -c 'compile_one "$@"' compile_one || { rm -rf "$out"; exit 1; }
  { printf 'file\tcommand\tafterwards\n'; LC_ALL=C sort "$out"/*.command; } >"$out/commands.tsv"
  rm "$out"/*.command
  leaks=$(python3 "$here/find_paths.py" "$out"/*.ptx "$root" "$(dirname "$out")/" "${HOME:-$root}") ||
    { echo "regenerate.sh: paths of this machine in the output:"; echo "$leaks"; rm -rf "$out"; exit 1; } >&2
  mkdir -p "$folder"
  find "$folder" -maxdepth 1 \( -name '*.ptx' -o -name commands.tsv \) -delete
  mv "$out"/* "$folder"
  rmdir "$out"
  echo "${folder#"$root"/}: $(echo "$list" | wc -l) files, $(du -sb "$folder" | cut -f 1) bytes"
}

# Compiles the fat binary of the demo. Without line information, no path comes into it.
write_release() {
  local args=(-fatbin -gencode "arch=compute_75,code=compute_75" -gencode "arch=compute_90,code=compute_90"
    release.cu -o release.fatbin)
  (cd "$root/corpus/demo" && "$toolchain/nvcc/cuda/bin/nvcc" "${args[@]}")
  printf 'release.fatbin\tnvcc %s\t\n' "${args[*]}" >>"$root/corpus/demo/commands.tsv"
}

# Compiles the defects, for sm_90 or the target that the source says.
write_defects() {
  local source target
  for source in "$root"/corpus/defects/*/*.cu; do
    target=$(directive "$source" target)
    "$here/compile.sh" nvcc "${target:-sm_90}" O3 "$source" "${source%.cu}.ptx"
  done
}

what=${1:-all}
case $what in
  nvcc | clang | demo | defects | all) ;;
  *)
    echo "usage: regenerate.sh [nvcc|clang|demo|defects|all]" >&2
    exit 2
    ;;
esac
for compiler in nvcc clang; do
  if [ ! -f "$toolchain/$compiler/stamp" ]; then
    echo "skipped: $compiler is not installed; run tools/toolchain/install.sh" >&2
    exit 3
  fi
done
if [ "$what" = nvcc ] || [ "$what" = all ]; then
  version=$("$toolchain/nvcc/cuda/bin/nvcc" --version | sed -n 's/.*, V\([0-9.]*\)$/\1/p')
  selection nvcc | write_folder "$root/corpus/compilers/nvcc-$version"
fi
if [ "$what" = clang ] || [ "$what" = all ]; then
  version=$("$toolchain/clang/bin/clang-22" --version | sed -n 's/.*clang version \([0-9.]*\).*/\1/p')
  selection clang | write_folder "$root/corpus/compilers/clang-$version"
fi
if [ "$what" = demo ] || [ "$what" = all ]; then
  (sources=$root/corpus/demo && demo_selection | write_folder "$root/corpus/demo")
  write_release
fi
if [ "$what" = defects ] || [ "$what" = all ]; then
  write_defects
fi

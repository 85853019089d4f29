#!/usr/bin/env bash
# Builds the wheel of the program and of what reads LLVM IR for it, with the CMake package and ptxcheck.mk in its data.
#
# usage: wheel.sh [FOLDER]      default: <repository>/target/wheel
#
# Prints the wheel's place; cargo and maturin say on standard error what they build, below CARGO_TARGET_DIR where that is set. `ptxcheck-llvm` is linked with Debian's archives of LLVM 22, zlib and zstd and the compiler's archive
# of the library of C++, so that a machine needs nothing but the C library of the platform tag.
# Exit codes: 0 built, 1 it could not be, 3 "skipped: <why>" on stderr: something that it is built with is missing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$root/target/wheel}
maturin=$root/.toolchain/wheel/packages/bin/maturin
mkdir -p "$out"
out=$(cd "$out" && pwd)

skip() {
  echo "skipped: $*" >&2
  exit 3
}

[ -x "$maturin" ] || skip "maturin is not installed; run tools/toolchain/install.sh wheel"
missing=$("$here/static-llvm/bin/llvm-config" --missing) || skip "a wheel has LLVM inside, and there is no $missing"

# Files of the wheel that lie elsewhere in the repository: maturin takes them from beside pyproject.toml.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package=$work/package
share=$package/ptxcheck.data/data/share
install -D -m 644 -t "$share/cmake/ptxcheck" "$root"/tools/cmake/*.cmake
install -D -m 644 -t "$share/ptxcheck" "$root/tools/make/ptxcheck.mk"
cp "$here/README.md" "$root/LICENSE-APACHE" "$root/LICENSE-MIT" "$package"
mkdir "$package/src"
cp -r "$here/src/ptxcheck" "$package/src"
find "$package/src" -name __pycache__ -prune -exec rm -r {} +
"$here/notices.py" >"$package/LICENSES-OF-OTHERS"
sed "s|^manifest-path = .*|manifest-path = \"$root/tools/ptxcheck/Cargo.toml\"|" "$here/pyproject.toml" >"$package/pyproject.toml"

# No path of this machine comes into the programs.
flags="${RUSTFLAGS:-} --remap-path-prefix=$root=ptxcheck"
for source in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
  flags+=" --remap-path-prefix=$source=crates"
done

build=${CARGO_TARGET_DIR:-$out/build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
export RUSTFLAGS=$flags LLVM_SYS_221_PREFIX=$here/static-llvm CARGO_TARGET_DIR=$build
cargo build --locked --manifest-path "$root/Cargo.toml" --profile dist --package ptxcheck-llvm
install -D -t "$package/ptxcheck.data/scripts" "$build/dist/ptxcheck-llvm"
# maturin looks at its own program alone, and refuses a tag that this one is too new for.
glibc=$(readelf --version-info --wide "$build/dist/ptxcheck-llvm" | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)

cd "$package"
PYTHONPATH=$root/.toolchain/wheel/packages \
  "$maturin" build --strip --compatibility "manylinux_2_${glibc#GLIBC_2.}" --out "$work/made" >&2
wheel=$(basename "$work"/made/*.whl)
# The archive and the tests take the programs from here.
[ "$build" = "$out/build" ] || install -D -t "$out/build/dist" "$build"/dist/ptxcheck{,-llvm}
rm -f "$out"/ptxcheck-*.whl
mv "$work/made/$wheel" "$out/$wheel"
echo "$out/$wheel"

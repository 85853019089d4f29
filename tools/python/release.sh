#!/usr/bin/env bash
# Writes the files of a release into a folder, from what `make archive` has made.
#
# usage: release.sh FOLDER
#
#   ptxcheck-*.whl, ptxcheck-*.tar.gz    the wheel, and the archive for `cargo binstall`
#   ptxcheck-VERSION.cdx.json            the bill of materials of both (CycloneDX 1.6)
#   RELEASE.md                           a draft of the text, from CHANGELOG.md
#   SHA256SUMS                           for `sha256sum --check`
#
# Exit codes: 0 written, 1 it could not be, 2 wrong usage.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: release.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)

shopt -s nullglob
files=("$root/target/wheel/ptxcheck-$version"-*.whl "$root/target/archive/ptxcheck-$version"-*.tar.gz)
[ ${#files[@]} -eq 2 ] || { echo "release.sh: there is no wheel or no archive of $version: run \`make archive\`" >&2; exit 1; }

mkdir -p "$1"
cd "$1"
# A file of an earlier run would be listed as one of this release.
rm -f ptxcheck-*.whl ptxcheck-*.tar.gz ptxcheck-*.cdx.json RELEASE.md SHA256SUMS
cp "${files[@]}" .
PYTHONDONTWRITEBYTECODE=1 "$here/sbom.py" "$version" >"ptxcheck-$version.cdx.json"
{
  echo "# ptxcheck $version"
  # The section of the version, without its heading.
  awk -v version="$version" '$1 == "##" { inside = $2 == version; next } inside' "$root/CHANGELOG.md"
  printf '## Files\n\n| file | bytes | SHA-256 |\n| --- | --- | --- |\n'
  for file in ptxcheck-*; do
    printf '| `%s` | %s | `%s` |\n' "$file" "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -d ' ' -f 1)"
  done
} >RELEASE.md
sha256sum ptxcheck-* RELEASE.md >SHA256SUMS
echo "$PWD"

#!/usr/bin/env bash
# Builds the site of the documentation.
#
# usage: docs/build.sh [FOLDER]     default: target/site; the pages are in FOLDER/book
# The pages are those in docs/src, those that lie beside what they describe, and one for each rule, made of the rule's file.
# mdbook is built from its source, once, into .toolchain/mdbook.
set -euo pipefail

MDBOOK=0.5.4

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/target/site}
cd "$root"
mdbook=$root/.toolchain/mdbook/bin/mdbook
if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$MDBOOK" ]; then
  # Without what serves pages while they are written.
  cargo install --quiet --locked --force --no-default-features --features search --version "$MDBOOK" \
    --root "$root/.toolchain/mdbook" mdbook
fi

rm -rf "$out"
mkdir -p "$out"
cp docs/book.toml "$out"
cp -r docs/src "$out/src"
sed 's#](\.\./\.\./docs/src/#](#g' tools/ptxcheck/CONFIGURATION.md >"$out/src/configuration.md"
mkdir "$out/src/schema"
cp tools/ptxcheck/schema/*.json passes/report/schema/*.json "$out/src/schema"
# The page of a tool is what lies beside it; its other files are no pages.
for tool in cmake make launcher llvm-plugin pre-commit github-action container; do
  sed -e "s#\[[A-Za-z/]*\](\(example\|Containerfile\))#\`tools/$tool/\1\`#g" \
    -e 's#](\.\./\([a-z-]*\)/README\.md)#](\1.md)#g' -e 's#](\.\./\.\./docs/src/#](#g' \
    "tools/$tool/README.md" >"$out/src/$tool.md"
done
cargo run --quiet --locked --package ptxcheck-passes --example rule_pages -- "$out/src"
"$mdbook" build "$out"

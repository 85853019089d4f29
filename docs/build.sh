#!/usr/bin/env bash
# Builds the site of the documentation.
#
# usage: docs/build.sh [FOLDER]     default: target/site; the pages are in FOLDER/book
# passes/examples/site_pages writes the pages: those of docs/src, those beside the tools, and one for each rule.
# mdBook is installed once, into .toolchain/mdbook.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/target/site}
cd "$root"
tools/toolchain/install.sh mdbook

rm -rf "$out"
mkdir -p "$out"
cp docs/book.toml docs/site.css docs/site.js "$out"
# `make site` and the tests have built this program.
if [ -n "${SITE_PAGES:-}" ]; then
  "$SITE_PAGES" "$out/src"
else
  cargo run --quiet --locked --package ptxcheck-passes --example site_pages -- "$out/src"
fi
.toolchain/mdbook/bin/mdbook build "$out"

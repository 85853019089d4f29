#!/usr/bin/env bash
# The first step of the action: installs the wheel of a version into a folder, and puts its programs on the PATH of later steps.
#
# usage: install.sh     with the inputs as PTXCHECK_VERSION and PTXCHECK_FROM, and GITHUB_PATH and RUNNER_TEMP as a runner sets them
#
# uv installs it where it is on PATH, else pip. Nothing is installed if the folder, which the action caches, has the version, or if
# PATH has it and PTXCHECK_FROM is empty. A wheel that PTXCHECK_FROM names is always installed.
#
# Exit codes: 0 it is on PATH, 2 an input is wrong or it could not be installed.
set -euo pipefail

version=${PTXCHECK_VERSION:-}
from=${PTXCHECK_FROM:-}
folder=${RUNNER_TEMP:-/tmp}/ptxcheck
program=$folder/bin/ptxcheck

fail() {
  echo "::error title=ptxcheck::$*"
  exit 2
}

# Whether $1 is a program of the version that is asked for.
has_version() {
  [ "$("$1" --version 2>/dev/null || true)" = "ptxcheck $version" ]
}

[[ $version =~ ^[0-9][0-9A-Za-z.]*$ ]] || fail "the input \`version\` is not a version: \`$version\`"
what=ptxcheck==$version
source=()
case $from in
  '') ;;
  http://* | https://*) source=(--index-url "$from") ;;
  *.whl)
    [ -f "$from" ] || fail "the input \`from\` names a wheel that does not exist: \`$from\`"
    what=$from
    ;;
  *)
    [ -d "$from" ] || fail "the input \`from\` is no URL, no folder and no wheel: \`$from\`"
    source=(--no-index --find-links "$from")
    ;;
esac

if [ -z "$from" ] && has_version ptxcheck; then
  echo "ptxcheck $version is installed"
  exit
fi
if [ "$what" = "$from" ] || ! has_version "$program"; then
  if command -v uv >/dev/null; then
    pip=(uv pip install --quiet --no-python-downloads)
  elif python3 -m pip --version >/dev/null 2>&1; then
    pip=(python3 -m pip install --quiet --disable-pip-version-check --no-input)
  else
    fail "there is neither uv nor a python3 with pip on PATH: install one before this step"
  fi
  rm -rf "$folder"
  "${pip[@]}" --no-deps --target "$folder" ${source[@]+"${source[@]}"} "$what" ||
    fail "\`$what\` could not be installed from ${from:-the index of pip}: it has no such version, or no wheel for this machine"
fi
installed=$("$program" --version) || fail "the installed program does not run on this machine"
echo "$installed is installed"
echo "$folder/bin" >>"$GITHUB_PATH"

#!/usr/bin/env bash
# The second step of the action: checks, prints the findings, and puts each on its line as an annotation.
#
# usage: check.sh     with the inputs as PTXCHECK_PATHS, PTXCHECK_OPTIONS, PTXCHECK_FAIL_ON, PTXCHECK_REPORT and PTXCHECK_SARIF, and
#                     GITHUB_OUTPUT, GITHUB_STEP_SUMMARY, GITHUB_WORKSPACE and RUNNER_TEMP as a runner sets them
#
# Exit codes: those of `ptxcheck check`.
set -uo pipefail

annotations=$(mktemp "${RUNNER_TEMP:-/tmp}/ptxcheck-XXXXXX.txt") || exit 2
arguments=(--output "github=$annotations" --root "${GITHUB_WORKSPACE:-.}")
if [ -n "${PTXCHECK_REPORT:-}" ]; then
  arguments+=(--output "json=$PTXCHECK_REPORT")
fi
# GitHub makes open alerts of what is suppressed, too.
if [ -n "${PTXCHECK_SARIF:-}" ]; then
  arguments+=(--output "sarif=$PTXCHECK_SARIF" --sarif-results definite)
fi

# Words as in a shell, of which nothing is run or expanded.
words() {
  python3 -c 'import shlex, sys; [print(word, end="\0") for word in shlex.split(sys.argv[1])]' "$1"
}
for text in "${PTXCHECK_OPTIONS:-}" "${PTXCHECK_PATHS:-build}"; do
  # A quote that is never closed.
  if ! words "$text" >/dev/null 2>&1; then
    echo "::error title=ptxcheck::\`$text\` can't be split into words"
    exit 2
  fi
  while IFS= read -r -d '' word; do
    arguments+=("$word")
  done < <(words "$text")
done

code=0
ptxcheck check --fail-on "${PTXCHECK_FAIL_ON:-error}" "${arguments[@]}" || code=$?
cat "$annotations"
rm -f "$annotations"
echo "exit-code=$code" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"

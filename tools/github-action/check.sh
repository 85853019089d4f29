#!/usr/bin/env bash
# The second step of the action: checks, prints the findings, and puts each on its line as an annotation.
#
# usage: check.sh     with the inputs as PTXCHECK_PATHS, PTXCHECK_OPTIONS, PTXCHECK_FAIL_ON and PTXCHECK_REPORT, and
#                     GITHUB_OUTPUT, GITHUB_WORKSPACE and RUNNER_TEMP as a runner sets them
#
# Exit codes: those of `ptxcheck check`.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
report=${PTXCHECK_REPORT:-}
if [ -z "$report" ]; then
  report=$(mktemp "${RUNNER_TEMP:-/tmp}/ptxcheck-XXXXXX.json") || exit 2
fi

# Words as in a shell, of which nothing is run or expanded.
words() {
  python3 -c 'import shlex, sys; [print(word, end="\0") for word in shlex.split(sys.argv[1])]' "$1"
}
arguments=()
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
ptxcheck check --fail-on "${PTXCHECK_FAIL_ON:-error}" --output "json=$report" "${arguments[@]}" || code=$?
if [ -s "$report" ]; then
  python3 "$here/annotate.py" "$report"
fi
echo "exit-code=$code" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"

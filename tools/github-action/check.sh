#!/usr/bin/env bash
# The second step of the action: checks, prints the findings, and puts each on its line as an annotation.
#
# usage: check.sh     with the inputs as PTXCHECK_PATHS, PTXCHECK_OPTIONS, PTXCHECK_FAIL_ON, PTXCHECK_REPORT and PTXCHECK_SARIF, and
#                     GITHUB_OUTPUT, GITHUB_STEP_SUMMARY, GITHUB_WORKSPACE and RUNNER_TEMP as a runner sets them
#
# Writes the outputs `exit-code`, `errors`, `warnings`, `potential` and `sarif`; the last four only if there is a result.
# Exit codes: those of `ptxcheck check`.
set -uo pipefail

temporary=$(mktemp -d "${RUNNER_TEMP:-/tmp}/ptxcheck-XXXXXX") || exit 2
trap 'rm -rf "$temporary"' EXIT
annotations=$temporary/annotations
report=$temporary/report.json
sarif=${PTXCHECK_SARIF:-${RUNNER_TEMP:-/tmp}/ptxcheck.sarif}
arguments=(--output "github=$annotations" --output "json=$report" --root "${GITHUB_WORKSPACE:-.}")
if [ -n "${PTXCHECK_REPORT:-}" ]; then
  arguments+=(--output "json=$PTXCHECK_REPORT")
fi
# GitHub makes open alerts of suppressed results, too.
arguments+=(--output "sarif=$sarif" --sarif-results definite)

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

# The outputs with the counts of a report.
counts() {
  python3 - "$1" <<'PYTHON'
import json, sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
counted = [finding for finding in report["findings"] if not finding["suppressed"]]
for level in ("error", "warning"):
    print(f"{level}s={sum(finding['level'] == level for finding in counted)}")
print(f"potential={sum(finding['certainty'] == 'potential' for finding in counted)}")
PYTHON
}

code=0
ptxcheck check --fail-on "${PTXCHECK_FAIL_ON:-error}" "${arguments[@]}" || code=$?
{
  echo "exit-code=$code"
  if [ -s "$report" ]; then
    counts "$report"
    echo "sarif=$sarif"
  fi
} >>"${GITHUB_OUTPUT:-/dev/null}"
[ ! -s "$annotations" ] || cat "$annotations"
exit "$code"

#!/usr/bin/env bash
# Every break still fits the code that it breaks, and names a program and a filter: applies.sh [ROOT]. What a break
# proves is the work of tools/scripts/sabotage.sh, which takes hours; a break that moved is found here within seconds.
set -uo pipefail
cd "${1:-$(dirname "$0")/../..}" || exit 1
failed=0
for patch in tests/sabotage/*.patch; do
  grep -qE '^Test: (test_[a-z_0-9]+|tests/[a-z_0-9/]+\.sh) [^ ]' "$patch" || { echo "$patch: no line 'Test: PROGRAM FILTER'"; failed=1; }
  why=$(GIT_CEILING_DIRECTORIES=$PWD/.. git apply --check "$patch" 2>&1) || { echo "$patch: ${why%%$'\n'*}"; failed=1; }
done
exit $failed

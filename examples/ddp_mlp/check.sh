#!/usr/bin/env bash
# check.sh PROGRAM EXPECTED [MPIRUN]: the output of one process is EXPECTED, and so is that of 2 and 3 ranks, with the same
# weights. Without MPIRUN one process is all there is.
set -uo pipefail
passed=0 failed=0
weights=
options=()
if [ -n "${3:-}" ] && "$3" --version | grep -q "Open MPI\|OpenRTE"; then
  options=(--oversubscribe --mca mpi_yield_when_idle 1)
  [ "$(id -u)" = 0 ] && options+=(--allow-run-as-root)
fi
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
check() { # the program's command
  "$@" >"$folder/out" 2>"$folder/err"
  local code=$?
  local now
  now=$(grep -E '^[0-9a-f]{64}$' "$folder/err")
  weights=${weights:-$now}
  if [ $code -eq 0 ] && diff -u "$expected" "$folder/out" && [ "$now" = "$weights" ] && [ -n "$now" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $*: exit code $code, weights $now, of one process $weights"
    cat "$folder/err"
  fi
}
expected=$2
check "$1"
if [ -n "${3:-}" ]; then
  check "$3" "${options[@]}" -n 2 "$1"
  check "$3" "${options[@]}" -n 3 "$1"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

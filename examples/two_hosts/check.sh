#!/usr/bin/env bash
# check.sh PROGRAM WICK MPIRUN EXPECTED: two hosts print what one process does, and their gradients went over the link.
set -uo pipefail
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$(dirname "$0")/run.sh" "$1" "$2" "$3" >"$folder/out" 2>"$folder/err"
code=$?
if [ $code -eq 77 ]; then
  cat "$folder/out"
  exit 77
fi
sent=$(sed -n 's/^exit code 0, \([0-9]*\) bytes sent over.*/\1/p' "$folder/err")
if diff -u "$4" <(sed -n 's/^\[0\] \(epoch.*\)/\1/p' "$folder/out") && [ "${sent:-0}" -gt 20000 ]; then
  echo "1 passed, 0 failed"
else
  cat "$folder/out" "$folder/err"
  echo "0 passed, 1 failed"
  exit 1
fi

#!/usr/bin/env bash
# check.sh PROGRAM EXPECTED: the program must succeed and print exactly what EXPECTED says.
set -uo pipefail
out=$("$1")
code=$?
if diff -u "$2" <(printf '%s\n' "$out") && [ $code -eq 0 ]; then
  echo "1 passed, 0 failed"
else
  echo "exit code $code"
  echo "0 passed, 1 failed"
  exit 1
fi

#!/usr/bin/env bash
# check.sh PROGRAM: a short study must find 16 bits as good as 32. Without data it says so.
set -uo pipefail
out=$("$1" --data "${2:-tinydigits}" --epochs 20 --hidden 64)
code=$?
printf '%s\n' "$out"
if [[ $out == skipped:* ]]; then
  echo "skipped: no data folder (set WICK_SHARED)"
  exit 0
fi
if [ $code -eq 0 ]; then
  echo "1 passed, 0 failed"
else
  echo "exit code $code"
  echo "0 passed, 1 failed"
  exit 1
fi

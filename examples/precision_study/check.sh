#!/usr/bin/env bash
# check.sh PROGRAM: in a short study 16 bits must be as good as 32. Reports if there are no data.
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

#!/usr/bin/env bash
# check.sh PROGRAM MODEL: a small export with Dropout and BatchNorm learns TinyDigits under a new
# head in seconds, and what is exported gives eval()'s bits (the program fails otherwise).
set -uo pipefail
program=$(realpath "$1") model=$(realpath "$2")
data=${WICK_DATA:-${WICK_SHARED:-../shared}/data}/tinydigits
[ -d "$data" ] || { echo "SKIP: no shared data folder"; exit 77; }
data=$(realpath "$data")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
tune() { # tune NAME LEAST-ACCURACY OPTIONS...
  local out least=$2
  out=$("$program" "$model" /Flatten_output_0 "$data" size=8 channels=1 "${@:3}") ||
    { echo "$out"; echo "0 passed, 1 failed"; exit 1; }
  echo "$1"; echo "$out"
  awk -v least="$least" '/^after:/ { found = 1; if ($3 < least) exit 1 } END { exit !found }' <<<"$out" ||
    { echo "accuracy below $least"; echo "0 passed, 1 failed"; exit 1; }
}
# Chance is 10 %.
tune "the whole model" 90 epochs=20 lr=0.005
tune "the head alone" 20 epochs=10 lr=0.02 head_only=1
echo "2 passed, 0 failed"

#!/usr/bin/env bash
# check.sh PROGRAM MODEL: a small export with Dropout and BatchNorm learns TinyDigits under a new
# head in seconds, and the exported files give eval()'s bits (the program fails otherwise).
set -uo pipefail
program=$(realpath "$1") model=$(realpath "$2")
data=$(realpath "$(dirname "$0")/../../tests/data/sets/tinydigits") || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
tune() { # tune NAME LEAST-ACCURACY MOST OPTIONS...
  local out least=$2 most=$3
  out=$("$program" "$model" /Flatten_output_0 "$data" size=8 channels=1 "${@:4}") ||
    { echo "$out"; echo "0 passed, 1 failed"; exit 1; }
  echo "$1"; echo "$out"
  awk -v least="$least" -v most="$most" '/^after:/ { after = $3 } END { exit !(after >= least && after <= most) }' \
    <<<"$out" || { echo "accuracy not within $least to $most"; echo "0 passed, 1 failed"; exit 1; }
}
# Chance is 10 %.
tune "the whole model" 90 100 epochs=20 lr=0.02
tune "the head alone" 20 100 epochs=10 lr=0.02 head_only=1
tune "drawn labels" 0 30 epochs=5 lr=0.005 random_labels=1
echo "3 passed, 0 failed"

#!/usr/bin/env bash
# The examples of the README and the headers: the first trains and writes net.wick, the others run
# it, in C++ and in C. run.sh TRAIN RUN RUN_C
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
train=$(realpath "$1") run=$(realpath "$2") run_c=$(realpath "$3")
[ -d /usr/share/datasets/fashion-mnist ] || [ -d "${WICK_DATA:-/nowhere}/fashion-mnist" ] ||
  { echo "SKIP: Fashion-MNIST not installed"; exit 77; }
cd "$work" || exit 1
"$train" >out.txt 2>err.txt || { tail -5 err.txt; exit 1; }
cat out.txt
# Chance is 10 %; this seed gives 84.6 %.
awk '/^test accuracy/ { found = 1; if ($3 < 80) exit 1 } END { exit !found }' out.txt || exit 1
logits=$("$run") || { echo "$logits"; exit 1; }
[ "$(wc -w <<<"$logits")" = 10 ] || { echo "not ten logits: $logits"; exit 1; }
[ "$("$run_c")" = "$logits" ] || { echo "C gives other logits than C++"; exit 1; }

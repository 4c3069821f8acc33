#!/usr/bin/env bash
# Runs ONNX's node tests (node_tests.sh says from where) in every mode against the checked-in list of those that pass;
# see expected.txt. The models that mode round writes (libonnx's checker has seen those of opset 17 by then) must load in
# ONNX Runtime where that is installed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/conformance/node_tests.sh
wick=$WICK_BUILD/tools/wick/wick

written=$WICK_BUILD/test-work/onnx-written
rm -rf "$written"
passed=0 failed=0
for mode in dyn const flat bits round; do
  # The bar under the list, which must not come down with it.
  bar=$((all - 8)) keep=()
  [ $mode = round ] && bar=$all keep=(--keep "$written")
  out=$("$wick" conformance "$tests/node" --list "$list" --mode $mode --expect "$expect" "${keep[@]}")
  code=$?
  echo "$out"
  count=$(sed -nE 's/^([0-9]+) of [0-9]+ pass .*/\1/p' <<<"$out")
  if [ $code -eq 0 ] && [ "${count:-0}" -ge $bar ]; then
    passed=$((passed + 1))
  else
    [ "${count:-0}" -ge $bar ] || echo "mode $mode: ${count:-none} pass, at least $bar must"
    failed=$((failed + 1))
  fi
done
python3 tests/conformance/sessions.py "$written"
case $? in
  0) passed=$((passed + 1)) ;;
  3) echo "NOT RUN: the written models in ONNX Runtime" ;;
  *) failed=$((failed + 1)) ;;
esac
rm -rf "$written"
echo "$passed passed, $failed failed"
[ $failed = 0 ]

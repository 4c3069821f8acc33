#!/usr/bin/env bash
# Runs the differential fuzzer's findings, kept in fuzz/cases, in every mode; and, where ONNX Runtime is installed,
# compares a few random graphs of a fixed seed with it. Thousands are the part `fuzz` of make test-full.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
wick=${WICK_BUILD:?the build folder}/tools/wick/wick
passed=0 failed=0
for mode in dyn const flat bits round; do
  if "$wick" conformance tests/conformance/fuzz/cases --mode $mode -v --bar 100; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
work=$WICK_BUILD/test-work/fuzz
rm -rf "$work"
out=$(tests/conformance/fuzz/graphs.py --seed 3 --count 100 --work "$work" "$wick")
code=$?
echo "$out" | grep -vE '^[0-9]+ (passed|skipped)'
if grep -q skipped <<<"$out"; then
  echo "NOT RUN: random graphs (onnxruntime not installed; tools/scripts/setup_ort.sh)"
elif [ $code -eq 0 ]; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
fi
rm -rf "$work"
echo "$passed passed, $failed failed"
[ $failed = 0 ]

#!/usr/bin/env bash
# Builds the runtime for aarch64, runs its tests under qemu, and compares every DIGEST line with x86's.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$tool" >/dev/null || { echo "SKIP: aarch64 compiler or qemu not installed"; exit 77; }
done
native=${WICK_BUILD:?the native build folder}
cross=build/aarch64
cmake --preset aarch64 >"$native/configure-aarch64.log" 2>&1 || { cat "$native/configure-aarch64.log"; exit 1; }
cmake --build "$cross" -j "${WICK_JOBS:-2}" >"$native/build-aarch64.log" 2>&1 ||
  { tail -40 "$native/build-aarch64.log"; exit 1; }

passed=0 failed=0
for program in "$cross"/tests/*/test_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  log=$native/test-results/aarch64-$name.log
  mkdir -p "$native/test-results"
  # Tests of this machine's threads, clocks or files say so by the suffix; numbers run everywhere.
  # qemu's user mode can lose a thread's wake-up on a loaded machine: such a run is stopped, said, and begun again.
  for attempt in 1 2; do
    timeout 900 qemu-aarch64 -L /usr/aarch64-linux-gnu "$program" --gtest_brief=1 >"$log" 2>&1
    code=$?
    [ $code = 124 ] || break
    echo "$name hung under qemu (attempt $attempt)"
  done
  if [ $code != 0 ]; then
    echo "FAILED under qemu: $name"
    grep -E "FAILED|Failure" "$log" | head -20
    failed=$((failed + 1))
    continue
  fi
  count=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log")
  passed=$((passed + ${count:-0}))
  twin=$(find "$native/tests" -name "$name" -type f -perm -u+x | head -1)
  [ -n "$twin" ] || continue
  here=$("$twin" --gtest_filter='*Digest*' --gtest_brief=1 | grep '^DIGEST ')
  there=$(grep '^DIGEST ' "$log")
  [ -n "$here$there" ] || continue
  if [ "$here" = "$there" ]; then
    passed=$((passed + $(wc -l <<<"$here")))
  else
    failed=$((failed + 1))
    echo "FAILED: $name gives other bits on aarch64 (< x86, > aarch64):"
    diff <(echo "$here") <(echo "$there") | head -20
  fi
done
# LeNet: one file, 256 images, the same bits on both machines and on each SIMD target of them.
model=$native/examples/lenet_static/lenet.wick
here=$("$native/tests/aarch64/lenet_digest" "$model") &&
  there=$(qemu-aarch64 -L /usr/aarch64-linux-gnu "$cross/tests/aarch64/lenet_digest" "$model")
if [ $? = 0 ] && [ "$here" = "$there" ]; then
  echo "$here (x86 and aarch64)"
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  echo "FAILED: LeNet's logits: x86 '$here', aarch64 '$there'"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

#!/usr/bin/env bash
# Runs on a machine without Vulkan's loader, and on one with the loader and no device: tests that ask for Vulkan pass or
# say what they skip, and programs run on the CPU. The tests' programs are given: without.sh PROGRAM...
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
wick=${WICK_BUILD:?the build folder}/tools/wick/wick
work=$WICK_BUILD/test-work/without-vulkan
mkdir -p "$work/lib"
# The linker looks here first, and finds no library in the file.
echo "no library" | tee "$work/lib/libvulkan.so.1" >"$work/lib/libvulkan.so"
passed=0 failed=0
check() { # name, then a command that must succeed
  local name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$name failed:"
    tail -15 "$work/out"
  fi
}
# Passes, and says of whatever it skips that there is no device.
says_why() {
  "$@" --gtest_brief=0 >"$work/tests" 2>&1
  local code=$?
  cat "$work/tests"
  [ $code = 0 ] && grep -q '^no Vulkan device' "$work/tests" &&
    awk 'before ~ /Skipped$/ && !/^no Vulkan device/ { print "skipped: " $0; bad = 1 }
         { before = $0 } END { exit bad }' "$work/tests"
}
none_listed() { "$wick" devices | tee "$work/devices" | grep -q "^vulkan: none (.*$1"; }
for machine in "no Vulkan loader" "finds no driver"; do
  if [ "$machine" = "no Vulkan loader" ]; then
    export LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  else
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH#"$work/lib"}
    export VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent
  fi
  [ -x "$wick" ] && check "wick devices ($machine)" none_listed "$machine"
  for program in "$@"; do
    if [ ! -x "$program" ]; then
      echo "NOT RUN: $program is not built"
      continue
    fi
    filter='*'
    # of the commands, what asks for Vulkan
    [ "$(basename "$program")" = test_tools ] && filter='Run.*:Devices.*'
    check "$(basename "$program") ($machine)" says_why "$program" --gtest_filter="$filter"
  done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]

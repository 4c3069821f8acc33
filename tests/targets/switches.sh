#!/usr/bin/env bash
# Builds the runtime with other switches than the default ones, natively: without a system, for little memory
# (WICK_SMALL), without threads and libraries. Each builds without a warning and says in system_check.cc what it has;
# with WICK_SMALL the products of bytes, which read weights in place, have the reference's bits (tests/ops). switches.sh
# [NAME...]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
native=${WICK_BUILD:?the native build folder}
passed=0 failed=0
tell() { # passed or failed, what
  case $1 in passed) passed=$((passed + 1)) ;; *) failed=$((failed + 1)) ;; esac
  echo "$1: $2"
}
quiet() { "$@" >>"$log" 2>&1; }
# name, options -> the runtime's library and system_check in $build
library() {
  build=$native/targets/$1 log=$native/build-switches-$1.log
  : >"$log"
  mkdir -p "$build"
  quiet cmake -S runtime -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWICK_VULKAN=OFF -DWICK_BUILD_SHARED=OFF "${@:2}" &&
    quiet ninja -C "$build" -k 0 -j "${WICK_JOBS:-2}" wick_runtime && ! grep -q 'warning:' "$log" || { grep -E 'error|warning' "$log" | head; return 1; }
  local command flags
  command=$(ninja -C "$build" -t commands wick_runtime | grep -aE -- '-c .*/core/status\.cc$')
  flags=$(sed -E 's/ -MD .*//; s/^.*ccache //' <<<"$command")
  # shellcheck disable=SC2086 # words of a command
  (cd "$build" && $flags "$OLDPWD/tests/targets/system_check.cc" -o system_check libwick_runtime.a -lpthread \
    -Wl,--gc-sections) >>"$log" 2>&1 && "$build/system_check" || { tail -5 "$log"; return 1; }
}
wanted() { [ ${#names[@]} = 0 ] || [[ " ${names[*]} " == *" $1 "* ]]; }
names=("$@")

# printf() is a tenth of a small program: without texts nothing calls it but what writes files and printable texts.
prints() { nm -A -u "$build/libwick_runtime.a" 2>/dev/null | grep printf | grep -vE '[:/](printable|atomic_file|file_lock)\.cc'; }
if wanted none; then
  library none-native -DWICK_PLATFORM=none -DWICK_SCALAR_ONLY=ON -DWICK_RE2=OFF && ! prints && tell passed "no system" || tell failed "no system"
fi
if wanted plain; then
  library plain -DWICK_THREADS=OFF -DWICK_DLOPEN=OFF -DWICK_RE2=OFF && tell passed "no threads, no libraries" ||
    tell failed "no threads, no libraries"
fi
if wanted small; then
  build=$native/targets/small log=$native/build-switches-small.log
  : >"$log"
  filter='*QLinearConv*:*QGemm*:*QLinearMatMul*:*MatMulInteger*:*ConvInteger*:*DynamicLinear*:*Transpose*:*Expand*:*Slice*:-*PackedRows*'
  if quiet cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWICK_BUILD_TRAINER=OFF -DWICK_BUILD_COMPILE=OFF \
    -DWICK_BUILD_TOOLS=OFF -DWICK_BUILD_BENCH=OFF -DWICK_BUILD_SHARED=OFF -DWICK_VULKAN=OFF -DWICK_SMALL=ON \
    -DWICK_ERROR_TEXTS=ON -DWICK_SCALAR_ONLY=ON &&
    quiet ninja -C "$build" -j "${WICK_JOBS:-2}" test_ops && quiet "$build/tests/ops/test_ops" --gtest_filter="$filter" --gtest_brief=1 &&
    ! grep -q '0 tests from' "$log"; then
    tell passed "little memory: $(grep -E '^\[  PASSED' "$log" | tail -1)"
  else
    grep -E 'error|warning|FAILED' "$log" | head -20
    tail -5 "$log"
    tell failed "little memory"
  fi
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]

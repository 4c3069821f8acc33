#!/usr/bin/env bash
# Builds the runtime for 32-bit machines without a warning and compares what it computes there with this
# machine, by bits: LeNet in f32 and in integers, the test rows of two inputs. run.sh [armv7] [i686]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
native=${WICK_BUILD:?the native build folder}
[ $# -gt 0 ] || set -- armv7 i686
for tool in arm-linux-gnueabihf-g++ qemu-arm i686-linux-gnu-g++; do
  command -v "$tool" >/dev/null || { echo "SKIP: 32-bit compilers or qemu not installed"; exit 77; }
done
mkdir -p "$native/test-results"
programs=(limits_check nets_digest rows_digest)
cmake --build "$native" -j "${WICK_JOBS:-2}" --target "${programs[@]}" >"$native/build-bits32.log" 2>&1 ||
  { tail -40 "$native/build-bits32.log"; exit 1; }
passed=0 failed=0
for machine in "$@"; do
  cross=build/$machine log=$native/build-$machine.log
  { cmake --preset "$machine" && cmake --build "$cross" -j "${WICK_JOBS:-2}" --target wick_runtime "${programs[@]}"; } \
    >"$log" 2>&1 || { grep -E "error|warning" "$log" | head -20; echo "FAILED: $machine does not build"; failed=$((failed + 1)); continue; }
  passed=$((passed + 1))
  case $machine in
    armv7) emulator=(qemu-arm -L /usr/arm-linux-gnueabihf) ;;
    i686) emulator=(/usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib) ;;
  esac
  for program in "${programs[@]}"; do
    here=$("$native/tests/bits32/$program" 2>/dev/null)
    code=$?
    there=$(timeout 1200 "${emulator[@]}" "$cross/tests/bits32/$program" 2>"$native/test-results/$machine-$program.log")
    [ $? = 0 ] || code=1
    if [ $code = 0 ] && [ "$here" = "$there" ] && [ -n "$here" ]; then
      echo "$program: $(wc -l <<<"$here") lines, the same on x86-64 and $machine"
      passed=$((passed + $(wc -l <<<"$here")))
    else
      failed=$((failed + 1))
      echo "FAILED: $program (< x86-64, > $machine):"
      diff <(echo "$here") <(echo "$there") | head -20
    fi
  done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

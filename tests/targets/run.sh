#!/usr/bin/env bash
# Builds the runtime's static library for one other target, without a warning: run.sh TARGET, a folder of targets/. By
# default compiles only the code that calls the system, reads files and plans memory, in seconds; with WICK_TEST_FULL=1
# all of it, and links system_check.cc with it, which runs if there is an emulator.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
native=${WICK_BUILD:?the native build folder} target=${1:?a folder of targets/}
options=(-DCMAKE_BUILD_TYPE=Release -DWICK_VULKAN=OFF -DWICK_BUILD_SHARED=OFF)
link=() runner=()
case $target in
  riscv64) compiler=riscv64-linux-gnu-g++ runner=(qemu-riscv64 -L /usr/riscv64-linux-gnu) ;;
  ppc64le) compiler=powerpc64le-linux-gnu-g++ runner=(qemu-ppc64le -L /usr/powerpc64le-linux-gnu) ;;
  cortex-m7) compiler=arm-none-eabi-g++ link=(--specs=rdimon.specs) ;;
  *) compiler=${WICK_ZIG:-zig} options+=("-DWICK_ZIG=${compiler// /;}") ;;
esac
[ "$target" = musl_x86_64 ] && runner=(env)
command -v "${compiler%% *}" >/dev/null || { echo "SKIP: compiler of this target not installed"; exit 77; }
build=$native/targets/$target log=$native/build-$target.log
mkdir -p "$build"
cmake -S runtime -B "$build" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=$PWD/targets/$target/toolchain.cmake" "${options[@]}" \
  >"$log" 2>&1 || { tail -20 "$log"; exit 1; }
if [ "${WICK_TEST_FULL:-0}" = 1 ]; then
  wanted=(wick_runtime)
else
  mapfile -t wanted < <(ninja -C "$build" -t targets all |
    sed -nE 's,^(CMakeFiles/wick_runtime_objects.dir/(platform|core|program|plan|exec)/[^:]*\.o(bj)?):.*,\1,p')
fi
[ ${#wanted[@]} -gt 0 ] || { echo "FAILED: no objects of $target"; exit 1; }
if ! ninja -C "$build" -k 0 -j "${WICK_JOBS:-2}" "${wanted[@]}" >>"$log" 2>&1 || grep -q 'warning:' "$log"; then
  grep -E 'error|warning' "$log" | head -20
  echo "FAILED: $target does not build"
  exit 1
fi
echo "$target: $(find "$build" -name '*.o' -o -name '*.obj' | wc -l) objects"
[ "${WICK_TEST_FULL:-0}" = 1 ] || { echo "${#wanted[@]} passed, 0 failed"; exit 0; }

# Compiles as CMake compiles the runtime itself: that command has all flags that matter.
command=$(ninja -C "$build" -t commands wick_runtime | grep -aE -- '-c .*/core/status\.cc$')
flags=$(sed -E 's/ -MD .*//; s/^.*ccache //' <<<"$command")
# shellcheck disable=SC2086 # words of a command
(cd "$build" && $flags "$OLDPWD/tests/targets/system_check.cc" -o system_check "${link[@]}" libwick_runtime.a \
  -Wl,--gc-sections) >>"$log" 2>&1 || { tail -20 "$log"; echo "FAILED: $target does not link"; exit 1; }
program=$build/system_check
[ -e "$program" ] || program=$program.exe
if [ ${#runner[@]} -gt 0 ]; then
  timeout 300 "${runner[@]}" "$program" || { echo "FAILED: $target"; exit 1; }
fi
echo "2 passed, 0 failed"

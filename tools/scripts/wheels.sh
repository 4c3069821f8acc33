#!/usr/bin/env bash
# Builds the Python package's wheels for inference (the runtime, without the command) from this machine, by zig:
#
#   tools/scripts/wheels.sh [--out DIR] [PLATFORM...]     (default: build/wheels; every platform below)
#
# Each wheel is checked: its size, what it is linked with, that its tag is true. x86-64's for glibc is installed in a clean
# environment and run; aarch64's library is run by qemu where that is installed; the others are linked, not run, and the
# last lines say so. Needs python3 (venv), CMake 3.25, ninja or make, flatc and the headers of Highway and FlatBuffers; for
# Vulkan glslc, spirv-opt and Vulkan's headers. zig and scikit-build-core come from PyPI.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
out=$root/build/wheels
[ "${1:-}" = --out ] && { out=$(mkdir -p "$2" && cd "$2" && pwd); shift 2; }

# name: folder of targets/, wheel's platform tag, is the Vulkan backend built?
platforms=(
  "manylinux_x86_64 manylinux_2_17_x86_64 ON"
  "manylinux_arm64 manylinux_2_17_aarch64 ON"
  "musl_x86_64 musllinux_1_2_x86_64 ON"
  "musl_arm64 musllinux_1_2_aarch64 ON"
  "windows_x86_64 win_amd64 OFF"
  "macos_arm64 macosx_13_0_arm64 OFF"
)
wanted=("$@")
for name in "${wanted[@]}"; do
  [[ " ${platforms[*]%% *} " == *" $name "* ]] ||
    { echo "no such platform: $name; there are: ${platforms[*]%% *}" >&2; exit 2; }
done
work=$root/build/wheels-work
venv=$work/venv
mkdir -p "$work" "$out"
if ! "$venv/bin/python" -c "import ziglang, scikit_build_core, wheel" 2>/dev/null; then
  python3 -m venv --clear "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "ziglang>=0.13" "scikit-build-core>=0.10" wheel "numpy<3"
fi
export WICK_ZIG="$venv/bin/python;-m;ziglang"

# Vulkan's headers are the host's, like those of targets/host_headers.cmake; naming /usr/include would bring its libc in.
headers=$work/headers
mkdir -p "$headers"
for library in vulkan vk_video; do
  [ -e "/usr/include/$library" ] && ln -sfn "/usr/include/$library" "$headers/$library"
done

# pip of Debian 12 has no short form of --config-settings.
set_() { printf -- '--config-settings=%s\n' "$@"; }

# Called in a condition, where `set -e` stops nothing: each step says so itself.
build() { # TARGET TAG VULKAN: makes the wheel and prints its path
  local target=$1 tag=$2 vulkan=$3 made=$work/$1 settings
  mapfile -t settings < <(set_ "build-dir=$made/build" wheel.py-api=py3 \
    "cmake.define.CMAKE_TOOLCHAIN_FILE=$root/targets/$target/toolchain.cmake" \
    cmake.define.WICK_COMPONENTS=runtime cmake.define.WICK_BUILD_SHARED=ON cmake.define.WICK_RE2=OFF \
    cmake.define.WICK_WERROR=OFF "cmake.define.WICK_VULKAN=$vulkan" "cmake.define.WICK_VULKAN_INCLUDE_DIR=$headers")
  echo "$tag: building, for some minutes and in silence" >&2
  rm -rf "$made/wheel" && mkdir -p "$made/wheel" || return
  "$venv/bin/python" -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$made/wheel" \
    "${settings[@]}" >&2 || return
  # pip names the machine that it runs on.
  "$venv/bin/python" -m wheel tags --remove --platform-tag "$tag" "$made"/wheel/*.whl >/dev/null || return
  "$venv/bin/python" tools/scripts/check_wheel.py "$made"/wheel/*.whl >&2 || return
  cp "$made"/wheel/*.whl "$out/" || return
  ls "$made"/wheel/*.whl
}

run_here() { # WHEEL: in a clean environment
  local clean=$work/clean
  rm -rf "$clean" && python3 -m venv "$clean" &&
    "$clean/bin/python" -m pip install --quiet --disable-pip-version-check "$1" || return
  (cd "$work" && env -u WICK_LIBRARY -u WICK_PROGRAM "$clean/bin/python" "$root/tests/python/smoke.py" "$root/tests/program/golden/v1.wick") || return
  grep -qw fma /proc/cpuinfo || return 0
  (cd "$work" && env -u WICK_LIBRARY -u WICK_PROGRAM "$clean/bin/python" "$root/tests/python/smoke.py" "$root/tests/program/golden/v2.wick" b9c7cec87504)
}

run_by_qemu() { # WHEEL: a program in C opens its library as Python would
  command -v qemu-aarch64 >/dev/null && [ -d /usr/aarch64-linux-gnu ] || return 77
  local folder=$work/qemu
  rm -rf "$folder" && mkdir -p "$folder" && "$venv/bin/python" -m zipfile -e "$1" "$folder" &&
    "$venv/bin/python" -m ziglang cc -target aarch64-linux-gnu.2.17 -I runtime/include tests/python/smoke.c -ldl -o "$folder/smoke" || return
  qemu-aarch64 -L /usr/aarch64-linux-gnu "$folder/smoke" "$folder/wick/lib/libwick.so" tests/program/golden/v1.wick
}

passed=0 failed=0 said=()
for row in "${platforms[@]}"; do
  read -r target tag vulkan <<<"$row"
  if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $target "* ]]; then continue; fi
  if ! wheel=$(build "$target" "$tag" "$vulkan"); then
    failed=$((failed + 1))
    said+=("$tag: FAILED to build, or its wheel is not what its tag says")
    continue
  fi
  state="linked, not run"
  result=0
  case $target in
    manylinux_x86_64) [ "$(uname -m)" = x86_64 ] && { run_here "$wheel" || result=$?; [ $result = 0 ] && state="run in a clean environment"; } ;;
    manylinux_arm64) run_by_qemu "$wheel" || result=$?; [ $result = 0 ] && state="its library was run by qemu" ;;
  esac
  if [ "$result" != 0 ] && [ "$result" != 77 ]; then
    failed=$((failed + 1))
    state="FAILED to run"
  else
    passed=$((passed + 1))
  fi
  said+=("$(basename "$wheel"): $(stat -c %s "$wheel") bytes, $state")
done
printf '%s\n' "${said[@]}"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

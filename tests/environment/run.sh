#!/usr/bin/env bash
# The suite's answer must not depend on its caller's environment: this starts ctest from a hostile one, and checks what
# its tests see. Last line: "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${WICK_BUILD:?the build folder}" && pwd)
settings=$build/TestEnvironment.cmake
work=$build/test-work/environment
rm -rf "$work"
mkdir -p "$work/inner" "$work/python" "$work/layers" "$work/home"
passed=0 failed=0
check() { # TEXT, then a command
  local text=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $text"
    [ -f "$work/out" ] && tail -25 "$work/out"
  fi
}

# Every folder of tests reads the settings, also when ctest starts in it.
lacking=$(find "$build" -maxdepth 1 -name CTestTestfile.cmake -print -o \
  \( -path "$build/tests/*" -o -path "$build/examples/*" \) -name CTestTestfile.cmake -print |
  xargs -r -d '\n' grep -l add_test | xargs -r -d '\n' grep -LF 'TestEnvironment.cmake')
check "tests without settings: $lacking" test -z "$lacking"

# The environment of somebody else: another driver and its layers, a numpy of their own, German numbers, a shell's colours.
echo 'raise SystemExit("a json of the caller is read")' >"$work/python/json.py"
cat >"$work/layers/VkLayer_other.json" <<'JSON'
{"file_format_version": "1.0.0", "layer": {"name": "VK_LAYER_KHRONOS_validation", "type": "GLOBAL",
 "library_path": "/nonexistent.so", "api_version": "1.3.0", "implementation_version": "1", "description": "not the one"}}
JSON
hostile=(VK_DRIVER_FILES=/nowhere.json VK_ICD_FILENAMES=/nowhere.json VK_ADD_DRIVER_FILES=/nowhere.json
  'VK_LOADER_DRIVERS_DISABLE=*' VK_INSTANCE_LAYERS=VK_LAYER_MESA_overlay VK_LOADER_LAYERS_ENABLE='*' VK_LOADER_DEBUG=all
  "VK_LAYER_PATH=$work/layers" VK_LAYER_SETTINGS_PATH=/nowhere LVP_POISON_MEMORY=1 MESA_LOADER_DRIVER_OVERRIDE=none
  WICK_VULKAN_DEVICE=geforce WICK_VULKAN_FORCE_STAGING=1 WICK_ORT_RUN=/nowhere.py WICK_WRITE_GOLDENS=1
  "PYTHONPATH=$work/python" PYTHONHOME=/nowhere GTEST_FILTER=None.None GTEST_SHUFFLE=1 GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=1
  LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 LANG=tr_TR.UTF-8 OMP_NUM_THREADS=7 ORT_DISABLE_ALL=1
  GIT_DIR=/nowhere CDPATH=/ GREP_OPTIONS=-v CLICOLOR_FORCE=1 NO_COLOR=1 TMPDIR=/nowhere DESTDIR=/nowhere
  VIRTUAL_ENV=/nowhere CMAKE_GENERATOR=none)
kept=(WICK_SHARED=/data WICK_DATA=/data/own "PATH=$PATH")
cat >"$work/inner/CTestTestfile.cmake" <<TESTS
include("$settings")
add_test(seen "env")
add_test(python "python3" "-c" "import json, sys; print('python of', sys.executable)")
add_test(devices "$build/tools/wick/wick" "devices")
TESTS
inner() { # what env takes: -u NAME, NAME=VALUE; after -- what ctest takes
  local set=()
  while [ "$1" != -- ]; do
    set+=("$1")
    shift
  done
  shift
  env -u WICK_TEST_VK_DRIVER "${set[@]}" ctest --test-dir "$work/inner" -V "$@" >"$work/out" 2>&1
}
seen() { grep -qxF "1: $1" "$work/out"; }
unseen() { ! seen "$1"; }
inner "${hostile[@]}" "${kept[@]}" -- -R '^seen$'
for pair in "${hostile[@]}"; do check "tests see $pair" unseen "$pair"; done
for pair in "${kept[@]:0:2}" LC_ALL=C.UTF-8 VK_LOADER_LAYERS_DISABLE=~implicit~ PYTHONNOUSERSITE=1 \
  "WICK_CACHE_DIR=$build/cache"; do
  check "tests do not see $pair" seen "$pair"
done

inner -u WICK_DATA -u WICK_SHARED -- -R '^seen$'
check "tests do not see the data sets of the tree" seen "WICK_DATA=$PWD/tests/data/sets"
whole() { (cd tests/data/sets && sha256sum -c --quiet SHA256SUMS); }
check "a data set of the tree is another one" whole

# What reads the shared folder says so here: without that folder it takes data of the tree, of a Debian package or of the
# onnx package, or is one of the skips that docs/testing.md counts.
reads=$(grep -rlE 'WICK_SHARED|\.\./shared' tests examples --include=* | sort | paste -sd' ')
check "other tests than these read the shared folder: $reads" test "$reads" = "examples/milestone.h \
tests/conformance/node_tests.sh tests/conformance/quantized.py tests/conformance/sets.sh tests/environment/run.sh \
tests/exporter/hostile_test.cc tests/exporter/tflite_models_test.cc tests/tools/command_line.cc tests/tools/wrong_uses.py"

# The pinned programs work: Debian's Python with its own modules, and lavapipe without another layer, in any home.
check "python under a hostile environment" inner "${hostile[@]}" -- -R '^python$'
if [ -x /usr/bin/python3 ]; then check "not Debian's Python" grep -q 'python of /usr/bin/python3' "$work/out"; fi
check "wick devices under a hostile environment" inner "${hostile[@]}" -- -R '^devices$'
if compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null; then
  only_lavapipe() { [ "$(grep -c 'llvmpipe' "$work/out")" = 1 ] && ! grep -qE 'vulkan: none|^3: 1: ' "$work/out"; }
  check "not lavapipe alone" only_lavapipe
fi
check "without a home" inner -u HOME -u TMPDIR -u XDG_CACHE_HOME -- -R '^devices$'
check "in a home that cannot be written" inner HOME=/proc/1 XDG_CACHE_HOME=/proc/1 XDG_RUNTIME_DIR=/proc/1 -- -R '^devices$'

# Another driver is asked for by name, and one that is not there is said.
echo '{}' >"$work/other.json"
inner "${hostile[@]}" WICK_TEST_VK_DRIVER="$work/other.json" -- -R '^seen$'
check "WICK_TEST_VK_DRIVER is not heeded" seen "VK_DRIVER_FILES=$work/other.json"
inner "${hostile[@]}" WICK_TEST_VK_DRIVER=system -- -R '^seen$'
check "WICK_TEST_VK_DRIVER=system names a driver" unseen "VK_DRIVER_FILES=/nowhere.json"
no_driver_named() { ! grep -qE '^1: VK_(DRIVER_FILES|ICD_FILENAMES)=' "$work/out"; }
check "WICK_TEST_VK_DRIVER=system pins a driver" no_driver_named
refused() { ! inner WICK_TEST_VK_DRIVER=/nowhere.json -- -R '^seen$' && grep -q "no driver's manifest: /nowhere.json" "$work/out"; }
check "a driver that is not there is not refused" refused

echo "$passed passed, $failed failed"
[ $failed = 0 ]

#!/usr/bin/env bash
# Sets up, builds a preset and runs its tests: test.sh [--preset NAME] [-- ctest arguments].
# The last line is "N passed, N failed"; the exit code agrees with it. WICK_TARGETS: build only these.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
preset=release
[ "${1:-}" = --preset ] && { preset=$2; shift 2; }
[ "${1:-}" = -- ] && shift
build=$root/build/$preset
jobs=${WICK_JOBS:-$(nproc)}

closed() { # a failure before any test ran still closes in the agreed form
  echo "$1"
  echo "0 passed, 1 failed"
  exit 1
}
. tools/scripts/ccache_env.sh # tests compile too
tools/scripts/setup.sh || closed "set-up failed"
tools/scripts/setup_ort.sh || true # said by the script; its tests skip
tools/scripts/setup_tensorboard.sh || true
tools/scripts/setup_tritonclient.sh || true
tools/scripts/setup_mypy.sh || true
# ONNX's node tests and models come from the shared folder, or else from onnx's Python package.
[ -f "${WICK_SHARED:-../shared}/onnx/onnx-node-tests-dev.tar.xz" ] || tools/scripts/setup_onnx.sh || true
read -ra targets <<<"${WICK_TARGETS:-}"
tools/scripts/build.sh "$preset" "${targets[@]}" || closed "build failed"

rm -rf "$build/test-results"
junit=$build/test-results/ctest.xml
mkdir -p "$build/test-results"
arguments=("$@")
[ ${#arguments[@]} -gt 0 ] || arguments=(-LE full)
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error \
  --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
  --output-junit "$junit" "${arguments[@]}"
python3 -I tools/scripts/test_summary.py "$build" "$junit" tests/skips.txt

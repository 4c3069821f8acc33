#!/usr/bin/env bash
# Installs what the build lacks, configures and builds a preset: build.sh [PRESET] [targets...].
set -euo pipefail
cd "$(dirname "$0")/../.."
. tools/scripts/ccache_env.sh
preset=${1:-release}
[ $# -gt 0 ] && shift
tools/scripts/setup.sh build
mkdir -p build
cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 || {
  cat "build/configure-$preset.log" >&2
  exit 1
}
targets=()
[ $# -gt 0 ] && targets=(--target "$@")
cmake --build "build/$preset" -j "${WICK_JOBS:-$(nproc)}" "${targets[@]}"

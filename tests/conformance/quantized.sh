#!/usr/bin/env bash
# Runs other tools' quantized files: the sets that need neither the peers' models nor the large ones (quantized.py has
# all).
cd "$(dirname "$0")/../.." || exit 1
build=${WICK_BUILD:?the build folder}
exec python3 tests/conformance/quantized.py "$build/tools/wick/wick" --data "$build/test-work/quantized"

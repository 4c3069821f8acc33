#!/usr/bin/env bash
# Skips, saying so, if torchvision or ONNX Runtime is not installed.
cd "$(dirname "$0")/../.." || exit 1
export WICK_TOOL=${WICK_BUILD:?the build folder}/tools/wick/wick
exec tools/scripts/models.sh --small

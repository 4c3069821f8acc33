#!/usr/bin/env bash
# A text recogniser quantized statically reads the drawn text, if the models are there already (real.sh).
cd "$(dirname "$0")/../.." || exit 1
exec tools/scripts/quantized_ocr.py --wick "${WICK_BUILD:?the build folder}/tools/wick/wick" \
  --real "${WICK_REAL_MODELS:-$PWD/build/real/dev}"

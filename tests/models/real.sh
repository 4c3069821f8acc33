#!/usr/bin/env bash
# Runs pretrained models that are there already (nothing is fetched: WICK_REAL_MODELS, or build/real of
# tools/scripts/real_models.sh) and compares them with the answers of ONNX Runtime stored next to them; the largest ones
# are left out. real.sh [cpu|vulkan]: the device that they run on.
cd "$(dirname "$0")/../.." || exit 1
export WICK_TOOL=${WICK_BUILD:?the build folder}/tools/wick/wick
[ -n "${WICK_REAL_MODELS:-}" ] || WICK_REAL_MODELS=$PWD/build/real/dev
export WICK_REAL_MODELS
backend=${1:-cpu}
if [ "$backend" = vulkan ] && ! "$WICK_TOOL" devices | grep -q '^[0-9]'; then
  echo "SKIP: no Vulkan device"
  exit 77
fi
names=()
for cases in "$WICK_REAL_MODELS"/*/cases.json; do
  [ -f "$cases" ] || continue
  folder=$(dirname "$cases")
  [ "$(stat -c %s "$folder/model.onnx")" -lt 20000000 ] && names+=("$(basename "$folder")")
done
if [ ${#names[@]} = 0 ]; then
  echo "SKIP: no real models (WICK_REAL_MODELS, tools/scripts/real_models.sh)"
  exit 77
fi
exec tools/scripts/real_models.sh --backend "$backend" "${names[@]}"

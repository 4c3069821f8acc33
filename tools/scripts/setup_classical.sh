#!/usr/bin/env bash
# The packages that make classical models (scikit-learn, XGBoost, LightGBM, their converters) and ONNX Runtime, in
# build/classical: tests/conformance/classical.py compares more of them where they are there.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
venv_with "classical packages" "$root/build/classical" \
  "import onnxruntime, skl2onnx, onnxmltools, xgboost, lightgbm" \
  "scikit-learn==1.9.1" "skl2onnx==1.20.0" "onnxmltools==1.16.0" "xgboost==3.2.0" "lightgbm==4.7.0" \
  "onnx==1.23.2" "onnxruntime==1.32.0"

#!/usr/bin/env bash
# ONNX Runtime, the oracle of the tests and the demo, in build/ort.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
version=1.30.0
# numpy is all that running a model needs of its dependencies.
venv_with "onnxruntime $version" "$root/build/ort" "import onnxruntime, numpy" \
  --no-deps "onnxruntime==$version" "numpy<3"

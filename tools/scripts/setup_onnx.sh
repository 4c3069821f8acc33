#!/usr/bin/env bash
# onnx 1.23, whose node tests tests/conformance/sets.sh newest runs, in build/onnx.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
version=1.23.2
venv_with "onnx $version" "$root/build/onnx" "import onnx; assert onnx.__version__ == '$version'" "onnx==$version"

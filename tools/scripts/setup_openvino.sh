#!/usr/bin/env bash
# OpenVINO, for `wick bench --against openvino`, in build/openvino.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
version=2026.4.1
venv_with "openvino $version" "$root/build/openvino" "import openvino, numpy" "openvino==$version"

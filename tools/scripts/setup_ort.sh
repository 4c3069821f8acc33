#!/usr/bin/env bash
# ONNX Runtime, the oracle of the tests and the demo, in build/ort (a Python venv, nothing outside it).
# Exit 0 when it is there; 1, with the reason on stderr, when it cannot be had. Never required.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
version=1.30.0
venv=$root/build/ort/venv
[ -x "$venv/bin/python" ] && "$venv/bin/python" -c "import onnxruntime, numpy" 2>/dev/null && exit 0

python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3) || {
  echo "onnxruntime not installed: no python3" >&2
  exit 1
}
mkdir -p "$root/build/ort"
log=$root/build/ort/setup.log
if ! "$python" -m venv --clear "$venv" >"$log" 2>&1; then
  echo "onnxruntime not installed: python3 -m venv failed (apt: python3-venv); see $log" >&2
  exit 1
fi
# numpy is all that running a model needs of its dependencies.
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
  "onnxruntime==$version" "numpy<3" >>"$log" 2>&1 ||
  ! "$venv/bin/python" -c "import onnxruntime" >>"$log" 2>&1; then
  echo "onnxruntime not installed: pip could not fetch it (offline?); see $log" >&2
  exit 1
fi
echo "onnxruntime $version installed in build/ort"

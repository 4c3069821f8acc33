#!/usr/bin/env bash
# onnx 1.23, whose node tests tests/conformance/sets.sh newest runs, in build/onnx (a Python venv, nothing outside it).
# Exit 0 when it is there; 1, with the reason on stderr, when it cannot be had. Never required.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
version=1.23.2
venv=$root/build/onnx/venv
[ -x "$venv/bin/python" ] && "$venv/bin/python" -c "import onnx; assert onnx.__version__ == '$version'" 2>/dev/null && exit 0

python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3) || {
  echo "onnx $version not installed: no python3" >&2
  exit 1
}
mkdir -p "$root/build/onnx"
log=$root/build/onnx/setup.log
if ! "$python" -m venv --clear "$venv" >"$log" 2>&1; then
  echo "onnx $version not installed: python3 -m venv failed (apt: python3-venv); see $log" >&2
  exit 1
fi
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "onnx==$version" >>"$log" 2>&1 ||
  ! "$venv/bin/python" -c "import onnx" >>"$log" 2>&1; then
  echo "onnx $version not installed: pip could not fetch it (offline?); see $log" >&2
  exit 1
fi
echo "onnx $version installed in build/onnx"

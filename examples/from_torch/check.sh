#!/usr/bin/env bash
# check.sh PROGRAM: moves weights from PyTorch to Wick and back; the outputs must agree to 1e-6.
set -uo pipefail
program=$(realpath "$1") net=$(realpath "$(dirname "$0")")/net.py
python=
for p in python3 /usr/bin/python3; do
  "$p" -c "import torch" 2>/dev/null && { python=$p; break; }
done
[ -n "$python" ] || { echo "SKIP: no Python with torch"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
"$python" "$net" save "$work" && "$program" "$work" && "$python" "$net" check "$work" ||
  { echo "0 passed, 1 failed"; exit 1; }
# A name that does not fit must be refused with a message that names it.
"$python" - "$work" "$(dirname "$net")/../../tools/scripts" <<'PY' || exit 1
import os, sys
sys.path.insert(0, sys.argv[2])
import torch_interchange as t
path = os.path.join(sys.argv[1], "weights.safetensors")
state = t.load(path)
state["module.fc.scale"] = state.pop("module.fc.bias")
t.save(path, state)
PY
out=$("$program" "$work" 2>&1) && { echo "a misnamed tensor passed"; echo "0 passed, 1 failed"; exit 1; }
grep -q "missing: fc.bias" <<<"$out" && grep -q "unexpected: fc.scale" <<<"$out" ||
  { echo "$out"; echo "0 passed, 1 failed"; exit 1; }
echo "3 passed, 0 failed"

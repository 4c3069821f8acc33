#!/usr/bin/env bash
# real.sh TEST_FINETUNE EXAMPLE WICK: trains real models further. ppocr_cls of WICK_REAL_MODELS (or of build/real, where
# tools/scripts/real_models.sh fetched it) and torchvision's MobileNetV2 with random weights, exported here: gradients
# in float64, a few minutes of training on a few images, the same with drawn labels, which must teach nothing, and the
# files written again compared with ONNX Runtime. Parts that are not available are named; exits with 77 if there are
# none.
set -uo pipefail
tests=$(realpath "$1") example=$(realpath "$2") wick=$(realpath "$3")
root=$(cd "$(dirname "$0")/../.." && pwd)
data=$root/tests/data/sets/tinydigits
models=${WICK_REAL_MODELS:-$root/build/real/dev}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
ok() { passed=$((passed + 1)); echo "ok: $1"; }
bad() { failed=$((failed + 1)); echo "FAIL: $1"; }

declare -A file=() value=([ppocr_cls]=p2o.GlobalAveragePool.19)
value[mobilenet_v2]=/Flatten_output_0 value[mobilenet_v2_folded]=/Flatten_output_0
if [ -f "$models/ppocr_cls/model.onnx" ]; then
  file[ppocr_cls]=$models/ppocr_cls/model.onnx
  export WICK_REAL_MODELS=$models
else
  echo "skipped: ppocr_cls not fetched (WICK_REAL_MODELS, tools/scripts/real_models.sh)"
fi
if /usr/bin/python3 -c 'import torch, torchvision' 2>/dev/null &&
  /usr/bin/python3 "$root/tools/scripts/export_mobilenet.py" mobilenet_v2.onnx >export.log 2>&1; then
  file[mobilenet_v2]=$work/mobilenet_v2.onnx
  export WICK_MOBILENET=$work/mobilenet_v2.onnx
  # Exports it as exporters do for inference, with BatchNorm folded into the convolutions.
  /usr/bin/python3 "$root/tools/scripts/export_mobilenet.py" --folded mobilenet_v2_folded.onnx >>export.log 2>&1 &&
    file[mobilenet_v2_folded]=$work/mobilenet_v2_folded.onnx
else
  echo "skipped: torchvision not installed"
fi
[ ${#file[@]} -gt 0 ] || { echo "SKIP: torchvision not installed, and no real models"; exit 77; }

if "$tests" --gtest_filter='*Real*' >gradients.log 2>&1; then ok "gradients"; else bad "gradients"; fi
grep -E '^COUNT|SKIPPED|Failure|difference' gradients.log

# accuracy MODEL OPTIONS...: of 200 digits; chance is 10 %.
accuracy() {
  local out
  out=$("$example" "${file[$1]}" "${value[$1]}" "$data" "${@:2}" 2>&1) || { echo "$out" >&2; echo -1; return; }
  awk '/^after:/ { print $3 }' <<<"$out"
}
between() { awk -v x="$1" -v lo="$2" -v hi="$3" 'BEGIN { exit !(x >= lo && x <= hi) }'; }
for name in "${!file[@]}"; do
  size=48 epochs=6 least=80
  [ "$name" = mobilenet_v2 ] && size=32 epochs=8 least=60
  common=(size=$size epochs=$epochs lr=0.003)
  if [ "$name" = mobilenet_v2_folded ]; then # random weights without norms learn nothing: what is written counts
    accuracy "$name" size=32 items=100 >/dev/null
    cp tuned.onnx "$name.onnx" && cp tuned.wick "$name.wick"
    continue
  fi
  got=$(accuracy "$name" "${common[@]}" random_labels=1)
  if between "$got" 0 30; then ok "$name, drawn labels: $got %"; else bad "$name learns from drawn labels: $got %"; fi
  got=$(accuracy "$name" "${common[@]}")
  if between "$got" $least 100; then ok "$name: $got %"; else bad "$name: $got %, expected $least"; fi
  cp tuned.onnx "$name.onnx" && cp tuned.wick "$name.wick"
done

python=${WICK_ORT_VENV:-$root/build/ort/venv}/bin/python
if "$python" -c 'import onnxruntime, numpy' 2>/dev/null; then
  for name in "${!file[@]}"; do
    if text=$("$python" "$root/tests/finetune/beside_ort.py" "$wick" "$name" 2>&1); then ok "$text"; else bad "$text"; fi
  done
else
  echo "skipped: onnxruntime not installed"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]

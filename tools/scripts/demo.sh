#!/usr/bin/env bash
# The main job: train LeNet on Fashion-MNIST, export it, run it every way, and show that the bits agree; then the same
# as integers, and the capstone's report of both (build/demo/submission.json).
# A second run reuses the trained model (remove build/demo to train again).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
tools/scripts/setup.sh
tools/scripts/setup_ort.sh || true
tools/scripts/build.sh release wick_installed # `cmake --install build/release` may follow
wick=build/release/tools/wick/wick
run=build/demo/lenet
epochs=${WICK_DEMO_EPOCHS:-4}
seed=${WICK_DEMO_SEED:-0}
if [ ! -f "$run/done" ]; then
  rm -rf "$run"
  "$wick" train lenet --data fashion-mnist --epochs "$epochs" --seed "$seed" --threads "$(nproc)" --out "$run"
  touch "$run/done"
fi
"$wick" prove "$run" --out build/demo
echo
"$wick" quantize "$run" --calib fashion-mnist --batches 16 --observer min-max --eval fashion-mnist --quiet \
  -o build/demo/lenet_int8.wick -o build/demo/lenet_int8.onnx
echo
"$wick" bench build/demo/lenet_int8.wick --baseline "$run" --eval fashion-mnist --technique "static int8" \
  --submission build/demo/submission.json

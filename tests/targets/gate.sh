#!/usr/bin/env bash
# The gate: for each target, or those that are named, builds programs of some models by `wick build` and runs them on
# its emulator: the answers have the bits of this machine, or are within the bound that the target states. Prints a
# table with sizes and memory; sizes that targets/T/target.json states ("code", "ram") may differ by 2 %.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
native=$(cd "${WICK_BUILD:?the native build folder}" && pwd)
wick=$native/tools/wick/wick
out=$native/test-results/targets
export WICK_CACHE=${WICK_CACHE:-$native/targets}
write=0 only=''
while [[ ${1:-} == --* ]]; do
  case $1 in
    --write) write=1; shift ;;
    --models) only=,$2,; shift 2 ;;
    *) echo "gate.sh: unknown argument $1"; echo "0 passed, 1 failed"; exit 1 ;;
  esac
done
mkdir -p "$out"
cmake --build "$native" -j "${WICK_JOBS:-2}" --target wick make_model test_export >"$out/build.log" 2>&1 || { tail -20 "$out/build.log"; exit 1; }

# LeNet as examples/lenet_static makes it; ResNet-8 and a GPT of the corpus of what people write (tests/export); a real model.
"$native/examples/lenet_static/make_model" "$out" >/dev/null || exit 1
if [ ! -e "$out/corpus/gpt/model_0.onnx" ]; then
  WICK_CORPUS_FOLDER=$out/corpus "$native/tests/export/test_export" --gtest_brief=1 \
    --gtest_filter='*Corpus.*/gpt:*Corpus.*/resnet8' >"$out/corpus.log" 2>&1 || { tail -5 "$out/corpus.log"; exit 1; }
fi
eights() { "$wick" quantize "$1" --calib sample --observer min-max --in-place --no-verify --quiet -o "$2" >>"$out/build.log" 2>&1; }
eights "$out/lenet.onnx" "$out/lenet8.wick" && eights "$out/corpus/resnet8/model_0.onnx" "$out/resnet8.wick" || { tail -5 "$out/build.log"; exit 1; }
# lenet_lean, a runtime for little memory, is built where target.json states its size.
models=("lenet $out/lenet.wick" "lenet_lean $out/lenet.wick --option WICK_SMALL=ON" "lenet8 $out/lenet8.wick" "resnet8 $out/resnet8.wick" "gpt $out/corpus/gpt/model_0.onnx --dim time=8")
real=${WICK_REAL_MODELS:-}
if [ -e "$real/ppocr_cls/model.onnx" ] && [ -e "$real/silero_v5/model.onnx" ]; then
  stream=$real/silero_v5/stream16k
  models+=("ppocr_cls $real/ppocr_cls/model.onnx --dim p2o.DynamicDimension.1=48 --dim p2o.DynamicDimension.2=192"
    "silero_v5 $real/silero_v5/model.onnx --input input=$stream/in0_0.npy --input state=$stream/in0_1.npy --input sr=$stream/in0_2.npy")
else
  echo "SKIP: ppocr_cls, silero_v5 not installed (WICK_REAL_MODELS)"
fi
passed=0 failed=0 skipped=0
rows=()

# A program of the folder that `wick build` wrote, without a heap (no_heap.c).
no_heap() { # FOLDER
  local flags=(-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -D__int64_t_defined=1 -Os)
  sed 's/  end = \.;/  end = __stack_begin;/' targets/cortex-m7/link.ld >"$1/no_heap.ld"
  arm-none-eabi-gcc "${flags[@]}" -DMODEL=lenet8 -DROOM=$((100 * 1024)) -I"$1" -isystem runtime/include -Wall -Wextra -Werror \
    -c tests/targets/no_heap.c -o "$1/no_heap.o" &&
    arm-none-eabi-gcc "${flags[@]}" -c targets/cortex-m7/startup.c -o "$1/startup.o" &&
    arm-none-eabi-g++ "${flags[@]}" -T "$1/no_heap.ld" -nostartfiles --specs=nano.specs --specs=nosys.specs -s -Wl,--gc-sections \
      "$1"/build/CMakeFiles/lenet8.dir/*.obj "$1/no_heap.o" "$1/startup.o" -o "$1/no_heap" -lm \
      "$WICK_CACHE"/cortex-m7-*/libwick_runtime.a &&
    timeout 300 qemu-system-arm -M mps2-an500 -display none -monitor none -serial none \
      -semihosting-config enable=on,target=native -kernel "$1/no_heap"
}

while read -r target lacking runs; do
  [ $# = 0 ] || [[ " $* " == *" $target "* ]] || continue
  if [ "$lacking" != - ]; then
    echo "SKIP: $target needs $lacking"
    skipped=$((skipped + 1))
    continue
  fi
  for model in "${models[@]}"; do
    read -ra words <<<"$model"
    name=${words[0]}
    [ -z "$only" ] || [[ $only == *,$name,* ]] || continue
    [ $name != lenet_lean ] || grep -q '"lenet_lean"' "targets/$target/target.json" || continue
    made=$out/$target-$name
    "$wick" build "${words[@]:1}" --target "$target" -o "$made" --name "$name" --run --json >"$made.json" 2>"$made.log"
    code=$?
    row=$(python3 tests/targets/gate_row.py "$target" "$name" "$made.json" "$code" "$runs")
    good=$?
    echo "$row"
    rows+=("$row")
    if [ $good = 0 ]; then
      passed=$((passed + 1))
    else
      tail -5 "$made.log"
      failed=$((failed + 1))
    fi
    [ "$target-$name-$good" = cortex-m7-lenet8-0 ] || continue
    if no_heap "$made" >"$out/no_heap.log" 2>&1; then
      echo "without a heap: $(grep static "$out/no_heap.log")"
      passed=$((passed + 1))
    else
      echo "FAILED: without a heap"
      tail -5 "$out/no_heap.log"
      failed=$((failed + 1))
    fi
  done
done < <("$wick" targets --json | python3 -c '
import json, sys
for t in json.load(sys.stdin):
    print(t["name"], ",".join(t["lacking"]) or "-", t["runs"])')
[ $write = 0 ] || printf '%s\n' "${rows[@]}" | python3 tests/targets/gate_row.py --write docs/use/targets.md || failed=$((failed + 1))
[ $skipped = 0 ] || echo "$skipped targets skipped"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

#!/usr/bin/env bash
# The gate: for each target, or those that are named, programs of LeNet in float32 and in integers by `wick build`, run on its
# emulator: the bits of this machine, or the bound that the target states. A table with sizes and memory.
# gate.sh [TARGET...]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
native=$(cd "${WICK_BUILD:?the native build folder}" && pwd)
wick=$native/tools/wick/wick
out=$native/test-results/targets
export WICK_CACHE=${WICK_CACHE:-$native/targets}
mkdir -p "$out"
cmake --build "$native" -j "${WICK_JOBS:-2}" --target wick make_model >"$out/build.log" 2>&1 || { tail -20 "$out/build.log"; exit 1; }
"$native/examples/lenet_static/make_model" "$out" || exit 1
models=("$out/lenet.wick")
for model in "$native"/test-results/fashion/{lenet8,resnet8}.wick; do
  [ -e "$model" ] && models+=("$model")
done
passed=0 failed=0 skipped=0
printf '%-15s %-9s %-7s %9s %9s %9s %9s\n' target model answers flash data memory RAM

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
    name=$(basename "$model" .wick)
    "$wick" build "$model" --target "$target" -o "$out/$target-$name" --run --json >"$out/$target-$name.json" 2>"$out/$target-$name.log"
    code=$?
    line=$(python3 - "$out/$target-$name.json" <<'P'
import json, sys
try:
    made = json.load(open(sys.argv[1]))["made"]
except (ValueError, KeyError):
    sys.exit(0)
s = made.get("sections") or {"code": made["file_bytes"], "data": 0, "zeroed": 0}
said = "linked" if not made["ran"] else made["output"].split()[0]
print(f'{said:<7} {s["code"] + s["data"]:>9} {s["data"] + s["zeroed"]:>9} {made.get("memory", 0):>9} {made.get("ram", ""):>9}')
P
    )
    if [ $code = 0 ] && [ -n "$line" ] && { [ "$runs" = False ] || [[ $line == equal* || $line == close* ]]; }; then
      printf '%-15s %-9s %s\n' "$target" "$name" "$line"
      passed=$((passed + 1))
      [ "$target-$name" = cortex-m7-lenet8 ] || continue
      if no_heap "$out/$target-$name" >"$out/no_heap.log" 2>&1; then
        echo "without a heap: $(grep static "$out/no_heap.log")"
        passed=$((passed + 1))
      else
        echo "FAILED: without a heap"
        tail -5 "$out/no_heap.log"
        failed=$((failed + 1))
      fi
    else
      echo "FAILED: $target, $name (exit code $code)"
      tail -5 "$out/$target-$name.log"
      failed=$((failed + 1))
    fi
  done
done < <("$wick" targets --json | python3 -c '
import json, sys
for t in json.load(sys.stdin):
    print(t["name"], ",".join(t["lacking"]) or "-", t["runs"])')
[ $skipped = 0 ] || echo "$skipped targets skipped"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

#!/usr/bin/env bash
# Everything, in parts of under an hour: test_full.sh [--list] [PART...]. A part that passed is kept as
# build/full/PART.ok with the tree's state and skipped until the tree changes, so a run that was cut off
# goes on where it stopped. Each part closes with its own "N passed, N failed", the run with the sum.
#
# A part is a preset and a ctest selection; wick_full(PART ...) in a tests/ CMakeLists adds to one.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

# `sanitize` is address and undefined in one build, over what every other test looks at; `attack` is the
# same build's exhaustive attacks on the two formats. Threads are what TSan looks at: the programs whose
# tests start some. Scripts test no code of their own. The presets asan and ubsan are for looking closer.
parts=(subset readme vulkan models onnx sanitize attack tsan seeds math functions fuzz faults milestones images quantized export install soak kills ranks timing aarch64 rows targets gate web coverage sabotage injected)
threaded=(runtime ops trainer distributed explain exporter vulkan_threads vulkan_tensors)
run_part() {
  case $1 in
    subset) tools/scripts/test.sh ;;
    sanitize) tools/scripts/test.sh --preset attack -- -LE 'full|script' ;;
    attack) tools/scripts/test.sh --preset attack -- -L '^attack$' ;;
    asan | ubsan) tools/scripts/test.sh --preset "$1" -- -LE 'full|script' ;;
    tsan)
      # Tests ask for more memory than there is; lavapipe and its compiler are built without TSan, which takes
      # their threads for racing.
      mkdir -p build
      printf 'race:libvulkan_lvp.so\nrace:libLLVM\n' >build/tsan.supp
      TSAN_OPTIONS="halt_on_error=1 allocator_may_return_null=1 suppressions=$PWD/build/tsan.supp" WICK_TARGETS="${threaded[*]/#/test_}" tools/scripts/test.sh --preset tsan -- \
        -R "^($(IFS='|' && echo "${threaded[*]}"))\$"
      ;;
    models)
      tools/scripts/setup_ort.sh || true # said by the script
      tools/scripts/models.sh
      code=$?
      [ $code != 77 ] && return $code
      echo "1 skipped: PyTorch or ONNX Runtime is not installed"
      echo "1 passed, 0 failed"
      ;;
    # The node tests of the newest onnx, made by its Python package.
    onnx)
      tools/scripts/setup_onnx.sh || true # said by the script
      tools/scripts/build.sh release wick && WICK_BUILD=$PWD/build/release tests/conformance/sets.sh newest
      code=$?
      [ $code != 77 ] && return $code
      echo "1 skipped: onnx 1.23 not installed"
      echo "1 passed, 0 failed"
      ;;
    seeds) tools/scripts/test.sh -- -L '^seeds$' ;;
    faults) tools/scripts/test.sh -- -L '^faults$' ;;
    # The README's commands over all images of Fashion-MNIST.
    readme) tools/scripts/test.sh -- -L '^readme$' ;;
    # Every call of Vulkan that a run makes fails in turn.
    vulkan) tools/scripts/test.sh -- -L '^vulkan$' ;;
    # The trainer's functions at random shapes beside PyTorch (Debian's python3-torch), 100,000 of each seed.
    functions)
      tools/scripts/build.sh release test_functions || exit
      if ! /usr/bin/python3 -c "import torch" 2>/dev/null; then
        echo "1 skipped: PyTorch is not installed"
        echo "1 passed, 0 failed"
      else
        /usr/bin/python3 tests/functions/random_shapes.py --count "${WICK_FUNCTIONS_COUNT:-100000}" \
          --seed "${WICK_FUZZ_SEED:-1}" build/release/tests/functions/test_functions
      fi
      ;;
    # The program keeps a line for each function that is done: cut off, it goes on with the next one.
    math) WICK_TARGETS="math_exhaustive narrow_exhaustive" tools/scripts/test.sh -- -L '^math$' ;;
    # Five seeds of the full forms. Each finished run is kept: cut off, they go on with the next one.
    milestones) tools/scripts/milestones.sh --results build/full/milestones.jsonl -- -cnn_image ;;
    images) tools/scripts/milestones.sh --results build/full/milestones.jsonl cnn_image ;;
    # Three seeds of three networks; finished commands are kept, as those of the milestones.
    quantized) tools/scripts/quantized_accuracy.sh --work build/full/quantized ;;
    # 5,000 of random sizes, and the corpus beside PyTorch's exporter.
    export) tools/scripts/test.sh -- -L '^export$' ;;
    # The ways in which Wick comes to a user, each compiled from outside of the tree.
    install) tools/scripts/test.sh -- -L '^install$' ;;
    # 10^5 loads and 10^6 runs without a byte more; 200 kills of training and 200 of converting.
    soak) tools/scripts/test.sh -- -L '^soak$' ;;
    kills)
      tools/scripts/build.sh release wick && tests/tools/kills.py build/release/tools/wick/wick --train 200 --convert 200 \
        --work build/full/kills
      ;;
    # Trainings whose ranks are killed in random steps, and started again.
    ranks) tools/scripts/test.sh -- -L '^ranks$' ;;
    # Times, which nothing else asserts: an idle machine is best.
    timing) tools/scripts/test.sh -- -L '^timing$' ;;
    aarch64)
      tools/scripts/build.sh release fashion_models images_digest &&
        WICK_BUILD=$PWD/build/release WICK_IMAGES=10000 tests/aarch64/images.sh
      ;;
    targets)
      code=77
      for target in riscv64 ppc64le cortex-m7 wasm32 wasm32_fma windows_x86_64 musl_x86_64 macos_arm64; do
        WICK_TEST_FULL=1 WICK_BUILD=$PWD/build/release tests/targets/run.sh $target
        case $? in
          0) [ $code = 77 ] && code=0 ;;
          77) echo "1 skipped: compiler of this target not installed ($target)" ;;
          *) code=1 ;;
        esac
      done
      WICK_BUILD=$PWD/build/release tests/targets/switches.sh || code=1
      [ $code != 77 ] && return $code
      return 0
      ;;
    # The runtime's tests and ONNX's node tests under emulators. What passed is kept: cut off, it goes on with the next program.
    rows)
      find build/full -maxdepth 1 -name 'rows-*' ! -name "rows-$state" -exec rm -r {} +
      tools/scripts/build.sh release wick && WICK_BUILD=$PWD/build/release \
        tests/targets/rows.sh --nodes --kept "build/full/rows-$state" aarch64 riscv64 armv7 i686 ppc64le wasm32 wasm32_fma |
        sed 's/^SKIP: /1 skipped: /'
      code=$?
      [ $code != 77 ] && return $code
      echo "1 passed, 0 failed"
      ;;
    # LeNet and ResNet-8 by `wick build` on each target that is installed (tools/scripts/setup.sh targets).
    gate)
      tools/scripts/build.sh release wick && WICK_BUILD=$PWD/build/release tests/targets/gate.sh
      ;;
    # The runtime in WebAssembly: its package in Node and TypeScript, its page in Chromium.
    web)
      tools/scripts/setup_web.sh || true # said by the script
      tools/scripts/web.sh --no-serve && tools/scripts/test.sh -- -R '^web_'
      ;;
    fuzz)
      tools/scripts/setup_ort.sh
      tools/scripts/build.sh release wick && tests/conformance/fuzz/run.py \
        --count "${WICK_FUZZ_COUNT:-100}" --seed "${WICK_FUZZ_SEED:-1}" build/release/tools/wick/wick
      nodes=$?
      tests/conformance/fuzz/graphs.py --count "${WICK_FUZZ_GRAPHS:-5000}" --seed "${WICK_FUZZ_SEED:-1}" --ops \
        --work build/full/fuzz --keep build/full/fuzz/unexplained build/release/tools/wick/wick && [ $nodes = 0 ]
      graphs=$?
      # Hostile programs, files and calls (tests/fuzz): ten minutes each, from where the last run stopped.
      tools/scripts/test.sh -- -L '^fuzz$' && [ $graphs = 0 ]
      ;;
    # Which lines and branches of the runtime the tests reach, against a bound for each group of files.
    coverage) tools/scripts/coverage.sh ;;
    sabotage) tools/scripts/sabotage.sh ;;
    # Each patch that was looked at is kept: cut off, it goes on with the next one.
    injected)
      tools/scripts/setup_ort.sh || true # said by the script
      tools/scripts/build.sh release wick && tests/verify/injected.py build/release build/full/injected
      ;;
    *) echo "no part $1 (parts: ${parts[*]})"; echo "0 passed, 1 failed"; return 1 ;;
  esac
}

[ "${1:-}" = --list ] && { printf '%s\n' "${parts[@]}"; exit 0; }
[ $# -gt 0 ] && parts=("$@")
mkdir -p build/full
state=$( (git rev-parse HEAD; git diff HEAD) 2>/dev/null | sha256sum | cut -c1-16)
passed=0 failed=0 skipped=()
for part in "${parts[@]}"; do
  stamp=build/full/$part.ok log=build/full/$part.log
  if [ "$(head -1 "$stamp" 2>/dev/null)" = "$state" ]; then
    echo "== $part: passed before, tree unchanged"
  else
    echo "== $part"
    start=$SECONDS
    run_part "$part" 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    echo "== $part took $((SECONDS - start)) s"
    rm -f "$stamp"
    [ "$code" = 0 ] && { echo "$state"; grep -E ' skipped: |^[0-9]+ passed, ' "$log" | tail -20; } >"$stamp"
  fi
  closing=$(grep -hE '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
  read -r p _ f _ <<<"${closing:-0 passed, 1 failed}"
  passed=$((passed + p)) failed=$((failed + f))
  while read -r line; do skipped+=("$part: $line"); done < <(grep -hE '^[0-9]+ skipped: ' "$log")
done
for line in "${skipped[@]}"; do echo "$line"; done
[ ${#skipped[@]} -gt 0 ] || echo "0 skipped"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

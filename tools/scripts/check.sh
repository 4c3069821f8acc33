#!/usr/bin/env bash
# Format, include arrows, docs, reference, warnings (the build), clang-tidy. One line per step, details of what fails.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
tools/scripts/setup.sh build check || exit 1
mkdir -p build/check
passed=0 failed=0
step() { # NAME command...
  local name=$1 log=build/check/$1.log
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok      $name"
  else
    failed=$((failed + 1))
    tail -60 "$log"
    echo "FAILED  $name (all of it: $log)"
  fi
}
format() {
  git ls-files -z '*.h' '*.cc' '*.c' '*.cpp' | xargs -0 -r clang-format-16 --dry-run -Werror
}
step format format
step layers python3 tests/layers/check_includes.py
step shape_reads python3 tests/layers/check_shape_reads.py
step facts python3 tests/layers/check_facts.py
step onnx_tables python3 tests/layers/check_onnx_tables.py
step docs python3 tools/scripts/check_docs.py
step reference python3 tools/scripts/check_reference.py
step build tools/scripts/build.sh release # -Wall -Wextra -Werror
step tidy python3 tools/scripts/tidy.py build/release --jobs "${WICK_JOBS:-$(nproc)}"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

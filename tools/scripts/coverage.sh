#!/usr/bin/env bash
# Measures what the tests reach: coverage.sh [--whole] [--report FOLDER] [--only-report]. Builds the preset coverage, runs
# the test programs below, and compares each group of files with its bound; docs/testing.md says how branches are
# counted. The last line is "N passed, N failed". --whole runs every program of `make test` and compares the lines of all
# rooms, too; --report writes every line and branch as HTML; --only-report takes the last run's counts.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=$PWD/build/coverage report='' run=1 whole=0
while [ $# -gt 0 ]; do
  case $1 in
    --report) report=$2; shift 2 ;;
    --only-report) run=0; shift ;;
    --whole) whole=1; shift ;;
    *) echo "coverage.sh: unknown argument $1"; echo "0 passed, 1 failed"; exit 1 ;;
  esac
done
command -v gcovr >/dev/null || tools/scripts/setup.sh check || { echo "0 passed, 1 failed"; exit 1; }

tests=(program runtime ops kernels)
fuzzers=("fuzz_programs --cases 20000" "fuzz_ops --cases 20000")
# name, branch or line, least percent, files
groups=(
  "loader branch 98 runtime/(program/|ops/check_attrs)"
  "planner branch 98 runtime/plan/"
  "binder branch 98 runtime/exec/(bind|binder|homes|infer|join|place|ports|values|session_memory)[.]"
  "kernels line 95 runtime/kernels/"
)

roots='runtime/'
if [ $whole = 1 ]; then
  roots='(runtime|trainer|exporter|graph|quantize|sign|tools)/'
  groups+=("whole line 90 $roots")
fi

passed=0 failed=0
tell() { # passed or failed, what
  case $1 in passed) passed=$((passed + 1)) ;; *) failed=$((failed + 1)) ;; esac
  echo "$1: $2"
}
if [ $run = 1 ]; then
  targets=("${tests[@]/#/test_}")
  for line in "${fuzzers[@]}"; do targets+=("${line%% *}"); done
  [ $whole = 1 ] && targets=()
  tools/scripts/build.sh coverage "${targets[@]}" || { echo "0 passed, 1 failed"; exit 1; }
  find "$build" -name '*.gcda' -delete
  for name in "${tests[@]}"; do # resident memory, which Soak looks at, grows by the pages of new counts
    "$build/tests/$name/test_$name" --gtest_brief=1 --gtest_filter='-Soak.*' >"$build/$name.log" 2>&1 &&
      tell passed "test_$name" || { tail -50 "$build/$name.log"; tell failed "test_$name"; }
  done
  # Every other program. A test that limits time or memory may not pass here, where each line costs more: it is told and
  # its counts are taken.
  if [ $whole = 1 ]; then
    ctest --test-dir "$build" -j "$(nproc)" -LE 'full|script' -E "^($(IFS='|' && echo "${tests[*]}"))\$" \
      >"$build/whole.log" 2>&1 && tell passed "the other programs" ||
      sed -n '/tests passed/,$p' "$build/whole.log"
  fi
  for line in "${fuzzers[@]}"; do
    # shellcheck disable=SC2086
    "$build"/tests/fuzz/$line && tell passed "$line" || tell failed "$line"
  done
fi

# Branches to code that throws, and those on lines without code, are the compiler's own.
options=(--root . --exclude-throw-branches --exclude-unreachable-branches)
all=$build/coverage.json
gcovr "${options[@]}" --filter "$roots" -j "$(nproc)" --gcov-executable "gcov --relative-only --source-prefix $PWD" \
  --json "$all" "$build" >"$build/gcovr.log" 2>&1 || { tail "$build/gcovr.log"; tell failed gcovr; }
for line in "${groups[@]}"; do
  read -r name kind least files <<<"$line"
  said=$(gcovr "${options[@]}" --add-tracefile "$all" --filter "$files" --print-summary --fail-under-"$kind" "$least" \
    -o "$build/coverage-$name.txt" 2>/dev/null)
  code=$?
  said=$(echo "$said" | grep -E '^(lines|branches):' | tr '\n' ' ')
  if [ $code = 0 ]; then tell passed "$name: $said(least by $kind: $least %)"; else
    tell failed "$name: $said(least by $kind: $least %)"
  fi
done
if [ -n "$report" ]; then
  mkdir -p "$report"
  gcovr "${options[@]}" --add-tracefile "$all" --html-details "$report/index.html" && echo "report: $report/index.html"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]

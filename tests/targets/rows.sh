#!/usr/bin/env bash
# The runtime's tests on other machines: for each TARGET, a folder of targets/ and a preset of that name, builds the preset
# with its tests and runs under the target's emulator (target.json)
#   - every test_*, whose DIGEST lines must be this machine's: all of them where the target promises bits, where it promises
#     floats that are close those of whole numbers and strings;
#   - the programs that print what a machine computes, line for line as here (LeNet, the rows of the reference kernels, limits);
#   - with --nodes ONNX's node tests, each as a program with its inputs: within the suite's bound of what ONNX expects, and with
#     the bits of this machine where the target promises them.
# rows.sh [--nodes] [--kept FOLDER] [--only NAME,...] TARGET...
#   --kept: what passed has a file there and is not run again;   --only: these programs, and `nodes`
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
native=$(cd "${WICK_BUILD:?the native build folder}" && pwd)
results=$native/test-results
nodes=0 kept='' only=''
while [[ ${1:-} == --* ]]; do
  case $1 in
    --nodes) nodes=1; shift ;;
    --kept) kept=$2; shift 2 ;;
    --only) only=,$2,; shift 2 ;;
    *) echo "rows.sh: unknown argument $1"; echo "0 passed, 1 failed"; exit 1 ;;
  esac
done
[ $# -gt 0 ] || { echo "rows.sh [--nodes] [--kept FOLDER] [--only NAME,...] TARGET..."; exit 2; }
mkdir -p "$results" ${kept:+"$kept"}
printing=(limits_check nets_digest rows_digest lenet_digest)
passed=0 failed=0 skipped=0

# Runs FUNCTION, which sets `count` to the number that passed; a line that it prints says what failed.
step() { # NAME FUNCTION [ARGUMENT...]
  local name=$1 file=${kept:+$kept/$target-$1} start=$SECONDS
  shift
  [ -z "$only" ] || [[ $only == *,$name,* ]] || return
  if [ -n "$file" ] && [ -e "$file" ]; then
    passed=$((passed + $(cat "$file")))
    echo "$target $name: passed before"
    return
  fi
  count=0
  if "$@"; then
    passed=$((passed + count))
    [ -z "$file" ] || echo "$count" >"$file"
    echo "$target $name: $count passed, $((SECONDS - start)) s"
  else
    failed=$((failed + 1))
    echo "FAILED: $target $name"
  fi
}

# qemu's user mode can lose a thread's wake-up on a loaded machine: a run that hangs is stopped, said, and begun again.
emulated() { # SECONDS WORD...
  local limit=$1 code attempt
  shift
  for attempt in 1 2; do
    timeout "$limit" "${runner[@]}" "$@"
    code=$?
    [ $code = 124 ] || break
    echo "$(basename "$1") hung under ${runner[0]} (attempt $attempt)" >&2
  done
  return $code
}

digests() { # LOG: the DIGEST lines of what the target promises
  grep '^DIGEST ' "$1" | if [ "$promise" = bits ]; then cat; else grep ' exact '; fi
}

# A test's reasons to skip are listed, as they are here.
skips() { # LOG
  local times reason allowed known result=0
  while read -r times reason; do
    echo "$times skipped: $reason"
    known=0
    while read -r allowed; do
      case $allowed in "" | "#"*) continue ;; esac
      [[ $reason == "$allowed"* ]] && known=1
    done <tests/skips.txt
    [ $known = 1 ] || { echo "skipped for a reason that tests/skips.txt does not list: $reason"; result=1; }
  done < <(grep -A1 ': Skipped$' "$1" | grep -vE ': Skipped$|^--$' | sort | uniq -c)
  return $result
}

gtest() { # PROGRAM
  local name log twin
  name=$(basename "$1") log=$results/$target-$(basename "$1").log
  if ! emulated 1800 "$1" --gtest_brief=1 >"$log"; then
    grep -E 'FAILED|Failure' "$log" | head -20
    tail -2 "$log"
    return 1
  fi
  count=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log")
  skips "$log" || return 1
  twin=$native/tests/$(basename "$(dirname "$1")")/$name
  grep -q '^DIGEST ' "$log" || return 0
  "$twin" --gtest_filter='*Digest*' --gtest_brief=1 >"$log.here"
  if ! diff <(digests "$log.here") <(digests "$log") >"$log.diff"; then
    echo "other bits than here (< here, > $target):"
    head -20 "$log.diff"
    return 1
  fi
  count=$((count + $(digests "$log" | wc -l)))
}

printed() { # PROGRAM [ARGUMENT...]
  local name=$1 log=$results/$target-$1.log
  local program
  program=$(cd "$cross" && echo tests/*/"$name")
  shift
  "$native/$program" "$@" >"$log.here" 2>"$log.err" || { tail -5 "$log.here" "$log.err"; return 1; }
  emulated 1200 "$cross/$program" "$@" >"$log" 2>"$log.err" || { tail -5 "$log" "$log.err"; return 1; }
  diff "$log.here" "$log" >"$log.diff" || { echo "(< here, > $target)"; head -20 "$log.diff"; return 1; }
  count=$(wc -l <"$log")
  [ "$count" -gt 0 ]
}

# The programs are written once for all targets.
cases=$native/test-work/node-cases
write_cases() {
  [ $nodes = 1 ] || return 1
  ( . tests/conformance/node_tests.sh
    # All but two of DFT, whose expected values are rounded (docs/next.md).
    "$native/tests/targets/node_cases" write "$tests/node" "$list" "$cases" >"$cases.log" &&
      [ "$(wc -l <"$cases/list")" -ge $((all - 2)) ] || { tail -5 "$cases.log"; exit 1; })
  case $? in
    0) ;;
    77) nodes=0 ;;
    *) failed=$((failed + 1)) nodes=0; echo "FAILED: the node tests' programs" ;;
  esac
}

node_tests() {
  local log=$results/$target-nodes.log out=$native/test-work/nodes-$target
  rm -rf "$out"
  mkdir -p "$out"
  emulated 1800 "$cross/tests/targets/node_run" "$cases" "$out" >"$log" 2>&1 || { tail -3 "$log"; return 1; }
  if ! "$native/tests/targets/node_cases" check "$cases" "$out" "$promise" >"$log.check"; then
    head -20 "$log.check"
    tail -1 "$log.check"
    return 1
  fi
  rm -rf "$out"
  count=$(sed -n 's/^\([0-9]*\) passed, 0 failed$/\1/p' "$log.check")
}

build() {
  local log=$native/build-$target.log
  { cmake --preset "$target" && cmake --build "$cross" -j "${WICK_JOBS:-2}"; } >"$log" 2>&1 && return
  grep -E 'error|warning' "$log" | head -20
  tail -5 "$log"
  return 1
}

# Words of target.json: promise, then what its programs are run by, then the programs that are needed.
facts() {
  python3 -I -c '
import json, sys
t = json.load(open(sys.argv[1]))
print(t["promise"])
print(*(w.replace("./", f"targets/{sys.argv[2]}/", 1) if w.startswith("./") else w for w in t["runner"]))
print(*t["needs"])' "targets/$target/target.json" "$target"
}

present=()
for target in "$@"; do
  { read -r promise; read -r _; read -ra needs; } < <(facts) || exit 1
  lacking=''
  for tool in "${needs[@]}"; do command -v "$tool" >/dev/null || lacking+=" $tool"; done
  if [ -n "$lacking" ]; then
    echo "SKIP: compiler of this target not installed ($target:$lacking)"
    skipped=$((skipped + 1))
  else
    present+=("$target")
  fi
done
[ ${#present[@]} -gt 0 ] || exit 77
. tools/scripts/ccache_env.sh
twins=("${printing[@]}" test_ops make_model)
[ $nodes = 0 ] || twins+=(node_cases)
lacking=() # in `make test` all are there, and other tests are running
for name in "${twins[@]}"; do
  [ -n "$(find "$native/tests" "$native/examples" -name "$name" -type f -perm -u+x -print -quit)" ] || lacking+=("$name")
done
[ ${#lacking[@]} = 0 ] ||
  cmake --build "$native" -j "${WICK_JOBS:-2}" --target "${lacking[@]}" >"$native/build-rows.log" 2>&1 ||
  { tail -20 "$native/build-rows.log"; echo "0 passed, 1 failed"; exit 1; }
"$native/examples/lenet_static/make_model" "$results" >/dev/null || exit 1
write_cases
for target in "${present[@]}"; do
  { read -r promise; read -ra runner; } < <(facts)
  cross=build/$target
  build || { failed=$((failed + 1)); echo "FAILED: $target does not build"; continue; }
  for program in "$cross"/tests/*/test_*; do
    [ -x "$program" ] && [ -f "$program" ] && step "$(basename "$program")" gtest "$program"
  done
  for name in "${printing[@]}"; do
    if [ "$name" != lenet_digest ]; then
      step "$name" printed "$name"
    elif [ "$promise" = bits ]; then
      step "$name" printed "$name" "$results/lenet.wick"
    fi
  done
  [ $nodes = 0 ] || step nodes node_tests
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

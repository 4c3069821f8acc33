#!/usr/bin/env bash
# Makes each break of tests/sabotage in a scratch copy of the tree and requires the test it names to be
# green without it and red with it: sabotage.sh [NAME...]. Last line: "N passed, N failed".
#
# First every program that the breaks name is built and its tests must be green; then break by break,
# one program after the other, only what a break touches is compiled again. A break found red is not tried
# again while its text and the green program (byte for byte) stay the same, so a run that was cut off
# goes on where it stopped. Without names, each processor has a copy of its own and its share of the breaks (WICK_JOBS: how
# many), since a break compiles one file or two. A test may be a script of tests/ and its argument (tests/install/outside.sh
# WAY), run in the copy with WICK_BUILD after all that is installed was built. SABOTAGE_PART=2/3 takes the second third of the breaks.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
jobs=${WICK_JOBS:-$(nproc)}
part=${SABOTAGE_PART:-}
if [ -z "$part" ] && [ $# = 0 ] && [ "$jobs" -gt 1 ]; then
  mkdir -p "$root/build/sabotage"
  # One copy is built first, by all processors: the others then find its objects in ccache.
  SABOTAGE_PART=1/1 SABOTAGE_BUILD_ONLY=1 "$0" || exit 1
  for i in $(seq "$jobs"); do
    SABOTAGE_PART=$i/$jobs WICK_JOBS=1 "$0" >"$root/build/sabotage/$i.log" 2>&1 &
  done
  wait
  passed=0 failed=0
  for i in $(seq "$jobs"); do
    sed '$d' "$root/build/sabotage/$i.log"
    read -r p _ f _ <<<"$(tail -1 "$root/build/sabotage/$i.log")"
    passed=$((passed + p)) failed=$((failed + f))
  done
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
  exit
fi
part=${part:-1/1}
work=$root/build/sabotage/${part%/*}
tree=$work/tree
red=$root/build/sabotage/red
out=$tree/build/release # as deep below the copy as build/release is here: ccache shares the objects
. tools/scripts/ccache_env.sh
mkdir -p "$tree" "$red"

breaks() { python3 -I "$root/tests/sabotage/breaks.py" "$@"; }
stopped() {
  echo "$1"
  echo "0 passed, 1 failed"
  exit 1
}

listed=$(breaks list | grep .) || stopped "the lists of breaks cannot be read"
declare -A program filter digest # of each break, by its name
while IFS=$'\t' read -r name of what sum; do
  program[$name]=$of filter[$name]=$what digest[$name]=$sum
done <<<"$listed"
if [ $# -gt 0 ]; then
  names=("$@")
else
  mapfile -t names < <(cut -f1 <<<"$listed" | awk -v at="${part%/*}" -v of="${part#*/}" '
    { line[NR] = $0 }
    END { for (i = 1; i <= NR; ++i) if (int((i - 1) * of / NR) + 1 == at) print line[i] }')
fi

# Tracked and new files as they are now; times are kept, so the copy's build stays incremental.
sync_tree() {
  git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    [ -f "$file" ] || continue
    cmp -s "$file" "$tree/$file" && continue
    mkdir -p "$tree/$(dirname "$file")"
    cp "$file" "$tree/$file"
  done
  # What the original no longer has must not linger in the copy.
  (cd "$tree" && find . -path ./build -prune -o -type f -print) | sed 's|^\./||' | while IFS= read -r file; do
    [ -f "$root/$file" ] || rm -f "$tree/$file"
  done
}
build() { # PROGRAM...
  local targets=() each
  for each in "$@"; do
    case $each in */*) targets+=(wick_installed examples/lenet_static/all) ;; *) targets+=("$each") ;; esac
  done
  cmake --build "$out" -j "$jobs" --target "${targets[@]}" >"$work/build.log" 2>&1
}
binary() {
  case $1 in */*) echo "$tree/$1"; return ;; esac
  find "$out/tests" -name "$1" -type f -perm -u+x | head -1
}
run() { # PROGRAM FILTER: 0 green, 1 red, 2 no test matched, 124 out of time (a hang is no proof)
  local program log=$work/run.log
  program=$(binary "$1")
  [ -n "$program" ] || return 2
  case $1 in
    */*)
      WICK_BUILD=$out timeout "${WICK_SABOTAGE_SECONDS:-1200}" "$program" "$2" >"$log" 2>&1
      case $? in 0) return 0 ;; 77) return 2 ;; 124) return 124 ;; *) return 1 ;; esac
      ;;
  esac
  timeout "${WICK_SABOTAGE_SECONDS:-600}" "$program" --gtest_filter="$2" --gtest_brief=1 >"$log" 2>&1
  local code=$?
  [ $code -eq 124 ] && return 124
  grep -qE '^\[==========\] [1-9][0-9]* tests? from' "$log" || { [ $code -eq 0 ] && return 2; }
  [ $code -eq 0 ] && ! grep -q '^\[  PASSED  \] [1-9]' "$log" && return 2 # all skipped proves nothing
  [ $code -eq 0 ] || return 1
}
sync_tree
cmake -S "$tree" --preset release \
  >"$work/configure.log" 2>&1 || { tail -20 "$work/configure.log"; stopped "cmake failed"; }
mapfile -t programs < <(for name in "${names[@]}"; do echo "${program[$name]:-}"; done | sort -u | grep .)
[ ${#programs[@]} -gt 0 ] || stopped "no breaks"
build "${programs[@]}" || { tail -20 "$work/build.log"; stopped "the tree does not build without any break"; }
if [ -n "${SABOTAGE_BUILD_ONLY:-}" ]; then exit 0; fi
declare -A green # program -> digest of its binary without a break
for each in "${programs[@]}"; do
  green[$each]=$(sha256sum "$(binary "$each")" | cut -d' ' -f1)
done

# Why a break need not or cannot be tried; empty: it is tried below.
declare -A result
state() { echo "${digest[$1]} ${green[${program[$1]}]}"; } # what a stamp holds
for name in "${names[@]}"; do
  if [ -z "${program[$name]:-}" ]; then
    result[$name]="no such break"
  elif [ "$(cat "$red/$name" 2>/dev/null)" = "$(state "$name")" ]; then
    result[$name]="red (found before)"
  else
    run "${program[$name]}" "${filter[$name]}"
    case $? in
      0) result[$name]= ;;
      1) result[$name]="not green without the break" ;;
      2) result[$name]="no test matches" ;;
      *) result[$name]="out of time without the break" ;;
    esac
  fi
done

passed=0 failed=0
printf '%-34s %-60s %s\n' break test result
for name in "${names[@]}"; do
  if [ -z "${result[$name]}" ]; then
    if ! breaks apply "$name" "$tree" 2>"$work/apply.log"; then
      result[$name]="does not apply: $(head -1 "$work/apply.log")"
    elif ! build "${program[$name]}"; then
      result[$name]="does not compile with the break"
    else
      run "${program[$name]}" "${filter[$name]}"
      case $? in
        1) result[$name]=red ;;
        124) result[$name]="out of time with the break" ;;
        *) result[$name]="STILL GREEN with the break" ;;
      esac
    fi
    breaks revert "$name" "$tree" 2>"$work/revert.log" || sync_tree
    [ "${result[$name]}" = red ] && state "$name" >"$red/$name"
  fi
  if [[ ${result[$name]} = red* ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  printf '%-34s %-60s %s\n' "$name" "${program[$name]:-} ${filter[$name]:-}" "${result[$name]}"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

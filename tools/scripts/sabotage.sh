#!/usr/bin/env bash
# Applies each patch of tests/sabotage to a scratch copy of the tree and requires the test it names to be
# green without it and red with it: sabotage.sh [NAME...]. Last line: "N passed, N failed".
#
# First every program that the patches name is built and its tests must be green; then patch by patch,
# one program after the other, only what a patch touches is compiled again. A patch found red is not tried
# again while its text and the green program (byte for byte) stay the same, so a run that was cut off
# goes on where it stopped. A test may be a script of tests/ and its argument (tests/install/outside.sh WAY), run in the copy
# with WICK_BUILD after all that is installed was built. SABOTAGE_PART=2/3 takes the second third of the patches.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$root/build/sabotage
tree=$work/tree
out=$tree/build/release # as deep below the copy as build/release is here: ccache shares the objects
export CCACHE_BASEDIR=$root
jobs=${WICK_JOBS:-$(nproc)}
part=${SABOTAGE_PART:-1/1}
mkdir -p "$tree" "$work/red"

header() { sed -n 's/^Test: //p' "$1" 2>/dev/null | head -1; } # PROGRAM FILTER
paths=()
if [ $# -gt 0 ]; then
  for name in "$@"; do paths+=("tests/sabotage/$(basename "$name" .patch).patch"); done
else
  mapfile -t paths < <(for p in tests/sabotage/*.patch; do echo "$(header "$p" | cut -d' ' -f1) $p"; done |
    sort | cut -d' ' -f2- | awk -v at="${part%/*}" -v of="${part#*/}" '
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
apply() { (cd "$tree" && GIT_CEILING_DIRECTORIES=$work git apply --no-index "$@") 2>"$work/apply.log"; }
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
stopped() {
  echo "$1"
  echo "0 passed, 1 failed"
  exit 1
}

sync_tree
cmake -S "$tree" --preset release -DWICK_BUILD_BENCH=OFF -DWICK_BUILD_SHARED=OFF \
  >"$work/configure.log" 2>&1 || { tail -20 "$work/configure.log"; stopped "cmake failed"; }
mapfile -t programs < <(for p in "${paths[@]}"; do header "$p" | cut -d' ' -f1; done | sort -u)
[ ${#programs[@]} -gt 0 ] || stopped "no patches"
build "${programs[@]}" || { tail -20 "$work/build.log"; stopped "the tree does not build without any patch"; }
declare -A green # program -> digest of its binary without a patch
for program in "${programs[@]}"; do
  green[$program]=$(sha256sum "$(binary "$program")" | cut -d' ' -f1)
done

# Why a patch need not or cannot be tried; empty: it is tried below.
declare -A result
for patch in "${paths[@]}"; do
  program="" filter=""
  read -r program filter < <(header "$patch")
  stamp=$work/red/$(basename "$patch" .patch)
  state=$(cat "$patch" <(echo "${green[$program]:-}") 2>/dev/null | sha256sum)
  if [ ! -f "$patch" ]; then
    result[$patch]="no such patch"
  elif [ -z "$program" ] || [ -z "$filter" ]; then
    result[$patch]="no header 'Test: PROGRAM FILTER'"
  elif [ "$(cat "$stamp" 2>/dev/null)" = "$state" ]; then
    result[$patch]="red (found before)"
  else
    run "$program" "$filter"
    case $? in
      0) result[$patch]= ;;
      1) result[$patch]="not green without the patch" ;;
      2) result[$patch]="no test matches" ;;
      *) result[$patch]="out of time without the patch" ;;
    esac
  fi
done

passed=0 failed=0
printf '%-34s %-60s %s\n' patch test result
for patch in "${paths[@]}"; do
  name=$(basename "$patch" .patch) program="" filter=""
  read -r program filter < <(header "$patch")
  if [ -z "${result[$patch]}" ]; then
    if ! apply "$root/$patch"; then
      result[$patch]="does not apply: $(head -1 "$work/apply.log")"
    elif ! build "$program"; then
      result[$patch]="does not compile with the patch"
    else
      run "$program" "$filter"
      case $? in
        1) result[$patch]=red ;;
        124) result[$patch]="out of time with the patch" ;;
        *) result[$patch]="STILL GREEN with the patch" ;;
      esac
    fi
    apply -R "$root/$patch" || sync_tree
    [ "${result[$patch]}" = red ] && cat "$patch" <(echo "${green[$program]}") | sha256sum >"$work/red/$name"
  fi
  if [[ ${result[$patch]} = red* ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  printf '%-34s %-60s %s\n' "$name" "$program $filter" "${result[$patch]}"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

#!/usr/bin/env bash
# Applies each patch of tests/sabotage to a scratch copy of the tree and requires the test it names to be
# green without it and red with it: sabotage.sh [NAME...]. Last line: "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
tree=$root/build/sabotage/tree
out=$root/build/sabotage/out
jobs=${WICK_JOBS:-$(nproc)}

patches=()
if [ $# -gt 0 ]; then
  for name in "$@"; do patches+=("tests/sabotage/${name%.patch}.patch"); done
else
  patches=(tests/sabotage/*.patch)
fi

# Tracked and new files as they are now; times are kept, so the copy's build stays incremental.
mkdir -p "$tree" "$out"
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
sync_tree
cmake -S "$tree" -B "$out" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWICK_BUILD_BENCH=OFF \
  >"$root/build/sabotage/configure.log" 2>&1 || {
  tail -20 "$root/build/sabotage/configure.log"
  echo "0 passed, 1 failed"
  exit 1
}

build() { cmake --build "$out" -j "$jobs" --target "$1" >"$root/build/sabotage/build.log" 2>&1; }
run() { # PROGRAM FILTER: 0 green, 1 red, 2 no test matched
  local program log=$root/build/sabotage/run.log
  program=$(find "$out" -name "$1" -type f -perm -u+x | head -1)
  [ -n "$program" ] || return 2
  timeout 600 "$program" --gtest_filter="$2" --gtest_brief=1 >"$log" 2>&1
  local code=$?
  grep -qE '^\[==========\] [1-9][0-9]* tests? from' "$log" || { [ $code -eq 0 ] && return 2; }
  [ $code -eq 0 ] && ! grep -q '^\[  PASSED  \] [1-9]' "$log" && return 2 # all skipped proves nothing
  [ $code -eq 0 ]
}

passed=0 failed=0
printf '%-34s %-52s %s\n' patch test result
for patch in "${patches[@]}"; do
  name=$(basename "$patch" .patch)
  result="no such patch" filter="" program=""
  if [ -f "$patch" ]; then
    read -r program filter < <(sed -n 's/^Test: //p' "$patch" | head -1)
    result=
    if [ -z "$program" ] || [ -z "$filter" ]; then
      result="no header 'Test: PROGRAM FILTER'"
    elif ! build "$program"; then
      result="does not build without the patch"
    else
      run "$program" "$filter"
      case $? in
        0) ;;
        1) result="red without the patch" ;;
        *) result="no test matches" ;;
      esac
    fi
    if [ -z "$result" ]; then
      if ! (cd "$tree" && GIT_CEILING_DIRECTORIES=$root/build git apply --no-index "$root/$patch") 2>"$root/build/sabotage/apply.log"; then
        result="does not apply: $(head -1 "$root/build/sabotage/apply.log")"
      elif ! build "$program"; then
        result="does not compile with the patch"
      else
        run "$program" "$filter"
        [ $? -eq 1 ] && result=red || result="STILL GREEN with the patch"
      fi
      sync_tree
    fi
  fi
  if [ "$result" = red ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  printf '%-34s %-52s %s\n' "$name" "$program $filter" "$result"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

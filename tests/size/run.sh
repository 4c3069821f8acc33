#!/usr/bin/env bash
# lenet_static (examples/) is small, links only the C and C++ libraries and has the trainer's bits; a model that needs
# an op that it does not have fails with that op's name.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
built=${WICK_BUILD:?the build folder}/examples/lenet_static
limit=500000 # bytes, stripped
passed=0 failed=0
check() { # TEXT, then a command
  local text=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $text"
  fi
}

strip --strip-all -o "$built/stripped" "$built/lenet_static" || exit 1
bytes=$(stat -c %s "$built/stripped")
echo "lenet_static: $bytes bytes stripped, $limit allowed"
check "more than $limit bytes" test "$bytes" -le "$limit"

libraries=$(ldd "$built/stripped" | awk '{print $1}' | sed 's|.*/||; s/\.so.*//' | sort | tr '\n' ' ')
echo "links: $libraries"
only_c_and_cpp() {
  local name
  for name in $libraries; do
    case $name in linux-vdso | ld-linux-* | libc | libm | libstdc++) ;; *) return 1 ;; esac
  done
}
check "links more than libc, libm, libstdc++: $libraries" only_c_and_cpp

"$built/stripped" "$built/lenet.wick" "$built/image.npy" >"$built/got.txt"
check "other bits than the trainer's" cmp "$built/got.txt" "$built/logits.txt"
check "ten logits" test "$(wc -l <"$built/got.txt")" = 10

message=$("$built/stripped" "$built/softmax.wick" 2>&1)
refused=$?
echo "$message"
check "a model with an op that is not selected runs" test "$refused" != 0
named() { grep -q 'Softmax' <<<"$message" && grep -q 'not selected' <<<"$message"; }
check "the error does not say which op was not selected" named

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

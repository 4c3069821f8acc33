#!/usr/bin/env bash
# milestone.sh PROGRAM TWIN...: the short form must pass its gates, and print the same, including
# the digest of the weights, a second time and with another number of threads; each twin
# (--sabotage...) must miss a gate.
set -uo pipefail
program=$1
shift
passed=0 failed=0
check() { # WHAT: what $? says
  if [ $? = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $1"; fi
}
one=$("$program" --short --threads 1 2>/dev/null)
code=$?
[ $code = 77 ] && { echo "$one"; exit 77; }
echo "$one"
[ $code = 0 ]
check "the gates"
two=$("$program" --short --threads 2 2>/dev/null)
[ -n "$one" ] && diff <(sed 's/,"seconds".*//' <<<"$one") <(sed 's/,"seconds".*//' <<<"$two")
check "the same again, with two threads"
for twin in "$@"; do
  out=$("$program" --short --threads 1 "$twin" 2>/dev/null)
  [ $? = 1 ]
  check "the twin $twin must miss a gate: $out"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]

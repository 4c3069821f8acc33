#!/usr/bin/env bash
# check.sh PROGRAM WICK MPIRUN: the bug is named on every rank, by the report and by the flight recorders, and the fixed
# program ends well.
set -uo pipefail
program=$1 wick=$2 mpirun=$3
if [ -z "$mpirun" ] || [ -z "$wick" ]; then
  echo "SKIP: MPI not installed"
  exit 77
fi
passed=0 failed=0
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
has() { # the text
  if grep -qF -- "$1" "$folder/out"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: not said: $1"
    cat "$folder/out"
  fi
}
"$wick" launch -n 3 --mpirun "$mpirun" --flights "$folder/flights" -- "$program" >"$folder/out" 2>&1
[ $? -eq 1 ] && passed=$((passed + 1)) || failed=$((failed + 1))
has "collective #2 of group 'world' is not the same on all ranks (other kind): ranks 0, 2: broadcast float32[1000] from 0 'back to the best weights' (main.cc:"
has "; rank 1: all_reduce float32[1000] mean 'weights' (main.cc:"
for rank in 0 1 2; do
  has "[$rank] [distributed] collective #2"
done
has "group 'world' #2: the ranks called different things"
"$wick" launch -n 3 --mpirun "$mpirun" -- "$program" fixed >"$folder/out" 2>&1
[ $? -eq 0 ] && passed=$((passed + 1)) || failed=$((failed + 1))
has "[0] no hang"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]

#!/usr/bin/env bash
# What action.yml runs: wick verify on each line of $MODELS, with $ARGS; reports lie in ./parity. Exit code 3 where one
# differs, 1 where one could not be verified. It also runs by hand, in any CI.
set -uo pipefail
mkdir -p parity
number=0 worst=0
while IFS= read -r line; do
  [ -n "${line// /}" ] || continue
  number=$((number + 1))
  # Words of the user's own workflow: options and paths without spaces.
  # shellcheck disable=SC2086
  "${WICK:-wick}" verify $line --junit "parity/$number.xml" --html "parity/$number.html" --repro "parity/$number" ${ARGS:-}
  code=$?
  if [ $code -ne 0 ] && [ $worst -ne 3 ]; then worst=$code; fi
done <<<"${MODELS:?a model a line}"
[ $number -gt 0 ] || { echo "no models"; exit 1; }
exit $worst

#!/usr/bin/env bash
# What ships, in bytes after strip: one JSON line {"what", "bytes"} each.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/scripts/build.sh release >&2
build=build/release
out=$build/size
mkdir -p "$out"
report() { # NAME FILE
  strip --strip-all -o "$out/$1" "$(readlink -f "$2")"
  printf '{"what": "%s", "bytes": %d}\n' "$1" "$(stat -c %s "$out/$1")"
}
report runtime_lib "$build/runtime/libwick_runtime.so"
# Programs with Wick linked in, made of the ops their model selects (examples/).
for name in lenet_static; do
  program=$(find "$build/examples" -name "$name" -type f -perm -u+x 2>/dev/null | head -1)
  [ -z "$program" ] || report "$name" "$program"
done

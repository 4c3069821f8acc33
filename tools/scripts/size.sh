#!/usr/bin/env bash
# What ships, in bytes after strip: one JSON line {"what", "bytes"} each.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/scripts/build.sh release wick_runtime_shared lenet_static >&2
build=build/release
out=$build/size
mkdir -p "$out"
report() { # NAME FILE
  strip --strip-all -o "$out/$1" "$(readlink -f "$2")"
  printf '{"what": "%s", "bytes": %d}\n' "$1" "$(stat -c %s "$out/$1")"
}
report runtime_lib "$build/runtime/libwick_runtime.so"
# A program with Wick linked in statically and the kernels of its model only; the test "size" holds its limit.
report lenet_static "$build/examples/lenet_static/lenet_static"

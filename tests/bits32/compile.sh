#!/usr/bin/env bash
# The code that reads files and lays out memory compiles for a 32-bit machine without a warning (layouts that the source
# asserts, narrowed numbers): syntax only, which takes seconds. tests/targets/rows.sh builds and runs all of it.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
native=${WICK_BUILD:?the native build folder}
command -v i686-linux-gnu-g++ >/dev/null || { echo "SKIP: 32-bit compilers or qemu not installed"; exit 77; }
headers=$(mktemp -d) && trap 'rm -rf "$headers"' EXIT
ln -s /usr/include/hwy /usr/include/flatbuffers "$headers"
passed=0 failed=0
for source in runtime/core/*.cc runtime/program/*.cc runtime/plan/*.cc runtime/exec/*.cc runtime/backend/cpu/*.cc; do
  # GCC's -Wconversion also says which of two conversions it chose; only numbers that change are meant here.
  said=$(i686-linux-gnu-g++ -std=c++20 -fsyntax-only -msse2 -mfpmath=sse -Wall -Wextra -Werror -Wconversion \
    -Wno-error=conversion -fno-exceptions -fno-rtti -DFLATBUFFERS_MAX_ALIGNMENT=64 -DHWY_COMPILE_ONLY_STATIC -I. \
    -Iruntime/include -I"$native/runtime/generated" -isystem "$headers" "$source" 2>&1)
  code=$?
  # Sizes of strings are checked where they come in (check_strings, read_strings), not where they are compared.
  narrowed=$(grep 'may change value' <<<"$said" | grep -v '/string_ref.h:')
  if [ $code = 0 ] && [ -z "$narrowed" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $source"
    { grep error <<<"$said"; echo "$narrowed"; } | head -5
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

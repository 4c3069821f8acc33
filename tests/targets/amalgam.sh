#!/usr/bin/env bash
# Builds one program for another machine without CMake: the amalgamation of LeNet's kernels, in float32 and in integers,
# compiled by that machine's g++ and run on its emulator. amalgam.sh TARGET. Its answers to both models
# (install/outside/answers.c) have the SHA-256 of this machine's; those in float32 only if the target promises bits
# (targets/TARGET/target.json).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
tree=$PWD target=${1:?a folder of targets/}
native=$(cd "${WICK_BUILD:?the native build folder}" && pwd)
work=$native/targets/amalgam-$target log=$native/targets/amalgam-$target.log
lacking=$("$native/tools/wick/wick" targets --json | python3 -c '
import json, sys
print(*next(t["lacking"] for t in json.load(sys.stdin) if t["name"] == sys.argv[1]))' "$target") ||
  { echo "FAILED: no target $target"; exit 1; }
[ -z "$lacking" ] || { echo "SKIP: compiler of this target not installed"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
fail() { echo "FAILED: $*"; tail -20 "$log"; exit 1; }
quiet() { "$@" >>"$log" 2>&1 || fail "$*"; }
digest() { "$@" | sha256sum | cut -d' ' -f1; }
told() { sed -nE "s/$1/\\1/p" "targets/$target/toolchain.cmake" | tail -1; }
: >"$log"

float32=$native/examples/lenet_static/lenet.wick int8=$work/lenet8.wick
quiet "$native/tools/wick/wick" quantize "$native/examples/lenet_static/lenet.onnx" --calib sample --observer min-max --in-place --no-verify --quiet -o "$int8"
read -ra libraries < <(sed -n 's/^Libs.private: *//p' "$native/wick-runtime.pc")
quiet gcc tests/install/outside/answers.c -Iruntime/include "$native/runtime/libwick_runtime.a" "${libraries[@]}" -o "$work/reference"
quiet tools/scripts/amalgamate.py "$float32" "$int8" --build "$native" --headers -o "$work"
cp tests/install/outside/answers.c "$work/main.c"
read -ra flags < <(told '^set\(wick_machine "(.*)"\)')
mapfile -t runner < <(python3 -c '
import json, sys
print(*json.load(open(f"targets/{sys.argv[1]}/target.json"))["runner"], sep="\n")' "$target")
compiler=$(told '^set\(CMAKE_CXX_COMPILER (.*)\)')
start=$SECONDS
cd "$work" || exit 1
quiet "$compiler" "${flags[@]}" -std=c++20 -O1 -DWICK_BESIDE -isystem . wick.cc main.c -static -o app
for model in "$float32" "$int8"; do
  name=$(basename "$model" .wick)
  wanted=$(digest ./reference "$model")
  got=$(digest "${runner[@]}" ./app "$model")
  if [ "$name" = lenet ] && grep -q '"promise": "close"' "$tree/targets/$target/target.json"; then
    [ "$got" != "$(printf '' | sha256sum | cut -d' ' -f1)" ] || fail "$name gave no answer on $target"
    echo "$name: other bits, as vectors without fused multiply-adds have"
    continue
  fi
  [ "$got" = "$wanted" ] || fail "$name has other answers on $target than here"
  echo "$name: sha256 $got"
done
echo "compiled and run in $((SECONDS - start)) s"
echo "2 passed, 0 failed"

#!/usr/bin/env bash
# The CI kit as a repository outside the tree uses it: examples/parity-ci against an installed package is green; with a
# program whose fused tanh is a sigmoid (planted.py) it is red, and the JUnit file names the node. A program one of whose
# passes drops tanh undoes that pass, and its --strict says so by the exit code.
set -euo pipefail
cd "$(dirname "$0")/../.."
native=$(cd "${WICK_BUILD:?the build folder}" && pwd)
work=$native/parity-test
rm -rf "$work"
mkdir -p "$work"
quiet() { "$@" >"$work/step.log" 2>&1 || { echo "failed: $*"; tail -40 "$work/step.log"; return 1; }; }
quiet cmake --install "$native" --prefix "$work/stage"
cp -r examples/parity-ci "$work/repository"
quiet cmake -S "$work/repository" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/stage"
quiet cmake --build "$work/build" -j "${WICK_JOBS:-2}"
quiet ctest --test-dir "$work/build" --output-on-failure --no-tests=error
grep -q 'failures="0" errors="0"' "$work/build/parity/parity.xml"
grep -q '<testcase classname="model.onnx" name="reference \[batch=3\]"/>' "$work/build/parity/parity.xml"
# A repository of models alone has no language, and needs no package that programs link.
mkdir "$work/models"
cp "$work"/build/model.* "$work/models"
cat >"$work/models/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.20)
project(models LANGUAGES NONE)
find_package(Wick REQUIRED)
enable_testing()
wick_add_parity_test(parity model.onnx model.wick)
EOF
quiet cmake -S "$work/models" -B "$work/models/build" -DCMAKE_PREFIX_PATH="$work/stage" \
  -DCMAKE_DISABLE_FIND_PACKAGE_ONNX=ON -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON
quiet ctest --test-dir "$work/models/build" --output-on-failure --no-tests=error
echo "ok: green"

python3 tests/verify/planted.py "$native" tests/verify/tanh_is_sigmoid.patch "$work/wick"
quiet cmake -S "$work/repository" -B "$work/build" -DWICK_VERIFY_COMMAND="$work/wick"
if ctest --test-dir "$work/build" >"$work/red.log" 2>&1; then
  echo "a wrong kernel is green"
  exit 1
fi
grep -q '<failure message="[A-Za-z]* hidden' "$work/build/parity/parity.xml" || {
  echo "the JUnit file does not name the node:"
  cat "$work/build/parity/parity.xml"
  exit 1
}
ls "$work"/build/parity/parity/*/README.md >/dev/null
echo "ok: red"

# The action's own script, as a workflow runs it.
(cd "$work" && MODELS="build/model.onnx build/model.wick" WICK="$work/stage/bin/wick" bash "$OLDPWD/ci/verify.sh" >"$work/action.log")
if (cd "$work" && MODELS="build/model.onnx" WICK="$work/wick" bash "$OLDPWD/ci/verify.sh" >"$work/action.log"); then
  echo "the action is green with a wrong kernel"
  exit 1
fi
echo "ok: action"

# A pass that breaks its promise.
python3 tests/verify/planted.py "$native" tests/verify/tanh_is_dropped.patch "$work/drops"
convert() { # OUT ARGS...: prints the exit code
  local out=$1 code=0
  shift
  "$work/drops" convert "$work/build/model.onnx" -o "$out" "$@" >"$work/convert.log" 2>&1 || code=$?
  echo $code
}
code=$(convert "$work/strict.wick" --strict)
[ "$code" = 3 ] || { echo "a broken pass under --strict: exit code $code"; cat "$work/convert.log"; exit 1; }
grep -q 'the pass identity broke its promise and was undone: ' "$work/convert.log"
code=$(convert "$work/undone.wick")
[ "$code" = 0 ] || { echo "an undone pass: exit code $code"; cat "$work/convert.log"; exit 1; }
quiet "$native/tools/wick/wick" verify "$work/build/model.onnx" "$work/undone.wick"
quiet "$native/tools/wick/wick" verify "$work/build/model.onnx" "$work/strict.wick"
echo "ok: a pass undone"

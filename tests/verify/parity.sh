#!/usr/bin/env bash
# The CI kit as a repository outside the tree uses it: examples/parity-ci against an installed package is green; with a
# program whose fused tanh is a sigmoid (planted.py) it is red, and the JUnit file names the node.
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

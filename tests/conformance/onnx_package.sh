# Sourced: onnx_package_tests prints the folder that has the node tests of onnx's Python package in node/, made once by
# newest.py; onnx_package_data the folder of the models that the package ships. Both fail, and say nothing, where
# tools/scripts/setup_onnx.sh could not install it.
onnx_python=$PWD/build/onnx/venv/bin/python
onnx_package_tests() {
  local data=${WICK_BUILD:?the build folder}/test-work/onnx-newest
  "$onnx_python" -c "import onnx" 2>/dev/null || return 1
  (
    mkdir -p "$WICK_BUILD/test-work"
    exec 8>"$WICK_BUILD/test-work/onnx-newest.lock"
    flock 8
    if [ ! -f "$data/made" ] || [ tests/conformance/newest.py -nt "$data/made" ]; then
      rm -rf "$data"
      mkdir -p "$data"
      "$onnx_python" tests/conformance/newest.py "$data/node" >&2 && touch "$data/made"
    fi
  ) || return 1
  echo "$data"
}
onnx_package_data() {
  "$onnx_python" -c 'import onnx, os; print(os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data"))' \
    2>/dev/null
}

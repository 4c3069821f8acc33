# Sourced: sets `tests` to the folder of ONNX's node tests, `list` to the list of them; ends the script where there are
# none. They are data of $WICK_SHARED (../shared), unpacked once into the build folder.
shared=${WICK_SHARED:-../shared}
archive=$shared/onnx/onnx-node-tests-dev.tar.xz
list=$shared/onnx/dev_tests.txt
if [ ! -f "$archive" ] || [ ! -f "$list" ]; then
  echo "SKIP: no shared data folder ($archive; set WICK_SHARED)"
  exit 77
fi
tests=${WICK_BUILD:?the build folder}/test-work/onnx-node
mkdir -p "$WICK_BUILD/test-work"
exec 9>"$WICK_BUILD/test-work/onnx-node.lock"
flock 9
if [ ! -f "$tests/unpacked" ] || [ "$archive" -nt "$tests/unpacked" ]; then
  rm -rf "$tests"
  mkdir -p "$tests"
  python3 -m tarfile -e "$archive" "$tests" >/dev/null && touch "$tests/unpacked" || {
    echo "cannot unpack $archive"
    exit 1
  }
fi
exec 9>&-

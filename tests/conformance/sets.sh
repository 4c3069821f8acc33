#!/usr/bin/env bash
# sets.sh debian|models|contrib|newest: runs more of ONNX's tests, in three modes, against the list of those that pass
# next to this script, of which 98 % must (contrib: 95 %).
#   debian  node, simple and pytorch tests of Debian's libonnx-testdata
#   models  simple, pytorch and light models of $WICK_SHARED (../shared), unpacked into the build folder, or of onnx's
#           Python package
#   contrib operators of com.microsoft, of the same folder
#   newest  node tests of onnx 1.23 (IR 14, opset 28), which newest.py makes of the Python package where
#           tools/scripts/setup_onnx.sh could install it
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
wick=${WICK_BUILD:?the build folder}/tools/wick/wick
bar=98 rounded=()
. tests/conformance/onnx_package.sh
unpack() { # ARCHIVE FOLDER: once, and again when the archive is newer
  archive=${WICK_SHARED:-../shared}/onnx/$1 data=$WICK_BUILD/test-work/$2
  if [ ! -f "$archive" ]; then
    echo "SKIP: no shared data folder ($archive; set WICK_SHARED)"
    exit 77
  fi
  if [ ! -f "$data/unpacked" ] || [ "$archive" -nt "$data/unpacked" ]; then
    rm -rf "$data"
    mkdir -p "$data"
    python3 -m tarfile -e "$archive" "$data" >/dev/null && touch "$data/unpacked" || {
      echo "cannot unpack $archive"
      exit 1
    }
  fi
}
case ${1:?debian, models, contrib or newest} in
  debian)
    data=/usr/share/libonnx-testdata/data
    if [ ! -d $data ]; then
      echo "SKIP: Debian's libonnx-testdata is not installed ($data)"
      exit 77
    fi
    sets=($data/node $data/simple $data/pytorch-operator $data/pytorch-converted)
    ;;
  models)
    if [ ! -f "${WICK_SHARED:-../shared}/onnx/onnx-model-tests-simple-pytorch-light.tar.xz" ] && data=$(onnx_package_data) &&
      [ -d "$data/light" ]; then
      echo "the models of onnx's Python package"
    else
      unpack onnx-model-tests-simple-pytorch-light.tar.xz onnx-models
    fi
    sets=("$data"/{simple,pytorch-operator,pytorch-converted,light})
    ;;
  contrib)
    unpack ms-contrib-tests.tar.xz onnx-contrib
    sets=("$data/contrib")
    # The suite's rule is for outputs as they were computed.
    bar=95 rounded=(--rounded tests/conformance/rounded.txt)
    ;;
  newest)
    if ! "$onnx_python" -c "import onnx" 2>/dev/null; then
      echo "SKIP: onnx 1.23 not installed (tools/scripts/setup_onnx.sh)"
      exit 77
    fi
    data=$(onnx_package_tests) || {
      echo "cannot make the node tests"
      exit 1
    }
    sets=("$data/node")
    ;;
  *)
    echo "there is no set $1"
    exit 2
    ;;
esac

# The others fail for mistakes in the data or random numbers; the list has their names and reasons.
passed=0 failed=0
if [ "$1" = newest ]; then # the table of operators is that package's, too
  if "$onnx_python" tests/conformance/rows.py; then passed=1; else failed=1; fi
fi
for mode in dyn const flat; do
  if "$wick" conformance "${sets[@]}" --mode $mode "${rounded[@]}" --expect "tests/conformance/$1.txt" --bar $bar; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]

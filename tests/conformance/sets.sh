#!/usr/bin/env bash
# sets.sh debian|models: more of ONNX's tests, in three modes, against the list of what passes beside
# this script, of which 98 % must.
#   debian  node, simple and pytorch tests of Debian's libonnx-testdata
#   models  simple, pytorch and light models of $WICK_SHARED (../shared), unpacked into the build folder
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
wick=${WICK_BUILD:?the build folder}/tools/wick/wick
case ${1:?debian or models} in
  debian)
    data=/usr/share/libonnx-testdata/data
    if [ ! -d $data ]; then
      echo "SKIP: Debian's libonnx-testdata is not installed ($data)"
      exit 77
    fi
    sets=($data/node $data/simple $data/pytorch-operator $data/pytorch-converted)
    ;;
  models)
    archive=${WICK_SHARED:-../shared}/onnx/onnx-model-tests-simple-pytorch-light.tar.xz
    if [ ! -f "$archive" ]; then
      echo "SKIP: no shared data folder ($archive; set WICK_SHARED)"
      exit 77
    fi
    data=$WICK_BUILD/test-work/onnx-models
    if [ ! -f "$data/unpacked" ] || [ "$archive" -nt "$data/unpacked" ]; then
      rm -rf "$data"
      mkdir -p "$data"
      python3 -m tarfile -e "$archive" "$data" >/dev/null && touch "$data/unpacked" || {
        echo "cannot unpack $archive"
        exit 1
      }
    fi
    sets=("$data"/{simple,pytorch-operator,pytorch-converted,light})
    ;;
  *)
    echo "there is no set $1"
    exit 2
    ;;
esac

# What else there is: mistakes of the data and random numbers, by name and reason in the list.
bar=98
passed=0 failed=0
for mode in dyn const flat; do
  if "$wick" conformance "${sets[@]}" --mode $mode --expect "tests/conformance/$1.txt" --bar $bar; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]

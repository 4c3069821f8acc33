# Sourced: sets `tests` to the folder that has ONNX's node tests in node/, `list` to a list of those that count, `expect`
# to the file of the modes in which they pass, and `all` to how many there are; ends the script where there are none.
# The tests come from the first of these that is there:
#   $WICK_SHARED (../shared)    1,358 tests, unpacked once into the build folder
#   onnx's Python package       the same, which newest.py makes (tools/scripts/setup_onnx.sh; make test runs it where the
#                               first is not there)
#   Debian's libonnx-testdata   910 tests of an earlier version, those of debian.txt that pass in every mode
work=${WICK_BUILD:?the build folder}/test-work
mkdir -p "$work"
archive=${WICK_SHARED:-../shared}/onnx/onnx-node-tests-dev.tar.xz
list=$work/onnx-node.list expect=tests/conformance/expected.txt least=1358
. tests/conformance/onnx_package.sh
exec 9>"$work/onnx-node.lock"
flock 9
if [ -f "$archive" ]; then
  tests=$work/onnx-node
  if [ ! -f "$tests/unpacked" ] || [ "$archive" -nt "$tests/unpacked" ]; then
    rm -rf "$tests"
    mkdir -p "$tests"
    python3 -m tarfile -e "$archive" "$tests" >/dev/null && touch "$tests/unpacked" || {
      echo "cannot unpack $archive"
      exit 1
    }
  fi
elif made=$(onnx_package_tests); then
  tests=$made
elif [ -d /usr/share/libonnx-testdata/data/node ]; then
  tests=/usr/share/libonnx-testdata/data
  expect=$work/onnx-node-debian.expect least=910
  # debian.txt has three modes: what passes in them passes in the other two as well.
  awk '/^[^#].* dyn const flat$/ { print $1 }' tests/conformance/debian.txt |
    while read -r name; do
      [ -d "$tests/node/$name" ] && echo "$name dyn const flat bits round"
    done >"$expect.$$" && mv "$expect.$$" "$expect" # others may be reading it
else
  echo "SKIP: no shared data folder ($archive; set WICK_SHARED), nor onnx's package, nor libonnx-testdata"
  exit 77
fi
awk '/^[^#]/ { print $1 }' "$expect" >"$list.$$" && mv "$list.$$" "$list"
all=$(wc -l <"$list")
exec 9>&-
if [ "$all" -lt $least ]; then # the list must not shrink by being brought up to date
  echo "$expect has $all of ONNX's node tests, at least $least are asked for"
  exit 1
fi
echo "ONNX's node tests: $all of $tests"

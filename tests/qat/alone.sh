#!/usr/bin/env bash
# alone.sh PROGRAM: it runs, and neither its libraries nor its symbols are ONNX's or protobuf's.
set -euo pipefail
program=$1
"$program"
needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ] || { echo "readelf names no library of $program"; exit 1; }
if grep -iE 'protobuf|onnx' <<<"$needed"; then
  echo "FAILED: training with int8 links the libraries above; quantize/ and trainer/capture/ may not link wick_exporter"
  exit 1
fi
nm -C "$program" >"$program.symbols"
grep -q 'wick::quantize::QatModule' "$program.symbols" || { echo "nm shows no symbols of $program"; exit 1; }
if grep -E ' (google::protobuf|onnx|wick::onnx)::' "$program.symbols" | head -5 | grep .; then
  echo "FAILED: training with int8 links the symbols above"
  exit 1
fi
echo "1 passed, 0 failed"

#!/usr/bin/env bash
# Runs integer programs of trained nets: one file each, on test images of Fashion-MNIST (1,000; all 10,000 in the full
# run). The answers have one SHA-256 on every vector target of x86 and on aarch64 under qemu.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$tool" >/dev/null || { echo "SKIP: aarch64 compiler or qemu not installed"; exit 77; }
done
native=${WICK_BUILD:?the native build folder}
cross=build/aarch64 folder=$native/test-results/fashion log=$native/build-aarch64-images.log
mkdir -p "$folder"
"$native/tests/qat/fashion_models" "$folder" || exit $?
{ cmake --preset aarch64 && cmake --build "$cross" -j "${WICK_JOBS:-2}" --target images_digest; } >"$log" 2>&1 ||
  { tail -40 "$log"; exit 1; }
passed=0 failed=0
for model in lenet8 resnet8; do
  asked=("$folder/$model.wick" "$folder/images.bin" "${WICK_IMAGES:-1000}")
  here=$("$native/tests/aarch64/images_digest" "${asked[@]}" 2>"$folder/$model.x86.log")
  code=$?
  there=$(qemu-aarch64 -L /usr/aarch64-linux-gnu "$cross/tests/aarch64/images_digest" "${asked[@]}" 2>"$folder/$model.aarch64.log")
  [ $? = 0 ] || code=1
  if [ $code = 0 ] && [ "$here" = "$there" ]; then
    echo "$model: sha256 $here of ${asked[2]} images (x86 and aarch64)"
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $model's answers: x86 '$here', aarch64 '$there'"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

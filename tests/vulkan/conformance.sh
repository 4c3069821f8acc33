#!/usr/bin/env bash
# Runs ONNX's node tests on Vulkan under the validation layer with its synchronization checks, mapped and staged: as
# many pass as on the CPU, and the layer reports nothing.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/conformance/node_tests.sh
wick=$WICK_BUILD/tools/wick/wick
if ! compgen -G "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json" >/dev/null &&
  ! compgen -G "/etc/vulkan/explicit_layer.d/VkLayer_khronos_validation.json" >/dev/null; then
  echo "SKIP: validation layer not installed"
  exit 77
fi
if none=$("$wick" devices | grep '^vulkan: none'); then
  echo "SKIP: no Vulkan device: $none"
  exit 77
fi
export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
export VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
passed=0 failed=0
for staging in 0 1; do
  out=$(WICK_VULKAN_FORCE_STAGING=$staging "$wick" conformance "$tests/node" --list "$list" --mode const \
    --backend vulkan 2>&1)
  count=$(sed -nE 's/^([0-9]+) of [0-9]+ pass .*/\1/p' <<<"$out")
  messages=$(grep -cE 'VUID-|SYNC-HAZARD|Validation Error' <<<"$out")
  echo "staging $staging: ${count:-none} pass, $messages messages of the validation layer"
  if [ "${count:-0}" -ge $((all - 2)) ] && [ "$messages" = 0 ]; then
    passed=$((passed + 1))
  else
    grep -E 'VUID-|SYNC-HAZARD|Validation Error|FAIL' <<<"$out" | cut -c1-600 | head -20
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]

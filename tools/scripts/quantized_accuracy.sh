#!/usr/bin/env bash
# Accuracy of quantized networks on Fashion-MNIST over three seeds, and its table in docs/use/quantized-accuracy.md. Goes on
# where it was cut off. Options: quantized_accuracy.py --help.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/scripts/build.sh release wick
exec tools/scripts/quantized_accuracy.py "$@"

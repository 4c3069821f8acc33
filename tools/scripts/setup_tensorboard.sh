#!/usr/bin/env bash
# TensorBoard, whose reader tests/board/in_tensorboard.py gives Wick's event files, in build/tensorboard.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
version=2.21.0
venv_with "tensorboard $version" "$root/build/tensorboard" \
  "from tensorboard.backend.event_processing import event_accumulator" "tensorboard==$version" "numpy<3"

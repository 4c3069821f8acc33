#!/usr/bin/env bash
# The milestones in full over five seeds, and their table in docs/use/milestones.md: milestones.sh [EXAMPLE...]. Goes on
# where it was cut off. Options: milestones.py --help.
set -euo pipefail
cd "$(dirname "$0")/../.."
targets=()
for main in examples/*/main.cc; do
  grep -q 'milestone::run' "$main" && targets+=("example_$(basename "$(dirname "$main")")")
done
tools/scripts/build.sh release "${targets[@]}"
exec tools/scripts/milestones.py "$@"

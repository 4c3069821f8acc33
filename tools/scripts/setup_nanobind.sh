#!/usr/bin/env bash
# nanobind, by which wick.train is built in a build folder (docs/use/python-train.md), in build/nanobind: configure with
#   -DWICK_PYTHON=ON -DPython_EXECUTABLE=$PWD/build/nanobind/venv/bin/python
# It needs Python's headers (Debian's python3-dev).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
version=3.1.0
venv_with "nanobind $version" "$root/build/nanobind" "import nanobind, numpy" "nanobind==$version" "numpy<3" &&
  echo "configure with -DWICK_PYTHON=ON -DPython_EXECUTABLE=$root/build/nanobind/venv/bin/python"

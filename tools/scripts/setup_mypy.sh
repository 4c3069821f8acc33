#!/usr/bin/env bash
# mypy, which checks the Python package's types (tests/python/stubs_check.py), in build/mypy.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
version=2.4.1
venv_with "mypy $version" "$root/build/mypy" "import mypy, numpy" "mypy==$version" "numpy==2.4.6"

#!/usr/bin/env bash
# Triton's client, by which tests/serve/in_tritonclient.py asks `wick serve`, in build/tritonclient.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/scripts/venv.sh"
version=2.73.0
venv_with "tritonclient $version" "$root/build/tritonclient" \
  "import tritonclient.http" "tritonclient[http]==$version" "numpy<3"

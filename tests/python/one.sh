#!/usr/bin/env bash
# Some of the tests of the Python package, by their names (run.py), for tests/sabotage: one.sh test_inputs.Lifetime
exec python3 "$(dirname "$0")/run.py" "$@"

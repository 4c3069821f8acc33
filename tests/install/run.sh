#!/usr/bin/env bash
# Installs the build into a stage, builds the projects below against it as a user would, and runs them:
# run.sh consumer (a program a component, by find_package, and Wick::runtime by add_subdirectory),
# run.sh examples (examples/own_model against Wick::trainer, Wick::compile and Wick::runtime;
# examples/lenet_static with wick_selected_ops).
set -euo pipefail
cd "$(dirname "$0")/../.."
native=$(cd "${WICK_BUILD:?the build folder}" && pwd)
work=$native/install-test
what=${1:-consumer}
mkdir -p "$work"

quiet() { # shows the output only of what fails
  local log=$work/$what-step.log
  "$@" >"$log" 2>&1 || { echo "failed: $*"; tail -40 "$log"; return 1; }
}

stage=$work/stage-$what
rm -rf "$stage"
quiet cmake --install "$native" --prefix "$stage"

build_and_run() { # SOURCE NAME cmake arguments...
  local source=$1 name=$2
  shift 2
  rm -rf "$work/$name"
  quiet cmake -S "$source" -B "$work/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@"
  quiet cmake --build "$work/$name" -j "${WICK_JOBS:-2}"
  quiet ctest --test-dir "$work/$name" --output-on-failure --no-tests=error
  echo "ok: $name"
}

case $what in
  consumer)
    components=$(cd "$stage"/lib*/cmake/Wick 2>/dev/null || cd "$stage"/lib*/*/cmake/Wick
      for c in runtime trainer compile; do [ -f "Wick-$c.cmake" ] && printf '%s;' "$c"; done)
    build_and_run tests/install/consumer consumer-package -DCMAKE_PREFIX_PATH="$stage" \
      "-DWICK_COMPONENTS=${components%;}"
    build_and_run tests/install/consumer consumer-subdirectory -DWICK_RUNTIME_DIR="$PWD/runtime" \
      -DWICK_COMPONENTS=runtime
    ;;
  examples)
    build_and_run examples/own_model own_model -DCMAKE_PREFIX_PATH="$stage"
    build_and_run examples/lenet_static lenet_static -DCMAKE_PREFIX_PATH="$stage"
    ;;
  *)
    echo "unknown: $what"
    exit 1
    ;;
esac

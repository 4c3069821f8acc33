#!/usr/bin/env bash
# Installs the build into a stage, builds the projects below against it as a user would, and runs them:
# run.sh consumer (a program a component, by find_package, and Wick::runtime by add_subdirectory),
# run.sh bare (what a clean clone does: refused before a byte is written; then without tests and benchmarks),
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
[ "$what" = bare ] || quiet cmake --install "$native" --prefix "$stage"

# A build of which nothing was compiled, and later only what wick_installed is made of: the files are the native build's,
# which this test does not compile again.
bare() {
  local bare=$work/bare file lacking
  rm -rf "$bare"
  quiet cmake --preset release -B "$bare"
  refused() { # MESSAGE, then cmake --install's arguments
    local message=$1
    shift
    if cmake --install "$bare" --prefix "$stage" "$@" >"$work/refused" 2>&1; then echo "installed: $message"; return 1; fi
    if [ -e "$stage" ]; then echo "a refused installation wrote:"; find "$stage" | head; return 1; fi
    tr -s ' \n' ' ' <"$work/refused" | grep -qF -- "$message" || { echo "does not say '$message':"; cat "$work/refused"; return 1; }
  }
  refused "cmake --build \"$bare\" --target wick_installed"
  refused "libwick_runtime.a is the first" --component runtime
  refused "libwick_trainer.a is the first" --component trainer

  # The second names what nothing else needs: programs.
  { ninja -C "$bare" -t inputs wick_installed; ninja -C "$bare" -t query wick_installed; } | sed 's/^ *//' >"$work/inputs"
  if grep -v '/tools/wick/bench/\|^tools/wick/CMakeFiles/' "$work/inputs" | grep -E '(^|/)(tests|bench|examples)/|lib(gtest|gmock|benchmark)'; then
    echo "tests or benchmarks are built to install (above)"
    return 1
  fi
  sed -n 's/^wick_needs(".*" "\(.*\)")$/\1/p' "$bare/CheckInstall.cmake" >"$work/needed"
  [ "$(wc -l <"$work/needed")" -ge 5 ]
  while read -r file; do
    file=${file#"$bare/"}
    grep -qxF "$file" "$work/inputs" || { echo "wick_installed does not build $file"; return 1; }
    lacking=$file
    mkdir -p "$bare/$(dirname "$file")"
    for each in "$native/${file%.so.*}"*; do
      case $each in *.d | *.dir | */CMakeFiles) ;; *) [ -d "$each" ] || cp -a "$each" "$bare/$(dirname "$file")/" ;; esac
    done
  done <"$work/needed"
  mv "$bare/$lacking" "$work/lacking"
  refused "1 of the files to install ($lacking is the first)"
  mv "$work/lacking" "$bare/$lacking"
  quiet cmake --install "$bare" --prefix "$stage"
  quiet "$stage/bin/wick" --version
  quiet cmake --install "$native" --prefix "$work/stage-native"
  diff <(cd "$stage" && find . | sort) <(cd "$work/stage-native" && find . | sort)
  rm -rf "$work/stage-native" "$bare"
  echo "ok: bare"
}

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
  bare) bare ;;
  consumer)
    components=$(cd "$stage"/lib*/cmake/Wick 2>/dev/null || cd "$stage"/lib*/*/cmake/Wick
      for c in runtime trainer quantize compile tools; do [ -f "Wick-$c.cmake" ] && printf '%s;' "$c"; done)
    build_and_run tests/install/consumer consumer-package -DCMAKE_PREFIX_PATH="$stage" \
      "-DWICK_COMPONENTS=${components%;}"
    build_and_run tests/install/consumer consumer-subdirectory -DWICK_RUNTIME_DIR="$PWD/runtime" \
      -DWICK_COMPONENTS=runtime
    if [ -x "$stage/bin/wick" ]; then
      ( cd "$work"
        rm -f installed_op.cc
        quiet "$stage/bin/wick" ops new installed_op
        WICK_CACHE="$work/op-cache" quiet "$stage/bin/wick" ops test installed_op.cc )
      echo "ok: an op of one's own, by the installed headers"
    fi
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

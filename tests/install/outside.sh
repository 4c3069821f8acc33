#!/usr/bin/env bash
# The ways in which Wick comes to a user, each from outside of the tree: outside.sh WAY, one of
#   pkgconfig   one component installed; a C program by gcc and pkg-config: shared, static, wholly static
#   cross       the same for aarch64, used by projects that are cross-built
#   components  each component (or those named behind it) built and installed alone, and the consumer's programs of it
#   runtime, root, fetch   add_subdirectory of runtime/, of the tree, FetchContent of an archive: a C++17 project with
#               warnings that are errors, by make
#   deb         packages installed in a root of their own that has nothing else of Wick; the archive, unpacked
#   amalgam     one source file with LeNet's kernels, in float32 and in int8
# Each prints its commands with the seconds they took. What they build is one program (outside/answers.c), whose answers
# must be those of the library of the build WICK_BUILD, by SHA-256.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=$PWD
outside=$tree/tests/install/outside
native=$(cd "${WICK_BUILD:?the build folder}" && pwd)
way=${1:?a way}
work=$native/install-test/$way
jobs=${WICK_JOBS:-2}
. tools/scripts/ccache_env.sh
rm -rf "$work"
mkdir -p "$work"

run() { # prints the command, and its output if it fails
  local start=$SECONDS
  "$@" >"$work/step.log" 2>&1 || { echo "failed: $*"; tail -40 "$work/step.log"; exit 1; }
  echo "+ $* [$((SECONDS - start)) s]"
}
fail() {
  echo "FAILED: $*"
  exit 1
}

# The models and what the library answers.
float32=$native/examples/lenet_static/lenet.wick
int8=$work/lenet8.wick
digest() { "$@" | sha256sum | cut -d' ' -f1; }
pc() { sed -n "s/^$1: *//p" "$native/wick-runtime.pc"; }
read -ra libraries < <(pc Libs.private)
run gcc "$outside/answers.c" -I"$tree/runtime/include" "$native/runtime/libwick_runtime.a" "${libraries[@]}" -o "$work/reference"
wanted=$(digest "$work/reference" "$float32")
agrees() { # PROGRAM...: runs it with the model in float32
  local got
  got=$(digest "$@" "$float32")
  [ "$got" = "$wanted" ] || fail "$*: other answers than the library's: $got, not $wanted"
  echo "$*: sha256 $got"
}
links_no_wick() { if ldd "$1" | grep wick; then fail "$1 needs a shared library of Wick"; fi; }

# The tree as an archive of what git knows, or of all but what was built.
archive() {
  { git ls-files -z --cached --others --exclude-standard 2>/dev/null || find . -path ./build -prune -o -type f -print0; } |
    while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done |
    tar -czf "$1" --null -T - --transform 's,^,wick/,'
}

case $way in
  pkgconfig)
    run cmake --install "$native" --component runtime --prefix "$work/prefix"
    [ ! -e "$work/prefix/bin/wick" ] || fail "the runtime's component has the command"
    export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
    [ -d "$PKG_CONFIG_PATH" ] || fail "no $PKG_CONFIG_PATH"
    cd "$work"
    # shellcheck disable=SC2046 # words
    {
      if [ -e prefix/lib/libwick_runtime.so ]; then
        run gcc "$outside/answers.c" -o shared $(pkg-config --cflags --libs wick-runtime)
        agrees env LD_LIBRARY_PATH="$work/prefix/lib" ./shared
        run gcc -static "$outside/answers.c" -o wholly $(pkg-config --static --cflags --libs wick-runtime)
        agrees ./wholly
        rm prefix/lib/libwick_runtime.so* # as an installation of a build with -DWICK_BUILD_SHARED=OFF
      fi
      run gcc "$outside/answers.c" -o static $(pkg-config --static --cflags --libs wick-runtime)
    }
    links_no_wick static
    agrees ./static
    ;;
  cross)
    for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
      command -v "$tool" >/dev/null || { echo "SKIP: aarch64 compiler or qemu not installed"; exit 77; }
    done
    run cmake --preset aarch64
    run cmake --build build/aarch64 -j "$jobs" --target wick_installed
    run cmake --install build/aarch64 --component runtime --prefix "$work/prefix"
    # A toolchain file that looks for packages in its own roots only, and a user's few lines.
    printf 'set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR aarch64)\nset(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)\n' \
      >"$work/toolchain.cmake"
    run cmake -S "$outside" -B "$work/roots" -G "Unix Makefiles" --toolchain "$tree/targets/aarch64/toolchain.cmake" \
      -DCMAKE_FIND_ROOT_PATH="$work/prefix"
    run cmake -S "$outside" -B "$work/prefixes" -G "Unix Makefiles" --toolchain "$work/toolchain.cmake" \
      -DCMAKE_PREFIX_PATH="$work/prefix"
    for each in roots prefixes; do
      run cmake --build "$work/$each" -j "$jobs"
      agrees qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/$each/answers"
    done
    ;;
  components)
    # Below build/, as deep as build/release: ccache shares the objects.
    components=("${@:2}")
    [ $# -gt 1 ] || components=(runtime sign trainer quantize compile tools)
    for component in "${components[@]}"; do
      build=build/install-$component prefix=$work/$component consumer=$work/$component-consumer
      rm -rf "$build"
      run cmake -S . -B "$build" -G Ninja -DWICK_COMPONENTS="$component"
      if [ "$component" = runtime ] && grep -iE '^(protobuf|onnx|fmt|cli11|gtest|zlib|nlohmann|wick_sodium)[a-z_]*:' "$build/CMakeCache.txt"; then
        fail "the runtime alone looks for more than it needs (above)"
      fi
      run cmake --build "$build" -j "$jobs"
      if [ "$component" = runtime ]; then
        run cmake --install "$build" --component runtime --prefix "$prefix"
      else
        run cmake --install "$build" --prefix "$prefix"
      fi
      run cmake -S tests/install/consumer -B "$consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_PREFIX_PATH="$prefix" -DWICK_COMPONENTS="$component"
      run cmake --build "$consumer" -j "$jobs"
      run ctest --test-dir "$consumer" --output-on-failure --no-tests=error
      find "$build" -path '*/CMakeFiles' -prune -o -type f -name 'test_*' -perm -u+x -print >"$work/tests"
      [ ! -s "$work/tests" ] || fail "tests are built with the component $component: $(head -1 "$work/tests")"
      rm -rf "$build"
    done
    if cmake -S . -B "$work/none" -G Ninja -DWICK_COMPONENTS=runtimes >"$work/none.log" 2>&1; then
      fail "a component that is not there is taken"
    fi
    ;;
  runtime | root | fetch)
    case $way in
      runtime) from=$tree/runtime ;;
      root) from=$tree ;;
      fetch)
        from=$work/wick.tar.gz
        run archive "$from"
        ;;
    esac
    run cmake -S "$outside" -B "$work/build" -G "Unix Makefiles" -DWICK_FROM="$from"
    run cmake --build "$work/build" -j "$jobs"
    run ctest --test-dir "$work/build" --output-on-failure --no-tests=error
    [ "$(ctest --test-dir "$work/build" -N | tail -1)" = "Total Tests: 2" ] || fail "the guest brought tests"
    links_no_wick "$work/build/answers"
    agrees "$work/build/answers"
    run cmake --install "$work/build" --prefix "$work/prefix"
    [ "$(cd "$work/prefix" && find . -type f)" = ./bin/answers ] || fail "the guest installed something: $(find "$work/prefix")"
    find "$work/build" -type f \( -name '*.a' -o -name '*.so*' -o -name '*.spv' \) -printf '%f\n' | sort >"$work/built"
    [ "$(cat "$work/built")" = libwick_runtime.a ] || fail "more is built than is linked: $(cat "$work/built")"
    ;;
  deb)
    run cpack -G TGZ --config "$native/CPackConfig.cmake" -B "$work/packages"
    run cpack -G DEB --config "$native/CPackConfig.cmake" -B "$work/packages"
    rm -rf "$work/packages/_CPack_Packages"
    mkdir "$work/unpacked"
    run tar -xzf "$work"/packages/wick-*.tar.gz -C "$work/unpacked" --strip-components=1
    run cmake -S "$outside" -B "$work/build" -G "Unix Makefiles" -DCMAKE_PREFIX_PATH="$work/unpacked"
    run cmake --build "$work/build" -j "$jobs"
    agrees "$work/build/answers"
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "SKIP: packages are installed as root only"; exit 77; }
    unshare -m tests/install/in_root.sh "$work/packages" "$tree" "$float32" "$wanted"
    ;;
  amalgam)
    run "$native/tools/wick/wick" quantize "$native/examples/lenet_static/lenet.onnx" --calib sample --observer min-max --in-place --no-verify --quiet -o "$int8"
    for model in "$float32" "$int8"; do
      one=$work/$(basename "$model" .wick)
      run tools/scripts/amalgamate.py "$model" --build "$native" -o "$one"
      cp "$outside/answers.c" "$one/main.c"
      cd "$one"
      run g++ -std=c++20 -O2 -DWICK_BESIDE wick.cc main.c -o app
      cd "$tree"
      links_no_wick "$one/app"
      got=$(digest "$one/app" "$model")
      [ "$got" = "$(digest "$work/reference" "$model")" ] || fail "$one: other answers than the library's"
      echo "$(basename "$one"): sha256 $got"
    done
    ;;
  *) fail "no way $way" ;;
esac
echo "ok: $way"

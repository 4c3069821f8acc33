#!/usr/bin/env bash
# Builds what is installed, without tests and benchmarks, and installs it: install.sh [PREFIX] (/usr/local).
# Under PREFIX: bin/wick, the static and shared libraries, their headers, the package for find_package(Wick).
set -euo pipefail
case ${1:-/usr/local} in
  /*) prefix=${1:-/usr/local} ;;
  *) prefix=$PWD/$1 ;;
esac
cd "$(dirname "$0")/../.."
tools/scripts/build.sh release wick_installed
log=build/install.log
cmake --install build/release --prefix "$prefix" >"$log" 2>&1 || {
  tail -5 "$log" >&2
  exit 1
}
echo "installed below $prefix: $prefix/bin/wick"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "to find wick: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac

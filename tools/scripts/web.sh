#!/usr/bin/env bash
# Builds the runtime for browsers and Node, its npm package and the demo page below build/web, and serves the page:
# web.sh [--no-serve] [--port N]. The LeNets are trained once (the demo's, where `make demo` has run); the reader is there
# where the real models are (tools/scripts/real_models.sh).
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD serve=1 port=8000
while [ $# -gt 0 ]; do
  case $1 in
    --no-serve) serve=0 ;;
    --port) port=$2 && shift ;;
    *) echo "usage: web.sh [--no-serve] [--port N]" >&2 && exit 2 ;;
  esac
  shift
done
command -v node >/dev/null || { echo "node is not installed (Debian: nodejs)" >&2 && exit 1; }
. tools/scripts/venv.sh
if [ -z "${WICK_ZIG:-}" ] && ! command -v zig >/dev/null; then
  venv_with "zig 0.17.1" "$root/build/web/zig" "import ziglang" "ziglang==0.17.1"
  export WICK_ZIG="$root/build/web/zig/venv/bin/python;-m;ziglang"
fi
tools/scripts/build.sh release wick wick_select_ops
wick=build/release/tools/wick/wick web=build/web
mkdir -p "$web"

# trained RUN DATA: LeNet's checkpoint, trained unless it is there.
trained() {
  [ -f "$1/done" ] && return
  "$wick" train lenet --data "$2" --epochs 4 --threads "$(nproc)" --out "$1"
  touch "$1/done"
}
trained build/demo/lenet fashion-mnist
"$wick" export build/demo/lenet -o "$web/garment.wick"
page=(--garment "$web/garment.wick")
if "$wick" data mnist >/dev/null 2>&1; then
  trained "$web/lenet-digits" mnist
  "$wick" export "$web/lenet-digits" -o "$web/digit.wick"
  page+=(--digit "$web/digit.wick")
else
  echo "note: no MNIST (WICK_DATA), so the page has no digits" >&2
fi
real=${WICK_REAL_MODELS:-build/real/dev}
if [ -f "$real/ppocr_rec/model.onnx" ]; then
  page+=(--read "$real/ppocr_rec")
else
  echo "note: no ppocr_rec in $real (tools/scripts/real_models.sh fetches it), so the page does not read" >&2
fi

tools/scripts/amalgamate.py "$web/garment.wick" --wasm -o "$web/models/lenet"
for flavor in wasm32 wasm32_fma; do
  cmake -S web -B "$web/$flavor" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DWICK_WEB_MODELS=$root/$web/models/lenet" \
    "-DCMAKE_TOOLCHAIN_FILE=$root/targets/$flavor/toolchain.cmake" >"$web/configure-$flavor.log" 2>&1 ||
    { tail -20 "$web/configure-$flavor.log" && exit 1; }
  cmake --build "$web/$flavor" -j "${WICK_JOBS:-$(nproc)}" --target wick lenet
done
version=$("$wick" --version | sed -nE 's/^[^0-9]*([0-9.]+).*/\1/p' | head -1)
node web/package.js "$version" "$web/wasm32" "$web/wasm32_fma" "$web/package"
node web/site.js --wick "$wick" --package "$web/package" --plain "$web/wasm32" --fused "$web/wasm32_fma" "${page[@]}" -o "$web/site"
echo "$web/package: the npm package (npm pack, or npm install $web/package)"
[ "$serve" = 0 ] || exec node web/serve.js --port "$port" "$web/site"

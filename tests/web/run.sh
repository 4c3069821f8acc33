#!/usr/bin/env bash
# The tests of web/ in Node: run.sh unit | api | nodes | page | types | bundlers. All but `unit` need what
# tools/scripts/web.sh built: WICK_WEB (build/web/package) and WICK_SITE (build/web/site). Prints "N passed, N failed", or why it skips.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
skip() {
  echo "SKIP: $1"
  exit 77
}
what=${1:?unit, api, nodes, page, types or bundlers}
command -v node >/dev/null || skip "node is not installed"
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 18 ] || skip "node is not installed (18 or newer; this is $major)"
export WICK_WEB=${WICK_WEB:-$PWD/build/web/package} WICK_SITE=${WICK_SITE:-$PWD/build/web/site}
export WICK_NODE_MODULES=${WICK_NODE_MODULES:-$PWD/build/web/npm/node_modules}
if [[ $what =~ ^(api|nodes|types|bundlers)$ ]]; then
  [ -f "$WICK_WEB/wick.wasm" ] || skip "wick.wasm is not built (tools/scripts/web.sh)"
fi
# Skips where there is no browser.
browser() {
  local lacking
  lacking=$(node -e 'import("./web/chromium.js").then(async m => { const c = await m.chromium(); console.log(c.lacking ?? ""); await c.browser?.close(); })')
  [ -z "$lacking" ] || skip "$lacking"
}
export WICK_TOOL=${WICK_TOOL:-${WICK_BUILD:-build/release}/tools/wick/wick}
case $what in
  api | nodes)
    export WICK_NODE_TESTS=/usr/share/libonnx-testdata/data/node
    [ "$what" = api ] || [ -d "$WICK_NODE_TESTS" ] || skip "Debian's libonnx-testdata is not installed"
    export WICK_LENET=${WICK_LENET:-${WICK_BUILD:-build/release}/examples/lenet_static/lenet.wick}
    ;;
  page)
    [ -f "$WICK_SITE/index.html" ] || skip "the demo page is not built (tools/scripts/web.sh)"
    browser
    ;;
  bundlers)
    [ -d "$WICK_NODE_MODULES/esbuild" ] || skip "npm's bundlers are not installed (tools/scripts/setup_web.sh)"
    browser
    ;;
  types)
    [ -x "$WICK_NODE_MODULES/.bin/tsc" ] || skip "typescript is not installed (npm)"
    work=$(mktemp -d) && trap 'rm -r "$work"' EXIT
    mkdir "$work/node_modules" && ln -s "$WICK_WEB" "$work/node_modules/wick-web"
    cp tests/web/types.ts "$work/types.mts"
    (cd "$work" && "$WICK_NODE_MODULES/.bin/tsc" --noEmit --strict --target es2022 --module nodenext --lib es2022,dom types.mts) || exit 1
    # Each line that must not compile fails by itself: @ts-expect-error holds them above.
    if [ -x "$WICK_NODE_MODULES/.bin/publint" ]; then
      (cd "$WICK_WEB" && "$WICK_NODE_MODULES/.bin/publint" --strict .) || exit 1
      echo "2 passed, 0 failed"
    else
      echo "1 passed, 0 failed"
    fi
    exit 0
    ;;
esac
log=$(mktemp) && trap 'rm "$log"' EXIT
node --no-warnings --test "tests/web/$what.test.js" >"$log" 2>&1
code=$?
grep -aE '^ *not ok|the page without' -A12 "$log" | grep -aE '^ *not ok|error:|the page without' | head -40
count() { sed -nE "s/^(# |ℹ )$1 ([0-9]+)$/\2/p" "$log" | tail -1; }
passed=$(count pass) failed=$(count fail) skipped=$(count skipped)
[ "${skipped:-0}" = 0 ] || echo "COUNT: $skipped cases of web_$what skipped"
echo "${passed:-0} passed, ${failed:-1} failed"
[ $code = 0 ]

#!/usr/bin/env bash
# What the tests of web/ use from npm, in build/web/npm: Playwright without a browser (Debian's chromium is it), TypeScript,
# publint, the peer of bench.js, and the bundlers that the package has to go through. Exit 1, the reason said, where it cannot
# be had; never required.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$root/build/web/npm
packages=(playwright-core@1.65.1 typescript@7.0.2 publint@0.3.25 onnxruntime-web@1.30.0
  esbuild@0.28.2 vite@8.4.0 webpack@5.113.0)
[ -f "$folder/done" ] && [ "$(cat "$folder/done")" = "${packages[*]}" ] && exit 0
command -v npm >/dev/null || { echo "packages of npm not installed: no npm" >&2 && exit 1; }
mkdir -p "$folder"
echo '{"private": true}' >"$folder/package.json"
if ! npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts "${packages[@]}" >"$folder/setup.log" 2>&1; then
  echo "packages of npm not installed: npm could not fetch them (offline?); see $folder/setup.log" >&2
  exit 1
fi
echo "${packages[*]}" >"$folder/done"

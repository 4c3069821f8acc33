#!/usr/bin/env bash
# The example of docs/use/kv-cache.md: kv_cache.sh PROGRAM
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$(realpath "$1")
cd "$work" || exit 1
said=$("$program" 2>err.txt) || { tail -5 err.txt; exit 1; }
[ "$said" = "the same bits" ] || { echo "it says: $said"; exit 1; }
[ -s gpt.wick ] || { echo "no gpt.wick"; exit 1; }

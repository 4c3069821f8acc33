#!/usr/bin/env bash
# The example of docs/use/kv-cache.md, then the page's commands as they are typed: kv_cache.sh PROGRAM [WICK]
set -uo pipefail
page=$(realpath "$(dirname "$0")/../../docs/use/kv-cache.md")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$(realpath "$1")
[ $# -lt 2 ] || PATH="$(dirname "$(realpath "$2")"):$PATH"
cd "$work" || exit 1
said=$("$program" 2>err.txt) || { tail -5 err.txt; exit 1; }
[ "$said" = "the same bits" ] || { echo "it says: $said"; exit 1; }
[ -s gpt.wick ] || { echo "no gpt.wick"; exit 1; }
[ $# -ge 2 ] || exit 0
commands=$(sed -n '/^### From the command line/,$p' "$page" | sed -n '/^```$/,/^```$/p' | sed '1d;/^```$/,$d')
case "$commands" in *"wick run"*) ;; *) echo "$page: no commands"; exit 1;; esac
# The arrays, where numpy is not installed.
if ! python3 -c "import numpy" 2>/dev/null; then
  python3 - <<'PYTHON'
import struct
for name, tokens in (("prompt.npy", [7, 3, 21, 9]), ("token.npy", [5])):
    head = "{'descr': '<i8', 'fortran_order': False, 'shape': (1, %d), }" % len(tokens)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(tokens)}q", *tokens))
PYTHON
  commands=$(echo "$commands" | grep -v "^python3 ")
fi
while IFS= read -r line; do
  bash -c "$line" >out.txt 2>&1 </dev/null || { echo "\$ $line"; tail -5 out.txt; exit 1; }
done <<<"$commands"
[ -s text.npz ] && [ -s logits/logits.npy ] || { echo "no text.npz or logits"; exit 1; }

#!/usr/bin/env python3
"""docs/use/onnx-ops.md: the page that `wick ops --onnx --markdown` prints.

  onnx_ops_page.py WICK            writes the page
  onnx_ops_page.py WICK --check    exit 1 when the page is not what the tables say
"""

import difflib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = "docs/use/onnx-ops.md"


def main():
    text = subprocess.run([sys.argv[1], "ops", "--onnx", "--markdown"], check=True, capture_output=True, text=True).stdout
    path = os.path.join(ROOT, PAGE)
    if "--check" not in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    have = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            have = f.read()
    if have == text:
        return 0
    for line in list(difflib.unified_diff(have.splitlines(), text.splitlines(), PAGE, "the tables", lineterm="", n=0))[:40]:
        print(line)
    print(f"{PAGE} is not what the tables say: run tools/scripts/onnx_ops_page.py BUILD/tools/wick/wick")
    return 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Holds the reference kernels to a page: every function of runtime/kernels/reference and
trainer/kernels/reference is at most 60 lines, from its signature to its closing brace.

usage: reference_pages.py [ROOT]      exit 0: all fit; 1: one line per function that does not
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = 60
FOLDERS = ("runtime/kernels/reference", "trainer/kernels/reference")
# At file level the tree's format (clang-format) puts a function's start in column 0 and its closing brace, too.
OPEN = re.compile(r"^(?!namespace|struct|class|enum|union|constexpr|using|#|//|\})\S.*", re.M)


def functions(text):
    """(line, signature, lines) of each function body at file level."""
    lines = text.split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and OPEN.match(line):
            start = number
        if start is not None and line.startswith("}"):
            yield start, lines[start - 1], number - start + 1
            start = None
        elif start is not None and (line.endswith(";") and not line.startswith(" ")):
            start = None  # a declaration


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else ROOT
    checked = bad = 0
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(root, folder, "*.cc"))):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            for line, signature, length in functions(text):
                checked += 1
                if length > PAGE:
                    bad += 1
                    print(f"{os.path.relpath(path, root)}:{line}: {length} lines: {signature}")
    if checked < 20:
        print(f"only {checked} functions found: does this script still read the sources?")
        bad += 1
    print(f"{checked - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Holds the pages to the tree: every relative link and #anchor in README and docs/ resolves, every
path in backticks that starts with a folder of the repository exists, every `make NAME` is a target,
and every test that docs/features.md names exists."""

import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+)\s*,\s*(\w+)")
FOLDERS = ("runtime/", "graph/", "trainer/", "exporter/", "quantize/", "targets/", "tools/", "tests/",
           "bench/", "examples/", "docs/", "cmake/")


def anchors(text):
    heads = re.findall(r"^#+\s+(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def known_tests():
    """Names by which features.md may name a test: Suite.Case, Suite, a ctest name."""
    names = set()
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "tests", "bench", "examples"],
                           capture_output=True, text=True, check=True).stdout.split()
    for path in files:
        if path.endswith((".cc", ".cpp", ".h")):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                for suite, case in TEST.findall(f.read()):
                    names.update((suite, f"{suite}.{case}"))
        elif path.endswith("CMakeLists.txt"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                names.update(re.findall(r"wick_(?:script_)?test\((\w+)", f.read()))
    return names


def check_page(path, targets):
    problems = []
    with open(path, encoding="utf-8") as f:
        text = f.read()
    page = os.path.relpath(path, ROOT)
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    for link in LINK.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(target):
            problems.append(f"{page}: link to {link}: no such file")
        elif anchor and target.endswith(".md"):
            with open(target, encoding="utf-8") as f:
                if anchor not in anchors(f.read()):
                    problems.append(f"{page}: link to {link}: no such heading")
    for code in CODE.findall(prose):
        if code.startswith(FOLDERS) and re.fullmatch(r"[\w./-]+", code) and not code.startswith("docs/features"):
            if not os.path.exists(os.path.join(ROOT, code)):
                problems.append(f"{page}: `{code}` does not exist")
    for name in re.findall(r"\bmake ([a-z][a-z-]*)", " ".join(CODE.findall(text) + re.findall(r"```.*?```", text, re.S))):
        if name not in targets:
            problems.append(f"{page}: `make {name}` is not a target")
    return problems


def check_features(path, names):
    """Rows `| id | works / not yet / out | ... | tests |`: one that works names its tests in backticks."""
    problems = []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("|") or not any(cell == "works" for cell in cells[:-1]):
                continue
            shown = CODE.findall(cells[-1])
            if not shown:
                problems.append(f"docs/features.md:{number}: names no test")
            for name in shown:
                if name not in names and not os.path.exists(os.path.join(ROOT, name)):
                    problems.append(f"docs/features.md:{number}: no test or file `{name}`")
    return problems


def main():
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as f:
        targets = set(re.findall(r"^([a-z][a-z-]*):", f.read(), re.M))
    pages = [os.path.join(ROOT, "README.md")]
    pages += sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
    problems = []
    for page in pages:
        problems += check_page(page, targets)
    features = os.path.join(ROOT, "docs", "features.md")
    if os.path.exists(features):
        problems += check_features(features, known_tests())
    for problem in problems:
        print(problem)
    print(f"docs: {len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

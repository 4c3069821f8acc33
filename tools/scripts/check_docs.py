#!/usr/bin/env python3
"""Holds the pages to the tree: every relative link and #anchor in the root's pages and docs/ resolves, every
path in backticks that starts with a folder of the repository exists, every `make NAME` is a target,
every `Suite.Case` of a known suite is a test, docs/features.md has every id once and names tests
that exist, no page for users has such an id, docs/README.md links every page of docs/,
docs/use/tools.md has every command and option, a code block below `<!-- FILE -->` is that
file, and the lines of a public header's example stand in the file that it names.

usage: check_docs.py [ROOT]      exit 0: all hold; 1: one line per problem
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+)\s*,\s*(\w+)")
CTEST = re.compile(r"(?:wick_(?:script_)?test\(|add_test\(NAME )(\w+)")
# A code block that is a file of the tree, built by a test: <!-- tests/docs/x.cc --> and the block.
COPY = re.compile(r"^<!-- ([\w./-]+) -->\n```\w*\n(.*?)^```", re.M | re.S)
# An example in a header: "Example (tests/docs/x.cc):", and the comment's lines indented by three.
EXAMPLE = re.compile(r"Example\s+(?://|\*)?\s*\(([\w./-]+)\):\n((?:(?://| \*)(?:   .*)?\n)+)")
PUBLIC = tuple(f"{room}/include/wick/*.h" for room in ("runtime", "trainer", "trainer/distributed", "quantize", "exporter", "tools/lib")) + ("runtime/include/wick/c/*.h",)
FOLDERS = ("runtime/", "graph/", "trainer/", "exporter/", "quantize/", "targets/", "tools/", "tests/",
           "bench/", "examples/", "docs/", "cmake/")

STATES = ("works", "part", "not yet", "out")
# The ids of docs/features.md: a prefix, a range, and what follows it.
FEATURES = """S01-26 T01-25 M01-02 M03a M03b M04a M04b M05a M05b M05c M05d M06a M06b M07-09
    P1-01-10 P1-p1-5 P2-01-10 P2-p1 P2-p2 P2-p4-6 P3-01-10 P3-p1 P3-p2 P3-p5 P3-p6 P4-01-09 P4-p1..p6
    P5-01-08 P5-p1 P5-p2 P5-p3 P5-p6 P6-01-04 P6-p1-6 P7-01-08 P7-p1..p6 P8-01-07 P8-p1-6 P9-01-07
    P9-p1..p5 P10-01-02 P10-p K1-11 X06 X08 X12 X15 X17 X18 X19 X20"""


def anchors(text):
    heads = re.findall(r"^#+\s+(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def tests_in(path):
    """Names by which a page may name a test of this file: Suite.Case, a ctest name, or a break of tests/sabotage."""
    text = read(path)
    if path.endswith("CMakeLists.txt"):
        return set(CTEST.findall(text))
    if path.endswith(".breaks"):
        return set(re.findall(r"^== (\w+)$", text, re.M))
    return {f"{suite}.{case}" for suite, case in TEST.findall(text)}


def known_tests():
    names = set()
    for folder, _, files in os.walk(os.path.join(ROOT, "tests")):
        for name in files:
            if name.endswith((".cc", ".h")):
                names |= tests_in(os.path.relpath(os.path.join(folder, name), ROOT))
    return names


def feature_ids():
    ids = []
    for item in FEATURES.split():
        span = re.fullmatch(r"(.*?)(\d+)-(\d+)", item)
        if not span:
            ids.append(item)
            continue
        prefix, first, last = span.groups()
        ids += [f"{prefix}{i:0{len(first)}d}" for i in range(int(first), int(last) + 1)]
    return ids


def check_page(path, targets, tests):
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
    for code in CODE.findall(prose) if page != "CHANGELOG.md" else []:  # which names files of old
        if code.startswith(FOLDERS) and re.fullmatch(r"[\w./-]+", code) and not code.startswith("docs/features"):
            if not os.path.exists(os.path.join(ROOT, code)):
                problems.append(f"{page}: `{code}` does not exist")
    suites = {name.split(".")[0] for name in tests}
    for code in CODE.findall(prose):
        if re.fullmatch(r"\w+\.\w+", code) and code.split(".")[0] in suites and code not in tests:
            problems.append(f"{page}: no test `{code}`")
    for name, block in COPY.findall(text):
        if not os.path.exists(os.path.join(ROOT, name)):
            problems.append(f"{page}: {name} does not exist")
        elif read(name) != block:
            problems.append(f"{page}: the code block below <!-- {name} --> is not that file")
    for name in re.findall(r"\bmake ([a-z][a-z-]*)", "\n".join(CODE.findall(text) + re.findall(r"```.*?```", text, re.S))):
        if name not in targets:
            problems.append(f"{page}: `make {name}` is not a target")
    return problems


def check_header(path):
    problems, found = [], EXAMPLE.findall(read(path))
    for name, block in found:
        if not os.path.exists(os.path.join(ROOT, name)):
            problems.append(f"{path}: {name} does not exist")
            continue
        lines = iter([line.strip() for line in read(name).split("\n")])
        for line in block.split("\n"):
            line = line[2:].strip()
            if line and line not in lines:  # "in" walks the iterator: the order must be the file's
                problems.append(f"{path}: its example has a line that {name} lacks: {line}")
                break
    return problems if found or path.endswith("error.h") else [f"{path}: no example"]


def check_index(index):
    """The list of pages by task links every page of docs/."""
    linked = {os.path.normpath(os.path.join("docs", link.partition("#")[0])) for link in LINK.findall(read(index))}
    pages = glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)
    return [f"{index}: no link to {page}" for page in sorted(os.path.relpath(p, ROOT) for p in pages)
            if page not in linked | {index}]


def check_ids(path):
    """An id of docs/features.md means nothing to a user."""
    words = set(re.findall(r"[\w-]+", read(path)))
    return [f"{path}: row id {i} of docs/features.md" for i in feature_ids() if i in words]


def check_tools(page):
    """Every command of wick and every long option of it stands in the page."""
    problems, text = [], read(page)
    for function in re.findall(r"^void add_(\w+)\(", read("tools/wick/command.h"), re.M):
        command = function.replace("_", "-")
        if f"**{command}**" not in text:
            problems.append(f"{page}: no command **{command}**")
    for path in sorted(glob.glob(os.path.join(ROOT, "tools/wick/*.cc"))):
        for names in re.findall(r'add_(?:option|flag)\(\s*"([^"]+)"', read(path)):
            problems += [f"{page}: no option {name} ({os.path.basename(path)})" for name in names.split(",")
                         if name.startswith("--") and not re.search(re.escape(name) + r"(?![\w-])", text)]
    return problems


def check_shown(place, shown):
    """`file`, or `file: Suite.Case, Suite.Case`; a ctest name where the file is a CMakeLists.txt, a break where it is a
    list of breaks."""
    problems = []
    for text in shown:
        path, _, names = text.partition(": ")
        if not os.path.isfile(os.path.join(ROOT, path)):
            problems.append(f"{place}: no file `{path}`")
            continue
        there = tests_in(path) if names else set()
        problems += [f"{place}: no test `{name}` in {path}" for name in names.split(", ")
                     if name and name not in there]
    return problems


def check_features(path):
    """Rows `| id | what | state | tests |`; one that works, or works in part, names its tests."""
    problems, ids, counts = [], [], dict.fromkeys(STATES, 0)
    text = read(path)
    for number, line in enumerate(text.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("id", "---"):
            continue
        place = f"{path}:{number}"
        if len(cells) != 4:
            problems.append(f"{place}: {len(cells)} cells, not 4")
            continue
        ids.append(cells[0])
        state = cells[2].split(":")[0]
        if state not in STATES:
            problems.append(f"{place}: state `{state}` is none of {', '.join(STATES)}")
            continue
        counts[state] += 1
        if state in ("part", "out") and ":" not in cells[2]:
            problems.append(f"{place}: `{state}` without a reason")
        shown = CODE.findall(cells[3])
        if state in ("works", "part") and not shown:
            problems.append(f"{place}: names no test")
        problems += check_shown(place, shown)
    expected = feature_ids()
    problems += [f"{path}: row {i} is missing" for i in expected if i not in ids]
    problems += [f"{path}: row {i} is none of the list's" for i in ids if i not in expected]
    problems += [f"{path}: row {i} twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    now = "Now: {works} work, {part} in part, {not yet} not yet, {out} out.".format(**counts)
    if now not in text:
        problems.append(f"{path}: the count should read: {now}")
    return problems


def main():
    global ROOT
    if len(sys.argv) > 1:
        ROOT = os.path.abspath(sys.argv[1])
    targets = set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.M))
    tests = known_tests()
    pages = [os.path.join(ROOT, name) for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    pages += sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
    problems = []
    for page in pages:
        problems += check_page(page, targets, tests)
        name = os.path.relpath(page, ROOT)
        if "/" not in name or name.startswith(("docs/use/", "docs/recipes/")):
            problems += check_ids(name)
    for pattern in PUBLIC:
        for header in sorted(glob.glob(os.path.join(ROOT, pattern))):
            problems += check_header(os.path.relpath(header, ROOT))
    problems += check_index("docs/README.md")
    problems += check_tools("docs/use/tools.md")
    problems += check_features("docs/features.md")
    for problem in problems:
        print(problem)
    print(f"docs: {len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

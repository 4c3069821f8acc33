#!/usr/bin/env python3
"""Finds second places for facts that have one.

- What an op is stands in its row of runtime/ops/ops.def (kind, signature, flags) and, where it is a
  layer's own matter, in that layer's lists (OpFacts) or tables. A `switch` over OpId elsewhere is a
  table that nobody completes: its default answers quietly for an op that is added later. Those that
  there are stand below with their reason. Labels that a list of ops writes (k##Name) are a table.
- No decision by a range of ids, by the name of a shape rule, or by the text of an error.
- A kernel's row is planned, packed and run in runtime/kernels/prepared.cc alone.

usage: check_facts.py [ROOT]      exit 0: nothing found; 1: one line per finding
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tree import root_of_arguments, sources  # noqa: E402

ROOMS = ("runtime", "graph", "trainer", "exporter", "quantize", "tools")
SOURCE = re.compile(r"\.(h|cc)$")
SWITCH = re.compile(r"\bswitch \(")
LABEL = re.compile(r"\bcase (?:wick::)?OpId::k(?!##)")
RANGE = re.compile(r"[\w)\]] [<>]=? OpId::k|OpId::k\w+ [<>]=? ")
RULE_NAME = re.compile(r"#rule\b")
ERROR_TEXT = re.compile(r"strn?cmp\([^;]*message\(\)|message\(\)\s*[!=]=")
ROW_RUN = re.compile(r"\b(?:row|kernel_row|\w*_row|row_)(?:->|\.)(?:plan|pack|run)\(")
EQUAL = re.compile(r"[!=]= OpId::k")

# Why a switch over ids is the right thing there.
SWITCHES = {
    "graph/ir/infer.cc": "the integers that a node makes, one small function an op",
    "graph/ir/sequence.cc": "the types of sequences, one function an op",
    "graph/passes/fuse_attention.cc": "a pattern: what may stand between scores and softmax",
    "graph/passes/lower_ops.cc": "a pattern: which node becomes which form of bytes",
    "trainer/capture/graph_run.cc": "the nodes that a training graph runs otherwise than kernels do",
    "runtime/ops/rules/linalg-inl.h": "one rule of seven decompositions, whose outputs differ",
}
RUN_SITES = ("runtime/kernels/prepared.cc", "runtime/kernels/prepared.h")


def body_of(text, at):
    """The text between the braces that open behind `at`."""
    start = text.index("{", at)
    depth, i = 1, start + 1
    while depth and i < len(text):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        i += 1
    return text[start:i]


def check_tree(root):
    problems, used, files = [], set(), 0
    counts = {"switches": 0, "labels": 0, "equal": 0}
    for path, text in sources(root, ROOMS, SOURCE):
        files += 1
        for m in SWITCH.finditer(text):
            labels = len(LABEL.findall(body_of(text, m.end())))
            if labels == 0:
                continue
            counts["switches"] += 1
            counts["labels"] += labels
            used.add(path)
            if path not in SWITCHES:
                problems.append(f"{path}:{text.count(chr(10), 0, m.start()) + 1}: a switch over OpId with {labels} "
                                "labels; say it in the op's row (ops.def), in OpFacts or in a table")
        for number, line in enumerate(text.split("\n"), 1):
            code = line.split("//")[0]
            counts["equal"] += len(EQUAL.findall(code))
            for found, what in ((RANGE.search(code), "a range of op ids; ask for the kind (kind_of)"),
                                (RULE_NAME.search(code) and not path.startswith("runtime/ops/"),
                                 "the name of a shape rule; ask for the kind (kind_of)"),
                                (ERROR_TEXT.search(code), "a decision by an error's text; ask for its code"),
                                (ROW_RUN.search(code) and path not in RUN_SITES,
                                 "plans, packs or runs a kernel's row by itself; use PreparedKernel "
                                 "(runtime/kernels/prepared.h)")):
                if found:
                    problems.append(f"{path}:{number}: {what}: {line.strip()}")
    for path in sorted(set(SWITCHES) - used):
        if os.path.exists(os.path.join(root, path)):
            problems.append(f"{path}: no switch over OpId there any more: take its reason out of this script")
    return problems, files, counts


def main():
    problems, files, counts = check_tree(root_of_arguments())
    for problem in problems:
        print(problem)
    print(f"{files} files read, {len(problems)} facts told twice; {counts['switches']} switches over OpId with "
          f"{counts['labels']} labels, {counts['equal']} comparisons with one op")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Finds tables of ONNX operators beside exporter/onnx/operators/*.def.

What ONNX says of its operators stands there: a row for each version, with its inputs, attributes, types, an
example and whether it is read. A list somewhere else that goes by operators' names drifts from those rows in
silence, so one is either derived from them or stands below with its reason. A table is an initializer that
has the names of five operators or more, in strings of their own or as words of one; a .def of such names is
one, too. An entry that matches nothing is reported.

usage: check_onnx_tables.py [ROOT]      exit 0: nothing found; 1: one line per finding
"""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tree import root_of_arguments, sources, stale_reasons  # noqa: E402

ROOMS = ("runtime", "graph", "trainer", "quantize", "exporter", "targets", "tools")
SOURCE = re.compile(r"\.(h|cc|c|cpp|inc|def)$")
HOME = "exporter/onnx/operators/"
ROW = re.compile(r"^WICK_(?:ONNX|MS|PREVIEW)\w*\((\w+),", re.M)
NAMES_OF_A_TABLE = 5

# (file, text of its first line): what it says that the rows do not
REASONS = {
    ("exporter/onnx/microsoft/microsoft.cc", "activations()"):
        "which operators a fused one may name as its activation, and the order of their numbers there",
    ("exporter/onnx/families/rnn.cc", "kFunctions[]"): "values of the attribute `activations` of RNN, GRU and LSTM",
    ("tools/lib/node_counts.cc", "kKinds = {"): "names that a report prints, and those of ONNX Runtime's fused nodes",
    ("trainer/nn/change/compress.cc", "kKeepZero[]"): "modules of the trainer, some of which have an operator's name",
}


def operator_names(root):
    names = set()
    folder = os.path.join(root, HOME)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".def"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                names |= set(ROW.findall(f.read()))
    return names


def blanked(text):
    """The same length without comments; strings and characters stay."""
    def blank(m):
        s = m.group(0)
        return s if s[0] in "\"'" else re.sub(r"[^\n]", " ", s)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


def initializers(text):
    """(from, to) of each outermost pair of braces that has no statement in it."""
    strings = [m.span() for m in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', text)]
    inside = bytearray(len(text))
    for a, b in strings:
        inside[a:b] = b"\1" * (b - a)
    open_at, found = [], []
    for m in re.finditer(r"[{};]", text):
        at = m.start()
        if inside[at]:
            continue
        if m.group() == "{":
            open_at.append([at, False])
        elif m.group() == ";":
            for o in open_at:
                o[1] = True
        elif open_at:
            start, statements = open_at.pop()
            if not statements:
                found = [f for f in found if f[0] < start] + [(start, at)]
    return found


def names_in(text, names):
    words = set()
    for literal in re.findall(r'"((?:\\.|[^"\\\n])*)"', text):
        words |= set(literal.split())
    return words & names


def tables(path, text, names):
    """The line of each table and how many operators it names."""
    if path.endswith(".def"):
        rows = re.findall(r"^\w+\((\w+)", text, re.M)
        if len(set(rows) & names) >= NAMES_OF_A_TABLE and "OpId" not in text and not path.startswith("runtime/ops/"):
            yield 1, len(set(rows) & names)
        return
    text = blanked(text)
    for start, end in initializers(text):
        held = names_in(text[start:end], names)
        if len(held) >= NAMES_OF_A_TABLE:
            yield text.count("\n", 0, start) + 1, len(held)


def check_tree(root):
    names = operator_names(root)
    problems, used, files = [], set(), 0
    for path, text in sources(root, ROOMS, SOURCE):
        if path.startswith(HOME):
            continue
        files += 1
        lines = text.split("\n")
        for line, count in tables(path, text, names):
            near = "\n".join(lines[max(0, line - 3):line])
            reasons = [key for key in REASONS if key[0] == path and key[1] in near]
            used.update(reasons)
            if not reasons:
                problems.append(f"{path}:{line}: a table of {count} ONNX operators; what it says belongs into "
                                f"the rows of {HOME}*.def: {lines[line - 1].strip()}")
    return problems + stale_reasons(root, REASONS, used), files if names else 0


def main():
    root = root_of_arguments()
    problems, files = check_tree(root)
    for problem in problems:
        print(problem)
    print(f"{files} files read, {len(operator_names(root))} operators, {len(problems)} tables of them beside {HOME}*.def")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())

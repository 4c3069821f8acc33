#!/usr/bin/env python3
"""rows.py: exporter/onnx/operators/default.def and ml.def against the schemas of the onnx package that this Python has:
every version of every operator, its inputs with their types, and its attributes. A line for each difference; exit 1 then.
"""

import os
import re
import sys

from onnx import defs

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TABLES = {"": "exporter/onnx/operators/default.def", "ai.onnx.ml": "exporter/onnx/operators/ml.def"}
NAMES = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "string": "str", "bool": "bool",
         "complex64": "c64", "complex128": "c128", **{f"{u}int{n}": f"{u or 'i'}{n}" for u in ("u", "") for n in
                                                      (2, 4, 8, 16, 32, 64)},
         **{f"float{t}": f"f{t}" for t in ("8e4m3fn", "8e4m3fnuz", "8e5m2", "8e5m2fnuz", "8e8m0", "4e2m1")}}
UNKNOWN = ("float6e2m3", "float6e3m2")  # Wick has no such dtypes
SINT, UINT = {"i8", "i16", "i32", "i64"}, {"u8", "u16", "u32", "u64"}
REAL = {"f16", "f32", "f64"}
NUM = SINT | UINT | REAL
ALL = NUM | {"bool", "str", "c64", "c128"}
F8 = {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"}
CLASSES = {"sint": SINT, "uint": UINT, "int": SINT | UINT, "float": REAL, "float13": REAL | {"bf16"}, "num": NUM,
           "num13": NUM | {"bf16"}, "all": ALL, "f8": F8, "all13": ALL | {"bf16"}}
for name, before, more in (("all19", "all13", F8), ("all21", "all19", {"i4", "u4"}), ("all23", "all21", {"f4e2m1"}),
                           ("all24", "all23", {"f8e8m0"}), ("all25", "all24", {"i2", "u2"})):
    CLASSES[name] = CLASSES[before] | more
KINDS = dict(FLOAT="f", INT="i", STRING="s", TENSOR="t", GRAPH="g", FLOATS="F", INTS="I", STRINGS="S",
             SPARSE_TENSOR="p", TYPE_PROTO="y")
# The rows where default.def differs from ONNX, and says so.
OTHERWISE = {("GridSample", 16), ("GridSample", 20), ("GridSample", 22), ("Tile", 1)}


def theirs(domain):
    """{(name, since): (inputs, attributes)} of a domain; None: deprecated."""
    found = {}
    for s in defs.get_all_schemas_with_history():
        if s.domain != domain:
            continue
        inputs = []
        for i, given in enumerate(s.inputs):
            option = str(given.option).split(".")[-1]
            letter = {"Single": "r", "Optional": "o"}.get(option) or ("V" if s.min_input > i else "v")
            types = set()
            for t in given.types:
                name = t[len("tensor("):-1]
                if not t.startswith("tensor("):
                    types.add("seq")
                elif name not in UNKNOWN:
                    types.add(NAMES[name])
            inputs.append((letter, types))
        attributes = [f"{n}:{KINDS[str(a.type).split('.')[-1]]}{'!' if a.required else ''}"
                      for n, a in sorted(s.attributes.items()) if n != "consumed_inputs"]
        found[s.name, s.since_version] = None if s.deprecated else (inputs, " ".join(attributes))
    return found


def ours(table):
    with open(os.path.join(ROOT, table), encoding="utf-8") as f:
        text = re.sub(r"^//.*$", "", f.read(), flags=re.M)
    found, above = {}, None
    for macro, inside in re.findall(r"^WICK_(?:ONNX|ML)(?=[_(])(\w*)\(((?:\"[^\"]*\"|[^()\"])*)\)", text, re.M):
        columns = re.findall(r'(?:"[^"]*"\s*)+|[^,\s]+', inside)
        key = columns[0], int(columns[1])
        if macro in ("_ENDS", "_OUT"):
            found[key] = None
            continue
        row = ["".join(re.findall(r'"([^"]*)"', c)) if c.startswith('"') else c for c in columns[2:4]]
        row = [a if c == "same" else c for c, a in zip(row, above or row)]
        above = row
        if macro == "_UNLISTED":
            continue
        inputs = []
        for word in row[0].split():
            letters, types = word.split(":")
            each = set().union(*(CLASSES.get(t, {t}) for t in types.split("|")))
            inputs += [(letter, each) for letter in letters]
        found[key] = inputs, row[1]
    return found


def compare(domain, table):
    """How many rows the table has, and a line for each difference."""
    want, have, problems = theirs(domain), ours(table), []
    for key in sorted(set(want) | set(have)):
        name = f"{key[0]} {key[1]}"
        if key not in have:
            problems.append(f"{name}: {table} has no row")
        elif key not in want:
            problems.append(f"{name}: ONNX has no such version")
        elif have[key] is None or want[key] is None or (not domain and key in OTHERWISE):
            continue
        elif have[key] != want[key]:
            problems.append(f"{name}: {have[key]}, ONNX has {want[key]}")
    return len(have), problems


def main():
    rows, problems, empty = 0, [], False
    for domain, table in TABLES.items():
        count, more = compare(domain, table)
        rows, problems, empty = rows + count, problems + more, empty or count == 0
    for problem in problems:
        print(problem)
    print(f"{rows} rows, {len(problems)} unlike those of onnx")
    return 1 if problems or empty else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Holds the C interface to the C++ one. Every public member of a class that <wick/runtime.h> shows (and of the devices',
kernels' and custom ops' headers) has a row in c_api.txt: the C functions, struct fields or constants that are the same, or the
reason why there is none. A row is stale when a name of it is gone. Every C function is in a row, or has a reason to be C's
alone; it has WICK_API; a struct begins with its size, or is one that cannot grow; structs that callers fill end with a pointer
or a number of 8 bytes, since what is appended must not lie in the padding of older callers' structs.

The interface only grows: tests/runtime/c_abi/abi.txt has every declaration, symbols.txt and symbols_vulkan.txt what the shared
libraries export (check_symbols.py compares them with nm -D). --write writes them from the headers, and refuses to when
something that was there has changed.

usage: check_c_api.py [--write] [ROOT]      exit 0: all hold; 1: one line per problem
"""

import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_includes  # noqa: E402
import c_headers  # noqa: E402

# What C++ shows: the headers of wick/runtime.h, and those that docs/use/runtime.md names beside it.
SHOWN = sorted(check_includes.SHOWN | {"runtime/backend/backend.h", "runtime/backend/device_tensor.h",
                                       "runtime/backend/vulkan/backend.h", "runtime/kernels/kernel.h", "runtime/ops/custom_op.h",
                                       "runtime/program/guard.h"})
C_FOLDER = "runtime/include/wick"
TABLE = "tests/layers/c_api.txt"
ABI = "tests/runtime/c_abi/abi.txt"
# The header of a second library, and each library's list.
VULKAN = f"{C_FOLDER}/c/vulkan.h"
SYMBOLS, VULKAN_SYMBOLS = "tests/runtime/c_abi/symbols.txt", "tests/runtime/c_abi/symbols_vulkan.txt"
# Structs without a size: elements of the caller's arrays, or memory that others lay out.
GIVEN = re.compile(r"_(options|hook|def|report)$")  # structs that callers fill
WHOLE = re.compile(r"(u?int64_t|size_t) \w+|.*\*.*")
FIXED = {"wick_allocator", "wick_attr_field", "wick_dim_binding", "wick_named_tensor", "wick_port", "wick_state_link", "wick_string",
         "wick_tensor"}
ROW = re.compile(r"(\w[\w:]*) ([=+-]) (\S.*)")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def cpp(root):
    """{class: members}, {enum: enumerators} of the headers that C++ shows."""
    classes, enums = {}, {}
    for path in SHOWN:
        if os.path.isfile(os.path.join(root, path)):
            more, values = c_headers.classes(read(root, path))
            classes.update(more)
            enums.update(values)
    return classes, enums


def c_paths(root):
    paths = [f"{C_FOLDER}/wick.h", *sorted(glob.glob(f"{C_FOLDER}/c/*.h", root_dir=root))]
    return [p for p in paths if os.path.isfile(os.path.join(root, p))]


def rows(root):
    """([(name, sign, the rest, line)], problems) of the table."""
    found, problems, seen = [], [], set()
    for number, line in enumerate(read(root, TABLE).split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row = ROW.fullmatch(line.strip())
        if row is None:
            problems.append(f"{TABLE}:{number}: a row is NAME = C names, NAME - why C has none, or c_name + why C++ has none")
        elif row.group(1) in seen:
            problems.append(f"{TABLE}:{number}: {row.group(1)} has a row already")
        else:
            seen.add(row.group(1))
            found.append((*row.groups(), number))
    return found, problems


def check_table(root, c):
    table, problems = rows(root)
    classes, enums = cpp(root)
    known = {name for members in classes.values() for name in members}
    known |= {f"{enum}::{name}" for enum, values in enums.items() for name in values}
    whole = {name for name, sign, _, _ in table if sign == "-" and name in {*classes, *enums}}
    covered = {name for name, _, _, _ in table}
    used = set()
    for name, sign, rest, number in table:
        where = f"{TABLE}:{number}:"
        if sign == "+":
            if name not in c.functions:
                problems.append(f"{where} C has no function {name} any more")
            continue
        if name not in known and name not in whole and name not in classes:
            problems.append(f"{where} C++ has no {name} any more")
        elif name.split("::")[0] in whole and name not in whole:
            problems.append(f"{where} {name.split('::')[0]} has a reason for all of its members")
        if sign == "=":
            for each in rest.split():
                used.add(each)
                if not c.has(each):
                    problems.append(f"{where} C has no {each}")
            owner, _, member = name.rpartition("::")
            value = enums.get(owner, {}).get(member)
            if value is not None and c.constants.get(rest, value) != value:
                problems.append(f"{where} {name} is {value}, {rest} is {c.constants[rest]}")
    for owner, members in [*classes.items(), *((e, [f"{e}::{n}" for n in v]) for e, v in enums.items())]:
        if owner in whole:
            continue
        if not members and owner not in covered:
            members = [owner]
        problems += [f"{name}: in C++ and not in {TABLE}: give the C name, or the reason why there is none"
                     for name in members if name not in covered]
    for name in c.functions:
        alone = any(n == name and sign == "+" for n, sign, _, _ in table)
        if (name in used) == alone:
            problems.append(f"{name}: " + ("is in a row, and said to be C's alone" if alone else
                                           f"in C and not in {TABLE}: add it to a row, or the reason why C++ has none"))
    return problems, len(table)


def check_style(c):
    problems = [f"{name}: without WICK_API" for name in c.bare]
    for name, fields in c.structs.items():
        if (fields[:1] == ["size_t size"]) == (name in FIXED):
            problems.append(f"{name}: " + ("has a size: take it out of FIXED" if name in FIXED else
                                           "begins with `size_t size`, so that it can grow"))
        if GIVEN.search(name) and not WHOLE.fullmatch(fields[-1]):
            problems.append(f"{name}: ends with `{fields[-1]}`: older callers have undefined padding there; move it up")
    return problems


def abi(c):
    """Every declaration, a line each; the line of a struct may get longer."""
    lines = [f"function {c.functions[name]}" for name in sorted(c.functions)]
    lines += [f"struct {name}: {'; '.join(fields)};" for name, fields in sorted(c.structs.items())]
    lines += [f"constant {name} = {value}" for name, value in sorted(c.constants.items())]
    return "\n".join(lines) + "\n"


def changed(old, new):
    """What the golden file has and the headers have otherwise, or no more."""
    now, fixed = new.split("\n"), tuple(f"struct {name}:" for name in FIXED)
    return [line for line in old.split("\n") if line and line not in now and
            (line.startswith(fixed) or not line.startswith("struct ") or not any(n.startswith(line + " ") for n in now))]


def goldens(root, c):
    vulkan = set(c_headers.CHeaders([read(root, VULKAN)] if os.path.isfile(os.path.join(root, VULKAN)) else []).functions)
    lists = {SYMBOLS: set(c.functions) - vulkan, VULKAN_SYMBOLS: vulkan}
    return {ABI: abi(c), **{path: "".join(f"{n}\n" for n in sorted(names)) for path, names in lists.items()}}


def check_tree(root, write=False):
    c = c_headers.CHeaders([read(root, path) for path in c_paths(root)])
    problems, count = check_table(root, c)
    problems += check_style(c)
    for path, want in goldens(root, c).items():
        there = read(root, path) if os.path.isfile(os.path.join(root, path)) else ""
        if there == want:
            continue
        gone = changed(there, want) if path == ABI else []
        if gone:
            problems += [f"{path}: changed or gone, which breaks programs that are built: {line}" for line in gone]
        elif write:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(want)
        else:
            problems.append(f"{path}: the headers have more: tests/layers/check_c_api.py --write")
    return problems, count


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    places = [a for a in arguments if a != "--write"]
    root = os.path.abspath(places[0] if places else os.path.join(os.path.dirname(__file__), "..", ".."))
    problems, count = check_tree(root, write)
    for problem in problems:
        print(problem)
    print(f"{count} rows, {len(problems)} problems")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Plants one fault at a time in a small list of breaks and requires breaks.py check to name it; makes, shows and takes
back the breaks of that list; and requires of breaks.py add the fewest lines that tell a change."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import breaks  # noqa: E402

FILE = "runtime/core/x.cc"
SOURCE = "int f() {\n  // one\n  a();\n  b();\n}\nint g() {\n  a();\n}"  # the last line has no end
LIST = f"""== a_is_gone
Test: test_x A.*
Breaks: f does not call a
-- {FILE}
<<<<
  a();
  b();
====
  b();
>>>>

== g_has_an_end
Test: tests/x/y.sh way
Breaks: g is longer
-- {FILE}
<<<<
int g() {{
  a();
}}
====
int g() {{

}}

>>>>
"""
BROKEN = {"a_is_gone": SOURCE.replace("  a();\n  b", "  b"), "g_has_an_end": SOURCE[:-len("  a();\n}")] + "\n}\n"}
# what is replaced in the list (its first occurrence), by what, what the check must say
FAULTS = [
    ("  b();\n====", "  c();\n====", f"a_is_gone: {FILE}: the text stands there 0 times, not once: c();"),
    ("  a();\n  b();\n", "  a();\n", f"a_is_gone: {FILE}: the text stands there 2 times, not once: a();"),
    ("====\n  b();\n", "====\n", f"a_is_gone: {FILE}: cannot be taken back: the text stands there 0 times"),
    ("====\n  b();\n", "====\n}\n", f"a_is_gone: {FILE}: cannot be taken back: the text stands there 3 times"),
    ("====\n  b();\n", "====\n  a();\n  b();\n", f"a_is_gone: {FILE}: a piece changes nothing"),
    (">>>>\n", ">>>>\n<<<<\n  b();\n}\n====\n}\n>>>>\n", f"a_is_gone: {FILE}: two pieces have a line in common"),
    (">>>>\n", f">>>>\n-- {FILE}\n<<<<\nint g() {{\n====\nlong g() {{\n>>>>\n", "a_is_gone: a file is named twice"),
    (">>>>\n", "", "runtime_core.breaks:15: a break has no such line here: <<<<"),
    ("====\n", "", "runtime_core.breaks:9: a break has no such line here: >>>>"),
    ("<<<<\n", "", "runtime_core.breaks:5: a break has no such line here:   a();"),
    ("}\n\n>>>>\n", "", "runtime_core.breaks: its last piece has no end"),
    (FILE, "runtime/core/y.cc", "a_is_gone: runtime/core/y.cc: no such file"),
    (FILE, "runtime/x.cc", "a_is_gone: it belongs to runtime.breaks"),
    ("== a_is_gone", "== g_has_an_end", "g_has_an_end: runtime_core.breaks has one of that name"),
    ("== a_is_gone", "== h_is_gone", "g_has_an_end stands behind h_is_gone"),
    ("== a_is_gone", "== a is gone", "a is gone: a name is of a-z, 0-9 and _"),
    ("test_x A.*", "test_x", "a_is_gone: no line 'Test: PROGRAM FILTER'"),
    ("test_x A.*", "../x.sh A", "a_is_gone: no line 'Test: PROGRAM FILTER'"),
    ("Breaks: f does not call a\n", "", "a_is_gone: no line 'Breaks: TEXT'"),
    (LIST[LIST.index("<<<<"):LIST.index("\n== g")], "", "a_is_gone: no piece of text to change"),
    (LIST, "", "runtime_core.breaks: it has no break"),
]
# lines before, lines after, and the pieces that tell the change
CHANGES = [
    ("a b c", "a x c", [("b", "x")]),
    ("a b c", "a c", [("a b", "a")]),  # what a deletion leaves must be found again
    ("a c", "a b c", [("a", "a b")]),
    ("a b c b d", "a b c x d", [("c b", "c x")]),  # b stands there twice
    ("//a b //a b c", "//a b //a x c", [("b c", "x c")]),  # comments are reworded more often
    ("a b c", "x b y", [("a b c", "x b y")]),
    ("a b c d e f g h i", "x b c d e f g h y", [("a", "x"), ("i", "y")]),
]


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    breaks.write(os.path.join(root, path), text)


def faults(root):
    """Whether the check is silent about the list, and names each fault alone that is planted in it."""
    yield "the list as it is", list(breaks.problems(root, root)) == []
    for old, new, says in FAULTS:
        write(root, "runtime_core.breaks", LIST.replace(old, new, 1))
        found = list(breaks.problems(root, root))
        yield f"{old} -> {new}: wanted '{says}', got {found}", len(found) == 1 and says in found[0]
    write(root, "runtime_core.breaks", LIST)


def made(root):
    """Whether breaks are made, shown and taken back to the byte."""
    path = os.path.join(root, FILE)
    for name, text in BROKEN.items():
        each = breaks.find(name, root)
        write(root, "x.patch", breaks.patch(each, root))
        breaks.make(each, root)
        yield f"{name} is made", breaks.read(path) == text
        breaks.make(each, root, back=True)
        yield f"{name} is taken back", breaks.read(path) == SOURCE
        subprocess.run(["git", "apply", "x.patch"], cwd=root, check=True)
        yield f"{name} as a patch", breaks.read(path) == text
        write(root, FILE, SOURCE)


def added(root):
    """Whether changes become the breaks that they should."""
    for old, new, wanted in CHANGES:
        found = [tuple(" ".join(side) for side in piece) for piece in breaks.pieces_of(old.split(), new.split())]
        yield f"{old} -> {new}: wanted {wanted}, got {found}", found == wanted
    each = breaks.find("a_is_gone", root)
    breaks.write(os.path.join(root, "runtime_core.breaks"), LIST[LIST.index("== g"):])
    write(root, FILE, BROKEN["a_is_gone"])
    with contextlib.redirect_stdout(io.StringIO()):
        breaks.add(each.name, each.test, each.breaks, [], root, root)
    write(root, FILE, SOURCE)
    yield "added to its place", list(breaks.problems(root, root)) == [] and len(breaks.load(root)) == 2
    breaks.make(breaks.find("a_is_gone", root), root)
    yield "added is what was changed", breaks.read(os.path.join(root, FILE)) == BROKEN["a_is_gone"]


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as root:
        for path, text in ((FILE, SOURCE), ("runtime/x.cc", SOURCE), ("runtime_core.breaks", LIST)):
            write(root, path, text)
        subprocess.run("git init -q && git add runtime", cwd=root, shell=True, check=True)
        for part in (faults, made, added):
            for text, good in part(root):
                passed, failed = passed + good, failed + (not good)
                if not good:
                    print(f"FAILED: {text}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

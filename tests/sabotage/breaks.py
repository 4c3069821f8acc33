#!/usr/bin/env python3
"""The deliberate breaks of tests/sabotage/*.breaks: lists them, checks that they fit the tree, makes them and takes
them back. README.md beside this program tells what a list looks like.

usage: breaks.py list                  name, program, filter and digest of each break, by tabs, in the programs' order
       breaks.py check [ROOT]          exit 0: each break fits ROOT's files; 1: one line per problem
       breaks.py apply NAME [ROOT]     makes the break in ROOT's files (default: the tree around this program)
       breaks.py revert NAME [ROOT]    takes it back, to the byte
       breaks.py show NAME [ROOT]      the break as a patch
       breaks.py add NAME --test "PROGRAM FILTER" --breaks "TEXT" [--files FILE...]
                                       what `git diff` shows (of these files) becomes a break
"""

import argparse
import difflib
import glob
import hashlib
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The folders that have a list: that of runtime/core is runtime_core.breaks. A break lies in the list of the innermost
# folder around its first file, and in tools.breaks where there is none.
ROOMS = """exporter graph graph/passes quantize runtime runtime/backend/vulkan runtime/backend/vulkan/shaders
    runtime/core runtime/exec runtime/kernels runtime/kernels/reference runtime/ops runtime/program tools trainer
    trainer/autograd trainer/capture trainer/distributed trainer/loop trainer/nn trainer/tensor""".split()
NAME = re.compile(r"[a-z0-9_]+")
TEST = re.compile(r"(test_[a-z_0-9]+|tests/[a-z_0-9/]+\.sh) (\S.*)")
START, MIDDLE, END = MARKS = "<<<<", "====", ">>>>"
# A line with nothing but a comment; '#' starts one in Python and CMake, not in what the preprocessor reads.
COMMENT = re.compile(r"\s*(//|/\*|\*/|\*\s|\*$|#(?!\s*(include|define|undef|if|el|endif|pragma|version|extension)))")
REACH = 12  # so many lines above and below a change may be needed to tell where it is


class Wrong(Exception):
    """What is wrong, as a text for whoever wrote it."""


class Break:
    """One break. files: [(path, [(old lines, new lines)])], in the order of its list."""

    def __init__(self, name, test="", breaks="", files=None):
        self.name, self.test, self.breaks, self.files = name, test, breaks, files or []

    def room(self):
        around = [room for room in ROOMS if self.files[0][0].startswith(room + "/")]
        return max(around, key=len, default="tools").replace("/", "_")

    def text(self):
        lines = [f"== {self.name}", f"Test: {self.test}", f"Breaks: {self.breaks}"]
        for path, pieces in self.files:
            lines.append(f"-- {path}")
            for old, new in pieces:
                lines += [START, *old, MIDDLE, *new, END]
        return "\n".join(lines) + "\n"

    def digest(self):
        """It changes with the code and the test of the break, and not with the words about it."""
        return hashlib.sha256(repr((self.test, self.files)).encode(errors="surrogateescape")).hexdigest()


# Bytes that are no UTF-8, and ends of lines of any kind, are kept as they are.
def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
        f.write(text)


def parse(path):
    """The breaks of a list; a line that cannot stand where it stands is an error."""
    found, side = [], None  # side: 0 in the old text of a piece, 1 in the new one
    for number, line in enumerate(read(path).split("\n"), 1):
        files = found[-1].files if found else None
        if (side, line) in ((0, MIDDLE), (1, END)):
            side = 1 if side == 0 else None
        elif side is not None and line not in MARKS:
            files[-1][1][-1][side].append(line)
        elif side is None and line == START and files:
            files[-1][1].append(([], []))
            side = 0
        elif side is None and line.startswith("-- ") and found:
            files.append((line[3:], []))
        elif side is None and line.startswith("== "):
            found.append(Break(line[3:]))
        elif side is None and line.startswith("Test: ") and found and not files:
            found[-1].test = line[6:]
        elif side is None and line.startswith("Breaks: ") and found and not files:
            found[-1].breaks = line[8:]
        elif side is not None or line:
            raise Wrong(f"{os.path.basename(path)}:{number}: a break has no such line here: {line}")
    if side is not None:
        raise Wrong(f"{os.path.basename(path)}: its last piece has no end")
    return found


def lists(folder):
    return sorted(glob.glob(os.path.join(folder, "*.breaks")))


def load(folder=HERE):
    return [each for path in lists(folder) for each in parse(path)]


def find(name, folder=HERE):
    found = [each for each in load(folder) if each.name == name]
    if len(found) != 1:
        raise Wrong(f"{len(found)} breaks are called {name}")
    return found[0]


def places(lines, part):
    """Where `part` stands in `lines`."""
    return [i for i in range(len(lines) - len(part) + 1) if part and lines[i:i + len(part)] == part]


def replaced(lines, pieces):
    """`lines` with the new text of each piece in place of its old one, which must stand there once."""
    found = []
    for old, new in pieces:
        at = places(lines, old)
        if len(at) != 1:
            line = next((line for line in old if line not in lines), (old or [""])[0])
            raise Wrong(f"the text stands there {len(at)} times, not once: {line.strip()}")
        found.append((at[0], old, new))
    found.sort(key=lambda piece: piece[0])
    if any(at + len(old) > after[0] for (at, old, _), after in zip(found, found[1:])):
        raise Wrong("two pieces have a line in common")
    out = list(lines)
    for at, old, new in reversed(found):
        out[at:at + len(old)] = new
    return out


def turned(pieces):
    return [(new, old) for old, new in pieces]


def changes(each, root, back=False):
    """(path, lines before, lines after) of each file of a break below root; back: of taking it back."""
    for path, pieces in each.files:
        try:
            lines = read(os.path.join(root, path)).split("\n")
            yield path, lines, replaced(lines, turned(pieces) if back else pieces)
        except OSError as e:
            raise Wrong(f"{path}: {e.strerror.lower()}") from None
        except Wrong as e:
            raise Wrong(f"{path}: {e}") from None


def make(each, root, back=False):
    """Makes a break below root, or takes it back: in all of its files or in none."""
    for path, _, lines in list(changes(each, root, back)):
        write(os.path.join(root, path), "\n".join(lines))


def refusals(each, room, root):
    """What is wrong with one break of the list of a room."""
    if not NAME.fullmatch(each.name):
        yield "a name is of a-z, 0-9 and _"
    if not TEST.fullmatch(each.test):
        yield "no line 'Test: PROGRAM FILTER'"
    if not each.breaks:
        yield "no line 'Breaks: TEXT'"
    if not all(pieces for _, pieces in each.files) or not each.files:
        yield "no piece of text to change"
    elif each.room() != room:
        yield f"it belongs to {each.room()}.breaks"
    if len(dict(each.files)) < len(each.files):
        yield "a file is named twice"
    try:
        for (path, pieces), (_, _, after) in zip(each.files, changes(each, root)):
            if any(old == new for old, new in pieces):
                yield f"{path}: a piece changes nothing"
            try:
                replaced(after, turned(pieces))
            except Wrong as e:
                yield f"{path}: cannot be taken back: {e}"
    except Wrong as e:
        yield str(e)


def problems(root, folder=HERE):
    """What is wrong with the lists of a folder, over the files below root."""
    names = {}
    for path in lists(folder):
        file = os.path.basename(path)
        try:
            found = parse(path)
        except Wrong as e:
            yield str(e)
            continue
        if not found:
            yield f"{file}: it has no break"
        for each, after in zip(found, found[1:]):
            if each.name > after.name:
                yield f"{file}: {after.name} stands behind {each.name}: the breaks of a list are sorted"
        for each in found:
            if each.name in names:
                yield f"{file}: {each.name}: {names[each.name]} has one of that name"
            names.setdefault(each.name, file)
            yield from (f"{file}: {each.name}: {why}" for why in refusals(each, file.removesuffix(".breaks"), root))
    if not lists(folder):
        yield "there are no lists of breaks"


def patch(each, root):
    """The break as a patch that `git apply` takes."""
    out = f"Test: {each.test}\nBreaks: {each.breaks}\n\n"
    for path, before, after in changes(each, root):
        # The last of the lines is what stands behind the last newline.
        sides = [[f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1]) for lines in (before, after)]
        out += f"diff --git a/{path} b/{path}\n"
        for line in difflib.unified_diff(*sides, f"a/{path}", f"b/{path}"):
            out += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    return out


def spans(old, new):
    """(first, behind the last) in old and in new of each change between two lists of lines."""
    head = len(os.path.commonprefix([old, new]))
    tail = len(os.path.commonprefix([old[head:][::-1], new[head:][::-1]]))
    middle = difflib.SequenceMatcher(None, old[head:len(old) - tail], new[head:len(new) - tail], autojunk=False)
    return [tuple(head + at for at in code[1:]) for code in middle.get_opcodes() if code[0] != "equal"]


def weight(line):
    """How much a line costs that is taken beside a change: it should stand out, and stay as it is."""
    return 8 if COMMENT.match(line) else 3 if not line or "//" in line else 2


def grown(old, new, found, k):
    """The k-th change with the cheapest lines beside it that make its old and its new text unique, or None."""
    i, i_end, j, j_end = found[k]
    above = min(REACH, i - (found[k - 1][1] if k else 0))
    below = min(REACH, (found[k + 1][0] if k + 1 < len(found) else len(old)) - i_end)
    beside = [(sum(map(weight, old[i - up:i] + old[i_end:i_end + down])), down, up)
              for up in range(above + 1) for down in range(below + 1)]
    for _, down, up in sorted(beside):
        span = i - up, i_end + down, j - up, j_end + down
        if len(places(old, old[span[0]:span[1]])) == 1 and len(places(new, new[span[2]:span[3]])) == 1:
            return span
    return None


def joined(found, k):
    """The changes with the k-th and the one behind it as one."""
    first, second = found[k:k + 2]
    return found[:k] + [(first[0], second[1], first[2], second[3])] + found[k + 2:]


def better_joined(old, new, found, k):
    """Whether the k-th change and the one behind it need fewer lines as one piece, or are in each other's way."""
    one, first, second = (grown(old, new, *at) for at in ((joined(found, k), k), (found, k), (found, k + 1)))
    if first is None or second is None or first[1] > second[0]:
        return True

    def cost(span):
        return span[1] - span[0] + span[3] - span[2] + len(MARKS)
    return one is not None and cost(one) <= cost(first) + cost(second)


def pieces_of(old, new):
    """The smallest pieces that make the lines `new` of the lines `old`, and the other way round."""
    found, k = spans(old, new), 0
    while k + 1 < len(found):
        if better_joined(old, new, found, k):
            found, k = joined(found, k), max(k - 1, 0)
        else:
            k += 1
    pieces = []
    for k, change in enumerate(found):
        span = grown(old, new, found, k)
        if span is None:
            raise Wrong(f"line {change[0] + 1}: too many places look like it")
        pieces.append((old[span[0]:span[1]], new[span[2]:span[3]]))
    if any(line in MARKS for piece in pieces for side in piece for line in side):
        raise Wrong("a line of it looks like a mark of the list")
    return pieces


def break_of(name, test, breaks, files):
    """A break out of (path, old text, new text) of each file."""
    each = Break(name, test, breaks)
    for path, old, new in files:
        try:
            each.files.append((path, pieces_of(old.split("\n"), new.split("\n"))))
        except Wrong as e:
            raise Wrong(f"{path}: {e}") from None
    return each


def git(root, *words):
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, check=False)
    if done.returncode:
        raise Wrong(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode("utf-8", "surrogateescape")


def changed_files(root, only):
    """(path, old text, new text) of what differs from git's index; new lists of breaks do not count."""
    words = git(root, "diff", "--name-status", "--no-renames", "--relative", "-z", "--", *only).split("\0")
    for state, path in zip(words[::2], words[1::2]):
        if path.startswith("tests/sabotage/"):
            continue
        if state != "M":
            raise Wrong(f"{path}: a break changes the text of files that are there")
        yield path, git(root, "show", f":./{path}"), read(os.path.join(root, path))


def keep(each, folder=HERE):
    """Puts a break in its place in the list of its room; the path of the list."""
    path = os.path.join(folder, each.room() + ".breaks")
    found = parse(path) if os.path.exists(path) else []
    write(path, "\n".join(one.text() for one in sorted(found + [each], key=lambda one: one.name)))
    return path


def add(name, test, breaks, only, root=ROOT, folder=HERE):
    if not NAME.fullmatch(name):
        raise Wrong(f"{name}: a name is of a-z, 0-9 and _")
    if any(each.name == name for each in load(folder)):
        raise Wrong(f"there is a break of the name {name}")
    if not TEST.fullmatch(test) or not breaks or "\n" in breaks:
        raise Wrong("--test names a program and a filter, --breaks says in one line what is broken")
    each = break_of(name, test, breaks, changed_files(root, map(os.path.abspath, only)))
    if not each.files:
        raise Wrong("git diff shows no change")
    print(f"{os.path.relpath(keep(each, folder))}: {name}")


def show_list():
    for each in sorted(load(), key=lambda each: (each.test.split(" ")[0], each.name)):
        if not TEST.fullmatch(each.test):
            raise Wrong(f"{each.name}: no line 'Test: PROGRAM FILTER'")
        print(each.name, *TEST.fullmatch(each.test).groups(), each.digest(), sep="\t")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    for name in ("check", "apply", "revert", "show"):
        command = commands.add_parser(name)
        if name != "check":
            command.add_argument("name")
        command.add_argument("root", nargs="?", default=ROOT)
    command = commands.add_parser("add")
    command.add_argument("name")
    command.add_argument("--test", required=True)
    command.add_argument("--breaks", required=True)
    command.add_argument("--files", nargs="+", default=[])
    return parser.parse_args()


def main():
    given = arguments()
    try:
        if given.command == "list":
            show_list()
        elif given.command == "check":
            found = list(problems(given.root))
            print("".join(f"{each}\n" for each in found), end="")
            return 1 if found else 0
        elif given.command == "show":
            print(patch(find(given.name), given.root), end="")
        elif given.command == "add":
            add(given.name, given.test, given.breaks, given.files)
        else:
            make(find(given.name), given.root, back=given.command == "revert")
    except Wrong as e:
        print(f"breaks.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Wrong uses of the command line: each is answered by the message and the exit code of wrong_uses.txt, and by the same
message as an object under --json.

usage: wrong_uses.py WICK [--write] [--only TEXT] [--table FILE]

Every case runs in a folder of a few small files. A message must name something of what was typed. --write records what
the program answers now: read the difference before it is committed. Last line: "N passed, N failed".
"""

import argparse
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)


def npy(path, dtype, shape, item):
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    count = 1
    for size in shape:
        count *= size
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + item * count)


def text(path, content):
    with open(path, "w", encoding="utf-8") as f:
        f.write(content)


# A graph of ONNX with two outputs and a node of two weights, as bytes of its messages.
def field(number, content):
    """A field of a length: bytes, or the text or messages that they are made of."""
    data = content if isinstance(content, bytes) else content.encode()
    size, length = len(data), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def number(field_number, value):
    return bytes([field_number << 3, value])


def value(name, sizes):
    dims = b"".join(field(1, number(1, size)) for size in sizes)
    return field(1, name) + field(2, field(1, number(1, 1) + field(2, dims)))


def weight(name, sizes):
    count = 1
    for size in sizes:
        count *= size
    return b"".join(number(1, s) for s in sizes) + number(2, 1) + field(8, name) + field(9, struct.pack("<f", 0.5) * count)


def node(op, name, inputs, output):
    return b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, op)


def two_outputs(path):
    graph = field(1, node("Gemm", "first", ["x", "w", "b"], "y")) + field(1, node("Relu", "second", ["y"], "z"))
    graph += field(2, "two") + field(5, weight("w", [8, 4])) + field(5, weight("b", [4]))
    graph += field(11, value("x", [2, 8])) + field(12, value("y", [2, 4])) + field(12, value("z", [2, 4]))
    with open(path, "wb") as f:
        f.write(number(1, 8) + field(7, graph) + field(8, number(2, 17)))


def make_files(work, wick, env):
    two_outputs(f"{work}/m.onnx")
    two_outputs(f"{work}/two.onnx")
    shutil.copy(f"{TESTS}/fuzz/corpus/onnx/slice.onnx", f"{work}/other.onnx")
    subprocess.run([wick, "convert", "m.onnx", "-o", "m.wick"], cwd=work, env=env, check=True, stdout=subprocess.DEVNULL)
    with open(f"{work}/m.wick", "rb") as whole, open(f"{work}/cut.wick", "wb") as cut:
        cut.write(whole.read()[:200])
    npy(f"{work}/x.npy", "<f4", [2, 8], struct.pack("<f", 0.25))
    npy(f"{work}/shape.npy", "<f4", [2, 7], struct.pack("<f", 0.25))
    npy(f"{work}/int.npy", "<i4", [2, 8], struct.pack("<i", 1))
    text(f"{work}/empty.onnx", "")
    text(f"{work}/text.onnx", "text\n")
    text(f"{work}/text.npy", "text, no array\n")
    text(f"{work}/words.json", '["a", "b"]\n')
    os.makedirs(f"{work}/folder")
    os.makedirs(f"{work}/folder.wick")


def environment(work):
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH", "TMPDIR")}
    env.update(HOME=work, LC_ALL="C.UTF-8", WICK_SHARED=f"{work}/none", VK_DRIVER_FILES="/nonexistent",
               VK_ICD_FILENAMES="/nonexistent", ASAN_OPTIONS="detect_leaks=0")
    return env


class Case:
    def __init__(self, line):
        self.line, self.code, self.err = line, None, []
        words = shlex.split(line)
        self.stdin = None
        if "<" in words:
            self.stdin = words[words.index("<") + 1]
            words = words[:words.index("<")]
        self.words = words[1:]

    def text(self):
        lines = [f"$ {self.line}"]
        if self.code is not None:
            lines += [f"exit {self.code}"] + [f"> {line}".rstrip() for line in self.err]
        return "\n".join(lines)


def parse(path):
    """The cases, and the lines before the first."""
    head, cases = [], []
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("$ "):
                cases.append(Case(line[2:]))
            elif not cases:
                head.append(line)
            elif line.startswith("exit "):
                cases[-1].code = int(line[5:])
            elif line.startswith(">"):
                cases[-1].err.append(line[2:])
            elif line.strip():
                sys.exit(f"{path}: '{line}' is no part of a case")
    return head, cases


class Runs:
    def __init__(self, wick, work):
        self.wick, self.work, self.env = wick, work, environment(work)
        make_files(work, wick, self.env)

    def run(self, words, stdin):
        """Exit code, stdout and the lines of stderr, the same wherever the folders are."""
        with open(f"{self.work}/{stdin}" if stdin else os.devnull, "rb") as given:
            done = subprocess.run([self.wick, *words], cwd=self.work, env=self.env, stdin=given, capture_output=True,
                                  timeout=120, check=False)
        err = done.stderr.decode(errors="replace").replace(self.work, "WORK")
        return done.returncode, done.stdout.decode(errors="replace"), re.sub(r"/tmp/wick-\w+", "SCRATCH", err).splitlines()

    def has_json(self, command):
        _, out, _ = self.run([command, "--help"], None)
        return re.search(r"^  --json +", out, re.M) is not None and "--json TEXT" not in out


def problems_of(runs, case, code, out, err, flags):
    found = []
    if out and case.words[0] != "verify":  # which prints its rows until then
        found.append(f"stdout is not empty: {out[:80]!r}")
    if code not in (1, 2):
        found.append(f"the exit code is {code}")
    said = " ".join(err)
    typed = [part for word in case.words for part in re.split("[=,]", word) if len(part) > 1 or part == "-"]
    missing = ["required", "standard input"]  # what was not typed is named by itself
    command = case.words[0] if case.words else ""
    alone = len(case.words) == 1 and command in flags
    if typed and not alone and not any(part in said for part in typed + missing):
        found.append("the message names nothing of what was typed")
    # A file on standard output leaves no place for a document.
    if command not in flags or "--" in case.words or any(w.startswith("-.") for w in case.words):
        return found
    json_code, json_out, _ = runs.run([*case.words, "--json"], case.stdin)
    try:
        doc = json.loads(json_out)
    except ValueError:
        return found + [f"--json: stdout is no document: {json_out[:80]!r}"]
    if not isinstance(doc, dict) or sorted(doc) != ["command", "error", "hint", "where"] and "verdict" not in doc:
        found.append(f"--json: the document is {json_out[:120]!r}")
    elif "verdict" in doc:
        pass
    elif json_code != code or doc["command"] != command or not doc["error"] or (case.words[1:] and not doc["where"]):
        found.append(f"--json: exit code {json_code}, {doc}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wick")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", default=f"{HERE}/wrong_uses.txt")
    options = parser.parse_args()
    head, cases = parse(options.table)
    work = os.path.realpath(tempfile.mkdtemp(prefix="wrong_uses_"))
    failed = 0
    try:
        runs = Runs(os.path.abspath(options.wick), work)
        known = {case.words[0] for case in cases if case.words}
        flags = {command for command in known if not command.startswith("-") and runs.has_json(command)}
        chosen = [case for case in cases if options.only in case.line]
        for case in chosen:
            code, out, err = runs.run(case.words, case.stdin)
            problems = problems_of(runs, case, code, out, err, flags)
            if options.write:
                case.code, case.err = code, err
            elif (code, err) != (case.code, case.err):
                problems.append(f"expected exit {case.code} and\n" + "\n".join(f"    {line}" for line in case.err))
            if problems:
                failed += 1
                print(f"$ {case.line}\n  exit {code}\n" + "\n".join(f"    {line}" for line in err))
                print("\n".join(f"  {p}" for p in problems))
        if options.write:
            text(options.table, "\n".join(head).rstrip() + "\n\n" + "\n\n".join(c.text() for c in cases) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

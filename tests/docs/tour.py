#!/usr/bin/env python3
"""Does what docs/recipes/tour.md tells under "Break a kernel and see it", beside the build instead of in the tree: the
page's break is made in a copy of its one file, that file compiled and the page's program linked again by the build's
own commands. The page's test must be green before and red after, with the numbers that changed.

usage: tour.py BUILD_FOLDER
"""

import filecmp
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "tools/scripts"), os.path.join(ROOT, "tests/sabotage")]
import breaks  # noqa: E402
from compile_commands import entries_of  # noqa: E402


def steps():
    """Break, target, program and test filter of the page's block."""
    with open(os.path.join(ROOT, "docs/recipes/tour.md"), encoding="utf-8") as f:
        block = re.search(r"## Break a kernel and see it.*?```\n(.*?)```", f.read(), re.S).group(1)
    name = re.search(r"^tests/sabotage/breaks.py apply (\w+)$", block, re.M).group(1)
    target = re.search(r"^ninja -C build/release (\S+)$", block, re.M).group(1)
    program, test = re.search(r"^build/release/(\S+) --gtest_filter='([^']+)'$", block, re.M).groups()
    assert f"tests/sabotage/breaks.py revert {name}\n" in block and os.path.basename(program) == target, block
    return breaks.find(name), target, program, test


def run(program, test):
    return subprocess.run([program, f"--gtest_filter={test}"], capture_output=True, text=True, check=False)


def main():
    build = os.path.realpath(sys.argv[1])
    mistake, target, program, test = steps()
    (source, _), = mistake.files
    passed = failed = 0

    def check(text, good, shown=""):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print(f"FAILED: {text}\n{shown[-2000:]}")

    green = run(os.path.join(build, program), test)
    check("green before the break", green.returncode == 0 and "[  PASSED  ] 0" not in green.stdout, green.stdout)
    with tempfile.TemporaryDirectory() as work:
        copy = os.path.join(work, source)
        os.makedirs(os.path.dirname(copy))
        shutil.copyfile(os.path.join(ROOT, source), copy)
        breaks.make(mistake, work)
        entry = next(e for e in entries_of(build) if os.path.realpath(e["file"]) == os.path.join(ROOT, source))
        words, objects = shlex.split(entry["command"]), os.path.join(work, "broken.o")
        words[words.index("-o") + 1], words[words.index("-c") + 1] = objects, copy
        subprocess.run(words, check=True, cwd=entry["directory"])
        # The library's own object is not asked for what this one has.
        link = subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True, capture_output=True,
                              text=True).stdout.strip().split("\n")[-1]
        link = re.search(r"&& (.*? -o \S+.*?) && ", link).group(1)
        red_program = os.path.join(work, target)
        link = re.sub(r" -o (\S+)", f" {objects} -o {red_program}", link, count=1)
        subprocess.run(link, shell=True, check=True, cwd=build)
        red = run(red_program, test)
        breaks.make(mistake, work, back=True)
        check("the file is as it was", filecmp.cmp(os.path.join(ROOT, source), copy, shallow=False))
    check("red after it", red.returncode == 1 and "[  FAILED  ]" in red.stdout, red.stdout + red.stderr)
    said = re.findall(r"^(.* evaluates to -?\d\S*),", red.stdout, re.M)
    check("two numbers that differ", len({line.split()[-1] for line in said}) > 1, red.stdout)
    print("\n".join(said[:4]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

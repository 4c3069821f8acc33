#!/usr/bin/env python3
"""Does what docs/recipes/tour.md tells under "Patch a kernel and see it", beside the build instead of in the tree: the
page's patch is applied to a copy of its one file, that file compiled and the page's program linked again by the build's
own commands. The page's test must be green before and red after, with the numbers that changed.

usage: tour.py BUILD_FOLDER
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tools/scripts"))
from compile_commands import entries_of  # noqa: E402


def steps():
    """Patch, target and test filter of the page's block."""
    with open(os.path.join(ROOT, "docs/recipes/tour.md"), encoding="utf-8") as f:
        block = re.search(r"## Patch a kernel and see it.*?```\n(.*?)```", f.read(), re.S).group(1)
    patch = re.search(r"^git apply (\S+)$", block, re.M).group(1)
    target = re.search(r"^ninja -C build/release (\S+)$", block, re.M).group(1)
    program, test = re.search(r"^build/release/(\S+) --gtest_filter='([^']+)'$", block, re.M).groups()
    assert f"git apply -R {patch}" in block and os.path.basename(program) == target, block
    return patch, target, program, test


def run(program, test):
    return subprocess.run([program, f"--gtest_filter={test}"], capture_output=True, text=True, check=False)


def main():
    build = os.path.realpath(sys.argv[1])
    patch, target, program, test = steps()
    with open(os.path.join(ROOT, patch), encoding="utf-8") as f:
        source = re.search(r"^--- a/(\S+)$", f.read(), re.M).group(1)
    passed = failed = 0

    def check(text, good, shown=""):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print(f"FAILED: {text}\n{shown[-2000:]}")

    green = run(os.path.join(build, program), test)
    check("green before the patch", green.returncode == 0 and "[  PASSED  ] 0" not in green.stdout, green.stdout)
    with tempfile.TemporaryDirectory() as work:
        copy = os.path.join(work, source)
        os.makedirs(os.path.dirname(copy))
        with open(os.path.join(ROOT, source), encoding="utf-8") as f, open(copy, "w", encoding="utf-8") as g:
            g.write(f.read())
        subprocess.run(["git", "apply", "--unsafe-paths", f"--directory={work}", os.path.join(ROOT, patch)],
                       check=True, cwd="/")
        entry = next(e for e in entries_of(build) if os.path.realpath(e["file"]) == os.path.join(ROOT, source))
        words, objects = shlex.split(entry["command"]), os.path.join(work, "patched.o")
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
    check("red after it", red.returncode == 1 and "[  FAILED  ]" in red.stdout, red.stdout + red.stderr)
    said = re.findall(r"^(.* evaluates to -?\d\S*),", red.stdout, re.M)
    check("two numbers that differ", len({line.split()[-1] for line in said}) > 1, red.stdout)
    print("\n".join(said[:4]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Plants one fault at a time in a copy of the pages and requires check_docs.py to name it; the copy
without a fault must pass."""

import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(ROOT, "tools", "scripts", "check_docs.py")

# file, what is replaced (its first occurrence), by what, what the check must say
FAULTS = [
    ("docs/inside/session.md", "`runtime/plan/verify.cc`", "`runtime/plan/verifier.cc`", "does not exist"),
    ("docs/inside/session.md", "](vulkan.md)", "](opengl.md)", "no such file"),
    ("docs/testing.md", "`make test-full`", "`make test-half`", "is not a target"),
    ("docs/use/exporter.md", "`Paths.GiveTheTrainersBits`", "`Paths.GiveOtherBits`", "no test"),
    ("docs/use/tools.md", "**bench**", "**benchmark**", "no command **bench**"),
    ("docs/use/tools.md", "`--save-every`", "`--save`", "no option --save-every"),
    ("docs/features.md", "| K11 |", "| K12 |", "row K11 is missing"),
    ("docs/features.md", "| S02 |", "| S01 |", "row S01 twice"),
    ("docs/features.md", "| works |", "| done |", "is none of"),
    ("docs/features.md", ": Tensor.ViewsShareBytes", ": Tensor.ViewsCopy", "no test `Tensor.ViewsCopy`"),
    ("docs/features.md", ": round_half_away", ": round_half_up", "no test `round_half_up`"),
    ("docs/features.md", " in part,", "1 in part,", "the count should read"),
    ("docs/README.md", "](use/qat.md)", "](use/quantize.md)", "no link to docs/use/qat.md"),
    ("docs/use/trainer.md", "# Trainer", "# Trainer, T06", "row id T06"),
    ("README.md", "#include <cstdio>", "#include <cstdlib>", "is not that file"),
    ("runtime/include/wick/wick.h", " *   float image[784]", " *   float image[28]", "has a line that"),
]


def run(root):
    done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as root:
        for name in os.listdir(ROOT):
            if name in (".git", "build", "docs", "runtime", "README.md"):
                continue
            os.symlink(os.path.join(ROOT, name), os.path.join(root, name))
        for name in ("docs", "runtime"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(root, name))
        shutil.copy(os.path.join(ROOT, "README.md"), root)
        code, text = run(root)
        passed, failed = (1, 0) if code == 0 else (0, 1)
        if code != 0:
            print(f"the pages as they are:\n{text}")
        for page, old, new, says in FAULTS:
            path = os.path.join(root, page)
            with open(path, encoding="utf-8") as f:
                whole = f.read()
            with open(path, "w", encoding="utf-8") as f:
                f.write(whole.replace(old, new, 1))
            code, text = run(root)
            with open(path, "w", encoding="utf-8") as f:
                f.write(whole)
            good = old in whole and code == 1 and says in text
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"{page}: {old} -> {new}: exit {code}, wanted '{says}':\n{text}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

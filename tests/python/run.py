#!/usr/bin/env python3
"""Runs the tests of the Python package: run.py [--with MODULE] [TEST...], by unittest, as pytest would.

TEST is a name as unittest takes it (test_inputs, test_inputs.Lifetime); without any, every file but test_beside_*.
Taken is the Python that the tests' ONNX Runtime is installed for (tools/scripts/setup_ort.sh, or WICK_ORT_VENV), for mypy
that of tools/scripts/setup_mypy.sh, for torch one that has it, else this one. Exit 77 with a line "SKIP: reason" where it has no numpy, no MODULE, or the build no shared library.
"""

import argparse
import collections
import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ORT = os.environ.get("WICK_ORT_VENV", os.path.join(ROOT, "build", "ort", "venv"))
MYPY = os.path.join(ROOT, "build", "mypy", "venv")
REASONS = {"onnxruntime": "onnxruntime not installed", "mypy": "mypy not installed", "torch": "no Python with torch", "numpy": "no Python with numpy"}


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def with_torch():
    """Returns a Python that has torch; "": none of those that the system's path has, and that are installed beside it."""
    for python in (sys.executable, os.path.join(ORT, "bin", "python"), "python3", "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import numpy, torch"], capture_output=True, check=False).returncode == 0:
                return shutil.which(python)
        except OSError:
            pass
    return ""


class Result(unittest.TextTestResult):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.good = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.good += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--with", dest="module")
    parser.add_argument("--here", action="store_true", help="do not look for another Python")
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    python = os.path.join(MYPY if given.module == "mypy" else ORT, "bin", "python")
    if given.module == "torch":
        python = with_torch()
    if not given.here and os.path.exists(python):
        os.execv(python, [python, os.path.abspath(__file__), "--here", *sys.argv[1:]])
    for module in filter(None, ("numpy", given.module)):
        if importlib.util.find_spec(module) is None:
            skip(REASONS[module])
    sys.path.insert(0, HERE)
    import support  # noqa: F401: finds the build

    if not os.path.exists(os.environ.get("WICK_LIBRARY", "")):
        skip("this build has no shared runtime library")
    names = given.tests or sorted(
        os.path.basename(f)[:-3] for f in glob.glob(os.path.join(HERE, "test_*.py")) if "beside" not in f
    )
    suite, skipped = unittest.TestSuite(), []
    for name in names:
        try:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromName(name))
        except unittest.SkipTest as why:  # a whole file
            skipped.append(f"{why} ({name})")
    result = unittest.TextTestRunner(resultclass=Result, verbosity=0).run(suite)
    sys.stderr.flush()
    skipped += [why for _, why in result.skipped]
    for reason, count in sorted(collections.Counter(skipped).items()):
        print(f"COUNT: Python: {count} not looked at: {reason}")
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.good} passed, {failed} failed")
    return 0 if result.good and not failed else 1


if __name__ == "__main__":
    sys.exit(main())

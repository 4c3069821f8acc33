"""Scripts of the kind that PyTorch teaches, with their import lines changed and nothing else (scripts/*.py; a comment has each
line as it was). Each checks its own result."""

import glob
import os
import runpy
import sys
from unittest import mock

import support
from support import Case, each, spread

support.train()
SCRIPTS = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts", "*.py")))


@spread
class Scripts(Case):
    @each(*((os.path.basename(p)[:-3], p) for p in SCRIPTS))
    def test_script(self, path):
        with mock.patch.object(sys, "argv", [path, self.folder()]), open(os.devnull, "w", encoding="utf-8") as nowhere:
            with mock.patch.object(sys, "stdout", nowhere):
                runpy.run_path(path, run_name="__main__")

    def test_there_are_some(self):
        self.assertGreaterEqual(len(SCRIPTS), 5)


if __name__ == "__main__":
    support.unittest.main()

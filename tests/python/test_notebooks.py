"""The notebooks of docs/notebooks, cell by cell; what a cell ends with must show itself."""

import ast
import contextlib
import glob
import io
import json
import os
import shutil

import support
from support import ROOT, Case, each, needs_program, spread

support.train()
NOTEBOOKS = sorted(glob.glob(os.path.join(ROOT, "docs", "notebooks", "*.ipynb")))


@needs_program
@spread
class Notebooks(Case):
    @each(*((os.path.basename(p)[:-6], p) for p in NOTEBOOKS))
    def test_notebook(self, path):
        with open(path, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        names, shown = {"__name__": "__main__"}, 0
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                for cell in cells:
                    self.assertEqual(cell.get("outputs", []), [], "notebooks are kept without outputs")
                    if cell["cell_type"] == "code":
                        shown += self.run_cell("".join(cell["source"]), names)
        finally:
            shutil.rmtree(names.get("folder", self.folder()), ignore_errors=True)
        self.assertGreaterEqual(shown, 2)

    def run_cell(self, source, names):
        """Runs a cell; returns whether its last expression has a page."""
        tree = ast.parse(source)
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102: the notebooks are the tree's own
        value = eval(compile(last, "<cell>", "eval"), names) if last else None  # noqa: S307
        page = value._repr_html_() if hasattr(value, "_repr_html_") else None
        if page is not None:
            self.assertIn("<", page)
        return page is not None


if __name__ == "__main__":
    support.unittest.main()

"""wick.train beside torch: each expression of expressions.txt has the same value. Needs torch, as test_beside_torch."""

import unittest

import support
from support import Case

import expressions
import torch
import torch.distributions
import torch.optim.swa_utils
import torch.utils.checkpoint
import torch.utils.data

mine = support.train()


class Expressions(Case):
    def test_each_has_torchs_value(self):
        failed, compared = [], 0
        for line in expressions.lines():
            try:
                want = expressions.evaluate(torch, line)
            except Exception:  # noqa: BLE001: another version of torch
                continue
            compared += 1
            got = expressions.evaluate(mine, line)
            if not expressions.same(got, want):
                failed.append(f"{line}: {str(got)[:200]}, torch has {str(want)[:200]}")
        self.assertEqual("\n".join(failed), "")
        self.assertGreater(compared, 1000)


if __name__ == "__main__":
    unittest.main()

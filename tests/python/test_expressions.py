"""wick.train: what people write with PyTorch, and what is said where it is not there. test_beside_expressions.py compares values."""

import support
from support import Case, each, spread

import expressions
import wick

torch = support.train()


class Expressions(Case):
    def test_each_is_there(self):
        failed = []
        for line in expressions.lines():
            try:
                expressions.evaluate(torch, line)
            except Exception as why:  # noqa: BLE001: whatever it raises
                failed.append(f"{line}: {type(why).__name__}: {why}")
        self.assertEqual("\n".join(failed), "")


@spread
class Instead(Case):
    """Names that are not there say what to write."""

    @each(
        ("jit", lambda: torch.jit.script, r"has no attribute 'jit': torch.export\("),
        ("onnx", lambda: torch.onnx.export, r"\"m.onnx\"\) writes ONNX"),
        ("fft", lambda: torch.fft.rfft, "numpy.fft takes"),
        ("distributed", lambda: torch.distributed, "docs/use/distributed.md"),
        ("compile", lambda: torch.compile, "what is called is what runs"),
        ("other", lambda: torch.nothing_such, "has no attribute 'nothing_such'$"),
    )
    def test_a_name(self, call, text):
        with self.assertRaisesRegex(AttributeError, text):
            call()

    @each(
        ("cuda", lambda: torch.ones(2).cuda(), wick.Unsupported, 'x.to\\("vulkan"\\)'),
        ("module_cuda", lambda: torch.nn.Linear(2, 2).cuda(), wick.Unsupported, "no CUDA here"),
        ("default_dtype", lambda: torch.set_default_dtype(torch.float64), wick.Unsupported, "give dtype="),
        ("divisor", lambda: torch.nn.AvgPool2d(2, divisor_override=3), wick.Unsupported, "multiply the mean"),
        ("option", lambda: torch.optim.SGD([torch.ones(1, requires_grad=True)], faster=True), TypeError, "'faster'"),
        ("lbfgs_group", lambda: lbfgs().add_param_group({"params": torch.ones(1, requires_grad=True)}), wick.Unsupported, "one group"),
        ("rsample", lambda: torch.distributions.Poisson(2.0).rsample(), wick.Unsupported, "use sample"),
        ("entropy", lambda: torch.distributions.StudentT(2.0).entropy(), wick.Unsupported, "no formula of its entropy"),
        ("kl", lambda: torch.distributions.kl_divergence(torch.distributions.Cauchy(0.0, 1.0), torch.distributions.Normal(0.0, 1.0)), wick.Unsupported, "Cauchy to a Normal"),
    )
    def test_a_call(self, call, kind, text):
        with self.assertRaisesRegex(kind, text):
            call()


def lbfgs():
    return torch.optim.LBFGS([torch.ones(1, requires_grad=True)])


class Out(Case):
    """out= and the other keywords that only an overload takes."""

    def test_it_is_written_and_returned(self):
        out, x = torch.zeros(2, 2), torch.ones(2, 2)
        self.assertIs(torch.add(x, x, out=out), out)
        self.assertEqual(out.tolist(), [[2, 2], [2, 2]])
        torch.mul(x[0], 3, out=out[0])  # a view
        self.assertEqual(out.tolist(), [[3, 3], [2, 2]])
        self.assertEqual(torch.exp(x, out=torch.empty(0)).shape, (2, 2))
        self.assertEqual(torch.add(x, x, out=None).tolist(), [[2, 2], [2, 2]])
        wide = torch.add(x, x, out=torch.empty(2, 2, dtype=torch.float64))
        self.assertEqual(wide.dtype, torch.float64)

    def test_what_does_not_fit(self):
        x = torch.ones(2)
        with self.assertRaisesRegex(wick.ShapeMismatch, r"\[add\] out is .*3.*, and the result .*2"):
            torch.add(x, x, out=torch.ones(3))
        with self.assertRaisesRegex(wick.TypeMismatch, "int64, and the result, float32, cannot be cast"):
            torch.add(x, x, out=torch.ones(2, dtype=torch.int64))
        with self.assertRaisesRegex(wick.Unsupported, "records no gradient"):
            torch.add(x.requires_grad_(), 1, out=torch.ones(2))
        with torch.no_grad():
            torch.add(x, 1, out=torch.ones(2))
        with self.assertRaisesRegex(wick.InvalidArgument, "there are 2 results, and out has 1"):
            torch.max(torch.ones(2, 2), 1, out=(torch.ones(2),))
        for wrong in (3, [torch.ones(2)]):
            with self.assertRaisesRegex(wick.TypeMismatch, "out must be a tensor"):
                torch.mul(x.detach(), 1, out=wrong)
        with self.assertRaisesRegex(wick.InvalidArgument, "dim and axis are one argument"):
            torch.ones(2).sum(dim=0, axis=0)
        with self.assertRaisesRegex(TypeError, "out: Any"):
            torch.add("no", out=x.detach())


if __name__ == "__main__":
    support.unittest.main()

"""from_torch: modules of PyTorch's as models. Needs torch; run.py --with torch test_beside_torch finds a Python that has it."""

import os
import types
import unittest
import warnings
from unittest import mock

from support import Case, each, environment, needs_program, spread

import numpy as np
import torch
import wick
from torch import nn

F = nn.functional


class Net(nn.Module):
    """With batch norm and dropout, which eval mode changes."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(1, 6, 5), nn.BatchNorm2d(6), nn.Dropout(0.5)
        self.fc = nn.Linear(6 * 12 * 12, 10)

    def forward(self, image):
        x = F.max_pool2d(torch.relu(self.norm(self.conv(image))), 2)
        return self.fc(self.drop(x).flatten(1))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.mix, self.norm = nn.Embedding(20, 8), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, tokens, mask=None, scale=1.0):
        x = self.norm(self.mix(self.table(tokens)) * scale)
        if mask is not None:
            x = x.masked_fill(mask[..., None], 0.0)
        return {"states": x, "pooled": (x.mean(1), x.argmax(-1))}


def seeded(make):
    torch.manual_seed(1)
    return make()


TOKENS = torch.randint(0, 20, (2, 5), generator=torch.Generator().manual_seed(1))
X = torch.randn(2, 4, generator=torch.Generator().manual_seed(2))


@needs_program
@spread
class FromTorch(Case):
    def quiet(self):
        """Leaves out the tracer's own warnings."""
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore", torch.jit.TracerWarning)

    def test_a_net(self):
        net = seeded(Net)
        net.fc.eval()  # a mode that differs from its parent's
        model = wick.from_torch(net, torch.zeros(1, 1, 28, 28))
        self.assertEqual(str(model), "Model(image: tensor(float)['batch', 1, 28, 28] -> output: tensor(float)['batch', 10])")
        self.assertEqual((net.training, net.norm.training, net.fc.training), (True, True, False))
        x = torch.randn(7, 1, 28, 28)
        with torch.no_grad():
            np.testing.assert_allclose(model(x.numpy()), net.eval()(x).numpy(), atol=1e-5)

    def test_a_file(self):
        net = seeded(Net)
        path = os.path.join(self.folder(), "net.wick")
        wick.from_torch(net, torch.zeros(1, 1, 28, 28), path, outputs=["logits"], inputs=["x"])
        self.assertEqual(wick.load(path)(np.zeros((2, 1, 28, 28), np.float32)).shape, (2, 10))
        self.assertEqual([a.name for a in (*wick.load(path).inputs, *wick.load(path).outputs)], ["x", "logits"])
        with open(path, "rb") as file:
            data = file.read()
        wick.from_torch(net, torch.zeros(1, 1, 28, 28), path, outputs=["logits"], inputs=["x"])
        with open(path, "rb") as file:
            self.assertEqual(file.read(), data)  # nothing in it depends on the run
        self.assertEqual(os.listdir(os.path.dirname(path)), ["net.wick"])

    @each(
        ("one", X, nn.Linear(4, 3)),
        ("tuple", (X, X + 1), lambda a, b: a @ b.T),
        ("function", X, torch.tanh),
        ("dims", X[None], lambda x: (x.sum(0), [x.mean(), x > 0], None)),
        ("float64", X.double(), lambda x: x * 2),
        ("whole", TOKENS, lambda x: x + 1),
        ("script", X, torch.jit.script(nn.Linear(4, 3))),
        ("lstm", torch.randn(3, 2, 4), nn.LSTM(4, 5)),
        ("attention", torch.randn(3, 2, 8), nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), 2).eval()),
        ("bfloat16_in", X.bfloat16(), lambda x: x.float() * 2),
        ("nan", X, lambda x: torch.log(x)),
    )
    def test_kinds(self, sample, module):
        model = wick.from_torch(module, sample, dynamic={})
        given = sample if isinstance(sample, tuple) else (sample,)
        with torch.no_grad():
            wanted = module(*given)

        def leaves(value):
            if isinstance(value, (tuple, list)):
                return [leaf for v in value for leaf in leaves(v)]
            return [] if value is None else [value.numpy()]

        got = model(*(t.view(torch.int16).numpy().view(np.uint16) if t.dtype == torch.bfloat16 else t.numpy() for t in given))
        got = got if isinstance(got, tuple) else (got,)
        self.assertEqual(len(got), len(leaves(wanted)))
        for mine, theirs in zip(got, leaves(wanted)):
            self.assertEqual((mine.dtype, mine.shape), (theirs.dtype, theirs.shape))
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)

    def test_arguments_by_name(self):
        words = seeded(Words).eval()
        mask = torch.tensor([[False] * 5, [False, True, False, True, True]])
        sizes = {0: "batch", 1: ("length", 1, 32)}
        model = wick.from_torch(words, {"tokens": TOKENS, "mask": mask, "scale": 2.0}, dynamic={"tokens": sizes, "mask": sizes})
        self.assertEqual([(a.name, a.shape) for a in model.inputs], [("tokens", ["batch", "length"]), ("mask", ["batch", "length"])])
        self.assertEqual([a.name for a in model.outputs], ["states", "pooled_0", "pooled_1"])
        tokens = torch.randint(0, 20, (3, 9))
        mask = torch.rand(3, 9) < 0.3
        with torch.no_grad():
            want = words(tokens, mask, 2.0)
        states, pooled, best = model(tokens=tokens.numpy(), mask=mask.numpy())
        np.testing.assert_allclose(states, want["states"].numpy(), atol=1e-5)
        np.testing.assert_allclose(pooled, want["pooled"][0].numpy(), atol=1e-5)
        self.assertBits(best, want["pooled"][1].numpy())

    def test_what_is_no_tensor_stays(self):
        words = seeded(Words).eval()
        model = wick.from_torch(words, (TOKENS, None, 0.5))
        self.assertEqual([a.name for a in model.inputs], ["tokens"])
        with torch.no_grad():
            np.testing.assert_allclose(model(TOKENS.numpy())[0], words(TOKENS, None, 0.5)["states"].numpy(), atol=1e-5)

    def test_sizes_that_stay(self):
        model = wick.from_torch(nn.Linear(4, 3), X, dynamic={})
        self.assertEqual(model.inputs[0].shape, [2, 4])

    @each(
        ("a_size_in_a_sum", lambda x: x + float(x.shape[0]), r"output 'output' is not the module's at batch = 3: an element differs"),
        ("a_size_of_a_shape", lambda x: x.new_ones(int(x.shape[0])), r"is not the module's at batch = 3: its shape is \[2\], PyTorch's \[3\]"),
        ("a_size_of_a_product", lambda x: x.reshape(int(x.shape[0]), 2, 2), r"the model fails where the module does not at batch = 3"),
        ("rows", lambda x: x.view(2, 2, 2), "the module takes no other sizes: at .* it raises"),
    )
    def test_what_tracing_got_wrong(self, module, text):
        """The graph has the sample's size as a number, which other sizes bring to light."""
        self.quiet()
        path = os.path.join(self.folder(), "m.wick")
        with open(path, "wb") as file:
            file.write(b"before")
        with self.assertRaisesRegex(wick.Error, rf"\[from_torch\] .*{text}.*; say by dynamic="):
            wick.from_torch(module, X, path)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"before")
        wick.from_torch(module, X, path, dynamic={})  # at the sample's sizes it is right
        self.assertGreater(os.path.getsize(path), 6)

    def test_a_difference_that_zeros_would_hide(self):
        """A module that answers otherwise the second time, as one whose weights change: the sample of zeros is not compared."""

        class Moving(nn.Module):
            def __init__(self):
                super().__init__()
                self.times = 0

            def forward(self, x):
                self.times += 1
                return x * self.times

        with self.assertRaisesRegex(wick.Error, "an element differs"):
            wick.from_torch(Moving(), torch.zeros(2, 4), dynamic={})

    def test_outputs_of_16_bits(self):
        for kind in (torch.float16, torch.bfloat16):
            model = wick.from_torch(seeded(lambda: nn.Linear(4, 3)).to(kind) if kind == torch.bfloat16 else lambda x: x * x, X.to(kind))
            self.assertIn(str(kind).rpartition(".")[2], model.outputs[0].type)

    def test_tolerance(self):
        noisy = lambda x: x + 1e-3 * torch.rand(1)  # noqa: E731
        with self.assertRaisesRegex(wick.Error, "an element differs by .*, allowed is"):
            wick.from_torch(noisy, X, tolerance=1e-9)
        wick.from_torch(noisy, X, tolerance=1.0)

    @each(
        ("no_tensor", X.numpy(), {}, wick.TypeMismatch, "is a ndarray, must be a tensor of PyTorch's"),
        ("nothing", (), {}, wick.InvalidArgument, "the sample has no tensor"),
        ("dynamic", X, {"dynamic": {"y": {0: "n"}}}, wick.InvalidArgument, "dynamic names 'y', which is no input; there are: input"),
        ("dim", X, {"dynamic": {"input": {2: "n"}}}, wick.InvalidArgument, "dim 2 of 'input' may differ, which has 2 dims"),
        ("size", X, {"dynamic": {"input": {0: ("n", 3)}}}, wick.InvalidArgument, "must be a name, or"),
        ("bounds", X, {"dynamic": {"input": {0: ("n", 3, 9)}}}, wick.InvalidArgument, "'n' is one size within its bounds"),
        ("two_sizes", X, {"dynamic": {"input": {0: "n", 1: "n"}}}, wick.InvalidArgument, "'n' is one size"),
        ("inputs", X, {"inputs": ["a", "b"]}, wick.InvalidArgument, "must be 1 names, each once"),
        ("outputs", X, {"outputs": ["a", "a"]}, wick.InvalidArgument, "must be 1 names, each once"),
        ("text", X, {"outputs": "a"}, wick.InvalidArgument, "lists of names"),
        ("ending", X, {"output": "m.onnx"}, wick.InvalidArgument, "must end in .wick"),
        ("numerics", X, {"numerics": "good"}, wick.UsageError, "good"),
    )
    def test_wrong(self, sample, options, kind, text):
        net = nn.Linear(4, 4)
        with self.assertRaisesRegex(kind, text):
            wick.from_torch(net, sample, **options)
        self.assertTrue(net.training)

    def test_no_module(self):
        with self.assertRaisesRegex(wick.TypeMismatch, "module is a dict"):
            wick.from_torch({}, X)
        with self.assertRaisesRegex(wick.TypeMismatch, "the module returns a str"):
            wick.from_torch(lambda x: "no", X)

    def test_errors_of_the_module_are_its_own(self):
        with self.assertRaisesRegex(RuntimeError, "shapes cannot be multiplied"):
            wick.from_torch(nn.Linear(3, 4), X)

    def test_an_op_that_the_exporter_has_not(self):
        with self.assertRaisesRegex(wick.Unsupported, r"\[from_torch\] .*eigvalsh"):
            wick.from_torch(torch.linalg.eigvalsh, X @ X.T)

    @each(("module", nn.Linear(4, 3), lambda rows: rows), ("function", lambda input: input * 2, lambda rows: {"args": rows}))
    def test_the_exporter_of_newer_torch(self, module, shapes):
        """Where tracing fails, torch.export is tried: with sizes above 1, which it would take for constants."""
        real, seen = torch.onnx.export, []

        def export(model, args, f, *, dynamo=True, dynamic_shapes=None, dynamic_axes=None, opset_version=None, **named):
            seen.append(dynamo)
            if not dynamo:
                raise RuntimeError("no tracing")
            self.assertEqual(dynamic_shapes, shapes(({0: ("batch", 1, 1 << 20)},)))
            self.assertEqual((args[0].shape, opset_version), ((2, 4), 18))
            real(model, args, f, opset_version=17, dynamic_axes={"input": {0: "batch"}}, **named)

        dims = types.SimpleNamespace(Dim=lambda name, min, max: (name, min, max))
        with mock.patch.object(torch.onnx, "export", export), mock.patch.object(torch, "export", dims, create=True):
            model = wick.from_torch(module, X[:1])
        self.assertEqual(seen, [False, True])
        with torch.no_grad():
            np.testing.assert_allclose(model(X.numpy()), module(X).numpy(), atol=1e-6)

    def test_no_exporter_does_it(self):
        def export(model, args, f, *, dynamo=True, **named):
            raise RuntimeError("by export: no" if dynamo else "traced: no")

        with mock.patch.object(torch.onnx, "export", export), mock.patch.object(torch, "export", mock.MagicMock(), create=True):
            with self.assertRaisesRegex(wick.Unsupported, "traced: no; .*by export: no"):
                wick.from_torch(nn.Linear(4, 3), X)

    def test_a_package_without_the_command(self):
        with environment(WICK_PROGRAM="/nowhere/wick"), self.assertRaisesRegex(wick.Unsupported, "wick.from_torch needs the program"):
            wick.from_torch(nn.Linear(4, 4), X)


if __name__ == "__main__":
    unittest.main()

"""wick.train: arguments and names that PyTorch's own scripts use, beside numpy or beside the same by other names."""

import os

import support
from support import Case, each, spread

import numpy as np
import wick

torch = support.train()
nn, optim, data, F = torch.nn, torch.optim, torch.utils.data, torch.nn.functional

A = np.random.RandomState(0).randn(2, 3).astype(np.float32)
IMAGE = np.random.RandomState(1).randn(1, 4, 4, 6).astype(np.float32)
X = torch.from_numpy(A)


@spread
class Devices(Case):
    def test_a_program_chooses_one(self):
        device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
        self.assertEqual((device, device.type, str(device)), ("cpu", "cpu", "cpu"))
        self.assertEqual((torch.zeros(2).device, torch.zeros(2).device.type), (device, "cpu"))
        self.assertEqual(torch.cuda.device_count(), 0)
        torch.cuda.manual_seed_all(1)

    def test_no_such_device(self):
        with self.assertRaisesRegex(wick.Unsupported, r"\[device\] there is no device 'cuda:0' here"):
            torch.device("cuda:0")

    @each(
        ("zeros", lambda k: torch.zeros(2, 3, **k)),
        ("sizes_by_name", lambda k: torch.ones(size=(2, 3), **k)),
        ("empty", lambda k: torch.empty((2, 3), **k)),
        ("randn", lambda k: torch.randn(2, 3, **k)),
        ("full", lambda k: torch.full((2, 3), 1.5, **k)),
        ("eye", lambda k: torch.eye(2, 3, **k)),
        ("linspace", lambda k: torch.linspace(0, 1, 6, **k).reshape(2, 3)),
        ("arange", lambda k: torch.arange(6, **k).reshape(2, 3)),
        ("tensor", lambda k: torch.tensor(A, **k)),
        ("normal", lambda k: torch.normal(0.0, 1.0, (2, 3), **k)),
        ("zeros_like", lambda k: torch.zeros_like(X, **k)),
        ("full_like", lambda k: torch.full_like(X, 2, **k)),
        ("rand_like", lambda k: torch.rand_like(torch.arange(6).reshape(2, 3), **k)),
        ("randn_like", lambda k: torch.randn_like(X, **k)),
        ("randint", lambda k: torch.randint(0, 5, (2, 3), **k)),
    )
    def test_new_tensors(self, make):
        made = make({"dtype": torch.float64, "device": torch.device("cpu"), "requires_grad": True})
        self.assertEqual((made.shape, made.dtype, made.device, made.requires_grad), ((2, 3), torch.float64, "cpu", True))

    @each(
        ("dtype", lambda x: x.to(torch.float64)),
        ("device", lambda x: x.to("cpu").double()),
        ("both", lambda x: x.to("cpu", torch.float64)),
        ("by_name", lambda x: x.to(device=torch.device("cpu"), dtype=torch.float64)),
        ("not_blocking", lambda x: x.to("cpu", non_blocking=True).to(torch.float64, non_blocking=True)),
        ("as_another", lambda x: x.to(torch.zeros(1, dtype=torch.float64))),
    )
    def test_to(self, act):
        self.assertBits(act(X).numpy(), A.astype(np.float64))

    @each(
        ("device", lambda m: m.to(torch.device("cpu")), torch.float32),
        ("by_name", lambda m: m.to(device="cpu"), torch.float32),
        ("both", lambda m: m.to("cpu", torch.float64), torch.float64),
        ("dtype_by_name", lambda m: m.to(dtype=torch.float64), torch.float64),
        ("half", lambda m: m.half(), torch.float16),
        ("bfloat16", lambda m: m.bfloat16(), torch.bfloat16),
        ("cpu", lambda m: m.cpu(), torch.float32),
    )
    def test_modules(self, act, dtype):
        layer = nn.Linear(2, 2)
        self.assertIs(act(layer), layer)
        self.assertEqual((layer.weight.dtype, layer.weight.device), (dtype, "cpu"))


@spread
class Tensors(Case):
    @each(
        ("none", lambda x: x[None], A[None]),
        ("split_in_parts", lambda x: x.split([1, 2], 1)[1], A[:, 1:]),
        ("split_as_a_function", lambda x: torch.split(x, [2, 1], dim=1)[0], A[:, :2]),
        ("split_of_one_size", lambda x: x.split(2, 1)[0], A[:, :2]),
        ("flip", lambda x: torch.flip(x, [0, 1]), A[::-1, ::-1]),
        ("concat", lambda x: torch.concat((x, x), dim=1), np.concatenate((A, A), 1)),
        ("vstack", lambda x: torch.vstack((x, x)), np.vstack((A, A))),
        ("hstack", lambda x: torch.hstack((x, x)), np.hstack((A, A))),
        ("half", lambda x: x.half(), A.astype(np.float16)),
        ("new_zeros", lambda x: x.double().new_zeros(2, 1), np.zeros((2, 1))),
        ("new_ones", lambda x: x.new_ones((2,)), np.ones(2, np.float32)),
        ("new_full", lambda x: x.new_full((2,), 3), np.full(2, 3, np.float32)),
        ("unique", lambda x: torch.tensor([3, 1, 3]).unique(), np.int64([1, 3])),
        ("sizes", lambda x: torch.tensor([x.nelement(), x.element_size()]), np.int64([6, 4])),
    )
    def test_as_numpy(self, act, want):
        self.assertBits(act(X).numpy(), np.ascontiguousarray(want))

    def test_unique_has_the_parts_that_are_asked_for(self):
        values, inverse, counts = torch.unique(torch.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
        self.assertEqual([values.tolist(), inverse.tolist(), counts.tolist()], [[1, 3], [1, 0, 1], [1, 2]])

    def test_none_as_a_place(self):
        x = torch.zeros(2)
        x[None] = torch.ones(1, 2)
        self.assertEqual(x.tolist(), [1, 1])

    def test_grad_fn(self):
        w = torch.ones(2, requires_grad=True)
        self.assertIsNone(w.grad_fn)
        self.assertIn("Mul", (w * 2).grad_fn)

    def test_draws(self):
        torch.manual_seed(0)
        self.assertEqual(torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True).tolist(), [1, 1, 1])
        self.assertEqual(torch.bernoulli(torch.tensor([0.0, 1.0])).tolist(), [0, 1])
        self.assertAlmostEqual(torch.normal(torch.full((1000,), 3.0), torch.full((1000,), 0.1)).mean().item(), 3, delta=0.02)

    def test_inference_mode(self):
        w = torch.ones(2, requires_grad=True)
        with torch.inference_mode():
            self.assertFalse((w * 2).requires_grad)
        with torch.inference_mode(False):
            self.assertTrue((w * 2).requires_grad)
        with torch.no_grad(), torch.inference_mode(False):
            self.assertFalse((w * 2).requires_grad)
        self.assertFalse(torch.inference_mode()(lambda: w * 2)().requires_grad)

    def test_autograd_backward(self):
        w = torch.ones(2, requires_grad=True)
        both = w * 3
        torch.autograd.backward([both.sum(), (both * both).sum()])
        self.assertEqual(w.grad.tolist(), [3 + 18, 3 + 18])
        with self.assertRaisesRegex(wick.InvalidArgument, "2 tensors and 1 gradients"):
            torch.autograd.backward([w, w], [torch.ones(2)])


def windows(x, k):
    return x.reshape(*x.shape[:-1], -1, k)


@spread
class Functional(Case):
    @each(
        ("pad", lambda x: F.pad(x, (1, 2)), np.pad(IMAGE, ((0, 0),) * 3 + ((1, 2),))),
        ("pad_of_two_dims", lambda x: F.pad(x, (1, 0, 0, 2), value=5.0), np.pad(IMAGE, ((0, 0), (0, 0), (0, 2), (1, 0)), constant_values=5)),
        ("pad_reflects", lambda x: F.pad(x, (1, 1), mode="reflect"), np.pad(IMAGE, ((0, 0),) * 3 + ((1, 1),), "reflect")),
        ("interpolate", lambda x: F.interpolate(x, scale_factor=2), IMAGE.repeat(2, 2).repeat(2, 3)),
        ("interpolate_to_a_size", lambda x: F.interpolate(x, size=(4, 12)), IMAGE.repeat(2, 3)),
        ("max_pool1d", lambda x: F.max_pool1d(x[0], 2), windows(IMAGE[0], 2).max(-1)),
        ("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 1), IMAGE.max((2, 3), keepdims=True)),
        ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), IMAGE.reshape(1, 1, 2, 2, 4, 6).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 8, 12)),
        ("grid", lambda x: F.grid_sample(x, F.affine_grid(torch.tensor([[[1.0, 0, 0], [0, 1, 0]]]), x.size())), IMAGE),
        ("conv_transpose2d", lambda x: F.conv_transpose2d(x, torch.eye(4).reshape(4, 4, 1, 1)), IMAGE),
        ("dropout2d_at_rest", lambda x: F.dropout2d(x, 0.5, False), IMAGE),
    )
    def test_images(self, act, want):
        np.testing.assert_allclose(act(torch.from_numpy(IMAGE)).numpy(), want, rtol=1e-6, atol=1e-6)

    def test_a_pad_of_three_numbers(self):
        with self.assertRaisesRegex(wick.Error, r"\[pad\] pad has 3 numbers"):
            F.pad(X, (1, 2, 3))

    def test_norms(self):
        x = torch.from_numpy(IMAGE)
        want = (IMAGE - IMAGE.mean((0, 2, 3), keepdims=True)) / np.sqrt(IMAGE.var((0, 2, 3), keepdims=True) + 1e-5)
        np.testing.assert_allclose(F.batch_norm(x, None, None, training=True).numpy(), want, atol=1e-5)
        want = (IMAGE - IMAGE.mean()) / np.sqrt(IMAGE.var() + 1e-5)
        np.testing.assert_allclose(F.group_norm(x, 1).numpy(), want, atol=1e-5)

    def test_kl_div(self):
        p, q = np.float32([[0.2, 0.8]]), np.float32([[0.5, 0.5]])
        got = F.kl_div(torch.from_numpy(np.log(q)), torch.from_numpy(p), reduction="batchmean").item()
        self.assertAlmostEqual(got, float((p * np.log(p / q)).sum()), places=6)

    @each(
        ("relu6", nn.ReLU6, F.relu6),
        ("hardswish", nn.Hardswish, F.hardswish),
        ("hardsigmoid", nn.Hardsigmoid, F.hardsigmoid),
        ("mish", nn.Mish, F.mish),
        ("selu", nn.SELU, F.selu),
        ("softplus", nn.Softplus, F.softplus),
        ("softsign", nn.Softsign, F.softsign),
        ("logsigmoid", nn.LogSigmoid, F.logsigmoid),
        ("hardtanh", lambda: nn.Hardtanh(-0.5, 0.5), lambda x: x.clamp(-0.5, 0.5)),
        ("prelu", lambda: nn.PReLU(), lambda x: F.leaky_relu(x, 0.25)),
        ("dropout2d", lambda: nn.Dropout2d().eval(), lambda x: x),
        ("max_pool1d", lambda: nn.MaxPool1d(2), lambda x: F.max_pool1d(x, 2)),
        ("avg_pool1d", lambda: nn.AvgPool1d(2), lambda x: F.avg_pool1d(x, 2)),
        ("adaptive_avg_pool1d", lambda: nn.AdaptiveAvgPool1d(1), lambda x: x.mean(-1, keepdim=True)),
        ("unflatten", lambda: nn.Unflatten(1, (1, 4)), lambda x: x.reshape(1, 1, 4, 4, 6)),
        ("zero_pad", lambda: nn.ZeroPad2d(1), lambda x: F.pad(x, (1, 1, 1, 1))),
        ("upsample", lambda: nn.Upsample(scale_factor=2), lambda x: F.interpolate(x, scale_factor=2)),
        ("glu", lambda: nn.GLU(1), lambda x: x[:, :2] * torch.sigmoid(x[:, 2:])),
    )
    def test_layers(self, make, want):
        x = torch.from_numpy(IMAGE if "1d" not in self._testMethodName else IMAGE[0])
        layer = make()
        np.testing.assert_allclose(layer(x).detach().numpy(), want(x).numpy(), rtol=1e-6, atol=1e-7)
        self.assertIn(type(layer).__name__, repr(layer))

    @each(
        ("bce", nn.BCELoss, F.binary_cross_entropy),
        ("smooth_l1", nn.SmoothL1Loss, F.smooth_l1_loss),
        ("huber", nn.HuberLoss, F.huber_loss),
        ("kl", nn.KLDivLoss, F.kl_div),
    )
    def test_losses(self, make, function):
        x, y = torch.sigmoid(X), (X > 0).float()
        self.assertBits(make(reduction="sum")(x, y).numpy(), function(x, y, reduction="sum").numpy())


class Lists(Case):
    def test_module_list(self):
        a, b, c = nn.ReLU(), nn.Tanh(), nn.Linear(1, 1)
        made = nn.ModuleList([a]).extend([b])
        made.insert(0, c)
        self.assertEqual([list(made).index(m) for m in (c, a, b)], [0, 1, 2])
        self.assertEqual(list(made[1:]), [a, b])
        made[-1] = c
        self.assertIs(made[2], c)
        self.assertEqual(list(made.state_dict()), ["0.weight", "0.bias", "2.weight", "2.bias"])
        with self.assertRaises(IndexError):
            made[3] = a


class Data(Case):
    def test_samplers(self):
        rows = data.TensorDataset(torch.arange(6))
        torch.manual_seed(1)
        drawn = [x.tolist() for x, in data.DataLoader(rows, 4, sampler=data.RandomSampler(rows))]
        torch.manual_seed(1)
        self.assertEqual(drawn, [x.tolist() for x, in data.DataLoader(rows, 4, shuffle=True, pin_memory=True)])
        ones = data.WeightedRandomSampler([0.0, 1.0, 0, 0, 0, 0], 5)
        loader = data.DataLoader(rows, batch_size=2, sampler=ones)
        self.assertEqual(([x.tolist() for x, in loader], len(loader)), ([[1, 1], [1, 1], [1]], 3))
        with self.assertRaisesRegex(wick.InvalidArgument, "sampler"):
            data.DataLoader(rows, sampler=ones, shuffle=True)

    def test_fractions(self):
        self.assertEqual([len(p) for p in data.random_split(range(10), [0.75, 0.25])], [8, 2])
        with self.assertRaises(wick.InvalidArgument):
            data.random_split(range(10), [0.5, 0.4])

    def test_data_sets_together(self):
        both = data.ConcatDataset([range(3), range(10, 12)])
        self.assertEqual((len(both), [both[i] for i in range(5)], both[-1]), (5, [0, 1, 2, 10, 11], 11))
        with self.assertRaises(IndexError):
            both[5]

    def test_load_takes_pytorchs_arguments(self):
        path = os.path.join(self.folder(), "state.pt")
        torch.save({"a": [torch.ones(2)], "epoch": 3}, path)
        got = torch.load(path, map_location=torch.device("cpu"), weights_only=True)
        self.assertEqual((got["a"][0].tolist(), got["epoch"]), ([1, 1], 3))


if __name__ == "__main__":
    support.unittest.main()

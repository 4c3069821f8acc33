"""wick.train: arguments and names that PyTorch's own scripts use, beside numpy or beside the same by other names."""

import copy
import gc
import os
import weakref
import zipfile

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

    def test_where_of_a_condition_alone(self):
        rows, columns = torch.where(X > 0)
        want = np.where(A > 0)
        self.assertEqual((rows.tolist(), columns.tolist()), (want[0].tolist(), want[1].tolist()))
        self.assertEqual(X[torch.where(X > 0)].tolist(), A[want].tolist())

    def test_relu_in_place_is_relu(self):
        self.assertBits(F.relu(X, inplace=True).numpy(), np.maximum(A, 0))

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

    def test_draws_in_place(self):
        torch.manual_seed(0)
        self.assertEqual(torch.zeros(3).bernoulli_(1.0).tolist(), [1, 1, 1])
        self.assertTrue((torch.zeros(100).exponential_(2.0) > 0).all())
        drawn = torch.LongTensor(200).random_(3, 5)
        self.assertEqual(sorted(set(drawn.tolist())), [3, 4])
        self.assertEqual(set(torch.zeros(100).random_(2).tolist()), {0, 1})

    @each(
        ("long", lambda: torch.LongTensor([1, 2]), np.int64([1, 2])),
        ("float", lambda: torch.FloatTensor([[1, 2]]), np.float32([[1, 2]])),
        ("bool", lambda: torch.BoolTensor([0, 1]), np.array([False, True])),
        ("of_an_array", lambda: torch.FloatTensor(np.float64([1])), np.float32([1])),
        ("sizes", lambda: torch.ByteTensor(2, 3).zero_(), np.zeros((2, 3), np.uint8)),
    )
    def test_old_constructors(self, make, want):
        self.assertBits(make().numpy(), want)

    @each(
        ("rand", lambda g: torch.rand(3, generator=g)),
        ("sizes_by_name", lambda g: torch.randn(size=(3,), generator=g)),
        ("randint", lambda g: torch.randint(0, 99, (3,), generator=g)),
        ("randperm", lambda g: torch.randperm(9, generator=g)),
        ("multinomial", lambda g: torch.multinomial(torch.ones(99), 5, generator=g)),
        ("bernoulli", lambda g: torch.bernoulli(torch.full((99,), 0.5), generator=g)),
        ("normal", lambda g: torch.normal(0.0, 1.0, (3,), generator=g)),
        ("normals", lambda g: torch.normal(torch.zeros(3), torch.ones(3), generator=g)),
        ("split", lambda g: torch.tensor(data.random_split(range(50), [40, 10], generator=g)[1].indices)),
        ("sampler", lambda g: torch.tensor(list(data.RandomSampler(range(50), generator=g)))),
        ("weights", lambda g: torch.tensor(list(data.WeightedRandomSampler([1.0] * 99, 5, generator=g)))),
        ("loader", lambda g: torch.cat(list(data.DataLoader(range(50), 10, shuffle=True, generator=g)))),
    )
    def test_a_generator_of_ones_own(self, draw):
        g = torch.Generator().manual_seed(5)
        torch.manual_seed(1)
        before = torch.get_rng_state().tolist()
        first, second = draw(g).tolist(), draw(g).tolist()
        self.assertEqual(torch.get_rng_state().tolist(), before)  # the default one was not asked
        self.assertNotEqual(first, second)
        state = g.get_state()
        g.manual_seed(5)
        self.assertEqual((draw(g).tolist(), draw(g).tolist(), g.initial_seed()), (first, second, 5))
        self.assertEqual(g.get_state().tolist(), state.tolist())
        torch.manual_seed(5)
        self.assertEqual(draw(None).tolist(), first)

    def test_inference_mode(self):
        w = torch.ones(2, requires_grad=True)
        with torch.inference_mode():
            self.assertFalse((w * 2).requires_grad)
        with torch.inference_mode(False):
            self.assertTrue((w * 2).requires_grad)
        with torch.no_grad(), torch.inference_mode(False):
            self.assertFalse((w * 2).requires_grad)
        self.assertFalse(torch.inference_mode()(lambda: w * 2)().requires_grad)

    @each(("no_grad", torch.no_grad, False), ("inference_mode", torch.inference_mode, False), ("enable_grad", torch.enable_grad, True))
    def test_a_decorator_without_parentheses(self, mode, recorded):
        @mode
        def double(x, by=2):
            "Doubles."
            return x * by

        with torch.no_grad():
            self.assertEqual(double(torch.ones(2, requires_grad=True), by=2).requires_grad, recorded)
        self.assertEqual((double.__name__, double.__doc__), ("double", "Doubles."))

    def test_autograd_backward(self):
        w = torch.ones(2, requires_grad=True)
        both = w * 3
        torch.autograd.backward([both.sum(), (both * both).sum()])
        self.assertEqual(w.grad.tolist(), [3 + 18, 3 + 18])
        with self.assertRaisesRegex(wick.InvalidArgument, "2 tensors and 1 gradients"):
            torch.autograd.backward([w, w], [torch.ones(2)])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return factor * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.factor * 3 * x**2, None


class Both(torch.autograd.Function):
    """setup_context, two outputs of which one has no gradient, and a gradient that is not needed."""

    @staticmethod
    def forward(x, y):
        return x * y, x > y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[0])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, unused):
        x, y, made = ctx.saved_tensors
        assert made.tolist() == (x * y).tolist()
        return g * y, g * x if ctx.needs_input_grad[1] else None


class Functions(Case):
    def test_its_own_gradient(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = Cube.apply(x, 2.0)
        self.assertEqual((y.tolist(), y.grad_fn), ([2, 16], "<CubeBackward>"))
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [6, 24])

    def test_second_derivatives(self):
        x = torch.tensor(2.0, requires_grad=True)
        (g,) = torch.autograd.grad(Cube.apply(x, 1.0), x, create_graph=True)
        self.assertEqual(torch.autograd.grad(g, x)[0].item(), 12)

    def test_several_outputs(self):
        x, y = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([2.0, 2.0])
        product, larger = Both.apply(x, y)
        self.assertEqual((larger.tolist(), larger.requires_grad), ([False, True], False))
        product.sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2])

    def test_without_gradients(self):
        self.assertIsNone(Cube.apply(torch.ones(2), 1.0).grad_fn)

    def test_errors(self):
        def function(forward, backward):
            return type("F", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})

        x = torch.ones(2, requires_grad=True)
        with self.assertRaisesRegex(wick.TypeMismatch, r"\[F\] forward returns a float"):
            function(lambda ctx, x: 1.0, None).apply(x)
        with self.assertRaisesRegex(wick.InvalidArgument, r"\[F\] backward returns 2 gradients, forward has 1 arguments"):
            function(lambda ctx, x: x * 2, lambda ctx, g: (g, g)).apply(x).sum().backward()
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            function(lambda ctx, x: x * 2, self.raises).apply(x).sum().backward()
        with self.assertRaises(wick.Error):  # a gradient of another shape
            function(lambda ctx, x: x * 2, lambda ctx, g: torch.ones(3)).apply(x).sum().backward()
        y = Cube.apply(x, 1.0)
        with torch.no_grad():
            x.add_(1)
        with self.assertRaises(wick.Error):  # what was saved was written to
            y.sum().backward()

    @staticmethod
    def raises(ctx, g):
        raise ZeroDivisionError("mine")

    def test_all_is_freed(self):
        x = torch.ones(2, requires_grad=True)
        product, larger = Both.apply(x, torch.ones(2))
        gone = weakref.ref(product)
        gc.disable()
        try:
            product.sum().backward()
            del product, larger
            self.assertIsNone(gone())
        finally:
            gc.enable()

    def test_a_model_that_has_one_is_exported(self):
        class Net(nn.Module):
            def forward(self, x):
                return Cube.apply(x, 2.0)

        path = os.path.join(self.folder(), "m.wick")
        torch.export(Net(), {"x": torch.ones(2)}, path)
        self.assertEqual(wick.load(path)(np.float32([1, 2])).tolist(), [2, 16])

    def test_jacobian_and_hessian(self):
        f = torch.autograd.functional
        x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
        self.assertEqual(f.jacobian(lambda x: x * x, x).tolist(), [[2, 0], [0, 4]])
        self.assertEqual([j.tolist() for j in f.jacobian(lambda x, y: x * y, (x, y))], [[[3, 0], [0, 3]], [[1], [2]]])
        self.assertEqual(f.hessian(lambda x: (x**3).sum(), x).tolist(), [[6, 0], [0, 12]])

    def test_it_is_a_module(self):
        import wick.train.autograd as autograd

        self.assertIs(autograd, torch.autograd)


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


def every_layer():
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ConvTranspose2d(2, 2, 2), nn.GroupNorm(1, 2), nn.Flatten(), nn.LayerNorm(50),
        nn.Linear(50, 4), nn.PReLU(), nn.Dropout(0.5),
    )  # fmt: skip


@spread
class Copies(Case):
    def test_tensors(self):
        w = torch.ones(2, requires_grad=True)
        (w * 3).sum().backward()
        made = copy.deepcopy({"w": w})["w"]
        self.assertEqual((made.requires_grad, made.grad.tolist(), made.tolist()), (True, [3, 3], [1, 1]))
        made.data.zero_()
        made.grad.zero_()
        self.assertEqual((w.tolist(), w.grad.tolist()), ([1, 1], [3, 3]))
        with self.assertRaisesRegex(wick.Error, r"\[deepcopy\] the tensor was computed"):
            copy.deepcopy(w * 2)

    def test_modules(self):
        torch.manual_seed(1)  # of 16 dropouts one leaves no output, and so no gradient
        net = every_layer()
        net[6].weight.requires_grad_(False)
        x = torch.from_numpy(IMAGE[:, :1, :, :].repeat(3, 2)[:, :, :6, :6].copy())
        net(x).sum().backward()
        drawn = torch.get_rng_state().tolist()
        made = copy.deepcopy(net)
        self.assertEqual(torch.get_rng_state().tolist(), drawn)  # a copy draws nothing
        self.assertEqual(list(made.state_dict()), list(net.state_dict()))
        for (name, p), (_, q) in zip(net.named_parameters(), made.named_parameters()):
            self.assertBits(p.detach().numpy(), q.detach().numpy())
            self.assertEqual((p.requires_grad, type(q)), (q.requires_grad, nn.Parameter), name)
            self.assertEqual(p.grad is None, q.grad is None)
        self.assertTrue(all(not p.same_as(q) for p, q in zip(net.parameters(), made.parameters())))
        want = net.eval()(x).detach().numpy()
        optim.SGD(made.parameters(), lr=1.0).step()
        self.assertBits(net(x).detach().numpy(), want)
        self.assertTrue(made.training and made[1].training)
        self.assertNotEqual(made.eval()(x).tolist(), want.tolist())  # C++'s layers see the step

    @each(
        ("embedding", lambda: nn.Embedding(5, 3, padding_idx=0), lambda m: m(torch.tensor([[0, 4]]))),
        ("lstm", lambda: nn.LSTM(3, 4, 2, bidirectional=True), lambda m: m(torch.ones(5, 1, 3))[0]),
        ("double", lambda: nn.Linear(3, 2).double(), lambda m: m(torch.ones(1, 3).double())),
        ("attention", lambda: nn.MultiheadAttention(4, 2), lambda m: m(*[torch.ones(5, 1, 4)] * 3)[0]),
    )
    def test_layers(self, make, run):
        layer = make()
        self.assertBits(run(copy.deepcopy(layer)).detach().numpy(), run(layer).detach().numpy())

    def test_what_is_shared_stays_shared(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(2))
                self.again = self.w
                self.layer = nn.Linear(1, 1)
                self.same = self.layer
                self.register_forward_hook(lambda m, i, o: o + 1)

            def forward(self, x):
                return x * self.w

        made = copy.deepcopy(Tied())
        self.assertTrue(made.w.same_as(made.again))
        self.assertIs(made.layer, made.same)
        self.assertEqual(made(torch.ones(2)).tolist(), [2, 2])

    def test_a_layer_is_freed_when_it_is_let_go(self):
        for make in (lambda: nn.Linear(2, 2), lambda: nn.BatchNorm1d(2), lambda: nn.GRU(2, 2), lambda: nn.TransformerEncoderLayer(4, 2)):
            layer = make()
            gone = weakref.ref(layer)
            gc.disable()
            try:
                del layer
                self.assertIsNone(gone())
            finally:
                gc.enable()


@spread
class Transformers(Case):
    def test_attention_as_its_formula(self):
        torch.manual_seed(3)
        layer = nn.MultiheadAttention(4, 2, batch_first=True)
        self.assertEqual(list(layer.state_dict()), ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"])
        x = np.random.RandomState(4).randn(1, 3, 4).astype(np.float32)
        w, b, o, c = (p.detach().numpy() for p in layer.parameters())
        q, k, v = np.split(x[0] @ w.T + b, 3, 1)
        heads = []
        for h in (slice(0, 2), slice(2, 4)):
            e = np.exp(q[:, h] @ k[:, h].T / np.sqrt(2))
            heads.append((e / e.sum(1, keepdims=True), v[:, h]))
        want = np.concatenate([p @ values for p, values in heads], 1) @ o.T + c
        got, weights = layer(*[torch.from_numpy(x)] * 3)
        np.testing.assert_allclose(got[0].detach().numpy(), want, atol=1e-5)
        np.testing.assert_allclose(weights[0].detach().numpy(), (heads[0][0] + heads[1][0]) / 2, atol=1e-5)
        self.assertIsNone(layer(*[torch.from_numpy(x)] * 3, need_weights=False)[1])

    def test_a_causal_mask_hides_what_comes_later(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()
        encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
        mask = nn.Transformer.generate_square_subsequent_mask(4)
        x = torch.randn(1, 4, 8)
        want = encoder(x, mask, is_causal=True)
        x[0, 3] = 9
        self.assertBits(encoder(x, mask)[0, :3].detach().numpy(), want[0, :3].detach().numpy())
        self.assertNotEqual(encoder(x)[0, :3].tolist(), want[0, :3].tolist())
        with self.assertRaisesRegex(wick.InvalidArgument, "give the mask"):
            encoder(x, is_causal=True)

    def test_both_sides_learn(self):
        net = nn.Transformer(8, 2, 1, 2, 16, batch_first=True)
        self.assertIn("decoder.layers.1.multihead_attn.in_proj_weight", net.state_dict())
        out = net(torch.randn(2, 5, 8), torch.randn(2, 3, 8), tgt_mask=net.generate_square_subsequent_mask(3))
        out.square().mean().backward()
        self.assertEqual(out.shape, (2, 3, 8))
        self.assertTrue(all(p.grad is not None for p in net.parameters()))


@spread
class Optimizers(Case):
    @each(*((c.__name__, c) for c in (optim.Adagrad, optim.Adadelta, optim.Adamax, optim.NAdam, optim.RAdam)))
    def test_a_minimum_is_found_and_the_state_comes_back(self, kind):
        def steps(w, o, count):
            for _ in range(count):
                o.zero_grad()
                (w * w).sum().backward()
                o.step()

        w = torch.tensor([1.0, -2.0], requires_grad=True)
        o = kind([w], lr=0.1)
        steps(w, o, 10)
        again = w.detach().clone().requires_grad_()
        other = kind([again], lr=0.1)
        other.load_state_dict(o.state_dict())
        o.param_groups[0]["lr"] = other.param_groups[0]["lr"] = 0.05
        steps(w, o, 5)
        steps(again, other, 5)
        self.assertBits(w.detach().numpy(), again.detach().numpy())
        self.assertTrue((w.abs() < torch.tensor([1.0, 2.0])).all())

    @each(("plain", {"lr": 0.5}), ("searching", {"line_search_fn": "strong_wolfe", "max_eval": 30}))
    def test_lbfgs(self, options):
        w = torch.tensor([3.0, -2.0], requires_grad=True)
        o = optim.LBFGS([w], max_iter=10, **options)
        seen = []

        def closure():
            o.zero_grad()
            loss = ((w - 1) ** 2 * torch.tensor([1.0, 10.0])).sum()
            loss.backward()
            seen.append(loss.item())
            return loss

        self.assertEqual(o.step(closure).item(), seen[0])
        for _ in range(3):
            o.step(closure)
        self.assertGreater(len(seen), 4)
        np.testing.assert_allclose(w.detach().numpy(), [1, 1], atol=1e-3)
        again = optim.LBFGS([w], **options)
        again.load_state_dict(o.state_dict())
        self.assertEqual(again.param_groups[0]["max_iter"], 10)

    def test_lbfgs_asks_for_what_it_needs(self):
        o = optim.LBFGS([torch.ones(1, requires_grad=True)])
        with self.assertRaisesRegex(wick.InvalidArgument, "needs a closure"):
            o.step()
        with self.assertRaisesRegex(wick.TypeMismatch, "closure.. returns a float"):
            o.step(lambda: 1.0)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            o.step(lambda: 1 / 0)
        with self.assertRaises(wick.InvalidArgument):
            optim.LBFGS([torch.ones(1, requires_grad=True)], max_iter=1.5)

    def test_linear_rates(self):
        o = optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        schedule = optim.lr_scheduler.LinearLR(o, start_factor=0.5, total_iters=2)
        rates = []
        for _ in range(4):
            rates.append(o.param_groups[0]["lr"])
            schedule.step()
        np.testing.assert_allclose(rates, [0.5, 0.75, 1, 1])

    @each(
        ("min", {}, [3, 2, 2, 2, 1, 2, 2], [1, 1, 1, 0.1, 0.1, 0.1, 0.01]),
        ("max", {"mode": "max"}, [1, 2, 2, 2, 3], [1, 1, 1, 0.1, 0.1]),
        ("absolute", {"threshold": 0.5, "threshold_mode": "abs"}, [3, 2.9, 2.8, 2.7, 1], [1, 1, 0.1, 0.1, 0.1]),
        ("cooldown", {"cooldown": 2}, [1, 1, 1, 1, 1, 1, 1], [1, 1, 0.1, 0.1, 0.1, 0.1, 0.01]),
        ("least", {"min_lr": 0.5}, [1, 1, 1, 1, 1], [1, 1, 0.5, 0.5, 0.5]),
        ("nan", {}, [float("nan")] * 3, [1, 0.1, 0.1]),
    )
    def test_plateaus(self, options, losses, want):
        o = optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        schedule = optim.lr_scheduler.ReduceLROnPlateau(o, **{"patience": 1, **options})
        rates = []
        for loss in losses:
            schedule.step(torch.tensor(float(loss)))
            rates.append(o.param_groups[0]["lr"])
        np.testing.assert_allclose(rates, want)


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

    def test_a_file_of_pytorchs_is_refused_by_name(self):
        path = os.path.join(self.folder(), "model.pt")
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
        with self.assertRaisesRegex(wick.Unsupported, "is a file of PyTorch's.*save_file"):
            torch.load(path)

    def test_sequences_of_several_lengths(self):
        rnn = nn.utils.rnn
        made = rnn.pad_sequence([torch.ones(2, 3), torch.ones(1, 3)], batch_first=True, padding_value=-1.0)
        self.assertEqual((made.shape, made[1].tolist()), ((2, 2, 3), [[1, 1, 1], [-1, -1, -1]]))
        self.assertEqual(rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])]).tolist(), [[1, 3], [2, 0]])
        with self.assertRaisesRegex(wick.InvalidArgument, "they may differ in the first size"):
            rnn.pad_sequence([torch.ones(2, 3), torch.ones(2, 2)])

    def test_load_takes_pytorchs_arguments(self):
        path = os.path.join(self.folder(), "state.pt")
        torch.save({"a": [torch.ones(2)], "epoch": 3}, path)
        got = torch.load(path, map_location=torch.device("cpu"), weights_only=True)
        self.assertEqual((got["a"][0].tolist(), got["epoch"]), ([1, 1], 3))


if __name__ == "__main__":
    support.unittest.main()

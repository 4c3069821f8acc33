"""wick.train: modules, layers, optimizers, schedules, data, export."""

import copy
import os
import time
from collections import OrderedDict

import support
from support import Case, each, spread

import numpy as np
import wick

torch = support.train()
nn, optim, data, F = torch.nn, torch.optim, torch.utils.data, torch.nn.functional

X = np.random.RandomState(0).randn(5, 4).astype(np.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(8, 3))
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.zeros(3))

    def forward(self, x):
        return self.rest(self.first(x)) * self.scale + self.shift


NAMES = ["scale", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]


@spread
class Modules(Case):
    def test_names(self):
        net = Net()
        self.assertEqual([n for n, _ in net.named_parameters()], NAMES)
        self.assertEqual(list(net.state_dict()), ["scale", "shift", *NAMES[1:]])
        self.assertEqual([n for n, _ in net.named_buffers()], ["shift"])
        self.assertEqual([n for n, _ in net.named_modules()], ["", "first", "rest", "rest.0", "rest.1"])
        self.assertEqual([type(m).__name__ for m in net.children()], ["Linear", "Sequential"])
        self.assertIs(net.get_submodule("rest.1"), net.rest[1])
        self.assertIs(net.get_parameter("first.weight"), net.first.weight)
        self.assertEqual(len(list(net.parameters())), 5)

    @each(("module", lambda n: n.get_submodule("rest.7")), ("parameter", lambda n: n.get_parameter("first.w")))
    def test_unknown_paths(self, get):
        with self.assertRaises(wick.NotFound):
            get(Net())

    def test_shared_parameters_are_listed_once(self):
        net = Net()
        net.again = net.first
        self.assertEqual([n for n, _ in net.named_parameters()], NAMES)

    def test_modes(self):
        net = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(4))
        self.assertTrue(all(m.training for m in net.modules()))
        self.assertIs(net.eval(), net)
        self.assertFalse(any(m.training for m in net.modules()))
        x = torch.from_numpy(X)
        self.assertBits(net(x).detach().numpy(), net(x).detach().numpy())
        net.train()
        self.assertNotEqual(net(x).tolist(), net(x).tolist())

    def test_children_have_a_train_of_their_own(self):
        class Frozen(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(4)

            def train(self, mode=True):
                super().train(mode)
                self.norm.eval()
                return self

            def forward(self, x):
                return self.norm(x)

        net = nn.Sequential(Frozen(), nn.Dropout())
        net.train()
        self.assertEqual([m.training for m in net.modules()], [True, True, False, True])
        net(torch.from_numpy(X))
        self.assertEqual(net[0].norm.num_batches_tracked.item(), 0)
        torch.export(net, {"x": torch.zeros(2, 4)}, os.path.join(self.folder(), "n.wick"))
        self.assertEqual([m.training for m in net.modules()], [True, True, False, True])

    def test_a_mode_that_is_assigned(self):
        norm = nn.BatchNorm1d(4)
        norm.training = False
        norm(torch.from_numpy(X))
        self.assertEqual(norm.num_batches_tracked.item(), 0)
        norm.training = True
        norm(torch.from_numpy(X))
        self.assertEqual(norm.num_batches_tracked.item(), 1)

    def test_running_averages(self):
        norm = nn.BatchNorm1d(4)
        norm(torch.from_numpy(X))
        np.testing.assert_allclose(norm.running_mean.numpy(), X.mean(0) * 0.1, rtol=1e-5)
        self.assertEqual(norm.num_batches_tracked.item(), 1)

    def test_state_dict_there_and_back(self):
        torch.manual_seed(1)
        a, b = Net(), Net()
        x = torch.from_numpy(X)
        self.assertNotEqual(a(x).tolist(), b(x).tolist())
        self.assertEqual(b.load_state_dict(a.state_dict()), ([], []))
        self.assertBits(b(x).detach().numpy(), a(x).detach().numpy())

    def test_state_dicts_that_do_not_fit(self):
        net = Net()
        state = net.state_dict()
        before = net.first.bias.tolist()
        short = OrderedDict((k, v + 1) for k, v in state.items() if k != "scale")
        with self.assertRaisesRegex(wick.InvalidArgument, "missing: scale"):
            net.load_state_dict(short)
        with self.assertRaisesRegex(wick.InvalidArgument, "unexpected: more"):
            net.load_state_dict({**state, "more": torch.zeros(1)})
        with self.assertRaisesRegex(wick.ShapeMismatch, r"scale: \[3\], not \[4\]"):
            net.load_state_dict({**state, "scale": torch.zeros(4)}, strict=False)
        with self.assertRaisesRegex(wick.TypeMismatch, "'scale' is a ndarray"):
            net.load_state_dict({**state, "scale": np.zeros(3)})
        self.assertEqual(net.first.bias.tolist(), before)
        self.assertEqual(net.load_state_dict(short, strict=False).missing_keys, ["scale"])
        np.testing.assert_allclose(net.first.bias.tolist(), np.float32(before) + 1, rtol=1e-6)

    def test_attributes(self):
        net = Net()
        with self.assertRaises(AttributeError):
            net.nothing
        with self.assertRaisesRegex(wick.InvalidArgument, "Parameter or None"):
            net.scale = torch.ones(3)
        net.scale = nn.Parameter(torch.zeros(3))
        self.assertEqual(net(torch.from_numpy(X)).tolist(), [[0.0] * 3] * 5)
        del net.scale
        self.assertNotIn("scale", net.state_dict())
        net.plain = torch.ones(2)
        self.assertNotIn("plain", net.state_dict())
        with self.assertRaisesRegex(wick.InvalidArgument, "is a module"):
            net.first = 3
        with self.assertRaisesRegex(wick.InvalidArgument, "is a buffer"):
            net.shift = 3
        self.assertEqual([n for n, _ in net.named_modules()], ["", "first", "rest", "rest.0", "rest.1"])

    @each(
        ("none", lambda l: setattr(l, "bias", None)),
        ("parameter", lambda l: setattr(l, "bias", nn.Parameter(torch.zeros(4)))),
        ("deleted", lambda l: delattr(l, "weight")),
        ("registered", lambda l: l.register_parameter("weight", None)),
        ("buffer", lambda l: setattr(l, "running_mean", torch.ones(4))),
        ("no_buffer", lambda l: setattr(l, "running_var", None)),
        ("registered_buffer", lambda l: l.register_buffer("running_mean", torch.ones(4))),
        ("over_it", lambda l: l.add_module("weight", nn.Identity())),
        ("setting", lambda l: setattr(l, "momentum", 0.5)),
    )
    def test_what_a_layer_would_not_see(self, change):
        layer = nn.BatchNorm1d(4)
        state = layer.state_dict()
        with self.assertRaisesRegex(wick.InvalidArgument, "belongs to the layer|was made with"):
            change(layer)
        self.assertEqual(list(layer.state_dict()), list(state))

    def test_layers_with_more(self):
        class More(nn.Linear):
            def __init__(self):
                super().__init__(4, 3, bias=False)
                self.scale = nn.Parameter(torch.zeros(3))

            def forward(self, x):
                return super().forward(x) * self.scale

        layer = More()
        self.assertEqual([n for n, _ in layer.named_parameters()], ["weight", "scale"])
        self.assertEqual(layer(torch.from_numpy(X)).abs().sum().item(), 0)
        layer.bias = None  # as it is

    @each(
        ("linear", nn.Linear(4, 4), X),
        ("linear_without_bias", nn.Linear(4, 4, bias=False), X),
        ("conv1d", nn.Conv1d(4, 4, 3, padding=1), X.reshape(1, 4, 5)),
        ("conv1d_same", nn.Conv1d(4, 4, 2, padding="same"), X.reshape(1, 4, 5)),
        ("conv2d", nn.Conv2d(2, 4, (2, 1), stride=(1, 2), groups=2), X.reshape(1, 2, 2, 5)),
        ("conv2d_same", nn.Conv2d(2, 4, (2, 4), dilation=(1, 2), padding="same"), X.reshape(1, 2, 2, 5)),
        ("layer_norm", nn.LayerNorm(4), X),
        ("embedding", nn.Embedding(6, 4, padding_idx=1), np.int64([[0, 1, 5]])),
    )
    def test_a_parameter_that_is_replaced(self, layer, x):
        """The layer of C++ is out of it: what the parameters are now counts, with the same bits as before."""
        x = torch.from_numpy(x)
        before, weight = layer(x).detach().numpy(), layer.weight
        layer.weight = nn.Parameter(weight.detach().clone())
        self.assertBits(layer(x).detach().numpy(), before)
        twin = copy.deepcopy(layer)
        layer.weight = nn.Parameter(torch.zeros(weight.shape))
        self.assertBits(twin(x).detach().numpy(), before)
        layer(x).sum().backward()
        self.assertIsNone(weight.grad)
        self.assertEqual(layer.weight.grad.shape, weight.shape)
        self.assertIn(hash(layer.weight), [hash(p) for p in layer.parameters()])
        self.assertEqual(list(layer.state_dict()), list(twin.state_dict()))
        if layer._parameters.get("bias") is not None:
            layer.bias = None
            self.assertEqual(layer(x).abs().sum().item(), 0)
        self.assertEqual(layer.to(torch.float64).weight.dtype, torch.float64)

    def test_weights_that_are_tied(self):
        table, out = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        out.weight = table.weight
        self.assertEqual(len({hash(p) for p in (*table.parameters(), *out.parameters())}), 1)
        out(table(torch.tensor([1, 3]))).sum().backward()
        self.assertTrue((table.weight.grad[0] != 0).all())  # by the Linear, which reads every row
        optim.SGD(out.parameters(), lr=1.0).step()
        self.assertEqual(out.weight.tolist(), table.weight.tolist())

    def test_layers_say_what_they_were_made_with(self):
        conv, norm = nn.Conv2d(2, 4, 3, stride=2, bias=False), nn.BatchNorm2d(4, affine=False, track_running_stats=False)
        self.assertEqual((conv.in_channels, conv.kernel_size, conv.stride, conv.bias), (2, 3, 2, None))
        self.assertEqual((norm.num_features, norm.eps, norm.weight, norm.running_mean), (4, 1e-5, None, None))
        self.assertEqual(nn.LSTM(3, 5).hidden_size, 5)

    def test_super_is_needed(self):
        class Forgetful(nn.Module):
            def __init__(self):
                self.fc = nn.Linear(2, 2)

        with self.assertRaisesRegex(wick.InvalidArgument, "super"):
            Forgetful()

    def test_no_forward(self):
        with self.assertRaisesRegex(NotImplementedError, "Module has no forward"):
            nn.Module()(1)

    def test_hooks(self):
        net, seen = Net(), []
        x = torch.from_numpy(X)
        plain = net(x)
        first = net.register_forward_hook(lambda m, i, o: seen.append((m is net, i[0].same_as(x), o.shape)))
        net.register_forward_hook(lambda m, i, o: o * 2)
        before = net.register_forward_pre_hook(lambda m, i: (i[0] * 0,))
        net(x)
        before.remove()
        self.assertBits(net(x).detach().numpy(), (plain * 2).detach().numpy())
        first.remove()
        net(x)
        self.assertEqual(seen, [(True, False, (5, 3)), (True, True, (5, 3))])

    def test_several_inputs_and_outputs(self):
        class Both(nn.Module):
            def forward(self, a, b, *, scale=1):
                return (a + b) * scale, a - b

        total, difference = Both()(torch.ones(2), torch.ones(2), scale=3)
        self.assertEqual((total.tolist(), difference.tolist()), ([6.0, 6.0], [0.0, 0.0]))

    def test_apply_and_freezing(self):
        net, seen = Net(), []
        net.apply(lambda m: seen.append(type(m).__name__))
        self.assertEqual(seen, ["Linear", "ReLU", "Linear", "Sequential", "Net"])
        net.requires_grad_(False)
        self.assertFalse(net(torch.from_numpy(X)).requires_grad)

    def test_other_dtypes(self):
        net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
        with self.assertRaisesRegex(wick.TypeMismatch, "floats"):
            net.to(torch.int64)
        adam_ = optim.SGD(net.parameters(), 0.1)
        first = net[0].weight
        self.assertIs(net.double(), net)
        self.assertEqual({p.dtype for p in net.parameters()}, {torch.float64})
        self.assertEqual([b.dtype for b in net.buffers()], [torch.float64, torch.float64, torch.int64])
        x = torch.from_numpy(X).double()
        net(x).sum().backward()
        self.assertEqual({p.grad.dtype for p in net.parameters()}, {torch.float64})
        for _ in range(2):  # gradients go along; where nothing changes nothing happens
            net.float()
            self.assertEqual({(p.dtype, p.grad.dtype) for p in net.parameters()}, {(torch.float32, torch.float32)})
        net.double()
        before = first.tolist()
        net[0].bias.grad.fill_(1)
        first.grad.fill_(1)
        adam_.step()
        np.testing.assert_allclose(first.detach().numpy(), np.asarray(before) - 0.1)
        self.assertEqual(net.float()(torch.from_numpy(X)).dtype, torch.float32)

    def test_containers(self):
        layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
        self.assertEqual((len(layers), len(list(layers.parameters()))), (3, 6))
        named = nn.ModuleDict({"a": nn.Linear(2, 2)})
        named["b"] = nn.Identity()
        self.assertEqual((list(named.keys()), "b" in named, len(named), list(named)), (["a", "b"], True, 2, ["a", "b"]))
        chain = nn.Sequential(OrderedDict(one=nn.Linear(2, 2), two=nn.ReLU()))
        self.assertEqual([n for n, _ in chain.named_children()], ["one", "two"])
        self.assertEqual(len(chain[1:]), 1)

    def test_repr(self):
        self.assertEqual(
            repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())),
            "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)",
        )

    def test_init(self):
        w = nn.Linear(50, 40).weight
        nn.init.xavier_uniform_(w)
        self.assertLessEqual(w.abs().max().item(), (6 / 90) ** 0.5)
        nn.init.kaiming_normal_(w, nonlinearity="relu")
        self.assertAlmostEqual(w.detach().numpy().std(), (2 / 50) ** 0.5, delta=0.02)
        nn.init.zeros_(w)
        self.assertEqual(w.abs().sum().item(), 0)
        self.assertTrue(w.requires_grad and w.is_leaf)
        with self.assertRaises(wick.InvalidArgument):
            nn.init.xavier_uniform_(torch.zeros(3))
        self.assertEqual(nn.init.kaiming_normal_(torch.zeros(0, 4)).numel(), 0)
        self.assertEqual(nn.init.kaiming_normal_(torch.zeros(4, 0)).numel(), 0)
        self.assertEqual((nn.init.calculate_gain("linear"), nn.init.calculate_gain("tanh")), (1, 5 / 3))
        with self.assertRaisesRegex(wick.InvalidArgument, "no gain for 'gelu'"):
            nn.init.kaiming_uniform_(torch.zeros(2, 2), nonlinearity="gelu")


LAYERS = [
    ("linear", lambda: nn.Linear(4, 3), (5, 4), (5, 3), {"weight": (3, 4), "bias": (3,)}),
    ("linear_no_bias", lambda: nn.Linear(4, 3, bias=False), (2, 5, 4), (2, 5, 3), {"weight": (3, 4)}),
    ("conv1d", lambda: nn.Conv1d(2, 3, 3, padding=1), (1, 2, 9), (1, 3, 9), {"weight": (3, 2, 3), "bias": (3,)}),
    ("conv2d", lambda: nn.Conv2d(2, 4, 3), (1, 2, 8, 8), (1, 4, 6, 6), {"weight": (4, 2, 3, 3), "bias": (4,)}),
    ("conv2d_pair", lambda: nn.Conv2d(2, 4, (1, 3), stride=(2, 1)), (1, 2, 8, 8), (1, 4, 4, 6), {"weight": (4, 2, 1, 3), "bias": (4,)}),
    ("conv2d_same", lambda: nn.Conv2d(2, 4, 3, padding="same"), (1, 2, 8, 8), (1, 4, 8, 8), {"weight": (4, 2, 3, 3), "bias": (4,)}),
    ("conv2d_groups", lambda: nn.Conv2d(4, 4, 3, groups=2), (1, 4, 8, 8), (1, 4, 6, 6), {"weight": (4, 2, 3, 3), "bias": (4,)}),
    ("conv2d_reflect", lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect"), (1, 1, 5, 5), (1, 1, 5, 5), {"weight": (1, 1, 3, 3), "bias": (1,)}),
    ("transposed", lambda: nn.ConvTranspose2d(2, 3, 2, stride=2), (1, 2, 4, 4), (1, 3, 8, 8), {"weight": (2, 3, 2, 2), "bias": (3,)}),
    ("batch_norm2d", lambda: nn.BatchNorm2d(3), (2, 3, 4, 4), (2, 3, 4, 4), {"weight": (3,), "bias": (3,)}),
    ("layer_norm", lambda: nn.LayerNorm(4), (5, 4), (5, 4), {"weight": (4,), "bias": (4,)}),
    ("layer_norm_two", lambda: nn.LayerNorm((3, 4)), (5, 3, 4), (5, 3, 4), {"weight": (3, 4), "bias": (3, 4)}),
    ("group_norm", lambda: nn.GroupNorm(2, 4), (2, 4, 5), (2, 4, 5), {"weight": (4,), "bias": (4,)}),
    ("max_pool", lambda: nn.MaxPool2d(2), (1, 2, 8, 8), (1, 2, 4, 4), {}),
    ("avg_pool", lambda: nn.AvgPool2d(2, stride=1), (1, 2, 8, 8), (1, 2, 7, 7), {}),
    ("adaptive", lambda: nn.AdaptiveAvgPool2d(1), (1, 2, 8, 8), (1, 2, 1, 1), {}),
    ("flatten", lambda: nn.Flatten(), (2, 3, 4), (2, 12), {}),
    ("identity", lambda: nn.Identity(), (2, 3), (2, 3), {}),
    ("relu", lambda: nn.ReLU(), (2, 3), (2, 3), {}),
    ("gelu", lambda: nn.GELU("tanh"), (2, 3), (2, 3), {}),
    ("leaky", lambda: nn.LeakyReLU(0.2), (2, 3), (2, 3), {}),
    ("elu", lambda: nn.ELU(), (2, 3), (2, 3), {}),
    ("silu", lambda: nn.SiLU(), (2, 3), (2, 3), {}),
    ("tanh", lambda: nn.Tanh(), (2, 3), (2, 3), {}),
    ("sigmoid", lambda: nn.Sigmoid(), (2, 3), (2, 3), {}),
    ("softmax", lambda: nn.Softmax(dim=1), (2, 3), (2, 3), {}),
    ("log_softmax", lambda: nn.LogSoftmax(1), (2, 3), (2, 3), {}),
]


@spread
class Layers(Case):
    @each(*LAYERS)
    def test_layer(self, make, given, want, parameters):
        layer = make()
        x = torch.randn(*given, requires_grad=True)
        y = layer(x)
        self.assertEqual(y.shape, want)
        self.assertEqual({n: p.shape for n, p in layer.named_parameters()}, parameters)
        (y * torch.randn(*want)).sum().backward()
        self.assertEqual(x.grad.shape, given)
        for name, p in layer.named_parameters():
            self.assertEqual(p.grad.shape, p.shape, name)
            self.assertTrue(p.is_leaf)

    @each(("rnn", nn.RNN, 1, False), ("gru", nn.GRU, 3, False), ("lstm", nn.LSTM, 4, True))
    def test_recurrent(self, kind, gates, two):
        layer = kind(3, 5, num_layers=2, batch_first=True)
        self.assertEqual(layer.weight_ih_l0.shape, (gates * 5, 3))
        output, state = layer(torch.randn(2, 7, 3))
        h = state[0] if two else state
        self.assertEqual((output.shape, h.shape), ((2, 7, 5), (2, 2, 5)))
        half, middle = layer(torch.zeros(2, 4, 3))
        again, _ = layer(torch.zeros(2, 3, 3), middle)
        whole, _ = layer(torch.zeros(2, 7, 3))
        np.testing.assert_allclose(again.detach().numpy(), whole[:, 4:].detach().numpy(), rtol=1e-5, atol=1e-7)

    def test_embedding(self):
        table = nn.Embedding(10, 3, padding_idx=0)
        self.assertEqual(table(torch.tensor([[1, 0]])).shape, (1, 2, 3))
        self.assertEqual(table.weight[0].tolist(), [0.0] * 3)
        with self.assertRaisesRegex(wick.InvalidArgument, "10"):
            table(torch.tensor([10]))

    def test_linear_is_its_formula(self):
        layer = nn.Linear(4, 3)
        want = X @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        np.testing.assert_allclose(layer(torch.from_numpy(X)).detach().numpy(), want, rtol=1e-5, atol=1e-6)

    def test_dropout(self):
        torch.manual_seed(0)
        layer = nn.Dropout(0.25)
        kept = layer(torch.ones(10000)).numpy()
        self.assertAlmostEqual((kept == 0).mean(), 0.25, delta=0.02)
        self.assertEqual(set(np.round(kept, 4)), {0.0, np.float32(1.3333)})
        self.assertEqual(layer.eval()(torch.ones(10)).tolist(), [1.0] * 10)

    def test_padding_mode(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "'circular'"):
            nn.Conv2d(1, 1, 3, padding_mode="mirror")

    @each(
        ("cross_entropy", nn.CrossEntropyLoss(), F.cross_entropy, lambda: torch.tensor([0, 1, 2, 3, 0])),
        ("smoothed", nn.CrossEntropyLoss(label_smoothing=0.1), lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), lambda: torch.tensor([0, 1, 2, 3, 0])),
        ("weighted", nn.CrossEntropyLoss(torch.tensor([1.0, 2, 3, 4])), lambda x, y: F.cross_entropy(x, y, torch.tensor([1.0, 2, 3, 4])), lambda: torch.tensor([0, 1, 2, 3, 0])),
        ("mse", nn.MSELoss(), F.mse_loss, lambda: torch.ones(5, 4)),
        ("mse_sum", nn.MSELoss(reduction="sum"), lambda x, y: F.mse_loss(x, y, reduction="sum"), lambda: torch.ones(5, 4)),
        ("l1", nn.L1Loss(), F.l1_loss, lambda: torch.ones(5, 4)),
        ("bce", nn.BCEWithLogitsLoss(), F.binary_cross_entropy_with_logits, lambda: torch.ones(5, 4)),
    )
    def test_losses(self, module, function, target):
        x = torch.from_numpy(X)
        self.assertEqual(module(x, target()).item(), function(x, target()).item())

    def test_cross_entropy_is_its_formula(self):
        logs = X - np.log(np.exp(X).sum(1, keepdims=True))
        got = F.cross_entropy(torch.from_numpy(X), torch.tensor([0, 1, 2, 3, 0])).item()
        self.assertAlmostEqual(got, -logs[range(5), [0, 1, 2, 3, 0]].mean(), places=5)
        ignored = F.cross_entropy(torch.from_numpy(X), torch.tensor([0, 1, -100, 3, 0])).item()
        self.assertAlmostEqual(ignored, -logs[[0, 1, 3, 4], [0, 1, 3, 0]].mean(), places=5)


def quadratic(make, steps=3):
    """The path of p under the gradient of p^2 / 2, which is p."""
    p = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = make([p])
    for _ in range(steps):
        optimizer.zero_grad()
        (p * p / 2).sum().backward()
        optimizer.step()
    return p.detach().numpy()


def by_hand(update, steps=3):
    p, state = np.float64([1, -2]), {}
    for k in range(steps):
        p = update(p, p.copy(), state, k + 1)
    return p


def momentum(p, g, s, k):
    s["b"] = g if k == 1 else 0.9 * s["b"] + g
    return p - 0.1 * s["b"]


def nesterov(p, g, s, k):
    s["b"] = g if k == 1 else 0.9 * s["b"] + g
    return p - 0.1 * (g + 0.9 * s["b"])


def adam(p, g, s, k, decay=0.0):
    p = p * (1 - 0.1 * decay)
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    return p - 0.1 * (s["m"] / (1 - 0.9**k)) / (np.sqrt(s["v"] / (1 - 0.999**k)) + 1e-8)


def rmsprop(p, g, s, k):
    s["v"] = 0.99 * s.get("v", 0) + 0.01 * g * g
    return p - 0.1 * g / (np.sqrt(s["v"]) + 1e-8)


@spread
class Optimizers(Case):
    @each(
        ("sgd", lambda p: optim.SGD(p, 0.1), lambda p, g, s, k: p - 0.1 * g),
        ("decay", lambda p: optim.SGD(p, 0.1, weight_decay=0.5), lambda p, g, s, k: p - 0.1 * (g + 0.5 * p)),
        ("momentum", lambda p: optim.SGD(p, 0.1, 0.9), momentum),
        ("nesterov", lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), nesterov),
        ("maximize", lambda p: optim.SGD(p, 0.1, maximize=True), lambda p, g, s, k: p + 0.1 * g),
        ("adam", lambda p: optim.Adam(p, 0.1), adam),
        ("adamw", lambda p: optim.AdamW(p, 0.1, weight_decay=0.3), lambda p, g, s, k: adam(p, g, s, k, 0.3)),
        ("rmsprop", lambda p: optim.RMSprop(p, 0.1), rmsprop),
    )
    def test_path(self, make, update):
        np.testing.assert_allclose(quadratic(make), by_hand(update), rtol=2e-5, atol=1e-7)

    def test_groups(self):
        a, b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
        optimizer = optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=0.1)
        (a + b).sum().backward()
        optimizer.step()
        np.testing.assert_allclose([a.item(), b.item()], [0.9, 0.0], atol=1e-6)
        optimizer.param_groups[0]["lr"] = 0.5
        optimizer.step()
        np.testing.assert_allclose([a.item(), b.item()], [0.4, -1.0], atol=1e-6)

    def test_every_option_of_a_group_counts(self):
        a, b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
        first = optim.SGD([a], 0.1)
        first.param_groups[0].update(weight_decay=0.5, momentum=0.9)
        second = optim.SGD([b], 0.1, weight_decay=0.5, momentum=0.9)
        for optimizer, p in ((first, a), (second, b)):
            for _ in range(3):
                optimizer.zero_grad()
                (p * p).sum().backward()
                optimizer.step()
        self.assertBits(a.detach().numpy(), b.detach().numpy())
        first.param_groups[0]["momentum"] = -1
        before = a.item()
        with self.assertRaisesRegex(wick.InvalidArgument, "momentum"):
            first.step()
        self.assertEqual(a.item(), before)

    @each(
        ("appended", lambda o: o.param_groups[0]["params"].append(nn.Parameter(torch.ones(1)))),
        ("replaced", lambda o: o.param_groups[0].update(params=[nn.Parameter(torch.ones(1))])),
        ("group", lambda o: o.param_groups.append(dict(o.param_groups[0]))),
        ("text", lambda o: o.param_groups[0].update(lr="fast")),
    )
    def test_what_a_group_cannot_become(self, change):
        optimizer = optim.SGD([nn.Parameter(torch.ones(1))], 0.1)
        change(optimizer)
        with self.assertRaisesRegex(wick.InvalidArgument, r"\[SGD\]"):
            optimizer.step()

    def test_options_come_back_with_the_state(self):
        p = nn.Parameter(torch.ones(1))
        first = optim.Adam([p], 0.1)
        first.param_groups[0].update(lr=0.05, betas=(0.8, 0.99))  # before any step
        second = optim.Adam([p], 0.1)
        second.load_state_dict(first.state_dict())
        self.assertEqual((second.param_groups[0]["lr"], second.param_groups[0]["betas"]), (0.05, (0.8, 0.99)))

    @each(("none", None), ("module", nn.Linear(1, 1).state_dict()), ("other", {"state": {0: {}}, "param_groups": []}))
    def test_no_state(self, state):
        with self.assertRaisesRegex(wick.InvalidArgument, r"\[SGD\]"):
            optim.SGD([nn.Parameter(torch.ones(1))]).load_state_dict(state)

    def test_closure(self):
        p = nn.Parameter(torch.ones(1))
        optimizer = optim.SGD([p], 0.1)

        def closure():
            optimizer.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        with torch.no_grad():
            self.assertEqual(optimizer.step(closure).item(), 1)
        self.assertAlmostEqual(p.item(), 0.8, places=6)

    def test_state(self):
        def make(p):
            return optim.Adam([p], 0.1)

        def step(optimizer, p):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()

        p = nn.Parameter(torch.ones(2))
        first = make(p)
        step(first, p)
        q = nn.Parameter(p.clone())
        second = make(q)
        second.load_state_dict(first.state_dict())
        for _ in range(3):
            step(first, p)
            step(second, q)
        self.assertBits(q.detach().numpy(), p.detach().numpy())

    @each(
        ("none", lambda: optim.SGD([])),
        ("tensor", lambda: optim.SGD(nn.Parameter(torch.ones(2)))),
        ("number", lambda: optim.SGD([3])),
        ("no_group", lambda: optim.SGD([{"parameters": []}])),
        ("three_betas", lambda: optim.Adam([nn.Parameter(torch.ones(1))], betas=(0.9, 0.9, 0.9))),
        ("lr", lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=-1)),
        ("betas", lambda: optim.Adam([nn.Parameter(torch.ones(1))], betas=(0.9, 1.5))),
        ("nesterov", lambda: optim.SGD([nn.Parameter(torch.ones(1))], 0.1, nesterov=True)),
        ("option", lambda: optim.SGD([{"params": [nn.Parameter(torch.ones(1))], "beta": 1}], 0.1)),
    )
    def test_wrong(self, make):
        with self.assertRaises(wick.InvalidArgument):
            make()

    @each(
        ("step", lambda o: optim.lr_scheduler.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
        ("multi", lambda o: optim.lr_scheduler.MultiStepLR(o, [1, 3], 0.1), [1, 0.1, 0.1, 0.01, 0.01]),
        ("exponential", lambda o: optim.lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        ("cosine", lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 4), [1, 0.853553, 0.5, 0.146447, 0]),
        ("lambda", lambda o: optim.lr_scheduler.LambdaLR(o, lambda e: e + 1), [1, 2, 3, 4, 5]),
    )
    def test_schedule(self, make, want):
        optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
        schedule, got = make(optimizer), []
        for _ in want:
            got += schedule.get_last_lr()
            schedule.step()
        np.testing.assert_allclose(got, want, atol=1e-6)

    def test_two_schedules(self):
        optimizer, got = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0), []
        schedules = [optim.lr_scheduler.ExponentialLR(optimizer, 0.5), optim.lr_scheduler.StepLR(optimizer, 2, 0.1)]
        for _ in range(5):
            got.append(optimizer.param_groups[0]["lr"])
            for schedule in schedules:
                schedule.step()
        np.testing.assert_allclose(got, [1, 0.5, 0.025, 0.0125, 0.000625])

    def test_a_schedule_goes_on(self):
        def make():
            optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
            return optimizer, optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        first, schedule = make()
        for _ in range(5):
            schedule.step()
        states = first.state_dict(), schedule.state_dict()
        for both in (True, False):
            second, again = make()
            if both:
                second.load_state_dict(states[0])
            again.load_state_dict(states[1])
            self.assertEqual(second.param_groups[0]["lr"], 0.25)
            again.step()
            self.assertEqual(second.param_groups[0]["lr"], 0.125)

    @each(
        ("step", lambda o: optim.lr_scheduler.StepLR(o, 0)),
        ("period", lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 0)),
        ("no_initial", lambda o: optim.lr_scheduler.StepLR(o, 1, last_epoch=3)),
        ("functions", lambda o: optim.lr_scheduler.LambdaLR(o, [lambda e: 1, lambda e: 1])),
    )
    def test_no_schedule(self, make):
        with self.assertRaises(wick.InvalidArgument):
            make(optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0))

    def test_a_training_goes_on_from_a_file(self):
        path = os.path.join(self.folder(), "checkpoint.safetensors")
        x, y = torch.from_numpy(X), torch.from_numpy(X[:, :3])

        def made():
            net = Net()
            adam = optim.Adam([{"params": net.first.parameters(), "lr": 0.1}, {"params": [net.scale]}], betas=(0.8, 0.9))
            return net, adam, optim.lr_scheduler.StepLR(adam, 2, gamma=0.5)

        def step(net, adam, schedule):
            adam.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            adam.step()
            schedule.step()
            return loss.item()

        first = made()
        for _ in range(3):
            step(*first)
        names = ("model", "optimizer", "schedule")
        torch.save({**{n: part.state_dict() for n, part in zip(names, first)}, "epoch": 3, "seen": ["a", ("b", None)]}, path)
        second = made()
        saved = torch.load(path)
        for n, part in zip(names, second):
            part.load_state_dict(saved[n])
        self.assertEqual((saved["epoch"], saved["seen"]), (3, ["a", ("b", None)]))
        self.assertEqual([step(*first) for _ in range(3)], [step(*second) for _ in range(3)])
        self.assertEqual([g["betas"] for g in second[1].param_groups], [(0.8, 0.9)] * 2)

    def test_clipping(self):
        p = nn.Parameter(torch.zeros(2))
        (p * torch.tensor([3.0, 4.0])).sum().backward()
        norm = nn.utils.clip_grad_norm_([p], 1.0)
        self.assertEqual((type(norm), norm.shape, norm.dtype), (torch.Tensor, (), torch.float32))
        self.assertEqual((norm.item(), float(norm), f"{norm:.2f}", bool(norm > 4)), (5.0, 5.0, "5.00", True))
        np.testing.assert_allclose(p.grad.numpy(), [0.6, 0.8], rtol=1e-5)
        nn.utils.clip_grad_value_([p], 0.7)
        np.testing.assert_allclose(p.grad.numpy(), [0.6, 0.7], rtol=1e-5)


    def test_the_norm_of_gradients(self):
        p = nn.Parameter(torch.tensor([0.1, 0.7], dtype=torch.float64))
        self.assertEqual(nn.utils.clip_grad_norm_(p, 1.0).item(), 0.0)  # there is no gradient yet
        (p * p).sum().backward()
        norm = nn.utils.clip_grad_norm_([p], 9.0)
        self.assertEqual((norm.dtype, norm.requires_grad), (torch.float64, False))
        self.assertAlmostEqual(norm.item(), 2 * (0.1**2 + 0.7**2) ** 0.5, places=14)
        self.assertEqual(nn.utils.clip_grad_norm_(iter([p]), 9.0, float("inf")).item(), p.grad.abs().max().item())


class Squares(data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return np.float32([i]), i * i


@spread
class Data(Case):
    @each(*((f"{w}_workers", w) for w in (0, 1, 3)))
    def test_batches(self, workers):
        loader = data.DataLoader(Squares(), batch_size=4, num_workers=workers)
        got = [(x.tolist(), y.tolist()) for x, y in loader]
        self.assertEqual(len(loader), 3)
        self.assertEqual(got[2], ([[8.0], [9.0]], [64, 81]))
        self.assertEqual([len(y) for _, y in got], [4, 4, 2])
        torch.manual_seed(5)
        first = [y.tolist() for _, y in data.DataLoader(Squares(), 4, shuffle=True, num_workers=workers)]
        torch.manual_seed(5)
        self.assertEqual(first, [y.tolist() for _, y in data.DataLoader(Squares(), 4, True)])
        self.assertEqual(sorted(sum(first, [])), [i * i for i in range(10)])

    @each(*((f"{w}_workers", w) for w in (0, 1, 3, 8)))
    def test_items_that_draw(self, workers):
        class Noisy(data.Dataset):
            def __len__(self):
                return 24

            def __getitem__(self, i):
                time.sleep((i * 7 % 5) / 2000)  # threads come to them in another order each time
                more = np.random.default_rng(torch.initial_seed()).random()
                return torch.rand(2), torch.randn(1), more

        def mixed(items):
            parts = data.default_collate(items)
            return [(p + torch.rand(1)).tolist() for p in parts]

        def epochs(workers, collate=None):
            torch.manual_seed(5)
            loader = data.DataLoader(Noisy(), 5, shuffle=True, num_workers=workers, collate_fn=collate)
            drawn = [[[torch.as_tensor(p).tolist() for p in parts] for parts in loader] for _ in range(2)]
            return drawn, torch.rand(3).tolist()  # what follows is the same, too

        for collate in (None, mixed):
            got = epochs(workers, collate)
            self.assertEqual(got, epochs(0, collate))
            numbers = [n for epoch in got[0] for batch in epoch for n in np.ravel(batch[1]).tolist()]
            self.assertEqual(len(set(numbers)), 48)  # of every item and epoch

    def test_a_seed_that_an_item_sets_is_its_own(self):
        class Seeding(Squares):
            def __getitem__(self, i):
                torch.manual_seed(1)
                return torch.rand(1)

        torch.manual_seed(5)
        drawn = np.ravel([b.tolist() for b in data.DataLoader(Seeding(), 5, num_workers=2)]).tolist()
        self.assertEqual((len(set(drawn)), torch.initial_seed()), (1, 5))

    def test_drop_last(self):
        loader = data.DataLoader(Squares(), 4, drop_last=True)
        self.assertEqual((len(loader), len(list(loader))), (2, 2))

    def test_a_worker_that_fails(self):
        class Bad(Squares):
            def __getitem__(self, i):
                return 1 // (i - 5)

        with self.assertRaises(ZeroDivisionError):
            list(data.DataLoader(Bad(), 2, num_workers=2))

    def test_tensors_and_parts(self):
        rows = data.TensorDataset(torch.arange(6), torch.arange(6) * 2)
        self.assertEqual([x.tolist() for x, _ in data.DataLoader(rows, 4)], [[0, 1, 2, 3], [4, 5]])
        parts = data.random_split(rows, [4, 2])
        self.assertEqual(sorted(int(p[i][0]) for p in parts for i in range(len(p))), list(range(6)))
        with self.assertRaises(wick.InvalidArgument):
            data.random_split(rows, [1, 2])
        with self.assertRaises(wick.InvalidArgument):
            data.TensorDataset(torch.zeros(2), torch.zeros(3))

    def test_a_class_that_makes_other_items(self):
        class Numbered(data.TensorDataset):
            def __getitem__(self, i):
                return (*super().__getitem__(i), i)

        rows = Numbered(torch.arange(5) * 2)
        got = [(x.tolist(), n.tolist()) for x, n in data.DataLoader(rows, 3)]
        self.assertEqual(got, [([0, 2, 4], [0, 1, 2]), ([6, 8], [3, 4])])

    def test_parts_of_other_kinds(self):
        import collections

        pair = collections.namedtuple("pair", "x y")
        made = data.default_collate([pair(1, 2.0), pair(3, 4.0)])
        self.assertEqual((type(made), made.x.tolist(), made.y.tolist()), (pair, [1, 3], [2.0, 4.0]))
        with self.assertRaisesRegex(wick.InvalidArgument, "parts"):
            data.default_collate([(1, 2), (3,)])

    @each(
        ("dicts", [{"a": 1}, {"a": 2}], lambda b: b["a"].tolist() == [1, 2]),
        ("floats", [0.5, 1.5], lambda b: b.dtype == torch.float32),
        ("bools", [True, False], lambda b: b.dtype == torch.bool),
        ("int_and_float", [1, 2.5], lambda b: b.tolist() == [1, 2.5]),
        ("bool_and_int", [True, 2], lambda b: b.tolist() == [1, 2]),
        ("swapped_bytes", [np.array([1.5], ">f4"), np.array([2.5], "<f4")], lambda b: b.tolist() == [[1.5], [2.5]]),
        ("texts", ["a", "b"], lambda b: b == ["a", "b"]),
        ("tensors", [torch.zeros(2), torch.ones(2)], lambda b: b.shape == (2, 2)),
    )
    def test_collate(self, items, right):
        self.assertTrue(right(data.default_collate(items)))

    @each(("batch", {"batch_size": 0}), ("workers", {"num_workers": -1}))
    def test_wrong(self, options):
        with self.assertRaises(wick.InvalidArgument):
            data.DataLoader(Squares(), **options)


@spread
class Whole(Case):
    """From a module in Python to a file that runs."""

    def trained(self):
        torch.manual_seed(0)
        x = torch.randn(256, 2)
        y = ((x[:, 0] * x[:, 1]) > 0).long()
        net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        adam_ = optim.Adam(net.parameters(), lr=0.02)
        loader = data.DataLoader(data.TensorDataset(x, y), 64, shuffle=True)
        for _ in range(60):
            for a, b in loader:
                adam_.zero_grad()
                F.cross_entropy(net(a), b).backward()
                adam_.step()
        return net, x, y

    def test_it_learns_and_again_with_the_same_bits(self):
        net, x, y = self.trained()
        self.assertGreater((net(x).argmax(1) == y).float().mean().item(), 0.97)
        again, _, _ = self.trained()
        for a, b in zip(net.parameters(), again.parameters()):
            self.assertBits(a.detach().numpy(), b.detach().numpy())

    def test_export(self):
        net, x, _ = self.trained()
        for name in ("net.wick", "net.onnx"):
            path = os.path.join(self.folder(), name)
            torch.export(net, {"x": x[:2]}, path, dynamic={"x": {0: "batch"}}, outputs=["logits"], labels=["no", "yes"])
            if name.endswith("onnx") and not os.path.isfile(os.environ.get("WICK_PROGRAM", "")):
                continue
            model = wick.load(path)
            self.assertEqual((model.inputs[0].shape, model.outputs[0].name), (["batch", 2], "logits"))
            self.assertEqual(model.labels, ["no", "yes"])
            for rows in (1, 7, 256):
                self.assertBits(model(x[:rows].numpy()), net(x[:rows]).detach().numpy())
        self.assertTrue(net.training)

    def test_export_of_convolutions_and_buffers(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 4, 3, padding=1)
                self.norm = nn.BatchNorm2d(4)
                self.head = nn.Linear(4, 3)
                self.drop = nn.Dropout(0.5)

            def forward(self, x):
                return self.head(self.drop(torch.relu(self.norm(self.conv(x))).mean((2, 3))))

        net, x = Net(), torch.randn(6, 1, 8, 8)
        net(x)
        path = os.path.join(self.folder(), "net.wick")
        torch.export(net, {"x": x[:2]}, path, dynamic={"x": {0: "n"}})
        self.assertBits(wick.load(path)(x.numpy()), net.eval()(x).detach().numpy())

    def test_export_thaws_nothing(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        net[0].requires_grad_(False)
        path = os.path.join(self.folder(), "net.wick")
        torch.export(net, {"x": torch.zeros(1, 2)}, path)
        self.assertEqual([p.requires_grad for p in net.parameters()], [False, False, True, True])
        x = torch.randn(1, 2)
        self.assertBits(wick.load(path)(x.numpy()), net(x).detach().numpy())

    @each(
        ("ending", lambda p: torch.export(Net(), {"x": torch.ones(2, 4)}, p + ".txt"), wick.InvalidArgument, "must end in"),
        ("example", lambda p: torch.export(Net(), {"x": np.ones((2, 4))}, p + ".wick"), wick.TypeMismatch, "must be a tensor"),
        ("size", lambda p: torch.export(Net(), {"x": torch.ones(2, 4)}, p + ".wick", dynamic={"x": {0: 3}}), wick.InvalidArgument, "dynamic size"),
        ("labels", lambda p: torch.export(Net(), {"x": torch.ones(2, 4)}, p + ".wick", labels="cat"), wick.InvalidArgument, "list of names"),
    )
    def test_wrong_exports(self, call, kind, text):
        with self.assertRaisesRegex(kind, text):
            call(os.path.join(self.folder(), "net"))

    def test_a_forward_that_returns_no_tensors(self):
        class Named(nn.Module):
            def forward(self, x):
                return {"y": x}

        with self.assertRaisesRegex(wick.TypeMismatch, "returns a dict"):
            torch.export(Named(), {"x": torch.ones(3)}, os.path.join(self.folder(), "n.wick"))

    def test_two_inputs_and_outputs(self):
        class Both(nn.Module):
            def forward(self, a, b):
                return a + b, a * b

        path = os.path.join(self.folder(), "both.wick")
        torch.export(Both(), {"a": torch.zeros(3), "b": torch.zeros(3)}, path, outputs=["sum", "product"])
        total, product = wick.load(path)(np.float32([1, 2, 3]), np.float32([4, 5, 6]))
        self.assertEqual((total.tolist(), product.tolist()), ([5.0, 7.0, 9.0], [4.0, 10.0, 18.0]))

    def test_sizes_that_python_reads(self):
        class Sized(nn.Module):
            def forward(self, x):
                rows, steps, width = x.shape
                return x.view(rows * steps, width).sum(1).view(rows, steps) / steps

        net, path = Sized(), os.path.join(self.folder(), "sized.wick")
        sizes = {"x": {0: ("rows", 1, 64), 1: ("steps", 1, 64)}}
        torch.export(net, {"x": torch.zeros(2, 3, 4)}, path, dynamic=sizes)
        model = wick.load(path)
        for rows, steps in ((1, 1), (2, 3), (5, 17), (64, 64)):
            x = torch.randn(rows, steps, 4)
            self.assertBits(model(x.numpy()), net(x).numpy())

    @each(
        ("branch", lambda x: x * 2 if x.shape[0] > 4 else x),
        ("loop", lambda x: [x + i for i in range(x.size(0))][-1] if x.size(0) > 1 else x),
    )
    def test_a_branch_on_a_size_is_an_error(self, f):
        class Branch(nn.Module):
            def forward(self, x):
                return f(x)

        with self.assertRaisesRegex(wick.InvalidArgument, "depends on data or on a dynamic size") as caught:
            torch.export(Branch(), {"x": torch.ones(2, 3)}, os.path.join(self.folder(), "b.wick"), dynamic={"x": {0: "n"}})
        self.assertNotIn("tensor.cc", str(caught.exception))

    def test_dynamic_names_an_input(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "'y', which is no input"):
            torch.export(Net(), {"x": torch.ones(2, 4)}, os.path.join(self.folder(), "b.wick"), dynamic={"y": {0: "n"}})

    def test_a_branch_on_data_is_an_error(self):
        class Branch(nn.Module):
            def forward(self, x):
                return x * 2 if x.sum().item() > 0 else x

        with self.assertRaises(wick.Error):
            torch.export(Branch(), {"x": torch.ones(3)}, os.path.join(self.folder(), "b.wick"))

    def test_an_error_in_forward_passes(self):
        class Bad(nn.Module):
            def forward(self, x):
                raise KeyError("mine")

        net = Bad()
        with self.assertRaises(KeyError):
            torch.export(net, {"x": torch.ones(3)}, os.path.join(self.folder(), "b.wick"))
        self.assertTrue(net.training)


class WithoutIt(Case):
    def test_it_is_said(self):
        import subprocess
        import sys

        environ = {**os.environ, "PYTHONPATH": os.path.join(support.ROOT, "python")}
        done = subprocess.run([sys.executable, "-c", "import wick.train"], env=environ, capture_output=True, text=True, check=False)
        self.assertIn("wick.train is not in this package", done.stderr)


if __name__ == "__main__":
    support.unittest.main()

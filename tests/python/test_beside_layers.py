"""Layers, optimizers and distributions of wick.train beside torch's, from the same weights. Needs torch, as test_beside_torch."""

import unittest

import support
from support import Case, each, spread

import numpy as np
import torch
import torch.distributions

mine = support.train()
R = np.random.RandomState(3)


def numbers(*shape):
    return R.randn(*shape).astype(np.float32)


def array(value):
    return value.detach().numpy()


def flat(value):
    """The tensors within tuples."""
    return [t for part in value for t in flat(part)] if isinstance(value, (tuple, list)) else [value]


IMAGE, VOLUME, LINE, STEPS, BAGS = numbers(2, 4, 6, 5), numbers(2, 4, 4, 3, 4), numbers(2, 4, 7), numbers(5, 3, 4), np.int64([[1, 2, 4], [4, 3, 3]])


@spread
class Layers(Case):
    @each(
        ("linear", lambda nn: nn.Linear(4, 3), [numbers(5, 4)]),
        ("bilinear", lambda nn: nn.Bilinear(4, 3, 2), [numbers(5, 4), numbers(5, 3)]),
        ("conv3d", lambda nn: nn.Conv3d(4, 6, (2, 3, 1), stride=(1, 2, 1), padding=1, groups=2), [VOLUME]),
        ("conv_transpose1d", lambda nn: nn.ConvTranspose1d(4, 3, 3, stride=2, output_padding=1), [LINE]),
        ("conv_transpose2d", lambda nn: nn.ConvTranspose2d(4, 2, (3, 2), stride=2, padding=1, dilation=2, bias=False), [IMAGE]),
        ("conv_transpose3d", lambda nn: nn.ConvTranspose3d(4, 2, 2, stride=2), [VOLUME]),
        ("batch_norm3d", lambda nn: nn.BatchNorm3d(4, momentum=0.3), [VOLUME]),
        ("instance_norm1d", lambda nn: nn.InstanceNorm1d(4, affine=True), [LINE]),
        ("instance_norm2d", lambda nn: nn.InstanceNorm2d(4, track_running_stats=True), [IMAGE]),
        ("instance_norm3d", lambda nn: nn.InstanceNorm3d(4), [VOLUME]),
        ("embedding_sums", lambda nn: nn.EmbeddingBag(6, 3, mode="sum"), [BAGS]),
        ("embedding_maxima", lambda nn: nn.EmbeddingBag(6, 3, mode="max"), [BAGS]),
        ("embedding_offsets", lambda nn: nn.EmbeddingBag(6, 3, padding_idx=4), [BAGS.ravel(), np.int64([0, 2, 2])]),
        ("embedding_norm", lambda nn: nn.Embedding(6, 3, max_norm=1.0, scale_grad_by_freq=True), [BAGS]),
        ("rnn_cell", lambda nn: nn.RNNCell(4, 3, nonlinearity="relu"), [numbers(5, 4), numbers(5, 3)]),
        ("gru_cell", lambda nn: nn.GRUCell(4, 3, bias=False), [numbers(5, 4)]),
        ("lstm_cell", lambda nn: nn.LSTMCell(4, 3), [numbers(5, 4), (numbers(5, 3), numbers(5, 3))]),
        ("prelu", lambda nn: nn.PReLU(4), [IMAGE]),
        ("dropout3d", lambda nn: nn.Dropout3d().eval(), [VOLUME]),
        ("encoder", lambda nn: nn.TransformerEncoderLayer(4, 2, 8, 0.0, activation=nn.functional.gelu), [STEPS]),
        ("weight_norm", lambda nn: nn.utils.weight_norm(nn.Linear(4, 3)), [numbers(5, 4)]),
        ("weight_norm_of_a_dim", lambda nn: nn.utils.weight_norm(nn.Conv2d(4, 2, 3), dim=1), [IMAGE]),
        ("weight_norm_of_all", lambda nn: nn.utils.weight_norm(nn.ConvTranspose1d(4, 2, 3), dim=None), [LINE]),
        ("spectral_norm", lambda nn: nn.utils.spectral_norm(nn.Conv1d(4, 2, 3), n_power_iterations=2), [LINE]),
        ("spectral_norm_transposed", lambda nn: nn.utils.spectral_norm(nn.ConvTranspose2d(4, 2, 3)), [IMAGE]),
        ("spectral_norm_in_eval", lambda nn: nn.utils.spectral_norm(nn.Linear(4, 2)).eval(), [numbers(5, 4)]),
    )
    def test_outputs_and_gradients(self, make, inputs):
        torch.manual_seed(1)
        theirs, own = make(torch.nn), make(mine.nn)
        self.assertEqual(list(own.state_dict()), list(theirs.state_dict()))
        own.load_state_dict({n: mine.from_numpy(t.numpy().copy()) for n, t in theirs.state_dict().items()})

        def run(layer, of):
            given = [tuple(map(of, i)) if isinstance(i, tuple) else of(i) for i in inputs]
            leaves = [x.requires_grad_() for x in flat(given) if x.is_floating_point()]
            outputs = flat(layer(*given))
            sum((o * o).sum() for o in outputs).backward()
            return [*outputs, *(x.grad for x in leaves), *(p.grad for p in layer.parameters()), *layer.buffers()]

        got, want = run(own, lambda a: mine.from_numpy(a.copy())), run(theirs, lambda a: torch.from_numpy(a.copy()))
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            np.testing.assert_allclose(array(a), array(b), rtol=2e-4, atol=2e-5)

    @each(*((f"{kind}_{word}", kind.upper(), ordered) for kind in ("rnn", "gru", "lstm") for word, ordered in (("sorted", True), ("not_sorted", False))))
    def test_packed_sequences(self, kind, ordered):
        lengths, x = ([5, 3, 2], STEPS) if ordered else ([2, 5, 3], STEPS)
        torch.manual_seed(1)
        theirs, own = (getattr(of.nn, kind)(4, 3, num_layers=2, bidirectional=True) for of in (torch, mine))
        own.load_state_dict({n: mine.from_numpy(t.numpy().copy()) for n, t in theirs.state_dict().items()})

        def run(layer, nn, given):
            rnn = nn.utils.rnn
            packed = rnn.pack_padded_sequence(given, lengths, enforce_sorted=ordered)
            output, state = layer(packed)
            return [packed.data, packed.batch_sizes, *rnn.pad_packed_sequence(output, total_length=6), *flat(state)]

        got, want = run(own, mine.nn, mine.from_numpy(x)), run(theirs, torch.nn, torch.from_numpy(x))
        for a, b in zip(got, want):
            np.testing.assert_allclose(array(a), array(b), rtol=2e-4, atol=2e-5)


@spread
class Steps(Case):
    @each(
        ("asgd", lambda o, p, q: o.ASGD([p], lr=0.1, t0=2)),
        ("rprop", lambda o, p, q: o.Rprop([p], lr=0.05, etas=(0.4, 1.3))),
        ("adam_in_two_groups", lambda o, p, q: added(o.Adam([p], lr=0.1, foreach=False), {"params": [q], "lr": 0.01})),
        ("sgd_in_two_groups", lambda o, p, q: added(o.SGD([p], lr=0.1, momentum=0.9), {"params": q, "momentum": 0.5})),
    )
    def test_optimizers(self, make):
        ends = []
        for of in (mine, torch):
            p, q = (of.from_numpy(np.float32([1, -2, 3])).requires_grad_() for _ in range(2))
            optimizer = make(of.optim, p, q)
            for _ in range(8):
                optimizer.zero_grad()
                ((p * p * 0.5 + p.sin()).sum() + (q**4).sum() * 0.1).backward()
                optimizer.step()
            ends.append([array(p), array(q)])
        np.testing.assert_allclose(ends[0], ends[1], rtol=1e-5, atol=1e-6)

    def test_averages(self):
        ends = []
        for of in (mine, torch):
            net = of.nn.Sequential(of.nn.Linear(2, 2), of.nn.BatchNorm1d(2))
            net.load_state_dict({n: of.from_numpy(np.resize([0.5, 1, -0.25, 2], v.shape).astype(v.numpy().dtype)) for n, v in net.state_dict().items()})
            utils = __import__(f"{of.__name__}.optim.swa_utils", fromlist=["x"])
            mean, optimizer = utils.AveragedModel(net), of.optim.SGD(net.parameters(), lr=0.1)
            schedule = utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=3)
            rates, x = [], of.from_numpy(np.float32([[1, 2], [3, -1], [0, 2]]))
            for _ in range(5):
                optimizer.zero_grad()
                ((net(x) - 1) ** 2).sum().backward()
                optimizer.step()
                schedule.step()
                rates.append(optimizer.param_groups[0]["lr"])
                mean.update_parameters(net)
            utils.update_bn([x, x * 2], mean)
            ends.append([rates, *(array(v) for v in mean.state_dict().values())])
        for a, b in zip(*ends):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def added(optimizer, group):
    optimizer.add_param_group(group)
    return optimizer


@spread
class Draws(Case):
    @each(
        ("normal", lambda d: d.Normal(1.0, 2.0)),
        ("log_normal", lambda d: d.LogNormal(0.0, 0.3)),
        ("uniform", lambda d: d.Uniform(-1.0, 3.0)),
        ("laplace", lambda d: d.Laplace(1.0, 2.0)),
        ("exponential", lambda d: d.Exponential(2.0)),
        ("gamma", lambda d: d.Gamma(2.0, 3.0)),
        ("chi2", lambda d: d.Chi2(3.0)),
        ("beta", lambda d: d.Beta(2.0, 3.0)),
        ("poisson", lambda d: d.Poisson(3.0)),
        ("bernoulli", lambda d: d.Bernoulli(0.3)),
        ("geometric", lambda d: d.Geometric(0.4)),
        ("gumbel", lambda d: d.Gumbel(1.0, 2.0)),
        ("half_normal", lambda d: d.HalfNormal(2.0)),
        ("student", lambda d: d.StudentT(6.0, 1.0, 2.0)),
        ("binomial", lambda d: d.Binomial(5, torch_of(d).tensor(0.3))),
        ("multinomial", lambda d: d.Multinomial(5, torch_of(d).tensor([0.2, 0.3, 0.5]))),
        ("dirichlet", lambda d: d.Dirichlet(torch_of(d).tensor([1.0, 2.0, 3.0]))),
        ("mixture", lambda d: d.MixtureSameFamily(d.Categorical(torch_of(d).tensor([0.3, 0.7])), d.Normal(torch_of(d).tensor([-1.0, 2.0]), 0.5))),
    )
    def test_moments(self, make):
        """The formulas are torch's, and draws have these moments; also their logarithms of probability."""
        mine.manual_seed(7)
        torch.manual_seed(7)
        own, theirs = make(mine.distributions), make(torch.distributions)
        mean, deviation = array(theirs.mean), array(theirs.variance) ** 0.5
        np.testing.assert_allclose(array(own.mean), mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(array(own.stddev), deviation, rtol=1e-4, atol=1e-5)
        drawn = array(own.sample((20000,)))
        self.assertEqual(drawn.shape, (20000, *theirs.mean.shape))
        np.testing.assert_array_less(abs(drawn.mean(0) - mean), 6 * deviation / 20000**0.5)
        value = theirs.sample((50,)).numpy()
        np.testing.assert_allclose(array(own.log_prob(mine.from_numpy(value))), array(theirs.log_prob(torch.from_numpy(value))), rtol=2e-4, atol=2e-4)
        self.assertEqual((own.batch_shape, own.event_shape), (tuple(theirs.batch_shape), tuple(theirs.event_shape)))


def torch_of(distributions):
    return torch if distributions is torch.distributions else mine


if __name__ == "__main__":
    unittest.main()

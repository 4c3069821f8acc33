#!/usr/bin/python3
"""Writes goldens/distributions.txt: what PyTorch (Debian's python3-torch, 1.13) says in float64 of log_prob, entropy,
mean, variance and kl_divergence of each family, and their gradients; and the pathwise derivative of gamma draws by
mpmath (Debian's python3-mpmath), which differentiates the regularized incomplete gamma function with 40 digits.

case FAMILY, then lines "KEY SHAPE numbers": p0, p1 the parameters, q0, q1 those of the other distribution, value, the
    results, and "grad.RESULT.OF": the gradient of sum(weights * RESULT) with respect to a parameter or the value
slope ALPHA LOG_Z number
"""

import math
import os

import mpmath
import torch
import torch.distributions as D
import torch.distributions.transforms as T

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
mpmath.mp.dps = 40
LINES = []


def numbers(shape, seed, low, high):
    """Multiples of 1/128 of the range, the same whenever the script runs."""
    n = math.prod(shape)
    return torch.tensor([low + (high - low) * ((i * 37 + seed * 23) % 101 + 1) / 128 for i in range(n)]).reshape(shape)


def weights(shape):
    return torch.tensor([((i * 7) % 5 - 1.5) / 2 for i in range(math.prod(shape))]).reshape(shape)


def text(t):
    return "[" + ",".join(map(str, t.shape)) + "] " + " ".join(repr(float(v)) for v in t.detach().reshape(-1))


def line(key, t):
    LINES.append(f"{key} {text(t)}")


def spd(batch, n, seed):
    a = numbers((*batch, n, n), seed, -1, 1)
    return a @ a.transpose(-2, -1) + torch.eye(n)


def tril(batch, n, seed):
    return torch.linalg.cholesky(spd(batch, n, seed))


FAMILIES = {
    "Normal": D.Normal,
    "Uniform": D.Uniform,
    "Exponential": D.Exponential,
    "Gamma": D.Gamma,
    "Dirichlet": D.Dirichlet,
    "Beta": D.Beta,
    "Bernoulli": lambda p: D.Bernoulli(probs=p),
    "BernoulliLogits": lambda p: D.Bernoulli(logits=p),
    "Categorical": lambda p: D.Categorical(probs=p),
    "CategoricalLogits": lambda p: D.Categorical(logits=p),
    "MultivariateNormal": lambda m, c: D.MultivariateNormal(m, covariance_matrix=c),
    "MultivariateNormalTril": lambda m, c: D.MultivariateNormal(m, scale_tril=c),
    "Laplace": D.Laplace,
    "LogNormal": D.LogNormal,
    "Geometric": lambda p: D.Geometric(probs=p),
    "GeometricLogits": lambda p: D.Geometric(logits=p),
    "Poisson": D.Poisson,
    "OneHotCategorical": lambda p: D.OneHotCategorical(probs=p),
    "OneHotCategoricalLogits": lambda p: D.OneHotCategorical(logits=p),
    "TanhAffine": lambda m, s: D.TransformedDistribution(D.Normal(m, s), [T.TanhTransform(), T.AffineTransform(0.1, -2.0)]),
    "SigmoidOfLaplace": lambda m, s: D.TransformedDistribution(D.Laplace(m, s), [T.SigmoidTransform()]),
    "ExpOfIndependent": lambda m, s: D.TransformedDistribution(D.Independent(D.Normal(m, s), 1), [T.ExpTransform()]),
    "AffineOfNormal": lambda m, s: D.TransformedDistribution(
        D.Normal(torch.full((2, 3), 0.3), torch.full((2, 3), 0.8)), [T.AffineTransform(m, s)]),
    "Independent": lambda m, s: D.Independent(D.Normal(m, s), 1),
}


def case(family, p, q, value, results=("log_prob", "entropy", "mean", "variance", "kl")):
    LINES.append(f"case {family}")
    made = {}
    leaves = {}
    for side, params in (("p", p), ("q", q)):
        for i, t in enumerate(params):
            t = t.clone().requires_grad_()
            leaves[f"{side}{i}"] = t
            line(f"{side}{i}", t)
        made[side] = FAMILIES[family](*[leaves[f"{side}{i}"] for i in range(len(params))])
    if value.is_floating_point() and made["p"].has_rsample:
        value = value.clone().requires_grad_()
        leaves["value"] = value
    line("value", value)
    compute = {
        "log_prob": lambda: made["p"].log_prob(value),
        "entropy": lambda: made["p"].entropy(),
        "mean": lambda: made["p"].mean,
        "variance": lambda: made["p"].variance,
        "kl": lambda: D.kl_divergence(made["p"], made["q"]),
    }
    for name in results:
        out = compute[name]()
        line(name, out)
        if name in ("mean", "variance") or not out.requires_grad:
            continue
        total = (weights(out.shape) * out).sum()
        grads = torch.autograd.grad(total, list(leaves.values()), allow_unused=True, retain_graph=True)
        for of, g in zip(leaves, grads):
            if g is not None and not g.isnan().any():  # PyTorch has none of xlogy(0, 0)
                line(f"grad.{name}.{of}", g)


case("Normal", [numbers((2, 3), 1, -1, 1), numbers((2, 3), 2, 0.2, 2)], [numbers((3,), 3, -1, 1), numbers((2, 1), 4, 0.2, 2)],
     numbers((4, 2, 3), 5, -3, 3))
case("Normal", [numbers((), 1, -1, 1), numbers((), 2, 0.2, 2)], [numbers((), 3, -1, 1), numbers((), 4, 0.2, 2)], numbers((), 5, -3, 3))
case("Uniform", [numbers((2, 3), 1, -1, 0), numbers((3,), 2, 1, 2)], [numbers((2, 3), 3, -3, -2), numbers((3,), 4, 3, 4)],
     numbers((4, 2, 3), 5, 0, 0.9))
case("Uniform", [numbers((3,), 1, -1, 0), numbers((3,), 2, 1, 2)], [numbers((3,), 3, -0.9, 0), numbers((3,), 4, 3, 4)],
     numbers((3,), 5, 0, 0.9), ("log_prob", "kl"))
case("Exponential", [numbers((2, 3), 1, 0.2, 3)], [numbers((3,), 2, 0.2, 3)], numbers((4, 2, 3), 3, 0, 4))
case("Gamma", [numbers((2, 3), 1, 0.2, 5), numbers((3,), 2, 0.2, 3)], [numbers((2, 3), 3, 0.2, 5), numbers((3,), 4, 0.2, 3)],
     numbers((4, 2, 3), 5, 0.1, 4))
simplex = torch.softmax(numbers((3, 2, 4), 7, -1, 1), -1)
case("Dirichlet", [numbers((2, 4), 1, 0.2, 5)], [numbers((2, 4), 2, 0.2, 5)], simplex)
case("Beta", [numbers((2, 3), 1, 0.2, 5), numbers((3,), 2, 0.2, 5)], [numbers((3,), 3, 0.2, 5), numbers((2, 1), 4, 0.2, 5)],
     numbers((2, 3), 5, 0.05, 0.95))
bits = torch.tensor([0.0, 1, 1, 0, 0, 1]).reshape(2, 3)
case("Bernoulli", [numbers((2, 3), 1, 0.05, 0.95)], [numbers((2, 3), 2, 0.05, 0.95)], bits)
case("Bernoulli", [torch.tensor([0.0, 1, 0.5, 0.0])], [torch.tensor([0.5, 0.5, 0.0, 0.0])], torch.tensor([0.0, 1, 1, 0]), ("log_prob", "mean", "variance", "kl"))
case("BernoulliLogits", [numbers((2, 3), 1, -3, 3)], [numbers((2, 3), 2, -3, 3)], bits)
classes = torch.tensor([0, 3, 1, 2, 2, 3]).reshape(3, 2)
case("Categorical", [numbers((2, 4), 1, 0.1, 3)], [numbers((4,), 2, 0.1, 3)], classes)
case("Categorical", [torch.tensor([0.0, 1, 3])], [torch.tensor([1.0, 0, 2])], torch.tensor(2), ("log_prob", "kl"))
case("CategoricalLogits", [numbers((2, 4), 1, -3, 3)], [numbers((2, 4), 2, -3, 3)], classes)
case("MultivariateNormal", [numbers((2, 3), 1, -1, 1), spd((), 3, 2)], [numbers((3,), 3, -1, 1), spd((), 3, 4)], numbers((4, 2, 3), 5, -2, 2))
case("MultivariateNormalTril", [numbers((3,), 1, -1, 1), tril((2,), 3, 2)], [numbers((3,), 3, -1, 1), tril((2,), 3, 4)],
     numbers((2, 3), 5, -2, 2))
case("Independent", [numbers((2, 3), 1, -1, 1), numbers((2, 3), 2, 0.2, 2)], [numbers((2, 3), 3, -1, 1), numbers((2, 3), 4, 0.2, 2)],
     numbers((4, 2, 3), 5, -3, 3))
case("Laplace", [numbers((2, 3), 1, -1, 1), numbers((3,), 2, 0.2, 2)], [numbers((3,), 3, -1, 1), numbers((2, 1), 4, 0.2, 2)],
     numbers((4, 2, 3), 5, -3, 3))
case("LogNormal", [numbers((2, 3), 1, -1, 1), numbers((2, 3), 2, 0.2, 1)], [numbers((3,), 3, -1, 1), numbers((2, 1), 4, 0.2, 2)],
     numbers((4, 2, 3), 5, 0.1, 3))
counts = torch.tensor([0.0, 3, 1, 12, 2, 0]).reshape(2, 3)
case("Geometric", [numbers((2, 3), 1, 0.05, 0.95)], [numbers((2, 3), 2, 0.05, 0.95)], counts)
case("Geometric", [torch.tensor([1.0, 0.25])], [torch.tensor([0.5, 0.5])], torch.tensor([0.0, 2]), ("log_prob",))
case("GeometricLogits", [numbers((2, 3), 1, -3, 3)], [numbers((2, 3), 2, -3, 3)], counts)
case("Poisson", [numbers((2, 3), 1, 0.2, 30)], [numbers((3,), 2, 0.2, 30)], counts, ("log_prob", "mean", "variance", "kl"))
case("Poisson", [torch.tensor([0.0, 0.0])], [torch.tensor([1.0, 1.0])], torch.tensor([0.0, 2]), ("log_prob",))
hot = torch.nn.functional.one_hot(classes, 4).double()
case("OneHotCategorical", [numbers((2, 4), 1, 0.1, 3)], [numbers((4,), 2, 0.1, 3)], hot)
case("OneHotCategoricalLogits", [numbers((2, 4), 1, -3, 3)], [numbers((4,), 2, -3, 3)], hot)
normal = [numbers((2, 3), 1, -1, 1), numbers((2, 3), 2, 0.2, 2)], [numbers((2, 3), 3, -1, 1), numbers((2, 3), 4, 0.2, 2)]
case("TanhAffine", *normal, numbers((4, 2, 3), 5, -1.8, 2), ("log_prob", "kl"))
case("SigmoidOfLaplace", *normal, numbers((4, 2, 3), 5, 0.02, 0.98), ("log_prob", "kl"))
case("ExpOfIndependent", *normal, numbers((4, 2, 3), 5, 0.1, 3), ("log_prob", "kl"))
case("AffineOfNormal", *normal, numbers((4, 2, 3), 5, -3, 3), ("log_prob",))


def slope(alpha, log_z):
    """d log z / d alpha where P(alpha, z) stays: -(dP / d alpha) / (z p(z)), by the smaller tail."""
    a, z = mpmath.mpf(alpha), mpmath.exp(mpmath.mpf(log_z))
    if z > a:
        by_alpha = -mpmath.diff(lambda t: mpmath.gammainc(t, z, mpmath.inf, regularized=True), a)
    else:
        by_alpha = mpmath.diff(lambda t: mpmath.gammainc(t, 0, z, regularized=True), a)
    return -by_alpha / mpmath.exp(a * mpmath.mpf(log_z) - z - mpmath.loggamma(a))


for alpha in (1e-3, 0.02, 0.3, 0.9, 1.0, 1.5, 4.0, 20.0, 99.0, 101.0, 1e3, 1e4):
    for u in (-5.0, -2.0, -1.0, -0.1, 0.1, 1.0, 2.0, 5.0):
        if alpha < 1:
            log_z = math.log(0.5 * math.erfc(-u / math.sqrt(2))) / alpha if u < 0 else math.log(alpha + u)
        else:
            log_z = math.log(alpha) + 3 * math.log(max(1e-2, 1 - 1 / (9 * alpha) + u / (3 * math.sqrt(alpha))))
        LINES.append(f"slope {alpha!r} {log_z!r} {float(slope(alpha, log_z))!r}")

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "distributions.txt"), "w", encoding="utf-8") as f:
    f.write("\n".join(LINES) + "\n")

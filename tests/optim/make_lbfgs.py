#!/usr/bin/python3
"""Writes goldens/lbfgs.txt: what PyTorch's LBFGS (Debian's python3-torch, 1.13) makes of a quadratic form and of
Rosenbrock's function in float64. Loss and gradient are plain loops, the same in lbfgs_test.cc, so that what the two
do differently is the optimizer.

lbfgs PROBLEM NAME=VALUE ..., one line a call of step(): "STEP n_iter func_evals loss within parameters"; loss is what
step() returned. `within`: how far the numbers of that line move, the most of eight tries, when each start and each element
of every gradient moves by 2^-50 of itself, up or down (eight times the rounding of one: the products of seven numbers are
summed in another order). Iterates remember every rounding, and a bound has to say by how much. n_iter and func_evals must
not move.

search, then lines "SEED first_t tolerance_change evaluations within t loss slope": what its strong_wolfe makes of waves(), from 0.
"""

import math
import os

import torch
from torch.optim.lbfgs import _strong_wolfe

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
LINES = []


def number(i, seed):
    """The tests' numbers: multiples of 1/64, the same in C++."""
    return ((i * 37 + seed * 23) % 101 - 50) / 64


def quadratic(x):
    """Half of x'Ax - b'x: A has 1 to n on its diagonal and 1/4 beside it."""
    n, f, g = len(x), 0.0, []
    for i in range(n):
        row = (i + 1) * x[i]
        if i > 0:
            row += 0.25 * x[i - 1]
        if i + 1 < n:
            row += 0.25 * x[i + 1]
        b = number(i, 3)
        f += 0.5 * x[i] * row - b * x[i]
        g.append(row - b)
    return f, g


def rosenbrock(x):
    """The sum over i of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2."""
    f, g = 0.0, [0.0] * len(x)
    for i in range(len(x) - 1):
        u, v = x[i + 1] - x[i] * x[i], 1 - x[i]
        f += 100 * u * u + v * v
        g[i] += -400 * u * x[i] - 2 * v
        g[i + 1] += 200 * u
    return f, g


def moved(value, i, call, try_):
    """Try 0 moves nothing; the others up or down, each in its own way."""
    sign = (number(i + 7 * call, try_) > 0) - (number(i + 7 * call, try_) < 0)
    return value * (1 + sign * 2**-50) if try_ else value


def run(problem, options, steps, try_):
    values = [moved(number(i, 50), i, 0, try_) for i in range(7)]
    params = [torch.tensor(values[:4]).reshape(2, 2).requires_grad_(), torch.tensor(values[4:]).requires_grad_()]
    made = torch.optim.LBFGS(params, **options)
    calls = [0]

    def closure():
        calls[0] += 1
        flat = [float(v) for p in params for v in p.detach().reshape(-1)]
        f, g = problem(flat)
        g = [moved(v, i, calls[0], try_) for i, v in enumerate(g)]
        for p, (begin, end) in zip(params, ((0, 4), (4, 7))):
            p.grad = torch.tensor(g[begin:end]).reshape(p.shape)
        return torch.tensor(f)

    rows = []
    for _ in range(steps):
        loss = float(made.step(closure))
        state = made.state[params[0]]
        assert calls[0] == state["func_evals"]
        rows.append(([state["n_iter"], state["func_evals"]],
                     [loss] + [float(v) for p in params for v in p.detach().reshape(-1)]))
    return rows


def case(problem, options, steps):
    rows = run(problem, options, steps, 0)
    moved = [run(problem, options, steps, t) for t in range(1, 9)]
    title = " ".join(f"{k}={v!r}" if not isinstance(v, str) else f"{k}={v}" for k, v in options.items())
    LINES.append(f"lbfgs {problem.__name__} {title}".rstrip())
    for t, (counts, values) in enumerate(rows):
        assert all(m[t][0] == counts for m in moved), (title, t, counts, [m[t][0] for m in moved])
        within = max(abs(a - b) for m in moved for a, b in zip(m[t][1], values))
        numbers = [*counts, values[0], within, *values[1:]]
        LINES.append(f"{t + 1} " + " ".join(repr(float(v)) for v in numbers))


def waves(x, seed):
    """Four waves over a wide bowl, and their slope: many minima, for searches that go astray."""
    f, g = 0.01 * x * x, 0.02 * x
    for k in range(4):
        a, b, c = number(k, seed), 1 + 4 * abs(number(k + 4, seed)), 2 * number(k + 8, seed)
        b *= 50 if seed >= 60 else 1  # slopes beside which no loss falls enough
        f += a * math.sin(b * x + c)
        g += a * b * math.cos(b * x + c)
    return f, g


def search(seed, first, tolerance, try_):
    calls = [0]

    def at(x):
        calls[0] += 1
        f, g = waves(x, seed)
        return moved(f, 0, calls[0], try_), moved(g, 1, calls[0], try_)

    def evaluate(x, t, d):
        f, g = at(float(t) * float(d))
        return f, torch.tensor([g])

    f, g = at(0.0)
    d = -1.0 if g > 0 else 1.0
    found = _strong_wolfe(evaluate, None, torch.tensor(first), torch.tensor([d]), f, torch.tensor([g]),
                          torch.tensor(g * d), tolerance_change=tolerance)
    return found[3], [float(found[2]), float(found[0]), float(found[1]) * d]


def searches():
    LINES.append("search waves")
    for seed in range(160):
        for first in (0.03, 1.0, 12.0):
            for tolerance in (1e-9, 0.05):
                evals, values = search(seed, first, tolerance, 0)
                tries = [search(seed, first, tolerance, t) for t in range(1, 9)]
                within = max(abs(a - b) for t in tries for a, b in zip(t[1], values))
                if within > 1e-9 or any(t[0] != evals for t in tries):
                    continue  # rounding decides a comparison, so that the answer is another
                LINES.append(f"{seed} " + " ".join(repr(float(v)) for v in (first, tolerance, evals, within, *values)))


def main():
    searches()
    wolfe = dict(line_search_fn="strong_wolfe")
    for problem in (quadratic, rosenbrock):
        case(problem, wolfe, 4)
        case(problem, {**wolfe, "history_size": 3}, 4)
        case(problem, {**wolfe, "max_iter": 3}, 6)
        case(problem, {**wolfe, "lr": 0.125, "max_iter": 6, "max_eval": 9}, 6)
    case(quadratic, {}, 4)
    case(quadratic, dict(lr=0.5, max_iter=5, history_size=2), 6)
    case(quadratic, dict(max_iter=6, max_eval=4), 6)
    case(quadratic, dict(tolerance_grad=1e-2), 3)
    case(quadratic, dict(tolerance_change=1e-3), 3)
    case(quadratic, {**wolfe, "tolerance_change": 1e-2}, 3)
    case(rosenbrock, dict(lr=0.0625, max_iter=4), 6)
    case(rosenbrock, dict(lr=0.125, max_iter=8, history_size=4), 3)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "lbfgs.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(LINES) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Writes goldens/optim.txt: what PyTorch (Debian's python3-torch, 1.13) makes of optimizers, schedules,
gradient clipping and averaged models in float64. Lion and Muon, which it lacks, are written out in NumPy.

optimizer NAME | options of group 0 | options of group 1, then lines "STEP numbers of both groups", and for those in
    STATES lines "STATE numbers of both groups" after the last step
schedule NAME, then lines "rates|momenta GROUP numbers, one a step"
clip NAME, then "norm number" and "grads numbers"
average NAME, then lines "ENTRY numbers"
"""

import os

import numpy as np
import torch
from torch.optim import lr_scheduler as S
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

STEPS = 50
SHOWN = (1, 2, 3, 6, 10, 20, 35, 50)
LINES = []


def number(i, seed):
    """The tests' numbers: multiples of 1/64, the same in C++."""
    return ((i * 37 + seed * 23) % 101 - 50) / 64


def numbers(shape, seed):
    return np.array([number(i, seed) for i in range(int(np.prod(shape)))]).reshape(shape)


def gradient(p, step, group):
    """Of a bowl that is pushed about; zero now and then, where signs and roots have their corners."""
    g = numbers(p.shape, 7 * step + group) + 0.25 * p
    return np.where(numbers(p.shape, step + 3 * group) > 0.7, 0.0, g)


def text(values):
    return " ".join(repr(float(v)) for v in np.asarray(values).reshape(-1))


class Lion:
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, groups):
        self.groups = groups
        self.m = [np.zeros_like(g["p"]) for g in groups]

    def step(self, grads):
        for k, (o, g) in enumerate(zip(self.groups, grads)):
            g = -g if o["maximize"] else g
            update = np.sign(o["beta1"] * self.m[k] + (1 - o["beta1"]) * g)
            o["p"] = o["p"] - o["lr"] * (update + o["weight_decay"] * o["p"])
            self.m[k] = o["beta2"] * self.m[k] + (1 - o["beta2"]) * g


class Muon:
    """Jordan et al. 2024, in float64 throughout."""

    def __init__(self, groups):
        self.groups = groups
        self.b = [np.zeros_like(g["p"]) for g in groups]

    @staticmethod
    def newton_schulz(u, steps):
        x = u.T if u.shape[0] > u.shape[1] else u
        x = x / (np.sqrt((x * x).sum()) + 1e-7)
        for _ in range(steps):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x.T if u.shape[0] > u.shape[1] else x

    def step(self, grads):
        for k, (o, g) in enumerate(zip(self.groups, grads)):
            self.b[k] = o["momentum"] * self.b[k] + (1 - o["momentum"]) * g
            u = (1 - o["momentum"]) * g + o["momentum"] * self.b[k] if o["nesterov"] else self.b[k]
            o["p"] = o["p"] * (1 - o["lr"] * o["weight_decay"])
            scale = max(1, g.shape[0] / g.shape[1]) ** 0.5
            o["p"] = o["p"] - o["lr"] * scale * self.newton_schulz(u, int(o["ns_steps"]))


DEFAULTS = {
    "sgd": dict(lr=0.05, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False),
    "adam": dict(lr=0.05, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0, amsgrad=False, maximize=False),
    "adamw": dict(lr=0.05, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01, amsgrad=False, maximize=False),
    "nadam": dict(lr=0.02, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0, momentum_decay=4e-3),
    "radam": dict(lr=0.02, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0),
    "adamax": dict(lr=0.02, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0, maximize=False),
    "adagrad": dict(lr=0.1, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, maximize=False),
    "adadelta": dict(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, maximize=False),
    "rmsprop": dict(lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, maximize=False),
    "rprop": dict(lr=0.01, etaminus=0.5, etaplus=1.2, step_size_min=1e-6, step_size_max=50, maximize=False),
    "asgd": dict(lr=0.05, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, maximize=False),
    "lion": dict(lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0, maximize=False),
    "muon": dict(lr=0.02, momentum=0.95, nesterov=True, weight_decay=0, ns_steps=5),
}
CLASSES = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "adamax": torch.optim.Adamax,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "rmsprop": torch.optim.RMSprop,
    "rprop": torch.optim.Rprop,
    "asgd": torch.optim.ASGD,
}
# Options that are pairs in PyTorch and two fields of a state dict here.
PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}
STATES = {"rprop": ("prev", "step_size"), "asgd": ("ax",)}
NUMPY = {"lion": Lion, "muon": Muon}


def run_optimizer(name, options):
    """One of group 0's options, and group 1 with another rate and some weight decay."""
    shapes = [(3, 2), (2, 4)] if name == "muon" else [(2, 2), (3,)]
    first = {**DEFAULTS[name], **options}
    second = {**first, "lr": first["lr"] / 2}
    if "weight_decay" in first:
        second["weight_decay"] += 0.02
    groups = [first, second]
    LINES.append(f"optimizer {name} " + " ".join(
        "| " + " ".join(f"{k}={float(v)!r}" for k, v in g.items()) for g in groups))
    values = [numbers(s, 50 + k) for k, s in enumerate(shapes)]
    if name in NUMPY:
        made = NUMPY[name]([{**g, "p": v} for g, v in zip(groups, values)])
    else:
        params = [torch.tensor(v, requires_grad=True) for v in values]
        torch_groups = []
        for g, p in zip(groups, params):
            g = dict(g)
            for pair, (a, b) in PAIRS.items():
                if a in g:
                    g[pair] = (g.pop(a), g.pop(b))
            torch_groups.append({**g, "params": [p]})
        rest = {k: v for k, v in torch_groups[0].items() if k != "params"}
        made = CLASSES[name](torch_groups, **rest)
    for step in range(1, STEPS + 1):
        if name in NUMPY:
            made.step([gradient(g["p"], step, k) for k, g in enumerate(made.groups)])
            now = [g["p"] for g in made.groups]
        else:
            for k, p in enumerate(params):
                p.grad = torch.tensor(gradient(p.detach().numpy(), step, k))
            made.step()
            now = [p.detach().numpy() for p in params]
        if step in SHOWN:
            LINES.append(f"{step} " + " ".join(text(v) for v in now))
    for state in STATES.get(name, ()):
        LINES.append(f"{state} " + " ".join(text(made.state[p][state]) for p in params))


def optimizers():
    for momentum in (0, 0.9):
        for maximize in (False, True):
            for decay in (0, 0.05):
                run_optimizer("sgd", dict(momentum=momentum, maximize=maximize, weight_decay=decay))
    run_optimizer("sgd", dict(momentum=0.9, dampening=0.25))
    run_optimizer("sgd", dict(momentum=0.9, dampening=0.25, weight_decay=0.05, maximize=True))
    run_optimizer("sgd", dict(momentum=0.9, nesterov=True))
    run_optimizer("sgd", dict(momentum=0.9, nesterov=True, weight_decay=0.05, maximize=True))
    for name in ("adam", "adamw"):
        for amsgrad in (False, True):
            for maximize in (False, True):
                for decay in (0, 0.05):
                    run_optimizer(name, dict(amsgrad=amsgrad, maximize=maximize, weight_decay=decay))
        run_optimizer(name, dict(beta1=0.5, beta2=0.9, eps=1e-3))
    for name in ("nadam", "radam"):
        run_optimizer(name, {})
        run_optimizer(name, dict(weight_decay=0.05))
        run_optimizer(name, dict(beta1=0.5, beta2=0.9, eps=1e-3))
    run_optimizer("nadam", dict(momentum_decay=0.1))
    for name in ("adamax", "adagrad", "adadelta"):
        run_optimizer(name, {})
        run_optimizer(name, dict(weight_decay=0.05))
        run_optimizer(name, dict(maximize=True, weight_decay=0.05, eps=1e-3))
    run_optimizer("adamax", dict(beta1=0.5, beta2=0.9))
    run_optimizer("adagrad", dict(lr_decay=0.1))
    run_optimizer("adagrad", dict(initial_accumulator_value=0.5))
    run_optimizer("adadelta", dict(rho=0.5))
    for centered in (False, True):
        for momentum in (0, 0.9):
            for maximize in (False, True):
                run_optimizer("rmsprop", dict(centered=centered, momentum=momentum, maximize=maximize, alpha=0.9,
                                              weight_decay=0.05 if maximize else 0))
    run_optimizer("rprop", {})
    run_optimizer("rprop", dict(lr=0.1, etaminus=0.25, etaplus=1.5))
    run_optimizer("rprop", dict(lr=0.1, step_size_min=0.02, step_size_max=0.15))
    run_optimizer("rprop", dict(maximize=True))
    run_optimizer("asgd", {})
    run_optimizer("asgd", dict(t0=10))
    run_optimizer("asgd", dict(t0=0, lambd=0.1, alpha=0.5))
    run_optimizer("asgd", dict(t0=20, weight_decay=0.05, maximize=True))
    run_optimizer("lion", {})
    run_optimizer("lion", dict(weight_decay=0.1, beta1=0.95, beta2=0.98))
    run_optimizer("lion", dict(maximize=True))
    run_optimizer("muon", {})
    run_optimizer("muon", dict(nesterov=False, momentum=0.9))
    run_optimizer("muon", dict(weight_decay=0.1, ns_steps=3))


def metric(t):
    """Falls, stands with small waves, falls once more."""
    return max(20 - t, 5) + (t * 7 % 3) / 8 - (4 if t > 45 else 0)


def sgd(momentum=0.5):
    p = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    return torch.optim.SGD([{"params": [p[0]], "lr": 0.5}, {"params": [p[1]], "lr": 0.03}], lr=1, momentum=momentum)


def adam():
    p = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    return torch.optim.Adam([{"params": [p[0]], "lr": 0.5}, {"params": [p[1]], "lr": 0.03}])


SCHEDULES = {
    "lambda": lambda o: S.LambdaLR(o, lambda t: 1 / (1 + t)),
    "lambda_each": lambda o: S.LambdaLR(o, [lambda t: 1 / (1 + t), lambda t: t * 0.25]),
    "multiplicative": lambda o: S.MultiplicativeLR(o, lambda t: 0.75 + 0.25 * (t % 2)),
    "step": lambda o: S.StepLR(o, 7),
    "step_gamma": lambda o: S.StepLR(o, 10, 0.5),
    "multi_step": lambda o: S.MultiStepLR(o, [30, 5, 12, 12]),
    "exponential": lambda o: S.ExponentialLR(o, 0.9),
    "linear": lambda o: S.LinearLR(o),
    "linear_down": lambda o: S.LinearLR(o, 1.0, 0.25, 40),
    "linear_to_zero": lambda o: S.LinearLR(o, 0.5, 0.0, 20),
    "constant": lambda o: S.ConstantLR(o),
    "constant_half": lambda o: S.ConstantLR(o, 0.5, 20),
    "polynomial": lambda o: S.PolynomialLR(o),
    "polynomial_two": lambda o: S.PolynomialLR(o, 40, 2.0),
    "cosine": lambda o: S.CosineAnnealingLR(o, 60),
    "cosine_waves": lambda o: S.CosineAnnealingLR(o, 13, 0.01),
    "restarts": lambda o: S.CosineAnnealingWarmRestarts(o, 9),
    "restarts_longer": lambda o: S.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
    "one_cycle": lambda o: S.OneCycleLR(o, 0.8, total_steps=61),
    "one_cycle_linear": lambda o: S.OneCycleLR(o, [0.8, 0.1], epochs=7, steps_per_epoch=9, anneal_strategy="linear",
                                               pct_start=0.25, div_factor=10, final_div_factor=100,
                                               base_momentum=0.7, max_momentum=0.9),
    "one_cycle_three": lambda o: S.OneCycleLR(o, 0.8, total_steps=61, three_phase=True),
    "cyclic": lambda o: S.CyclicLR(o, 0.01, 0.5, step_size_up=8),
    "cyclic_2": lambda o: S.CyclicLR(o, [0.01, 0.001], [0.5, 0.1], step_size_up=5, step_size_down=9,
                                     mode="triangular2", base_momentum=0.6, max_momentum=0.95),
    "cyclic_exp": lambda o: S.CyclicLR(o, 0.01, 0.5, step_size_up=8, mode="exp_range", gamma=0.97),
    "cyclic_own": lambda o: S.CyclicLR(o, 0.01, 0.5, step_size_up=8, scale_fn=lambda x: 1 / x, scale_mode="cycle"),
    "plateau": lambda o: S.ReduceLROnPlateau(o, patience=3),
    "plateau_abs": lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=2, threshold=0.5, threshold_mode="abs",
                                                 cooldown=4, min_lr=[0.001, 0.01]),
    "plateau_max": lambda o: S.ReduceLROnPlateau(o, mode="max", factor=0.5, patience=5, eps=0.004),
    "swa": lambda o: SWALR(o, 0.05),
    "swa_linear": lambda o: SWALR(o, [0.05, 0.1], 20, "linear"),
    "swa_at_once": lambda o: SWALR(o, 0.05, 0),
    "chained": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
    "chained_warm_cosine": lambda o: S.ChainedScheduler([S.LinearLR(o, 0.1, 1.0, 10), S.CosineAnnealingLR(o, 25, 0.001)]),
    "chained_steps": lambda o: S.ChainedScheduler([S.StepLR(o, 9, 0.5), S.MultiStepLR(o, [20, 40], 0.1),
                                                   S.PolynomialLR(o, 70)]),
    "sequential": lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [2]),
    "sequential_warm_cosine": lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 10), S.CosineAnnealingLR(o, 50)], [10]),
    "sequential_three": lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.25, 1.0, 5), S.CosineAnnealingWarmRestarts(o, 7, 2),
                                                     S.PolynomialLR(o, 20)], [5, 40]),
    "sequential_chained": lambda o: S.ChainedScheduler([
        S.SequentialLR(o, [S.LinearLR(o, 0.25, 1.0, 5), S.StepLR(o, 10, 0.5)], [5]), S.ExponentialLR(o, 0.95)]),
}


def schedules():
    cases = [(name, sgd, make) for name, make in SCHEDULES.items()]
    cases.append(("one_cycle_adam", adam, SCHEDULES["one_cycle"]))
    for name, optimizer, make in cases:
        o = optimizer()
        s = make(o)
        rates, momenta = [[], []], [[], []]
        for t in range(61):
            for k, g in enumerate(o.param_groups):
                rates[k].append(g["lr"])
                momenta[k].append(g["momentum"] if "momentum" in g else g["betas"][0])
            if t == 60:
                break
            o.step()
            if name.startswith("plateau"):
                s.step(metric(t))
            else:
                s.step()
        LINES.append(f"schedule {name}")
        for k in range(2):
            LINES.append(f"rates {k} " + text(rates[k]))
            if "cycl" in name:
                LINES.append(f"momenta {k} " + text(momenta[k]))


def clips():
    for name, f in {
        "norm_2": lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0),
        "norm_1": lambda p: torch.nn.utils.clip_grad_norm_(p, 2.5, 1),
        "norm_3": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.75, 3.0),
        "norm_inf": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.25, float("inf")),
        "norm_below": lambda p: torch.nn.utils.clip_grad_norm_(p, 1000.0),
        "value": lambda p: torch.nn.utils.clip_grad_value_(p, 0.375),
    }.items():
        params = []
        for k, shape in enumerate([(4, 5), (7,), (2, 3, 2)]):
            p = torch.zeros(shape, requires_grad=True)
            p.grad = torch.tensor(numbers(shape, k))
            params.append(p)
        params.insert(1, torch.zeros(3, requires_grad=True))  # without a gradient
        total = f(params)
        LINES.append(f"clip {name}")
        LINES.append("norm " + text(0 if total is None else total))
        LINES.append("grads " + " ".join(text(p.grad) for p in params if p.grad is not None))


def model():
    return torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.BatchNorm2d(3))


def set_state(net, seed):
    """Every entry of the state dict, as a training that went on would."""
    for k, (name, t) in enumerate(net.state_dict().items()):
        value = torch.tensor(numbers(tuple(t.shape), seed + k))
        t.copy_(value.abs() + 0.5 if name.endswith("var") else value if t.is_floating_point() else torch.tensor(3 * seed))


def averages():
    for name, args in {
        "swa": {},
        "swa_buffers": dict(use_buffers=True),
        "ema": dict(avg_fn=lambda a, m, n: 0.75 * a + 0.25 * m),
    }.items():
        net = model()
        set_state(net, 1)
        average = AveragedModel(net, **args)
        for seed in (2, 3, 4, 5):
            set_state(net, seed)
            average.update_parameters(net)
        LINES.append(f"average {name}")
        for key, value in average.state_dict().items():
            LINES.append(f"{key} " + text(value))
    net = model()
    set_state(net, 1)
    update_bn([torch.tensor(numbers((n, 2, 2, 3), n)) for n in (4, 2, 5)], net)
    LINES.append("average update_bn")
    for key, value in net.state_dict().items():
        LINES.append(f"{key} " + text(value))


def main():
    optimizers()
    schedules()
    clips()
    averages()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "optim.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(LINES) + "\n")


if __name__ == "__main__":
    main()

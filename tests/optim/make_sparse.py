#!/usr/bin/python3
"""Writes goldens/sparse.txt: what PyTorch (Debian's python3-torch, 1.13) makes in float64 of a table of rows by sparse
gradients: nn.Embedding(sparse=True), rows that occur several times, and rows that rarely occur.

sparse NAME option=value ..., then lines "STEP numbers of the table", and "STATE numbers" after the last step
"""

import os

import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

ROWS, COLUMNS, STEPS = 7, 3, 40
SHOWN = (1, 2, 3, 8, 20, 40)
LINES = []
NAMES = {"sparse_adam": torch.optim.SparseAdam, "sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad}


def numbers(shape, seed):
    """The tests' numbers: multiples of 1/64, the same in C++."""
    n = int(torch.Size(shape).numel())
    return torch.tensor([((i * 37 + seed * 23) % 101 - 50) / 64 for i in range(n)]).reshape(shape)


def run(name, **options):
    LINES.append(f"sparse {name} " + " ".join(f"{k}={float(v)!r}" for k, v in options.items()))
    torch_options = dict(options)
    if "beta1" in options:
        torch_options["betas"] = (torch_options.pop("beta1"), torch_options.pop("beta2"))
    if "maximize" in options:
        torch_options["maximize"] = bool(options["maximize"])
    table = torch.nn.Embedding(ROWS, COLUMNS, sparse=True, padding_idx=6, _weight=numbers((ROWS, COLUMNS), 50))
    optimizer = NAMES[name](table.parameters(), **torch_options)
    for step in range(1, STEPS + 1):
        at = torch.tensor([(step * 5 + j * j) % ROWS for j in range(6)]).reshape(2, 3)
        rows = table(at)
        loss = (numbers((2, 3, COLUMNS), 7 * step) * rows).sum() + 0.125 * (rows * rows).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step in SHOWN:
            LINES.append(f"{step} " + " ".join(repr(float(v)) for v in table.weight.detach().reshape(-1)))
    for key in ("exp_avg", "exp_avg_sq", "sum"):
        state = optimizer.state[table.weight]
        if key in state:
            LINES.append(f"{key} " + " ".join(repr(float(v)) for v in state[key].reshape(-1)))


run("sparse_adam", lr=0.05, beta1=0.9, beta2=0.999, eps=1e-8, maximize=0)
run("sparse_adam", lr=0.02, beta1=0.5, beta2=0.9, eps=1e-3, maximize=0)
run("sparse_adam", lr=0.02, beta1=0.9, beta2=0.99, eps=1e-8, maximize=1)
run("sgd", lr=0.1)
run("sgd", lr=0.05, maximize=1)
run("adagrad", lr=0.1)
run("adagrad", lr=0.1, lr_decay=0.01, initial_accumulator_value=0.5, eps=1e-6)
run("adagrad", lr=0.05, maximize=1)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "sparse.txt"), "w", encoding="utf-8") as f:
    f.write("\n".join(LINES) + "\n")

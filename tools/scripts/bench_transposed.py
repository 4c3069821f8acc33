#!/usr/bin/python3
"""Transposed convolutions beside PyTorch and ONNX Runtime: DCGAN's generator and a U-Net's way up.

  bench_transposed.py [--build build/release] [--rounds N] [--seconds S] [--threads N] [--only train|files]

Needs torch (training, and PyTorch's own ONNX file), the targets train_bench, transposed_models and wick, and
tools/scripts/setup_ort.sh. PyTorch's BLAS decides how fast it is: WICK_OPENBLAS names the folder of a tuned one (of Debian's
libopenblas0-openmp, usr/lib/x86_64-linux-gnu/openblas-openmp; with OPENBLAS_CORETYPE=SKYLAKEX where there is AVX-512).
All sides run in turn, every other round the other way round; a figure is the least over the rounds and the median of
their medians, in ms. Ratios: of the medians of one round, the middle one; of the least; of CPU time, which on a busy
machine says most.
  train   PyTorch's step by Wick's (forward, loss, backward, SGD)
  file    in ONNX Runtime: Wick's file by PyTorch's
  session ONNX Runtime on Wick's file by a Wick session on it
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = {"dcgan": (64, [100, 1, 1]), "upconv": (8, [256, 16, 16])}
OUTPUTS = {"dcgan": [3, 32, 32], "upconv": [64, 64, 64]}


def torch_model(name):
    from torch import nn
    if name == "upconv":
        return nn.Sequential(nn.ConvTranspose2d(256, 128, 2, 2), nn.ReLU(), nn.ConvTranspose2d(128, 64, 2, 2))
    layers = []
    sizes = [100, 512, 256, 128]
    for i in range(3):
        layers += [nn.ConvTranspose2d(sizes[i], sizes[i + 1], 4, 1 if i == 0 else 2, 0 if i == 0 else 1, bias=False),
                   nn.BatchNorm2d(sizes[i + 1]), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(128, 3, 4, 2, 1, bias=False), nn.Tanh())


def torch_train(name, threads, seconds):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = torch_model(name).train()
    batch, shape = INPUTS[name]
    x, target = torch.randn(batch, *shape), torch.randn(batch, *OUTPUTS[name])
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(5):
        step()
    times, end, cpu = [], time.perf_counter() + seconds, time.process_time()
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"median": statistics.median(times), "min": min(times),
                      "cpu": (time.process_time() - cpu) * 1e3 / len(times)}))


def torch_export(name, path):
    import torch
    torch.manual_seed(0)
    torch.onnx.export(torch_model(name).eval(), torch.randn(1, *INPUTS[name][1]), path, input_names=["x"],
                      output_names=["y"], dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, opset_version=13)


def again(*words):
    env = dict(os.environ)
    if "WICK_OPENBLAS" in env:
        env["LD_LIBRARY_PATH"] = env["WICK_OPENBLAS"]
    out = subprocess.run([sys.executable, os.path.abspath(__file__), *map(str, words)], check=True, env=env,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return out.stdout.decode()


def wick_train(args, name):
    out = subprocess.run([os.path.join(args.build, "bench", "train_bench"), "--seconds", str(args.seconds),
                          str(args.threads), name], check=True, stdout=subprocess.PIPE).stdout.decode().split()
    return {key: float(out[out.index(key) + 1]) for key in ("median", "min", "cpu")}


def ort(args, model, x):
    out = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "scripts", "ort_run.py"), model, "--bench",
                          "--threads", str(args.threads), "--seconds", str(args.seconds), "--input", x], check=True,
                         stdout=subprocess.PIPE).stdout
    one = json.loads(out)
    return {"median": one["median_ms"], "min": one["min_ms"], "cpu": one["cpu_ms"]}


def wick(args, model, batch):
    out = subprocess.run([os.path.join(args.build, "tools", "wick", "wick"), "bench", model, "--batch", str(batch),
                          "--threads", str(args.threads), "--seconds", str(args.seconds), "--json"], check=True,
                         stdout=subprocess.PIPE).stdout
    one = json.loads(out)[0]
    return {"median": one["p50_ms"], "min": one["min_ms"], "cpu": one["cpu_ms"]}


def show(what, ours, theirs, rounds):
    """`theirs` by `ours`: above 1, ours is faster."""
    def side(runs):
        return f"{min(r['min'] for r in runs):.3f} least, {statistics.median(r['median'] for r in runs):.3f} median"
    ratios = statistics.median(t["median"] / o["median"] for o, t in zip(ours, theirs))
    least = min(t["min"] for t in theirs) / min(o["min"] for o in ours)
    cpu = statistics.median(t["cpu"] for t in theirs) / statistics.median(o["cpu"] for o in ours)
    print(f"{what}: {side(ours)}; beside it {side(theirs)}; ratio {ratios:.2f}, of the least {least:.2f}, of CPU time"
          f" {cpu:.2f} ({rounds} rounds, load {os.getloadavg()[0]:.1f})", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--only", choices=["train", "files"])
    p.add_argument("--torch-train", metavar="NAME")
    p.add_argument("--torch-export", nargs=2, metavar=("NAME", "PATH"))
    args = p.parse_args()
    if args.torch_train:
        return torch_train(args.torch_train, args.threads, args.seconds)
    if args.torch_export:
        return torch_export(*args.torch_export)
    for name in INPUTS:
        if args.only == "files":
            break
        ours, theirs = [], []
        sides = [lambda: ours.append(wick_train(args, name)),
                 lambda: theirs.append(json.loads(again("--torch-train", name, "--threads", args.threads, "--seconds",
                                                        args.seconds)))]
        for turn in range(args.rounds):
            for side in sides[::-1] if turn % 2 else sides:
                side()
        show(f"{name} train", ours, theirs, args.rounds)
    if args.only == "train":
        return
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(args.build, "bench", "transposed_models"), folder], check=True)
        for name, (_, shape) in INPUTS.items():
            peers = os.path.join(folder, name + "_torch.onnx")
            again("--torch-export", name, peers)
            mine = os.path.join(folder, name + ".onnx")
            for batch in (1, 16):
                x = os.path.join(folder, "x.npy")
                k = np.arange(batch * int(np.prod(shape)))
                np.save(x, (k % 17 / 17 - 0.5).astype(np.float32).reshape([batch, *shape]))
                a, b, c = [], [], []
                sides = [lambda: a.append(ort(args, mine, x)), lambda: b.append(ort(args, peers, x)),
                         lambda: c.append(wick(args, mine, batch))]
                for turn in range(args.rounds):
                    for side in sides[::-1] if turn % 2 else sides:
                        side()
                show(f"{name} file, batch {batch}", a, b, args.rounds)
                show(f"{name} session, batch {batch}", c, a, args.rounds)


if __name__ == "__main__":
    sys.exit(main())

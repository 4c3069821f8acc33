#!/usr/bin/env python3
"""What each way to quantize costs in accuracy on Fashion-MNIST, over seeds; writes the table of docs/quantized-accuracy.md.

`wick train` makes each float network, picking its best epoch by a tenth of the training images that it holds out; `wick
quantize` makes the integer programs and measures them on the 10,000 test images, which nothing was picked by. Every figure
is of the .wick that would be deployed, which stays in --work. A finished run is kept there: cut off, it goes on. Exit 1
where a gate is missed.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/quantized-accuracy.md"
BEGIN, END = "<!-- quantized_accuracy.sh: table -->", "<!-- quantized_accuracy.sh: end -->"
MODELS = {  # epochs; of quantization-aware training: epochs, rate, images a step
    "lenet": (3, 2, 0.005, 64),
    "mobilenet": (4, 2, 0.005, 64),
    "resnet8": (4, 2, 0.005, 64),
}
# Most points that may be lost on average: the convolutions of `dynamic` stay float.
GATES = {
    "lenet": {"static": 0.3, "dynamic": 0.3, "qat": 0.1},
    "mobilenet": {"static": 1.0, "dynamic": 0.3, "qat": 0.3},
    "resnet8": {"static": 0.3, "dynamic": 0.3, "qat": 0.1},
}
RECIPES = ["static", "dynamic", "qat"]


def run(args, command, result):
    """The JSON that a command prints, kept in the file `result`."""
    if result.exists():
        return json.loads(result.read_text())
    done = subprocess.run([str(args.wick), *command, "--threads", str(args.threads), "--quiet", "--json"],
                          stdout=subprocess.PIPE, text=True, check=True)
    document = json.loads(done.stdout)
    part = result.with_suffix(".part")
    part.write_text(done.stdout)
    part.rename(result)
    return document


def measure(args, model, seed):
    """Accuracies in percent and bytes, by recipe."""
    epochs, qat_epochs, rate, batch = MODELS[model]
    folder = args.work / f"{model}-{seed}"
    if args.short:
        epochs = qat_epochs = 1
    train = ["train", model, "--data", args.data, "--seed", str(seed), "--val-split", "0.1", "--epochs", str(epochs),
             "--out", str(folder)]
    if (folder / "last.safetensors").exists():
        train.append("--resume")
    trained = run(args, train, folder.with_suffix(".json") if not folder.exists() else folder / "train.json")
    return trained, qat_epochs, rate, batch

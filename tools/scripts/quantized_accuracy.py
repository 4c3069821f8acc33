#!/usr/bin/env python3
"""What each way to quantize costs in accuracy on Fashion-MNIST, over seeds; writes docs/use/quantized-accuracy.md's table.

`wick train` makes each float network and picks its best epoch by a tenth of the training images, which it holds out and
`wick quantize --recipe qat` does too. The figures are of integer .wick files (they stay in --work) on the test images,
by which nothing was picked. Each finished command is kept there, with the digest of the program that ran it: what was cut
off goes on. --keep takes those of other builds too. Exit 1 where a gate is missed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/use/quantized-accuracy.md"
BEGIN, END = "<!-- quantized_accuracy.sh: table -->", "<!-- quantized_accuracy.sh: end -->"
QAT = ["--epochs", "1", "--lr", "0.005", "--batch", "64"]
# Options of wick train; of wick quantize --recipe qat; the most points that may be lost, on average.
MODELS = {
    "lenet": (["--epochs", "3"], QAT, {"static": 0.3, "dynamic": 0.3, "qat": 0.1}),
    "resnet8": (["--epochs", "3"], QAT, {"static": 0.3, "dynamic": 0.3, "qat": 0.1}),
    "mobilenet": (["--epochs", "3"], QAT, {"static": 1.0, "dynamic": 0.3, "qat": 0.3}),
}
# On tiny images: an image of the test set is half a point.
SHORT = {
    "resnet8": (["--epochs", "8", "--batch", "32"], ["--epochs", "2", "--lr", "0.005"],
                {"static": 1.5, "dynamic": 1.5, "qat": 1.5}),
    "mobilenet": (["--epochs", "8", "--batch", "32"], ["--epochs", "2", "--lr", "0.005"],
                  {"static": 3.0, "dynamic": 1.5, "qat": 1.5}),
}
RECIPES = {
    "static": ["--recipe", "static", "--observer", "min-max"],
    "per tensor": ["--recipe", "static", "--observer", "min-max", "--per-tensor"],
    "dynamic": ["--recipe", "dynamic"],
    "qat": ["--recipe", "qat"],
}


class Runs:
    """Commands of wick and the JSON they printed."""

    def __init__(self, args):
        self.args = args
        self.digest = hashlib.sha256(args.wick.read_bytes()).hexdigest()[:16]

    def run(self, kept, command):
        command = [*command, "--threads", str(self.args.threads), "--json", "--quiet"]
        file = self.args.work / f"{kept}.json"
        if file.exists():
            old = json.loads(file.read_text())
            if old["command"] == command and (old["program"] == self.digest or self.args.keep or self.args.table):
                return old["result"]
        if self.args.table:
            return None
        # A training that was cut off goes on; one of other options starts anew.
        again = []
        log = self.args.work / f"{kept}.begun"
        if command[0] == "train":
            if log.exists() and log.read_text() == " ".join([self.digest, *command]):
                again = ["--resume"] if list(pathlib.Path(command[command.index("--out") + 1]).glob("last.*")) else []
            log.write_text(" ".join([self.digest, *command]))
        done = subprocess.run([str(self.args.wick), *command, *again], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"wick {' '.join(command)}: exit {done.returncode}")
        result = json.loads(done.stdout)
        result.pop("comparison", None)
        part = file.with_suffix(".part")
        part.write_text(json.dumps({"program": self.digest, "command": command, "result": result}, indent=1) + "\n")
        os.replace(part, file)
        return result

    def measure(self, model, seed):
        """By recipe: {accuracy in percent, bytes}; "float" too."""
        train, qat, _ = self.args.models[model]
        name = f"{model}-{seed}"
        folder = str(self.args.work / name)
        self.run(f"{name}.train", ["train", model, "--data", self.args.data, "--seed", str(seed), "--val-split", "0.1",
                                   *train, "--out", folder])
        figures = {}
        for recipe, options in RECIPES.items():
            # A recipe that --table does not find is left out.
            made = self.run(f"{name}.{recipe.replace(' ', '-')}",
                            ["quantize", folder, *options, *(qat if recipe == "qat" else []), "--seconds", "0.1",
                             "-o", f"{folder}.{recipe.replace(' ', '-')}.wick"])
            if made is None:
                continue
            figures["float"] = {"accuracy": 100 * made["accuracy"]["before"], "bytes": made["bytes"]["before"]}
            figures[recipe] = {"accuracy": 100 * made["accuracy"]["after"], "bytes": made["bytes"]["after"]}
            held_out = made.get("qat", {}).get("val_accuracy", [])
            print(f"{name} {recipe}: {figures['float']['accuracy']:.2f} -> {figures[recipe]['accuracy']:.2f} %" +
                  (f" (held out, by epoch: {', '.join(f'{100 * a:.2f}' for a in held_out)})" if held_out else ""),
                  flush=True)
        return figures


def row(model, runs, gates):
    """A line of the table, how many gates hold, and those that are missed."""
    accuracy = [r["float"]["accuracy"] for r in runs if r]
    spread = statistics.stdev(accuracy) if len(accuracy) > 1 else 0
    cells, held, missed = [f"{statistics.mean(accuracy):.2f} ± {spread:.2f}"], 0, []
    for recipe in RECIPES:
        lost = [r["float"]["accuracy"] - r[recipe]["accuracy"] for r in runs if recipe in r]
        gate = gates.get(recipe)
        if not lost:
            cells.append("not measured")
            continue
        text = f"{statistics.mean(lost):+.2f} ({', '.join(f'{x:+.2f}' for x in lost)})"
        if gate is not None:
            text += f", <= {gate}"
            if statistics.mean(lost) <= gate + 1e-9:
                held += 1
            else:
                text += " MISSED"
                missed.append(f"{model}, {recipe}: {statistics.mean(lost):.3f} points lost, at most {gate}")
        cells.append(text)
    sizes = [next((f"{r[recipe]['bytes'] / 1000:.0f}" for r in runs if recipe in r), "-")
             for recipe in ("float", "static", "dynamic", "qat")]
    return f"| {model} | {' | '.join(cells)} | {' / '.join(sizes)} |", held, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="change nothing in the result")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/quantized")
    parser.add_argument("--wick", type=pathlib.Path, default=ROOT / "build/release/tools/wick/wick")
    parser.add_argument("--keep", action="store_true", help="finished runs of other builds count")
    parser.add_argument("--table", action="store_true", help="run nothing, write the table of what is there")
    parser.add_argument("--short", action="store_true", help="a minute: one seed, tiny images; writes no table")
    parser.add_argument("models", nargs="*", help="all unless named")
    args = parser.parse_args()
    args.models, named = SHORT if args.short else MODELS, args.models
    args.data = "tinydigits" if args.short else "fashion-mnist"
    if unknown := set(named) - set(args.models):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(args.models)}")
    if args.short:
        os.environ["WICK_DATA"] = str(ROOT / "tests/data/sets")  # where the commands find tinydigits
    args.work.mkdir(parents=True, exist_ok=True)
    runs = Runs(args)
    found = {m: [] for m in args.models if not named or m in named}
    for seed in range(1, (1 if args.short else args.seeds) + 1):
        for model, figures in found.items():
            figures.append(runs.measure(model, seed))
    lines = ["| model | float, % | static: points lost | the same, one scale a weight | dynamic | QAT | "
             "kB: float / static / dynamic / QAT |", "| --- | --- | --- | --- | --- | --- | --- |"]
    held, missed = 0, []
    for model, figures in found.items():
        if not any(figures):
            continue
        line, good, wrong = row(model, figures, args.models[model][2])
        held += good
        lines.append(line)
        missed += wrong
    text = "\n".join(lines)
    print(text)
    if set(found) == set(MODELS):  # the page holds all of them
        page = PAGE.read_text()
        head, tail = page[:page.index(BEGIN) + len(BEGIN)], page[page.index(END):]
        PAGE.write_text(f"{head}\n{text}\n{tail}")
    for wrong in missed:
        print(f"MISSED: {wrong}")
    print(f"{held} passed, {len(missed)} failed")
    return 1 if missed or not held else 0


if __name__ == "__main__":
    sys.exit(main())

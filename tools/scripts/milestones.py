#!/usr/bin/env python3
"""Runs the milestone examples in full over seeds and writes their table into docs/use/milestones.md.

Each finished run is kept in the results file, a line of JSON a figure, with the digest of the program that made it; a
run that was cut off goes on with the first (seed, example) that is not there. --keep takes finished runs of other
builds too. Exit 1 where a gate is missed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/use/milestones.md"
BEGIN, END = "<!-- milestones.sh: table -->", "<!-- milestones.sh: end -->"
# Quick ones first. NAME:DATA is the example with --data DATA.
EXAMPLES = ["perceptron", "xor", "mlp_digits", "cnn_digits", "tabular", "olympics", "mlp_mnist",
            "mlp_mnist:fashion-mnist", "attention", "lstm_text", "gpt_shakespeare", "lenet_mnist", "gpt_talks", "cnn_image"]


def read(path):
    """Runs by (program digest, example, seed): the figures of each."""
    runs = {}
    if path.exists():
        for line in path.read_text().splitlines():
            run = json.loads(line)
            runs[run["program"], run["name"], run["seed"]] = run["figures"]
    return runs


def run(program, name, seed, args):
    example, _, data = name.partition(":")
    command = [str(program), "--seed", str(seed)] + (["--data", data] if data else [])
    if args.threads:
        command += ["--threads", str(args.threads)]
    start = time.time()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode == 77:
        return done.stdout.strip()
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    for f in figures:
        f["value"] = float("nan") if f["value"] is None else f["value"]
    if not figures or done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}")
    print(f"{name} seed {seed}: {time.time() - start:.0f} s, " +
          ", ".join(f"{f['figure']} {f['value']:.4g}{'' if f['passed'] else ' MISSED ' + f['gate']}" for f in figures),
          flush=True)
    return figures


def row(name, runs):
    """Lines of the table: one a figure; probes in one, since their values say nothing beyond holds or not."""
    lines, probes = [], []
    for i, first in enumerate(runs[0][1]):
        column = [(figures[i], seed) for seed, figures in runs]
        if first["figure"].startswith("probe "):
            probes.append([f["passed"] for f, _ in column])
            continue
        values = [f["value"] for f, _ in column]
        worst = (min if first["gate"].startswith(">=") else max)(column, key=lambda c: c[0]["value"])
        spread = statistics.stdev(values) if len(values) > 1 else 0
        told = first["gate"] == "told"  # a number without a gate
        holds = sum(f["passed"] for f, _ in column)
        lines.append(f"| {name} | {first['figure']} | {first['gate']} | {statistics.mean(values):.4g} ± {spread:.2g} | "
                     f"{worst[0]['value']:.4g} (seed {worst[1]}) | {'' if told else f'{holds} of {len(values)}'} | "
                     f"{statistics.mean(f['seconds'] for f, _ in column):.1f} |")
    if probes:
        holds = sum(all(p[i] for p in probes) for i in range(len(runs)))
        lines.append(f"| {name} | {len(probes)} probes | all | | | {holds} of {len(runs)} | |")
    return lines


def table(chosen):
    lines = ["| example | figure | gate | mean ± sd | worst | holds | seconds |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name in EXAMPLES:
        runs = sorted((seed, figures) for (n, seed), figures in chosen.items() if n == name)
        if runs:
            lines += row(name.replace(":", ", "), runs)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="0: the examples' own default")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/milestones.jsonl")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--keep", action="store_true", help="finished runs of other builds count")
    parser.add_argument("--table", action="store_true", help="run nothing, write the table of what is there")
    parser.add_argument("examples", nargs="*", help="all unless named; -NAME (after --) leaves one out")
    args = parser.parse_args()

    left_out = {e[1:] for e in args.examples if e.startswith("-")}
    names = [e for e in args.examples if not e.startswith("-")] or EXAMPLES
    names = [n for n in names if n not in left_out]
    if unknown := (set(names) | left_out) - set(EXAMPLES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(EXAMPLES)}")
    args.results.parent.mkdir(parents=True, exist_ok=True)
    found = read(args.results)
    chosen, passed, failed, skipped = {}, 0, 0, {}
    for seed in range(1, args.seeds + 1):
        for name in names:
            program = args.build / "examples" / f"example_{name.partition(':')[0]}"
            old = [figures for (_, n, s), figures in found.items() if (n, s) == (name, seed)]
            digest = hashlib.sha256(program.read_bytes()).hexdigest()[:16] if program.exists() else ""
            figures = found.get((digest, name, seed)) or (old[-1] if old and (args.keep or args.table) else None)
            if figures is None and not args.table and name not in skipped:
                figures = run(program, name, seed, args)
                if isinstance(figures, str):
                    skipped[name] = figures
                    figures = None
                else:
                    with args.results.open("a") as out:
                        out.write(json.dumps({"program": digest, "name": name, "seed": seed, "figures": figures}) + "\n")
                        os.fsync(out.fileno())
            if figures is not None:
                chosen[name, seed] = figures
                good = all(f["passed"] for f in figures)
                passed, failed = passed + good, failed + (not good)
    text = table(chosen)
    print(text)
    # The page holds all examples: a run of some leaves it.
    if set(names) == set(EXAMPLES):
        page = PAGE.read_text()
        head, tail = page[:page.index(BEGIN) + len(BEGIN)], page[page.index(END):]
        PAGE.write_text(f"{head}\n{text}\n{tail}")
    for name, why in skipped.items():
        print(f"1 skipped: {name}: {why}")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What models cost on a Vulkan device: the tables of docs/inside/vulkan-cost.md.

  vulkan_cost.py --wick WICK --models DIR [--device D] [--seconds S] [-o docs/inside/vulkan-cost.md]

DIR has the peers' models (../shared/peers/export.py). Every number is the program's own: `wick bench --explain
--profile --json`. Exit 1 where a value crosses between CPU and device inside a model, 77 without device or models.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys

MODELS = [("lenet", "LeNet"), ("mobilenet_v2", "MobileNetV2"), ("resnet18", "ResNet-18"), ("gpt", "small GPT")]

HEAD = """# What models cost on Vulkan

Made by `tools/scripts/vulkan_cost.py` on {date}: {device} ({type}). Batch 1, float32.
{caution}
A run of a model is one submission. *Read* and *written*: the bytes of every tensor that a dispatch sees, once a
dispatch, so a floor of what crosses a cache. *In* and *out*: what the host copies to the device and back. *Copies
inside*: values that leave the device and come back, or the other way round, between a model's input and its output.
*Values*: the arena of inputs, outputs and what lies between, at most in use at a time; *staging* is 0 where host and device
share memory.
"""

CAUTION = """This device is a CPU: counts and bytes are those of any device, times are not a measure of anything
but where they go.
"""


def bench(wick, model, device, seconds):
    command = [wick, "bench", model, "--backend", "vulkan", "--explain", "--profile", "--json", "--seconds",
               str(seconds)]
    if device:
        command += ["--device", device]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if "no Vulkan" in done.stderr or "no usable Vulkan" in done.stderr:
            print(f"SKIP: {done.stderr.strip()}")
            sys.exit(77)
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)[0]


def amount(n):
    if n < 10_000:
        return f"{n} B"
    return f"{n / 1e3:.1f} KB" if n < 10_000_000 else f"{n / 1e6:.1f} MB"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def split(profile):
    """{what: ms} of a run: the host's parts, and the kernels by shader."""
    sums = {}
    for line in profile:
        if line["backend"] == "cpu":
            what = "CPU"
        else:
            what = line["kernel"].split(" [")[0] if line["node"] else line["op"]
        sums[what] = sums.get(what, 0) + line["ms"]
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wick", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--device", default="")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("-o", "--out")
    options = parser.parse_args()
    counts, memory, times, crossed, device = [], [], [], [], None
    for name, title in MODELS:
        path = os.path.join(options.models, f"{name}.onnx")
        if not os.path.exists(path):
            print(f"SKIP: no {path}")
            sys.exit(77)
        row = bench(options.wick, path, options.device, options.seconds)
        t = row["explain"]["totals"]
        device = device or row["explain"]["device"]
        if t["copies_inside"] or t["on_device"] != t["steps"]:
            crossed.append(title)
        counts.append([title, f"{t['on_device']} of {t['steps']}", t["dispatches"], t["barriers"],
                       f"{t['flops'] / 1e6:.1f}", amount(t["read_bytes"]), amount(t["written_bytes"]),
                       amount(t["copied_in_bytes"]), amount(t["copied_out_bytes"]), t["copies_inside"]])
        held = t["arena_bytes"] + t["constant_bytes"] + t["staging_bytes"]
        memory.append([title, amount(t["arena_bytes"]), amount(t["constant_bytes"]), amount(t["staging_bytes"]),
                       amount(held)])
        parts = split(row["profile"])
        total = sum(parts.values())
        host = {"copy in", "copy out", "submit and wait"}
        kernels = sorted(((ms, what) for what, ms in parts.items() if what not in host), reverse=True)
        shares = ", ".join(f"{what} {100 * ms / total:.0f} %" for ms, what in kernels if ms >= total / 100)
        times.append([title, f"{row['p50_ms']:.2f}"] +
                     [f"{100 * parts.get(what, 0) / total:.1f} %" for what in ("copy in", "submit and wait", "copy out")] +
                     [shares])
    text = HEAD.format(date=datetime.date.today().isoformat(), device=device["name"], type=device["type"],
                       caution=CAUTION if device["type"] == "cpu" else "")
    text += "\n## Work\n\n" + table(["model", "steps on it", "dispatches", "barriers", "MFLOP", "read", "written", "in",
                                     "out", "copies inside"], counts)
    text += "\n## Memory of the device\n\n" + table(["model", "values", "constants", "staging", "in all"], memory)
    text += "\n## Where the time goes\n\n" + table(["model", "ms a run", "copy in", "submit and wait", "copy out",
                                                    "kernels, from 1 % on"], times)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as out:
            out.write(text)
    else:
        print(text, end="")
    if crossed:
        print(f"not whole on the device: {', '.join(crossed)}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What integers do to a language model: the table of docs/use/quantization.md.

  quantized_gpt.py [--program build/release/examples/example_gpt_quantized] [--seeds 3] [--short] [--threads N] [LOG ...]

Trains a character GPT (examples/gpt_quantized) for each seed and prints, a form of its .wick a row, means over the
seeds: perplexity of text it has not seen, what integers add to it (and the worst seed's), tokens a second of one core
when windows of text are scored and when single tokens are, beside float32, bytes of the file and of the weights as a
session holds them. LOG: what the program printed (stdout and stderr) instead. Exit 1 where a gate is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default=os.path.join(ROOT, "build/release/examples/example_gpt_quantized"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--threads", type=int, default=1, help="of training")
    parser.add_argument("logs", nargs="*", metavar="LOG")
    args = parser.parse_args()
    outputs = []
    for log in args.logs:
        with open(log, encoding="utf-8") as f:
            outputs.append(f.read())
    for seed in range(1, args.seeds + 1) if not args.logs else ():
        command = [args.program, "--seed", str(seed), "--threads", str(args.threads)] + ["--short"] * args.short
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            print(done.stdout + done.stderr, end="")
            return done.returncode
        outputs.append(done.stdout + done.stderr)
    forms, passed, failed = {}, 0, 0
    for text in outputs:
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        gates = [line for line in lines if "figure" in line]
        passed += all(g["passed"] for g in gates)
        failed += not all(g["passed"] for g in gates)
        base = next(line["perplexity"] for line in lines if line.get("form") == "float32" and "perplexity" in line)
        for line in lines:
            if "tokens_per_s" in line:
                line["more"] = 100 * (line["perplexity"] / base - 1)
                forms.setdefault(line["form"], []).append(line)
    mean = lambda form, key: statistics.mean(row[key] for row in forms[form])  # noqa: E731
    print("| form | perplexity | more, % (worst seed) | tokens/s, windows | single tokens/s | file, bytes | weights, bytes |")
    print("|---|---|---|---|---|---|---|")
    for form, rows in forms.items():
        ratio = {key: mean(form, key) / mean("float32", key)
                 for key in ("tokens_per_s", "single_tokens_per_s", "file_bytes", "weight_bytes")}
        cells = [f"{mean(form, key):,.0f} ({ratio[key]:.{3 if 'bytes' in key else 2}f} x)" for key in ratio]
        more = f"{mean(form, 'more'):+.3f} ({max(r['more'] for r in rows):+.3f})" if form != "float32" else ""
        print(f"| {form} | {mean(form, 'perplexity'):.3f} | {more} | " + " | ".join(cells) + " |")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A row of the gate's table (gate.sh): gate_row.py TARGET MODEL FILE.json CODE RUNS; exit 1 where it does not hold.

FILE.json is what `wick build --json` printed, CODE its exit code, RUNS True where the target's programs run here. What
targets/TARGET/target.json states as "code" and "ram" of the model, in bytes, is held to 2 %: less than that asks for a
smaller statement. `gate_row.py --write PAGE` puts the rows of stdin into the page's table.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLACK = 0.02
HEAD = """| target | model | answers | code | model's bytes | memory | RAM | SHA-256 of the answers here |
|---|---|---|---|---|---|---|---|
"""


def row(target, model, path, code, runs):
    try:
        doc = json.load(open(path))
        made = doc["made"]
    except (ValueError, KeyError, OSError):
        return f"| {target} | {model} | FAILED, exit code {code} | | | | | |", False
    sections = made.get("sections")
    size = sections["code"] - doc["model_bytes"] if sections else None
    said = made["output"].split()[0] if made["ran"] else "linked"
    faults = []
    stated = json.loads((ROOT / "targets" / target / "target.json").read_text())
    for what, got in (("code", size), ("ram", made.get("ram"))):
        most = stated.get(what, {}).get(model)
        if most is not None and got is not None and abs(got - most) > SLACK * most:
            faults.append(f"{what} {got}, stated {most}")
    good = code == "0" and not faults and (said in ("equal", "close") if runs == "True" else said == "linked")
    if not good:
        said = f"FAILED {said}"
    text = lambda n: "" if n is None else f"{n}"
    return (f"| {target} | {model} | {said} | {text(size)} | {doc['model_bytes']} | {text(made.get('memory'))} | "
            f"{text(made.get('ram'))} | {doc['answers_sha256'][:16]} |" + "".join(f" {f}" for f in faults), good)


def write(page):
    path = pathlib.Path(page)
    text = path.read_text()
    begin, end = "<!-- gate -->\n", "<!-- /gate -->\n"
    if begin not in text or end not in text:
        sys.exit(f"{page} has no table")
    head, tail = text[:text.index(begin) + len(begin)], text[text.index(end):]
    path.write_text(head + HEAD + "".join(line + "\n" for line in sys.stdin.read().splitlines()) + tail)


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        write(sys.argv[2])
    else:
        line, holds = row(*sys.argv[1:])
        print(line)
        sys.exit(0 if holds else 1)

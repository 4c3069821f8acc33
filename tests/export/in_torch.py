#!/usr/bin/env python3
"""The corpus and the traps written in PyTorch 1.13, exported by torch.onnx.export and run in ONNX Runtime beside Wick's.

  in_torch.py test_export          exit 1 where docs/use/exporter-beside-pytorch.md is not what comes out
  in_torch.py test_export --write  writes that page; 40 s of one core either way

Exit 77 without ONNX Runtime or a Python with PyTorch 1.13 (WICK_TORCH_PYTHON, else python3 or Debian's). Neither column
is typed: test_export writes Wick's files, their inputs and results, and says what became of each trap; torch_export.py
exports the modules of torch_layers.py, torch_forms.py, torch_models.py and torch_traps.py with Wick's weights and keeps
what they give in eager mode at the same inputs. Both files are judged here, by the measure of in_ort.py.
"""

import collections
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time

import in_ort

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = "docs/use/exporter-beside-pytorch.md"
RIGHT, WRONG, REFUSED, FAILS = "right", "wrong at some size", "refused", "fails in ONNX Runtime"
VERDICTS = (RIGHT, WRONG, REFUSED, FAILS)
GROUPS = {"layers": "Layers", "forms": "What people do with sizes", "models": "Models"}

Verdict = collections.namedtuple("Verdict", "kind detail")


def python_with_torch():
    told = os.environ.get("WICK_TORCH_PYTHON")
    for python in [told] if told else ["python3", "/usr/bin/python3"]:
        try:
            found = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True,
                                   check=False, text=True)
            if found.stdout.startswith("1.13."):
                return python
        except OSError:
            pass
    return ""


def first_line(text):
    """Of a message what says why, without what a page would take for markup."""
    line = text.strip().split("\n")[0]
    line = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", line)
    line = re.sub(r"(\. )?Please feel free to request support.*| \([^()]*\.\w+:\d+\)|, \w+\.cc:\d+", "", line)
    line = re.sub(r"; a (dynamic )?size (that )?is read at .*|\. Sizes that the model is not meant for .*", "", line)
    line = re.sub(r"\. A branch on it is cond\(.*| \(a loop over a dynamic size is .*", "", line)
    line = re.sub(r"[`|<>*]", "", line).replace("](", "] (").strip()
    return line if len(line) <= 200 else line[:197] + "..."


def shapes_text(feeds):
    return " and ".join(str(list(f.shape)).replace(" ", "") for f in feeds)


def feeds_of(session, feeds, names):
    """An exporter leaves out an input that nothing reads."""
    by_name = dict(zip(names, feeds)) if names else {i.name: f for i, f in zip(session.get_inputs(), feeds)}
    return {i.name: by_name[i.name] for i in session.get_inputs()}


def drawn(name, session, feeds):
    """Of random numbers: other ones at each run, and such as forward draws."""
    import numpy as np
    x = feeds["x"]
    runs = [session.run(None, feeds)[0] for _ in range(2)]
    if name == "dropout in training":
        half = 0.5 - 3 / np.sqrt(x.size), 0.5 + 3 / np.sqrt(x.size)  # six standard deviations
        likely = all(np.all((r == 0) | (r == 2 * x)) and half[0] < (r == 0).mean() < half[1] for r in runs)
    else:
        likely = all(np.ptp(r - x) < 1e-5 and 0 <= (r - x).mean() < 1 for r in runs)
    return "" if likely and not np.array_equal(*runs) else "other numbers than forward draws"


def turns_in(folder, least=0):
    turns = sorted((t for t in os.listdir(folder) if t.isdigit() and int(t) >= least), key=int)
    return [os.path.join(folder, t) for t in turns]


def judge(ort, options, model, turns, names=None, random=""):
    """The verdict on a file, and how many runs that took."""
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # ONNX Runtime's own exception types share no base
        return Verdict(FAILS, "does not load: " + first_line(str(e))), 0
    wrong, failed = [], []
    for turn in turns:
        feeds, want = in_ort.arrays(turn, "in_"), in_ort.arrays(turn, "out_")
        given = feeds_of(session, feeds, names)
        try:
            if random:
                text = drawn(random, session, given)
            else:
                got = session.run(None, given)
                text = f"{len(got)} outputs, forward's {len(want)}" if len(got) != len(want) else ""
                text = text or next(filter(None, (in_ort.differs(g, w, "forward's") for g, w in zip(got, want))), "")
        except Exception as e:
            failed.append(f"at {shapes_text(feeds)}: {first_line(str(e))}")
            continue
        if text:
            wrong.append(f"at {shapes_text(feeds)}: {text}")
    for kind, found in ((WRONG, wrong), (FAILS, failed)):
        if found:
            return Verdict(kind, f"at {len(found)} of {len(turns)} sizes; {found[0]}"), len(turns)
    return Verdict(RIGHT, ""), len(turns)


def wick_tests(report):
    """{(suite, test): its entry} of a gtest JSON file."""
    return {(suite["name"], test["name"]): test for suite in report["testsuites"] for test in suite["testsuite"]}


def wick_programs(ort, options, folder, tests, mirrors):
    """mirrors: {name: the folder of its mirror, which has more sizes and the same numbers}."""
    found, runs = {}, 0
    for (suite, test), entry in tests.items():
        if not suite.endswith("/Corpus"):
            continue
        name = test.split("/")[-1]
        here = os.path.join(folder, name)
        if not os.path.exists(os.path.join(here, "model_17.onnx")):
            failures = entry.get("failures", [{"failure": "no file"}])
            found[name] = Verdict(REFUSED, first_line(failures[0]["failure"]))
            continue
        turns = turns_in(here) + (turns_in(mirrors[name], 100) if name in mirrors else [])
        found[name], n = judge(ort, options, os.path.join(here, "model_17.onnx"), turns)
        runs += n
    return found, runs


def wick_traps(tests):
    """test_export's own words: right, refused: ..., or anything else, which is wrong."""
    said = {}
    for (suite, _), entry in tests.items():
        if suite == "Traps":
            said.update({k: v for k, v in entry.items() if k in entry and isinstance(v, str) and
                         re.match(r"right$|refused: |silent at |forward fails at ", v)})
    found = {}
    for name, text in said.items():
        kind, _, detail = text.partition(": ")
        found[name] = Verdict(kind, first_line(detail)) if kind in (RIGHT, REFUSED) else Verdict(WRONG, first_line(text))
    return found


def torch_programs(ort, options, folder, report):
    found, runs = {}, 0
    for name, said in report.items():
        if "refused" in said:
            found[name] = Verdict(REFUSED, first_line(said["refused"]))
        elif "opset" in said:
            random = name if name in ("random numbers", "dropout in training") else ""
            here = os.path.join(folder, name)
            found[name], n = judge(ort, options, os.path.join(here, "model.onnx"), turns_in(here), said["inputs"], random)
            runs += n
        else:
            found[name] = Verdict("no counterpart", first_line(said["mirror"]))
            continue
        notes = [f"opset {said['opset']}"] if said.get("opset", 17) != 17 else []
        notes += ["no warning"] if found[name].kind in (WRONG, FAILS) and not said["warned"] else []
        if notes:
            found[name] = Verdict(found[name].kind, "; ".join(filter(None, [found[name].detail, *notes])))
    return found, runs


def cell(verdict, wrong=WRONG):
    kind = wrong if verdict.kind == WRONG else verdict.kind
    return f"{kind}: {verdict.detail}" if verdict.detail else kind


def table(torch_column, wick_column, wrong=WRONG):
    lines = ["| name | PyTorch 1.13 | Wick |", "|---|---|---|"]
    return lines + [f"| {name} | {cell(v, wrong)} | {cell(wick_column[name], wrong)} |" for name, v in torch_column.items()]


def totals(columns, wrong=WRONG):
    kinds = [*VERDICTS, *(["no counterpart"] if any(v.kind == "no counterpart" for v in columns[0].values()) else [])]
    lines = ["| | PyTorch 1.13 | Wick |", "|---|---|---|"]
    for kind in kinds:
        counts = [sum(v.kind == kind for v in column.values()) for column in columns]
        lines.append(f"| {wrong if kind == WRONG else kind} | {counts[0]} | {counts[1]} |")
        if kind == WRONG:
            counts = [sum(v.kind == kind and v.detail.endswith("no warning") for v in c.values()) for c in columns]
            lines.append(f"| - of them made without a warning | {counts[0]} | {counts[1]} |")
    return lines


def prose(text):
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def page(results, versions):
    programs, wick, traps, wick_trapped, numbers = results
    every = {name: v for column in programs.values() for name, v in column.items()}
    apart = [f"`{n}`" for n, v in {**every, **traps}.items()
             if v.kind == RIGHT and {**wick, **wick_trapped}[n].kind != RIGHT]
    lines = [
        "# The exporter beside PyTorch 1.13's",
        "",
        prose(
            f"Made by `tests/export/in_torch.py` with PyTorch {versions[0]} and ONNX Runtime {versions[1]}: the "
            f"{len(every)} modules of `tests/export` and its traps are written once more as a user of PyTorch 1.13 would, "
            "exported by `torch.onnx.export` (tracing, opset 17, `dynamic_axes` for the sizes that are free in Wick's) and "
            "run in ONNX Runtime at ten sizes of each: the five of `tests/export/corpus_test.cc`, the smallest among them, "
            "and five more, up to 40 above it. An output is right where each element is within 1e-5 of the largest of what "
            "forward gives in eager mode, and integers are equal. Wick's column is its own file of opset 17 by the same "
            "measure, at the five held against Wick's forward and at the others against PyTorch's eager mode. The traps "
            "are run at forty sizes, and at four with other data; Wick's column there is what "
            "`tests/export/traps_test.cc` found, where right means equal bits."),
        "",
        prose(
            f"Branches and loops by data (`control_*`) are left out: PyTorch 1.13 has no `cond`, `while_loop` and `scan`. "
            f"Whether a mirror is the same module is tested, too: {numbers} of {len(every)} are given Wick's weights by "
            "their keys and then have Wick's numbers in eager mode at the five sizes."),
        "",
        prose(
            "A file that is wrong at some size says nothing when it runs. Some were made with a warning of PyTorch's "
            "tracer; a row says `no warning` where none came. An op is refused under the name of the first opset that was "
            "tried, 17; opset 16 is tried after it."),
        "",
        "## Totals",
        "",
        f"{len(every)} modules:",
        "",
        *totals([every, wick]),
        "",
        f"{len(traps)} traps:",
        "",
        *totals([traps, wick_trapped], "silently wrong"),
        "",
        prose("Right in PyTorch and not in Wick: " + (", ".join(apart) or "nothing") + "."),
        "",
    ]
    for part, title in GROUPS.items():
        lines += [f"## {title}", "", *table(programs[part], wick), ""]
    lines += ["## Traps", "",
              prose("Forwards that a capture can get wrong: branches and loops on sizes and data, numbers baked in, state "
                    "that changes. Right, or refused with the reason, is what a user can work with."), "",
              *table(traps, wick_trapped, "silently wrong"), ""]
    return "\n".join(lines)


def main():
    try:
        import onnxruntime as ort
    except ImportError as e:
        print(f"SKIP: {e.name} not installed (tools/scripts/setup_ort.sh)")
        return 77
    python = python_with_torch()
    if not python:
        print("SKIP: no Python with torch 1.13")
        return 77
    start = time.monotonic()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as work:
        corpus, mirror, said = (os.path.join(work, n) for n in ("wick", "torch", "tests.json"))
        os.makedirs(mirror)
        code = subprocess.run(
            [sys.argv[1], "--gtest_brief=1", "--gtest_filter=*Corpus*:Traps.*-*/control_*", f"--gtest_output=json:{said}"],
            check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "WICK_CORPUS_FOLDER": corpus}).returncode
        if not os.path.exists(said):
            print(f"{sys.argv[1]} wrote no results, exit code {code}\n0 passed, 1 failed")
            return 1
        with open(said, encoding="utf-8") as f:
            tests = wick_tests(json.load(f))
        exporter = subprocess.run([python, os.path.join(HERE, "torch_export.py"), corpus, mirror], check=False,
                                  capture_output=True, text=True)
        if exporter.returncode != 0:
            print(f"{exporter.stderr[-2000:]}\ntorch_export.py: exit code {exporter.returncode}\n0 passed, 1 failed")
            return 1
        with open(os.path.join(mirror, "report.json"), encoding="utf-8") as f:
            report = json.load(f)
        mirrors = {name: os.path.join(mirror, part, name) for part, entries in report["programs"].items()
                   for name, e in entries.items() if e["mirror"] == "numbers"}
        wick, wick_runs = wick_programs(ort, options, corpus, tests, mirrors)
        trapped = wick_traps(tests)
        columns, runs = {}, wick_runs
        for part, entries in report["programs"].items():
            columns[part], n = torch_programs(ort, options, os.path.join(mirror, part), entries)
            runs += n
    traps = columns.pop("traps")
    every = {name: v for column in columns.values() for name, v in column.items()}
    entries = {name: e for part, found in report["programs"].items() if part != "traps" for name, e in found.items()}
    faults = [f"{n}: no mirror in PyTorch" for n in [*wick, *trapped] if n not in every and n not in traps]
    faults += [f"{n}: no such program" for n in [*every, *traps] if n not in wick and n not in trapped]
    faults += [f"{n}: the mirror is another module: {e['mirror']}" for n, e in entries.items()
               if e["mirror"] not in ("numbers", "shapes")]
    for fault in faults:
        print(f"FAIL {fault}")
    if faults:
        print(f"0 passed, {len(faults)} failed")
        return 1
    numbers = sum(e["mirror"] == "numbers" for e in entries.values())
    text = page((columns, wick, traps, trapped, numbers), (report["version"], ort.__version__))
    for name, v in {**every, **traps}.items():
        other = wick[name] if name in wick else trapped[name]
        print(f"{name:34} {cell(v)[:110]:110}  {cell(other)[:60]}")
    for title, pair in (("modules", (every, wick)), ("traps", (traps, trapped))):
        counts = [collections.Counter(v.kind for v in column.values()) for column in pair]
        for whose, count in zip(("PyTorch", "Wick"), counts):
            print(f"COUNT: {whose}, {len(pair[0])} {title}: " + ", ".join(f"{count[k]} {k}" for k in count))
    print(f"{runs} runs in ONNX Runtime, {time.monotonic() - start:.0f} s")
    path = os.path.join(in_ort.ROOT, PAGE)
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return compare(path, text, len(every) + len(traps))


def rows(text):
    """{name: its verdicts} of a page; what a message says is another version's own."""
    lines = [line.strip("| \n").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [" | ".join([cells[0], *(c.split(":")[0] for c in cells[1:])]) for cells in lines if len(cells) == 3]


def compare(path, text, count):
    have = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            have = f.read()
    changed = list(difflib.unified_diff(rows(have), rows(text), PAGE, "what came out", lineterm="", n=0))
    for line in changed[:40]:
        print(line)
    if changed:
        print(f"{PAGE} is not what comes out: run tests/export/in_torch.py TEST_EXPORT --write")
    print(f"{count if not changed else 0} passed, {1 if changed else 0} failed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())

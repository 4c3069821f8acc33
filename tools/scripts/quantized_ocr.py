#!/usr/bin/env python3
"""Does a text recogniser of integers still read? ppocr_rec (tools/scripts/real_models.sh) quantized statically.

  quantized_ocr.py --wick WICK --real DIR [--all]

Calibrated on 24 drawn lines of other text than it is asked to read (their maker is ../shared/models/gen.js: Node), by
`wick quantize --bias-correction`, every convolution int8. The .wick must read the lines of cases.json as they were
drawn, or as float32 reads one of them (the font's I and 1 are a dot apart: of two images of TRAIN one is TRA1N). Of 24
further lines the characters are counted that are as drawn (edit distance): three points may be lost against float32.
--all: other recipes too, as they come out. Exit 1 where a gate is missed, 77 without the model.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import ort_run  # noqa: E402

SHARED = os.environ.get("WICK_SHARED", os.path.join(ort_run.ROOT, "..", "shared"))
TEXTS = ["HELLO WORLD", "EXPORT 2025", "MODEL 345", "QUANTIZE", "CALIBRATE 7", "ZEBRA 9081", "OPEN DOOR", "KEY 4471",
         "FLIGHT 62", "MUSIC BOX", "LAMP 8 WATT", "PAGE 350", "NORTH 19", "VECTOR 77", "GRAPH 2X2", "SUM 1 2 3",
         "YELLOW CAB", "RIVER 506", "JAZZ", "UNIT 98765", "INPUT 12", "HOUSE 4A", "STREET 88", "MAX 3000"]
ASKED = ["GOOD DAY", "TRACK 19", "MAPLE 44", "CLOUD 7", "PAPER BOX", "DRUM 2026", "LEMON TEA", "FIELD 303", "NIGHT BUS",
         "STONE 81", "WINTER", "ROAD 66", "CANDLE", "BREAD 12", "SILVER", "PIANO 88", "TOWER 5", "GARDEN", "HARBOR 9",
         "COFFEE", "LADDER 3", "OCEAN 700", "VIOLET", "EXACT 1234"]
# The first ten convolutions as floats: depthwise layers lose most as bytes of one scale.
FLOAT = ["--skip", "p2o.Conv.?"]
RECIPES = [["--observer", "min-max", "--bias-correction"], ["--observer", "mse", "--bias-correction", *FLOAT],
           ["--observer", "mse", "--bias-correction"], ["--observer", "mse"], ["--observer", "min-max"],
           ["--observer", "percentile"], ["--observer", "entropy"]]
DRAW = """
const {make, writeNpy} = require(process.argv[2]);
const first = Number(process.argv[5]);  // of the seeds; the lines asked for are of one width
JSON.parse(process.argv[3]).forEach((text, i) => {
  const width = first == 100 && i % 3 == 2 ? 432 : 320;
  const line = make({kind: 'image', shape: [1, 3, 48, width], layout: 'NCHW', mean: 0.5, std: 0.5, seed: first + i, flat: [235, 230, 240][i % 3],
    text: [[text, 8 + (i % 4) * 4, 6 + i % 4, 4.2 + (i % 4) * 0.12, 10 + (i * 7) % 30]]});
  writeNpy(`${process.argv[4]}/${String(i).padStart(2, '0')}.npy`, line.dtype, line.shape, line.data);
});
"""


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def edits(a, b):
    """The least number of characters to put in, take out or change."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            last, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, last + (x != y))
    return row[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--wick", required=True)
    parser.add_argument("--real", required=True, metavar="DIR")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    model = os.path.join(args.real, "ppocr_rec")
    maker = os.path.abspath(os.path.join(SHARED, "models", "gen.js"))
    if not os.path.exists(os.path.join(model, "cases.json")):
        skip(f"no real models ({model}; tools/scripts/real_models.sh)")
    if not os.path.exists(maker):
        skip(f"no shared data folder ({maker})")
    if shutil.which("node") is None:
        skip("no real models' input maker: Node is not installed")
    ort_run.reexec()
    try:
        import numpy as np
        from real_models_check import decode
    except ImportError as e:
        skip(f"onnxruntime not installed ({e})")
    with open(os.path.join(model, "ppocr_keys_v1.txt"), encoding="utf-8") as f:
        keys = [""] + [line.rstrip("\r\n") for line in f][:6623] + [" "]
    with open(os.path.join(model, "cases.json"), encoding="utf-8") as f:
        cases = json.load(f)["cases"]
    with open(os.path.join(SHARED, "models", "models.dev.json"), encoding="utf-8") as f:
        (made,) = [m for m in json.load(f)["models"] if m["id"] == "ppocr_rec"]
    drawn = {c["name"]: c["inputs"]["x"]["text"][0][0] for c in made["cases"]}
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        calib, program = os.path.join(work, "calib"), os.path.join(work, "rec8.wick")
        os.makedirs(calib)
        script = os.path.join(work, "draw.cjs")
        with open(script, "w", encoding="utf-8") as f:
            f.write(DRAW)
        asked = os.path.join(work, "asked")
        os.makedirs(asked)
        for texts, folder, seed in ((TEXTS, calib, 100), (ASKED, asked, 500)):
            subprocess.run(["node", script, maker, json.dumps(texts), folder, str(seed)], check=True)
        lines = os.path.join(work, "lines.npy")
        np.save(lines, np.concatenate([np.load(os.path.join(asked, f)) for f in sorted(os.listdir(asked))]))

        def read(file, image):
            out = os.path.join(work, "out")
            shutil.rmtree(out, ignore_errors=True)
            subprocess.run([args.wick, "run", file, "--input", f"x={image}", "-o", out], check=True, capture_output=True)
            (array,) = os.listdir(out)
            return decode(np.load(os.path.join(out, array)), keys)

        def as_drawn(file):
            return sum(len(t) - edits(t, r) for t, r in zip(ASKED, read(file, lines))) / sum(map(len, ASKED))

        floats = as_drawn(os.path.join(model, "model.onnx"))
        print(f"float32: {100 * floats:.1f} % of the characters of {len(ASKED)} other lines")
        for number, recipe in enumerate(RECIPES if args.all else RECIPES[:1]):
            made = subprocess.run([args.wick, "quantize", os.path.join(model, "model.onnx"), "--recipe", "static", "--calib",
                                   calib, "-o", program, "--seconds", "0.2", "--quiet", *recipe],
                                  capture_output=True, text=True, check=True).stdout
            print(f"{' '.join(recipe)}:")
            if number == 0:
                print("\n".join("  " + line for line in made.splitlines() if not line.startswith("  "))
                      .replace(work, "").replace(args.real, ""))
            for case in cases:
                text = read(program, os.path.join(model, case["steps"][0]["inputs"][0]["file"]))
                same = all(t in (drawn[case["name"]], *case["text"]) for t in text)
                passed, failed = passed + (number == 0 and same), failed + (number == 0 and not same)
                print(f"  {case['name']}: reads {text}" + ("" if text == case["text"] else f", float32 {case['text']}"), flush=True)
            share = as_drawn(program)
            good = share >= floats - 0.03
            passed, failed = passed + (number == 0 and good), failed + (number == 0 and not good)
            print(f"  {100 * share:.1f} % of the characters of other lines", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

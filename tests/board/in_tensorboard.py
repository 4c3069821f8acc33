#!/usr/bin/env python3
"""Wick's event files, read by TensorBoard's own package.

  in_tensorboard.py TEST_BOARD WICK     the programs that write them

Needs tools/scripts/setup_tensorboard.sh, whose Python it re-executes itself with (WICK_TENSORBOARD_VENV names another
venv); exit 77 without it.
"""

import glob
import gzip
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("WICK_TENSORBOARD_VENV", os.path.join(ROOT, "build", "tensorboard", "venv"))

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2
except ImportError:
    python = os.path.join(VENV, "bin", "python")
    if os.path.exists(python) and "--again" not in sys.argv:
        os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:], "--again"])
    print("SKIP: tensorboard is not installed (tools/scripts/setup_tensorboard.sh)")
    sys.exit(77)

count = 0


def expect(got, want, what):
    global count
    count += 1
    if got != want:
        print(f"{what}: got {got!r}, expected {want!r}")
        print(f"{count - 1} passed, 1 failed")
        sys.exit(1)


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def accumulated(folder):
    """All that a folder's files hold, checksums compared, nothing thinned out."""
    a = EventAccumulator(folder, size_guidance={"scalars": 0, "images": 0, "histograms": 0, "tensors": 0})
    a.Reload()
    return a


def scalars(a, tag):
    return [(s.step, s.value) for s in a.Scalars(tag)]


def size_of_png(data):
    expect(data[:8], b"\x89PNG\r\n\x1a\n", "the image's first bytes")
    return struct.unpack(">II", data[16:24])


def check_sample(folder):
    a = accumulated(folder)
    expect(scalars(a, "loss/train"), [(i, f32(1 / (i + 1))) for i in range(20)], "loss/train")
    expect(a.file_version if hasattr(a, "file_version") else 2, 2, "the version")
    for name, factor in (("a", 1), ("b", -2)):
        part = accumulated(f"{folder}/both_{name}")
        expect(scalars(part, "both"), [(i, float(factor * i)) for i in range(20)], f"both_{name}")
    (event,) = a.Histograms("weights")
    h = event.histogram_value
    values = [f32(i / 10) for i in range(-50, 51)]
    expect(event.step, 3, "the histogram's step")
    expect((h.min, h.max, h.num), (-5.0, 5.0, 101), "the histogram's range")
    expect((sum(h.bucket), len(h.bucket)), (101, len(h.bucket_limit)), "the histogram's buckets")
    for i, limit in enumerate(h.bucket_limit):
        below = sum(v < limit for v in values)
        expect(sum(h.bucket[:i + 1]), below, f"how many values lie below {limit}")
    (image,) = a.Images("grid")
    expect((image.step, image.width, image.height), (4, 2 * 7 + 2, 8), "the image's size")
    expect(size_of_png(image.encoded_image_string), (16, 8), "the PNG's size")
    (text,) = a.Tensors("notes/text_summary")
    expect(text.tensor_proto.string_val[0].decode(), "**größer**", "the text")
    expect(a.SummaryMetadata("notes/text_summary").plugin_data.plugin_name, "text", "the text's plugin")
    check_hparams(accumulated(f"{folder}/first"))


def check_hparams(a):
    def part(tag):
        return plugin_data_pb2.HParamsPluginData.FromString(a.SummaryMetadata(tag).plugin_data.content)
    experiment = part("_hparams_/experiment").experiment
    expect({i.name: i.type for i in experiment.hparam_infos}, {"bias": 2, "lr": 3, "model": 1}, "types of hyperparameters")
    expect([m.name.tag for m in experiment.metric_infos], ["accuracy"], "metrics")
    begin = part("_hparams_/session_start_info").session_start_info.hparams
    expect({k: getattr(v, v.WhichOneof("kind")) for k, v in begin.items()},
           {"bias": False, "lr": 0.5, "model": "lenet"}, "hyperparameters")
    expect(part("_hparams_/session_end_info").session_end_info.status, 1, "the end")
    expect(scalars(a, "accuracy"), [(0, 0.75)], "the metric")


def write_images(folder):
    """Small IDX files: 96 images to train on and 32 to test."""
    os.mkdir(folder)
    for part, n in (("train", 96), ("t10k", 32)):
        pixels = bytes((i * 7 + i // 784 * 13) % 256 for i in range(n * 784))
        with gzip.open(f"{folder}/{part}-images-idx3-ubyte.gz", "wb") as f:
            f.write(struct.pack(">IIII", 0x803, n, 28, 28) + pixels)
        with gzip.open(f"{folder}/{part}-labels-idx1-ubyte.gz", "wb") as f:
            f.write(struct.pack(">II", 0x801, n) + bytes(i % 10 for i in range(n)))


def check_train(wick, work):
    """wick train, an epoch and then a resumed one that trains it again from its middle."""
    images, board, out = f"{work}/images", f"{work}/board", f"{work}/run"
    write_images(images)

    def train(*more):
        subprocess.run([wick, "train", "lenet", "--data", images, "--batch", "16", "--epochs", "2", "--out", out, "--quiet",
                        "--tensorboard", board, "--tensorboard-every", "2", "--tensorboard-histograms", *more],
                       check=True, stdout=subprocess.DEVNULL)

    train()
    a = accumulated(board)
    with open(f"{out}/metrics.csv", encoding="utf-8") as f:
        names, *rows = [line.strip().split(",") for line in f]
    rows = [dict(zip(names, row)) for row in rows]
    for tag, column in (("loss/train", "train_loss"), ("loss/val", "val_loss"), ("accuracy/train", "train_accuracy"),
                        ("accuracy/val", "val_accuracy"), ("lr", "lr"), ("epoch", "epoch")):
        got = [(step, f"{value:.6g}") for step, value in scalars(a, tag)]
        expect(got, [(int(r["step"]), f"{f32(float(r[column])):.6g}") for r in rows], tag)
    expect([step for step, _ in scalars(a, "step/loss")], [2, 4, 6, 8, 10, 12], "the steps")
    expect(len([t for t in a.Tags()["histograms"] if t.startswith("weights/")]) > 4, True, "histograms of weights")
    train()  # anew in the same folder: the first run's values are forgotten, not shown beside
    again = accumulated(board)
    expect(len(glob.glob(f"{board}/events.out.tfevents.*")), 2, "files")
    expect(scalars(again, "loss/train"), scalars(a, "loss/train"), "loss/train after a second run")
    expect(scalars(again, "step/loss"), scalars(a, "step/loss"), "step/loss after a second run")


def main():
    test_board, wick = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([test_board, "--gtest_brief=1", "--gtest_filter=Board.WritesASample"], check=True,
                       env={**os.environ, "WICK_BOARD_FOLDER": work}, stdout=subprocess.DEVNULL)
        check_sample(f"{work}/sample")
        check_train(wick, work)
    print(f"{count} passed, 0 failed")


if __name__ == "__main__":
    main()

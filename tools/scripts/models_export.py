#!/usr/bin/env python3
"""Exports whole architectures to ONNX with random weights: what tools/scripts/models.sh compares.

  models_export.py OUT [NAME...]    writes OUT/NAME.onnx and OUT/NAME.<0|1>.input.npy; --list prints the names

Needs PyTorch and torchvision (Debian: python3-torchvision). The seed is fixed, and BatchNorm has statistics that
do something. A model that is there is not exported again while its recipe is the same (OUT/NAME.recipe: a digest of
what this file says about it). Exit codes: 0 done, 1 some failed (the others are there), 3 PyTorch is not installed.
"""

import hashlib
import inspect
import os
import re
import sys
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(os.environ.get("WICK_SHARED", os.path.join(ROOT, "..", "shared")), "peers")
sys.dont_write_bytecode = True

# name: how it is built, its two input shapes, opset, which dims of the input are symbols.
WHOLE, BATCH = ("batch", None, "height", "width"), ("batch",)
A, B = (2, 3, 96, 128), (1, 3, 128, 160)      # nets that take any size
C, D = (1, 3, 224, 224), (3, 3, 224, 224)     # nets that were traced at one
CLASSIFIERS = {
    "alexnet": (C, D, 11, BATCH), "vgg11_bn": (C, D, 13, BATCH), "googlenet": (A, B, 13, WHOLE),
    "inception_v3": (A, B, 17, WHOLE), "densenet121": (A, B, 13, WHOLE), "mnasnet1_0": (A, B, 12, WHOLE),
    "shufflenet_v2_x1_0": (A, B, 13, WHOLE), "regnet_x_400mf": (A, B, 14, WHOLE),
    "regnet_y_400mf": (A, B, 17, WHOLE), "convnext_tiny": (A, B, 17, WHOLE), "vit_b_16": (C, D, 17, BATCH),
    "vit_b_32": (C, D, 13, BATCH), "swin_t": (C, D, 17, BATCH),
    "maxvit_t": (C, D, 17, BATCH), "efficientnet_v2_s": (A, B, 17, WHOLE),
    "resnet34": (A, B, 9, WHOLE), "squeezenet1_0": (A, B, 13, WHOLE),
    "resnext50_32x4d": (A, B, 15, WHOLE), "wide_resnet50_2": (A, B, 10, WHOLE),
    "mobilenet_v3_large": (A, B, 17, WHOLE), "mobilenet_v3_small": (A, B, 11, WHOLE),
    "resnet101": (A, B, 16, WHOLE),
}
# Those of the peers' export.py, which are theirs to define, with sizes left open.
PEER_MODELS = {
    "lenet": ((1, 1, 28, 28), (5, 1, 28, 28), 13, BATCH), "mlp": ((1, 784), (7, 784), 13, BATCH),
    "gpt": ((1, 128), (3, 61), 13, ("batch", "length")), "mobilenet_v2": (A, B, 13, WHOLE),
    "resnet18": (A, B, 13, WHOLE), "resnet50": (A, B, 13, WHOLE), "squeezenet1_1": (A, B, 13, WHOLE),
    "efficientnet_b0": (A, B, 13, WHOLE),
}
SEGMENTATION = {
    "fcn_resnet50": (A, B, 11, WHOLE), "deeplabv3_mobilenet_v3_large": (A, B, 13, WHOLE),
    "deeplabv3_resnet50": (A, B, 17, WHOLE), "lraspp_mobilenet_v3_large": (A, B, 17, WHOLE),
}
# One image of any size. The numbers of candidates are small: the more scores, the closer the nearest two.
FEW = dict(rpn_pre_nms_top_n_test=20, rpn_post_nms_top_n_test=10, box_score_thresh=0.01, box_detections_per_img=5)
IMAGE = (None, "height", "width")
DETECTION = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": ((3, 120, 160), (3, 200, 140), 11, IMAGE),
    "fasterrcnn_resnet50_fpn": ((3, 120, 160), (3, 200, 140), 16, IMAGE),
    "maskrcnn_resnet50_fpn": ((3, 120, 160), (3, 200, 140), 13, IMAGE),
    "keypointrcnn_resnet50_fpn": ((3, 120, 160), (3, 200, 140), 12, IMAGE),
    "retinanet_resnet50_fpn": ((3, 120, 160), (3, 200, 140), 13, IMAGE),
    "fcos_resnet50_fpn": ((3, 120, 160), (3, 200, 140), 17, IMAGE),
    "ssd300_vgg16": ((3, 120, 160), (3, 200, 140), 11, IMAGE),
    "ssdlite320_mobilenet_v3_large": ((3, 120, 160), (3, 200, 140), 17, IMAGE),
}
PARTS = {
    "part_roi_align": ((1, 8, 20, 30), (2, 8, 33, 17), 16, WHOLE), "part_nms": ((40, 5), (17, 5), 11, ("boxes",)),
    "part_mask_head": ((3, 256, 14, 14), (1, 256, 10, 7), 13, ("boxes", None, "height", "width")),
    "part_keypoint_head": ((3, 256, 14, 14), (1, 256, 10, 7), 13, ("boxes", None, "height", "width")),
    "part_fpn": ((1, 16, 32, 48), (2, 16, 40, 24), 13, WHOLE),
    "video_r3d_18": ((1, 3, 8, 48, 48), (2, 3, 5, 64, 40), 13, ("batch", None, "frames", "height", "width")),
}
MODELS = {**PEER_MODELS, **CLASSIFIERS, **SEGMENTATION, **DETECTION, **PARTS}


def flat(value):
    """Every tensor of a model's answer, in order: dicts and lists have no place in ONNX."""
    import torch
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for v in value for t in flat(v)]


def build(name):
    import torch
    import torchvision
    from torch import nn
    from torchvision import ops

    class Answer(nn.Module):
        def __init__(self, body, images=False):
            super().__init__()
            self.body, self.images = body, images

        def forward(self, x):
            return tuple(flat(self.body([x] if self.images else x)))

    class Nms(nn.Module):
        def forward(self, x):
            corners = torch.cat([x[:, :2], x[:, :2] + x[:, 2:4].abs()], 1)
            kept = ops.batched_nms(corners, x[:, 4], (x[:, 0] > 0).long(), 0.4)
            return corners[kept], kept

    class Roi(nn.Module):
        def forward(self, x):
            boxes = torch.tensor([[1., 2., 19., 11.], [0., 0., 5., 40.], [-3., 4., 8., 9.]])
            rows = torch.cat([torch.zeros(3, 1), boxes], 1)
            return (ops.roi_align(x, rows, (3, 5), 0.5, 2, True), ops.roi_align(x, rows, 4, 1.0, -1, False),
                    ops.roi_pool(x, rows, (2, 3), 0.5))

    class Fpn(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([nn.Conv2d(16, 24, 3, 2, 1), nn.Conv2d(24, 32, 3, 2, 1)])
            self.fpn = ops.FeaturePyramidNetwork([16, 24, 32], 12, ops.feature_pyramid_network.LastLevelMaxPool())

        def forward(self, x):
            a = self.down[0](x)
            return tuple(self.fpn({"0": x, "1": a, "2": self.down[1](a)}).values())

    vision = torchvision.models
    if name in ("lenet", "mlp", "gpt"):
        sys.path.insert(0, PEERS)
        import models
        return {"lenet": models.LeNet, "mlp": models.MLP, "gpt": models.GPT}[name]()
    if name in SEGMENTATION:
        return Answer(getattr(vision.segmentation, name)(weights=None, weights_backbone=None))
    if name in DETECTION:
        more = FEW if "rcnn" in name else dict(score_thresh=0.02, topk_candidates=10, detections_per_img=5)
        if not name.startswith("ssd"):  # theirs is fixed
            more = dict(more, min_size=128, max_size=224)
        return Answer(getattr(vision.detection, name)(weights=None, weights_backbone=None, **more), True)
    if name == "part_mask_head":
        return nn.Sequential(vision.detection.mask_rcnn.MaskRCNNHeads(256, (32, 32), 1),
                             vision.detection.mask_rcnn.MaskRCNNPredictor(32, 16, 4))
    if name == "part_keypoint_head":
        return nn.Sequential(vision.detection.keypoint_rcnn.KeypointRCNNHeads(256, (32, 32)),
                             vision.detection.keypoint_rcnn.KeypointRCNNPredictor(32, 7))
    if name.startswith("part_"):
        return {"part_nms": Nms, "part_roi_align": Roi, "part_fpn": Fpn}[name]()
    if name.startswith("video_"):
        return getattr(vision.video, name[6:])(weights=None)
    more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return getattr(vision, name)(weights=None, **more)


def settle(model):
    """Statistics and scales that matter: a fresh BatchNorm is nearly the identity, a fresh layer scale nearly 0."""
    import torch
    from torchvision.ops import FrozenBatchNorm2d
    for m in model.modules():
        if isinstance(m, (torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, FrozenBatchNorm2d)):
            m.running_mean.normal_(0, .1)
            m.running_var.uniform_(.5, 1.5)
        if hasattr(m, "layer_scale"):
            m.layer_scale.data.uniform_(.1, .5)
        # Heads that start as zeros would answer zeros whatever came before.
        for weight in (p for p in m.parameters(recurse=False) if p.dim() >= 2 and not p.any()):
            weight.data.normal_(0, .05)


# Where a detector answers: the scale of what comes out there (standard deviation, then what is added on average).
HEADS = {
    r"rpn\.head\.cls_logits": (2, 0), r"cls_score": (2, 0), r"classification_head\.module_list\.\d+(\.1)?": (1, 0),
    r"classification_head\.cls_logits": (1, -3), r"bbox_ctrness": (1, 0), r"mask_fcn_logits": (2, 0),
    r"kps_score_lowres": (2, 0), r"bbox_reg": (.4, .5), r"bbox_pred|regression_head\.module_list\.\d+(\.1)?": (.4, 0),
}


def calibrate(model, image):
    """A detector's statistics and heads by what one image gives, as training leaves them.

    Unseen, they are wild: activations of hundreds make sigmoids that are exactly 1 in ten thousands of places, so that
    which of them is first is decided by the last bit of a logit, and boxes of e^30 pixels, cut to the image, whose
    edges are all cancellation. Two right answers differ then.
    """
    import torch
    from torchvision.ops import FrozenBatchNorm2d
    hooks = []

    def statistics(m, inputs):
        x = inputs[0]
        # Of a map of a few pixels, the channels together.
        dims = [0, 2, 3] if x[:, 0].numel() >= 16 else [0, 1, 2, 3]
        mean, var = x.mean(dims), x.var(dims).clamp_min(1e-4)
        m.running_mean.copy_(mean + var.sqrt() * .1 * torch.randn_like(m.running_mean))
        m.running_var.copy_(var * (.5 + torch.rand_like(m.running_var)))

    def scale(std, shift):
        seen = []

        def hook(m, _, y):
            if seen or y.numel() < 2:
                return None
            seen.append(m)
            m.weight.data *= std / y.std()
            m.bias.data.copy_(m.bias.data * (std / y.std()) + shift - y.mean() * std / y.std())
            return (y - y.mean()) * (std / y.std()) + shift
        return hook

    for name, m in model.named_modules():
        if isinstance(m, (torch.nn.BatchNorm2d, FrozenBatchNorm2d)):
            hooks.append(m.register_forward_pre_hook(statistics))
            if name.endswith("bn3"):  # what a residual block adds is less than what it was given
                m.weight.data.uniform_(.1, .3)
        for pattern, to in HEADS.items():
            if getattr(m, "weight", None) is not None and re.search(rf"(^|\.)({pattern})$", name):
                hooks.append(m.register_forward_hook(scale(*to)))
    model(image)
    for hook in hooks:
        hook.remove()


def picture(channels, height, width):
    """Waves of 25 pixels and more. Where neighbours differ as in noise, a resize whose coordinates are of f32 is off by
    2e-5 of the largest pixel, and fifty layers make that 1e-3."""
    import torch
    y, x = torch.meshgrid(torch.arange(height) / 12, torch.arange(width) / 12, indexing="ij")
    waves = torch.zeros(channels, height, width)
    for c in range(channels):
        for a, b, phase in (torch.rand(6, 3) * 6 - 3).tolist():
            waves[c] += torch.sin(a * y + b * x + phase)
    return ((waves / 6 + 1) / 2).clamp(0, 1)


def recipe(name):
    """A digest of all that makes NAME.onnx."""
    import torch
    import torchvision
    parts = [repr(MODELS[name]), torch.__version__, torchvision.__version__]
    parts += map(inspect.getsource, (flat, build, settle, export))
    if name in DETECTION:
        parts += [repr(HEADS), *map(inspect.getsource, (picture, calibrate))]
    if name in PEER_MODELS and os.path.exists(os.path.join(PEERS, "models.py")):
        with open(os.path.join(PEERS, "models.py")) as f:
            parts.append(f.read())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def export(name, out):
    import numpy as np
    import torch
    first, second, opset, dims = MODELS[name]
    torch.manual_seed(0)
    model = build(name).eval()
    with torch.no_grad():
        settle(model)
    def sample(shape):
        if name == "gpt":
            return torch.randint(0, 256, shape)
        if name in DETECTION:
            return picture(*shape)
        return torch.randn(shape) * (10 if name == "part_nms" else 1)
    inputs = [sample(first), sample(second)]
    if name in DETECTION:
        with torch.no_grad():
            calibrate(model, inputs[0])
    axes = {i: d for i, d in enumerate(dims) if d}
    with torch.no_grad():
        answer = flat(model(inputs[0]))
    names = [f"output{i}" for i in range(len(answer))] if len(answer) > 1 else ["output"]
    path = os.path.join(out, name + ".onnx")
    torch.onnx.export(model, inputs[0], path + ".tmp", opset_version=opset, input_names=["input"],
                      output_names=names, dynamic_axes={"input": axes})
    for i, x in enumerate(inputs):
        np.save(os.path.join(out, f"{name}.{i}.input.npy"), x.numpy())
    os.replace(path + ".tmp", path)
    with open(os.path.join(out, name + ".recipe"), "w") as f:
        f.write(recipe(name))


def made(name, out):
    try:
        with open(os.path.join(out, name + ".recipe")) as f:
            return os.path.exists(os.path.join(out, name + ".onnx")) and f.read() == recipe(name)
    except FileNotFoundError:
        return False


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(MODELS))
        return 0
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    os.makedirs(out, exist_ok=True)
    try:
        import torch
        import torchvision  # noqa: F401
    except ImportError as e:
        print(f"models_export: {e} (Debian: python3-torchvision)", file=sys.stderr)
        return 3
    import warnings
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    failed = 0
    for name in names:
        if made(name, out):
            continue
        for left in (".onnx", ".error"):  # an older recipe's
            if os.path.exists(os.path.join(out, name + left)):
                os.remove(os.path.join(out, name + left))
        try:
            export(name, out)
            print("exported", name, flush=True)
        except Exception as e:
            failed += 1
            with open(os.path.join(out, name + ".error"), "w") as log:
                traceback.print_exc(file=log)
            print(f"models_export: {name}: {type(e).__name__}: {str(e).splitlines()[0][:200]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Exports whole architectures to ONNX with random weights: what tools/scripts/models.sh compares.

  models_export.py OUT [NAME...]    writes OUT/NAME.onnx and OUT/NAME.<0|1>.<input>.npy; --list prints the names

Needs PyTorch and torchvision (Debian: python3-torchvision). The seed is fixed, and BatchNorm has statistics that
do something. A model that is there is not exported again. Exit codes: 0 done, 1 some failed (the others are
there), 3 PyTorch is not installed.
"""

import os
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
    "resnet34": (A, B, 9, WHOLE), "squeezenet1_0": (A, B, 11, WHOLE), "resnext50_32x4d": (A, B, 15, WHOLE), "wide_resnet50_2": (A, B, 10, WHOLE),
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
# One image of any size. The numbers of candidates are small: random weights give scores close to each other, and
# two that differ in the last bit would change places between one runtime and the next.
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
        if "rcnn" not in name and not name.startswith("ssd"):
            more = dict(more, min_size=128, max_size=224)
        elif "rcnn" in name:
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
        # Detectors start so sure of "no object" that nothing would come out.
        for head in ("cls_logits", "cls_score"):
            if isinstance(getattr(m, head, None), (torch.nn.Linear, torch.nn.Conv2d)):
                getattr(m, head).weight.data.normal_(0, .2)
                getattr(m, head).bias.data.uniform_(-1, 1)


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
            return torch.rand(shape)
        return torch.randn(shape) * (10 if name == "part_nms" else 1)
    inputs = [sample(first), sample(second)]
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


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(MODELS))
        return 0
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    os.makedirs(out, exist_ok=True)
    names = [n for n in names if not os.path.exists(os.path.join(out, n + ".onnx"))]
    if not names:
        return 0
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

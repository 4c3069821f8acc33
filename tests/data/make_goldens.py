#!/usr/bin/python3
"""Writes goldens/: small image files and NPZ archives, and transforms.txt, what PIL and torchvision
(Debian's python3-pil, python3-torchvision) make of them. image_test.cc and transform_test.cc read both.

A line of transforms.txt: name, shape with x between, then numbers in row-major order.
"""

import io
import os

import numpy as np
import torch
import torchvision
import torchvision.transforms.functional as F
from PIL import Image

torch.set_num_threads(1)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
os.makedirs(here, exist_ok=True)


def picture(height, width, channels=3):
    """The test's numbers: bytes, the same in C++. [C, H, W]"""
    n = height * width * channels
    i = np.arange(n, dtype=np.int64)
    v = (i * i * 7 + i * 31) % 251
    return v.astype(np.uint8).reshape(channels, height, width)


def pil(array):
    if array.shape[0] == 1:
        return Image.fromarray(array[0], "L")
    return Image.fromarray(np.ascontiguousarray(array.transpose(1, 2, 0)))


def unpil(image):
    a = np.asarray(image)
    return a[None] if a.ndim == 2 else a.transpose(2, 0, 1)


lines = []


def write(name, array):
    a = np.asarray(array)
    shape = "x".join(map(str, a.shape))
    digits = "%d" if a.dtype.kind in "ui" else "%.9g"
    lines.append(" ".join([name, shape] + [digits % v for v in a.reshape(-1)]))


# -- image files
rgb = picture(9, 7)
y, x = np.mgrid[0:9, 0:7]
smooth = np.stack([x * 30, y * 25, (x + y) * 15]).astype(np.uint8)  # JPEG keeps what is smooth
rgba = np.concatenate([rgb, picture(9, 7, 1)])
palette = pil(rgb).quantize(16)
deep = (np.arange(63, dtype=np.uint32) * 1041 % 65536).astype(np.uint16).reshape(9, 7)
pil(rgb).save(f"{here}/rgb.png")
pil(rgba).save(f"{here}/rgba.png")
pil(rgb[:1]).save(f"{here}/gray.png")
Image.fromarray(np.stack([rgb[0], rgb[1]], -1), "LA").save(f"{here}/gray_alpha.png")
palette.save(f"{here}/palette.png")
Image.fromarray(deep).save(f"{here}/gray16.png")
pil(rgb[:1]).convert("1").save(f"{here}/bits.png")
pil(smooth).save(f"{here}/rgb.jpg", quality=90)
pil(smooth).save(f"{here}/progressive.jpg", quality=85, progressive=True)
pil(smooth[:1]).save(f"{here}/gray.jpg", quality=90)
pil(rgba).convert("CMYK").save(f"{here}/cmyk.jpg")
for name in ["rgb.png", "rgba.png", "gray.png", "gray_alpha.png", "palette.png", "bits.png", "rgb.jpg",
             "progressive.jpg", "gray.jpg"]:
    write("read_rgb_" + name, unpil(Image.open(f"{here}/{name}").convert("RGB")))
for name in ["rgb.png", "rgba.png", "gray.jpg", "rgb.jpg"]:
    write("read_gray_" + name, unpil(Image.open(f"{here}/{name}").convert("L")))
write("read_16_gray16.png", np.asarray(Image.open(f"{here}/gray16.png")).astype(np.int64)[None])

# -- NPZ
np.savez(f"{here}/plain.npz", x=np.arange(6, dtype=np.float32).reshape(2, 3), y=np.array([7, 8]))
np.savez_compressed(f"{here}/packed.npz", x=np.arange(6, dtype=np.float32).reshape(2, 3), y=np.array([7, 8]))

# -- transforms of bytes: PIL's numbers
image = picture(11, 13)
for height, width in [(6, 8), (11, 9), (20, 13), (30, 40), (1, 1), (7, 25)]:
    resized = pil(image).resize((width, height), Image.BILINEAR)
    write(f"resize_bytes_{height}_{width}", unpil(resized))
write("resize_edge", unpil(F.resize(pil(image), 8)))
for height, width in [(6, 8), (11, 9), (30, 40)]:
    f = torch.from_numpy(image).float() / 255
    write(f"resize_floats_{height}_{width}", F.resize(f, [height, width], antialias=True))

# -- bytes and floats by torchvision's tensor functions
for kind, t in [("bytes", torch.from_numpy(image)), ("floats", torch.from_numpy(image).float() / 255)]:
    for crop in [(4, 5), (11, 13), (16, 20), (6, 8)]:
        write(f"center_crop_{kind}_{crop[0]}_{crop[1]}", F.center_crop(t, list(crop)))
    write(f"hflip_{kind}", F.hflip(t))
    write(f"vflip_{kind}", F.vflip(t))
    write(f"pad_{kind}", F.pad(t, [1, 2, 3, 0], fill=3 if kind == "bytes" else 0.5))
    write(f"gray_{kind}", F.rgb_to_grayscale(t))
    for factor in [0.0, 0.3, 1.0, 1.7]:
        write(f"brightness_{kind}_{factor}", F.adjust_brightness(t, factor))
        write(f"contrast_{kind}_{factor}", F.adjust_contrast(t, factor))
        write(f"saturation_{kind}_{factor}", F.adjust_saturation(t, factor))
    for factor in [-0.5, -0.2, 0.1, 0.5]:
        write(f"hue_{kind}_{factor}", F.adjust_hue(t, factor))
write("to_tensor", F.to_tensor(pil(image)))
mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
write("normalize", F.normalize(F.to_tensor(pil(image)), mean, std))

with open(f"{here}/transforms.txt", "w") as out:
    out.write("\n".join(lines) + "\n")

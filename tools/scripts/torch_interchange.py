#!/usr/bin/env python3
"""State dicts between PyTorch and safetensors, Wick's checkpoint format, both ways. Names stay what they are.

    torch_interchange.py model.pt model.safetensors      a state dict, or a dict with one under "state_dict" or "model"
    torch_interchange.py model.safetensors model.pt

Needs torch; the format is written here (eight bytes of header length, a JSON header, the bytes), so that no
safetensors package is asked for. In a program: save(path, state) and load(path).
"""

import json
import math
import struct
import sys

import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
          "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
          "U8": torch.uint8, "BOOL": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def raw(tensor):
    """A tensor's bytes: through int16 where numpy has no such dtype."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.reshape(-1).view(torch.int16)
    return tensor.numpy().tobytes()


def save(path, state):
    header, parts, at = {}, [], 0
    for name, tensor in state.items():
        if tensor.dtype not in NAMES:
            raise SystemExit(f"{name}: safetensors has no {tensor.dtype}")
        data = raw(tensor)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    state = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        part = bytearray(data[8 + size + begin:8 + size + end])
        dtype = DTYPES[entry["dtype"]]
        flat = torch.frombuffer(part, dtype=dtype) if math.prod(entry["shape"]) else torch.empty(0, dtype=dtype)
        state[name] = flat.reshape(entry["shape"])
    return state


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    source, target = sys.argv[1:]
    if source.endswith(".safetensors"):
        torch.save(load(source), target)
        return
    state = torch.load(source, map_location="cpu")
    for key in ("state_dict", "model"):
        if isinstance(state.get(key), dict):
            state = state[key]
    save(target, {k: v for k, v in state.items() if isinstance(v, torch.Tensor)})


if __name__ == "__main__":
    main()

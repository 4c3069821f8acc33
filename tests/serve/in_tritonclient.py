#!/usr/bin/env python3
"""`wick serve` asked by Triton's own client, unchanged, and ended by SIGTERM.

  in_tritonclient.py WICK

Needs tools/scripts/setup_tritonclient.sh, whose Python it re-executes itself with (WICK_TRITONCLIENT_VENV names another
venv); exit 77 without it.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("WICK_TRITONCLIENT_VENV", os.path.join(ROOT, "build", "tritonclient", "venv"))

try:
    import numpy as np
    import tritonclient.http as triton
    from tritonclient.utils import InferenceServerException
except ImportError:
    python = os.path.join(VENV, "bin", "python")
    if os.path.exists(python) and "--again" not in sys.argv:
        os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:], "--again"])
    print("SKIP: tritonclient is not installed (tools/scripts/setup_tritonclient.sh)")
    sys.exit(77)

count = 0


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A protobuf field: a number, or bytes and texts with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def affine():
    """An ONNX model: y = 2 x + 1, f32[batch,4]."""
    def node(op, a, b, y):
        return field(1, field(1, a) + field(1, b) + field(2, y) + field(4, op))

    def constant(name, value):
        return field(5, field(2, 1) + field(8, name) + field(9, struct.pack("<f", value)))

    def port(number, name):
        shape = field(1, field(2, "batch")) + field(1, field(1, 4))
        return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))

    graph = node("Mul", "x", "two", "t") + node("Add", "t", "one", "y") + field(2, "affine")
    graph += constant("two", 2) + constant("one", 1) + port(11, "x") + port(12, "y")
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def expect(got, want, what):
    global count
    count += 1
    if got != want:
        print(f"{what}: got {got!r}, expected {want!r}")
        print(f"{count - 1} passed, 1 failed")
        sys.exit(1)


def status_of(call):
    try:
        call()
    except InferenceServerException as e:
        return e.status()
    return "200"


def inputs(x, binary=True):
    one = triton.InferInput("x", list(x.shape), "FP32")
    one.set_data_from_numpy(x, binary_data=binary)
    return [one]


def documents(client):
    expect(client.is_server_live(), True, "live")
    expect(client.is_server_ready(), True, "ready")
    for version in ("", "1"):
        expect(client.is_model_ready("affine", version), True, "the model is ready")
        metadata = client.get_model_metadata("affine", version)
        expect(metadata["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}], "metadata")
    expect(client.is_model_ready("affine", "2"), False, "there is one version")
    expect(client.is_model_ready("other"), False, "there is one model")
    expect(client.get_server_metadata()["name"], "wick", "the server's name")
    config = client.get_model_config("affine")
    expect((config["max_batch_size"], config["input"][0]["dims"]), (8, [4]), "config")
    index = client.get_model_repository_index()
    expect([(m["name"], m["state"]) for m in index], [("affine", "READY")], "index")


def answers(client):
    x = np.array([[0.1, -0.0, 1e38, 1e-45], [1, 2, 3, 4]], np.float32)
    want = x * np.float32(2) + np.float32(1)
    outputs = [None, [triton.InferRequestedOutput("y", binary_data=True)],
               [triton.InferRequestedOutput("y", binary_data=False)]]
    for binary in (True, False):
        for wanted in outputs:
            for coding in (None, "gzip", "deflate"):
                got = client.infer("affine", inputs(x, binary), outputs=wanted, request_id="a",
                                   request_compression_algorithm=coding, response_compression_algorithm=coding)
                expect(got.as_numpy("y").tobytes(), want.tobytes(), f"{binary} {coding}")
                expect(got.get_response()["id"], "a", "id")
    future = [client.async_infer("affine", inputs(x)) for _ in range(8)]
    for f in future:
        expect(f.get_result().as_numpy("y").tobytes(), want.tobytes(), "async")
    stats = client.get_inference_statistics("affine")["model_stats"][0]
    expect(stats["inference_count"], 2 * (18 + 8), "rows")


def refusals(client):
    x = np.zeros((1, 4), np.float32)
    expect(status_of(lambda: client.infer("other", inputs(x))), "404", "no such model")
    expect(status_of(lambda: client.infer("affine", inputs(np.zeros((1, 5), np.float32)))), "400", "shape")
    expect(status_of(lambda: client.infer("affine", inputs(x), sequence_id=5)), "400", "sequence")
    expect(status_of(lambda: client.infer("affine", inputs(x), priority=1, timeout=10_000_000)), "200", "priority")
    expect(status_of(lambda: client.infer("affine", inputs(x), outputs=[triton.InferRequestedOutput("y", class_count=1)])),
           "400", "classification")
    nan = inputs(np.full((1, 4), np.nan, np.float32))
    expect(status_of(lambda: client.infer("affine", nan, outputs=[triton.InferRequestedOutput("y", binary_data=False)])),
           "422", "NaN in JSON")
    client.unload_model("affine")
    expect(status_of(lambda: client.infer("affine", inputs(x))), "503", "unloaded")
    client.load_model("affine")
    expect(status_of(lambda: client.infer("affine", inputs(x))), "200", "loaded again")


def main():
    wick = sys.argv[1]
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "affine.onnx")
        with open(model, "wb") as f:
            f.write(affine())
        server = subprocess.Popen([wick, "serve", model, "--port", "0", "--control", "--json"],
                                  stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            text = ""
            for line in server.stdout:
                text += line
                if line.rstrip() == "}":
                    break
            if not text:
                log.seek(0)
                print(f"wick serve ended: {log.read()}\n0 passed, 1 failed")
                sys.exit(1)
            client = triton.InferenceServerClient(f"127.0.0.1:{json.loads(text)['port']}", concurrency=4)
            documents(client)
            answers(client)
            refusals(client)
            server.send_signal(signal.SIGTERM)
            expect(server.wait(60), 0, "exit code after SIGTERM")
        finally:
            server.kill()
            server.wait()
    print(f"{count} passed, 0 failed")


main()

"""onnxruntime's documented behaviours, one after the other, in both packages.

Each row is a row of the table in docs/use/python.md with its verdict: "same" means that both give the same outcome here,
"better" and "different" that they do not. Skipped where onnxruntime is not installed (tools/scripts/setup_ort.sh).
"""

import json
import os
import re
import tempfile
import threading
import warnings

import support
from support import ROOT, Case, each, onnx, spread
from test_inputs import Spoken, optional_port, sequence_port

import numpy as np
import wick
import wire

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

X = np.float32([[1, -2, 3, -4]])
A, B = np.float32([1, 2, 3]), np.float32([10, 20, 30])


def relu(dims=("batch", 4)):
    return onnx([("Relu", ["x"], ["y"], {})], [("x", 1, list(dims))], [("y", 1, list(dims))], 17, 8)


def two():
    return onnx(
        [("Add", ["a", "b"], ["sum"], {}), ("Sub", ["a", "b"], ["difference"], {})],
        [("a", 1, ["n"]), ("b", 1, ["n"])],
        [("sum", 1, ["n"]), ("difference", 1, ["n"])],
        17,
        8,
    )


def identity(number, dims=("n",)):
    return onnx([("Identity", ["x"], ["y"], {})], [("x", number, dims and list(dims))], [("y", number, dims and list(dims))], 17, 8)


def sequence():
    return onnx([("Identity", ["x"], ["y"], {})], [sequence_port("x", 1)], [sequence_port("y", 1)], 17, 8)


def unnamed():
    port = [wire.blob(1, name) + wire.blob(2, wire.blob(1, wire.num(1, 1) + wire.blob(2, wire.blob(1, b"")))) for name in "xy"]
    return onnx([("Relu", ["x"], ["y"], {})], port[:1], port[1:], 17, 8)


def doubled():
    return onnx([("Concat", ["x", "x"], ["y"], {"axis": 0})], [("x", 1, ["n"])], [("y", 1, ["m"])], 17, 8)


def weighted():
    return onnx([("Add", ["x", "w"], ["y"], {})], [("x", 1, [2]), ("w", 1, [2])], [("y", 1, [2])], 17, 8, [wire.tensor(wire.T(A[:2]), "w")])


def optional():
    return onnx([("OptionalHasElement", ["x"], ["y"], {})], [optional_port("x", 1)], [("y", 9, [])], 18, 8)


def about():
    said = wire.blob(2, "maker") + wire.blob(4, "org.example") + wire.num(5, 7) + wire.blob(6, "what it does")
    return relu() + said + wire.blob(14, wire.blob(1, "key") + wire.blob(2, "value"))


def slow():
    body = wire.Graph(
        lambda: wire.graph(
            [wire.node("MatMul", ["v", "v"], ["w"], {}), wire.node("Identity", ["c"], ["d"], {})],
            [wire.value_info("i", 7, []), wire.value_info("c", 9, []), wire.value_info("v", 1, [256, 256])],
            [wire.value_info("d", 9, []), wire.value_info("w", 1, [256, 256])],
        )
    )
    return onnx(
        [("Loop", ["count", "", "x"], ["y"], {"body": body})],
        [("x", 1, [256, 256])],
        [("y", 1, [256, 256])],
        17,
        8,
        inits=(wire.tensor(wire.T(np.int64(10**6)), "count"),),
    )


def plain(value):
    """Returns arrays as something that compares by dtype, shape and bits."""
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.shape, value.tolist() if value.dtype == object else value.tobytes())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def open_(ort, model, options=None, **named):
    return ort.InferenceSession(model, options, **{"providers": ["CPUExecutionProvider"], **named})


def run(model, names, feed):
    return lambda ort: open_(ort, model).run(names, feed)


def quiet(ort):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return options


def binding(ort):
    model = open_(ort, two())
    bound = model.io_binding()
    bound.bind_cpu_input("a", A)
    bound.bind_cpu_input("b", B)
    bound.bind_output("difference")
    bound.bind_output("sum")
    model.run_with_iobinding(bound)
    return [bound.copy_outputs_to_cpu(), [v.shape() for v in bound.get_outputs()]]


def binding_in_place(ort):
    model = open_(ort, relu())
    room = np.zeros((1, 4), np.float32)
    bound = model.io_binding()
    bound.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
    bound.bind_output("y", "cpu", 0, np.float32, room.shape, room.ctypes.data)
    model.run_with_iobinding(bound)
    return room


def values(ort):
    value = ort.OrtValue.ortvalue_from_numpy(X.copy())
    made = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.int64)
    value.update_inplace(X * 2)
    said = [value.shape(), value.data_type(), value.device_name(), value.is_tensor(), value.has_value(), value.element_type()]
    return [*said, value.numpy(), made.shape(), made.data_type()]


def with_values(ort):
    feed = {"a": ort.OrtValue.ortvalue_from_numpy(A), "b": ort.OrtValue.ortvalue_from_numpy(B)}
    return [v.numpy() for v in open_(ort, two()).run_with_ort_values(["sum"], feed)]


def asynchronous(ort):
    done, said = threading.Event(), []
    model = open_(ort, two())
    model.run_async(None, {"a": A, "b": B}, lambda r, d, e: (said.append([list(r), d, e]), done.set()), "mine")
    done.wait(30)
    return said


def profile(ort):
    options = ort.SessionOptions()
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = os.path.join(folder, "p")
        model = open_(ort, two(), options)
        model.run(None, {"a": A, "b": B})
        name = model.end_profiling()
        with open(name, encoding="utf-8") as file:
            events = json.load(file)
    return [os.path.basename(name)[0], sorted({e["args"]["op_name"] for e in events if e.get("cat") == "Node" and "op_name" in e["args"]})]


def metadata(ort):
    said = open_(ort, about()).get_modelmeta()
    return [said.producer_name, said.domain, said.version, said.description, said.custom_metadata_map["key"]]


def override(ort):
    options = quiet(ort)
    options.add_free_dimension_override_by_name("batch", 3)
    model = open_(ort, relu(), options)
    return [model.get_inputs()[0].shape, model.run(None, {"x": X})]


def kept(ort):
    options = ort.SessionOptions()
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = os.path.join(folder, "m")
        open_(ort, relu(), options)
        with open(options.optimized_model_filepath, "rb") as file:
            return file.read(7) == b"WICKPRG"


def terminated(ort):
    options = ort.RunOptions()
    options.log_severity_level = 4
    timer = threading.Timer(0.3, lambda: setattr(options, "terminate", True))
    timer.start()
    try:
        open_(ort, slow()).run(None, {"x": np.eye(256, dtype=np.float32)}, options)
    finally:
        timer.join()


def threads(ort):
    model, got = open_(ort, relu()), {}
    work = [threading.Thread(target=lambda i=i: got.update({i: model.run(None, {"x": X * (i + 1)})[0]})) for i in range(8)]
    for t in work:
        t.start()
    for t in work:
        t.join()
    return [got[i] for i in range(8)]


def after(ort):
    model = open_(ort, relu())
    first = model.run(None, {"x": X})[0]
    model.run(None, {"x": -X})
    del model
    return first


def unknown_provider(ort):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = open_(ort, relu(), providers=["NoSuchProvider", "CPUExecutionProvider"])
    return [bool(said), "NoSuchProvider" in str(said[0].message), model.get_providers()]


def ports(model):
    def ask(ort):
        opened = open_(ort, model)
        return [[a.name, list(a.shape), a.type] for a in [*opened.get_inputs(), *opened.get_outputs()]]

    return ask


def of_two(feed):
    return lambda ort: open_(ort, two(), quiet(ort)).run(None, feed)


def from_file(ort):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(relu())
        return open_(ort, path).run(None, {"x": X})


def shared(ort):
    x = X.copy()
    return ort.OrtValue.ortvalue_from_numpy(x).data_ptr() == x.ctypes.data


BF16 = np.uint16([0x3F80, 0xC000])
ROWS = [
    ("run(None, feed) gives all outputs in the model's order", "same", of_two({"a": A, "b": B})),
    ("run([], feed) does so, too", "same", run(two(), [], {"a": A, "b": B})),
    ("run(names, feed) gives those, in that order", "same", run(two(), ["difference", "sum"], {"a": A, "b": B})),
    ("An output may be asked for twice", "same", run(two(), ["sum", "sum"], {"a": A, "b": B})),
    ("An unknown output is InvalidArgument", "same", run(two(), ["z"], {"a": A, "b": B})),
    ("A missing input is ValueError, with the same text", "same", of_two({"a": A})),
    ("An input that the model has not is InvalidArgument", "same", of_two({"a": A, "b": B, "z": A})),
    ("A wrong dtype is InvalidArgument", "same", of_two({"a": A, "b": B.astype(np.float64)})),
    ("A wrong rank is InvalidArgument", "same", of_two({"a": A, "b": B[None]})),
    ("A wrong fixed size is InvalidArgument", "same", run(relu(), None, {"x": X[:, :3]})),
    ("Two sizes for one symbol", "better", of_two({"a": A, "b": B[:2]})),
    ("Two sizes for one symbol that broadcast", "different", of_two({"a": A, "b": B[:1]})),
    ("Views with strides are read right", "same", run(relu(("a", "b")), None, {"x": np.arange(12, dtype=np.float32).reshape(3, 4).T[::-1]})),
    ("Arrays of the other byte order", "better", run(relu(), None, {"x": X.astype(">f4")})),
    ("Lists of numbers take the declared dtype", "same", run(relu(), None, {"x": X.tolist()})),
    ("Lists of numbers that it cannot hold", "better", run(identity(7), None, {"x": [1.5]})),
    ("None for an input that is not optional", "better", lambda ort: open_(ort, identity(1, ()), quiet(ort)).run(None, {"x": None})),
    ("Python's numbers are scalars", "better", run(relu(()), None, {"x": 2.5})),
    ("numpy's scalars are scalars", "better", run(relu(()), None, {"x": np.float32(2.5)})),
    ("Tensors that speak DLPack", "better", run(relu(), None, {"x": Spoken(X)})),
    ("Empty tensors", "same", run(relu(), None, {"x": np.zeros((0, 4), np.float32)})),
    ("Outputs are arrays of their own, and outlive the session", "same", after),
    ("Strings are arrays of objects", "same", run(identity(8), None, {"x": np.array(["a", "bü"], object)})),
    ("Arrays of numpy's unicode are strings", "same", run(identity(8), None, {"x": np.array(["a", "bü"])})),
    ("Sequences are lists of arrays", "same", run(sequence(), None, {"x": [A, B[:2]]})),
    ("An absent optional is None", "same", run(optional(), None, {"x": None})),
    ("bfloat16 as uint16", "better", run(identity(16), None, {"x": BF16})),
    ("get_inputs: name, symbol, number, type", "same", ports(relu())),
    ("get_inputs of a scalar", "same", ports(identity(7, ()))),
    ("get_inputs of an unnamed size", "different", ports(unnamed())),
    ("get_outputs of a size that is computed", "different", ports(doubled())),
    ("get_inputs of a sequence", "same", ports(sequence())),
    ("get_inputs of an optional", "different", ports(optional())),
    ("get_modelmeta: producer, domain, version, text, map", "same", metadata),
    ("A model from a path", "same", from_file),
    ("A path that is not there is NoSuchFile", "same", lambda ort: open_(ort, "/nowhere.onnx")),
    ("Bytes that are no model", "different", lambda ort: open_(ort, b"this is no model at all")),
    ("An unknown provider is left out with a warning", "same", unknown_provider),
    ("get_providers without any", "same", lambda ort: ort.InferenceSession(relu()).get_providers()),
    ("Malformed providers are ValueError", "better", lambda ort: open_(ort, relu(), providers=[3])),
    ("Several threads may run one session", "same", threads),
    ("io_binding with outputs that are made", "same", binding),
    ("io_binding to memory at addresses", "same", binding_in_place),
    ("OrtValue: shape, type, update_inplace", "same", values),
    ("OrtValue of an array shares its memory", "same", shared),
    ("run_with_ort_values", "same", with_values),
    ("run_async", "same", asynchronous),
    ("RunOptions.terminate ends a run", "different", terminated),
    ("end_profiling names a file of Chrome's trace", "same", profile),
    ("add_free_dimension_override_by_name", "different", override),
    ("optimized_model_filepath", "different", kept),
    ("No overridable initializers", "same", lambda ort: list(open_(ort, relu()).get_overridable_initializers())),
    ("An initializer that is also an input", "different", lambda ort: [a.name for a in open_(ort, weighted()).get_overridable_initializers()]),
]
PAGE = os.path.join(ROOT, "docs", "use", "python.md")


def outcome(ort, act):
    """Returns what `act` gives, or the names of what it raises: InvalidArgument, ValueError and so on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ("value", plain(act(ort)))
    except Exception as error:  # noqa: BLE001: the classes are what is compared
        return ("error", {k.__name__ for k in type(error).__mro__}, str(error))


def agree(ours, theirs):
    if ours[0] != theirs[0]:
        return False
    if ours[0] == "value":
        return ours == theirs
    known = theirs[1] & ours[1] & {"InvalidArgument", "ValueError", "NoSuchFile", "TypeError"}
    text = "Required inputs" not in theirs[2] or ours[2] == theirs[2]
    return bool(known) and text


@spread
class BesideOnnxruntime(Case):
    @each(*((re.sub(r"\W+", "_", title).strip("_"), title, verdict, act) for title, verdict, act in ROWS))
    def test(self, title, verdict, act):
        if onnxruntime is None:
            self.skipTest("onnxruntime not installed")
        ours, theirs = outcome(wick, act), outcome(onnxruntime, act)
        self.assertEqual("same" if agree(ours, theirs) else "not", "same" if verdict == "same" else "not", (ours, theirs))
        if verdict == "better":
            self.assertTrue(ours[0] == "value" or ours[1] & {"InvalidArgument"}, ours)

    def test_the_page_has_these_rows(self):
        with open(PAGE, encoding="utf-8") as file:
            rows = re.findall(r"^\| (.*?) \| (same|better|different) \|", file.read(), re.M)
        self.assertEqual([(t.replace("`", ""), v) for t, v in rows], [(t, v) for t, v, _ in ROWS])


if __name__ == "__main__":
    support.unittest.main()

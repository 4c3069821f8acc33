"""What the tests share: the package from the tree on the libraries of a build, and small models.

WICK_BUILD names the build folder; WICK_LIBRARY and WICK_PROGRAM, where they are set, its library and its program.
"""

import contextlib
import functools
import os
import sys
import tempfile
import unittest

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("WICK_BUILD", os.path.join(ROOT, "build", "release"))
for path in (os.path.join(ROOT, "python"), os.path.join(ROOT, "tests", "conformance", "fuzz")):
    if path not in sys.path:
        sys.path.insert(0, path)


def _built(variable, *places):
    for place in places:
        if variable not in os.environ and os.path.exists(os.path.join(BUILD, place)):
            os.environ[variable] = os.path.join(BUILD, place)


_built("WICK_LIBRARY", "runtime/libwick_vulkan.so", "runtime/libwick_runtime.so")
_built("WICK_PROGRAM", "tools/wick/wick")

import wick  # noqa: E402: finds its library by the environment
import wire  # noqa: E402

# wick._train, where the build has it (WICK_PYTHON=ON): the package is read in the tree, and the module in the build.
wick.__path__.append(os.path.join(BUILD, "python", "wick"))

# ONNX's number, numpy's dtype and the text in "tensor(...)" of each type that numpy has.
DTYPES = [
    (1, np.float32, "float"),
    (2, np.uint8, "uint8"),
    (3, np.int8, "int8"),
    (4, np.uint16, "uint16"),
    (5, np.int16, "int16"),
    (6, np.int32, "int32"),
    (7, np.int64, "int64"),
    (9, np.bool_, "bool"),
    (10, np.float16, "float16"),
    (11, np.float64, "double"),
    (12, np.uint32, "uint32"),
    (13, np.uint64, "uint64"),
    (14, np.complex64, "complex64"),
    (15, np.complex128, "complex128"),
]
OPSET = 19


def onnx(nodes, ins, outs, opset=OPSET, ir=9, inits=()):
    """Returns an ONNX file: nodes as (op, inputs, outputs, attributes), ins and outs as (name, number, dims)."""
    made = [wire.node(*n) for n in nodes]
    ports = [[p if isinstance(p, bytes) else wire.value_info(*p) for p in side] for side in (ins, outs)]
    return wire.model(made, *ports, opset, ir, inits)


@functools.lru_cache(maxsize=None)
def _compiled(model):
    return wick.compile(model, verify=False)


def compiled(*arguments, **named):
    """Returns the .wick of such a file; each is compiled once."""
    return _compiled(onnx(*arguments, **named))


def identity(number, dims):
    """y = x."""
    return compiled([("Identity", ["x"], ["y"], {})], [("x", number, dims)], [("y", number, dims)])


def relu(dims=("batch", 4)):
    """y = max(x, 0)."""
    return compiled([("Relu", ["x"], ["y"], {})], [("x", 1, list(dims))], [("y", 1, list(dims))])


def add_sub():
    """sum = a + b, difference = a - b, of float vectors."""
    return compiled(
        [("Add", ["a", "b"], ["sum"], {}), ("Sub", ["a", "b"], ["difference"], {})],
        [("a", 1, ["n"]), ("b", 1, ["n"])],
        [("sum", 1, ["n"]), ("difference", 1, ["n"])],
    )


def nonzero():
    """y = where x is not 0: its size depends on the data."""
    return compiled([("NonZero", ["x"], ["y"], {})], [("x", 1, ["n"])], [("y", 7, [1, "k"])])


def slow(times=4000):
    """y = x after `times` products by the unit matrix: takes long enough to be interrupted."""
    body = wire.Graph(
        functools.partial(
            wire.graph,
            [wire.node("MatMul", ["v", "v"], ["w"], {}), wire.node("Identity", ["c"], ["d"], {})],
            [wire.value_info("i", 7, []), wire.value_info("c", 9, []), wire.value_info("v", 1, [256, 256])],
            [wire.value_info("d", 9, []), wire.value_info("w", 1, [256, 256])],
        )
    )
    return compiled(
        [("Loop", ["count", "", "x"], ["y"], {"body": body})],
        [("x", 1, [256, 256])],
        [("y", 1, [256, 256])],
        inits=(wire.tensor(wire.T(np.int64(times)), "count"),),
    )


def session(model, options=None, **named):
    return wick.InferenceSession(model, options, **named)


def needs_program(test):
    return unittest.skipUnless(os.path.isfile(os.environ.get("WICK_PROGRAM", "")), "this build has no program wick")(test)


def train():
    """Returns wick.train; where the build has none, the file's tests are left out."""
    try:
        import wick.train
    except ImportError as why:
        raise unittest.SkipTest("wick.train is not built (WICK_PYTHON)") from why
    return wick.train


@contextlib.contextmanager
def environment(**variables):
    """Sets environment variables, or removes those that are None."""
    before = {k: os.environ.get(k) for k in variables}

    def put(values):
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(variables)
    try:
        yield
    finally:
        put(before)


class Case(unittest.TestCase):
    """A test with a folder of its own and comparisons by bits."""

    def folder(self):
        made = tempfile.TemporaryDirectory(prefix="wick-test-")
        self.addCleanup(made.cleanup)
        return made.name

    def file(self, data, name="model.wick"):
        path = os.path.join(self.folder(), name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def assertBits(self, got, want):
        got, want = np.asarray(got), np.asarray(want)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        self.assertEqual(got.tobytes(), want.tobytes())


def each(*rows):
    """Makes one test of each row: @each((name, *arguments), ...) on a method that takes these arguments."""

    def mark(method):
        method._rows = rows
        return method

    return mark


def spread(cls):
    """Class decorator: replaces methods marked by each() by one test for each row."""
    for name, method in list(vars(cls).items()):
        rows = getattr(method, "_rows", None)
        if rows is None:
            continue
        delattr(cls, name)
        for label, *arguments in rows:
            test = f"{name}_{label}"
            assert not hasattr(cls, test), test

            def run(self, method=method, arguments=tuple(arguments)):
                method(self, *arguments)

            run.__name__ = test
            setattr(cls, test, run)
    return cls

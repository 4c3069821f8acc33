"""Values that are no plain array: views, lists, numbers, DLPack, strings, sequences, optionals."""

import gc
import weakref

import support
from support import Case, compiled, each, identity, relu, session, spread

import numpy as np
import wick
import wire

BASE = np.arange(64, dtype=np.float32).reshape(4, 4, 4) - 20


def unaligned():
    raw = np.zeros(4 * 6 + 1, np.uint8)
    view = raw[1:].view(np.float32).reshape(2, 3)
    view[...] = [[1, -2, 3], [-4, 5, -6]]
    return view


def read_only():
    x = np.float32([[1, -2, 3]])
    x.setflags(write=False)
    return x


class Spoken:
    """Speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(Spoken):
    """Is on a device."""

    def __dlpack__(self, **options):
        raise BufferError("it is on a device")

    def __dlpack_device__(self):
        return (2, 0)


class Unspoken(Spoken):
    """Speaks DLPack, but not of its dtype, and is an array by __array__: a tensor of bools of PyTorch 1.13."""

    def __dlpack__(self, **options):
        raise BufferError("Bool type is not supported by dlpack")

    def __array__(self, dtype=None, copy=None):
        return self.array


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return np.float32([[1, -2]])


@spread
class Views(Case):
    @each(
        ("transposed", lambda: BASE[0].T),
        ("every_other", lambda: BASE[0, ::2]),
        ("reversed", lambda: BASE[0, ::-1]),
        ("columns", lambda: BASE[0, :, 1:3]),
        ("fortran", lambda: np.asfortranarray(BASE[0])),
        ("broadcast", lambda: np.broadcast_to(np.float32([-1, 2]), (3, 2))),
        ("swapped", lambda: BASE.swapaxes(0, 2)[1]),
        ("diagonal", lambda: np.diagonal(BASE, 0, 0, 1)),
        ("unaligned", unaligned),
        ("read_only", read_only),
        ("no_rows", lambda: BASE[0, :0]),
        ("one_row", lambda: BASE[0, :1]),
        ("negative_inner", lambda: BASE[0, :, ::-1]),
        ("matrix", lambda: np.ma.masked_array(BASE[0])),
        ("memory", lambda: np.frombuffer(np.float32([1, -2, 3, -4]).tobytes(), np.float32).reshape(2, 2)),
    )
    def test_view(self, make):
        x = make()
        before = np.array(x)
        got = session(relu(("a", "b"))).run(None, {"x": x})[0]
        self.assertBits(got, np.maximum(before, 0))
        self.assertBits(np.array(x), before)

    @each(
        ("list", [[1, -2, 3]]),
        ("tuple", ((1.0, -2.0, 3.0),)),
        ("list_of_arrays", [np.float32([1, -2, 3])]),
        ("ints", [[1, -2, 3]]),
    )
    def test_list_takes_the_declared_dtype(self, x):
        self.assertBits(session(relu(("a", "b"))).run(None, {"x": x})[0], np.float32([[1, 0, 3]]))

    @each(("float", -2.5), ("int", -2), ("numpy", np.float32(-2)), ("zero_dims", np.array(-2, np.float32)))
    def test_scalar(self, x):
        self.assertBits(session(relu(())).run(None, {"x": x})[0], np.float32(0))

    @each(("ragged", [[1, 2], [3]]), ("words", ["a", "b"]), ("none", None), ("object", object()), ("nested", [[None]]))
    def test_what_is_no_array(self, x):
        with self.assertRaises(wick.InvalidArgument):
            session(identity(6, ["n"])).run(None, {"x": x})

    @each(*((t, n) for n, _, t in support.DTYPES))
    def test_none_is_no_scalar(self, number):  # which numpy takes for NaN and False
        with self.assertRaisesRegex(wick.InvalidArgument, "'x' is None: only optional inputs may be absent"):
            session(identity(number, [])).run(None, {"x": None})

    @each(
        ("fraction", 7, [1, 2.5]),
        ("a_fraction_alone", 7, 0.5),
        ("nan", 6, [float("nan")]),
        ("infinity", 3, [float("inf")]),
        ("beyond_a_byte", 2, [300]),
        ("below_a_byte", 2, [-1]),
        ("beyond_a_byte_as_a_float", 3, [200.0]),
        ("beyond_64_bits", 7, [2**64]),
        ("beyond_64_bits_as_a_float", 7, [1e30]),
    )
    def test_numbers_that_the_declared_dtype_cannot_hold(self, number, x):
        with self.assertRaises(wick.InvalidArgument):
            session(identity(number, list("n" * np.ndim(x)))).run(None, {"x": x})

    @each(("whole_floats", 7, [1.0, -2.0], [1, -2]), ("edge", 13, [2**64 - 1], [2**64 - 1]), ("bools", 2, [True, False], [1, 0]), ("none", 7, [], []))
    def test_numbers_that_it_can_hold(self, number, x, want):
        dtype = next(d for n, d, _ in support.DTYPES if n == number)
        self.assertBits(session(identity(number, ["n"])).run(None, {"x": x})[0], np.array(want, dtype))

    @each(("objects", np.array([1.5], object), "object"), ("texts", np.array(["1"]), "<U1"))
    def test_arrays_of_objects_are_named_as_they_are(self, x, dtype):
        with self.assertRaisesRegex(wick.TypeMismatch, f"input 'x' is {dtype}, must be float"):
            session(identity(1, ["n"])).run(None, {"x": x})

    @each(("datetime", "datetime64[s]"), ("timedelta", "timedelta64[s]"), ("record", [("a", "f4")]))
    def test_dtypes_that_onnx_has_not(self, dtype):
        with self.assertRaises(wick.TypeMismatch):
            session(identity(1, ["n"])).run(None, {"x": np.zeros(2, dtype)})

    def test_a_subclass_and_what_turns_into_an_array(self):
        model = session(relu(("a", "b")))
        self.assertBits(model.run(None, {"x": np.float32([[1, -2]]).view(np.matrix)})[0], np.float32([[1, 0]]))
        self.assertBits(model.run(None, {"x": ArrayLike()})[0], np.float32([[1, 0]]))


@spread
class DLPack(Case):
    @each(*((t, n, d) for n, d, t in support.DTYPES if t not in ("bool",)))
    def test_read_by_dlpack(self, number, dtype):
        x = np.ones((2, 3), dtype)
        self.assertBits(session(identity(number, ["a", "b"])).run(None, {"x": Spoken(x)})[0], x)

    def test_a_dtype_that_dlpack_has_not(self):
        x = np.array([True, False])
        self.assertBits(session(identity(9, ["n"])).run(None, {"x": Unspoken(x)})[0], x)

    def test_no_copy(self):
        from wick import _values

        x = np.zeros((2, 2), np.float32)
        port = _values.Declared("x", 1, 0, [2, 2], [None, None])
        tensor, keep = wick._abi.Tensor(), []
        _values.put(Spoken(x), port, tensor, keep)
        self.assertEqual(tensor.data, x.ctypes.data)

    def test_a_device_is_refused(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "cpu"):
            session(relu()).run(None, {"x": Elsewhere(BASE)})

    def test_outputs_speak_it(self):
        got = session(relu()).run(None, {"x": BASE[0]})[0]
        self.assertBits(np.from_dlpack(got), np.maximum(BASE[0], 0))


@spread
class Strings(Case):
    TEXTS = ["", "a", "bü", "日本", "a\0b", "x" * 1000]

    def model(self, dims=("n",)):
        return session(identity(8, list(dims)))

    @each(*((f"text{i}", t) for i, t in enumerate(TEXTS)))
    def test_one(self, text):
        got = self.model().run(None, {"x": np.array([text], object)})[0]
        self.assertEqual((got.dtype, got.tolist()), (np.dtype(object), [text]))

    @each(("unicode", np.array(["a", "bü"])), ("bytes", np.array([b"a", "bü".encode()])), ("list", ["a", "bü"]))
    def test_kinds_of_arrays(self, x):
        self.assertEqual(self.model().run(None, {"x": x})[0].tolist(), ["a", "bü"])

    @each(("rank0", ()), ("rank2", (2, 2)), ("rank3", (1, 2, 3)), ("empty", (0,)))
    def test_shapes(self, shape):
        x = np.full(shape, "w", object)
        got = self.model([f"d{i}" for i in range(len(shape))]).run(None, {"x": x})[0]
        self.assertEqual((got.shape, got.tolist()), (shape, x.tolist()))

    def test_many_live_on_after_the_session(self):
        x = np.array([f"text {i}" for i in range(1000)], object)
        model = self.model()
        got = model.run(None, {"x": x})[0]
        del model
        gc.collect()
        self.assertEqual(got.tolist(), [f"text {i}" for i in range(1000)])

    def test_bytes_that_are_no_text_come_back(self):
        raw = b"\xff\x00\xfea"
        got = self.model().run(None, {"x": np.array([raw], object)})[0]
        self.assertEqual(got[0].encode("utf-8", "surrogateescape"), raw)
        again = self.model().run(None, {"x": got})[0]
        self.assertEqual(again[0], got[0])
        with self.assertRaisesRegex(wick.InvalidArgument, "UTF-8"):
            self.model().run(None, {"x": np.array(["\ud800"], object)})

    def test_numbers_are_refused(self):
        with self.assertRaises(wick.TypeMismatch):
            self.model().run(None, {"x": np.zeros(2, np.float32)})
        with self.assertRaises(wick.TypeMismatch):
            session(identity(1, ["n"])).run(None, {"x": np.array(["a"])})


def sequence_port(name, number):
    return wire.blob(1, name) + wire.blob(2, wire.blob(4, wire.blob(1, wire.blob(1, wire.num(1, number)))))


def optional_port(name, number):
    inner = wire.blob(1, wire.num(1, number) + wire.blob(2, wire.blob(1, wire.blob(2, "n"))))
    return wire.blob(1, name) + wire.blob(2, wire.blob(9, wire.blob(1, inner)))


@spread
class Containers(Case):
    def sequence(self):
        return session(compiled([("Identity", ["x"], ["y"], {})], [sequence_port("x", 1)], [sequence_port("y", 1)]))

    @each(
        ("none", []),
        ("one", [np.float32([1, 2])]),
        ("several", [np.float32([1, 2]), np.float32([[3]]), np.float32(4)]),
        ("empty_tensor", [np.zeros((0, 2), np.float32)]),
        ("views", [BASE[0].T, BASE[0, ::2]]),
    )
    def test_sequence(self, x):
        model = self.sequence()
        self.assertEqual(model.get_inputs()[0].type, "seq(tensor(float))")
        got = model.run(None, {"x": x})[0]
        self.assertIsInstance(got, list)
        self.assertEqual(len(got), len(x))
        for one, other in zip(got, x):
            self.assertBits(one, np.array(other))

    @each(("array", np.float32([1])), ("number", 3), ("none", None))
    def test_what_is_no_sequence(self, x):
        with self.assertRaises(wick.TypeMismatch):
            self.sequence().run(None, {"x": x})

    def test_wrong_elements(self):
        with self.assertRaisesRegex(wick.TypeMismatch, r"input 'x' is seq\(tensor\(float\)\): an element is tensor\(double\)"):
            self.sequence().run(None, {"x": [np.float32([1]), np.float64([1])]})

    def test_a_tensor_at_a_time(self):
        model = session(
            compiled([("SequenceConstruct", ["a", "b"], ["y"], {})], [("a", 1, ["n"]), ("b", 1, ["m"])], [sequence_port("y", 1)])
        )
        got = model.run(None, {"a": np.float32([1]), "b": np.float32([2, 3])})[0]
        self.assertEqual([g.tolist() for g in got], [[1.0], [2.0, 3.0]])

    def optional(self):
        return session(
            compiled([("OptionalHasElement", ["x"], ["y"], {})], [optional_port("x", 1)], [("y", 9, [])])
        )

    @each(("present", {"x": np.float32([1])}, True), ("none", {"x": None}, False), ("left_out", {}, False))
    def test_optional(self, feed, has):
        model = self.optional()
        self.assertEqual(model.get_inputs()[0].type, "optional(tensor(float))")
        self.assertEqual(bool(model.run(None, feed)[0]), has)


class Lifetime(Case):
    def test_outputs_outlive_the_session(self):
        model = session(relu())
        got = model.run(None, {"x": BASE[0]})[0]
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())
        self.assertBits(got, np.maximum(BASE[0], 0))

    def test_outputs_are_not_overwritten_by_the_next_run(self):
        model = session(relu())
        first = model.run(None, {"x": BASE[0]})[0]
        kept = first.copy()
        for i in range(1, 4):
            model.run(None, {"x": BASE[i]})
        self.assertBits(first, kept)

    def test_inputs_are_let_go(self):
        model = session(relu())
        x = np.ones((2, 4), np.float32)
        gone = weakref.ref(x)
        model.run(None, {"x": x})
        del x
        gc.collect()
        self.assertIsNone(gone())

    def test_values_that_nothing_else_holds(self):
        class Fresh(dict):
            def __getitem__(self, name):
                return np.full(1000, {"a": 1, "b": 2}[name], np.float32)

        model = session(support.add_sub())
        for _ in range(3):
            got = model.run(["sum"], Fresh(a=None, b=None))[0]
            self.assertBits(got, np.full(1000, 3, np.float32))

    def test_sessions_are_freed(self):
        data = relu()
        for _ in range(300):
            session(data)
        gc.collect()
        gone = weakref.ref(session(data))
        self.assertIsNone(gone())

    def test_a_cycle_frees_a_session_before_what_it_needs(self):
        from unittest import mock
        from wick._library import lib

        order = []

        def watched(name):
            free = getattr(lib, name)
            return mock.patch.object(lib, name, lambda pointer: (order.append(name), free(pointer)))

        names = ["wick_session_free", "wick_program_free", "wick_thread_pool_free"]
        data = relu()
        with watched(names[0]), watched(names[1]), watched(names[2]):
            holder = [session(data)]
            holder.append(holder)
            del holder
            gc.collect()
        self.assertEqual(order, names)  # each once: Python finalizes the members of a cycle in the order they were made

    def test_a_session_within_a_cycle(self):
        holder = [session(relu())]
        holder.append(holder)
        gone = weakref.ref(holder[0])
        del holder
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    support.unittest.main()

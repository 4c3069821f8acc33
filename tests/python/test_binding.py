"""OrtValue and IOBinding."""

import ctypes

import support
from support import DTYPES, Case, add_sub, compiled, each, identity, nonzero, relu, session, spread

import numpy as np
import wick

X = np.float32([[1, -2, 3, -4]])
Y = np.maximum(X, 0)
A, B = np.float32([1, 2, 3]), np.float32([10, 20, 30])


@spread
class Values(Case):
    @each(*((t, d, n, t) for n, d, t in DTYPES))
    def test_of_an_array(self, dtype, number, text):
        x = np.ones((2, 3), dtype)
        value = wick.OrtValue.ortvalue_from_numpy(x)
        self.assertEqual((value.shape(), value.data_type(), value.element_type()), ([2, 3], f"tensor({text})", number))
        self.assertEqual((value.device_name(), value.data_ptr()), ("cpu", x.ctypes.data))
        self.assertEqual(value.tensor_size_in_bytes(), x.nbytes)
        self.assertIs(value.numpy(), x)
        self.assertEqual((value.is_tensor(), value.is_tensor_sequence(), value.has_value()), (True, False, True))
        self.assertFalse(value.is_sparse_tensor())

    @each(*((t, d, n, t) for n, d, t in DTYPES))
    def test_of_a_shape(self, dtype, number, text):
        for element in (dtype, number, text, f"tensor({text})"):
            value = wick.OrtValue.ortvalue_from_shape_and_type([2, 0, 1], element)
            self.assertBits(value.numpy(), np.zeros((2, 0, 1), dtype))

    @each(("none", None), ("text", "flaot"), ("number", 99), ("zero", 0), ("record", [("a", "f4")]))
    def test_no_element_type(self, element):
        with self.assertRaises(wick.InvalidArgument):
            wick.OrtValue.ortvalue_from_shape_and_type([1], [("a", "f4")] if element is None else element)

    def test_another_device(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "cuda"):
            wick.OrtValue.ortvalue_from_numpy(X, "cuda", 0)

    def test_of_bits(self):
        value = wick.OrtValue.ortvalue_from_numpy_with_onnx_type(np.uint16([0x3F80]), 16)
        self.assertEqual(value.data_type(), "tensor(bfloat16)")
        with self.assertRaises(wick.InvalidArgument):
            wick.OrtValue.ortvalue_from_numpy_with_onnx_type(X, 16)

    def test_a_dtype_that_onnx_has_not(self):
        with self.assertRaises(wick.InvalidArgument):
            wick.OrtValue.ortvalue_from_numpy(np.zeros(1, "datetime64[s]"))

    def test_update_in_place(self):
        x = np.zeros((1, 4), np.float32)
        value = wick.OrtValue.ortvalue_from_numpy(x)
        value.update_inplace(X)
        self.assertBits(x, X)
        for wrong in (X[0], X.astype(np.float64)):
            with self.assertRaises(wick.InvalidArgument):
                value.update_inplace(wrong)

    def test_dlpack_and_array(self):
        value = wick.OrtValue.ortvalue_from_numpy(X.copy())
        self.assertBits(np.from_dlpack(value), X)
        self.assertEqual(value.__dlpack_device__()[0], 1)
        self.assertBits(wick.OrtValue.from_dlpack(value).numpy(), X)
        self.assertBits(np.asarray(value), X)
        self.assertBits(np.asarray(value, np.float64), X.astype(np.float64))

    def test_array_says_whether_it_copies(self):
        x = X.copy()
        value = wick.OrtValue.ortvalue_from_numpy(x)
        self.assertIs(value.__array__(copy=False), x)
        self.assertIsNot(value.__array__(copy=True), x)
        self.assertIs(value.__array__(np.float32, copy=False), x)
        with self.assertRaises(ValueError):
            value.__array__(np.float64, copy=False)
        np.array(value)[...] = 0
        self.assertBits(x, X)

    @each(
        ("strided", lambda: np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]),
        ("reversed", lambda: np.arange(6, dtype=np.float32).reshape(3, 2)[::-1]),
        ("fortran", lambda: np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))),
        ("swapped_bytes", lambda: np.arange(6, dtype=np.float32).reshape(3, 2).astype(np.dtype("f4").newbyteorder())),
        ("unaligned", lambda: np.zeros(25, np.uint8)[1:].view(np.float32).reshape(3, 2)),
    )
    def test_of_a_view(self, make):
        x = make()
        value = wick.OrtValue.ortvalue_from_numpy(x)
        self.assertEqual((value.data_type(), value.shape(), value.tensor_size_in_bytes()), ("tensor(float)", [3, 2], 24))
        want = np.array(x, np.float32, order="C")
        self.assertEqual(ctypes.string_at(value.data_ptr(), 24), want.tobytes())
        model = session(relu(("a", "b")))
        self.assertBits(model.run_with_ort_values(None, {"x": value})[0].numpy(), np.maximum(want, 0))
        with self.assertRaisesRegex(wick.InvalidArgument, "byte order"):
            model.io_binding().bind_ortvalue_output("y", value)

    @each(
        ("bool", lambda: np.array([True, False])),
        ("read_only", lambda: np.frombuffer(np.float32([1, -2]).tobytes(), np.float32)),
        ("strings", lambda: np.array(["a", "b\u00fc"], object)),
        ("swapped_bytes", lambda: np.arange(2, dtype=np.dtype("i4").newbyteorder())),
    )
    def test_from_session_to_session(self, make):
        x = make()
        value = wick.OrtValue.ortvalue_from_numpy(x)
        for _ in range(2):
            model = session(identity(value.element_type(), ["n"]))
            (value,) = model.run_with_ort_values(None, {"x": value})
            self.assertEqual(value.numpy().tolist(), x.tolist())

    def test_sequences_from_session_to_session(self):
        from test_inputs import optional_port, sequence_port

        split = session(compiled([("SequenceConstruct", ["a"], ["y"], {})], [("a", 1, ["n"])], [sequence_port("y", 1)]))
        (made,) = split.run_with_ort_values(None, {"a": wick.OrtValue.ortvalue_from_numpy(A)})
        same = session(compiled([("Identity", ["x"], ["y"], {})], [sequence_port("x", 1)], [sequence_port("y", 1)]))
        self.assertBits(same.run_with_ort_values(None, {"x": made})[0].numpy()[0], A)
        self.assertBits(same.run(None, {"x": [wick.OrtValue.ortvalue_from_numpy(B)]})[0][0], B)
        has = session(compiled([("OptionalHasElement", ["x"], ["y"], {})], [optional_port("x", 1)], [("y", 9, [])]))
        self.assertTrue(has.run(None, {"x": wick.OrtValue.ortvalue_from_numpy(A)})[0])
        with self.assertRaisesRegex(wick.TypeMismatch, "not a sequence"):
            session(relu(("n",))).run_with_ort_values(None, {"x": made})

    def test_bits_from_session_to_session(self):
        value = wick.OrtValue.ortvalue_from_numpy_with_onnx_type(np.uint16([0x3F80, 0x4000]), 16)
        got = session(identity(16, ["n"])).run_with_ort_values(None, {"x": value})[0]
        self.assertEqual(got.numpy().view(np.uint16).tolist(), [0x3F80, 0x4000])
        with self.assertRaises(wick.TypeMismatch):  # they are no uint16
            session(identity(4, ["n"])).run_with_ort_values(None, {"x": value})

    @each(("negative", [-1, 2]), ("number", 3), ("none", None), ("texts", ["a"]), ("float", [2.5]))
    def test_no_shape(self, shape):
        with self.assertRaisesRegex(wick.InvalidArgument, "the shape is"):
            wick.OrtValue.ortvalue_from_shape_and_type(shape, np.float32)

    def test_no_update_of_what_is_read_only(self):
        x = X.copy()
        x.setflags(write=False)
        with self.assertRaisesRegex(wick.InvalidArgument, "read-only"):
            wick.OrtValue.ortvalue_from_numpy(x).update_inplace(X)

    def test_a_sequence_is_no_tensor(self):
        from test_inputs import sequence_port

        model = session(compiled([("SequenceConstruct", ["a"], ["y"], {})], [("a", 1, ["n"])], [sequence_port("y", 1)]))
        value = model.run_with_ort_values(None, {"a": wick.OrtValue.ortvalue_from_numpy(A)})[0]
        self.assertTrue(value.is_tensor_sequence())
        self.assertBits(value.numpy()[0], A)
        self.assertEqual(value.data_type(), "seq(tensor(float))")
        with self.assertRaises(wick.InvalidArgument):
            value.shape()


@spread
class Binding(Case):
    def test_outputs_that_are_made(self):
        model = session(relu())
        binding = model.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_output("y")
        model.run_with_iobinding(binding)
        self.assertBits(binding.copy_outputs_to_cpu()[0], Y)
        self.assertBits(binding.get_outputs()[0].numpy(), Y)
        binding.synchronize_inputs()
        binding.synchronize_outputs()

    def test_memory_at_an_address(self):
        model = session(relu())
        x, y = X.copy(), np.zeros((1, 4), np.float32)
        binding = model.io_binding()
        binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
        for scale in (1, 3):
            x[...] = X * scale
            model.run_with_iobinding(binding)
            self.assertBits(y, Y * scale)
        self.assertEqual(binding.copy_outputs_to_cpu()[0].ctypes.data, y.ctypes.data)

    def test_ort_values(self):
        model = session(add_sub())
        room = wick.OrtValue.ortvalue_from_shape_and_type([3], np.float32)
        binding = model.io_binding()
        binding.bind_ortvalue_input("a", wick.OrtValue.ortvalue_from_numpy(A))
        binding.bind_ortvalue_input("b", wick.OrtValue.ortvalue_from_numpy(B))
        binding.bind_ortvalue_output("difference", room)
        binding.bind_output("sum")
        model.run_with_iobinding(binding)
        self.assertBits(room.numpy(), A - B)
        self.assertBits(binding.get_outputs()[1].numpy(), A + B)
        self.assertEqual(binding.get_outputs()[0].data_ptr(), room.data_ptr())

    def test_between_binding_and_run(self):
        model = session(relu())
        binding = model.io_binding()
        binding.bind_cpu_input("x", X)
        room = np.zeros((1, 4), np.float32)
        binding.bind_ortvalue_output("y", wick.OrtValue.ortvalue_from_numpy(room))
        model.run_with_iobinding(binding)
        free = model.run(None, {"x": X * 2})[0]  # does not write to what is bound
        self.assertBits(room, Y)
        self.assertBits(free, Y * 2)

    @each(("the_same", 0), ("by_one_element", 2), ("by_one_element_the_other_way", -2))
    def test_outputs_that_overlap(self, shift):
        model = session(add_sub())
        room = np.zeros(9, np.float32)
        first, second = room[3:6], room[3 + shift : 6 + shift]
        binding = model.io_binding()
        binding.bind_cpu_input("a", A)
        binding.bind_cpu_input("b", B)
        binding.bind_ortvalue_output("sum", wick.OrtValue.ortvalue_from_numpy(first))
        binding.bind_output("difference", "cpu", 0, np.float32, second.shape, second.ctypes.data)
        with self.assertRaisesRegex(wick.InvalidArgument, "outputs '.*' and '.*' are bound to memory that overlaps"):
            model.run_with_iobinding(binding)
        self.assertBits(room, np.zeros(9, np.float32))
        apart = room[6:]  # the neighbour of the other one's last element
        binding.bind_ortvalue_output("difference", wick.OrtValue.ortvalue_from_numpy(apart))
        model.run_with_iobinding(binding)
        self.assertBits(room[3:], np.concatenate([A + B, A - B]))

    def test_outputs_that_change_places(self):
        model = session(add_sub())
        rooms = [np.zeros(3, np.float32), np.zeros(3, np.float32)]
        binding = model.io_binding()
        binding.bind_cpu_input("a", A)
        binding.bind_cpu_input("b", B)
        for first, second in (rooms, rooms[::-1]):
            binding.bind_ortvalue_output("sum", wick.OrtValue.ortvalue_from_numpy(first))
            binding.bind_ortvalue_output("difference", wick.OrtValue.ortvalue_from_numpy(second))
            model.run_with_iobinding(binding)
            self.assertBits(first, A + B)
            self.assertBits(second, A - B)

    def test_sizes_that_the_data_decides(self):
        model = session(nonzero())
        binding = model.io_binding()
        binding.bind_cpu_input("x", np.float32([0, 1, 0, 2]))
        binding.bind_output("y")
        model.run_with_iobinding(binding)
        self.assertBits(binding.copy_outputs_to_cpu()[0], np.int64([[1, 3]]))
        room = np.zeros((1, 2), np.int64)
        binding.bind_ortvalue_output("y", wick.OrtValue.ortvalue_from_numpy(room))
        model.run_with_iobinding(binding)
        self.assertBits(room, np.int64([[1, 3]]))
        binding.bind_cpu_input("x", np.float32([1, 1, 1, 2]))
        with self.assertRaises(wick.ShapeMismatch):
            model.run_with_iobinding(binding)

    def test_no_elements(self):
        model = session(relu())
        room = np.zeros((0, 4), np.float32)
        binding = model.io_binding()
        binding.bind_input("x", "cpu", 0, "float", (0, 4), room.ctypes.data)
        binding.bind_output("y", "cpu", 0, 1, (0, 4), room.ctypes.data)
        model.run_with_iobinding(binding)
        self.assertEqual(binding.copy_outputs_to_cpu()[0].shape, (0, 4))

    def test_nothing_bound(self):
        model = session(relu())
        binding = model.io_binding()
        with self.assertRaisesRegex(wick.InvalidArgument, "Required inputs"):
            model.run_with_iobinding(binding)
        binding.bind_cpu_input("x", X)
        model.run_with_iobinding(binding)
        self.assertBits(binding.copy_outputs_to_cpu()[0], Y)  # all outputs where none is bound
        binding.clear_binding_inputs()
        binding.clear_binding_outputs()
        self.assertEqual(binding.get_outputs(), [])

    @each(("input", "bind_cpu_input", ("z", X)), ("output", "bind_output", ("z",)))
    def test_names(self, method, arguments):
        with self.assertRaisesRegex(wick.InvalidArgument, "z"):
            getattr(session(relu()).io_binding(), method)(*arguments)

    def test_memory_that_does_not_fit(self):
        model = session(relu())
        binding = model.io_binding()
        binding.bind_cpu_input("x", X)
        with self.assertRaises(wick.TypeMismatch):
            binding.bind_ortvalue_output("y", wick.OrtValue.ortvalue_from_numpy(np.zeros((1, 4))))
        frozen = np.zeros((1, 4), np.float32)
        frozen.setflags(write=False)
        for room in (np.zeros((4, 2), np.float32).T[:1], frozen):
            with self.assertRaisesRegex(wick.InvalidArgument, "contiguous, aligned and writable"):
                binding.bind_ortvalue_output("y", wick.OrtValue.ortvalue_from_numpy(room))
        with self.assertRaisesRegex(wick.InvalidArgument, "shape"):
            binding.bind_output("y", buffer_ptr=frozen.ctypes.data)
        binding.bind_ortvalue_output("y", wick.OrtValue.ortvalue_from_numpy(np.zeros((2, 4), np.float32)))
        with self.assertRaises(wick.ShapeMismatch):
            model.run_with_iobinding(binding)

    @each(
        ("null", [1, 4], 0),
        ("none", [1, 4], None),
        ("negative", [1, 4], -64),
        ("huge", [1 << 62, 4], 4096),
        ("wraps", [1 << 32, 1 << 32], 4096),
        ("negative_size", [-1, 4], 4096),
    )
    def test_no_memory(self, shape, address):
        binding = session(relu(("a", "b"))).io_binding()
        for bind, name in ((binding.bind_input, "x"), (binding.bind_output, "y")):
            if address is None and name == "y":
                continue  # memory that each run makes
            with self.assertRaisesRegex(wick.InvalidArgument, "buffer_ptr|the shape is"):
                bind(name, "cpu", 0, np.float32, shape, address)

    def test_another_device(self):
        binding = session(relu()).io_binding()
        for bind in (
            lambda: binding.bind_output("y", "cuda"),
            lambda: binding.bind_input("x", "cuda", 0, np.float32, [1, 4], 0),
        ):
            with self.assertRaisesRegex(wick.InvalidArgument, "cuda"):
                bind()

    @each(*((t, n, d) for n, d, t in DTYPES))
    def test_every_dtype_in_place(self, number, dtype):
        model = session(identity(number, ["n"]))
        x, room = np.ones(5, dtype), np.zeros(5, dtype)
        binding = model.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_output("y", "cpu", 0, dtype, room.shape, room.ctypes.data)
        model.run_with_iobinding(binding)
        self.assertBits(room, x)


if __name__ == "__main__":
    support.unittest.main()

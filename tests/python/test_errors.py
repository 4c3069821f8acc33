"""Wrong names, shapes, dtypes and files: the class, the code and the text; the session runs on afterwards."""

import copy
import errno
import os
import pickle

import support
from support import Case, add_sub, each, identity, needs_program, onnx, relu, session, spread

import numpy as np
import wick

X = np.float32([[1, -2, 3, -4]])


@spread
class Feeds(Case):
    def fails(self, feed, kind, text):
        model = session(relu())
        for _ in range(2):  # as the first run, and after a good one
            with self.assertRaisesRegex(kind, text) as caught:
                model.run(None, feed)
            self.assertIs(type(caught.exception), kind)
            self.assertEqual(caught.exception.code, kind.code)
            self.assertBits(model.run(None, {"x": X})[0], np.maximum(X, 0))

    @each(
        ("missing", {}, r"Required inputs \(\['x'\]\) are missing from input feed \(\[\]\)"),
        ("other", {"z": X}, r"Required inputs \(\['x'\]\) are missing"),
        ("case", {"X": X}, "Required inputs"),
        ("extra", {"x": X, "z": X}, "Invalid input name: z"),
    )
    def test_names(self, feed, text):
        self.fails(feed, wick.InvalidArgument, text)

    @each(
        ("rank0", (), "rank 0"),
        ("rank1", (4,), "rank 1"),
        ("rank3", (1, 1, 4), "rank 3"),
        ("inner", (1, 5), r"dimension 1 of \[1,5\] should be 4"),
        ("none", (1, 0), "dimension 1"),
        ("swapped", (4, 1), "dimension 1"),
    )
    def test_shapes(self, shape, text):
        self.fails({"x": np.zeros(shape, np.float32)}, wick.ShapeMismatch, text)

    @each(*((t, d) for n, d, t in support.DTYPES if n != 1))
    def test_dtypes(self, dtype):
        self.fails({"x": np.zeros((1, 4), dtype)}, wick.TypeMismatch, "takes float32")

    @each(("one", ["z"], "Invalid output name: z"), ("second", ["y", "q"], "Invalid output name: q"))
    def test_output_names(self, names, text):
        with self.assertRaisesRegex(wick.InvalidArgument, text):
            session(relu()).run(names, {"x": X})

    def test_arrays_by_name_as_one_input(self):
        model = wick.load(add_sub())
        with self.assertRaisesRegex(wick.InvalidArgument, r"model\(\*\*arrays\)"):
            model({"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)})

    @each(("list", [X]), ("array", X), ("none", None))
    def test_a_feed_that_is_no_mapping(self, feed):
        with self.assertRaisesRegex(wick.InvalidArgument, "mapping"):
            session(relu()).run(None, feed)

    def test_one_name_instead_of_a_list(self):
        with self.assertRaisesRegex(wick.InvalidArgument, r"\['y'\]"):
            session(relu()).run("y", {"x": X})

    def test_two_inputs_that_share_a_symbol(self):
        model = session(add_sub())
        with self.assertRaises(wick.ShapeMismatch):
            model.run(None, {"a": np.zeros(3, np.float32), "b": np.zeros(4, np.float32)})
        got = model.run(None, {"a": np.ones(4, np.float32), "b": np.ones(4, np.float32)})
        self.assertBits(got[0], np.full(4, 2, np.float32))

    def test_a_failed_conversion_after_a_good_input(self):
        model = session(add_sub())
        model.run(None, {"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)})
        with self.assertRaises(wick.InvalidArgument):
            model.run(None, {"a": np.ones(5, np.float32), "b": ["w"]})
        got = model.run(None, {"a": np.ones(5, np.float32), "b": np.ones(5, np.float32)})
        self.assertBits(got[0], np.full(5, 2, np.float32))


BUILT_IN = [
    (wick.InvalidArgument, ValueError, 1),
    (wick.ShapeMismatch, ValueError, 2),
    (wick.TypeMismatch, TypeError, 3),
    (wick.NotFound, LookupError, 4),
    (wick.NoSuchFile, FileNotFoundError, 4),
    (wick.Unsupported, NotImplementedError, 5),
    (wick.InvalidProgram, ValueError, 6),
    (wick.BudgetExceeded, RuntimeError, 7),
    (wick.OutOfMemory, MemoryError, 8),
    (wick.IOFailure, OSError, 9),
    (wick.DeviceError, RuntimeError, 10),
    (wick.Deadline, TimeoutError, 11),
    (wick.Cancelled, RuntimeError, 13),
    (wick.CommandError, RuntimeError, 100),
    (wick.UsageError, ValueError, 1),
]


@spread
class Classes(Case):
    @each(*((k.__name__, k, b, c) for k, b, c in BUILT_IN))
    def test_class(self, kind, built_in, code):
        self.assertTrue(issubclass(kind, wick.Error))
        self.assertTrue(issubclass(kind, built_in))
        made = kind("what, where, what to do")
        self.assertEqual((str(made), made.code), ("what, where, what to do", code))
        self.assertEqual(str(pickle.loads(pickle.dumps(made))), str(made))

    @each(*((c.name.lower(), c) for c in wick.Code if c not in (wick.Code.OK, wick.Code.COMMAND)))
    def test_code(self, code):
        from wick import _errors, _library

        self.assertEqual(_errors.error_of(code, "t").code, code)
        said = _library.lib.wick_code_name(code).decode()
        self.assertTrue(said.replace("/", "").startswith(code.name.replace("_", " ").lower()), said)

    def test_an_unknown_code(self):
        from wick import _errors

        self.assertIs(type(_errors.error_of(99, "t")), wick.Error)


@spread
class Files(Case):
    def test_no_such_file(self):
        with self.assertRaisesRegex(wick.NoSuchFile, "nowhere.wick"):
            session("/nowhere.wick")

    def test_no_such_file_is_what_python_says_of_one(self):
        with self.assertRaises(FileNotFoundError) as caught:
            session("/nowhere.wick")
        self.assertEqual((caught.exception.errno, caught.exception.filename), (errno.ENOENT, "/nowhere.wick"))
        self.assertEqual(str(caught.exception), "Load model from /nowhere.wick failed: No such file or directory")

    def test_a_folder(self):
        with self.assertRaises(wick.InvalidArgument):
            session(self.folder())

    @each(
        ("below_a_file", lambda case: os.path.join(case.file(relu()), "m.wick"), wick.NoSuchFile),
        ("nul", lambda case: "a\0b", wick.InvalidArgument),
        ("long", lambda case: "m" * 5000, wick.IOFailure),
    )
    def test_paths_that_cannot_be_opened(self, path, kind):
        with self.assertRaisesRegex(kind, "Load model from"):
            session(path(self))

    @each(("number", 7), ("none", None), ("list", [1]))
    def test_no_path(self, given):
        with self.assertRaisesRegex(wick.InvalidArgument, "a path or bytes"):
            session(given)

    @each(("empty", b""), ("text", b"hello, this is no model"), ("zeros", bytes(100)))
    def test_bytes_that_are_no_model(self, given):
        with self.assertRaises(wick.Error):
            session(given)

    @each(*((f"cut{i}", i) for i in (1, 8, 40, 100, 300)))
    def test_a_file_that_was_cut(self, keep):
        data = relu()
        with self.assertRaises(wick.Error):
            session(data[:keep])
        with self.assertRaises(wick.Error):
            session(self.file(data[:keep]))

    def test_a_flipped_byte(self):
        data = bytearray(relu())
        data[len(data) // 2] ^= 1
        with self.assertRaises(wick.InvalidProgram):
            session(bytes(data))

    def test_a_budget(self):
        options = wick.SessionOptions()
        options.max_file = 10
        with self.assertRaises(wick.BudgetExceeded):
            session(self.file(relu()), options)

    def test_an_op_that_is_not_allowed(self):
        options = wick.SessionOptions()
        options.allowed_ops = ["Conv"]
        with self.assertRaisesRegex(wick.Unsupported, "Relu"):
            session(relu(), options)
        options.allowed_ops = ["Relu"]
        self.assertBits(session(relu(), options).run(None, {"x": X})[0], np.maximum(X, 0))

    @needs_program
    def test_a_compiled_file_that_is_refused_has_its_sources_name(self):
        path = self.file(onnx([("Relu", ["x"], ["y"], {})], [("x", 1, ["n"])], [("y", 1, ["n"])]), "m.onnx")
        options = wick.SessionOptions()
        options.allowed_ops = ["Conv"]
        with self.assertRaisesRegex(wick.Unsupported, f"^{path}: "):
            session(path, options)

    def test_no_entry_point(self):
        options = wick.SessionOptions()
        options.entry = "nowhere"
        with self.assertRaises(wick.NotFound):
            session(identity(1, ["n"]), options)


@spread
class Pickles(Case):
    @each(("session", lambda: session(relu())), ("model", lambda: wick.load(relu())), ("run_options", wick.RunOptions))
    def test_what_the_library_holds_stays_in_its_process(self, make):
        made = make()
        for act in (pickle.dumps, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "open the model again"):
                act(made)

    def test_a_copy_shares_it(self):
        self.assertBits(copy.copy(wick.load(relu()))(X), np.maximum(X, 0))


if __name__ == "__main__":
    support.unittest.main()

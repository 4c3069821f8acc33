"""compile, quantize, verify, inspect, report and bench, and what they show in a notebook."""

import html
import os
import re
import subprocess
import sys
from unittest import mock

import support
from support import Case, each, environment, identity, needs_program, onnx, relu, session, spread

import numpy as np
import wick
import wire

X = np.float32([[1, -2, 3, -4]])
# Whole numbers: every order of sums gives the same bits.
WEIGHT = np.random.RandomState(0).randint(-4, 5, (4, 8)).astype(np.float32)
ONNX = onnx(
    [("MatMul", ["x", "w"], ["m"], {}), ("Relu", ["m"], ["y"], {})],
    [("x", 1, ["batch", 4])],
    [("y", 1, ["batch", 8])],
    inits=(wire.tensor(wire.T(WEIGHT), "w"),),
)
DATA = np.random.RandomState(1).randn(64, 4).astype(np.float32)


class Proto:
    def SerializeToString(self):
        return ONNX


class FromTorch(Case):
    """What a Python without PyTorch is told; the rest is in test_beside_torch.py."""

    def test_without_torch(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            with self.assertRaisesRegex(wick.Unsupported, r"\[from_torch\] this Python has no PyTorch: pip install torch"):
                wick.from_torch(None, None)


@needs_program
@spread
class Compile(Case):
    def out(self, name="out.wick"):
        return os.path.join(self.folder(), name)

    @each(("bytes", lambda case: ONNX), ("file", lambda case: case.file(ONNX, "m.onnx")), ("proto", lambda case: Proto()))
    def test_sources(self, make):
        data = wick.compile(make(self))
        self.assertBits(wick.load(data)(X), np.maximum(X @ WEIGHT, 0))

    def test_a_file(self):
        path = self.out()
        data = wick.compile(ONNX, path)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), data)

    def test_the_same_bytes_each_time(self):
        self.assertEqual(wick.compile(ONNX), wick.compile(ONNX))

    @each(
        ("numerics", {"numerics": "fast"}),
        ("bf16", {"numerics": "bf16"}),
        ("pack", {"pack": True, "dims": {"batch": 2}}),
        ("qdq", {"qdq": "float"}),
        ("unverified", {"verify": False}),
    )
    def test_options(self, options):
        got = wick.load(wick.compile(ONNX, **options))(X)
        np.testing.assert_allclose(got, np.maximum(X @ WEIGHT, 0), rtol=0.02, atol=0.05)

    def test_another_ending(self):
        with self.assertRaisesRegex(wick.InvalidArgument, r"\.wick"):
            wick.compile(ONNX, self.out("m.onnx"))

    @each(("no_file", "/nowhere.onnx"), ("text", b"this is no model"), ("empty", b""))
    def test_no_model(self, given):
        with self.assertRaises(wick.CommandError) as caught:
            wick.compile(given)
        self.assertEqual(caught.exception.command, "convert")

    def test_every_operator_that_is_missing_is_named(self):
        model = onnx([("Nope", ["x"], ["h"], {}), ("Never", ["h"], ["y"], {})], [("x", 1, ["n"])], [("y", 1, ["n"])])
        with self.assertRaisesRegex(wick.CommandError, "(?s)Nope.*Never"):
            wick.compile(model)

    def test_a_value_that_the_command_does_not_take(self):
        with self.assertRaises(wick.UsageError) as caught:
            wick.compile(ONNX, numerics="wild")
        self.assertIn("wild", str(caught.exception))
        self.assertEqual(caught.exception.code, wick.Code.INVALID_ARGUMENT)

    def test_a_size_that_the_model_has_not(self):
        for verify in (False, True):
            with self.assertRaisesRegex(wick.UsageError, "no size named 'bacth'; it has: batch"):
                wick.compile(ONNX, dims={"bacth": 3}, verify=verify)
        wick.compile(ONNX, dims={"batch": 3})

    def test_a_name_that_looks_like_an_option(self):
        with self.assertRaisesRegex(wick.CommandError, "--help"):
            wick.compile("--help")

    def test_a_wrong_kind(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "path"):
            wick.compile(7)


@needs_program
@spread
class Quantize(Case):
    @each(
        ("array", lambda case: DATA),
        ("batches", lambda case: [DATA[:8], DATA[8:20]]),
        ("generator", lambda case: (DATA[i : i + 4] for i in range(0, 16, 4))),
        ("names", lambda case: {"x": DATA}),
        ("sample", lambda case: "sample"),
        ("file", lambda case: case.saved()),
    )
    def test_calibration(self, make):
        path = os.path.join(self.folder(), "q.wick")
        cost = wick.quantize(ONNX, path, calibration=make(self), seconds=0.01)
        self.assertEqual(cost.files, [path])
        got, want = wick.load(path)(DATA[:4]), np.maximum(DATA[:4] @ WEIGHT, 0)
        if "made-up" not in cost.data["calibration"]["data"]:
            self.assertLess(np.abs(got - want).max(), 1)
        self.assertIn("bytes", str(cost))
        self.assertIn("<html", cost.html().lower())

    def saved(self):
        path = os.path.join(self.folder(), "data.npy")
        np.save(path, DATA)
        return path

    @each(
        ("dynamic", {}),
        ("weight-only", {"weights": "int4", "block": 32}),
        ("f16", {}),
        ("bf16", {}),
        ("static", {"observer": "percentile", "percentile": 99.9, "activations": "s8", "weights": "int8"}),
    )
    def test_recipe(self, options):
        recipe = self._testMethodName.removeprefix("test_recipe_")
        path = os.path.join(self.folder(), "q.wick")
        cost = wick.quantize(ONNX, path, recipe=recipe, calibration=DATA, seconds=0.01, **options)
        self.assertEqual(cost.data["recipe"]["mode"], recipe)
        want = np.maximum(DATA[:4] @ WEIGHT, 0)
        self.assertLess(np.abs(wick.load(path)(DATA[:4]) - want).max(), 1)

    def test_without_data(self):
        cost = wick.quantize(ONNX, os.path.join(self.folder(), "q.wick"), recipe="dynamic", seconds=0.01)
        self.assertIn("made-up", cost.data["calibration"]["data"])

    def test_a_budget(self):
        cost = wick.quantize(ONNX, os.path.join(self.folder(), "q.wick"), calibration=DATA, max_size=1, seconds=0.01)
        self.assertFalse(cost.data["budget"]["met"])
        self.assertEqual(len(cost.files), 1)

    @each(
        ("arrays", lambda case, x, y: (x, {"x": x, "labels": y})),
        ("names", lambda case, x, y: ({"x": x[:8]}, {"x": x, "labels": y})),
        ("generators", lambda case, x, y: (iter([x]), {"x": x, "labels": y})),
    )
    def test_calibration_and_evaluation(self, make):
        labels = np.maximum(DATA @ WEIGHT, 0).argmax(1).astype(np.int64)
        calibration, evaluation = make(self, DATA * 0 + 1, labels)
        evaluation["x"] = DATA
        path = os.path.join(self.folder(), "q.wick")
        cost = wick.quantize(ONNX, path, calibration=calibration, evaluation=evaluation, observer="min-max", seconds=0.01)
        self.assertEqual(cost.data["accuracy"]["before"], 1)
        # Calibrated on ones alone: a range that ends there, not that of the other data.
        alone = wick.quantize(ONNX, path + "2.wick", calibration=DATA * 0 + 1, observer="min-max", seconds=0.01)
        self.assertBits(wick.load(path)(DATA), wick.load(alone.files[0])(DATA))

    def test_the_other_byte_order(self):
        path = os.path.join(self.folder(), "q.wick")
        wick.quantize(ONNX, path, calibration=DATA.astype(">f4"), observer="min-max", seconds=0.01)
        wick.quantize(ONNX, path + "2.wick", calibration=DATA, observer="min-max", seconds=0.01)
        self.assertBits(wick.load(path)(DATA), wick.load(path + "2.wick")(DATA))
        self.assertTrue(wick.verify(ONNX, inputs=X.astype(">f4")))

    @each(("objects", [None]), ("number", 3), ("ragged", [[[1, 2], [3]]]), ("texts", ["a"]))
    def test_no_data(self, calibration):
        with self.assertRaises(wick.InvalidArgument):
            wick.quantize(ONNX, os.path.join(self.folder(), "q.wick"), calibration=calibration)

    def test_one_word_is_a_list_of_it(self):
        path = os.path.join(self.folder(), "q.wick")
        cost = wick.quantize(ONNX, path, calibration=DATA, skip="*", seconds=0.01)
        self.assertEqual(cost.data["recipe"]["skip"], ["*"])
        self.assertTrue(wick.verify(ONNX, backends="cpu", batch=2, passes=False))
        self.assertEqual([r["batch"] for r in wick.bench(ONNX, batch=4, seconds=0.02).rows], [4])

    @each(("array", DATA[:, :3]), ("several", [DATA[:, :3]]), ("by_name", {"x": DATA[:, :3]}))
    def test_errors_of_arrays_name_no_file_of_a_folder_that_is_gone(self, calibration):
        with self.assertRaises(wick.CommandError) as caught:
            wick.quantize(ONNX, os.path.join(self.folder(), "q.wick"), calibration=calibration)
        self.assertRegex(str(caught.exception), "'calibration[^']*'")
        self.assertNotIn(os.sep + "wick-", str(caught.exception))

    def test_no_calibration(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "no array"):
            wick.quantize(ONNX, os.path.join(self.folder(), "q.wick"), calibration=[])

    def test_two_files(self):
        folder = self.folder()
        outputs = [os.path.join(folder, n) for n in ("q.wick", "q.onnx")]
        cost = wick.quantize(ONNX, outputs, calibration=DATA, seconds=0.01, per_tensor=True, observer="mse")
        self.assertEqual(sorted(cost.files), sorted(outputs))
        self.assertEqual(cost.data["recipe"]["observer"], "mse")
        self.assertBits(session(outputs[0]).run(None, {"x": X})[0], session(outputs[1]).run(None, {"x": X})[0])

    @each(("recipe", {"recipe": "magic"}), ("weights", {"weights": "int1"}), ("observer", {"observer": "eye"}))
    def test_usage(self, options):
        with self.assertRaises(wick.UsageError) as caught:
            wick.quantize(ONNX, os.path.join(self.folder(), "q.wick"), **options)
        self.assertIn("--", str(caught.exception))
        self.assertTrue(caught.exception.hint)


@needs_program
class Verify(Case):
    def test_equal(self):
        result = wick.verify(ONNX, batch=2)
        self.assertTrue(result)
        self.assertEqual(result.verdict, "equal")
        self.assertTrue(all(r["verdict"] == "equal" for r in result.data["rows"]))
        self.assertIn("equal", str(result))
        self.assertIn("<html", result.html().lower())

    def test_a_difference_is_no_exception(self):
        other = onnx(
            [("MatMul", ["x", "w"], ["m"], {}), ("Relu", ["m"], ["y"], {})],
            [("x", 1, ["batch", 4])],
            [("y", 1, ["batch", 8])],
            inits=(wire.tensor(wire.T(WEIGHT + 1), "w"),),
        )
        result = wick.verify(ONNX, wick.compile(other), batch=2)
        self.assertFalse(result)
        self.assertNotEqual(result.verdict, "equal")

    def test_inputs_of_its_own(self):
        self.assertTrue(wick.verify(ONNX, inputs=X, backends=["cpu", "reference"], passes=False))
        self.assertTrue(wick.verify(ONNX, inputs={"x": X}))


@needs_program
class Inspect(Case):
    def test_one(self):
        seen = wick.inspect(wick.compile(ONNX))
        self.assertEqual(seen.data["inputs"][0]["name"], "x")
        self.assertIn("nodes", str(seen))
        frame = seen._repr_html_()
        self.assertTrue(frame.startswith("<iframe"))
        inside = html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1))
        self.assertEqual(inside, seen.html())

    def test_two(self):
        seen = wick.inspect(ONNX, wick.compile(ONNX))
        self.assertEqual(sorted(k for k in seen.data if k in "ab"), ["a", "b"])
        self.assertIn("file_bytes", str(seen))
        self.assertIn("<pre>", seen.html())

    def test_what_two_have_not(self):
        for options in ({"profile": True}, {"inputs": X}, {"dims": {"batch": 2}}):
            with self.assertRaisesRegex(wick.InvalidArgument, "one model"):
                wick.inspect(ONNX, ONNX, **options)

    def test_times(self):
        self.assertIn("<html", wick.inspect(ONNX, profile=True, inputs=X).html().lower())

    def test_kept(self):
        path = os.path.join(self.folder(), "page.html")
        seen = wick.inspect(relu())
        seen.save(path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), seen.html())


@needs_program
class Others(Case):
    def test_bench(self):
        times = wick.bench(ONNX, batch=[1, 8], seconds=0.02)
        self.assertEqual([r["batch"] for r in times.rows], [1, 8])
        self.assertGreater(times.rows[0]["p50_ms"], 0)
        self.assertIn("p50_ms", str(times))
        self.assertEqual(times.html().count("<tr>"), 3)
        self.assertIn("Benchmark", repr(times))

    def test_report_of_nothing(self):
        with self.assertRaisesRegex(wick.CommandError, "wick train") as caught:
            wick.report(self.folder())
        self.assertEqual(caught.exception.command, "report")

    def test_report(self):
        folder = self.folder()
        with open(os.path.join(folder, "metrics.csv"), "w", encoding="utf-8") as file:
            file.write("epoch,loss,accuracy\n1,0.5,0.8\n")
        try:
            page = wick.report(folder)
        except wick.CommandError as why:  # of a run that somebody wrote by hand
            self.assertIn("metrics.csv", str(why))
        else:
            self.assertIn("<html", page.html().lower())

    def test_scratch_folders_go(self):
        import glob
        import tempfile

        before = set(glob.glob(os.path.join(tempfile.gettempdir(), "wick-*")))
        wick.inspect(ONNX)
        with self.assertRaises(wick.CommandError):
            wick.compile(b"no model")
        self.assertEqual(set(glob.glob(os.path.join(tempfile.gettempdir(), "wick-*"))) - before, set())

    def test_the_command(self):
        environ = {**os.environ, "PYTHONPATH": os.path.join(support.ROOT, "python")}
        done = subprocess.run([sys.executable, "-m", "wick", "--version"], env=environ, capture_output=True, check=True)
        self.assertEqual(done.stdout.decode().strip(), wick.__version__)


class OtherPrograms(Case):
    def program(self, text):
        path = self.file(text, "wick")
        os.chmod(path, 0o755)
        return path

    def test_what_is_no_program(self):
        with environment(WICK_PROGRAM=self.program(b"\x7fELF this is none")):
            with self.assertRaisesRegex(wick.IOFailure, "cannot be run"):
                wick.compile(ONNX)

    def test_what_is_not_wick(self):
        if os.name != "posix":
            self.skipTest("needs a shell")
        with environment(WICK_PROGRAM=self.program(b"#!/bin/sh\necho hello\n")):
            with self.assertRaisesRegex(wick.CommandError, "no JSON"):
                wick.compile(ONNX)

    def test_a_nul(self):
        with environment(WICK_PROGRAM=sys.executable):
            with self.assertRaises(wick.UsageError):
                wick.compile(ONNX, numerics="a\0b")


@spread
class WithoutProgram(Case):
    @each(
        ("compile", lambda: wick.compile(ONNX)),
        ("quantize", lambda: wick.quantize(ONNX, "q.wick")),
        ("verify", lambda: wick.verify(ONNX)),
        ("inspect", lambda: wick.inspect(ONNX)),
        ("report", lambda: wick.report("run")),
        ("bench", lambda: wick.bench(ONNX)),
    )
    def test_it_is_said(self, call):
        name = self._testMethodName.rsplit("_", 1)[1]
        with environment(WICK_PROGRAM="/nowhere/wick"):
            with self.assertRaisesRegex(wick.Unsupported, rf"^wick\.{name} needs the program `wick`.*pip install"):
                call()


@spread
class Models(Case):
    """wick.load."""

    def test_by_order_and_by_name(self):
        model = wick.load(support.add_sub())
        a, b = np.float32([1]), np.float32([2])
        for got in (model(a, b), model(a, b=b), model(a=a, b=b), model(b=b, a=a)):
            self.assertEqual([g.tolist() for g in got], [[3.0], [-1.0]])
        self.assertIsInstance(model(a, b), tuple)

    @each(
        ("too_many", lambda m: m(1, 2, 3), "2 inputs"),
        ("too_few", lambda m: m(np.float32([1])), "Required inputs"),
        ("twice", lambda m: m(np.float32([1]), a=np.float32([1])), "given twice"),
        ("unknown", lambda m: m(np.float32([1]), np.float32([1]), c=1), "Invalid input name: c"),
    )
    def test_wrong_calls(self, call, text):
        with self.assertRaisesRegex(wick.InvalidArgument, text):
            call(wick.load(support.add_sub()))

    def test_what_it_says(self):
        model = wick.load(identity(1, ["<b>"]))
        self.assertEqual(repr(model), "Model(x: tensor(float)['<b>'] -> y: tensor(float)['<b>'])")
        self.assertIn("&lt;b&gt;", model._repr_html_())
        self.assertNotIn("<b>", model._repr_html_())
        self.assertEqual((model.inputs[0].name, model.outputs[0].name, model.labels), ("x", "y", []))

    def test_threads_or_options(self):
        self.assertEqual(wick.load(relu(), threads=2).session.get_session_options().intra_op_num_threads, 2)
        with self.assertRaisesRegex(wick.InvalidArgument, "not both"):
            wick.load(relu(), threads=2, options=wick.SessionOptions())

    def test_options_of_a_run(self):
        options = wick.RunOptions()
        options.terminate = True
        with self.assertRaises(wick.Cancelled):
            wick.load(relu())(X, run_options=options)


if __name__ == "__main__":
    support.unittest.main()

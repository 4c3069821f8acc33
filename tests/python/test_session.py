"""InferenceSession's methods: ports, runs, options, providers, metadata, profiles."""

import json
import os
import warnings

import support
from support import Case, add_sub, compiled, each, environment, identity, needs_program, nonzero, onnx, relu, session, spread

import numpy as np
import wick
import wire

X = np.float32([[1, -2, 3, -4]])
Y = np.maximum(X, 0)
A, B = np.float32([1, 2, 3]), np.float32([10, 20, 30])


class Ports(Case):
    def test_inputs_and_outputs(self):
        model = session(add_sub())
        self.assertEqual([(a.name, a.shape, a.type) for a in model.get_inputs()], [("a", ["n"], "tensor(float)"), ("b", ["n"], "tensor(float)")])
        self.assertEqual([a.name for a in model.get_outputs()], ["sum", "difference"])
        self.assertIn("name='a'", str(model.get_inputs()[0]))

    def test_sizes_of_every_kind(self):
        model = session(identity(1, ["batch", 3, "batch", 0]))
        self.assertEqual(model.get_inputs()[0].shape, ["batch", 3, "batch", 0])

    def test_a_scalar_has_no_dims(self):
        self.assertEqual(session(identity(1, [])).get_inputs()[0].shape, [])

    def test_no_overridable_initializers(self):
        self.assertEqual(session(relu()).get_overridable_initializers(), [])

    def test_an_override_stands_for_its_symbol(self):
        options = wick.SessionOptions()
        options.add_free_dimension_override_by_name("batch", 3)
        model = session(relu(), options)
        self.assertEqual(model.get_inputs()[0].shape, [3, 4])
        for rows in (3, 1, 5):  # planned for 3; other sizes run
            self.assertEqual(model.run(None, {"x": np.ones((rows, 4), np.float32)})[0].shape, (rows, 4))

    def test_an_override_of_no_symbol(self):
        options = wick.SessionOptions()
        options.add_free_dimension_override_by_name("nowhere", 3)
        with self.assertRaises(wick.NotFound):
            session(relu(), options)


@spread
class Runs(Case):
    @each(
        ("none", None, ["sum", "difference"]),
        ("empty", [], ["sum", "difference"]),
        ("all", ["sum", "difference"], ["sum", "difference"]),
        ("turned", ["difference", "sum"], ["difference", "sum"]),
        ("first", ["sum"], ["sum"]),
        ("second", ["difference"], ["difference"]),
        ("twice", ["sum", "sum"], ["sum", "sum"]),
        ("three", ["sum", "difference", "sum"], ["sum", "difference", "sum"]),
        ("tuple", ("sum",), ["sum"]),
    )
    def test_wanted(self, names, want):
        model = session(add_sub())
        for scale in (1, 2):
            got = model.run(names, {"a": A * scale, "b": B})
            self.assertEqual(len(got), len(want))
            for value, name in zip(got, want):
                self.assertBits(value, A * scale + B if name == "sum" else A * scale - B)

    def test_names_may_come_in_any_order(self):
        self.assertBits(session(add_sub()).run(["difference"], {"b": B, "a": A})[0], A - B)

    def test_other_mappings(self):
        import collections

        feed = collections.OrderedDict(b=B, a=A)
        self.assertBits(session(add_sub()).run(None, feed)[0], A + B)
        self.assertBits(session(add_sub()).run(None, collections.ChainMap({"a": A}, {"b": B}))[0], A + B)

    def test_shapes_may_change_from_run_to_run(self):
        model = session(relu(("a", "b")))
        for shape in [(1, 4), (7, 4), (1, 4), (0, 4), (2, 9), (64, 64), (1, 1)]:
            x = np.random.RandomState(1).randn(*shape).astype(np.float32)
            self.assertBits(model.run(None, {"x": x})[0], np.maximum(x, 0))

    def test_outputs_whose_size_the_data_decides(self):
        model = session(nonzero())
        for x in ([0, 1, 0, 2], [1, 1, 1, 1], [0, 0, 0, 0], [3, 0]):
            got = model.run(None, {"x": np.float32(x)})[0]
            self.assertBits(got, np.int64([np.flatnonzero(x)]))

    def test_the_same_array_twice(self):
        self.assertBits(session(add_sub()).run(["sum"], {"a": A, "b": A})[0], A + A)

    def test_no_inputs(self):
        model = session(
            compiled([("Identity", ["c"], ["y"], {})], [], [("y", 1, [3])], inits=(wire.tensor(wire.T(A), "c"),))
        )
        self.assertBits(model.run(None, {})[0], A)

    def test_ort_values(self):
        model = session(add_sub())
        values = {"a": wick.OrtValue.ortvalue_from_numpy(A), "b": wick.OrtValue.ortvalue_from_numpy(B)}
        got = model.run_with_ort_values(["difference"], values)
        self.assertBits(got[0].numpy(), A - B)
        self.assertEqual(got[0].data_type(), "tensor(float)")
        self.assertBits(model.run(None, values)[0], A + B)

    def test_run_async(self):
        import threading

        done, said = threading.Event(), []

        def callback(results, data, error):
            said.append((results, data, error))
            done.set()

        model = session(add_sub())
        model.run_async(None, {"a": A, "b": B}, callback, "mine")
        self.assertTrue(done.wait(30))
        self.assertBits(said[0][0][0], A + B)
        self.assertEqual(said[0][1:], ("mine", ""))
        done.clear()
        model.run_async(None, {"a": A, "b": B[:2]}, callback, None)
        self.assertTrue(done.wait(30))
        self.assertEqual(said[1][0], [])
        self.assertIn("b", said[1][2])

    @each(("array", np.array(["difference"])), ("generator", None), ("set", {"difference"}))
    def test_wanted_in_other_forms(self, names):
        names = (n for n in ["difference"]) if names is None else names
        self.assertBits(session(add_sub()).run(names, {"a": A, "b": B})[0], A - B)

    @each(("number", 3), ("lists", [["sum"]]), ("bytes", [b"sum"]), ("none", [None]))
    def test_no_names(self, names):
        with self.assertRaises(wick.InvalidArgument):
            session(add_sub()).run(names, {"a": A, "b": B})

    def test_memory_is_told(self):
        model = session(relu())
        model.run(None, {"x": X})
        self.assertGreater(model.memory(), 0)


@spread
class Options(Case):
    @each(*((str(t), t) for t in (0, 1, 2, 4)))
    def test_threads_change_no_bit(self, threads):
        options = wick.SessionOptions()
        options.intra_op_num_threads = threads
        model = session(compiled([("MatMul", ["x", "x"], ["y"], {})], [("x", 1, [128, 128])], [("y", 1, [128, 128])]), options)
        x = np.random.RandomState(3).randn(128, 128).astype(np.float32)
        got = model.run(None, {"x": x})[0]
        Options.seen = getattr(Options, "seen", got)
        self.assertBits(got, Options.seen)

    @each(("negative", -1), ("huge", 1 << 20))
    def test_threads_out_of_range(self, threads):
        options = wick.SessionOptions()
        options.intra_op_num_threads = threads
        with self.assertRaisesRegex(wick.InvalidArgument, "intra_op_num_threads"):
            session(relu(), options)

    @each(
        ("inter_op_num_threads", 3),
        ("graph_optimization_level", wick.GraphOptimizationLevel.ORT_DISABLE_ALL),
        ("execution_mode", wick.ExecutionMode.ORT_PARALLEL),
        ("execution_order", wick.ExecutionOrder.PRIORITY_BASED),
        ("logid", "mine"),
        ("log_severity_level", 3),
        ("log_verbosity_level", 1),
        ("enable_cpu_mem_arena", False),
        ("enable_mem_pattern", False),
        ("enable_mem_reuse", False),
        ("use_deterministic_compute", False),
        ("verify_digests", True),
        ("max_ram", 1 << 30),
    )
    def test_set(self, value):
        name = self._testMethodName.removeprefix("test_set_")
        options = wick.SessionOptions()
        setattr(options, name, value)
        model = session(self.file(relu()), options)
        self.assertEqual(getattr(model.get_session_options(), name), value)
        self.assertBits(model.run(None, {"x": X})[0], Y)

    @each(("copy", "copy"), ("map", "map"), ("auto", "auto"))
    def test_weights(self, where):
        options = wick.SessionOptions()
        options.weights = where
        self.assertBits(session(self.file(relu()), options).run(None, {"x": X})[0], Y)

    def test_config_entries(self):
        options = wick.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.assertEqual(options.get_session_config_entry("session.intra_op.allow_spinning"), "0")
        with self.assertRaisesRegex(wick.InvalidArgument, "nowhere"):
            options.get_session_config_entry("nowhere")
        self.assertFalse(options.has_providers())
        run = wick.RunOptions()
        run.add_run_config_entry("a", "b")
        self.assertEqual(run.get_run_config_entry("a"), "b")
        with self.assertRaises(wick.InvalidArgument):
            run.get_run_config_entry("c")

    def test_a_size_below_zero(self):
        with self.assertRaises(wick.InvalidArgument):
            wick.SessionOptions().add_free_dimension_override_by_name("batch", -1)

    @each(
        ("negative_ram", "max_ram", -1),
        ("ram_of_a_float", "max_ram", 2.5),
        ("huge_ram", "max_ram", 2**64),
        ("negative_file", "max_file", -5),
        ("entry", "entry", 3),
        ("nul", "entry", "main\0other"),
        ("threads", "intra_op_num_threads", "2"),
        ("threads_of_a_float", "intra_op_num_threads", 1.5),
        ("one_op", "allowed_ops", "Relu"),
        ("ops", "allowed_ops", [3]),
        ("op_with_nul", "allowed_ops", ["Relu\0"]),
        ("weights", "weights", ["copy"]),
    )
    def test_no_such_value(self, name, value):
        options = wick.SessionOptions()
        setattr(options, name, value)
        with self.assertRaisesRegex(wick.InvalidArgument, name):
            session(relu(), options)

    @each(("huge", "batch", 2**63), ("float", "batch", 1.5), ("nul", "ba\0tch", 1), ("number", 3, 1))
    def test_no_override(self, name, value):
        with self.assertRaises(wick.InvalidArgument):
            wick.SessionOptions().add_free_dimension_override_by_name(name, value)

    @each(("infinite", float("inf")), ("huge", 1e300), ("whole", 10), ("hour", 3600.0))
    def test_a_timeout_that_does_not_pass(self, seconds):
        options = wick.RunOptions()
        options.timeout = seconds
        self.assertBits(session(relu()).run(None, {"x": X}, options)[0], Y)

    @each(("text", "a"), ("none", None), ("nan", float("nan")), ("negative", -1), ("huge", 10**400))
    def test_no_timeout(self, seconds):
        options = wick.RunOptions()
        options.timeout = seconds
        with self.assertRaisesRegex(wick.InvalidArgument, "timeout"):
            session(relu()).run(None, {"x": X}, options)

    def test_a_timeout_that_is_shorter_than_the_clock(self):
        from wick import _options

        options = wick.RunOptions()
        options.timeout = 1e-12
        self.assertEqual(_options.RunOptions._native(options).timeout_ns, 1)  # not 0, which is no limit

    def test_options_are_those_of_the_opening(self):
        options = wick.SessionOptions()
        options.add_free_dimension_override_by_name("batch", 3)
        model = session(relu(), options)
        options.entry, options.max_ram = "nowhere", 1
        options.add_free_dimension_override_by_name("nowhere", 1)
        model.get_session_options().entry = "nowhere"
        model._idle.clear()  # as if threads ran them all: the next run opens another
        self.assertBits(model.run(None, {"x": X})[0], Y)
        self.assertEqual(model.get_session_options().entry, "")

    def test_weights_of_no_kind(self):
        options = wick.SessionOptions()
        options.weights = "elsewhere"
        with self.assertRaisesRegex(wick.InvalidArgument, "weights"):
            session(relu(), options)

    @each(
        ("session", wick.SessionOptions, "intra_op_threads", "intra_op_num_threads"),
        ("run", wick.RunOptions, "timout", "timeout"),
        ("nothing_like_it", wick.RunOptions, "zzz", "terminate, timeout"),
    )
    def test_an_option_that_is_misspelt(self, kind, name, near):
        options = kind()
        with self.assertRaisesRegex(AttributeError, f"{kind.__name__} has no option '{name}'; there is .*{near}$"):
            setattr(options, name, 1)

    @each(("number", 3), ("session", wick.SessionOptions()))
    def test_other_options_of_a_run_are_refused(self, given):
        model = session(relu())
        with self.assertRaisesRegex(wick.InvalidArgument, "run_options is a .*, must be wick.RunOptions"):
            model.run(None, {"x": X}, given)
        self.assertBits(model.run(None, {"x": X})[0], Y)

    def test_other_options_are_refused(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "SessionOptions"):
            session(relu(), {"threads": 1})

    @needs_program
    def test_a_custom_op_in_an_onnx_file(self):
        library = os.path.join(support.BUILD, "examples", "custom_op", "libswish.so")
        if not os.path.exists(library):
            self.skipTest("this build has no library of custom ops")
        model = wire.model(
            [wire.node("Swish", ["x"], ["y"], {"beta": 1.5}, "example")], [wire.value_info("x", 1, ["n"])], [wire.value_info("y", 1, ["n"])], 19
        ) + wire.blob(8, wire.blob(1, "example") + wire.num(2, 1))
        options = wick.SessionOptions()
        options.register_custom_ops_library(library)
        x = np.float32([-1, 0, 2])
        got = session(model, options).run(None, {"x": x})[0]
        np.testing.assert_allclose(got, x / (1 + np.exp(-1.5 * x)), rtol=1e-6)
        self.assertBits(session(wick.compile(model, ops=library), options).run(None, {"x": x})[0], got)

    def test_no_custom_ops_library(self):
        with self.assertRaises(wick.Error):
            wick.SessionOptions().register_custom_ops_library("/nowhere.so")

    def test_a_limit_of_memory(self):
        options = wick.SessionOptions()
        options.max_ram = 1
        model = None
        with self.assertRaises(wick.BudgetExceeded):
            model = session(relu((1024, 1024)), options)
            model.run(None, {"x": np.zeros((1024, 1024), np.float32)})


@spread
class Providers(Case):
    CPU = "CPUExecutionProvider"

    @each(
        ("none", None),
        ("empty", []),
        ("cpu", ["CPUExecutionProvider"]),
        ("short", ["cpu"]),
        ("with_options", [("CPUExecutionProvider", {})]),
        ("tuple", ("CPUExecutionProvider",)),
    )
    def test_the_cpu(self, providers):
        model = session(relu(), providers=providers)
        self.assertEqual(model.get_providers(), [self.CPU])
        self.assertEqual(model.get_provider_options(), {self.CPU: {}})
        self.assertBits(model.run(None, {"x": X})[0], Y)

    @each(("text", "CPUExecutionProvider"), ("number", 3), ("numbers", [3]), ("triple", [("CPUExecutionProvider", {}, 1)]))
    def test_malformed(self, providers):
        with self.assertRaises(ValueError):
            session(relu(), providers=providers)

    @each(("number", [("cpu", 3)]), ("none", [("cpu", None)]), ("mixed", [("cpu", {1: 2, "a": 3})]))
    def test_malformed_options(self, providers):
        with self.assertRaises(wick.InvalidArgument):
            session(relu(), providers=providers)

    @each(("CUDA", "CUDAExecutionProvider"), ("typo", "CPUExecutionProvidr"))
    def test_unknown_ones_are_left_out_with_a_warning(self, name):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = session(relu(), providers=[name, self.CPU])
        self.assertIn(name, str(said[0].message))
        self.assertEqual(model.get_providers(), [self.CPU])

    @each(
        ("session", lambda: session(relu(), providers=["none"])),
        ("constructor", lambda: wick.InferenceSession(relu(), providers=["none"])),
        ("load", lambda: wick.load(relu(), providers=["none"])),
        ("set", lambda: session(relu()).set_providers(["none"])),
    )
    def test_warnings_name_the_caller_s_line(self, call):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
        name = "support.py" if self._testMethodName.endswith("_session") else "test_session.py"
        self.assertEqual([os.path.basename(w.filename) for w in said], [name])

    def test_twice(self):
        with self.assertWarns(UserWarning):
            session(relu(), providers=[self.CPU, self.CPU])

    def test_options_of_their_own(self):
        with self.assertRaisesRegex(ValueError, "same length"):
            session(relu(), providers=[self.CPU], provider_options=[{}, {}])
        with self.assertRaisesRegex(wick.InvalidArgument, "no option 'arena'"):
            session(relu(), providers=[self.CPU], provider_options=[{"arena": "1"}])
        with self.assertRaisesRegex(ValueError, "Only string values"):
            session(relu(), providers=[(self.CPU, {})], provider_options=[{}])

    def test_names(self):
        self.assertEqual(wick.get_all_providers(), ["VulkanExecutionProvider", self.CPU])
        self.assertEqual(wick.get_available_providers()[-1], self.CPU)
        self.assertEqual(wick.get_device(), "CPU")
        for device in wick.devices():
            self.assertEqual(sorted(device), ["memory_bytes", "name", "type", "usable", "why"])

    def test_set_providers(self):
        model = session(relu())
        model.set_providers(["CPUExecutionProvider"])
        model.disable_fallback()
        model.enable_fallback()
        self.assertBits(model.run(None, {"x": X})[0], Y)

    def test_vulkan(self):
        if "VulkanExecutionProvider" not in wick.get_available_providers():
            self.skipTest("no Vulkan device")
        model = session(add_sub(), providers=["VulkanExecutionProvider", self.CPU])
        self.assertEqual(model.get_providers(), ["VulkanExecutionProvider", self.CPU])
        self.assertBits(model.run(["sum"], {"a": A, "b": B})[0], A + B)
        other = session(add_sub(), providers=[("vulkan", {"device_id": "0"})])
        self.assertBits(other.run(["sum"], {"a": A, "b": B})[0], A + B)

    def test_a_device_that_is_not_there(self):
        with self.assertRaises((wick.NotFound, wick.DeviceError, wick.Unsupported)):
            session(relu(), providers=[("vulkan", {"device": "a device of no such name"})])
        with self.assertRaisesRegex(wick.InvalidArgument, "offload_all"):
            session(relu(), providers=[("vulkan", {"offload_all": "perhaps"})])


class Metadata(Case):
    def model(self):
        data = onnx([("Relu", ["x"], ["y"], {})], [("x", 1, ["n"])], [("y", 1, ["n"])])
        about = wire.blob(2, "maker") + wire.blob(4, "org.example") + wire.num(5, 7) + wire.blob(6, "what it does")
        entry = wire.blob(14, wire.blob(1, "key") + wire.blob(2, "välue"))
        return wick.compile(data + about + entry, verify=False)

    def test_all_of_it(self):
        said = session(self.file(self.model(), "net.wick")).get_modelmeta()
        self.assertEqual(
            (said.producer_name, said.domain, said.version, said.description, said.graph_name),
            ("maker", "org.example", 7, "what it does", "net"),
        )
        self.assertEqual(said.custom_metadata_map["key"], "välue")
        self.assertEqual(wick.load(self.model()).metadata["key"], "välue")

    def test_none_of_it(self):
        said = session(relu()).get_modelmeta()
        self.assertEqual((said.producer_name, said.version, said.custom_metadata_map.get("key")), ("wick", 0, None))
        self.assertEqual(session(relu()).get_labels(), [])


class Profiles(Case):
    def test_a_profile(self):
        options = wick.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(self.folder(), "times")
        model = session(add_sub(), options)
        self.assertGreater(model.get_profiling_start_time_ns(), 0)
        for _ in range(3):
            model.run(None, {"a": A, "b": B})
        name = model.end_profiling()
        self.assertTrue(os.path.basename(name).startswith("times"))
        with open(name, encoding="utf-8") as file:
            events = json.load(file)
        self.assertEqual(sorted({e["args"]["op_name"] for e in events}), ["Add", "Sub"])
        self.assertEqual(len(events), 6)
        for event in events:
            self.assertEqual((event["ph"], event["args"]["provider"], event["pid"]), ("X", "cpu", os.getpid()))
            self.assertGreaterEqual(event["dur"], 0)
        model.run(None, {"a": A, "b": B})  # after the end

    def test_none(self):
        model = session(relu())
        self.assertEqual((model.end_profiling(), model.get_profiling_start_time_ns()), ("", 0))


@spread
class Sources(Case):
    @each(("bytes", bytes), ("bytearray", bytearray), ("memoryview", memoryview))
    def test_from_memory(self, kind):
        self.assertBits(session(kind(relu())).run(None, {"x": X})[0], Y)

    def test_from_files(self):
        import pathlib

        path = self.file(relu())
        for given in (path, pathlib.Path(path)):
            self.assertBits(session(given).run(None, {"x": X})[0], Y)

    def test_the_name_decides_nothing(self):
        self.assertBits(session(self.file(relu(), "model.onnx")).run(None, {"x": X})[0], Y)

    def test_a_name_of_other_letters(self):
        self.assertBits(session(self.file(relu(), "mödel 模.wick")).run(None, {"x": X})[0], Y)

    def test_the_file_may_go(self):
        path = self.file(relu())
        model = session(path)
        os.remove(path)
        self.assertBits(model.run(None, {"x": X})[0], Y)

    ONNX = onnx([("Relu", ["x"], ["y"], {})], [("x", 1, ["batch", 4])], [("y", 1, ["batch", 4])])

    @needs_program
    def test_onnx(self):
        self.assertBits(session(self.ONNX).run(None, {"x": X})[0], Y)
        self.assertBits(session(self.file(self.ONNX, "m.onnx")).run(None, {"x": X})[0], Y)

    @needs_program
    def test_a_model_proto(self):
        class Proto:
            def SerializeToString(self):
                return Sources.ONNX

        self.assertBits(session(Proto()).run(None, {"x": X})[0], Y)

    @needs_program
    def test_onnx_that_is_kept_as_wick(self):
        options = wick.SessionOptions()
        options.optimized_model_filepath = os.path.join(self.folder(), "kept.wick")
        session(self.ONNX, options)
        self.assertBits(session(options.optimized_model_filepath).run(None, {"x": X})[0], Y)

    @needs_program
    def test_a_kept_file_that_a_session_has_mapped(self):
        options = wick.SessionOptions()
        options.optimized_model_filepath = os.path.join(self.folder(), "kept.wick")
        options.weights = "map"
        first = session(self.ONNX, options)
        before = os.stat(options.optimized_model_filepath).st_ino
        second = session(self.ONNX, options)
        self.assertNotEqual(os.stat(options.optimized_model_filepath).st_ino, before)
        for model in (first, second):
            self.assertBits(model.run(None, {"x": X})[0], Y)

    @needs_program
    def test_names_that_look_like_options(self):
        folder, here = self.folder(), os.getcwd()
        os.chdir(folder)
        self.addCleanup(os.chdir, here)
        for name in ("-m.onnx", "--help", "-"):
            with open(name, "wb") as file:
                file.write(self.ONNX)
            self.assertBits(session(name).run(None, {"x": X})[0], Y)
            self.assertBits(session(wick.compile(name)).run(None, {"x": X})[0], Y)

    @needs_program
    def test_numerics(self):
        options = wick.SessionOptions()
        options.add_session_config_entry("wick.numerics", "fast")
        self.assertBits(session(self.ONNX, options).run(None, {"x": X})[0], Y)
        options.add_session_config_entry("wick.numerics", "wild")
        with self.assertRaisesRegex(wick.UsageError, "wild"):
            session(self.ONNX, options)

    @needs_program
    def test_operators_that_wick_cannot_read(self):
        with self.assertRaisesRegex(wick.CommandError, "NoSuchOperator"):
            session(onnx([("NoSuchOperator", ["x"], ["y"], {})], [("x", 1, ["n"])], [("y", 1, ["n"])]))

    def test_a_package_without_the_compiler(self):
        with environment(WICK_PROGRAM="/nowhere/wick"):
            for given in (self.ONNX, self.file(self.ONNX, "m.onnx")):
                with self.assertRaisesRegex(wick.Unsupported, r"m.*\.onnx is no \.wick.*wick\.compile\('.*m.*\.onnx', 'model\.wick'\)"):
                    session(given)
            self.assertBits(session(relu()).run(None, {"x": X})[0], Y)

    def test_the_file_stays_open_for_reading_only(self):
        before = self.file(relu())
        with open(before, "rb") as file:
            bytes_before = file.read()
        model = session(before)
        model.run(None, {"x": X})
        with open(before, "rb") as file:
            self.assertEqual(file.read(), bytes_before)


if __name__ == "__main__":
    support.unittest.main()

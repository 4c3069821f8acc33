"""The package itself: its C declarations, its names, its stubs, what importing it takes, examples in docstrings."""

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys

import support
from support import ROOT, Case, each, relu, spread

import numpy as np
import wick
from wick import _abi, _library

C_ABI = os.path.join(ROOT, "tests", "runtime", "c_abi", "abi.txt")
PACKAGE = os.path.join(ROOT, "python", "wick")
MODULES = sorted(n[:-3] for n in os.listdir(PACKAGE) if n.endswith(".py") and n not in ("__init__.py", "__main__.py"))

with open(C_ABI, encoding="utf-8") as _file:
    DECLARED = _file.read().splitlines()
STRUCTS = {m[1]: m[2] for m in (re.match(r"struct (\w+): (.*)", line) for line in DECLARED) if m}
FUNCTIONS = {m[2]: (m[1], m[3]) for m in (re.match(r"function (.*?\W)(wick_\w+)\((.*)\)$", line) for line in DECLARED) if m}
WIDTH = {"int": 4, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "size_t": 8, "wick_allocator": 24}


def fields(text):
    """Returns (name, bytes) of each field of a struct in abi.txt."""
    rows = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        pointer = re.match(r".*?\(\*(\w+)\)\(", part)
        if pointer:
            rows.append((pointer[1], 8))
            continue
        kind, names = re.match(r"(\w+)\s*(.*)", part.replace("const", "").strip()).groups()
        for name in names.split(","):
            stars, name, count = re.match(r"\s*([* ]*)(\w+)(?:\[(\w+)\])?", name).groups()
            times = _abi.MAX_RANK if count == "WICK_MAX_RANK" else int(count or 1)
            rows.append((name, (8 if "*" in stars or kind.endswith("_fn") else WIDTH[kind]) * times))
    return rows


@spread
class Abi(Case):
    @each(*((n,) for n in _abi.STRUCTS if n != "wick_string"))
    def test_struct(self):
        name = self._testMethodName.removeprefix("test_struct_")
        struct = _abi.STRUCTS[name]
        got = [(n.rstrip("_"), getattr(struct, n).size) for n, *_ in struct._fields_]
        self.assertEqual(got, fields(STRUCTS[name]))

    @each(*((n,) for n in {**_abi.FUNCTIONS, **_abi.VULKAN_FUNCTIONS}))
    def test_function(self):
        name = self._testMethodName.removeprefix("test_function_")
        result, arguments = {**_abi.FUNCTIONS, **_abi.VULKAN_FUNCTIONS}[name]
        want_result, want = FUNCTIONS[name]
        wanted = [] if want == "void" else re.sub(r"\([^()]*\)\([^()]*\)", "*", want).split(",")
        self.assertEqual(len(arguments), len(wanted))
        for kind, text in zip(arguments, wanted):
            self.assertEqual(kind in (_abi.c_void_p, _abi.c_char_p), "*" in text, text)
            if kind is _abi.c_size_t:
                self.assertIn("size_t", text)
        self.assertEqual(result is None, want_result.strip() == "void")

    def test_codes(self):
        header = os.path.join(ROOT, "runtime", "include", "wick", "wick.h")
        with open(header, encoding="utf-8") as file:
            enum = re.search(r"typedef enum wick_code \{(.*?)\}", file.read(), re.S)[1]
        want = {n: int(v) for n, v in re.findall(r"WICK_(\w+) = (\d+)", enum)}
        self.assertEqual({c.name: int(c) for c in wick.Code if c != wick.Code.COMMAND}, want)

    @each(*((t, n) for n, _, t in support.DTYPES))
    def test_dtype(self, number):
        from wick import _types

        self.assertEqual(_library.lib.wick_dtype_name(number).decode(), _types.dtype_of(number).name)


class Names(Case):
    def test_all_of_them(self):
        for name in wick.__all__:
            self.assertIsNotNone(getattr(wick, name))
            self.assertIn(name, dir(wick))
        with self.assertRaisesRegex(AttributeError, "nonsense"):
            wick.nonsense
        self.assertEqual(wick.get_version_string(), wick.__version__)

    def test_dir_has_no_others(self):
        self.assertEqual([n for n in dir(wick) if not n.startswith("_")], [n for n in wick.__all__ if not n.startswith("_")])

    def test_functions_that_decide_nothing(self):
        wick.set_default_logger_severity(3)
        wick.set_default_logger_verbosity(0)
        wick.set_seed(1)

    def test_everything_public_is_described(self):
        for name in wick.__all__:
            thing = getattr(wick, name)
            if callable(thing):
                self.assertTrue(thing.__doc__, name)
            for member, value in vars(thing).items() if inspect.isclass(thing) else ():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    self.assertTrue(inspect.getdoc(value), f"{name}.{member}")

    def test_the_stub_has_the_same_names(self):
        with open(os.path.join(PACKAGE, "__init__.pyi"), encoding="utf-8") as file:
            stub = file.read()
        names = {m[1] for m in re.finditer(r"\b(\w+) as \1\b", stub)}
        self.assertEqual(names | {"__version__"}, set(wick.__all__))


class Import(Case):
    def python(self, code, **variables):
        environ = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), **variables}
        return subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)

    def test_what_it_brings_in(self):
        """Import time is counted in modules, since clocks of busy machines lie: what takes long is not imported."""
        done = self.python("import sys, numpy; a = set(sys.modules); import wick; wick.InferenceSession; print(*set(sys.modules) - a)")
        self.assertEqual(done.returncode, 0, done.stderr)
        new = {m.split(".")[0] for m in done.stdout.split()} - {"wick"}
        self.assertFalse(new & {"subprocess", "tempfile", "json", "asyncio", "html", "ml_dtypes", "onnx"}, new)
        self.assertLessEqual(len(new), 6, new)

    def test_nothing_before_it_is_used(self):
        done = self.python("import sys, wick; print('numpy' in sys.modules, 'ctypes' in sys.modules)")
        self.assertEqual(done.stdout.split(), ["False", "False"])

    def test_a_library_that_is_not_there(self):
        done = self.python("import wick; wick.InferenceSession", WICK_LIBRARY="/nowhere/libwick.so")
        self.assertIn("ImportError: wick: cannot open its library /nowhere/libwick.so", done.stderr)
        self.assertIn("WICK_LIBRARY", done.stderr)

    def test_another_library(self):
        import ctypes.util

        other = ctypes.util.find_library("m")
        if other is None:
            self.skipTest("there is no library to take")
        done = self.python("import wick; wick.InferenceSession", WICK_LIBRARY=other)
        self.assertIn("it is no library of Wick", done.stderr)


class Replacing(Case):
    """Files that are written whole or not at all."""

    def setUp(self):
        from wick._files import replacing

        self.replacing = replacing
        self.path = os.path.join(self.folder(), "file")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("before")
        os.chmod(self.path, 0o640)

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def test_whole(self):
        with open(self.path, encoding="utf-8") as held:
            with self.replacing(self.path, "w", encoding="utf-8") as file:
                file.write("after")
                self.assertEqual(self.read(), "before")
            self.assertEqual((self.read(), held.read()), ("after", "before"))
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["file"])
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o640)

    def test_not_at_all(self):
        for kind in (KeyError, KeyboardInterrupt):
            with self.assertRaises(kind), self.replacing(self.path) as file:
                file.write(b"half")
                raise kind
        self.assertEqual(self.read(), "before")
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["file"])

    def test_names_of_every_kind(self):
        before = os.umask(0o077)
        try:
            for name in (os.fsencode(self.path), os.path.join(os.path.dirname(self.path), "模" * 80)):
                with self.replacing(name) as file:
                    file.write(b"after")
                self.assertTrue(os.path.exists(name))
        finally:
            os.umask(before)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o640)

    def test_a_link_stays_one(self):
        link = self.path + ".link"
        os.symlink(self.path, link)
        with self.replacing(link) as file:
            file.write(b"after")
        self.assertTrue(os.path.islink(link))
        self.assertEqual(self.read(), "after")

    def test_what_is_no_file(self):
        with self.replacing(os.devnull) as file:
            file.write(b"after")
        self.assertFalse(os.path.isfile(os.devnull))

    def test_no_folder(self):
        with self.assertRaisesRegex(wick.NoSuchFile, "nowhere/page.html cannot be written"):
            with self.replacing("/nowhere/page.html"):
                pass


@spread
class Doctests(Case):
    @each(*((m.strip("_"), m) for m in MODULES))
    def test_module(self, name):
        module = importlib.import_module(f"wick.{name}")
        given = {"np": np, "wick": wick, "model_path": self.file(relu()), **{n: getattr(wick, n) for n in wick.__all__}}
        failed = doctest.testmod(module, extraglobs=given, optionflags=doctest.NORMALIZE_WHITESPACE)
        self.assertEqual(failed.failed, 0)


class Bindings(Case):
    def test_every_method_of_a_tensor_can_be_bound(self):
        """Without nanobind: an argument of a new type stops the build of wick.train, which few builds have."""
        folder = self.folder()
        lists = [os.path.join(ROOT, *path) for path in (("trainer", "tensor", "methods.def"), ("python", "train", "functions.def"))]
        subprocess.run([sys.executable, os.path.join(ROOT, "python", "train", "generate.py"), *lists, folder], check=True)
        for name, mark, least in (("methods", "t.def(", 300), ("changes", "t.def(", 50), ("functions", "m.def(", 150)):
            with open(os.path.join(folder, f"{name}.inc"), encoding="utf-8") as file:
                self.assertGreater(file.read().count(mark), least)


if __name__ == "__main__":
    support.unittest.main()

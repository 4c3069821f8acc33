"""wick.train: tensors beside numpy, indices, gradients beside differences, errors."""

import gc
import json
import os
import threading
import weakref

import support
from support import Case, each, spread

import numpy as np
import wick

torch = support.train()

R = np.random.RandomState(0)
A = R.randn(3, 4).astype(np.float32)
B = R.randn(3, 4).astype(np.float32)
P = np.abs(A) + 0.5
I = R.randint(-9, 10, (3, 4))
M = A > 0


def t(array, **named):
    return torch.from_numpy(np.ascontiguousarray(array)) if not named else torch.tensor(array, **named)


DTYPES = "float32 float64 float16 uint8 int8 int16 int32 int64 bool".split()
BINARY = [
    ("add", lambda a, b: a + b, A, B),
    ("sub", lambda a, b: a - b, A, B),
    ("mul", lambda a, b: a * b, A, B),
    ("div", lambda a, b: a / b, A, P),
    ("add_number", lambda a, b: a + 2.5, A, B),
    ("number_add", lambda a, b: 2.5 + a, A, B),
    ("number_sub", lambda a, b: 2.5 - a, A, B),
    ("number_mul", lambda a, b: 2.5 * a, A, B),
    ("lt", lambda a, b: a < b, A, B),
    ("le", lambda a, b: a <= b, A, B),
    ("gt", lambda a, b: a > b, A, B),
    ("ge", lambda a, b: a >= b, A, B),
    ("eq", lambda a, b: a == b, I, I.copy()),
    ("ne", lambda a, b: a != b, I, I[::-1]),
    ("eq_number", lambda a, b: a == 3, I, I),
    ("floordiv", lambda a, b: a // 3, I, I),
    ("mod", lambda a, b: a % 4, I, I),
    ("and", lambda a, b: a & b, M, M[::-1]),
    ("or", lambda a, b: a | b, M, M[::-1]),
    ("xor", lambda a, b: a ^ b, M, M[::-1]),
    ("not", lambda a, b: ~a, M, M),
    ("neg", lambda a, b: -a, A, B),
    ("pow_two", lambda a, b: a**2, A, B),
    ("broadcast", lambda a, b: a + b[0], A, B),
    ("broadcast_column", lambda a, b: a * b[:, :1], A, B),
    ("matmul", lambda a, b: a @ b.T, I, I),
]
UNARY = "abs sqrt exp log sin cos tan tanh floor ceil sign square".split()
REDUCED = [
    ("sum", lambda m, x: x.sum()),
    ("sum_rows", lambda m, x: x.sum(0)),
    ("sum_columns", lambda m, x: x.sum(1)),
    ("sum_last", lambda m, x: x.sum(-1)),
    ("mean", lambda m, x: x.mean()),
    ("mean_rows", lambda m, x: x.mean(0)),
    ("prod", lambda m, x: x.prod()),
    ("cumsum", lambda m, x: x.cumsum(1)),
    ("any", lambda m, x: (x > 1).any()),
    ("all", lambda m, x: (x > 1).all()),
    ("argmax", lambda m, x: x.argmax()),
    ("argmax_rows", lambda m, x: x.argmax(0)),
    ("argmin_columns", lambda m, x: x.argmin(1)),
]
KEYS = [
    ("row", 1),
    ("negative", -1),
    ("element", (1, 2)),
    ("slice", slice(1, 3)),
    ("open", slice(None, 2)),
    ("step", slice(None, None, 2)),
    ("two", (slice(1, None), slice(0, 2))),
    ("column", (slice(None), 1)),
    ("ellipsis", (Ellipsis, 0)),
    ("new", (None, slice(None))),
    ("new_inside", (slice(None), None, 1)),
    ("list", [0, 2]),
    ("lists", ([0, 2], [1, 3])),
    ("list_and_slice", (slice(None), [3, 0])),
    ("array", np.array([2, 0, 2])),
    ("large_slice", slice(-(10**30), 10**30)),
    ("mask", M),
    ("empty", slice(3, 3)),
]


class Hook:
    """A hook that remembers its tensor, and what it was called with."""

    def __init__(self):
        self.tensor, self.calls_of = None, []

    @property
    def calls(self):
        return len(self.calls_of)

    def __call__(self, gradient):
        self.calls_of.append(gradient.tolist())


@spread
class Tensors(Case):
    @each(*((d, d) for d in DTYPES))
    def test_from_numpy_and_back(self, name):
        x = (R.randn(2, 3, 2) * 3).astype(name)
        made = torch.from_numpy(x)
        self.assertEqual((made.dtype, made.shape, made.ndim), (getattr(torch, name), (2, 3, 2), 3))
        self.assertBits(made.numpy(), x)
        self.assertBits(np.asarray(made), x)
        self.assertEqual(made.tolist(), x.tolist())

    @each(
        ("float", 1.5, "float32"),
        ("int", 2, "int64"),
        ("bool", True, "bool"),
        ("floats", [1.0, 2], "float32"),
        ("ints", [[1, 2], [3, 4]], "int64"),
        ("array", np.float64([1, 2]), "float64"),
        ("number", np.float64(3), "float64"),
    )
    def test_tensor(self, data, dtype):
        made = torch.tensor(data)
        self.assertEqual(made.dtype, getattr(torch, dtype))
        self.assertEqual(made.tolist(), np.asarray(data).tolist())

    def test_tensor_copies_and_numpy_shares(self):
        x = np.zeros(3, np.float32)
        made = torch.from_numpy(x)
        x[0] = 7
        self.assertEqual(made[0].item(), 0)
        made.numpy()[1] = 5
        self.assertEqual(made.tolist(), [0.0, 5.0, 0.0])
        array = made.numpy()
        del made
        gc.collect()
        self.assertEqual(array.tolist(), [0.0, 5.0, 0.0])

    @each(
        ("set_data", lambda x: x.set_data(torch.ones(1 << 16))),
        ("data", lambda x: setattr(x, "data", torch.ones(1 << 16))),
        ("freed", lambda x: None),
    )
    def test_arrays_outlive_what_the_tensor_gets(self, change):
        x = torch.full((1 << 16,), 3.0)
        array = x.numpy()
        change(x)
        del x
        gc.collect()
        others = [torch.zeros(1 << 16) for _ in range(8)]  # would take the bytes that were freed
        self.assertEqual((array.min(), array.max(), len(others)), (3, 3, 8))

    def test_array_says_whether_it_copies(self):
        x = t(A.copy())
        np.array(x)[...] = 0
        self.assertBits(x.numpy(), A)
        self.assertBits(x.__array__(copy=True), A)
        x.__array__(copy=True)[...] = 0
        self.assertBits(x.numpy(), A)
        self.assertEqual(x.__array__(copy=False).ctypes.data, x.data_ptr())
        self.assertBits(x.__array__(np.float64), A.astype(np.float64))
        with self.assertRaises(ValueError):
            x.__array__(np.float64, copy=False)

    @each(
        ("swapped_bytes", A.astype(A.dtype.newbyteorder())),
        ("swapped_ints", I.astype(I.dtype.newbyteorder())),
        ("transposed", A.T),
        ("reversed", A[::-1]),
        ("every_other", A[:, ::2]),
        ("zero_dims", np.array(2.5, np.float32)),
        ("no_elements", np.zeros((0, 3), np.float32)),
        ("rank5", np.zeros((1, 2, 1, 2, 1), np.int32)),
        ("uint16", np.uint16([1, 65535])),
        ("uint64", np.uint64([1, 2**63])),
        ("read_only", np.frombuffer(b"\1\2", np.uint8)),
    )
    def test_from_every_array(self, x):
        want = np.array(x, x.dtype.newbyteorder("="), order="C")
        for made in (torch.from_numpy(x), torch.tensor(x), torch.as_tensor(x)):
            self.assertBits(made.numpy(), want)
            self.assertEqual(made.dtype.name, want.dtype.name)

    @each(("texts", np.array(["a"])), ("objects", np.array([None])), ("list", [1, 2]), ("date", np.zeros(1, "datetime64[s]")))
    def test_from_what_is_no_array_of_numbers(self, x):
        with self.assertRaisesRegex(wick.TypeMismatch, "from_numpy"):
            torch.from_numpy(x)

    @each(
        ("zeros", lambda: torch.zeros(2, 3), np.zeros((2, 3), np.float32)),
        ("zeros_tuple", lambda: torch.zeros((2, 3)), np.zeros((2, 3), np.float32)),
        ("ones", lambda: torch.ones(2, dtype=torch.int64), np.ones(2, np.int64)),
        ("full", lambda: torch.full((2,), 7), np.full(2, 7, np.int64)),
        ("full_float", lambda: torch.full((2,), 0.5), np.full(2, 0.5, np.float32)),
        ("arange", lambda: torch.arange(5), np.arange(5)),
        ("arange_step", lambda: torch.arange(2, 9, 3), np.arange(2, 9, 3)),
        ("arange_numpy", lambda: torch.arange(np.int64(2), np.int32(5)), np.arange(2, 5)),
        ("arange_large", lambda: torch.arange(2**60 + 1, 2**60 + 3), np.arange(2**60 + 1, 2**60 + 3)),
        ("arange_down", lambda: torch.arange(5, 0, -2), np.arange(5, 0, -2)),
        ("arange_as_float", lambda: torch.arange(3, dtype=torch.float32), np.arange(3, dtype=np.float32)),
        ("arange_tensor", lambda: torch.arange(torch.tensor(3)), np.arange(3)),
        ("arange_float", lambda: torch.arange(0, 1, 0.25), np.arange(0, 1, 0.25, np.float32)),
        ("linspace", lambda: torch.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype=np.float32)),
        ("eye", lambda: torch.eye(2, 3), np.eye(2, 3, dtype=np.float32)),
        ("zeros_like", lambda: torch.zeros_like(t(I)), np.zeros((3, 4), np.int64)),
        ("cat", lambda: torch.cat([t(A), t(B)], 1), np.concatenate([A, B], 1)),
        ("stack", lambda: torch.stack([t(A), t(B)]), np.stack([A, B])),
        ("where", lambda: torch.where(t(M), t(A), t(B)), np.where(M, A, B)),
        ("where_number", lambda: torch.where(t(M), t(A), 0.0), np.where(M, A, np.float32(0))),
        ("einsum", lambda: torch.einsum("ij,kj->ik", t(I), t(I)), I @ I.T),
        ("as_tensor", lambda: torch.as_tensor([1, 2]), np.int64([1, 2])),
        ("one_hot", lambda: torch.nn.functional.one_hot(t(np.int64([1, 0])), 3), np.eye(3, dtype=np.int64)[[1, 0]]),
    )
    def test_made(self, make, want):
        self.assertBits(make().numpy(), want)

    @each(*BINARY)
    def test_operator(self, f, a, b):
        got, want = f(t(a), t(b)), np.asarray(f(a, b))
        self.assertEqual(got.shape, want.shape)
        np.testing.assert_allclose(got.numpy().astype(np.float64), want.astype(np.float64), rtol=2e-6)

    @each(*((f"{d}_{o}", d, o) for d in ("array", "float32", "float64", "int64", "bool") for o in "+ - * / // % ** < == & @".split()))
    def test_numpy_s_operands(self, kind, operator):
        x = I if operator == "&" else np.abs(I) + 1 if kind == "int64" else P
        if operator == "&":
            other = {"array": I[::-1], "int64": np.int64(5), "bool": np.bool_(True)}.get(kind)
        else:
            other = {"array": P[::-1], "float32": np.float32(1.5), "float64": np.float64(1.5), "int64": np.int64(3), "bool": np.bool_(True)}[kind]
        if other is None or (operator == "@" and kind != "array"):
            return
        forms = [f"a {operator} b", f"b {operator} a"]
        if operator in "//%&" and kind != "array":
            forms = forms[:1]
        if operator == "@":
            forms = ["a @ b.T", "b.T @ a"]
        for form in forms:
            if (kind, operator) == ("bool", "-"):  # which PyTorch refuses, too
                with self.assertRaisesRegex(wick.TypeMismatch, "a bool tensor has no -"):
                    eval(form, {"a": t(x), "b": other})
                continue
            got, want = eval(form, {"a": t(x), "b": other}), eval(form, {"a": x, "b": other})
            self.assertIs(type(got), torch.Tensor, form)
            np.testing.assert_allclose(got.numpy().astype(np.float64), want.astype(np.float64), rtol=2e-6)
            if kind != "array" and operator in "+-*" and kind != "bool":
                self.assertEqual(got.dtype, t(x).dtype, form)  # numpy's numbers count as Python's

    def test_numpy_s_operands_are_recorded(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (np.float32([3, 4]) * x + np.float32(2) * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [5.0, 6.0])

    @each(*((n, n) for n in UNARY))
    def test_function(self, name):
        for f in (getattr(torch, name), getattr(torch.Tensor, name)):
            np.testing.assert_allclose(f(t(P)).numpy(), getattr(np, name)(P), rtol=1e-6)

    @each(*REDUCED)
    def test_reduction(self, f):
        np.testing.assert_allclose(np.asarray(f(torch, t(P)).numpy(), np.float64), np.asarray(f(np, P), np.float64), rtol=1e-6)

    @each(*KEYS)
    def test_index(self, key):
        def ours(k):
            return torch.tensor(k) if isinstance(k, np.ndarray) else k

        x = t(I)
        got = x[tuple(map(ours, key)) if isinstance(key, tuple) else ours(key)]
        self.assertBits(got.numpy(), I[key])

    @each(*KEYS)
    def test_assignment(self, key):
        x, want = t(I.copy()), I.copy()
        want[key] = 5
        x[tuple(torch.tensor(k) if isinstance(k, np.ndarray) else k for k in key) if isinstance(key, tuple) else (torch.tensor(key) if isinstance(key, np.ndarray) else key)] = 5
        self.assertBits(x.numpy(), want)

    @each(
        ("view", lambda x: x.view(4, 3), lambda x: x.reshape(4, 3)),
        ("view_tuple", lambda x: x.view((2, -1)), lambda x: x.reshape(2, -1)),
        ("reshape", lambda x: x.reshape(12), lambda x: x.reshape(12)),
        ("T", lambda x: x.T, lambda x: x.T),
        ("transpose", lambda x: x.transpose(0, 1), lambda x: x.T),
        ("permute", lambda x: x.permute(1, 0), lambda x: x.transpose(1, 0)),
        ("unsqueeze", lambda x: x.unsqueeze(1), lambda x: x[:, None]),
        ("squeeze", lambda x: x.unsqueeze(0).squeeze(), lambda x: x),
        ("flatten", lambda x: x.flatten(), lambda x: x.ravel()),
        ("expand", lambda x: x[0].expand(2, 4), lambda x: np.broadcast_to(x[0], (2, 4))),
        ("repeat", lambda x: x.repeat(2, 1), lambda x: np.tile(x, (2, 1))),
        ("flip", lambda x: x.flip(1), lambda x: x[:, ::-1]),
        ("roll", lambda x: x.roll(1, 0), lambda x: np.roll(x, 1, 0)),
        ("tril", lambda x: x.tril(), np.tril),
        ("diagonal", lambda x: x.diagonal(), np.diagonal),
        ("long", lambda x: x.long(), lambda x: x.astype(np.int64)),
        ("double", lambda x: x.double(), lambda x: x.astype(np.float64)),
        ("clamp", lambda x: x.clamp(-2, 3), lambda x: np.clip(x, -2, 3)),
        ("clamp_min", lambda x: x.clamp(min=0), lambda x: np.maximum(x, 0)),
    )
    def test_arranged(self, ours, theirs):
        self.assertBits(np.ascontiguousarray(ours(t(I)).numpy()), np.ascontiguousarray(theirs(I)))

    @each(
        ("add_", lambda x: x.add_(2), lambda x: x + 2),
        ("iadd", lambda x: x.__iadd__(t(I)), lambda x: x + I),
        ("add_alpha", lambda x: x.add_(t(I), alpha=-2), lambda x: x - 2 * I),
        ("ifloordiv", lambda x: x.__ifloordiv__(3), lambda x: x // 3),
        ("imod", lambda x: x.__imod__(4), lambda x: x % 4),
        ("ipow", lambda x: x.__ipow__(2), lambda x: x**2),
        ("iand", lambda x: x.__iand__(t(I[::-1])), lambda x: x & I[::-1]),
        ("ior", lambda x: x.__ior__(5), lambda x: x | 5),
        ("ixor", lambda x: x.__ixor__(5), lambda x: x ^ 5),
        ("iadd_array", lambda x: x.__iadd__(I), lambda x: x + I),
        ("mul_", lambda x: x.mul_(3), lambda x: x * 3),
        ("zero_", lambda x: x.zero_(), lambda x: x * 0),
        ("fill_", lambda x: x.fill_(4), lambda x: x * 0 + 4),
        ("copy_", lambda x: x.copy_(t(I[::-1].copy())), lambda x: I[::-1]),
        ("clamp_", lambda x: x.clamp_(0, 2), lambda x: np.clip(x, 0, 2)),
        ("abs_", lambda x: x.abs_(), np.abs),
    )
    def test_in_place(self, change, want):
        x = t(I.copy())
        self.assertIs(change(x), x)
        self.assertBits(x.numpy(), np.ascontiguousarray(want(I)))

    def test_indices_of_numpy(self):
        x = t(I)
        for key in (np.array([2, 0, 2]), np.array(1), np.int32(-1), M, (np.array([0, 2]), np.array([1, 3])), slice(np.int64(1), None)):
            self.assertBits(x[key].numpy(), I[key])

    def test_data_can_be_set(self):
        p = torch.tensor([1.0, 2.0], requires_grad=True)
        (p * 3).sum().backward()
        p.data -= 0.5 * p.grad
        self.assertEqual((p.tolist(), p.grad.tolist(), p.requires_grad), ([-0.5, 0.5], [3.0, 3.0], True))
        p.data = torch.tensor([7.0, 8.0])
        self.assertEqual((p.tolist(), p.grad.tolist()), ([7.0, 8.0], [3.0, 3.0]))
        p.data = torch.zeros(3)
        self.assertEqual((p.tolist(), p.grad), ([0.0] * 3, None))

    def test_a_tensor_that_was_not_made(self):
        class Forgetful(torch.nn.Parameter):
            def __init__(self):
                pass

        for change in (lambda x: x.zero_(), lambda x: x.add_(1), lambda x: x + 1):
            with self.assertRaises((wick.Error, TypeError)):
                change(Forgetful())

    def test_numbers(self):
        self.assertEqual((torch.tensor(2.5).item(), torch.tensor(3).item(), torch.tensor(True).item()), (2.5, 3, True))
        self.assertIs(type(torch.tensor(3).item()), int)
        self.assertEqual((float(torch.tensor(2.5)), int(torch.tensor(3)), bool(torch.tensor(0))), (2.5, 3, False))
        self.assertEqual([10, 20, 30][torch.tensor(1)], 20)
        self.assertEqual((f"{torch.tensor(2.5):.3f}", f"{torch.tensor(7):>3}", f"{t(I)}"), ("2.500", "  7", str(t(I))))
        self.assertEqual(len(t(A)), 3)
        self.assertEqual([r.tolist() for r in t(I)], I.tolist())

    def test_sizes(self):
        x = t(A)
        self.assertEqual((x.size(), x.size(0), x.size(-1), x.numel(), x.dim(), x.stride()), ((3, 4), 3, 4, 12, 2, (4, 1)))
        self.assertEqual((x.nbytes, x.itemsize, x.device, x.is_contiguous(), x.T.is_contiguous()), (48, 4, "cpu", True, False))

    def test_named_results(self):
        values, indices = t(I).sort(1)
        self.assertBits(values.numpy(), np.sort(I, 1))
        top = torch.topk(t(I).double(), 2, 1)
        self.assertBits(top.values.numpy(), -np.sort(-I, 1)[:, :2].astype(np.float64))
        self.assertEqual(top.indices.shape, (3, 2))

    def test_seeds(self):
        torch.manual_seed(3)
        first = torch.randn(5)
        torch.manual_seed(3)
        self.assertBits(torch.randn(5).numpy(), first.numpy())
        state = torch.get_rng_state()
        second = torch.rand(5)
        torch.set_rng_state(state)
        self.assertBits(torch.rand(5).numpy(), second.numpy())
        self.assertEqual(sorted(torch.randperm(6).tolist()), list(range(6)))

    @each(*((d, d) for d in (*DTYPES, "uint32", "uint64")))
    def test_arrays_have_numpys_own_dtype(self, dtype):
        array = torch.zeros(2, dtype=getattr(torch, dtype)).numpy()
        self.assertEqual((array.dtype.char, repr(array)), (np.dtype(dtype).char, repr(np.zeros(2, dtype))))

    def test_the_stub_has_every_name(self):
        with open(support.ROOT + "/python/wick/_train.pyi", encoding="utf-8") as file:
            stub = file.read()
        for where in (wick._train, torch.Tensor):
            for name in vars(where):
                if not name.startswith("__"):
                    self.assertRegex(stub, rf"(?m)^\s*(def|class) {name}\b|^\s*{name} = ", f"run python/train/write_stub.py: {name}")

    def test_files(self):
        path = self.folder() + "/state.npz"
        torch.save({"a.b": t(A), "c": torch.tensor(3)}, path)
        back = torch.load(path)
        self.assertEqual(sorted(back), ["a.b", "c"])
        self.assertBits(back["a.b"].numpy(), A)
        self.assertBits(np.load(path)["a.b"], A)  # as numpy reads it

    @each(
        ("state", lambda: {"b": t(A), "a": torch.tensor(3)}),
        ("tensor", lambda: t(A)),
        ("nothing", lambda: None),
        ("empty", lambda: {"dict": {}, "list": [], "tuple": (), "text": ""}),
        ("values", lambda: {"epoch": 3, "best": 0.1, "more": [True, False, None, -0.0, 2**80, "é\0\udc80"]}),
        ("no_numbers", lambda: [float("inf"), float("-inf")]),
        ("tuples", lambda: {"betas": (0.9, 0.999), "groups": [({"lr": 0.1}, [1, (2,)])]}),
        ("keys", lambda: {1: "a", "1": "b", None: "c", 2.5: "d", False: t(A), "": t(B), "__metadata__": t(P)}),
        ("words", lambda: {"tensor": "a", "dict": [], "float": "nan"}),
        ("one_name", lambda: {"a.b": t(A), "a": {"b": t(B)}, "a.b#2": t(P)}),
        ("views", lambda: [t(A).T, t(A)[1], t(A)[:, ::2], torch.zeros(0, 3), torch.tensor(7)]),
        ("dtypes", lambda: {d: torch.ones(3).to(getattr(torch, d)) for d in [*DTYPES, "bfloat16", "uint16", "uint32", "uint64"]}),
    )
    def test_checkpoints(self, make):
        path = self.folder() + "/checkpoint"
        obj = make()
        torch.save(obj, path)
        self.assertEqual(plain(torch.load(path)), plain(obj))
        self.assertEqual(os.listdir(os.path.dirname(path)), ["checkpoint"])

    def test_numbers_of_numpy_become_python_s(self):
        path = self.folder() + "/checkpoint"
        torch.save([np.float32(0.5), np.int64(3), np.bool_(True), float("nan")], path)
        back = torch.load(path)
        self.assertEqual(([type(n) for n in back], back[:3]), ([float, int, bool, float], [0.5, 3, True]))
        self.assertNotEqual(back[3], back[3])

    def test_parameters_are_stored_as_tensors(self):
        path = self.folder() + "/checkpoint"
        torch.save({"w": torch.nn.Parameter(t(A))}, path)
        w = torch.load(path)["w"]
        self.assertEqual((type(w), w.requires_grad, w.tolist()), (torch.Tensor, False, A.tolist()))

    def test_what_other_readers_see(self):
        """The format of safetensors: names are ways, wide elements come first, and the header is filled up to 8 bytes."""
        path = self.folder() + "/net.safetensors"
        torch.save({"model": {"n": torch.tensor([1], dtype=torch.uint8), "w": t(A)}, "epoch": 3}, path)
        with open(path, "rb") as file:
            data = file.read()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        self.assertEqual(length % 8, 0)
        self.assertEqual(header["model.w"], {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]})
        self.assertEqual(header["model.n"], {"dtype": "U8", "shape": [1], "data_offsets": [48, 49]})
        self.assertEqual(data[8 + length :], A.tobytes() + b"\1")
        self.assertTrue(all(isinstance(v, str) for v in header["__metadata__"].values()))

    def test_files_of_others(self):
        data = safetensors({"x": {"dtype": "I16", "shape": [2], "data_offsets": [0, 4]}, "__metadata__": {"format": "pt"}}, b"\1\0\2\0")
        self.assertEqual(plain(torch.load(self.file(data))), plain({"x": torch.tensor([1, 2], dtype=torch.int16)}))

    @each(
        ("bfloat16", ".npz", lambda: {"a": t(A), "b": torch.ones(2).to(torch.bfloat16)}, wick.Unsupported),
        ("number", ".npz", lambda: {"a": t(A), "b": 3}, wick.TypeMismatch),
        ("no_dict", ".npz", lambda: t(A), wick.TypeMismatch),
        ("array", "", lambda: {"a": t(A), "b": [A]}, wick.TypeMismatch),
        ("module", "", lambda: {"net": torch.nn.Linear(1, 1)}, wick.TypeMismatch),
        ("function", "", lambda: [print], wick.TypeMismatch),
        ("named_tuple", "", lambda: {"m": t(A).max(0)}, wick.TypeMismatch),
        ("key", "", lambda: {(1, 2): t(A)}, wick.TypeMismatch),
        ("itself", "", lambda: Loop.make(), wick.InvalidArgument),
        ("digits", "", lambda: 10**5000, wick.InvalidArgument),
    )
    def test_a_save_that_fails_leaves_the_file(self, ending, make, kind):
        path = self.folder() + "/state" + ending
        torch.save({"a": t(A)}, path)
        with self.assertRaises(kind):
            torch.save(make(), path)
        self.assertBits(torch.load(path)["a"].numpy(), A)
        self.assertEqual(os.listdir(os.path.dirname(path)), ["state" + ending])

    def test_what_has_no_place_is_named(self):
        with self.assertRaisesRegex(wick.TypeMismatch, r"\[save\] 'opt.groups.1' is a ndarray: store a tensor of it"):
            torch.save({"opt": {"groups": [1, A]}}, self.folder() + "/x")
        with self.assertRaisesRegex(wick.TypeMismatch, r"\[save\] 'net' is a Linear: store its state_dict\(\)"):
            torch.save({"net": torch.nn.Linear(1, 1)}, self.folder() + "/x")

    ROW = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}

    @each(
        ("whole", {"x": ROW}, b"12345678", True),
        ("short", {"x": ROW}, b"1234", False),
        ("long", {"x": ROW}, b"123456789", False),
        ("shape", {"x": {**ROW, "shape": [3]}}, b"12345678", False),
        ("negative", {"x": {**ROW, "shape": [-1, -2]}}, b"12345678", False),
        ("huge", {"x": {**ROW, "shape": [0, 10**30], "data_offsets": [0, 0]}}, b"", False),
        ("dtype", {"x": {**ROW, "dtype": "C32"}}, b"12345678", False),
        ("dtype_of_no_text", {"x": {**ROW, "dtype": []}}, b"12345678", False),
        ("no_row", {"x": 3}, b"", False),
        ("offsets", {"x": {**ROW, "data_offsets": [8, 0]}}, b"12345678", False),
        ("no_offsets", {"x": {**ROW, "data_offsets": [0, 8.0]}}, b"12345678", False),
        ("overlap", {"x": ROW, "y": {**ROW, "data_offsets": [4, 12]}}, b"123456781234", False),
        ("gap", {"x": ROW, "y": {**ROW, "data_offsets": [12, 20]}}, b"12345678" * 3, False),
        ("no_bool", {"x": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, b"2", False),
        ("list", [], b"", False),
        ("structure", {"__metadata__": {"wick.structure": '{"tensor":"y"}'}}, b"", False),
        ("structure_of_code", {"__metadata__": {"wick.structure": '{"call":"os.system"}'}}, b"", False),
        ("structure_key", {"__metadata__": {"wick.structure": '{"dict":[[[],1]]}'}}, b"", False),
        ("structure_depth", {"__metadata__": {"wick.structure": "[" * 5000 + "]" * 5000}}, b"", False),
        ("structure_nan", {"__metadata__": {"wick.structure": "NaN"}}, b"", False),
    )
    def test_a_file_that_was_changed(self, header, data, right):
        path = self.file(safetensors(header, data))
        if right:
            self.assertBits(torch.load(path)["x"].numpy(), np.frombuffer(data, np.float32))
            return
        with self.assertRaisesRegex(wick.InvalidArgument, r"\[load\] .* is no file that save\(\) wrote"):
            torch.load(path)

    def test_every_end_of_a_file(self):
        path = self.folder() + "/whole"
        torch.save({"a": [t(A[:1]), 3]}, path)
        with open(path, "rb") as file:
            data = file.read()
        for size in range(len(data)):
            with self.assertRaises(wick.InvalidArgument):
                torch.load(self.file(data[:size]))

    @each(("text", b"this is no file of arrays", wick.InvalidArgument), ("empty", b"", wick.InvalidArgument), ("none", None, wick.NoSuchFile))
    def test_no_such_file(self, data, kind):
        path = "/nowhere/state.npz" if data is None else self.file(data, "state.npz")
        with self.assertRaisesRegex(kind, r"\[load\]"):
            torch.load(path)


class Loop:
    @staticmethod
    def make():
        obj = {}
        obj["again"] = [obj]
        return obj


def plain(obj):
    """A value in which tensors are their dtype, shape and bytes, and numbers have their type."""
    if isinstance(obj, torch.Tensor):
        bits = obj.contiguous().view(torch.uint16) if obj.dtype == torch.bfloat16 else obj
        return ("tensor", obj.dtype, obj.shape, bits.numpy().tobytes())
    if isinstance(obj, dict):
        return {"dict": [(k, plain(v)) for k, v in obj.items()]}
    if isinstance(obj, (list, tuple)):
        return (type(obj), [plain(v) for v in obj])
    return (type(obj), repr(obj))


def safetensors(header, data):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


GRADIENTS = [
    ("add", lambda x, y: x + y),
    ("mul", lambda x, y: x * y),
    ("div", lambda x, y: x / (y * y + 1)),
    ("matmul", lambda x, y: x @ y.T),
    ("exp", lambda x, y: x.exp()),
    ("log", lambda x, y: (x * x + 1).log()),
    ("tanh", lambda x, y: x.tanh()),
    ("sigmoid", lambda x, y: x.sigmoid()),
    ("softmax", lambda x, y: x.softmax(1) * y),
    ("mean", lambda x, y: x.mean(0) * y[0]),
    ("index", lambda x, y: x[1:] * y[:-1]),
    ("rows", lambda x, y: x[[0, 2, 0]] * y),
    ("cat", lambda x, y: torch.cat([x, y]) ** 2),
    ("max", lambda x, y: x.max(1).values),
    ("where", lambda x, y: torch.where(y > 0, x, x * 2)),
    ("norm", lambda x, y: x.norm()),
    ("gelu", lambda x, y: torch.nn.functional.gelu(x)),
    ("layer_norm", lambda x, y: torch.nn.functional.layer_norm(x, (4,)) * y),
    ("linear", lambda x, y: torch.nn.functional.linear(x, y)),
    ("mse", lambda x, y: torch.nn.functional.mse_loss(x, y)),
    ("cross_entropy", lambda x, y: torch.nn.functional.cross_entropy(x, torch.tensor([0, 3, 1]))),
]


@spread
class Autograd(Case):
    @each(*GRADIENTS)
    def test_gradient(self, f):
        """Central differences in float64, of a sum weighted so that every output counts otherwise."""
        a, b = A.astype(np.float64), B.astype(np.float64)

        def loss(x, y):
            out = f(x, y)
            return (out * torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64).reshape(out.shape)).sum()

        for which, other in ((0, b), (1, a)):
            values = [torch.tensor(v, requires_grad=i == which) for i, v in enumerate((a, b))]
            result = loss(*values)
            if not result.requires_grad:
                continue
            result.backward()
            got = values[which].grad
            if got is None:
                continue
            for at in ((0, 0), (1, 2), (2, 3)):
                moved = []
                for step in (1e-6, -1e-6):
                    changed = [v.copy() for v in (a, b)]
                    changed[which][at] += step
                    moved.append(loss(*map(torch.tensor, changed)).item())
                self.assertAlmostEqual(got[at].item(), (moved[0] - moved[1]) / 2e-6, places=5)

    def test_accumulates(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(2):
            (x * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [6.0, 6.0])
        x.grad = None
        self.assertIsNone(x.grad)

    def test_modes(self):
        x = torch.tensor(1.0, requires_grad=True)
        with torch.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with torch.enable_grad():
                self.assertTrue((x * 2).requires_grad)
            with torch.set_grad_enabled(True):
                self.assertTrue(torch.is_grad_enabled())
        self.assertTrue((x * 2).requires_grad)

        @torch.no_grad()
        def f():
            return torch.is_grad_enabled()

        self.assertFalse(f())
        with self.assertRaises(ZeroDivisionError), torch.no_grad():
            1 / 0
        self.assertTrue(torch.is_grad_enabled())

    def test_grad_and_higher_orders(self):
        x = torch.tensor(3.0, requires_grad=True)
        (first,) = torch.autograd.grad(x**3, x, create_graph=True)
        self.assertEqual(first.item(), 27)
        (second,) = torch.autograd.grad(first, x)
        self.assertEqual(second.item(), 18)
        self.assertIsNone(x.grad)

    def test_inputs_that_are_not_used(self):
        x, y = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
        with self.assertRaisesRegex(wick.InvalidArgument, "not have been used"):
            torch.autograd.grad(x * 2, [x, y])
        first, second = torch.autograd.grad(x * 2, [x, y], allow_unused=True)
        self.assertEqual((first.item(), second), (2, None))
        (both,) = torch.autograd.grad([x * 2, x * 3], x, grad_outputs=[None, torch.tensor(10.0)])
        self.assertEqual(both.item(), 32)

    def test_a_mode_that_is_set(self):
        self.addCleanup(torch.set_grad_enabled, True)
        torch.set_grad_enabled(False)
        self.assertFalse(torch.is_grad_enabled())
        with torch.set_grad_enabled(True):
            self.assertTrue(torch.is_grad_enabled())
        self.assertFalse(torch.is_grad_enabled())
        torch.set_grad_enabled(True)

        @torch.set_grad_enabled(False)
        def f():
            return torch.is_grad_enabled()

        self.assertEqual((torch.is_grad_enabled(), f(), torch.is_grad_enabled()), (True, False, True))

        @torch.no_grad()
        def steps():
            yield torch.is_grad_enabled()
            yield torch.is_grad_enabled()

        self.assertEqual([(s, torch.is_grad_enabled()) for s in steps()], [(False, True)] * 2)

    def test_hooks(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        seen = []
        first = x.register_hook(lambda g: seen.append(g.tolist()))
        x.register_hook(lambda g: g * 10)
        (x * 3).sum().backward()
        self.assertEqual((seen, x.grad.tolist()), ([[3.0, 3.0]], [30.0, 30.0]))
        first.remove()
        (x * 3).sum().backward()
        self.assertEqual(len(seen), 1)

    @each(("leaf", lambda x: x), ("result", lambda x: x * 2), ("view", lambda x: x[0]), ("parameter", torch.nn.Parameter))
    def test_a_hook_that_refers_to_its_tensor(self, make):
        x = make(torch.tensor([1.0, 2.0], requires_grad=True))
        hook = Hook()
        hook.tensor = x
        x.register_hook(hook)
        x.sum().backward()
        self.assertEqual(hook.calls, 1)
        gone = [weakref.ref(x), weakref.ref(hook)]
        gc.collect()
        self.assertNotIn(None, [g() for g in gone])
        del x, hook
        gc.collect()
        self.assertEqual([g() for g in gone], [None, None])

    def test_a_hook_of_a_tensor_that_others_hold(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        hook = Hook()
        hook.tensor, calls = x, hook.calls_of
        x.register_hook(hook)
        y = (x * 3).sum()
        del x, hook
        gc.collect()  # the graph may still call it
        y.backward()
        self.assertEqual(calls, [[3.0, 3.0]])
        second = torch.tensor([1.0], requires_grad=True)
        hook = Hook()
        hook.tensor, calls = second, hook.calls_of
        second.register_hook(hook)
        handle = torch.Tensor(second)
        del second, hook
        gc.collect()
        (handle * 5).sum().backward()
        self.assertEqual(calls, [[5.0]])

    def test_hooks_are_kept_while_threads_compute(self):
        """Collections in one thread while others share tensors that have hooks: none may lose what it refers to."""
        stop, failed = threading.Event(), []

        def work():
            try:
                while not stop.is_set():
                    x = torch.tensor([1.0, 2.0], requires_grad=True)
                    hook = Hook()
                    hook.tensor = x
                    x.register_hook(hook)
                    for _ in range(3):
                        (x * 3 + x).sum().backward()
                    if hook.calls != 3 or hook.tensor is not x:
                        failed.append(hook.calls)
            except Exception as why:  # noqa: BLE001: the test has to see it
                failed.append(why)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for each_one in threads:
            each_one.start()
        for _ in range(100):
            gc.collect()
        stop.set()
        for each_one in threads:
            each_one.join()
        self.assertEqual(failed, [])

    def test_a_hook_that_fails(self):
        x = torch.tensor(1.0, requires_grad=True)

        def hook(g):
            raise KeyError("mine")

        x.register_hook(hook)
        with self.assertRaises(KeyError):
            (x * 2).backward()

    def test_a_hook_that_returns_no_tensor(self):
        x = torch.tensor(1.0, requires_grad=True)
        x.register_hook(lambda g: 3)
        with self.assertRaisesRegex(wick.TypeMismatch, "hook must return a tensor"):
            (x * 2).backward()

    def test_detach(self):
        x = torch.tensor([1.0], requires_grad=True)
        y = (x * 2).detach()
        self.assertTrue(y.is_leaf and not y.requires_grad)
        self.assertTrue(x.same_as(torch.Tensor(x)) and not x.same_as(y))

    def test_threads(self):
        results = {}

        def work(i):
            x = torch.tensor(np.full((64, 64), i + 1, np.float32), requires_grad=True)
            for _ in range(20):
                x.grad = None
                (x @ x).sum().backward()
            results[i] = x.grad[0, 0].item()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for each_ in threads:
            each_.start()
        for each_ in threads:
            each_.join()
        self.assertEqual(results, {i: 128.0 * (i + 1) for i in range(4)})

    def test_freed(self):
        class Marked(torch.nn.Parameter):
            pass

        x = Marked(torch.zeros(3))
        gone = weakref.ref(x)
        y = (x * 2).sum()
        y.backward()
        del x, y
        gc.collect()
        self.assertIsNone(gone())


@spread
class Errors(Case):
    @each(
        ("matmul", lambda: t(A) @ t(A), wick.ShapeMismatch, r"\[matmul\] inner dimensions differ: \[3,4\] x \[3,4\]"),
        ("add", lambda: t(A) + torch.ones(5), wick.InvalidArgument, r"\[3,4\]"),
        ("view", lambda: t(A).view(5), wick.ShapeMismatch, "element counts differ"),
        ("index", lambda: t(A)[7], wick.InvalidArgument, "7"),
        ("item", lambda: t(A).item(), wick.InvalidArgument, "item"),
        ("dim", lambda: t(A).sum(5), wick.InvalidArgument, "sum"),
        ("grad_of_ints", lambda: torch.tensor([1], requires_grad=True), wick.InvalidArgument, "floating"),
        ("backward", lambda: torch.ones(3).sum().backward(), wick.InvalidArgument, "backward"),
        ("numpy", lambda: torch.ones(2, requires_grad=True).numpy(), wick.InvalidArgument, r"detach\(\)"),
        ("reduction", lambda: torch.nn.functional.mse_loss(t(A), t(B), reduction="max"), wick.InvalidArgument, "'mean'"),
        ("bfloat16", lambda: torch.ones(2).to(torch.bfloat16).numpy(), wick.Unsupported, "float32 first"),
        ("sizes", lambda: torch.zeros("a"), wick.TypeMismatch, "sizes are ints"),
        ("float_size", lambda: torch.zeros(2.5), wick.TypeMismatch, "sizes are ints"),
        ("many_sizes", lambda: t(A).reshape([1] * 20), wick.TypeMismatch, "at most 8"),
    )
    def test_error(self, call, kind, text):
        with self.assertRaisesRegex(kind, text) as caught:
            call()
        self.assertRegex(str(caught.exception), r"\(test_train_tensor\.py:\d+\)$")

    def test_warnings_are_python_s(self):
        import warnings

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            torch.nn.functional.l1_loss(torch.zeros(8), torch.zeros(8, 1))
        self.assertEqual([str(w.message).rpartition(" ")[2] for w in said], ["[silent-broadcast]"])
        self.assertEqual(os.path.basename(said[0].filename), "test_train_tensor.py")

    @each(
        ("text", lambda: t(A) + "a"),
        ("object", lambda: torch.relu(object())),
        ("none", lambda: torch.relu(None)),
        ("missing", lambda: torch.cat()),
        ("keyword", lambda: t(A).sum(axes=0)),
    )
    def test_wrong_arguments(self, call):
        with self.assertRaises(TypeError):
            call()


if __name__ == "__main__":
    support.unittest.main()

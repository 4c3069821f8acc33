"""Every dtype that numpy has at ranks 0 to 5, in and out by bits; types that numpy has not as raw bits."""

import support
from support import DTYPES, Case, each, identity, session, spread

import numpy as np
import wick

SHAPES = [(), (3,), (2, 3), (2, 1, 3), (1, 2, 3, 2), (2, 1, 2, 1, 3)]


def sample(dtype, shape):
    """Returns values of all signs and sizes, and NaN, infinities and -0 for floats."""
    count = int(np.prod(shape, dtype=int))
    random = np.random.RandomState(count + 7)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.asarray(random.randint(0, 2, shape) > 0)
    if kind in "iu":
        info = np.iinfo(dtype)
        edge = [info.min, info.max, 0, 1]
        return np.array([edge[i % 4] for i in range(count)], dtype).reshape(shape)
    edge = [np.nan, np.inf, -np.inf, -0.0, 1.5, -2.25]
    values = np.array([edge[(i + count) % 6] for i in range(count)], np.float64).reshape(shape)
    return (values + 0.5j * (kind == "c")).astype(dtype) if kind == "c" else values.astype(dtype)


ROWS = [(f"{text}_rank{len(s)}", n, d, text, s) for n, d, text in DTYPES for s in SHAPES]


@spread
class Dtypes(Case):
    @each(*ROWS)
    def test_identity(self, number, dtype, text, shape):
        model = session(identity(number, [f"d{i}" for i in range(len(shape))]))
        self.assertEqual(model.get_inputs()[0].type, f"tensor({text})")
        x = sample(dtype, shape)
        got = model.run(None, {"x": x})[0]
        self.assertBits(got, x)
        self.assertFalse(np.shares_memory(got, x))

    @each(*((text, n, d) for n, d, text in DTYPES))
    def test_empty(self, number, dtype):
        got = session(identity(number, ["n", 3])).run(None, {"x": np.zeros((0, 3), dtype)})[0]
        self.assertBits(got, np.zeros((0, 3), dtype))

    @each(*((text, n, d) for n, d, text in DTYPES))
    def test_other_byte_order(self, number, dtype):
        x = sample(dtype, (2, 3))
        swapped = x.astype(x.dtype.newbyteorder(">"))
        self.assertBits(session(identity(number, ["a", "b"])).run(None, {"x": swapped})[0], x)

    @each(*((text, n, d, text) for n, d, text in DTYPES))
    def test_any_other_dtype_is_refused(self, number, dtype, text):
        model = session(identity(number, ["n"]))
        for other_number, other, _ in DTYPES:
            if other_number != number:
                with self.assertRaises(wick.TypeMismatch):
                    model.run(None, {"x": np.zeros(2, other)})
        self.assertBits(model.run(None, {"x": np.ones(2, dtype)})[0], np.ones(2, dtype))

    @each(("bfloat16", 16, np.uint16), ("float8e4m3fn", 17, np.uint8), ("float8e5m2", 19, np.uint8))
    def test_raw_bits(self, number, bits):
        x = np.arange(6, dtype=bits).reshape(2, 3)
        model = session(identity(number, ["a", "b"]))
        got = model.run(None, {"x": x})[0]
        self.assertEqual(got.tobytes(), x.tobytes())
        self.assertEqual(model.run(None, {"x": got})[0].tobytes(), x.tobytes())  # what comes out goes in

    @each(("int4", 22), ("uint4", 21))
    def test_types_below_a_byte_are_refused(self, number):
        model = session(identity(number, ["n"]))
        with self.assertRaises(wick.TypeMismatch):
            model.run(None, {"x": np.zeros(2, np.uint8)})
        with self.assertRaisesRegex(wick.Unsupported, "cast"):
            model.run(None, {"x": [1, 2]})

    def test_a_rank_over_eight(self):
        with self.assertRaisesRegex(wick.InvalidArgument, "9 dims"):
            session(identity(1, ["n"])).run(None, {"x": np.zeros((1,) * 9, np.float32)})

    @each(*((f"rank{r}", r) for r in range(9)))
    def test_ranks_to_eight(self, rank):
        x = np.full((1,) * rank, 2.5, np.float32)
        self.assertBits(session(identity(1, [1] * rank)).run(None, {"x": x})[0], x)


if __name__ == "__main__":
    support.unittest.main()

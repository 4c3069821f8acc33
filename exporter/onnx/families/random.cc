// Operators that draw random numbers are read as formulas over each element's index and a key, so
// that a model draws the same numbers on every machine and in every run. The key comes from the
// seed or, without one, from the node: its first output's name after those of the calls and
// subgraphs around it. The trips of the loops around it change either key.
#include <bit>
#include <cmath>

#include "exporter/onnx/read/compose.h"

namespace wick::onnx {
namespace {

ValueId word(ReadCtx& c, uint64_t v) {
  return c.constant(HostTensor(DType::kU64, Shape{}, &v, sizeof(v)));
}

uint64_t key_of(ReadCtx& c, uint64_t stream) {
  uint64_t key = 0xCBF29CE484222325;  // FNV-1a
  auto mix = [&](uint64_t byte) { key = (key ^ byte) * 0x100000001B3; };
  if (const AttributeProto* a = c.attr("seed"); a != nullptr) {
    const auto seed = a->type() == AttributeProto::INT  // a Dropout's
                          ? static_cast<uint32_t>(a->i())
                          : std::bit_cast<uint32_t>(static_cast<float>(c.attr_float("seed", 0)));
    for (int i = 0; i < 32; i += 8) mix(seed >> i & 0xFF);
  } else {
    for (char letter : c.scope.path + c.node.output(0)) mix(static_cast<uint8_t>(letter));
  }
  mix(stream);
  return key;
}

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio

// Returns the output of SplitMix64 for a state.
ValueId scrambled(ReadCtx& c, ValueId z) {
  auto turn = [&](ValueId v, uint64_t by) {
    ValueId down = c.emit(OpId::kBitShift, BitShiftAttrs{1}, {v, word(c, by)});
    return c.emit(OpId::kBitwiseXor, {v, down});
  };
  z = c.emit(OpId::kMul, {turn(z, 30), word(c, 0xBF58476D1CE4E5B9)});
  z = c.emit(OpId::kMul, {turn(z, 27), word(c, 0x94D049BB133111EB)});
  return turn(z, 31);
}

// number * golden + key
ValueId state(ReadCtx& c, ValueId number, ValueId key) {
  ValueId steps = c.emit(OpId::kMul, {cast(c, number, DType::kU64), word(c, kGolden)});
  return c.emit(OpId::kAdd, {steps, key});
}

// Returns uniform numbers in [0, 1), of `dtype` float32 or float64, one for each element of `sizes`
// (SplitMix64 of the element's index). The streams of a node are independent.
ValueId uniform(ReadCtx& c, ValueId sizes, DType dtype, uint64_t stream) {
  ValueId key = word(c, key_of(c, stream));
  for (ValueId trip : c.scope.trips()) {
    ValueId next = c.emit(OpId::kAdd, {trip, int_scalar(c, 1)});
    key = scrambled(c, state(c, next, key));
  }
  ValueId count = reduce(c, OpId::kReduceProd, sizes, {0}, true);
  ValueId z = scrambled(c, state(c, arange(c, count), key));
  const int bits = dtype == DType::kF64 ? 53 : 24;
  ValueId top =
      c.emit(OpId::kBitShift, BitShiftAttrs{1}, {z, word(c, static_cast<uint64_t>(64 - bits))});
  ValueId u = cast(c, top, dtype);
  return reshape_to(c, c.emit(OpId::kMul, {u, c.scalar(u, std::ldexp(1.0, -bits))}), sizes);
}

// Returns the dtype in which numbers of a dtype are drawn.
DType drawn(DType t) { return t == DType::kF64 ? t : DType::kF32; }

ValueId scale(ReadCtx& c, ValueId v, double by, double offset) {
  return c.emit(OpId::kAdd, {c.emit(OpId::kMul, {v, c.scalar(v, by)}), c.scalar(v, offset)});
}

ValueId random_uniform(ReadCtx& c, ValueId sizes, DType dtype) {
  const double low = c.attr_float("low", 0), high = c.attr_float("high", 1);
  return scale(c, uniform(c, sizes, drawn(dtype), 0), high - low, low);
}

// Box-Muller: sqrt(-2 ln(1 - u)) cos(2 pi v)
ValueId random_normal(ReadCtx& c, ValueId sizes, DType dtype) {
  ValueId u = uniform(c, sizes, drawn(dtype), 0), v = uniform(c, sizes, drawn(dtype), 1);
  ValueId log = c.emit(OpId::kLog, {scale(c, u, -1, 1)});
  ValueId radius = c.emit(OpId::kSqrt, {c.emit(OpId::kMul, {log, c.scalar(log, -2)})});
  ValueId turn = c.emit(OpId::kCos, {c.emit(OpId::kMul, {v, c.scalar(v, 2 * M_PI)})});
  return scale(c, c.emit(OpId::kMul, {radius, turn}), c.attr_float("scale", 1),
               c.attr_float("mean", 0));
}

}  // namespace

Dropped drop_out(ReadCtx& c, ValueId x, ValueId ratio) {
  ratio = cast(c, ratio, DType::kF32);
  ValueId kept = c.emit(OpId::kGreaterOrEqual, {uniform(c, shape_of(c, x), DType::kF32, 0), ratio});
  ValueId by = c.emit(OpId::kReciprocal, {c.emit(OpId::kSub, {c.scalar(ratio, 1), ratio})});
  ValueId y = c.emit(OpId::kMul, {x, cast(c, by, c.dtype(x))});
  return {c.emit(OpId::kWhere, {kept, y, c.scalar(x, 0)}), kept};
}

namespace {

using Draw = ValueId (*)(ReadCtx&, ValueId, DType);

DType float_of(ReadCtx& c, DType fallback) {
  const DType t = asked_dtype(c, fallback);
  if (!is_float(t)) c.fail(std::string("cannot draw ") + dtype_name(t) + " numbers");
  return t;
}

template <Draw draw>
void random(ReadCtx& c) {
  const DType dtype = float_of(c, DType::kF32);
  const std::vector<int64_t> sizes = c.attr_ints("shape");
  if (c.attr("shape") == nullptr) c.fail("attribute 'shape' is required");
  for (int64_t size : sizes) {
    if (size < 0) c.fail("shape has a negative dimension");
  }
  c.set(0, cast(c, draw(c, c.int_constant(sizes), dtype), dtype));
}
template <Draw draw>
void random_like(ReadCtx& c) {
  const DType dtype = float_of(c, c.dtype(c.in(0)));
  c.set(0, cast(c, draw(c, shape_of(c, c.in(0)), dtype), dtype));
}

void need_float(ReadCtx& c) {
  if (!is_float(c.dtype(c.in(0))))
    c.fail(std::string("takes floats, not ") + dtype_name(c.dtype(c.in(0))));
}

void bernoulli(ReadCtx& c) {
  need_float(c);
  ValueId p = cast(c, c.in(0), drawn(c.dtype(c.in(0))));
  ValueId u = uniform(c, shape_of(c, p), c.dtype(p), 0);
  c.set(0, cast(c, c.emit(OpId::kLess, {u, p}), asked_dtype(c, c.dtype(c.in(0)))));
}

// Picks the class at whose end the running sum of probabilities exceeds the number drawn.
void multinomial(ReadCtx& c) {
  need_float(c);
  const DType dtype = asked_dtype(c, DType::kI32);
  if (dtype != DType::kI32 && dtype != DType::kI64) c.fail("dtype must be int32 or int64");
  const int64_t samples = c.attr_int("sample_size", 1);
  ValueId x = c.in(0);
  if (c.rank(x) != 2 || samples < 1) c.fail("needs [batch, classes] and a sample_size >= 1");
  x = cast(c, x, drawn(c.dtype(x)));
  ValueId ends =
      c.emit(OpId::kCumSum, CumulateAttrs{1, 0, 0}, {c.emit(OpId::kSoftmax, AxisAttrs{1}, {x})});
  ValueId u = uniform(c, concat(c, {dim(c, x, 0), c.int_constant({samples})}, 0), c.dtype(x), 0);
  ValueId behind = c.emit(OpId::kLessOrEqual, {unsqueeze(c, ends, {1}), unsqueeze(c, u, {2})});
  ValueId index = reduce(c, OpId::kReduceSum, cast(c, behind, DType::kI64), {2}, false);
  // The running sum may round to less than 1.
  ValueId last = c.emit(OpId::kSub, {dim(c, x, 1), c.int_constant({1})});
  c.set(0, cast(c, c.emit(OpId::kMin, {index, last}), dtype));
}

}  // namespace

WICK_READ(RandomUniform, random<random_uniform>);
WICK_READ(RandomUniformLike, random_like<random_uniform>);
WICK_READ(RandomNormal, random<random_normal>);
WICK_READ(RandomNormalLike, random_like<random_normal>);
WICK_READ(Bernoulli, bernoulli);
WICK_READ(Multinomial, multinomial);

}  // namespace wick::onnx

// SIMD bodies of chain steps whose op has no SIMD row of its own, once per target.
#if defined(WICK_KERNELS_CHAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_CHAIN_INL_H_
#undef WICK_KERNELS_CHAIN_INL_H_
#else
#define WICK_KERNELS_CHAIN_INL_H_
#endif

#include "runtime/kernels/math/math-inl.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace chain {

using simd_math::DF;
using simd_math::F;
using simd_math::Mask;
using simd_math::select;

HWY_INLINE F truth(Mask m) { return select(m, F(1.0f), F(0.0f)); }

// Computes z = f(operands); a repeated operand is read once. Tails go through zero-padded copies.
template <int N, class Fn>
HWY_INLINE void zip(const float* const* x, const bool* repeat, float* z, size_t n, Fn f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(f([&](int k) HWY_ATTR {
                 return F(repeat[k] ? hn::Set(d, x[k][0]) : hn::LoadU(d, x[k] + i));
               }).v,
               d, z + i);
  }
  if (i == n) return;
  HWY_ALIGN float tail[N][hn::MaxLanes(d)] = {};
  for (int k = 0; k < N; ++k) {
    for (size_t j = i; j < n; ++j) tail[k][j - i] = x[k][repeat[k] ? 0 : j];
  }
  HWY_ALIGN float result[hn::MaxLanes(d)];
  hn::Store(f([&](int k) HWY_ATTR { return F(hn::Load(d, tail[k])); }).v, d, result);
  for (size_t j = i; j < n; ++j) z[j] = result[j - i];
}

// Bools are 0 and 1 here.
#define WICK_CHAIN_LOGIC(X)        \
  X(Equal, truth(p == q))          \
  X(Less, truth(p < q))            \
  X(LessOrEqual, truth(p <= q))    \
  X(Greater, truth(p > q))         \
  X(GreaterOrEqual, truth(p >= q)) \
  X(And, p* q)                     \
  X(Or, truth(p + q > F(0.0f)))    \
  X(Xor, truth(!(p == q)))

// These are smaller than the ops' own bodies, which have a loop for each way an operand may repeat.
#define WICK_CHAIN_ARITHMETIC(X) \
  X(Add, p + q)                  \
  X(Sub, p - q)                  \
  X(Mul, p* q)                   \
  X(Div, p / q)

#define X(kind, value)                                                                             \
  static void chain_##kind(const float* x, bool repeat_x, const float* y, bool repeat_y, float* z, \
                           size_t n) {                                                             \
    const float* const in[] = {x, y};                                                              \
    const bool repeat[] = {repeat_x, repeat_y};                                                    \
    zip<2>(in, repeat, z, n, [](auto at) HWY_ATTR {                                                \
      const F p = at(0), q = at(1);                                                                \
      return value;                                                                                \
    });                                                                                            \
  }
WICK_CHAIN_LOGIC(X)
WICK_CHAIN_ARITHMETIC(X)
#undef X

static void negate(const float* x, float* y, size_t n, float, float) {
  const float* const in[] = {x};
  const bool repeat[] = {false};
  zip<1>(in, repeat, y, n, [](auto at) HWY_ATTR { return F(1.0f) - at(0); });
}
static void relu(const float* x, float* y, size_t n, float, float) {
  const float* const in[] = {x};
  const bool repeat[] = {false};
  zip<1>(in, repeat, y, n, [](auto at) HWY_ATTR { return simd_math::relu(at(0)); });
}
static void copy(const float* x, float* y, size_t n, float, float) {
  for (size_t i = 0; i < n; ++i) y[i] = x[i];
}
static void where(const float* const* x, const bool* repeat, float* z, size_t n) {
  zip<3>(x, repeat, z, n, [](auto at) HWY_ATTR { return select(at(0) == F(0.0f), at(2), at(1)); });
}

// Converts bools to 0 and 1.
static void truths(const uint8_t* x, float* y, size_t n) {
  const DF d;
  const hn::Rebind<uint8_t, DF> bytes;
  const simd_math::DI whole;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const F v(hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(bytes, x + i))));
    hn::StoreU(select(v == F(0.0f), v, F(1.0f)).v, d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] != 0 ? 1.0f : 0.0f;
}

// Reduces a row to one value, like reduce.cc.
static void reduce_row(OpId op, const float* x, size_t n, float* y) {
  const auto count = static_cast<int64_t>(n);
  if (op == OpId::kReduceSum || op == OpId::kReduceMean) {
    *y = reduce::sum(x, count);
    if (op == OpId::kReduceMean) *y /= static_cast<float>(count);
  } else {
    *y = op == OpId::kReduceMax ? reduce::extreme_of<true>(-__builtin_huge_valf(), x, count)
                                : reduce::extreme_of<false>(__builtin_huge_valf(), x, count);
  }
}

static UnaryBody unary_of(OpId op) {
  return op == OpId::kRelu ? relu : op == OpId::kNot ? negate : copy;
}
static BinaryBody logic_of(OpId op) {
  switch (op) {
#define X(kind, value) \
  case OpId::k##kind: return chain_##kind;
    WICK_CHAIN_LOGIC(X)
#undef X
    default: return nullptr;
  }
}
static BinaryBody arithmetic_of(OpId op) {
  switch (op) {
#define X(kind, value) \
  case OpId::k##kind: return chain_##kind;
    WICK_CHAIN_ARITHMETIC(X)
#undef X
    default: return nullptr;
  }
}
constexpr ChainBodies kBodies = {unary_of, logic_of, where, reduce_row, truths};

}  // namespace chain

static const ChainBodies* find_chain() { return &chain::kBodies; }
static FindBinary find_arithmetic() { return chain::arithmetic_of; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif

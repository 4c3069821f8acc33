#include "trainer/tensor/philox.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "trainer/tensor/draws.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/recorder.h"

namespace wick {
namespace {

constinit Generator g_default;
constinit thread_local Generator* g_own = nullptr;  // of this thread; null: g_default
constinit thread_local DrawScope* g_scope = nullptr;

// Other threads that draw at the same time only change the stream.
Generator default_now() {
  Generator& g = default_generator();
  return {g.seed, std::atomic_ref(g.stream).load(std::memory_order_relaxed)};
}

void need_float(const char* op, DType t, const Where& where) {
  if (is_float(t) && dtype_bits(t) >= 16) return;
  throw_error(op, std::string("makes floats, not ") + dtype_name(t), where, Code::kTypeMismatch);
}
bool is_half(DType t) { return dtype_bits(t) == 16; }  // among floats: drawn in float32
Tensor rounded(const Tensor& t, DType dtype, const Where& where) {
  NoGrad guard;
  TracerScope untraced(nullptr);
  return t.to(dtype, where);
}

float unit_float(uint32_t w) { return static_cast<float>(w >> 8) * 0x1p-24f; }

// Calls f(i, u) for each element i of n, made from word i mod 4 (float32) or word pair i mod 2
// (float64) of its block.
template <class F>
void fill_f32(int64_t n, const Draw& g, const F& f) {
  for (int64_t i = 0; i < n; i += 4) {
    auto w = philox(g.seed, g.stream, static_cast<uint64_t>(i / 4));
    for (int64_t k = 0; k < 4 && i + k < n; ++k) f(i + k, unit_float(w[static_cast<size_t>(k)]));
  }
}
template <class F>
void fill_f64(int64_t n, const Draw& g, const F& f) {
  for (int64_t i = 0; i < n; i += 2) {
    auto w = philox(g.seed, g.stream, static_cast<uint64_t>(i / 2));
    f(i, unit_double(w[0], w[1]));
    if (i + 1 < n) f(i + 1, unit_double(w[2], w[3]));
  }
}

// cos and sin of 2 pi v for v in [0, 1): quarter turns are exact, the remainder is at most pi / 4.
void cos_sin(double v, double* c, double* s) {
  auto quarter = static_cast<int>(std::floor(4 * v + 0.5));
  double t = 2 * M_PI * (v - quarter * 0.25), t2 = t * t, cosine = 1, sine = 1;
  for (int n = 18; n >= 2; n -= 2) {
    cosine = 1 - cosine * t2 / (n * (n - 1));
    sine = 1 - sine * t2 / (n * (n + 1));
  }
  sine *= t;
  switch (quarter % 4) {
    case 0: *c = cosine, *s = sine; break;
    case 1: *c = -sine, *s = cosine; break;
    case 2: *c = -cosine, *s = -sine; break;
    default: *c = sine, *s = -cosine; break;
  }
}

// Returns an integer in [0, range) with a negligible bias: 64 random bits scaled by range.
uint64_t scaled(uint32_t hi, uint32_t lo, uint64_t range) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(uint64_t{hi} << 32 | lo) * range) >>
                               64);
}

}  // namespace

double unit_double(uint32_t hi, uint32_t lo) {
  return static_cast<double>((uint64_t{hi} << 32 | lo) >> 11) * 0x1p-53;
}

// For u = 2^k m with m in [sqrt(1/2), sqrt(2)): log m = 2 atanh((m-1)/(m+1)).
double draw_log(double u) {
  uint64_t bits = std::bit_cast<uint64_t>(u);
  auto k = static_cast<int64_t>((bits - 0x3FE6A09E667F3BCD) >> 52);
  k = static_cast<int64_t>(static_cast<uint64_t>(k) << 52) >> 52;  // 12 bits, signed
  double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(k) << 52));
  double f = (m - 1) / (m + 1), s = f * f, sum = 0;
  for (int n = 23; n >= 3; n -= 2) sum = (sum + 1.0 / n) * s;
  constexpr double kLn2Hi = 0x1.62e42fee00000p-1, kLn2Lo = 0x1.a39ef35793c76p-33;
  auto e = static_cast<double>(k);
  return e * kLn2Hi + (2 * f + (2 * f * sum + e * kLn2Lo));
}

std::array<double, 2> normal_pair(const std::array<uint32_t, 4>& w) {
  const double radius = std::sqrt(-2 * draw_log(1 - unit_double(w[0], w[1])));
  std::array<double, 2> pair{};
  cos_sin(unit_double(w[2], w[3]), &pair[0], &pair[1]);
  pair[0] *= radius, pair[1] *= radius;
  return pair;
}

Generator& default_generator() { return g_own != nullptr ? *g_own : g_default; }

GeneratorScope::GeneratorScope(Generator& g) : before_(std::exchange(g_own, &g)) {}
GeneratorScope::~GeneratorScope() { g_own = before_; }

DrawScope::DrawScope(std::vector<Draw>* list, Mode mode)
    : list_(list), mode_(mode), before_(default_now()), outer_(g_scope) {
  g_scope = this;
}
DrawScope::~DrawScope() {
  g_scope = outer_;
  if (mode_ != kAgain) return;
  const Generator now = default_now();
  if (now.seed != before_.seed || now.stream < before_.stream) default_generator() = before_;
}

Draw next_draw(Generator& g) {
  DrawScope* again = g_scope;
  while (again != nullptr && again->mode_ != DrawScope::kAgain) again = again->outer_;
  Draw d{};
  if (again != nullptr && again->draws_++ < again->list_->size()) {
    d = (*again->list_)[again->draws_ - 1];
  } else {
    d = {g.seed, std::atomic_ref(g.stream).fetch_add(1, std::memory_order_relaxed)};
  }
  if (Recorder* r = modes().recorder) [[unlikely]]
    r->on_stream(g, d);
  for (DrawScope* s = g_scope; s != again; s = s->outer_) {
    ++s->draws_;
    s->list_->push_back(d);
  }
  return d;
}

uint64_t Generator::reseed() {
  std::random_device entropy;
  manual_seed(uint64_t{entropy()} << 32 | entropy());
  return seed;
}
Tensor Generator::get_state() const {
  const uint64_t words[2] = {seed, stream};
  return from_blob(words, Shape{16}, DType::kU8);
}
void Generator::set_state(const Tensor& state, Where where) {
  if (!state.defined() || state.dtype() != DType::kU8 || !(state.raw_shape() == Shape{16})) {
    throw_error("set_state", "needs what get_state() gave: uint8[16]", where);
  }
  uint64_t words[2];
  memcpy(words, state.contiguous(where).data<uint8_t>(where), sizeof words);
  seed = words[0];
  stream = words[1];
}

// Fills the tensor from the next stream of `g`.
static Tensor drawn(const Tensor& t, const DrawFill& fill, Generator& g) {
  const Draw draw = next_draw(g);
  fill_draw(fill, draw, t.raw());
  if (Recorder* r = modes().recorder) [[unlikely]]
    r->on_draw(fill, draw, t.raw());
  return t;
}

void fill_draw(const DrawFill& fill, const Draw& draw, const TensorView& to) {
  const int64_t n = to.numel();
  switch (fill.kind) {
    case DrawFill::kUniform: {
      if (to.dtype == DType::kF32) {
        auto base = static_cast<float>(fill.a), width = static_cast<float>(fill.b - fill.a);
        fill_f32(n, draw, [&, p = to.as<float>()](int64_t i, float u) { p[i] = base + width * u; });
      } else {
        fill_f64(n, draw, [&, p = to.as<double>()](int64_t i, double u) {
          p[i] = fill.a + (fill.b - fill.a) * u;
        });
      }
      return;
    }
    case DrawFill::kCoarse: {
      const auto base = static_cast<float>(fill.a), width = static_cast<float>(fill.b - fill.a);
      fill_f32(n, draw, [&, p = to.as<float>()](int64_t i, float u) {
        p[i] = base + width * (std::floor(u * fill.steps) / fill.steps);
      });
      return;
    }
    case DrawFill::kNormal:
      // One block gives two numbers, computed in double for any dtype, so that float32 results are
      // the rounded float64 ones.
      for (int64_t i = 0; i < n; i += 2) {
        const auto pair = normal_pair(philox(draw.seed, draw.stream, static_cast<uint64_t>(i / 2)));
        for (int64_t k = 0; k < 2 && i + k < n; ++k) {
          const double number = pair[static_cast<size_t>(k)];
          if (to.dtype == DType::kF32) {
            to.as<float>()[i + k] = static_cast<float>(number);
          } else {
            to.as<double>()[i + k] = number;
          }
        }
      }
      return;
    case DrawFill::kIntegers: {
      const auto range = static_cast<uint64_t>(fill.high - fill.low);
      for (int64_t i = 0; i < n; ++i) {
        auto w = philox(draw.seed, draw.stream, static_cast<uint64_t>(i));
        to.as<int64_t>()[i] = fill.low + static_cast<int64_t>(scaled(w[0], w[1], range));
      }
      return;
    }
    case DrawFill::kPermutation: {
      auto* p = to.as<int64_t>();
      for (int64_t i = 0; i < n; ++i) p[i] = i;
      for (int64_t i = n - 1; i > 0; --i) {
        auto w = philox(draw.seed, draw.stream, static_cast<uint64_t>(i));
        std::swap(p[i], p[scaled(w[0], w[1], static_cast<uint64_t>(i + 1))]);
      }
    }
  }
}

Tensor uniform(const SizeList& shape, double lo, double hi, DType dtype, Generator& g,
               Where where) {
  need_float("uniform", dtype, where);
  if (is_half(dtype)) {
    // Uses as many bits as the dtype has below 1, so that no draw rounds up to 1.
    const float steps = dtype == DType::kF16 ? 0x1p11f : 0x1p8f;
    const DrawFill fill{.kind = DrawFill::kCoarse, .a = lo, .b = hi, .steps = steps};
    return rounded(drawn(new_tensor(shape, DType::kF32, where), fill, g), dtype, where);
  }
  return drawn(new_tensor(shape, dtype, where), {.kind = DrawFill::kUniform, .a = lo, .b = hi}, g);
}
Tensor rand(const SizeList& shape, DType dtype, Generator& g, Where where) {
  return uniform(shape, 0, 1, dtype, g, where);
}

Tensor randn(const SizeList& shape, DType dtype, Generator& g, Where where) {
  need_float("randn", dtype, where);
  if (is_half(dtype)) return rounded(randn(shape, DType::kF32, g, where), dtype, where);
  return drawn(new_tensor(shape, dtype, where), {.kind = DrawFill::kNormal}, g);
}

Tensor randint(int64_t low, int64_t high, const SizeList& shape, Generator& g, Where where) {
  if (high <= low) throw_error("randint", "needs low < high", where);
  return drawn(new_tensor(shape, DType::kI64, where),
               {.kind = DrawFill::kIntegers, .low = low, .high = high}, g);
}

Tensor randperm(SizeArg n, Generator& g, Where where) {
  return drawn(new_tensor({n > 0 ? n.number : 0}, DType::kI64, where),
               {.kind = DrawFill::kPermutation}, g);
}

}  // namespace wick

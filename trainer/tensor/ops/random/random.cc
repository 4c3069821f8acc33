#include "trainer/tensor/ops/random/random.h"

#include <cmath>
#include <cstdio>

#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick {

using namespace pointwise;  // NOLINT: what these files share

namespace {

// Draws are neither recorded nor traced. They are made in float64 for float64, in float32 for
// narrower dtypes.
DType drawn_in(DType t) { return t == DType::kF64 ? DType::kF64 : DType::kF32; }

template <class F>
Tensor draw(const char* name, const Tensor& like, const Where& where, const F& f) {
  if (!is_float(like.dtype())) {
    throw_error(name, std::string("draws floats, not ") + dtype_name(like.dtype()), where,
                Code::kTypeMismatch);
  }
  NoGrad guard;
  TracerScope untraced(nullptr);
  return moved_beside(like, f(drawn_in(like.dtype())).to(like.dtype(), where), where);
}
void need_probability(const char* name, double p, const Where& where) {
  if (p >= 0 && p <= 1) return;
  throw_error(name, "needs a probability from 0 to 1, got " + std::to_string(p), where);
}

}  // namespace

// Throws unless the integers in [from, to) are values of t; floats round.
static void need_bounds(const char* name, DType t, int64_t from, int64_t to, const Where& where) {
  if (is_float(t) || to <= from) return;
  const bool boolean = t == DType::kBool;
  const int64_t min = boolean ? 0 : iinfo(t).min;
  const uint64_t max = boolean ? 1 : iinfo(t).max;
  if (from >= min && (to <= 0 || static_cast<uint64_t>(to - 1) <= max)) return;
  char range[64];
  snprintf(range, sizeof range, "[%lld, %lld)", static_cast<long long>(from),
           static_cast<long long>(to));
  throw_error(name, std::string(range) + " reaches out of " + dtype_name(t), where);
}

Tensor rand_like(const Arg& t, Generator& g) {
  return draw("rand_like", t.tensor, t.where,
              [&](DType) { return rand(t.tensor.raw_shape(), t.tensor.dtype(), g, t.where); });
}
Tensor randn_like(const Arg& t, Generator& g) {
  return draw("randn_like", t.tensor, t.where,
              [&](DType d) { return randn(t.tensor.raw_shape(), d, g, t.where); });
}
Tensor randint_like(const Arg& t, int64_t low, int64_t high, Generator& g) {
  need_defined("randint_like", {t});
  need_bounds("randint_like", t.tensor.dtype(), low, high, t.where);
  NoGrad guard;
  TracerScope untraced(nullptr);
  Tensor drawn = randint(low, high, t.tensor.raw_shape(), g, t.where);
  return moved_beside(t.tensor, drawn.to(t.tensor.dtype(), t.where), t.where);
}
Tensor randint(int64_t high, const SizeList& shape, Generator& g, Where where) {
  return randint(0, high, shape, g, where);
}
Tensor normal(double mean, double std, const SizeList& shape, DType dtype, Generator& g,
              Where where) {
  if (!(std >= 0)) throw_error("normal", "needs std >= 0", where);
  NoGrad guard;
  TracerScope untraced(nullptr);
  return (randn(shape, drawn_in(dtype), g, where) * std + mean).to(dtype, where);
}
Tensor normal(const Arg& mean, const Arg& std, Generator& g) {
  Composite composite("normal", mean.where);
  auto [m, s] = promoted_floats("normal", mean, std);
  Tensor shape = m + s;
  return randn_like({shape, mean.where}, g) * s + m;
}
Tensor bernoulli(const Arg& p, Generator& g) {
  Composite composite("bernoulli", p.where);
  NoGrad guard;
  const Tensor& t = p.tensor;
  if (t.layout().numel() > 0) {
    need_probability("bernoulli", min(p).item(p.where), p.where);
    need_probability("bernoulli", max(p).item(p.where), p.where);
  }
  // Uses float32 for 16-bit p, whose own steps are too coarse.
  return draw("bernoulli", t, p.where, [&](DType d) {
    return lt(rand(t.raw_shape(), d, g, p.where), to_host(t, p.where).to(d)).to(t.dtype());
  });
}

Tensor multinomial(const Arg& p, int64_t samples, bool replacement, Generator& g) {
  const Tensor& weights = p.tensor;
  if (!is_float(weights.dtype()) || weights.rank() < 1 || weights.rank() > 2) {
    throw_error("multinomial",
                std::string("needs float weights [n] or [rows, n], got ") +
                    dtype_name(weights.dtype()) + to_text(weights.raw_shape()).text,
                p.where);
  }
  if (samples < 1) throw_error("multinomial", "needs at least one sample", p.where);
  const int64_t n = weights.raw_shape()[weights.rank() - 1];
  const int64_t rows = weights.rank() == 2 ? weights.raw_shape()[0] : 1;
  NoGrad guard;
  std::vector<double> w = weights.to(DType::kF64, p.where).to_vector<double>(p.where);
  Tensor out =
      weights.rank() == 2 ? empty({rows, samples}, DType::kI64) : empty({samples}, DType::kI64);
  TracerScope untraced(nullptr);
  std::vector<double> u = rand({rows, samples}, DType::kF64, g, p.where).to_vector<double>();
  for (int64_t r = 0; r < rows; ++r) {
    double* row = w.data() + r * n;
    double total = 0;
    int64_t possible = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!(row[i] >= 0) || std::isinf(row[i])) {
        throw_error("multinomial", "a weight is negative, infinite or NaN", p.where);
      }
      total += row[i];
      possible += row[i] > 0 ? 1 : 0;
    }
    if (possible == 0 || (!replacement && possible < samples)) {
      throw_error("multinomial",
                  std::to_string(possible) + " weights are not 0: too few for " +
                      std::to_string(samples) + " samples" +
                      std::string(replacement ? "" : " without replacement"),
                  p.where);
    }
    for (int64_t k = 0; k < samples; ++k) {
      double left = u[static_cast<size_t>(r * samples + k)] * total;
      int64_t pick = -1;
      for (int64_t i = 0; i < n; ++i) {
        if (row[i] == 0) continue;
        pick = i;  // rounding may leave a remainder: the last possible index gets it
        if (left < row[i]) break;
        left -= row[i];
      }
      out.raw().as<int64_t>()[r * samples + k] = pick;
      if (replacement) continue;
      row[pick] = 0;
      total = 0;
      for (int64_t i = 0; i < n; ++i) total += row[i];
    }
  }
  return out;
}

const Tensor& uniform_(const Arg& x, double from, double to, Generator& g) {
  if (!(from <= to)) throw_error("uniform_", "needs from <= to", x.where);
  check_writable("uniform_", x.tensor, x.where);
  Tensor u = draw("uniform_", x.tensor, x.where, [&](DType) {
    return uniform(x.tensor.raw_shape(), from, to, x.tensor.dtype(), g, x.where);
  });
  return write_result("uniform_", x, u);
}
const Tensor& normal_(const Arg& x, double mean, double std, Generator& g) {
  check_writable("normal_", x.tensor, x.where);
  Tensor n = draw("normal_", x.tensor, x.where,
                  [&](DType d) { return normal(mean, std, x.tensor.raw_shape(), d, g, x.where); });
  return write_result("normal_", x, n);
}
const Tensor& bernoulli_(const Arg& x, double p, Generator& g) {
  need_probability("bernoulli_", p, x.where);
  check_writable("bernoulli_", x.tensor, x.where);
  Tensor hit;
  {
    NoGrad guard;
    TracerScope untraced(nullptr);
    hit = lt(rand(x.tensor.raw_shape(), DType::kF32, g, x.where), p).to(x.tensor.dtype());
  }
  return write_result("bernoulli_", x, hit);
}
const Tensor& exponential_(const Arg& x, double lambd, Generator& g) {
  if (!(lambd > 0)) throw_error("exponential_", "needs lambd > 0", x.where);
  check_writable("exponential_", x.tensor, x.where);
  Tensor e = draw("exponential_", x.tensor, x.where, [&](DType d) {
    return log1p(-rand(x.tensor.raw_shape(), d, g, x.where)) / -lambd;
  });
  return write_result("exponential_", x, e);
}
const Tensor& random_(const Arg& x, int64_t from, int64_t to, Generator& g) {
  check_writable("random_", x.tensor, x.where);
  need_bounds("random_", x.tensor.dtype(), from, to, x.where);
  return write_result("random_", x, randint_like(x, from, to, g));
}
const Tensor& random_(const Arg& x, Generator& g) {
  DType t = x.tensor.dtype();
  int64_t top = INT64_MAX;
  if (t == DType::kBool) {
    top = 2;
  } else if (is_float(t)) {
    top = static_cast<int64_t>(2 / finfo(t).eps) + 1;
  } else if (dtype_bits(t) < 64) {
    top = static_cast<int64_t>(iinfo(t).max) + 1;
  }
  return random_(x, 0, top, g);
}

}  // namespace wick

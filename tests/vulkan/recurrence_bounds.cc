// Bounds of results that are computed step by step from earlier ones, or as long sums: linear
// attention, DFT, determinants. The steps are taken in double, along with the error that each can
// have so far.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

#include "runtime/kernels/sequence/rnn.h"
#include "tests/vulkan/bounds.h"

namespace wick::test {
namespace {

constexpr double kU = 0x1p-24;
constexpr double kExp = 4, kDiv = 5;  // as in bounds.cc

struct Near {
  double value = 0, error = 0;
};
// The product and the sum of a fused step may round apart.
Near fused(double exact, const Near& x, const Near& sum) {
  const double product = exact * x.value, next = sum.value + product;
  return {next,
          sum.error + std::fabs(exact) * x.error + kU * (std::fabs(product) + std::fabs(next))};
}

std::vector<double> linear_attention(const void* attrs, const std::vector<Value>& in,
                                     const Value& want) {
  const auto& a = *static_cast<const LinearAttentionAttrs*>(attrs);
  const auto has = [&](size_t i) { return i < in.size() && in[i].view().present(); };
  const Shape q = in[0].view().shape;
  const int64_t batch = q[0], tokens = q[1], heads = a.kv_num_heads, group = a.q_num_heads / heads;
  const int64_t keys = q[2] / a.q_num_heads, values = in[2].view().shape[2] / heads;
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(keys));
  const bool each = has(4) && in[4].view().shape[2] == heads * keys;
  const int64_t betas = has(5) ? in[5].view().shape[2] : 1;
  std::vector<double> of_y(static_cast<size_t>(batch * tokens * a.q_num_heads * values));
  std::vector<double> of_state(static_cast<size_t>(batch * heads * keys * values));
  std::vector<Near> state(static_cast<size_t>(keys));
  for (int64_t item = 0; item < batch * heads * values; ++item) {
    const int64_t j = item % values, owner = item / values, h = owner % heads, b = owner / heads;
    const auto place = [&](int64_t i) { return (owner * keys + i) * values + j; };
    for (int64_t i = 0; i < keys; ++i)
      state[static_cast<size_t>(i)] = {has(3) ? in[3].at(place(i)) : 0, 0};
    const auto read = [&](const Value& by, int64_t first) {
      Near sum;
      for (int64_t i = 0; i < keys; ++i)
        sum = fused(by.at(first + i), state[static_cast<size_t>(i)], sum);
      return sum;
    };
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t token = b * tokens + t, at = token * heads + h;
      for (int64_t i = 0; has(4) && i < keys; ++i) {
        Near& s = state[static_cast<size_t>(i)];
        const double keep = std::exp(in[4].at(each ? at * keys + i : at));
        s.value *= keep;
        s.error = s.error * keep + kU * (kExp + 1) * std::fabs(s.value);
      }
      Near line = {in[2].at(at * values + j), 0};
      if (has(5)) {
        const Near before = read(in[1], at * keys);
        const double rate = in[5].at(token * betas + (betas == 1 ? 0 : h));
        const double rest = line.value - before.value;
        line = {rate * rest, std::fabs(rate) * (before.error + 2 * kU * std::fabs(rest))};
      }
      for (int64_t i = 0; i < keys; ++i) {
        Near& s = state[static_cast<size_t>(i)];
        s = fused(in[1].at(at * keys + i), line, s);
      }
      for (int64_t g = 0; g < group; ++g) {
        const int64_t head = token * a.q_num_heads + h * group + g;
        const Near sum = read(in[0], head * keys);
        // the scale itself is a root and a quotient, both of the host
        of_y[static_cast<size_t>(head * values + j)] =
            scale * (sum.error + 3 * kU * std::fabs(sum.value)) + FLT_MIN;
      }
    }
    for (int64_t i = 0; i < keys; ++i)
      of_state[static_cast<size_t>(place(i))] = state[static_cast<size_t>(i)].error + FLT_MIN;
  }
  return want.view().rank() == 3 ? of_y : of_state;
}

constexpr double kSigmoid = kExp + 1 + kDiv, kTanh = 9.1, kLog = 4;  // as in bounds.cc

// One of a cell's functions of a number that is off by x.error: by its steepest slope, and by its
// own rounding.
Near function_of(const RnnFunctionAttrs& f, RnnFunction fallback, const Near& x) {
  const double a = f.alpha, b = f.beta, v = x.value;
  const auto made = [&](double y, double slope, double relative, double absolute = 0) {
    return Near{y, slope * x.error + kU * (relative * std::fabs(y) + absolute)};
  };
  switch (rnn_function(f, fallback)) {
    case RnnFunction::kDefault:
    case RnnFunction::kTanh: return made(std::tanh(v), 1, kTanh);
    case RnnFunction::kSigmoid: return made(1 / (1 + std::exp(-v)), 0.25, kSigmoid);
    case RnnFunction::kRelu: return made(std::fmax(v, 0), 1, 0);
    case RnnFunction::kAffine: return made(a * v + b, std::fabs(a), 2, std::fabs(b));
    case RnnFunction::kLeakyRelu: return made(v < 0 ? v * a : v, std::fmax(1, std::fabs(a)), 2);
    case RnnFunction::kThresholdedRelu:
      return made(v < a ? 0 : v, 1, 0);  // samples keep off the edge
    // beta is rounded and so is its product with v
    case RnnFunction::kScaledTanh:
      return made(a * std::tanh(b * v), std::fabs(a * b), kTanh + 2, 2 * std::fabs(a * b * v));
    case RnnFunction::kHardSigmoid:
      return made(std::fmin(1, std::fmax(0, a * v + b)), std::fabs(a), 1,
                  2 * std::fabs(a * v) + std::fabs(b));
    case RnnFunction::kElu:
      return made(v < 0 ? a * std::expm1(v) : v, std::fmax(1, std::fabs(a)), 2,
                  std::fabs(a) * (kExp + 1));
    case RnnFunction::kSoftsign: return made(v / (1 + std::fabs(v)), 1, kDiv + 1);
    case RnnFunction::kSoftplus:
      return made(std::fmax(v, 0) + std::log1p(std::exp(-std::fabs(v))), 1, kLog + 1, kExp + 1);
  }
  return x;
}
Near plus(const Near& a, const Near& b) {
  const double sum = a.value + b.value;
  return {sum, a.error + b.error + kU * std::fabs(sum)};
}
Near times(const Near& a, const Near& b) {
  const double product = a.value * b.value;
  return {product,
          std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + kU * std::fabs(product)};
}

// Y is of rank 4. Of the last states whichever bound is larger: they have the same shape.
std::vector<double> recurrent(OpId op, const void* attrs, const std::vector<Value>& in,
                              const Value& want) {
  const auto& a = *static_cast<const RnnAttrs*>(attrs);
  const RnnSizes s(views(in), a);
  const auto has = [&](size_t i) { return i < in.size() && in[i].view().present(); };
  const int64_t n = s.hidden, rows = s.rows();
  std::vector<double> of_y(static_cast<size_t>(s.seq * s.dirs * s.batch * n), 0.0);
  std::vector<double> of_state(static_cast<size_t>(s.dirs * s.batch * n), 0.0);
  for (int64_t task = 0; task < s.dirs * s.batch; ++task) {
    const int64_t d = task / s.batch, b = task % s.batch;
    const auto length = has(4) ? static_cast<int64_t>(in[4].at(b)) : s.seq;
    std::vector<Near> h(static_cast<size_t>(n)), cell = h;
    for (int64_t j = 0; j < n; ++j) {
      if (has(5)) h[static_cast<size_t>(j)].value = in[5].at(s.state(d, b) + j);
      if (has(6)) cell[static_cast<size_t>(j)].value = in[6].at(s.state(d, b) + j);
    }
    const auto bias = [&](int64_t row) {
      return Near{has(3) ? in[3].at(d * 2 * rows + row) : 0, 0};
    };
    const auto clip = [&](const Near& v) {
      return a.clip > 0
                 ? Near{std::fmin(a.clip, std::fmax(-a.clip, v.value)), v.error + kU * a.clip}
                 : v;
    };
    const auto apply = [&](int i, const Near& v) {
      const RnnFunctionAttrs* const all[] = {&a.f, &a.g, &a.h, &a.back_f, &a.back_g, &a.back_h};
      const bool gate = i == 0 && op != OpId::kRNN;
      return function_of(*all[3 * d + i], gate ? RnnFunction::kSigmoid : RnnFunction::kTanh, v);
    };
    for (int64_t step = 0; step < length; ++step) {
      const int64_t t = a.direction == 1 || d == 1 ? length - 1 - step : step;
      const auto x_part = [&](int64_t row) {
        Near sum;
        for (int64_t k = 0; k < s.input; ++k)
          sum = fused(in[1].at((d * rows + row) * s.input + k), {in[0].at(s.x(t, b) + k), 0}, sum);
        return plus(sum, bias(row));
      };
      const auto h_part = [&](const std::vector<Near>& state, int64_t row) {
        Near sum;
        for (int64_t k = 0; k < n; ++k)
          sum = fused(in[2].at((d * rows + row) * n + k), state[static_cast<size_t>(k)], sum);
        return plus(sum, bias(rows + row));
      };
      const auto sum = [&](int64_t row) { return plus(x_part(row), h_part(h, row)); };
      std::vector<Near> next = h, reset = h;
      if (op == OpId::kGRU) {
        for (int64_t j = 0; j < n; ++j) {
          Near& v = reset[static_cast<size_t>(j)];
          const Near gate = apply(0, clip(sum(n + j)));
          v = a.linear_before_reset != 0 ? gate : times(gate, v);
        }
      }
      for (int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<size_t>(j);
        const auto peep = [&](int64_t gate, const Near& v) {
          return has(7) ? fused(in[7].at((d * 3 + gate) * n + j), cell[at], v) : v;
        };
        const auto less_than_one = [](const Near& v) {
          return Near{1 - v.value, v.error + kU * std::fabs(1 - v.value)};
        };
        if (op == OpId::kRNN) {
          next[at] = apply(0, clip(sum(j)));
        } else if (op == OpId::kGRU) {
          const Near z = apply(0, clip(sum(j)));
          const Near inner = a.linear_before_reset != 0
                                 ? plus(x_part(2 * n + j), times(reset[at], h_part(h, 2 * n + j)))
                                 : plus(x_part(2 * n + j), h_part(reset, 2 * n + j));
          next[at] = plus(times(z, h[at]), times(less_than_one(z), apply(1, clip(inner))));
        } else {
          const Near i = apply(0, clip(peep(0, sum(j))));
          const Near forget =
              a.input_forget != 0 ? less_than_one(i) : apply(0, clip(peep(2, sum(2 * n + j))));
          const Near fresh = times(i, apply(1, clip(sum(3 * n + j))));
          cell[at] = plus(times(forget, cell[at]), fresh);
          next[at] = times(apply(0, clip(peep(1, sum(n + j)))), apply(2, cell[at]));
        }
        of_y[static_cast<size_t>(s.y(t, d, b) + j)] = next[at].error + FLT_MIN;
      }
      h = next;
    }
    for (int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<size_t>(j);
      of_state[static_cast<size_t>(s.state(d, b) + j)] =
          std::fmax(h[at].error, cell[at].error) + FLT_MIN;
    }
  }
  return want.view().rank() == 4 ? of_y : of_state;
}

// A sum of `terms` products in two floats, each off by some 2^-44 of the largest partial sum, at
// most the magnitudes' sum; rounded once, and divided where it is an inverse.
std::vector<double> dft(const void* attrs, const std::vector<Value>& in, const Value& want) {
  const auto& a = *static_cast<const DftAttrs*>(attrs);
  const Value& x = in[0];
  double largest = 0;
  for (int64_t i = 0; i < x.view().numel(); ++i) largest = std::fmax(largest, std::fabs(x.at(i)));
  const int rank = want.view().rank();
  int64_t axis = a.axis, n = 0;
  if (in.size() > 2 && in[2].view().present()) axis = static_cast<int64_t>(in[2].at(0));
  const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
  n = 2 * std::max(want.view().shape[at], x.view().shape[at]);  // twice: of half spectra
  const double terms = 2 * static_cast<double>(n);
  const bool inverse = a.inverse != 0;
  std::vector<double> bounds;
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    bounds.push_back(kU * (inverse ? 1 + kDiv : 1) * std::fabs(want.at(i)) +
                     0x1p-44 * terms * terms * largest + FLT_MIN);
  }
  return bounds;
}

// The determinant of `m`, n x n; where `error` is given, what elimination in float32 can have done
// to each element, and rows stay exchanged.
double eliminate(std::vector<double>& m, size_t n, std::vector<double>* error,
                 std::vector<double>* exchanged) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t best = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::fabs(m[i * n + k]) > std::fabs(m[best * n + k])) best = i;
    }
    for (size_t j = 0; j < n && best != k; ++j) {
      std::swap(m[k * n + j], m[best * n + j]);
      if (error != nullptr) std::swap((*error)[k * n + j], (*error)[best * n + j]);
      if (exchanged != nullptr) std::swap((*exchanged)[k * n + j], (*exchanged)[best * n + j]);
    }
    if (best != k) product = -product;
    const double pivot = m[k * n + k];
    product *= pivot;
    if (pivot == 0) return product;
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / pivot;
      for (size_t j = k + 1; j < n; ++j) {
        const double step = factor * m[k * n + j];
        m[i * n + j] -= step;
        if (error != nullptr)
          (*error)[i * n + j] += kU * ((kDiv + 1) * std::fabs(step) + std::fabs(m[i * n + j]));
      }
    }
  }
  return product;
}

// An element's error from elimination changes the determinant by its cofactor; the pivots' product
// rounds n times.
std::vector<double> determinant(const Value& x, const Value& want) {
  const Shape s = x.view().shape;
  const auto n = static_cast<size_t>(s[s.rank() - 1]);
  std::vector<double> bounds;
  for (int64_t b = 0; b < want.view().numel(); ++b) {
    std::vector<double> m(n * n), rows, error(n * n, 0.0);
    for (size_t i = 0; i < n * n; ++i)
      m[i] = x.at(b * static_cast<int64_t>(n * n) + static_cast<int64_t>(i));
    rows = m;
    eliminate(m, n, &error, &rows);
    double sum = kU * static_cast<double>(n) * std::fabs(want.at(b)) + FLT_MIN;
    for (size_t i = 0; i < n * n; ++i) {
      std::vector<double> minor;
      for (size_t e = 0; e < n * n; ++e) {
        if (e / n != i / n && e % n != i % n) minor.push_back(rows[e]);
      }
      sum += error[i] * std::fabs(eliminate(minor, n - 1, nullptr, nullptr));
    }
    bounds.push_back(sum);
  }
  return bounds;
}

}  // namespace

bool recurrence_bounds(OpId op, const void* attrs, const std::vector<Value>& in, const Value& want,
                       std::vector<double>* bounds) {
  switch (op) {
    case OpId::kLinearAttention: *bounds = linear_attention(attrs, in, want); return true;
    case OpId::kRNN:
    case OpId::kGRU:
    case OpId::kLSTM: *bounds = recurrent(op, attrs, in, want); return true;
    case OpId::kDFT: *bounds = dft(attrs, in, want); return true;
    case OpId::kDet: *bounds = determinant(in[0], want); return true;
    default: return false;
  }
}

}  // namespace wick::test

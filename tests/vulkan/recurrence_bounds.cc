// Bounds of what is computed step by step out of itself, or as long sums: linear attention, DFT,
// determinants. The steps are taken in double with the error that each can have so far beside them.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

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

// What elimination did to an element changes the determinant by its cofactor; the pivots' product
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
    case OpId::kDFT: *bounds = dft(attrs, in, want); return true;
    case OpId::kDet: *bounds = determinant(in[0], want); return true;
    default: return false;
  }
}

}  // namespace wick::test

#include "trainer/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/core/thread_pool.h"
#include "trainer/tensor/call.h"

namespace wick::optim {
namespace {

constexpr int64_t kPiece = 1 << 14, kLanes = 8;

template <class F>
double sum_of(int64_t n, F term) {
  std::vector<double> pieces(static_cast<size_t>((n + kPiece - 1) / kPiece));
  parallel_for(thread_pool(), static_cast<int64_t>(pieces.size()), [&](int64_t piece, int) {
    double lanes[kLanes] = {};
    int64_t i = piece * kPiece;
    const int64_t end = std::min(n, i + kPiece);
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] += term(i + k);
    }
    for (int64_t k = 0; i < end; ++i, ++k) lanes[k] += term(i);
    for (double lane : lanes) pieces[static_cast<size_t>(piece)] += lane;
  });
  double sum = 0;
  for (double piece : pieces) sum += piece;
  return sum;
}

template <class T>
double dot_of(const Tensor& a, const Tensor& b) {
  const T *x = a.data<T>(), *y = b.data<T>();
  return sum_of(a.layout().numel(),
                [=](int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(y[i]); });
}

template <class T>
double max_of(const Tensor& a) {
  const T* x = a.data<T>();
  T most = 0;
  for (int64_t i = 0; i < a.layout().numel() && most == most; ++i) {
    const T v = std::abs(x[i]);
    most = v <= most ? most : v;
  }
  return static_cast<double>(most);
}

}  // namespace

double dot(const Tensor& a, const Tensor& b) {
  return a.dtype() == DType::kF32 ? dot_of<float>(a, b) : dot_of<double>(a, b);
}

double sum_abs(const Tensor& a) {
  const int64_t n = a.layout().numel();
  if (a.dtype() == DType::kF32) {
    return sum_of(n, [x = a.data<float>()](int64_t i) -> double { return std::abs(x[i]); });
  }
  return sum_of(n, [x = a.data<double>()](int64_t i) { return std::abs(x[i]); });
}

double max_abs(const Tensor& a) {
  return a.dtype() == DType::kF32 ? max_of<float>(a) : max_of<double>(a);
}

double cubic_interpolate(double x1, double f1, double g1, double x2, double f2, double g2,
                         double least, double most) {
  const double d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2);
  const double square = d1 * d1 - g1 * g2;
  if (!(square >= 0)) return (least + most) / 2;
  const double d2 = std::sqrt(square);
  const double at = x1 <= x2 ? x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
                             : x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2));
  const double above = least > at ? least : at;  // NaN stays NaN
  return most < above ? most : above;
}

LineResult strong_wolfe(FunctionRef<LinePoint(double t)> evaluate, double t, const Tensor& d,
                        const LinePoint& start, double tolerance_change) {
  constexpr double kDecrease = 1e-4, kCurvature = 0.9;
  constexpr int64_t kMostSteps = 25;
  const double gtd = start.gtd;
  auto too_high = [&](const LinePoint& p) { return p.f > start.f + kDecrease * p.t * gtd; };
  auto flat = [&](const LinePoint& p) { return std::abs(p.gtd) <= -kCurvature * gtd; };
  int64_t evals = 0, steps = 0;
  auto at = [&](double where) {
    LinePoint p = evaluate(where);
    p.t = where;
    p.gtd = dot(p.g, d);
    ++evals;
    return p;
  };

  // Outwards, until a minimum lies between two points.
  LinePoint before = start, now = at(t);
  bool bracketed = false;
  for (; steps < kMostSteps; ++steps) {
    bracketed = too_high(now) || (steps > 1 && now.f >= before.f);
    if (!bracketed && flat(now)) return {now, evals};
    bracketed = bracketed || now.gtd >= 0;
    if (bracketed) break;
    const double next = cubic_interpolate(before.t, before.f, before.gtd, now.t, now.f, now.gtd,
                                          now.t + 0.01 * (now.t - before.t), now.t * 10);
    before = std::move(now);
    now = at(next);
  }
  LinePoint low = bracketed ? before : start, high = now;
  bool first_is_low = low.f <= high.f;  // the bracket keeps its order, which interpolation sees
  if (!first_is_low) std::swap(low, high);

  // Inwards. `low` has the least loss so far.
  const double widest = max_abs(d);
  bool stuck = false;
  while (steps < kMostSteps && !(std::abs(high.t - low.t) * widest < tolerance_change)) {
    const LinePoint &a = first_is_low ? low : high, &b = first_is_low ? high : low;
    const double left = std::min(low.t, high.t), right = std::max(low.t, high.t);
    double next = cubic_interpolate(a.t, a.f, a.gtd, b.t, b.f, b.gtd, left, right);
    // One that is near an end makes little progress: the second time it is moved inwards.
    const double margin = 0.1 * (right - left);
    if (std::min(right - next, next - left) < margin) {
      if (stuck || next >= right || next <= left) {
        next = std::abs(next - right) < std::abs(next - left) ? right - margin : left + margin;
        stuck = false;
      } else {
        stuck = true;
      }
    } else {
      stuck = false;
    }
    now = at(next);
    ++steps;
    if (too_high(now) || now.f >= low.f) {
      high = std::move(now);
      // Of two equal losses the first of the bracket is the low one.
      const bool swapped = first_is_low ? !(low.f <= high.f) : high.f <= low.f;
      if (swapped) std::swap(low, high), first_is_low = !first_is_low;
      continue;
    }
    const bool done = flat(now);
    if (!done && now.gtd * (high.t - low.t) >= 0) high = low;
    low = std::move(now);
    if (done) break;
  }
  return {std::move(low), evals};
}

}  // namespace wick::optim

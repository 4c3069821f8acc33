#include "quantize/qparams.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/core/narrow.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

constexpr float kLeastScale = std::numeric_limits<float>::min();

int64_t inner_of(const Shape& s, int64_t axis) {
  int64_t n = 1;
  for (int d = static_cast<int>(axis) + 1; d < s.rank(); ++d) n *= s[d];
  return n;
}

// ScaleAt tells which scale belongs to element i.
class ScaleAt {
 public:
  ScaleAt(const HostTensor& x, const QParams& q)
      : single_(q.per_tensor()),
        inner_(single_ ? 1 : inner_of(x.shape(), q.axis)),
        extent_(single_ ? 1 : x.shape()[static_cast<int>(q.axis)]) {}
  size_t operator()(int64_t i) const {
    return single_ ? 0 : static_cast<size_t>(i / inner_ % extent_);
  }

 private:
  bool single_;
  int64_t inner_, extent_;
};

void check_fits(const HostTensor& x, const QParams& q) {
  check(q, "tensor");
  const auto rank = x.shape().rank();
  if (q.per_tensor()) return;
  if (q.axis >= rank || x.shape()[static_cast<int>(q.axis)] != static_cast<int64_t>(q.scale.size()))
    throw_error("quantize", std::to_string(q.scale.size()) + " scales for axis " +
                                std::to_string(q.axis) + " of " + to_text(x.shape()).text);
}

void put(HostTensor& t, int64_t i, int32_t v) {
  switch (t.dtype()) {
    case DType::kI8: t.as<int8_t>()[i] = static_cast<int8_t>(v); return;
    case DType::kU8: t.as<uint8_t>()[i] = static_cast<uint8_t>(v); return;
    case DType::kI32: t.as<int32_t>()[i] = v; return;
    default: set_packed(t.data(), 4, i, static_cast<uint8_t>(v & 15)); return;
  }
}

int32_t get(const HostTensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kI8: return t.as<int8_t>()[i];
    case DType::kU8: return t.as<uint8_t>()[i];
    case DType::kI32: return t.as<int32_t>()[i];
    default: return static_cast<int32_t>(narrow_at(t.dtype(), t.data(), i));
  }
}

}  // namespace

IntegerRange integer_range(DType dtype) {
  switch (dtype) {
    case DType::kI8: return {-128, 127};
    case DType::kU8: return {0, 255};
    case DType::kI4: return {-8, 7};
    case DType::kU4: return {0, 15};
    case DType::kI32: return {INT32_MIN, INT32_MAX};
    default:
      throw_error("quantize", std::string("no integers of dtype ") + dtype_name(dtype) +
                                  ": int8, uint8, int4 and uint4 there are");
  }
}

QParams params_of(Range range, DType dtype, bool symmetric) {
  return params_of(std::vector<Range>{range}, dtype, symmetric, -1);
}

QParams params_of(const std::vector<Range>& ranges, DType dtype, bool symmetric, int64_t axis) {
  const IntegerRange q = integer_range(dtype);
  const bool is_signed = q.lo < 0;
  const auto half = static_cast<float>(is_signed ? q.hi : q.hi / 2);
  QParams p;
  p.dtype = dtype, p.axis = axis;
  for (const Range& r : ranges) {
    if (!std::isfinite(r.lo) || !std::isfinite(r.hi) || r.lo > r.hi) {
      throw_error("quantize", "no range: " + std::to_string(r.lo) + " to " + std::to_string(r.hi));
    }
    const float lo = std::min(r.lo, 0.0F), hi = std::max(r.hi, 0.0F);
    float scale = 1;
    if (symmetric) {
      scale = std::max(-lo, hi) / half;
    } else {
      const auto steps = static_cast<float>(q.hi - q.lo);
      const float width = hi - lo;
      scale = std::isfinite(width) ? width / steps : hi / steps - lo / steps;
    }
    if (lo == 0 && hi == 0) scale = 1;
    scale = std::max(scale, kLeastScale);
    int32_t zero = is_signed ? 0 : q.hi / 2 + 1;
    if (!symmetric) {
      const float at = std::nearbyint(-lo / scale) + static_cast<float>(q.lo);
      zero =
          static_cast<int32_t>(std::clamp(at, static_cast<float>(q.lo), static_cast<float>(q.hi)));
    }
    p.scale.push_back(scale);
    p.zero_point.push_back(zero);
  }
  return p;
}

void check(const QParams& q, const std::string& name) {
  const IntegerRange r = integer_range(q.dtype);
  if (q.scale.empty() || q.scale.size() != q.zero_point.size() ||
      (q.per_tensor() && q.scale.size() != 1)) {
    throw_error("quantize", name + ": " + std::to_string(q.scale.size()) + " scales, " +
                                std::to_string(q.zero_point.size()) + " zero points");
  }
  for (size_t i = 0; i < q.scale.size(); ++i) {
    if (!std::isfinite(q.scale[i]) || q.scale[i] <= 0) {
      throw_error("quantize", name + ": scale " + std::to_string(i) + " is " +
                                  std::to_string(q.scale[i]) + ", it must be finite and > 0");
    }
    if (q.zero_point[i] < r.lo || q.zero_point[i] > r.hi) {
      throw_error("quantize", name + ": zero point " + std::to_string(i) + " is " +
                                  std::to_string(q.zero_point[i]) + ", no " + dtype_name(q.dtype));
    }
  }
}

HostTensor to_integers(const HostTensor& x, const QParams& q) {
  if (x.dtype() != DType::kF32)
    throw_error("quantize", std::string("takes float32, got ") + dtype_name(x.dtype()));
  check_fits(x, q);
  const IntegerRange r = integer_range(q.dtype);
  const ScaleAt at(x, q);
  HostTensor out(q.dtype, x.shape());
  const float* v = x.as<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const size_t k = at(i);
    // Doubles hold the sum of a rounded float and a zero point exactly, and int32's bounds too.
    const double real = std::nearbyint(v[i] / q.scale[k]);
    const double whole = (real == real ? real : 0) + q.zero_point[k];
    put(out, i, static_cast<int32_t>(std::clamp<double>(whole, r.lo, r.hi)));
  }
  return out;
}

HostTensor to_reals(const HostTensor& x, const QParams& q) {
  if (x.dtype() != q.dtype) {
    throw_error("quantize", std::string("integers of ") + dtype_name(x.dtype()) + ", not " +
                                dtype_name(q.dtype));
  }
  check_fits(x, q);
  const ScaleAt at(x, q);
  HostTensor out(DType::kF32, x.shape());
  for (int64_t i = 0; i < x.numel(); ++i) {
    const size_t k = at(i);
    out.as<float>()[i] =
        static_cast<float>(static_cast<double>(get(x, i)) - q.zero_point[k]) * q.scale[k];
  }
  return out;
}

HostTensor scale_tensor(const QParams& q) {
  const Shape s = q.per_tensor() ? Shape{} : Shape{static_cast<int64_t>(q.scale.size())};
  return HostTensor::of(s, q.scale);
}

HostTensor zero_point_tensor(const QParams& q) {
  const Shape s = q.per_tensor() ? Shape{} : Shape{static_cast<int64_t>(q.zero_point.size())};
  HostTensor t(q.dtype, s);
  for (size_t i = 0; i < q.zero_point.size(); ++i) put(t, static_cast<int64_t>(i), q.zero_point[i]);
  return t;
}

}  // namespace wick::quantize

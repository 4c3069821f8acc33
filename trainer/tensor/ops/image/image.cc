#include "trainer/tensor/ops/image/image.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/resize_scale.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/image/native_interpolate.h"
#include "trainer/tensor/own_memory.h"

namespace wick {
namespace {

// The inputs that the outputs of a resized dim read: int64 indices [out] and their weights, float64
// [out]. Without weights the element is copied.
struct Taps {
  std::vector<Tensor> from, weight;
};

// Describes how a dim is resized. Numbers that depend on its size are tensors, so that a graph
// computes them.
struct Resizing {
  int64_t in, out;
  double factor;  // 0: use the sizes
  bool align_corners;
  const At& at;

  Tensor number(int64_t n, DType dtype) const { return full({}, n, dtype, at.where); }
  // Returns the indices of the outputs.
  Tensor places(DType dtype) const { return arange(0, out, 1, dtype, at.where); }
  Tensor last() const { return number(in - 1, DType::kI64); }

  // Returns the scale as a factor for output indices, in the arithmetic of `dtype`.
  Tensor scale(DType dtype) const {
    if (factor != 0) return full({}, 1.0 / factor, dtype, at.where);
    return at(number(in, dtype)) / at(number(out, dtype));
  }
  // Returns the positions of the outputs among the inputs, float64. With align_corners, a single
  // output is at 0.
  Tensor positions() const {
    const DType f64 = DType::kF64;
    if (align_corners) {
      Tensor step = at(number(in - 1, f64)) / at(number(std::max<int64_t>(out - 1, 1), f64));
      return at(step) * at(places(f64));
    }
    return at(at(scale(f64)) * at(at(places(f64)) + 0.5)) - 0.5;
  }
};

// PyTorch computes nearest positions in float32 for any dtype.
Taps nearest(const Resizing& r, bool exact) {
  const At& at = r.at;
  Tensor i = r.places(DType::kF32);
  if (exact) i = at(i) + 0.5;
  Tensor place = floor(at(at(i) * at(r.scale(DType::kF32)))).to(DType::kI64, at.where);
  return {{minimum(at(place), at(r.last()))}, {}};
}
Taps linear_taps(const Resizing& r) {
  const At& at = r.at;
  Tensor place = r.positions();
  if (!r.align_corners) place = maximum(at(place), at(full({}, 0, DType::kF64, at.where)));
  Tensor lo = minimum(at(place.to(DType::kI64, at.where)), at(r.last()));
  Tensor hi = minimum(at(at(lo) + 1), at(r.last()));
  Tensor t = at(place) - at(lo.to(DType::kF64, at.where));
  return {{lo, hi}, {1 - at(t), t}};
}
// Keys's cubic with a = -0.75: four neighbours, the border repeated.
Taps cubic_taps(const Resizing& r) {
  constexpr double kA = -0.75;
  const At& at = r.at;
  auto near = [&](const Tensor& d) {
    Tensor y = at((kA + 2) * at(d)) - (kA + 3);
    y = at(at(y) * at(d)) * at(d);
    return at(y) + 1;
  };
  auto far = [&](const Tensor& d) {
    Tensor y = at(kA * at(d)) - 5 * kA;
    y = at(at(y) * at(d)) + 8 * kA;
    return at(at(y) * at(d)) - 4 * kA;
  };
  Tensor place = r.positions(), first = floor(at(place));
  Tensor t = at(place) - at(first);
  first = first.to(DType::kI64, at.where);
  Taps taps;
  for (int64_t k = 0; k < 4; ++k) {
    Tensor from = maximum(at(at(first) + (k - 1)), at(r.number(0, DType::kI64)));
    taps.from.push_back(minimum(at(from), at(r.last())));
  }
  taps.weight = {far(at(t) + 1), near(t), near(1 - at(t)), far(2 - at(t))};
  return taps;
}

// Returns the weights [out, in] of antialiasing: a triangle, or Keys's cubic with a = -0.5, as wide
// as the pixels that an output covers. Its sum over the pixels within its reach is 1.
Tensor antialias_weights(const Resizing& r, bool cubic) {
  const At& at = r.at;
  const DType f64 = DType::kF64;
  const Tensor zero = r.number(0, f64), one = r.number(1, f64);
  Tensor scale = r.scale(f64);
  if (r.align_corners) {
    scale = r.out > 1 ? Tensor(at(r.number(r.in - 1, f64)) / at(r.number(r.out - 1, f64))) : zero;
  }
  const Tensor wide = maximum(at(scale), at(one)), reach = at(wide) * (cubic ? 2.0 : 1.0);
  const Tensor center = (at(scale) * at(at(r.places(f64)) + 0.5)).unsqueeze(1, at.where);
  const Tensor pixel = arange(0, r.in, 1, f64, at.where);
  const Tensor begin = floor(at(at(at(center) - at(reach)) + 0.5));
  const Tensor end = floor(at(at(at(center) + at(reach)) + 0.5));
  const Tensor d = abs(at(at(at(at(pixel) - at(center)) + 0.5) / at(wide)));
  Tensor weight = maximum(at(1 - at(d)), at(zero));
  if (cubic) {
    const Tensor near = at(at(at(at(at(d) * 1.5) - 2.5) * at(d)) * at(d)) + 1;
    const Tensor far = at(at(at(at(at(at(d) - 5) * at(d)) + 8) * at(d)) - 4) * -0.5;
    const Tensor outer = where(at(lt(at(d), 2)), at(far), at(zero));
    weight = where(at(lt(at(d), 1)), at(near), at(outer));
  }
  const Tensor within = logical_and(at(ge(at(pixel), at(begin))), at(lt(at(pixel), at(end))));
  weight = where(at(within), at(weight), at(zero));
  return at(weight) / at(sum(at(weight), {1}, true));
}

// x is one tensor, or one for each tap.
Tensor resize(const std::vector<Tensor>& x, int dim, const Taps& taps, const At& at) {
  Tensor y;
  for (size_t k = 0; k < taps.from.size(); ++k) {
    const Tensor& source = x[x.size() == 1 ? 0 : k];
    const auto beside = [&](const Tensor& t) { return moved_beside(source, t, at.where); };
    Tensor part = index_select(at(source), dim, at(beside(taps.from[k])));
    if (taps.weight.empty()) return part;
    Dims line;
    for (int i = 0; i < source.rank(); ++i) line.values[line.count++] = i == dim ? -1 : 1;
    const Tensor weight = reshape_to(taps.weight[k].to(source.dtype(), at.where), line, at);
    part = at(part) * at(beside(weight));
    y = k == 0 ? part : at(y) + at(part);
  }
  return y;
}

// -- as one op of a graph, with the same arithmetic

// Returns whether an op that gets the scale as a float computes with exactly this factor.
bool is_ratio(double factor) {
  return factor > 0 && factor <= kMaxScale &&
         ratio_of(static_cast<double>(static_cast<float>(factor))).value() == factor;
}
// Returns whether nearest positions equal floor(i / factor) in integers, ONNX's definition, in
// spite of float32 rounding.
bool places_are_exact(double factor) {
  constexpr int64_t kPlaces = 1 << 20;
  if (factor != std::floor(factor) || factor > 64) return false;
  const auto scale = static_cast<float>(1.0 / factor);
  const auto whole = static_cast<int64_t>(factor);
  for (int64_t i = 0; i < kPlaces; ++i) {
    if (static_cast<int64_t>(std::floor(static_cast<float>(i) * scale)) != i / whole) return false;
  }
  return true;
}

bool is_one_op(const Tensor& x, const InterpolateOptions& o, bool smooth) {
  if (o.antialias) return false;
  if (smooth && x.dtype() != DType::kF32 && x.dtype() != DType::kF64) return false;
  return std::all_of(o.scale_factor.begin(), o.scale_factor.end(), is_ratio);
}

// Where the ops need not be visible, one node takes the place of a linear or cubic interpolation of
// float32, with the bits of its ops.
bool is_one_node(const Tensor& x, bool smooth) {
  return smooth && x.dtype() == DType::kF32 && x.rank() <= 4 && x.layout().numel() != 0 &&
         !x.is_vulkan() && modes().forward == 0;
}

// The same as one node of the graph, whose gradient is that of the ops.
Tensor resize_node(const Arg& x, const InterpolateOptions& o, bool cubic, const Sizes& out,
                   const Tensor& scales, const Tensor& sizes, const ResizeAttrs& a) {
  struct Line {
    int64_t in, out;
    double factor;
  };
  std::vector<Line> lines;
  for (int i = 0; i < out.count; ++i) {
    const size_t k = o.scale_factor.size() == 1 ? 0 : static_cast<size_t>(i);
    lines.push_back({dim_of(x.tensor, 2 + i), out[i], o.size.empty() ? o.scale_factor[k] : 0});
  }
  const auto ops = [lines, cubic, corners = o.align_corners](std::vector<Tensor> y) {
    const At at(Where::current());
    for (size_t i = 0; i < lines.size(); ++i) {
      const Resizing r{lines[i].in, lines[i].out, lines[i].factor, corners, at};
      y = {resize(y, 2 + static_cast<int>(i), cubic ? cubic_taps(r) : linear_taps(r), at)};
    }
    return y[0];
  };
  return detail::native_interpolate(x, cubic ? 4 : 2, scales, sizes, a, ops);
}

// `out` has the spatial sizes.
Tensor resize_op(const Arg& x, const InterpolateOptions& o, bool smooth, bool cubic,
                 const Sizes& out) {
  ResizeAttrs a;
  const bool exact = o.mode == "nearest-exact";
  const ResizeMode mode = cubic    ? ResizeMode::kCubic
                          : smooth ? ResizeMode::kLinear
                                   : ResizeMode::kNearest;
  a.mode = static_cast<int64_t>(mode);
  a.coordinates = static_cast<int64_t>(o.align_corners   ? ResizeCoordinates::kAlignCorners
                                       : smooth || exact ? ResizeCoordinates::kHalfPixel
                                                         : ResizeCoordinates::kAsymmetric);
  a.nearest_mode = static_cast<int64_t>(exact    ? ResizeNearest::kPreferCeil
                                        : smooth ? ResizeNearest::kPreferFloor
                                                 : ResizeNearest::kFloor);
  std::vector<float> factors = {1, 1};
  std::vector<int64_t> to = {dim_of(x.tensor, 0), dim_of(x.tensor, 1)};
  bool plain = !smooth && !exact && o.size.empty();
  for (int64_t i = 0; i < out.count; ++i) {
    to.push_back(out[i]);
    if (!o.size.empty()) continue;
    const double factor = o.scale_factor[o.scale_factor.size() == 1 ? 0 : static_cast<size_t>(i)];
    factors.push_back(static_cast<float>(factor));
    plain = plain && places_are_exact(factor);
  }
  a.interpolate = plain ? 0 : 1;
  const Tensor scales = o.size.empty() ? tensor(factors) : Tensor();
  const Tensor sizes = o.size.empty() ? Tensor() : tensor(to);
  if (active_tracer() == nullptr) return resize_node(x, o, cubic, out, scales, sizes, a);
  return detail::resized(x, scales, sizes, a);
}

}  // namespace

Tensor pad(const Arg& x, std::initializer_list<SizeArg> pads, std::string_view mode, double value) {
  if (mode == "constant") return pad(x, pads, value);
  const int rank = x.tensor.rank(), dims = static_cast<int>(pads.size() / 2);
  const bool reflect = mode == "reflect", circular = mode == "circular";
  if (!reflect && !circular && mode != "replicate") {
    throw_error("pad",
                "mode is \"constant\", \"reflect\", \"replicate\" or \"circular\", got \"" +
                    std::string(mode) + "\"",
                x.where);
  }
  if (pads.size() % 2 != 0 || dims > rank) {
    throw_error("pad", "needs two values a dimension, at most " + std::to_string(2 * rank),
                x.where);
  }
  PadAttrs a;
  a.mode = static_cast<int64_t>(reflect    ? PadMode::kReflect
                                : circular ? PadMode::kWrap
                                           : PadMode::kEdge);
  a.pads.count = 2 * rank;
  const SizeArg* p = pads.begin();
  for (int i = 0; i < dims; ++i) {
    const int d = rank - 1 - i;
    const int64_t n = x.tensor.raw_shape()[d];
    for (int side = 0; side < 2; ++side) {
      const int64_t by = p[2 * i + side];
      if ((reflect && by >= n && by > 0) || (circular && by > n) || (n == 0 && by > 0)) {
        bad_shape("pad",
                  "a " + std::string(mode) + " pad of " + std::to_string(by) +
                      " does not fit dimension " + std::to_string(d) + " of " + text(x.tensor),
                  x.where);
      }
    }
    a.pads.values[d] = p[2 * i];
    a.pads.values[rank + d] = p[2 * i + 1];
  }
  return call(OpId::kPad, a, {x});
}

Tensor interpolate(const Arg& x, const InterpolateOptions& o) {
  const At at(x);
  const int spatial = x.tensor.rank() - 2;
  const bool by_size = !o.size.empty(), exact = o.mode == "nearest-exact";
  static constexpr const char* kLinear[] = {"", "linear", "bilinear", "trilinear"};
  if (spatial < 1 || spatial > 3) {
    bad_shape("interpolate", "input must be [N, C] and 1 to 3 spatial dims, got " + text(x.tensor),
              x.where);
  }
  const bool cubic = o.mode == "bicubic" && spatial == 2, area = o.mode == "area";
  const bool linear = o.mode == kLinear[spatial], smooth = linear || cubic;
  if (!smooth && !exact && !area && o.mode != "nearest") {
    throw_error("interpolate",
                "mode of a " + text(x.tensor) + " is \"nearest\", \"nearest-exact\", \"area\"" +
                    (spatial == 2 ? ", \"bicubic\"" : "") + " or \"" + kLinear[spatial] +
                    "\", got \"" + o.mode + "\"",
                x.where);
  }
  if (o.align_corners && !smooth) {
    throw_error("interpolate", "align_corners needs a linear or cubic mode", x.where);
  }
  const size_t given = by_size ? o.size.size() : o.scale_factor.size();
  if (by_size == !o.scale_factor.empty() || (given != 1 && given != static_cast<size_t>(spatial))) {
    throw_error(
        "interpolate",
        "needs either size or scale_factor, of 1 or " + std::to_string(spatial) + " numbers",
        x.where);
  }
  if ((smooth || area) && !is_float(x.tensor.dtype())) {
    throw_error("interpolate",
                "mode \"" + o.mode + "\" needs floats, got " + dtype_name(x.tensor.dtype()) +
                    "; cast with .to(...), or use \"nearest\"",
                x.where, Code::kTypeMismatch);
  }
  if (o.antialias && (spatial != 2 || !smooth)) {
    throw_error(
        "interpolate",
        "antialias goes with the modes \"bilinear\" and \"bicubic\" of [N, C, H, W], got \"" +
            o.mode + "\" for " + text(x.tensor),
        x.where);
  }
  if (o.recompute_scale_factor && by_size) {
    throw_error("interpolate", "recompute_scale_factor needs scale_factor, got a size", x.where);
  }
  const auto size_of = [&](const Tensor& t, int i) {
    const size_t k = given == 1 ? 0 : static_cast<size_t>(i);
    return by_size ? o.size[k].number
                   : static_cast<int64_t>(
                         std::floor(static_cast<double>(dim_of(t, 2 + i)) * o.scale_factor[k]));
  };
  if (area) {
    const auto n = [&](int i) { return size_of(x.tensor, i); };
    if (spatial == 1) return adaptive_avg_pool1d(x, n(0));
    if (spatial == 2) return adaptive_avg_pool2d(x, {n(0), n(1)});
    return adaptive_avg_pool3d(x, {n(0), n(1), n(2)});
  }
  if (o.recompute_scale_factor) {
    InterpolateOptions sized = o;
    sized.recompute_scale_factor = false;
    sized.scale_factor.clear();
    for (int i = 0; i < spatial; ++i) sized.size.emplace_back(size_of(x.tensor, i));
    return interpolate(x, sized);
  }
  // Returns the factor of a dim; 0: the sizes say it. A linear mode copies a dim that stays as it
  // is; with align_corners, or of one element, it does so by itself.
  const auto factor_of = [&](int i, int64_t in, int64_t out) {
    if (by_size) return 0.0;
    const double factor = o.scale_factor[given == 1 ? 0 : static_cast<size_t>(i)];
    const bool copies = linear && !o.antialias && !o.align_corners && in == out && in > 1;
    return copies && factor != 1 ? 0.0 : factor;
  };
  bool as_given = true;  // the op of a graph has the factors of all dims, or none
  for (int i = 0; i < spatial; ++i) {
    as_given =
        as_given && (by_size || factor_of(i, dim_of(x.tensor, 2 + i), size_of(x.tensor, i)) != 0);
  }
  const bool one = active_tracer() != nullptr || is_one_node(x.tensor, smooth);
  if (one && as_given && is_one_op(x.tensor, o, smooth)) {
    Sizes out;
    bool empty = false;
    for (int i = 0; i < spatial; ++i) {
      out.values[out.count++] = size_of(x.tensor, i);
      empty = empty || out[i] < 1 || dim_of(x.tensor, 2 + i) < 1;
    }
    if (!empty) return resize_op(x, o, smooth, cubic, out);
  }
  Tensor y = x.tensor;
  for (int i = 0; i < spatial; ++i) {
    const int64_t in = dim_of(y, 2 + i), out = size_of(y, i);
    if (out < 1 || in < 1) {
      bad_shape("interpolate",
                "sizes must be >= 1, got " + std::to_string(in) + " -> " + std::to_string(out),
                x.where);
    }
    if (!smooth && in == out && by_size && active_tracer() == nullptr) continue;
    const Resizing r{in, out, factor_of(i, in, out), o.align_corners, at};
    if (o.antialias) {
      const AutocastScope plain(DType::kBF16, false, x.where);  // a mean, in x's dtype
      const Tensor made = antialias_weights(r, cubic).to(x.tensor.dtype(), x.where);
      const Tensor weight = moved_beside(x.tensor, made, x.where);
      y = i == 0 ? matmul(at(weight), at(y)) : matmul(at(y), at(mt(weight, at)));
      continue;
    }
    y = resize({y}, 2 + i, cubic ? cubic_taps(r) : smooth ? linear_taps(r) : nearest(r, exact), at);
  }
  return own_memory(y, x.tensor, x.where);
}

Tensor pixel_shuffle(const Arg& x, int64_t f) {
  const At at(x);
  const int rank = x.tensor.rank();
  const int64_t area = saturated_product(f, f);
  if (f < 1 || rank < 3 || rank > 6 || dim_of(x.tensor, -3) % area != 0) {
    bad_shape("pixel_shuffle",
              "needs [..., C * " + std::to_string(area) + ", H, W], got " + text(x.tensor),
              x.where);
  }
  const int64_t c = dim_of(x.tensor, -3) / area, h = dim_of(x.tensor, -2), w = dim_of(x.tensor, -1);
  Dims split, joined;
  for (int i = 0; i + 3 < rank; ++i) {
    split.values[split.count++] = kCopy;
    joined.values[joined.count++] = kCopy;
  }
  TransposeAttrs p;
  for (int i = 0; i + 3 < rank; ++i) p.perm.values[p.perm.count++] = i;
  for (int64_t d : {0, 3, 1, 4, 2}) p.perm.values[p.perm.count++] = rank - 3 + d;
  for (int64_t d : {c, f, f, h, w}) split.values[split.count++] = d;
  for (int64_t d : {c, saturated_product(h, f), saturated_product(w, f)})
    joined.values[joined.count++] = d;
  const Tensor moved = call(OpId::kTranspose, p, {at(reshape_to(x.tensor, split, at))});
  return own_memory(reshape_to(moved, joined, at), x.tensor, x.where);
}

Tensor pixel_unshuffle(const Arg& x, int64_t f) {
  const At at(x);
  const int rank = x.tensor.rank();
  if (f < 1 || rank < 3 || rank > 6 || dim_of(x.tensor, -2) % f != 0 ||
      dim_of(x.tensor, -1) % f != 0) {
    bad_shape("pixel_unshuffle",
              "needs [..., C, H, W] of sizes divisible by " + std::to_string(f) + ", got " +
                  text(x.tensor),
              x.where);
  }
  const int64_t c = dim_of(x.tensor, -3), h = dim_of(x.tensor, -2) / f,
                w = dim_of(x.tensor, -1) / f;
  Dims split, joined;
  TransposeAttrs p;
  for (int i = 0; i + 3 < rank; ++i) {
    split.values[split.count++] = kCopy;
    joined.values[joined.count++] = kCopy;
    p.perm.values[p.perm.count++] = i;
  }
  for (int64_t d : {0, 2, 4, 1, 3}) p.perm.values[p.perm.count++] = rank - 3 + d;
  for (int64_t d : {c, h, f, w, f}) split.values[split.count++] = d;
  for (int64_t d : {saturated_product(saturated_product(c, f), f), h, w})
    joined.values[joined.count++] = d;
  const Tensor moved = call(OpId::kTranspose, p, {at(reshape_to(x.tensor, split, at))});
  return own_memory(reshape_to(moved, joined, at), x.tensor, x.where);
}

Tensor channel_shuffle(const Arg& x, int64_t groups) {
  const At at(x);
  const int rank = x.tensor.rank();
  if (groups < 1 || rank < 3 || rank >= kMaxRank || dim_of(x.tensor, 1) % groups != 0) {
    bad_shape("channel_shuffle",
              "needs [N, C, ...] with C divisible by " + std::to_string(groups) + ", got " +
                  text(x.tensor),
              x.where);
  }
  const int64_t c = dim_of(x.tensor, 1);
  Dims split{kCopy, groups, c / groups}, joined{kCopy, c};
  for (int i = 2; i < rank; ++i) {
    split.values[split.count++] = dim_of(x.tensor, i);
    joined.values[joined.count++] = dim_of(x.tensor, i);
  }
  Tensor t = reshape_to(x.tensor, split, at).transpose(1, 2, x.where);
  return own_memory(reshape_to(t, joined, at), x.tensor, x.where);
}

}  // namespace wick

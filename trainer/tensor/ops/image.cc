#include "trainer/tensor/ops/image.h"

#include <algorithm>
#include <cmath>

#include "trainer/tensor/compose.h"

namespace wick {
namespace {

// What output i of a resized dim reads: elements lo and hi, hi with weight `t`.
struct Taps {
  std::vector<int64_t> lo, hi;
  std::vector<double> t;
};

// PyTorch computes nearest positions in float32 whatever the tensor's dtype.
Taps nearest(int64_t in, int64_t out, float scale, bool exact) {
  Taps taps;
  for (int64_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + (exact ? 0.5F : 0.0F)) * scale;
    taps.lo.push_back(std::min(static_cast<int64_t>(std::floor(at)), in - 1));
  }
  return taps;
}
Taps linear_taps(int64_t in, int64_t out, double scale, bool align_corners) {
  Taps taps;
  if (align_corners) {
    scale = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  }
  for (int64_t i = 0; i < out; ++i) {
    const auto d = static_cast<double>(i);
    const double at = align_corners ? scale * d : std::max(scale * (d + 0.5) - 0.5, 0.0);
    const int64_t lo = std::min(static_cast<int64_t>(at), in - 1);
    taps.lo.push_back(lo);
    taps.hi.push_back(std::min(lo + 1, in - 1));
    taps.t.push_back(at - static_cast<double>(lo));
  }
  return taps;
}

// Keys's cubic with a = -0.75: four neighbours, the border repeated.
struct CubicTaps {
  std::vector<int64_t> from[4];
  std::vector<double> weight[4];
};
CubicTaps cubic_taps(int64_t in, int64_t out, double scale, bool align_corners) {
  constexpr double kA = -0.75;
  auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  CubicTaps taps;
  if (align_corners) {
    scale = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  }
  for (int64_t i = 0; i < out; ++i) {
    const auto d = static_cast<double>(i);
    const double at = align_corners ? scale * d : scale * (d + 0.5) - 0.5;
    const auto first = static_cast<int64_t>(std::floor(at));
    const double t = at - static_cast<double>(first);
    const double weights[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (int k = 0; k < 4; ++k) {
      taps.from[k].push_back(std::clamp<int64_t>(first - 1 + k, 0, in - 1));
      taps.weight[k].push_back(weights[k]);
    }
  }
  return taps;
}
Tensor resize(const Tensor& x, int dim, const CubicTaps& taps, const At& at) {
  Tensor y;
  for (int k = 0; k < 4; ++k) {
    Tensor part = index_select(at(x), dim, at(tensor(taps.from[k])));
    Shape line;
    for (int i = 0; i < x.rank(); ++i) line.push_back(i == dim ? dim_of(part, dim) : 1);
    part = at(part) * at(tensor(taps.weight[k]).to(x.dtype()).reshape(line));
    y = k == 0 ? part : at(y) + at(part);
  }
  return y;
}

Tensor resize(const Tensor& x, int dim, const Taps& taps, const At& at) {
  Tensor lo = index_select(at(x), dim, at(tensor(taps.lo)));
  if (taps.hi.empty()) return lo;
  Tensor hi = index_select(at(x), dim, at(tensor(taps.hi)));
  Shape line;
  for (int i = 0; i < x.rank(); ++i) line.push_back(i == dim ? dim_of(lo, dim) : 1);
  std::vector<double> rest;
  for (double t : taps.t) rest.push_back(1 - t);
  Tensor t = tensor(taps.t).to(x.dtype()).reshape(line);
  Tensor r = tensor(rest).to(x.dtype()).reshape(line);
  return at(at(lo) * at(r)) + at(at(hi) * at(t));
}

}  // namespace

Tensor pad(const Arg& x, std::initializer_list<int64_t> pads, std::string_view mode, double value) {
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
  const int64_t* p = pads.begin();
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
  const bool cubic = o.mode == "bicubic" && spatial == 2;
  const bool smooth = o.mode == kLinear[spatial] || cubic;
  if (!smooth && !exact && o.mode != "nearest") {
    throw_error("interpolate",
                "mode of a " + text(x.tensor) + " is \"nearest\", \"nearest-exact\"" +
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
  Tensor y = x.tensor;
  for (int i = 0; i < spatial; ++i) {
    const size_t k = given == 1 ? 0 : static_cast<size_t>(i);
    const int64_t in = dim_of(y, 2 + i);
    const double factor = by_size ? 0 : o.scale_factor[k];
    const int64_t out =
        by_size ? o.size[k] : static_cast<int64_t>(std::floor(static_cast<double>(in) * factor));
    if (out < 1 || in < 1) {
      bad_shape("interpolate",
                "sizes must be >= 1, got " + std::to_string(in) + " -> " + std::to_string(out),
                x.where);
    }
    const double scale =
        by_size ? static_cast<double>(in) / static_cast<double>(out) : 1.0 / factor;
    if (!smooth && in == out && by_size) continue;
    if (cubic) {
      y = resize(y, 2 + i, cubic_taps(in, out, scale, o.align_corners), at);
      continue;
    }
    const float nearest_scale = by_size ? static_cast<float>(in) / static_cast<float>(out)
                                        : static_cast<float>(1.0 / factor);
    y = resize(y, 2 + i,
               smooth ? linear_taps(in, out, scale, o.align_corners)
                      : nearest(in, out, nearest_scale, exact),
               at);
  }
  return y;
}

Tensor pixel_shuffle(const Arg& x, int64_t f) {
  const At at(x);
  const int rank = x.tensor.rank();
  if (f < 1 || rank < 3 || rank > 6 || dim_of(x.tensor, -3) % (f * f) != 0) {
    bad_shape("pixel_shuffle",
              "needs [..., C * " + std::to_string(f * f) + ", H, W], got " + text(x.tensor),
              x.where);
  }
  const int64_t c = dim_of(x.tensor, -3) / (f * f), h = dim_of(x.tensor, -2),
                w = dim_of(x.tensor, -1);
  Dims split, joined;
  for (int i = 0; i + 3 < rank; ++i) {
    split.values[split.count++] = kCopy;
    joined.values[joined.count++] = kCopy;
  }
  TransposeAttrs p;
  for (int i = 0; i + 3 < rank; ++i) p.perm.values[p.perm.count++] = i;
  for (int64_t d : {0, 3, 1, 4, 2}) p.perm.values[p.perm.count++] = rank - 3 + d;
  for (int64_t d : {c, f, f, h, w}) split.values[split.count++] = d;
  for (int64_t d : {c, h * f, w * f}) joined.values[joined.count++] = d;
  return reshape_to(call(OpId::kTranspose, p, {at(reshape_to(x.tensor, split, at))}), joined, at);
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
  for (int64_t d : {c * f * f, h, w}) joined.values[joined.count++] = d;
  return reshape_to(call(OpId::kTranspose, p, {at(reshape_to(x.tensor, split, at))}), joined, at);
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
  return reshape_to(t, joined, at);
}

}  // namespace wick

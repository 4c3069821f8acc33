// RoiAlign and MaxRoiPool: the gradient goes to the pixels that were read. The regions themselves
// get none, as in torchvision. Which pixels those are is found on the host, by the kernels' own
// functions; what they get is a formula of the gradient, so that it can be differentiated.
#include "runtime/kernels/reference/roi.h"

#include "trainer/autograd/grad/common.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick {
namespace {

using reference::Corner;
using reference::PixelRegion;
using reference::Region;
using reference::Samples;

// The type in which the kernels compute: float for all but float64.
DType real_of(DType t) { return t == DType::kF64 ? DType::kF64 : DType::kF32; }

template <class T>
std::vector<T> numbers(const Tensor& t) {
  NoGrad guard;
  return to_host(t.detach()).to(dtype_of<T>).template to_vector<T>();
}

// A list of what goes where: output `from` gives `share` of its gradient to pixel `to`.
struct Shares {
  std::vector<int64_t> from, to;
  std::vector<double> share;

  void add(int64_t output, int64_t pixel, double weight) {
    from.push_back(output);
    to.push_back(pixel);
    share.push_back(weight);
  }
};

// Gives each output's gradient to one pixel of x; all lists have the outputs' order.
Tensor to_pixels(const GradCtx& c, const std::vector<int64_t>& pixel,
                 const std::vector<double>& share) {
  const Shape x = c.in_shape(0);
  const DType real = real_of(c.in_dtype(0));
  if (pixel.empty()) return zeros_of(c, 0);
  const Tensor part = c.g().to(real).reshape({-1}) * moved_beside(c.g(), tensor(share).to(real));
  const Tensor none = zeros_beside(c.g(), {numel(x)}, real);
  return scatter_add(none, 0, moved_beside(c.g(), tensor(pixel)), part)
      .reshape(x)
      .to(c.in_dtype(0));
}

// The mean of a bin's samples is the same sum of pixels for all channels.
template <class R>
Shares mean_shares(const GradCtx& c) {
  const auto& a = c.attrs<RoiAlignAttrs>();
  const Shape x = c.in_shape(0), y = c.out_shape(0);
  const std::vector<R> rois = numbers<R>(c.in(1));
  const std::vector<int64_t> images = numbers<int64_t>(c.in(2));
  Shares all;
  for (int64_t n = 0; n < y[0]; ++n) {
    Region<R> r = {};
    static_cast<void>(reference::region<R>(a, rois.data() + 4 * n, n, &r));  // the kernel checked
    const auto count = static_cast<double>(r.rows * r.columns > 1 ? r.rows * r.columns : 1);
    const int64_t image = images[static_cast<size_t>(n)] * x[2] * x[3];
    for (int64_t bin = 0; bin < y[2] * y[3]; ++bin) {
      const Samples<R> rows = r.in_row(bin / y[3]), columns = r.in_column(bin % y[3]);
      int64_t i0, i1, j0, j1;
      rows.inside(x[2], &i0, &i1);
      columns.inside(x[3], &j0, &j1);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) {
          const Corner<R> k = reference::corner(rows.at(i), columns.at(j), x[2], x[3]);
          for (int q = 0; q < 4; ++q) {
            if (k.weight[q] == 0) continue;
            all.add(n * y[2] * y[3] + bin, image + k.at[q],
                    static_cast<double>(k.weight[q]) / count);
          }
        }
      }
    }
  }
  return all;
}

template <class R>
Tensor align_mean(const GradCtx& c) {
  const Shape x = c.in_shape(0), y = c.out_shape(0);
  const Shares all = mean_shares<R>(c);
  const int64_t bins = y[2] * y[3], plane = x[2] * x[3];
  if (all.to.empty() || x[1] == 0) return zeros_of(c, 0);
  // rows of channels: [regions * bins, C] to [images * pixels, C]
  const Tensor g = c.g().to(dtype_of<R>).reshape({y[0], y[1], bins}).transpose(1, 2);
  const Tensor from = moved_beside(g, tensor(all.from)), to = moved_beside(g, tensor(all.to));
  const Tensor share = moved_beside(g, tensor(all.share).to(dtype_of<R>).unsqueeze(1));
  const Tensor part = index_select(g.reshape({y[0] * bins, y[1]}), 0, from) * share;
  const Tensor none = zeros_beside(c.g(), {x[0] * plane, x[1]}, dtype_of<R>);
  const Tensor rows = index_add(none, 0, to, part);
  return rows.reshape({x[0], plane, x[1]}).transpose(1, 2).reshape(x).to(c.in_dtype(0));
}

// The largest of all samples' weighted pixels, in the kernel's order: of equal ones the first.
template <class R>
struct Largest {
  const R* source;
  R value = 0, weight = 0;
  int64_t at = 0;
  bool first = true;

  void see(const Corner<R>& k) {
    int best = 0;
    for (int q = 1; q < 4; ++q)
      if (k.weight[q] * source[k.at[q]] > k.weight[best] * source[k.at[best]]) best = q;
    const R v = k.weight[best] * source[k.at[best]];
    if (first || v > value) value = v, weight = k.weight[best], at = k.at[best];
    first = false;
  }
};

template <class R>
Tensor align_max(const GradCtx& c) {
  const auto& a = c.attrs<RoiAlignAttrs>();
  const Shape x = c.in_shape(0), y = c.out_shape(0);
  const std::vector<R> pixels = numbers<R>(c.in(0)), rois = numbers<R>(c.in(1));
  const std::vector<int64_t> images = numbers<int64_t>(c.in(2));
  const int64_t plane = x[2] * x[3], bins = y[2] * y[3];
  std::vector<int64_t> to;
  std::vector<double> share;
  for (int64_t e = 0; e < numel(y); ++e) {
    const int64_t n = e / bins / y[1], channel = e / bins % y[1], bin = e % bins;
    Region<R> r = {};
    static_cast<void>(reference::region<R>(a, rois.data() + 4 * n, n, &r));  // the kernel checked
    const int64_t begin = (images[static_cast<size_t>(n)] * y[1] + channel) * plane;
    const Samples<R> rows = r.in_row(bin / y[3]), columns = r.in_column(bin % y[3]);
    int64_t i0, i1, j0, j1;
    rows.inside(x[2], &i0, &i1);
    columns.inside(x[3], &j0, &j1);
    Largest<R> best{pixels.data() + begin};
    const Corner<R> outside;
    if (r.rows > 0 && r.columns > 0) {
      if (i0 > 0) best.see(outside);
      for (int64_t i = i0; i < i1; ++i) {
        if (j0 > 0) best.see(outside);
        for (int64_t j = j0; j < j1; ++j)
          best.see(reference::corner(rows.at(i), columns.at(j), x[2], x[3]));
        if (j1 < r.columns) best.see(outside);
      }
      if (i1 < r.rows) best.see(outside);
    }
    to.push_back(begin + best.at);
    share.push_back(static_cast<double>(best.weight));
  }
  return to_pixels(c, to, share);
}

template <class R>
Tensor max_pool(const GradCtx& c) {
  const auto& a = c.attrs<MaxRoiPoolAttrs>();
  const Shape x = c.in_shape(0), y = c.out_shape(0);
  const std::vector<R> pixels = numbers<R>(c.in(0)), rois = numbers<R>(c.in(1));
  const int64_t bins = y[2] * y[3];
  std::vector<int64_t> to;
  std::vector<double> share;
  for (int64_t e = 0; e < numel(y); ++e) {
    const int64_t n = e / bins / y[1], channel = e / bins % y[1], bin = e % bins;
    const R* roi = rois.data() + 5 * n;
    const PixelRegion region = reference::pixel_region(roi, static_cast<R>(a.spatial_scale));
    int64_t r0, r1, c0, c1;
    reference::bin_range<R>(bin / y[3], y[2], region.top, region.height, x[2], &r0, &r1);
    reference::bin_range<R>(bin % y[3], y[3], region.left, region.width, x[3], &c0, &c1);
    const int64_t begin = (static_cast<int64_t>(roi[0]) * y[1] + channel) * x[2] * x[3];
    int64_t best = -1;  // a bin without pixels is 0
    for (int64_t i = r0; i < r1; ++i) {
      for (int64_t j = c0; j < c1; ++j) {
        const int64_t at = begin + i * x[3] + j;
        if (best < 0 || pixels[static_cast<size_t>(at)] > pixels[static_cast<size_t>(best)])
          best = at;
      }
    }
    to.push_back(best < 0 ? 0 : best);
    share.push_back(best < 0 ? 0 : 1);
  }
  if (numel(x) == 0) return zeros_of(c, 0);
  return to_pixels(c, to, share);
}

void align_gradient(GradCtx& c) {
  const bool wide = c.in_dtype(0) == DType::kF64, max = c.attrs<RoiAlignAttrs>().max != 0;
  c.set(0, max ? (wide ? align_max<double>(c) : align_max<float>(c))
               : (wide ? align_mean<double>(c) : align_mean<float>(c)));
}

// A mean is linear in x: only the regions are saved.
const GradRow* align_row(const void* attrs) {
  static constexpr GradRow kMean = {align_gradient, 6, 0, 6}, kMax = {align_gradient, 7, 0, 6};
  return static_cast<const RoiAlignAttrs*>(attrs)->max != 0 ? &kMax : &kMean;
}

}  // namespace

WICK_GRAD_BY_ATTRS(RoiAlign, 7, 0, 6, align_row, align_gradient);
WICK_GRAD(MaxRoiPool, 3, 0, 2, [](GradCtx& c) {
  c.set(0, c.in_dtype(0) == DType::kF64 ? max_pool<double>(c) : max_pool<float>(c));
});

}  // namespace wick

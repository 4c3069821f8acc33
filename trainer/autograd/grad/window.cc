// Col2Im and DeformConv.
#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/neighbours.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick {
namespace {

// Returns, for each row and column of the windows, the pixel of the image that it is added to, or
// the number of pixels if that is padding.
std::vector<int64_t> pixels_of_windows(const Col2ImAttrs& a, const Shape& image,
                                       const std::vector<int64_t>& block) {
  const auto spatial = static_cast<int>(block.size());
  int64_t rows = 1, columns = 1, pixels = 1;
  std::vector<int64_t> windows;
  for (int d = 0; d < spatial; ++d) {
    const int64_t extent = image[2 + d], k = block[static_cast<size_t>(d)];
    const int64_t room = extent + a.pads.at_or(d, 0) + a.pads.at_or(d + spatial, 0) -
                         (k - 1) * a.dilations.at_or(d, 1) - 1;
    windows.push_back(room / a.strides.at_or(d, 1) + 1);
    rows *= k;
    columns *= windows.back();
    pixels *= extent;
  }
  std::vector<int64_t> all;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      int64_t at = 0, step = 1, tap = row, window = column;
      bool inside = true;
      for (int d = spatial - 1; d >= 0; --d) {
        const int64_t k = block[static_cast<size_t>(d)], w = windows[static_cast<size_t>(d)];
        const int64_t p = window % w * a.strides.at_or(d, 1) + tap % k * a.dilations.at_or(d, 1) -
                          a.pads.at_or(d, 0);
        inside = inside && p >= 0 && p < image[2 + d];
        at += p * step;
        step *= image[2 + d];
        tap /= k;
        window /= w;
      }
      all.push_back(inside ? at : pixels);
    }
  }
  return all;
}

// The two pixels beside each point of a dim; a point outside of the image, at -1 or beyond its end,
// reads nothing.
Neighbours pixels_beside(const Tensor& at, int64_t extent) {
  const auto last = static_cast<double>(extent - 1);
  std::vector<Tensor> index, there;
  Tensor inside, base;
  {
    NoGrad guard;
    const Tensor p = at.detach();
    inside = logical_and(gt(p, -1), lt(p, extent));
    base = floor(where(inside, p, 0));
    for (int i = 0; i < 2; ++i) {
      const Tensor pixel = base + i;
      there.push_back(logical_and(inside, logical_and(ge(pixel, 0), le(pixel, last))));
      index.push_back(clamp(pixel, 0, last).to(DType::kI64));
    }
  }
  const Tensor along = where(inside, at, 0) - base;
  return {stack(index, 1), stack({where(there[0], 1 - along, 0), where(there[1], along, 0)}, 1)};
}

// Returns what is added to the offsets of one dim: [1, taps, outputs].
Tensor plain_places(const ConvAttrs& a, const Shape& kernel, const Shape& out, int dim,
                    DType dtype) {
  const auto product = [](const Shape& s, int from) {
    int64_t n = 1;
    for (int i = from; i < s.rank(); ++i) n *= s[i];
    return n;
  };
  const int64_t taps = product(kernel, 2), outputs = product(out, 2);
  const int64_t kernel_step = product(kernel, 3 + dim), out_step = product(out, 3 + dim);
  std::vector<double> places;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t output = 0; output < outputs; ++output) {
      const int64_t p = output / out_step % out[2 + dim] * a.strides.at_or(dim, 1) -
                        a.pads.at_or(dim, 0) +
                        tap / kernel_step % kernel[2 + dim] * a.dilations.at_or(dim, 1);
      places.push_back(static_cast<double>(p));
    }
  }
  return tensor(places).to(dtype).reshape({1, taps, outputs});
}

// DeformConv without its bias, in other ops.
Tensor deformed(const std::vector<Tensor>& in, const DeformConvAttrs& a, const Shape& out) {
  const Shape x = in[0].raw_shape(), w = in[1].raw_shape();
  const DType real = in[0].dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const int spatial = x.rank() - 2;
  int64_t taps = 1, outputs = 1;
  for (int i = 0; i < spatial; ++i) taps *= w[2 + i], outputs *= out[2 + i];
  const int64_t parts = x[0] * a.offset_group, shared = x[1] / a.offset_group;
  const Tensor offset = in[2].to(real).reshape({parts, taps, spatial, outputs});
  Shape image{parts, shared};
  std::vector<Neighbours> along;
  for (int d = 0; d < spatial; ++d) {
    image.push_back(x[2 + d]);
    const Tensor plain = moved_beside(offset, plain_places(a.conv, w, out, d, real));
    const Tensor at = offset.select(2, d) + plain;
    along.push_back(pixels_beside(at.reshape({parts * taps * outputs}), x[2 + d]));
  }
  Tensor read = read_between(in[0].to(real).reshape(image), along);
  if (in.size() > 4 && in[4].defined()) {
    read = read.reshape({x[0], a.offset_group, shared, taps, outputs}) *
           in[4].to(real).reshape({x[0], a.offset_group, 1, taps, outputs});
  }
  const int64_t group = a.conv.group;
  const Tensor columns = read.reshape({x[0], group, w[1] * taps, outputs});
  const Tensor weight = in[1].to(real).reshape({group, w[0] / group, w[1] * taps});
  return matmul(weight, columns).reshape(out).to(in[0].dtype());
}

}  // namespace

// Each element goes to one pixel, whose gradient it gets.
WICK_GRAD(Col2Im, 4, 0, 6, [](GradCtx& c) {
  const Shape x = c.in_shape(0), y = c.out_shape(0);
  if (numel(x) == 0) return c.set(0, zeros_of(c, 0));
  const std::vector<int64_t> block = to_host(c.in(2)).to(DType::kI64).to_vector<int64_t>();
  const Tensor flat = c.g().reshape({y[0], y[1], numel(y) / (y[0] * y[1])});
  const Tensor padding = zeros_beside(flat, {y[0], y[1], 1}, flat.dtype());
  const Tensor from =
      moved_beside(flat, tensor(pixels_of_windows(c.attrs<Col2ImAttrs>(), y, block)));
  c.set(0, index_select(cat({flat, padding}, 2), 2, from).reshape(x));
});

// inputs: x, weight, offset, bias?, mask?
WICK_GRAD(DeformConv, 31, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<DeformConvAttrs>();
  const Shape out = c.out_shape(0);
  const bool but_bias = c.needs(0) || c.needs(1) || c.needs(2) || (c.has(4) && c.needs(4));
  if (numel(c.in_shape(0)) == 0 || numel(out) == 0) {  // nothing was read
    for (size_t i = 0; i < c.inputs(); ++i) {
      if (c.has(i)) c.set(i, zeros_of(c, i) + (sum(c.g()) * 0).to(c.in_dtype(i)));
    }
  } else if (but_bias) {
    grad_through(c, [&](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{deformed(in, a, out)};
    });
  }
  if (!c.has(3) || !c.needs(3)) return;
  Dims dims{0};
  for (int i = 2; i < out.rank(); ++i) dims.values[dims.count++] = i;
  c.set(3, sum(c.g(), dims));
});

}  // namespace wick

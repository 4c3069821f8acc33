#include "trainer/tensor/ops/conv.h"

#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick {
namespace {

Tensor conv(const char* op, const Arg& x, const Arg& weight, const Tensor& bias, Sizes stride,
            Sizes padding, Sizes dilation, int64_t groups) {
  const At at(x);
  bool added = false;
  Tensor in = batched(op, x, stride.count, &added);
  ConvAttrs a;
  a.strides = stride;
  a.dilations = dilation;
  a.pads.count = 2 * stride.count;
  for (int64_t i = 0; i < stride.count; ++i) {
    a.pads.values[i] = a.pads.values[i + stride.count] = padding[i];
  }
  a.group = groups;
  Tensor y = call(OpId::kConv, a, {at(in), weight, at(bias)});
  return added ? y.squeeze(0, x.where) : y;
}

Tensor conv_transpose(const char* op, const Arg& x, const Arg& weight, const Tensor& bias,
                      Sizes stride, Sizes padding, Sizes output_padding, int64_t groups,
                      Sizes dilation) {
  const At at(x);
  bool added = false;
  Tensor in = batched(op, x, stride.count, &added);
  const Shape &s = in.raw_shape(), &w = weight.tensor.raw_shape();
  if (w.rank() != s.rank() || w[0] != s[1] || groups < 1 || s[1] % groups != 0) {
    bad_shape(op,
              "channels differ: input " + text(x.tensor) + ", weight " + text(weight.tensor) +
                  ", groups " + std::to_string(groups),
              x.where);
  }
  ConvTransposeAttrs a;
  a.conv.strides = stride;
  a.conv.dilations = dilation;
  a.conv.pads.count = 2 * stride.count;
  a.conv.group = groups;
  bool longer = false;
  for (int64_t extra : output_padding.span()) longer = longer || extra != 0;
  if (longer) a.output_padding = output_padding;
  for (int i = 0; i < stride.count; ++i) {
    if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0) {
      throw_error(op, "stride and dilation must be >= 1, padding >= 0", x.where);
    }
    if (output_padding[i] < 0 || output_padding[i] >= std::max(stride[i], dilation[i])) {
      throw_error(op,
                  "output_padding must be smaller than stride or dilation, got " +
                      std::to_string(output_padding[i]),
                  x.where);
    }
    a.conv.pads.values[i] = a.conv.pads.values[i + stride.count] = padding[i];
    const int64_t extent = (s[2 + i] - 1) * stride[i] + dilation[i] * (w[2 + i] - 1) + 1 -
                           2 * padding[i] + output_padding[i];
    if (s[2 + i] < 1 || extent < 1) {
      bad_shape(
          op,
          "the output would be empty: input " + text(x.tensor) + ", weight " + text(weight.tensor),
          x.where);
    }
  }
  Tensor y = call(OpId::kConvTranspose, a, {at(in), weight, at(bias)});
  return added ? y.squeeze(0, x.where) : y;
}

// Returns [taps, windows] of one dim: the index that each tap of each window reads.
Tensor window_index(int64_t taps, Dim windows, int64_t dilation, int64_t stride) {
  Tensor t = arange(taps).unsqueeze(1), w = arange(windows).unsqueeze(0);
  return t * dilation + w * stride;
}
// A Dim, which a capture follows: it could not guess a division by any stride.
Dim windows_of(const char* op, Dim size, int64_t kernel, int64_t dilation, int64_t padding,
               int64_t stride, const Where& where) {
  if (kernel < 1 || dilation < 1 || stride < 1 || padding < 0) {
    throw_error(op, "kernel_size, dilation and stride must be >= 1, padding >= 0", where);
  }
  const Dim room = size + (2 * padding - dilation * (kernel - 1) - 1);
  if (room.peek() < 0) bad_shape(op, "the window is larger than the padded input", where);
  return room / stride + 1;
}

}  // namespace

Tensor batched(const char* op, const Arg& x, int64_t spatial, bool* added) {
  *added = x.tensor.rank() == spatial + 1;
  if (*added) return x.tensor.unsqueeze(0, x.where);
  if (x.tensor.rank() == spatial + 2) return x.tensor;
  static constexpr const char* kDims[] = {"", "[N, C, L]", "[N, C, H, W]", "[N, C, D, H, W]"};
  bad_shape(op, std::string("input must be ") + kDims[spatial] + ", got " + text(x.tensor),
            x.where);
}

Tensor conv1d(const Arg& x, const Arg& weight, const Tensor& bias, int64_t stride, int64_t padding,
              int64_t dilation, int64_t groups) {
  return conv("conv1d", x, weight, bias, sizes(stride), sizes(padding), sizes(dilation), groups);
}
Tensor conv2d(const Arg& x, const Arg& weight, const Tensor& bias, Pair stride, Pair padding,
              Pair dilation, int64_t groups) {
  return conv("conv2d", x, weight, bias, sizes(stride), sizes(padding), sizes(dilation), groups);
}
Tensor conv3d(const Arg& x, const Arg& weight, const Tensor& bias, Triple stride, Triple padding,
              Triple dilation, int64_t groups) {
  return conv("conv3d", x, weight, bias, sizes(stride), sizes(padding), sizes(dilation), groups);
}

Tensor conv_transpose1d(const Arg& x, const Arg& weight, const Tensor& bias, int64_t stride,
                        int64_t padding, int64_t output_padding, int64_t groups, int64_t dilation) {
  return conv_transpose("conv_transpose1d", x, weight, bias, sizes(stride), sizes(padding),
                        sizes(output_padding), groups, sizes(dilation));
}
Tensor conv_transpose2d(const Arg& x, const Arg& weight, const Tensor& bias, Pair stride,
                        Pair padding, Pair output_padding, int64_t groups, Pair dilation) {
  return conv_transpose("conv_transpose2d", x, weight, bias, sizes(stride), sizes(padding),
                        sizes(output_padding), groups, sizes(dilation));
}
Tensor conv_transpose3d(const Arg& x, const Arg& weight, const Tensor& bias, Triple stride,
                        Triple padding, Triple output_padding, int64_t groups, Triple dilation) {
  return conv_transpose("conv_transpose3d", x, weight, bias, sizes(stride), sizes(padding),
                        sizes(output_padding), groups, sizes(dilation));
}

Tensor unfold(const Arg& x, Pair kernel, Pair dilation, Pair padding, Pair stride) {
  const At at(x);
  bool added = false;
  Tensor in = batched("unfold", x, 2, &added);
  const Dim h = in.size(2, x.where), w = in.size(3, x.where);
  const int64_t c = dim_of(in, 1);
  const Dim rows = windows_of("unfold", h, kernel.h, dilation.h, padding.h, stride.h, x.where);
  const Dim cols = windows_of("unfold", w, kernel.w, dilation.w, padding.w, stride.w, x.where);
  if (padding.h != 0 || padding.w != 0) {
    in = pad(at(in), {padding.w, padding.w, padding.h, padding.h});
  }
  // [N, C, kh, rows, kw, cols]
  const auto places = [&](int64_t taps, const Dim& windows, int64_t by, int64_t step) {
    return moved_beside(in, window_index(taps, windows, by, step), x.where);
  };
  Tensor t = index_select(at(in), 3, at(places(kernel.w, cols, dilation.w, stride.w)));
  t = index_select(at(t), 2, at(places(kernel.h, rows, dilation.h, stride.h)));
  t = t.permute({0, 1, 2, 4, 3, 5}, x.where);
  t = reshape_to(t, {kCopy, c * kernel.h * kernel.w, rows * cols}, at);
  return added ? t.squeeze(0, x.where) : t;
}

Tensor fold(const Arg& x, Pair out, Pair kernel, Pair dilation, Pair padding, Pair stride) {
  const At at(x);
  const int64_t rows =
      windows_of("fold", Dim(out.h), kernel.h, dilation.h, padding.h, stride.h, x.where).peek();
  const int64_t cols =
      windows_of("fold", Dim(out.w), kernel.w, dilation.w, padding.w, stride.w, x.where).peek();
  const int64_t taps = kernel.h * kernel.w;
  bool added = x.tensor.rank() == 2;
  Tensor in = added ? x.tensor.unsqueeze(0, x.where) : x.tensor;
  if (in.rank() != 3 || dim_of(in, 1) % taps != 0 || dim_of(in, 2) != rows * cols) {
    bad_shape("fold",
              "needs [N, C * " + std::to_string(taps) + ", " + std::to_string(rows * cols) +
                  "] for this output and kernel, got " + text(x.tensor),
              x.where);
  }
  const int64_t n = dim_of(in, 0), c = dim_of(in, 1) / taps;
  const int64_t high = out.h + 2 * padding.h, wide = out.w + 2 * padding.w;
  Tensor t = in.reshape({n, c, kernel.h, kernel.w, rows, cols}, x.where)
                 .permute({0, 1, 2, 4, 3, 5}, x.where)
                 .reshape({n, c, kernel.h * rows, kernel.w * cols}, x.where);
  Tensor col_index = window_index(kernel.w, Dim(cols), dilation.w, stride.w)
                         .reshape({1, 1, 1, kernel.w * cols})
                         .expand(t.raw_shape())
                         .contiguous();
  const auto beside = [&](const Tensor& made) { return moved_beside(in, made, x.where); };
  Tensor sums = beside(zeros({n, c, kernel.h * rows, wide}, in.dtype()));
  t = scatter_add(at(sums), 3, at(beside(col_index)), at(t));
  Tensor row_index = window_index(kernel.h, Dim(rows), dilation.h, stride.h)
                         .reshape({1, 1, kernel.h * rows, 1})
                         .expand(t.raw_shape())
                         .contiguous();
  sums = beside(zeros({n, c, high, wide}, in.dtype()));
  t = scatter_add(at(sums), 2, at(beside(row_index)), at(t));
  t = t.narrow(2, padding.h, out.h, x.where).narrow(3, padding.w, out.w, x.where);
  return added ? t.squeeze(0, x.where) : t;
}

}  // namespace wick

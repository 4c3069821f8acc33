#include "trainer/tensor/ops/window.h"

#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick {
namespace {

int64_t product(const Sizes& s) {
  int64_t n = 1;
  for (int64_t v : s.span()) n *= v;
  return n;
}

// Computed from the mean of each window of x^p, by PyTorch's formula, whose slope at 0 is 0.
template <class Mean>
Tensor lp_pool(const char* op, const Arg& x, double p, int64_t taps, const Mean& mean_of) {
  const At at(x);
  if (p == 0 || p != p) {
    throw_error(op, "norm_type must not be " + std::string(p == 0 ? "0" : "NaN"), x.where);
  }
  Tensor m = mean_of(at(pow(x, p)));
  Tensor size = mul(at(mul(at(sign(at(m))), at(relu(at(abs(at(m))))))), static_cast<double>(taps));
  return pow(at(size), 1 / p);
}

struct Window {
  Sizes kernel, stride, padding, dilation;
  bool ceil_mode;
};

std::pair<Tensor, Tensor> with_indices(const char* op, const Arg& x, const Window& w) {
  const At at(x);
  bool added = false;
  Tensor in = batched(op, x, w.kernel.count, &added);
  MaxPoolIndicesAttrs a;
  a.pool.kernel_shape = w.kernel;
  a.pool.strides = w.stride;
  a.pool.dilations = w.dilation;
  a.pool.pads.count = 2 * w.kernel.count;
  int64_t plane = 1;
  for (int i = 0; i < w.kernel.count; ++i) {
    if (2 * w.padding[i] > w.kernel[i] || w.padding[i] < 0) {
      throw_error(op,
                  "padding must be at least 0 and at most half the kernel, got " +
                      std::to_string(w.padding[i]) + " for a kernel of " +
                      std::to_string(w.kernel[i]),
                  x.where);
    }
    a.pool.pads.values[i] = a.pool.pads.values[i + w.kernel.count] = w.padding[i];
    plane *= dim_of(in, 2 + i);
  }
  a.pool.ceil_mode = w.ceil_mode ? 1 : 0;
  const Tensor* inputs[] = {&in};
  Tensor out[2];
  call(OpId::kMaxPoolIndices, &a, inputs, out, x.where);
  // The op counts indices through all of x, PyTorch within each plane.
  Tensor index = remainder(at(out[1]), plane);
  if (!added) return {out[0], index};
  return {out[0].squeeze(0, x.where), index.squeeze(0, x.where)};
}

Tensor unpool(const char* op, const Arg& x, const Arg& indices, const Window& w,
              const Shape& output_size) {
  const At at(x);
  bool added = false;
  Tensor in = batched(op, x, w.kernel.count, &added);
  if (!(x.tensor.raw_shape() == indices.tensor.raw_shape())) {
    bad_shape(
        op,
        "x and indices must have one shape, got " + text(x.tensor) + " and " + text(indices.tensor),
        x.where);
  }
  const int spatial = static_cast<int>(w.kernel.count), given = output_size.rank();
  if (given != 0 && given != spatial && given != x.tensor.rank()) {
    bad_shape(op,
              "output_size has " + std::to_string(spatial) + " or " +
                  std::to_string(x.tensor.rank()) + " entries, got " + to_text(output_size).text,
              x.where);
  }
  Shape out{dim_of(in, 0), dim_of(in, 1)};
  int64_t plane = 1;
  for (int i = 0; i < spatial; ++i) {
    const int64_t usual = (dim_of(in, 2 + i) - 1) * w.stride[i] + w.kernel[i] - 2 * w.padding[i];
    const int64_t size = given == 0 ? usual : output_size[given - spatial + i];
    if (size < 1 || size <= usual - w.stride[i] || size >= usual + w.stride[i]) {
      bad_shape(op,
                "output_size of dimension " + std::to_string(i) + " lies between " +
                    std::to_string(usual - w.stride[i]) + " and " +
                    std::to_string(usual + w.stride[i]) + ", got " + std::to_string(size),
                x.where);
    }
    out.push_back(size);
    plane *= size;
  }
  if (active_tracer() == nullptr) {
    const std::vector<int64_t> places = indices.tensor.to(DType::kI64).to_vector<int64_t>();
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= 0 && places[i] < plane) continue;
      throw_error(op,
                  "index " + std::to_string(places[i]) + " of element " + std::to_string(i) +
                      " is not in the output's " + std::to_string(plane) + " places",
                  x.where);
    }
  }
  const Shape flat{out[0], out[1], numel(in.raw_shape()) / std::max<int64_t>(out[0] * out[1], 1)};
  // PyTorch writes in order, so that of two elements with the same index the last one stays.
  Tensor values = in.reshape(flat, x.where);
  Tensor places = indices.tensor.to(DType::kI64).reshape(flat, x.where);
  Tensor none = moved_beside(in, zeros({out[0], out[1], plane}, in.dtype()), x.where);
  Tensor y = scatter(at(none), 2, at(places), at(values)).reshape(out, x.where);
  return added ? y.squeeze(0, x.where) : y;
}

template <class Size>
Window window(Size kernel, const std::optional<Size>& stride, Size padding, Size dilation = Size(1),
              bool ceil_mode = false) {
  return {sizes(kernel), sizes(stride.value_or(kernel)), sizes(padding), sizes(dilation),
          ceil_mode};
}

}  // namespace

Tensor lp_pool1d(const Arg& x, double p, int64_t kernel, std::optional<int64_t> stride,
                 bool ceil_mode) {
  return lp_pool("lp_pool1d", x, p, kernel,
                 [&](const Arg& t) { return avg_pool1d(t, kernel, stride, 0, ceil_mode); });
}
Tensor lp_pool2d(const Arg& x, double p, Pair kernel, std::optional<Pair> stride, bool ceil_mode) {
  return lp_pool("lp_pool2d", x, p, product(sizes(kernel)),
                 [&](const Arg& t) { return avg_pool2d(t, kernel, stride, 0, ceil_mode); });
}

std::pair<Tensor, Tensor> max_pool1d_with_indices(const Arg& x, int64_t kernel,
                                                  std::optional<int64_t> stride, int64_t padding,
                                                  int64_t dilation, bool ceil_mode) {
  return with_indices("max_pool1d", x, window(kernel, stride, padding, dilation, ceil_mode));
}
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Arg& x, Pair kernel,
                                                  std::optional<Pair> stride, Pair padding,
                                                  Pair dilation, bool ceil_mode) {
  return with_indices("max_pool2d", x, window(kernel, stride, padding, dilation, ceil_mode));
}
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Arg& x, Triple kernel,
                                                  std::optional<Triple> stride, Triple padding,
                                                  Triple dilation, bool ceil_mode) {
  return with_indices("max_pool3d", x, window(kernel, stride, padding, dilation, ceil_mode));
}

Tensor max_unpool1d(const Arg& x, const Arg& indices, int64_t kernel, std::optional<int64_t> stride,
                    int64_t padding, const Shape& output_size) {
  return unpool("max_unpool1d", x, indices, window(kernel, stride, padding), output_size);
}
Tensor max_unpool2d(const Arg& x, const Arg& indices, Pair kernel, std::optional<Pair> stride,
                    Pair padding, const Shape& output_size) {
  return unpool("max_unpool2d", x, indices, window(kernel, stride, padding), output_size);
}
Tensor max_unpool3d(const Arg& x, const Arg& indices, Triple kernel, std::optional<Triple> stride,
                    Triple padding, const Shape& output_size) {
  return unpool("max_unpool3d", x, indices, window(kernel, stride, padding), output_size);
}

}  // namespace wick

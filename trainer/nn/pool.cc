#include "trainer/nn/pool.h"

#include "trainer/nn/default_init.h"
#include "trainer/nn/extents.h"
#include "trainer/tensor/ops/window.h"

namespace wick::nn {
namespace {

void check_window(const char* kind, const Extents& kernel, const Extents& stride,
                  const Extents& padding) {
  for (int64_t i = 0; i < kernel.count; ++i) {
    need_size(kind, "kernel_size", kernel[i]);
    if (stride.count > 0) need_size(kind, "stride", stride[i]);
    if (padding.count == 0) continue;
    need_size(kind, "padding", padding[i], 0);
    if (2 * padding[i] <= kernel[i]) continue;
    throw Error(std::string("[") + kind + "] padding must be at most half the kernel, got " +
                std::to_string(padding[i]) + " for a kernel of " + std::to_string(kernel[i]));
  }
}

template <class Size>
Extents stride_of(const std::optional<Size>& stride, Size kernel) {
  return extents(stride.value_or(kernel));
}

}  // namespace

MaxPoolNd::MaxPoolNd(const char* kind, const Extents& kernel, const Extents& stride,
                     const Extents& padding, const Extents& dilation, bool ceil_mode)
    : kernel_(kernel),
      stride_(stride),
      padding_(padding),
      dilation_(dilation),
      ceil_mode_(ceil_mode) {
  check_window(kind, kernel, stride, padding);
  for (int64_t d : dilation.span()) need_size(kind, "dilation", d);
}
Tensor MaxPoolNd::forward(const Arg& x) {
  switch (kernel_.count) {
    case 1: return max_pool1d(x, kernel_[0], stride_[0], padding_[0], dilation_[0], ceil_mode_);
    case 2:
      return max_pool2d(x, pair(kernel_), pair(stride_), pair(padding_), pair(dilation_),
                        ceil_mode_);
    default:
      return max_pool3d(x, triple(kernel_), triple(stride_), triple(padding_), triple(dilation_),
                        ceil_mode_);
  }
}
std::string MaxPoolNd::extra_repr() const {
  return "kernel_size=" + repr_size(kernel_) + ", stride=" + repr_size(stride_) +
         ", padding=" + repr_size(padding_) + ", dilation=" + repr_size(dilation_) +
         ", ceil_mode=" + repr_bool(ceil_mode_);
}
MaxPool1d::MaxPool1d(int64_t kernel, std::optional<int64_t> stride, int64_t padding,
                     int64_t dilation, bool ceil_mode)
    : MaxPoolNd("MaxPool1d", extents(kernel), stride_of(stride, kernel), extents(padding),
                extents(dilation), ceil_mode) {}
MaxPool2d::MaxPool2d(Pair kernel, std::optional<Pair> stride, Pair padding, Pair dilation,
                     bool ceil_mode)
    : MaxPoolNd("MaxPool2d", extents(kernel), stride_of(stride, kernel), extents(padding),
                extents(dilation), ceil_mode) {}
MaxPool3d::MaxPool3d(Triple kernel, std::optional<Triple> stride, Triple padding, Triple dilation,
                     bool ceil_mode)
    : MaxPoolNd("MaxPool3d", extents(kernel), stride_of(stride, kernel), extents(padding),
                extents(dilation), ceil_mode) {}

AvgPoolNd::AvgPoolNd(const char* kind, const Extents& kernel, const Extents& stride,
                     const Extents& padding, bool ceil_mode, bool count_include_pad)
    : kernel_(kernel),
      stride_(stride),
      padding_(padding),
      ceil_mode_(ceil_mode),
      count_include_pad_(count_include_pad) {
  check_window(kind, kernel, stride, padding);
}
Tensor AvgPoolNd::forward(const Arg& x) {
  switch (kernel_.count) {
    case 1:
      return avg_pool1d(x, kernel_[0], stride_[0], padding_[0], ceil_mode_, count_include_pad_);
    case 2:
      return avg_pool2d(x, pair(kernel_), pair(stride_), pair(padding_), ceil_mode_,
                        count_include_pad_);
    default:
      return avg_pool3d(x, triple(kernel_), triple(stride_), triple(padding_), ceil_mode_,
                        count_include_pad_);
  }
}
std::string AvgPoolNd::extra_repr() const {
  auto size = [](const Extents& e) { return e.count == 1 ? repr_tuple(e) : repr_size(e); };
  return "kernel_size=" + size(kernel_) + ", stride=" + size(stride_) +
         ", padding=" + size(padding_);
}
AvgPool1d::AvgPool1d(int64_t kernel, std::optional<int64_t> stride, int64_t padding, bool ceil_mode,
                     bool count_include_pad)
    : AvgPoolNd("AvgPool1d", extents(kernel), stride_of(stride, kernel), extents(padding),
                ceil_mode, count_include_pad) {}
AvgPool2d::AvgPool2d(Pair kernel, std::optional<Pair> stride, Pair padding, bool ceil_mode,
                     bool count_include_pad)
    : AvgPoolNd("AvgPool2d", extents(kernel), stride_of(stride, kernel), extents(padding),
                ceil_mode, count_include_pad) {}
AvgPool3d::AvgPool3d(Triple kernel, std::optional<Triple> stride, Triple padding, bool ceil_mode,
                     bool count_include_pad)
    : AvgPoolNd("AvgPool3d", extents(kernel), stride_of(stride, kernel), extents(padding),
                ceil_mode, count_include_pad) {}

LPPoolNd::LPPoolNd(const char* kind, double norm_type, const Extents& kernel, const Extents& stride,
                   bool ceil_mode)
    : norm_type_(norm_type), kernel_(kernel), stride_(stride), ceil_mode_(ceil_mode) {
  check_window(kind, kernel, stride, {});
}
Tensor LPPoolNd::forward(const Arg& x) {
  const Extents& stride = stride_.count > 0 ? stride_ : kernel_;
  if (kernel_.count == 1) return lp_pool1d(x, norm_type_, kernel_[0], stride[0], ceil_mode_);
  return lp_pool2d(x, norm_type_, pair(kernel_), pair(stride), ceil_mode_);
}
std::string LPPoolNd::extra_repr() const {
  return "norm_type=" + repr_number(norm_type_) + ", kernel_size=" + repr_size(kernel_) +
         ", stride=" + (stride_.count > 0 ? repr_size(stride_) : "None") +
         ", ceil_mode=" + repr_bool(ceil_mode_);
}
LPPool1d::LPPool1d(double norm_type, int64_t kernel, std::optional<int64_t> stride, bool ceil_mode)
    : LPPoolNd("LPPool1d", norm_type, extents(kernel), stride ? extents(*stride) : Extents(),
               ceil_mode) {}
LPPool2d::LPPool2d(double norm_type, Pair kernel, std::optional<Pair> stride, bool ceil_mode)
    : LPPoolNd("LPPool2d", norm_type, extents(kernel), stride ? extents(*stride) : Extents(),
               ceil_mode) {}

AdaptivePoolNd::AdaptivePoolNd(const char* kind, bool average, const Extents& size)
    : average_(average), size_(size) {
  for (int64_t s : size.span()) need_size(kind, "output_size", s);
}
Tensor AdaptivePoolNd::forward(const Arg& x) {
  switch (size_.count) {
    case 1: return average_ ? adaptive_avg_pool1d(x, size_[0]) : adaptive_max_pool1d(x, size_[0]);
    case 2:
      return average_ ? adaptive_avg_pool2d(x, pair(size_)) : adaptive_max_pool2d(x, pair(size_));
    default:
      return average_ ? adaptive_avg_pool3d(x, triple(size_))
                      : adaptive_max_pool3d(x, triple(size_));
  }
}
std::string AdaptivePoolNd::extra_repr() const { return "output_size=" + repr_size(size_); }
AdaptiveAvgPool1d::AdaptiveAvgPool1d(int64_t size)
    : AdaptivePoolNd("AdaptiveAvgPool1d", true, extents(size)) {}
AdaptiveAvgPool2d::AdaptiveAvgPool2d(Pair size)
    : AdaptivePoolNd("AdaptiveAvgPool2d", true, extents(size)) {}
AdaptiveAvgPool3d::AdaptiveAvgPool3d(Triple size)
    : AdaptivePoolNd("AdaptiveAvgPool3d", true, extents(size)) {}
AdaptiveMaxPool1d::AdaptiveMaxPool1d(int64_t size)
    : AdaptivePoolNd("AdaptiveMaxPool1d", false, extents(size)) {}
AdaptiveMaxPool2d::AdaptiveMaxPool2d(Pair size)
    : AdaptivePoolNd("AdaptiveMaxPool2d", false, extents(size)) {}
AdaptiveMaxPool3d::AdaptiveMaxPool3d(Triple size)
    : AdaptivePoolNd("AdaptiveMaxPool3d", false, extents(size)) {}

MaxUnpoolNd::MaxUnpoolNd(const char* kind, const Extents& kernel, const Extents& stride,
                         const Extents& padding)
    : kernel_(kernel), stride_(stride), padding_(padding) {
  check_window(kind, kernel, stride, padding);
}
Tensor MaxUnpoolNd::operator()(const Arg& x, const Arg& indices, const Shape& output_size) {
  return hooked(
      [&](const Arg& in, const Arg& at) {
        switch (kernel_.count) {
          case 1: return max_unpool1d(in, at, kernel_[0], stride_[0], padding_[0], output_size);
          case 2:
            return max_unpool2d(in, at, pair(kernel_), pair(stride_), pair(padding_), output_size);
          default:
            return max_unpool3d(in, at, triple(kernel_), triple(stride_), triple(padding_),
                                output_size);
        }
      },
      x, indices);
}
std::string MaxUnpoolNd::extra_repr() const {
  return "kernel_size=" + repr_tuple(kernel_) + ", stride=" + repr_tuple(stride_) +
         ", padding=" + repr_tuple(padding_);
}
MaxUnpool1d::MaxUnpool1d(int64_t kernel, std::optional<int64_t> stride, int64_t padding)
    : MaxUnpoolNd("MaxUnpool1d", extents(kernel), stride_of(stride, kernel), extents(padding)) {}
MaxUnpool2d::MaxUnpool2d(Pair kernel, std::optional<Pair> stride, Pair padding)
    : MaxUnpoolNd("MaxUnpool2d", extents(kernel), stride_of(stride, kernel), extents(padding)) {}
MaxUnpool3d::MaxUnpool3d(Triple kernel, std::optional<Triple> stride, Triple padding)
    : MaxUnpoolNd("MaxUnpool3d", extents(kernel), stride_of(stride, kernel), extents(padding)) {}

}  // namespace wick::nn

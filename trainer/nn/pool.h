// Pooling over x[N, C, spatial...], or without N. stride {} means the kernel's size.
#pragma once

#include <optional>

#include "trainer/nn/extra_repr.h"
#include "trainer/nn/module.h"
#include "trainer/tensor/ops/conv.h"

namespace wick::nn {

// -- the largest element of each window; the gradient goes to the first such element
// The common part of MaxPool1d, 2d and 3d.
class MaxPoolNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 protected:
  MaxPoolNd(const char* kind, const Extents& kernel, const Extents& stride, const Extents& padding,
            const Extents& dilation, bool ceil_mode);

 private:
  Extents kernel_, stride_, padding_, dilation_;
  bool ceil_mode_;
};
// torch.nn.MaxPool1d, 2d and 3d: max_pool1d() and so on as modules. Throw Error in forward for a
// wrong rank, and for a padding larger than half of the kernel.
class MaxPool1d : public MaxPoolNd {
 public:
  explicit MaxPool1d(int64_t kernel_size, std::optional<int64_t> stride = {}, int64_t padding = 0,
                     int64_t dilation = 1, bool ceil_mode = false);
};
class MaxPool2d : public MaxPoolNd {
 public:
  explicit MaxPool2d(Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                     Pair dilation = 1, bool ceil_mode = false);
};
class MaxPool3d : public MaxPoolNd {
 public:
  explicit MaxPool3d(Triple kernel_size, std::optional<Triple> stride = {}, Triple padding = 0,
                     Triple dilation = 1, bool ceil_mode = false);
};

// -- the mean of each window; count_include_pad: padding elements are counted
// The common part of AvgPool1d, 2d and 3d.
class AvgPoolNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 protected:
  AvgPoolNd(const char* kind, const Extents& kernel, const Extents& stride, const Extents& padding,
            bool ceil_mode, bool count_include_pad);

 private:
  Extents kernel_, stride_, padding_;
  bool ceil_mode_, count_include_pad_;
};
// torch.nn.AvgPool1d, 2d and 3d: avg_pool1d() and so on as modules.
class AvgPool1d : public AvgPoolNd {
 public:
  explicit AvgPool1d(int64_t kernel_size, std::optional<int64_t> stride = {}, int64_t padding = 0,
                     bool ceil_mode = false, bool count_include_pad = true);
};
class AvgPool2d : public AvgPoolNd {
 public:
  explicit AvgPool2d(Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                     bool ceil_mode = false, bool count_include_pad = true);
};
class AvgPool3d : public AvgPoolNd {
 public:
  explicit AvgPool3d(Triple kernel_size, std::optional<Triple> stride = {}, Triple padding = 0,
                     bool ceil_mode = false, bool count_include_pad = true);
};

// -- (sum of x^p over the window)^(1/p), without padding
// The common part of LPPool1d and 2d.
class LPPoolNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 protected:
  LPPoolNd(const char* kind, double norm_type, const Extents& kernel, const Extents& stride,
           bool ceil_mode);

 private:
  double norm_type_;
  Extents kernel_, stride_;  // stride is empty if none was given
  bool ceil_mode_;
};
// torch.nn.LPPool1d and 2d: lp_pool1d() and lp_pool2d() as modules.
class LPPool1d : public LPPoolNd {
 public:
  LPPool1d(double norm_type, int64_t kernel_size, std::optional<int64_t> stride = {},
           bool ceil_mode = false);
};
class LPPool2d : public LPPoolNd {
 public:
  LPPool2d(double norm_type, Pair kernel_size, std::optional<Pair> stride = {},
           bool ceil_mode = false);
};

// -- as many windows of (nearly) equal size as requested
// The common part of the adaptive pools.
class AdaptivePoolNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 protected:
  AdaptivePoolNd(const char* kind, bool average, const Extents& output_size);

 private:
  bool average_;
  Extents size_;
};
#define WICK_ADAPTIVE(Name, Size)      \
  class Name : public AdaptivePoolNd { \
   public:                             \
    explicit Name(Size output_size);   \
  }
// torch.nn.AdaptiveAvgPool1d, 2d and 3d: the mean of each window.
WICK_ADAPTIVE(AdaptiveAvgPool1d, int64_t);
WICK_ADAPTIVE(AdaptiveAvgPool2d, Pair);
WICK_ADAPTIVE(AdaptiveAvgPool3d, Triple);
// torch.nn.AdaptiveMaxPool1d, 2d and 3d: the largest element of each window.
WICK_ADAPTIVE(AdaptiveMaxPool1d, int64_t);
WICK_ADAPTIVE(AdaptiveMaxPool2d, Pair);
WICK_ADAPTIVE(AdaptiveMaxPool3d, Triple);
#undef WICK_ADAPTIVE

// -- the partial inverse of MaxPool: called with its output and indices (max_pool2d_with_indices);
// all other elements are 0. output_size: the size of the pooled tensor, if not the default
// The common part of MaxUnpool1d, 2d and 3d.
class MaxUnpoolNd : public Module {
 public:
  Tensor operator()(const Arg& x, const Arg& indices, const Shape& output_size = {});
  std::string extra_repr() const override;

 protected:
  MaxUnpoolNd(const char* kind, const Extents& kernel, const Extents& stride,
              const Extents& padding);

 private:
  Extents kernel_, stride_, padding_;
};
// torch.nn.MaxUnpool1d, 2d and 3d: max_unpool1d() and so on as modules.
class MaxUnpool1d : public MaxUnpoolNd {
 public:
  explicit MaxUnpool1d(int64_t kernel_size, std::optional<int64_t> stride = {},
                       int64_t padding = 0);
};
class MaxUnpool2d : public MaxUnpoolNd {
 public:
  explicit MaxUnpool2d(Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0);
};
class MaxUnpool3d : public MaxUnpoolNd {
 public:
  explicit MaxUnpool3d(Triple kernel_size, std::optional<Triple> stride = {}, Triple padding = 0);
};

}  // namespace wick::nn

// A convolution's window of one to three spatial dims, as the float64 products read it.
#pragma once

#include "runtime/core/shape.h"
#include "runtime/ops/attrs.h"
#include "trainer/kernels/wide/product.h"

namespace wick {

// Has three spatial dims: the call's come last, missing ones before them are 1.
struct WideWindow {
  int64_t n, ic, oc, group_in, group_out;
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};

  WideWindow(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& a);
  int64_t pixels() const { return in[0] * in[1] * in[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t outputs() const { return out[0] * out[1] * out[2]; }
};

// Rows (channel, kernel position), columns outputs: what a convolution's outputs read, 0 outside.
class WideInputs final : public WideRows {
 public:
  // x: the first channel of the group.
  WideInputs(const WideWindow& w, const double* x) : w_(w), x_(x) {}
  void row(int64_t k, int64_t j, int64_t cols, double* to) const override;

 private:
  const WideWindow& w_;
  const double* x_;
};

// The same, transposed: rows outputs, columns (channel, kernel position).
class WideInputsByOutput final : public WideRows {
 public:
  WideInputsByOutput(const WideWindow& w, const double* x) : w_(w), x_(x) {}
  void row(int64_t k, int64_t j, int64_t cols, double* to) const override;

 private:
  const WideWindow& w_;
  const double* x_;
};

// Writes from[at], from[at + step] ... to `to`, `count` of them; those outside of [0, size) are 0.
void copy_line(const double* from, int64_t size, int64_t at, int64_t step, int64_t count,
               double* to);

}  // namespace wick

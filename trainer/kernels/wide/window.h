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

// Outputs that read an input plane: output (d, r, q) reads, by a tap that moves the input by
// `move`, the element at (d, r, q) * step + move, and 0 outside of the plane.
struct WideLines {
  const double* x = nullptr;  // of the first channel
  int64_t in[3], out[3], step[3];
  int64_t taps = 1;
  // Writes a tap's move. `of` is what has the taps.
  void (*move)(const void* of, int64_t tap, int64_t* to) = nullptr;
  const void* of = nullptr;
};

// WideRows::pack of rows (channel, tap) and columns outputs. A piece of a line of outputs within a
// panel is copied for all channels of a tap, since where it lies in its plane is the same.
void pack_lines(const WideLines& l, int64_t k, int64_t depth, int64_t j, int64_t cols,
                int64_t columns, double* panels);

// Rows (channel, kernel position), columns outputs: what a convolution's outputs read, 0 outside.
class WideInputs final : public WideRows {
 public:
  // x: the first channel of the group.
  WideInputs(const WideWindow& w, const double* x) : w_(w), x_(x) {}
  void pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
            double* panels) const override;

 private:
  const WideWindow& w_;
  const double* x_;
};

// The same, transposed: rows outputs, columns (channel, kernel position).
class WideInputsByOutput final : public WideRows {
 public:
  WideInputsByOutput(const WideWindow& w, const double* x) : w_(w), x_(x) {}
  // Reads lines of outputs: those of the kernel are short.
  void pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
            double* panels) const override;

 private:
  const WideWindow& w_;
  const double* x_;
};

}  // namespace wick

// The kernels that a course on machine learning systems has its readers write, under the names that
// courses give them: tiled products, fused and unfused functions, convolution as a product. Each is
// differentiable and has a plain meaning, beside which tests hold it; models take the functions and
// layers that the comments name. docs/use/course-kernels.md explains them with their figures.
#pragma once

#include "trainer/nn/module.h"
#include "trainer/tensor/ops/conv.h"

namespace wick::course {

// Returns a b: matmul(), whose kernel packs both into tiles and runs lanes of vectors across
// columns.
Tensor vectorized_matmul(const Arg& a, const Arg& b);

// Returns a b for a[M, K] and b[K, N], by blocks of `tile` rows, columns and terms, whose products
// are added one after the other: c_ij += a_ik b_kj. The blocks at the edges are smaller where
// `tile` does not divide a size. A sum is rounded once more for each block of K, so that the bits
// are matmul()'s where one block holds all of K. Throws Error for other ranks, inner sizes that
// differ and a tile below 1.
Tensor tiled_matmul(const Arg& a, const Arg& b, int64_t tile = 64);

// Return GELU with tanh, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): the first by one kernel
// that reads x and writes the result, the second by eight, each of which passes through memory.
// They agree within 8 units of 2^-24 times |x| where |x| < 3, and 1e-5 everywhere.
Tensor fused_gelu(const Arg& x);
Tensor unfused_gelu(const Arg& x);

// Returns gelu(x w1^T + b1) w2^T + b2, for x[..., in], w1[hidden, in], b1[hidden], w2[out, hidden],
// b2[out]. Bias and GELU (erf's form) are computed where the product stands in registers, so the
// hidden values pass through memory once. The bits are those of linear(gelu(linear(x, w1, b1)), w2,
// b2).
Tensor fused_mlp(const Arg& x, const Tensor& w1, const Tensor& b1, const Tensor& w2,
                 const Tensor& b2);

// Returns the windows of x[N, C, H, W] as columns, [N, C * kh * kw, windows]: unfold(). Elements in
// the padding are 0.
Tensor im2col(const Arg& x, Pair kernel_size, Pair stride = 1, Pair padding = 0, Pair dilation = 1);
// Adds columns [N, C * kh * kw, windows] back where im2col() took them, into [N, C, H, W]: fold().
// It is im2col()'s adjoint, <im2col x, g> = <x, col2im g>, and so its gradient.
Tensor col2im(const Arg& columns, Pair output_size, Pair kernel_size, Pair stride = 1,
              Pair padding = 0, Pair dilation = 1);

// A convolution as one product: weight [out, in * kh * kw] times im2col(x), plus the bias.
// nn::Conv2d computes the same without the columns, which take kh * kw times x's memory.
class Im2colConv2d : public nn::Module {
 public:
  // Initialized as nn::Conv2d, with the same draws. Throws Error as that does.
  Im2colConv2d(int64_t in_channels, int64_t out_channels, Pair kernel_size, Pair stride = 1,
               Pair padding = 0, bool bias = true);
  // Takes x[N, in, H, W].
  Tensor forward(const Arg& x) override;
  Tensor weight;  // [out, in, kh, kw]
  Tensor bias;    // [out], or undefined

 private:
  Pair stride_, padding_;
};

}  // namespace wick::course

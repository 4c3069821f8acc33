// The public ops: PyTorch's names and defaults. Every one takes its tensors as Arg, so that errors
// name the caller's line; every one is differentiable unless its mathematics is not.
#pragma once

#include <optional>

#include "runtime/ops/attrs.h"
#include "trainer/tensor/tensor.h"

namespace wick {

using Dims = DimList;

// -- arithmetic: numpy broadcasting, PyTorch's dtype promotion
Tensor add(const Arg& a, const Arg& b);
Tensor sub(const Arg& a, const Arg& b);
Tensor mul(const Arg& a, const Arg& b);
Tensor div(const Arg& a, const Arg& b);  // integers become float32
Tensor pow(const Arg& a, const Arg& b);
Tensor pow(const Arg& a, Scalar b);
Tensor maximum(const Arg& a, const Arg& b);  // NaN wins, +0 > -0
Tensor minimum(const Arg& a, const Arg& b);
Tensor operator+(const Arg& a, const Arg& b);
Tensor operator-(const Arg& a, const Arg& b);
Tensor operator*(const Arg& a, const Arg& b);
Tensor operator/(const Arg& a, const Arg& b);
Tensor operator+(const Arg& a, Scalar b);
Tensor operator-(const Arg& a, Scalar b);
Tensor operator*(const Arg& a, Scalar b);
Tensor operator/(const Arg& a, Scalar b);
Tensor operator+(Scalar a, const Arg& b);
Tensor operator-(Scalar a, const Arg& b);
Tensor operator*(Scalar a, const Arg& b);
Tensor operator/(Scalar a, const Arg& b);
Tensor operator-(const Arg& a);

// -- comparison and logic: bool tensors. == is spelled eq(): Tensor handles are values too.
Tensor eq(const Arg& a, const Arg& b);
Tensor ne(const Arg& a, const Arg& b);
Tensor lt(const Arg& a, const Arg& b);
Tensor le(const Arg& a, const Arg& b);
Tensor gt(const Arg& a, const Arg& b);
Tensor ge(const Arg& a, const Arg& b);
Tensor eq(const Arg& a, Scalar b);
Tensor ne(const Arg& a, Scalar b);
Tensor lt(const Arg& a, Scalar b);
Tensor le(const Arg& a, Scalar b);
Tensor gt(const Arg& a, Scalar b);
Tensor ge(const Arg& a, Scalar b);
Tensor logical_and(const Arg& a, const Arg& b);
Tensor logical_or(const Arg& a, const Arg& b);
Tensor logical_xor(const Arg& a, const Arg& b);
Tensor logical_not(const Arg& a);                                // other dtypes: not 0 is true
Tensor where(const Arg& condition, const Arg& a, const Arg& b);  // a bool and two; all broadcast

// -- elementwise: x's shape and dtype. Floats; relu, erf, neg, abs, sign, clamp take integers too
#define WICK_UNARY_OPS(X)   \
  X(relu, Relu)             \
  X(sigmoid, Sigmoid)       \
  X(tanh, Tanh)             \
  X(silu, Silu)             \
  X(hardswish, HardSwish)   \
  X(softplus, Softplus)     \
  X(exp, Exp)               \
  X(log, Log)               \
  X(sqrt, Sqrt)             \
  X(reciprocal, Reciprocal) \
  X(erf, Erf)               \
  X(sin, Sin)               \
  X(cos, Cos)               \
  X(tan, Tan)               \
  X(asin, Asin)             \
  X(acos, Acos)             \
  X(atan, Atan)             \
  X(sinh, Sinh)             \
  X(cosh, Cosh)             \
  X(asinh, Asinh)           \
  X(acosh, Acosh)           \
  X(atanh, Atanh)           \
  X(neg, Neg)               \
  X(abs, Abs)               \
  X(floor, Floor)           \
  X(ceil, Ceil)             \
  X(round, Round)           \
  X(sign, Sign)
#define X(function, Name) Tensor function(const Arg& x);
WICK_UNARY_OPS(X)
#undef X
Tensor leaky_relu(const Arg& x, double negative_slope = 0.01);
Tensor elu(const Arg& x, double alpha = 1.0);
Tensor gelu(const Arg& x, bool tanh_approximation = false);
Tensor hardsigmoid(const Arg& x);
Tensor relu6(const Arg& x);
Tensor clamp(const Arg& x, double min, double max);
Tensor square(const Arg& x);

// -- matrices: a[..., m, k] x b[..., k, n] of one dtype; a vector is a row (a) or a column (b)
Tensor matmul(const Arg& a, const Arg& b);
// x[..., in] weight[out, in] + bias[out]
Tensor linear(const Arg& x, const Arg& weight, const Tensor& bias = Tensor());

// -- convolution, pooling: x[N, C, H, W]. One number for both spatial dims, or {h, w}.
struct Pair {
  int64_t h, w;
  Pair(int64_t both) : h(both), w(both) {}  // NOLINT: implicit by design
  Pair(int64_t h, int64_t w) : h(h), w(w) {}
};
Tensor conv2d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(), Pair stride = 1,
              Pair padding = 0, Pair dilation = 1, int64_t groups = 1);  // weight[O,C/groups,h,w]
Tensor max_pool2d(const Arg& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  Pair dilation = 1, bool ceil_mode = false);  // stride {}: the kernel's size
Tensor avg_pool2d(const Arg& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
// Output size 1 (the global average); other sizes are refused.
Tensor adaptive_avg_pool2d(const Arg& x, Pair output_size);

// -- normalisation
// training: batch statistics; running_mean and running_var (where defined) are moved by momentum,
// without history.
Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training = false,
                  double momentum = 0.1, double eps = 1e-5);  // x[N, C, ...], the others [C]
Tensor softmax(const Arg& x, int dim);                        // floats
Tensor log_softmax(const Arg& x, int dim);
Tensor dropout(const Arg& x, double p = 0.5, bool training = true);  // p in [0, 1)

// -- reductions; empty dims: all. Negative dims count from the end, as everywhere
Tensor sum(const Arg& x, Dims dims = {}, bool keepdim = false);   // integers: in int64
Tensor mean(const Arg& x, Dims dims = {}, bool keepdim = false);  // floats
Tensor amax(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor amin(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor prod(const Arg& x, Dims dims = {}, bool keepdim = false);
Tensor max(const Arg& x);
Tensor min(const Arg& x);
Tensor argmax(const Arg& x, int dim, bool keepdim = false);  // int64; the first of equal ones
Tensor argmin(const Arg& x, int dim, bool keepdim = false);

// -- layout
Tensor cat(std::initializer_list<Arg> tensors, int dim = 0);  // one dtype, sizes differ in dim only
Tensor cat(const std::vector<Tensor>& tensors, int dim = 0, Where where = Where::current());
Tensor stack(const std::vector<Tensor>& tensors, int dim = 0, Where where = Where::current());
std::vector<Tensor> split(const Arg& x, int64_t split_size, int dim = 0);  // views
// pads: PyTorch's order, last dimension first: {left, right, top, bottom ...}
Tensor pad(const Arg& x, std::initializer_list<int64_t> pads, double value = 0);
Tensor gather(const Arg& x, int dim, const Arg& index);        // GatherElements; int32/64, x's rank
Tensor index_select(const Arg& x, int dim, const Arg& index);  // Gather; int32/64, any rank
Tensor scatter_add(const Arg& x, int dim, const Arg& index, const Arg& source);

// -- losses
enum class Reduction { kNone, kMean, kSum };
// logits[N, C] (or [N, C, d...]), target[N] int64 class indices
Tensor cross_entropy(const Arg& logits, const Arg& target, Reduction reduction = Reduction::kMean);
Tensor nll_loss(const Arg& log_probs, const Arg& target, Reduction reduction = Reduction::kMean);
Tensor mse_loss(const Arg& x, const Arg& target, Reduction reduction = Reduction::kMean);

}  // namespace wick

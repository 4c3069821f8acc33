#include "trainer/tensor/ops/activation.h"

#include <cstring>

#include "trainer/tensor/ops/pointwise.h"

namespace wick {

using namespace pointwise;  // NOLINT: what these files share

Tensor leaky_relu(const Arg& x, double slope) {
  return call(OpId::kLeakyRelu, LeakyReluAttrs{slope}, {x});
}
Tensor elu(const Arg& x, double alpha) { return call(OpId::kElu, EluAttrs{alpha}, {x}); }
Tensor celu(const Arg& x, double alpha) {
  if (alpha == 0) throw_error("celu", "alpha must not be 0", x.where);
  if (alpha == 1) return elu(x, 1);
  Composite composite("celu", x.where);
  return elu(x.tensor / alpha, 1) * alpha;
}
Tensor gelu(const Arg& x, bool tanh) { return call(OpId::kGelu, GeluAttrs{tanh ? 1 : 0}, {x}); }
Tensor gelu(const Arg& x, const char* approximate) {
  const bool tanh = strcmp(approximate, "tanh") == 0;
  if (!tanh && strcmp(approximate, "none") != 0) {
    throw_error(
        "gelu",
        "approximate must be \"none\" or \"tanh\", got \"" + std::string(approximate) + "\"",
        x.where);
  }
  return gelu(x, tanh);
}
// A clamp through which no gradient passes at the bounds either.
static Tensor clamp_open(const char* name, const Arg& x, Scalar min, Scalar max) {
  if (!differentiated(x.tensor)) return clamp(x, min, max);
  Composite composite(name, x.where);
  Tensor outside = logical_or(le(x, min), ge(x, max));
  return where(outside, clamp(x.tensor.detach(), min, max), x);
}
Tensor relu6(const Arg& x) { return clamp_open("relu6", x, 0, 6); }
Tensor hardtanh(const Arg& x, double min_val, double max_val) {
  if (min_val > max_val) throw_error("hardtanh", "min_val is above max_val", x.where);
  return clamp_open("hardtanh", x, min_val, max_val);
}
Tensor prelu(const Arg& x, const Arg& weight) {
  const Tensor &v = x.tensor, &w = weight.tensor;
  int64_t n = w.layout().numel();
  Tensor slope = w;
  if (n != 1) {
    int64_t channels = v.rank() > 1 ? v.raw_shape()[1] : 1;
    if (w.rank() != 1 || n != channels) {
      throw_error("prelu",
                  "needs one weight or one a channel: weight " +
                      std::string(to_text(w.raw_shape()).text) + " beside an input of " +
                      to_text(v.raw_shape()).text + " with " + std::to_string(channels) +
                      " channels",
                  x.where, Code::kShapeMismatch);
    }
    Shape spread;
    for (int i = 0; i < v.rank(); ++i) spread.push_back(i == 1 ? n : 1);
    slope = w.reshape(spread, x.where);
  } else if (w.rank() > 0) {
    slope = w.reshape(Shape{}, x.where);
  }
  auto [a, b] = promoted("prelu", x, {slope, weight.where});
  return call(OpId::kPRelu, NoAttrs{}, {{a, x.where}, {b, weight.where}});
}
Tensor softplus(const Arg& x, double beta, double threshold) {
  Composite composite("softplus", x.where);
  Tensor scaled = as_float(x) * beta;
  Tensor linear = gt(scaled, threshold);
  return where(linear, x, softplus(where(linear, constant(scaled, 0), scaled)) / beta);
}
Tensor softshrink(const Arg& x, double lambd) {
  if (lambd < 0) throw_error("softshrink", "lambd must not be negative", x.where);
  Composite composite("softshrink", x.where);
  const Tensor& v = x.tensor;
  return where(gt(v, lambd), v - lambd, where(lt(v, -lambd), v + lambd, v * 0));
}
Tensor hardshrink(const Arg& x, double lambd) {
  Composite composite("hardshrink", x.where);
  Tensor inside = logical_and(ge(x, -lambd), le(x, lambd));
  return where(inside, constant(x.tensor, 0), x);
}
Tensor threshold(const Arg& x, double threshold, double value) {
  Composite composite("threshold", x.where);
  return where(le(x, threshold), constant(x.tensor, value), x);
}
Tensor glu(const Arg& x, int64_t dim) {
  int d = wrap_dim("glu", dim, x.tensor.rank(), x.where);
  int64_t n = x.tensor.raw_shape()[d];
  if (n % 2 != 0) {
    throw_error("glu",
                "halves dimension " + std::to_string(d) + " of " +
                    to_text(x.tensor.raw_shape()).text + ", which is odd",
                x.where, Code::kShapeMismatch);
  }
  Composite composite("glu", x.where);
  Tensor a = x.tensor.slice(d, 0, n / 2), b = x.tensor.slice(d, n / 2, n);
  return a * sigmoid(b);
}
Tensor softmin(const Arg& x, int dim) {
  Composite composite("softmin", x.where);
  return softmax(neg(x), dim);
}
Tensor softmax(const Arg& x, int dim, DType dtype) {
  return softmax({x.tensor.to(dtype, x.where), x.where}, dim);
}
Tensor log_softmax(const Arg& x, int dim, DType dtype) {
  return log_softmax({x.tensor.to(dtype, x.where), x.where}, dim);
}

}  // namespace wick

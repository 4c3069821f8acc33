#include <cmath>

#include "trainer/autograd/grad/common.h"

namespace wick {

constexpr uint32_t kX = 1, kY = 1;  // what a formula keeps: the input, the output

// WICK_D_X: dx out of g and x. WICK_D_Y: out of g and y.
#define WICK_D_X(Name, ...)                  \
  WICK_GRAD(Name, kX, 0, 0, [](GradCtx& c) { \
    Tensor g = c.g(), x = c.in(0);           \
    c.set(0, __VA_ARGS__);                   \
  })
#define WICK_D_Y(Name, ...)                  \
  WICK_GRAD(Name, 0, kY, 0, [](GradCtx& c) { \
    Tensor g = c.g(), y = c.out();           \
    c.set(0, __VA_ARGS__);                   \
  })

WICK_GRAD(Identity, 0, 0, 0, [](GradCtx& c) { c.set(0, c.g()); });
WICK_GRAD(Neg, 0, 0, 0, [](GradCtx& c) { c.set(0, neg(c.g())); });

WICK_D_Y(Relu, where(gt(y, 0), g, zero_like(g)));
WICK_D_Y(Sigmoid, g* y * (1 - y));
WICK_D_Y(Tanh, g * (1 - y * y));
WICK_D_Y(Exp, g* y);
WICK_D_Y(Sqrt, g * 0.5 / y);
WICK_D_Y(Reciprocal, -(g* y* y));
WICK_D_Y(Expm1, g*(y + 1));
WICK_D_X(Log1p, g / (1 + x));
WICK_D_X(Log2, g / (x * M_LN2));
WICK_D_X(Log10, g / (x * M_LN10));
WICK_D_X(Erfc, g* exp(-(x* x)) * -M_2_SQRTPI);
WICK_D_Y(Tan, g * (1 + y * y));

WICK_D_X(Softplus, g* sigmoid(x));
WICK_D_X(Log, g / x);
WICK_D_X(Erf, g* exp(-(x* x)) * M_2_SQRTPI);
WICK_D_X(Sin, g* cos(x));
WICK_D_X(Cos, -(g* sin(x)));
WICK_D_X(Asin, g / sqrt(1 - x * x));
WICK_D_X(Acos, -(g / sqrt(1 - x * x)));
WICK_D_X(Atan, g / (1 + x * x));
WICK_D_X(Sinh, g* cosh(x));
WICK_D_X(Cosh, g* sinh(x));
WICK_D_X(Asinh, g / sqrt(x * x + 1));
WICK_D_X(Acosh, g / sqrt(x * x - 1));
WICK_D_X(Atanh, g / (1 - x * x));
WICK_D_X(Abs, g* sign(x));

// Steps: zero wherever they have a derivative, as in PyTorch.
#define WICK_D_ZERO(Name) WICK_GRAD(Name, 0, 0, 0, [](GradCtx& c) { c.set(0, zeros_like(c.g())); })
WICK_D_ZERO(Floor);
WICK_D_ZERO(Ceil);
WICK_D_ZERO(Round);
WICK_D_ZERO(Sign);

WICK_GRAD(LeakyRelu, kX, 0, 0, [](GradCtx& c) {
  c.set(0, where(gt(c.in(0), 0), c.g(), c.g() * c.attrs<LeakyReluAttrs>().alpha));
});
WICK_GRAD(Elu, kX, kY, 0, [](GradCtx& c) {
  c.set(0, where(gt(c.in(0), 0), c.g(), c.g() * (c.out() + c.attrs<EluAttrs>().alpha)));
});
WICK_D_X(Silu, [&] {
  Tensor s = sigmoid(x);
  return g * (s * (1 + x * (1 - s)));
}());
WICK_D_X(HardSwish, [&] {
  Tensor inside = g * (x * (1.0 / 3) + 0.5);
  return where(lt(x, -3), zero_like(g), where(ge(x, 3), g, inside));  // as PyTorch at -3 and 3
}());
WICK_GRAD(HardSigmoid, kX, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<HardSigmoidAttrs>();
  Tensor line = c.in(0) * a.alpha + a.beta;
  c.set(0, where(logical_and(gt(line, 0), lt(line, 1)), c.g() * a.alpha, zero_like(c.g())));
});

static Tensor gelu_slope(const Tensor& x, bool tanh_form) {
  constexpr double kInvSqrt2Pi = 0.3989422804014327;
  if (!tanh_form) return (1 + erf(x * M_SQRT1_2)) * 0.5 + x * exp(x * x * -0.5) * kInvSqrt2Pi;
  constexpr double kBeta = M_SQRT2 * M_2_SQRTPI * 0.5, kCubic = 0.044715;
  Tensor xx = x * x;
  Tensor t = tanh(x * (1 + xx * kCubic) * kBeta);
  return (1 + t) * 0.5 + x * (1 - t * t) * (1 + xx * (3 * kCubic)) * (0.5 * kBeta);
}
WICK_GRAD(Gelu, kX, 0, 0, [](GradCtx& c) {
  c.set(0, c.g() * gelu_slope(c.in(0), c.attrs<GeluAttrs>().tanh != 0));
});

// Bounds given as inputs are constants to autograd.
WICK_GRAD(Clip, 7, 0, 6, [](GradCtx& c) {
  const auto& a = c.attrs<ClipAttrs>();
  Tensor x = c.in(0);
  Tensor above = c.has(1) ? ge(x, c.in(1)) : ge(x, a.min);
  Tensor below = c.has(2) ? le(x, c.in(2)) : le(x, a.max);
  c.set(0, where(logical_and(above, below), c.g(), zero_like(c.g())));
});

WICK_NONDIFF(Not, NonDiff::kIntegerOutput);
WICK_GRAD(Cast, 0, 0, 0, [](GradCtx& c) { c.set(0, c.g().to(c.in_dtype(0))); });

}  // namespace wick

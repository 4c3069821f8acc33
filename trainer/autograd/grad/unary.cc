#include <cmath>

#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/one_pass.h"

namespace wick {

constexpr uint32_t kX = 1, kY = 1;  // masks of the saved tensors: the input, the output

// WICK_D_X: dx from g and x. WICK_D_Y: dx from g and y.
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
// The same for formulas that can run as one pass.
#define WICK_D_X_PASS(Name, ...)                                                             \
  WICK_GRAD(Name, kX, 0, 0, [](GradCtx& c) {                                                 \
    c.set(0, formula::gradient_in_one_pass(                                                  \
                 [](const auto& g, const auto& x) { return __VA_ARGS__; }, c.g(), c.in(0))); \
  })
#define WICK_D_Y_PASS(Name, ...)                                                             \
  WICK_GRAD(Name, 0, kY, 0, [](GradCtx& c) {                                                 \
    c.set(0, formula::gradient_in_one_pass(                                                  \
                 [](const auto& g, const auto& y) { return __VA_ARGS__; }, c.g(), c.out())); \
  })

WICK_GRAD(Identity, 0, 0, 0, [](GradCtx& c) { c.set(0, c.g()); });
WICK_GRAD(Neg, 0, 0, 0, [](GradCtx& c) { c.set(0, neg(c.g())); });

WICK_D_Y_PASS(Relu, where(gt(y, 0), g, zero_like(g)));
WICK_D_Y_PASS(Sigmoid, g* y * (1 - y));
WICK_D_Y_PASS(Tanh, g * (1 - y * y));
WICK_D_Y(Exp, g* y);
WICK_D_Y_PASS(Sqrt, g * 0.5 / y);
WICK_D_Y_PASS(Reciprocal, -(g* y* y));
WICK_D_Y_PASS(Expm1, g*(y + 1));
WICK_D_X_PASS(Log1p, g / (1 + x));
WICK_D_X(Log2, g / (x * M_LN2));
WICK_D_X(Log10, g / (x * M_LN10));
WICK_D_X(Erfc, g* exp(-(x* x)) * -M_2_SQRTPI);
WICK_D_Y(Tan, g * (1 + y * y));

WICK_D_X_PASS(Softplus, g* sigmoid(x));
WICK_D_X(Log, g / x);
WICK_D_X_PASS(Erf, g* exp(-(x* x)) * M_2_SQRTPI);
WICK_D_X_PASS(Sin, g* cos(x));
WICK_D_X_PASS(Cos, -(g* sin(x)));
WICK_D_X(Asin, g / sqrt(1 - x * x));
WICK_D_X(Acos, -(g / sqrt(1 - x * x)));
WICK_D_X_PASS(Atan, g / (1 + x * x));
WICK_D_X(Sinh, g* cosh(x));
WICK_D_X(Cosh, g* sinh(x));
WICK_D_X(Asinh, g / sqrt(x * x + 1));
WICK_D_X(Acosh, g / sqrt(x * x - 1));
WICK_D_X(Atanh, g / (1 - x * x));
WICK_D_X_PASS(Abs, g* sign(x));

// Step functions: zero wherever they have a derivative, as in PyTorch.
#define WICK_D_ZERO(Name) WICK_GRAD(Name, 0, 0, 0, [](GradCtx& c) { c.set(0, zeros_like(c.g())); })
WICK_D_ZERO(Floor);
WICK_D_ZERO(Ceil);
WICK_D_ZERO(Round);
WICK_D_ZERO(Sign);

WICK_GRAD(LeakyRelu, kX, 0, 0, [](GradCtx& c) {
  const double alpha = c.attrs<LeakyReluAttrs>().alpha;
  const auto slope_of = [&](const auto& g, const auto& x) { return where(gt(x, 0), g, g * alpha); };
  c.set(0, formula::gradient_in_one_pass(slope_of, c.g(), c.in(0)));
});
WICK_GRAD(Elu, kX, kY, 0, [](GradCtx& c) {
  const double alpha = c.attrs<EluAttrs>().alpha;
  const auto slope_of = [&](const auto& g, const auto& x, const auto& y) {
    return where(gt(x, 0), g, g * (y + alpha));
  };
  c.set(0, formula::gradient_in_one_pass(slope_of, c.g(), c.in(0), c.out()));
});
WICK_GRAD(Silu, kX, 0, 0, [](GradCtx& c) {
  const auto slope_of = [](const auto& g, const auto& x) {
    const auto s = sigmoid(x);
    return g * (s * (1 + x * (1 - s)));
  };
  c.set(0, formula::gradient_in_one_pass(slope_of, c.g(), c.in(0)));
});
WICK_GRAD(HardSwish, kX, 0, 0, [](GradCtx& c) {
  const auto slope_of = [](const auto& g, const auto& x) {
    const auto inside = g * (x * (1.0 / 3) + 0.5);
    const auto beyond = where(ge(x, 3), g, inside);
    return where(lt(x, -3), zero_like(g), beyond);  // as PyTorch at -3 and 3
  };
  c.set(0, formula::gradient_in_one_pass(slope_of, c.g(), c.in(0)));
});
WICK_GRAD(HardSigmoid, kX, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<HardSigmoidAttrs>();
  const auto slope_of = [&](const auto& g, const auto& x) {
    const auto line = x * a.alpha + a.beta;
    const auto slope = g * a.alpha;
    return where(logical_and(gt(line, 0), lt(line, 1)), slope, zero_like(g));
  };
  c.set(0, formula::gradient_in_one_pass(slope_of, c.g(), c.in(0)));
});

struct GeluSlope {
  bool tanh_form;
  template <class V>
  V operator()(const V& g, const V& x) const {
    constexpr double kInvSqrt2Pi = 0.3989422804014327;
    if (!tanh_form) {
      const V below = (1 + erf(x * M_SQRT1_2)) * 0.5;
      return g * (below + x * exp(x * x * -0.5) * kInvSqrt2Pi);
    }
    constexpr double kBeta = M_SQRT2 * M_2_SQRTPI * 0.5, kCubic = 0.044715;
    const V xx = x * x;
    const V t = tanh(x * (1 + xx * kCubic) * kBeta);
    const V below = (1 + t) * 0.5;
    return g * (below + x * (1 - t * t) * (1 + xx * (3 * kCubic)) * (0.5 * kBeta));
  }
};
WICK_GRAD(Gelu, kX, 0, 0, [](GradCtx& c) {
  c.set(0,
        formula::gradient_in_one_pass(GeluSlope{c.attrs<GeluAttrs>().tanh != 0}, c.g(), c.in(0)));
});

// Bounds given as inputs are constants for autograd.
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

#include "trainer/tensor/ops/random/random_mask.h"

#include <cmath>

#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

// The limit of SELU at -inf: -scale * alpha.
constexpr double kLowest = -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717;

// Returns x with the elements that a mask of `shape` drops set to the lowest value.
Tensor alpha(const char* op, const Arg& x, double p, bool training, const Shape& shape) {
  const At at(x);
  if (!(p >= 0 && p <= 1)) {
    throw_error(op, "p must be in [0, 1], got " + std::to_string(p), x.where);
  }
  if (!training || p == 0) return x.tensor;
  if (p == 1) return mul(x, full({}, 0, x.tensor.dtype()));
  const double a = 1 / std::sqrt((1 - p) * (1 + p * kLowest * kLowest)), b = -a * kLowest * p;
  Tensor keep = moved_beside(x.tensor, ge(at(rand(shape)), p));
  return at(where(at(keep), at(mul(x, a)), at(full({}, a * kLowest, x.tensor.dtype())))) + b;
}

}  // namespace

Tensor alpha_dropout(const Arg& x, double p, bool training) {
  return alpha("alpha_dropout", x, p, training, x.tensor.raw_shape());
}

Tensor feature_alpha_dropout(const Arg& x, double p, bool training) {
  const int rank = x.tensor.rank();
  if (rank < 2) {
    bad_shape("feature_alpha_dropout", "needs [N, C, ...], got " + text(x.tensor), x.where);
  }
  Shape channels;
  for (int i = 0; i < rank; ++i) channels.push_back(i < 2 ? dim_of(x.tensor, i) : 1);
  return alpha("feature_alpha_dropout", x, p, training, channels);
}

Tensor rrelu(const Arg& x, double lower, double upper, bool training) {
  const At at(x);
  if (!(lower <= upper) || std::isinf(lower) || std::isinf(upper)) {
    throw_error("rrelu",
                "needs finite lower <= upper, got " + std::to_string(lower) + " and " +
                    std::to_string(upper),
                x.where);
  }
  if (!training) return leaky_relu(x, (lower + upper) / 2);
  const DType t = x.tensor.dtype();
  Tensor slope = uniform(x.tensor.raw_shape(), lower, upper, t, default_generator(), x.where);
  slope = moved_beside(x.tensor, slope);
  return where(at(ge(x, 0)), x, at(mul(x, at(slope))));
}

Tensor gumbel_softmax(const Arg& logits, double tau, bool hard, int dim, Generator& g) {
  const At at(logits);
  if (!(tau > 0)) {
    throw_error("gumbel_softmax", "tau must be above 0, got " + std::to_string(tau), logits.where,
                Code::kInvalidArgument);
  }
  const Tensor noise = neg(at(log(at(exponential_(at(zeros_like(logits)), 1, g)))));
  const Tensor soft = softmax(at(at(logits + at(noise)) / tau), dim);
  if (!hard) return soft;
  const Tensor first = argmax(at(soft), dim, true);
  const Tensor one = scatter(at(zeros_like(at(soft))), dim, at(first), 1);
  return at(at(one) - at(soft.detach(logits.where))) + at(soft);
}

}  // namespace wick

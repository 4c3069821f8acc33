#include <cmath>
#include <limits>

#include "trainer/autograd/function.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/philox.h"
#include "trainer/tensor/tracer.h"

namespace wick {
namespace {

// Returns softmax(q k^T factor) with the mask.
Tensor weights_of(const Tensor& q, const Tensor& k, const Tensor& mask, double factor,
                  const At& at) {
  Tensor scores = matmul(at(at(q) * factor), at(mt(k, at)));
  if (mask.defined() && mask.dtype() == DType::kBool) {
    Tensor never = full({}, -std::numeric_limits<double>::infinity(), scores.dtype());
    scores = where(at(mask), at(scores), at(never));
  } else if (mask.defined()) {
    scores = at(scores) + at(mask);
  }
  return softmax(at(scores), -1);
}

// Attention as one node, which saves only the weights of its intermediate values.
struct ScaledDotProductAttention : Function<ScaledDotProductAttention> {
  static Tensor forward(AutogradContext& ctx, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor& mask, double factor) {
    const At at(Where::current());
    Tensor weights = weights_of(q, k, mask, factor, at);
    ctx.save_for_backward({q, k, v, mask, weights});
    ctx.saved_data["factor"] = factor;
    return matmul(weights, v);
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const At at(Where::current());
    variable_list saved = ctx.get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &mask = saved[3], &g = grads[0];
    const double factor = std::any_cast<double>(ctx.saved_data["factor"]);
    // With a history of their own where this backward is recorded.
    const Tensor w = grad_enabled() ? weights_of(q, k, mask, factor, at) : saved[4];
    variable_list out(5);
    if (ctx.needs_input_grad(2)) out[2] = sum_to(matmul(mt(w, at), g), v.raw_shape());
    if (!ctx.needs_input_grad(0) && !ctx.needs_input_grad(1)) return out;
    Tensor gy = matmul(g, mt(v, at)) * w;
    Tensor gs = gy - w * sum(gy, {-1}, true);
    gy = Tensor();
    // A completely masked row has NaN weights, and must not pass them on.
    if (mask.defined() && mask.dtype() == DType::kBool)
      gs = where(mask, gs, full({}, 0, gs.dtype()));
    if (ctx.needs_input_grad(0)) out[0] = sum_to(matmul(gs, k) * factor, q.raw_shape());
    if (ctx.needs_input_grad(1)) out[1] = sum_to(matmul(mt(gs, at), q * factor), k.raw_shape());
    return out;
  }
};

}  // namespace

Tensor scaled_dot_product_attention(const Arg& q, const Arg& k, const Arg& v, const Tensor& mask,
                                    double dropout_p, bool is_causal, std::optional<double> scale) {
  const At at(q);
  if (q.tensor.rank() < 2 || k.tensor.rank() < 2 || v.tensor.rank() < 2 ||
      dim_of(q.tensor, -1) != dim_of(k.tensor, -1) ||
      dim_of(k.tensor, -2) != dim_of(v.tensor, -2)) {
    bad_shape("scaled_dot_product_attention",
              "needs q[..., L, E], k[..., S, E], v[..., S, Ev], got " + text(q.tensor) + ", " +
                  text(k.tensor) + ", " + text(v.tensor),
              q.where);
  }
  if (is_causal && mask.defined()) {
    throw_error("scaled_dot_product_attention", "takes a mask or is_causal, not both", q.where);
  }
  check_mask("scaled_dot_product_attention", mask, "visible", q.where);
  const int64_t rows = dim_of(q.tensor, -2), cols = dim_of(k.tensor, -2);
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(dim_of(q.tensor, -1))));
  Tensor seen = mask;
  if (is_causal) {
    seen = le(arange(cols).unsqueeze(0), arange(rows).unsqueeze(1));
    seen = moved_beside(q.tensor, seen, q.where);
  }
  const bool parts = dropout_p > 0 || active_tracer() != nullptr || modes().forward != 0 ||
                     modes().autocast != nullptr || (seen.defined() && seen.requires_grad());
  if (!parts) {
    Composite name("scaled_dot_product_attention", q.where);
    return ScaledDotProductAttention::apply(q, k.tensor, v.tensor, seen, factor);
  }
  Tensor weights = weights_of(q.tensor, k.tensor, seen, factor, at);
  if (dropout_p > 0) weights = dropout(at(weights), dropout_p, true);
  return matmul(at(weights), v);
}

}  // namespace wick

#include "trainer/tensor/ops/group_norm.h"

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/function.h"
#include "trainer/autograd/grad/one_pass.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/tracer.h"

namespace wick::detail {
namespace {

// x as [N, groups, channels, elements]: its rows are the last two dims.
Shape in_groups(const Shape& x, int64_t groups) {
  int64_t run = 1;
  for (int d = 2; d < x.rank(); ++d) run *= x[d];
  return {x[0], groups, x[1] / groups, run};
}

struct Standardized {
  double eps;
  template <class Rows, class V>
  auto operator()(const Rows& rows, const V& x) const {
    const auto centred = x - rows.mean(x);
    return centred / sqrt(rows.mean(centred * centred) + eps);
  }
};

struct NativeGroupNorm : Function<NativeGroupNorm> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, int64_t groups, double eps) {
    ctx.save_for_backward({x, weight});
    ctx.saved_data["groups"] = groups;
    ctx.saved_data["eps"] = eps;
    const Shape grouped = in_groups(x.raw_shape(), groups);
    const auto channels = [&](const Tensor& t) {
      return t.reshape({1, groups, x.raw_shape()[1] / groups, 1});
    };
    const Standardized standardized{eps};
    const Tensor rows = x.reshape(grouped);
    Tensor y;
    if (weight.defined() && bias.defined()) {
      y = formula::rows_in_one_pass([&](const auto& of, const auto& v, const auto& w,
                                        const auto& b) { return standardized(of, v) * w + b; },
                                    2, rows, channels(weight), channels(bias));
    } else if (weight.defined()) {
      y = formula::rows_in_one_pass(
          [&](const auto& of, const auto& v, const auto& w) { return standardized(of, v) * w; }, 2,
          rows, channels(weight));
    } else if (bias.defined()) {
      y = formula::rows_in_one_pass(
          [&](const auto& of, const auto& v, const auto& b) { return standardized(of, v) + b; }, 2,
          rows, channels(bias));
    } else {
      y = formula::rows_in_one_pass(standardized, 2, rows);
    }
    return y.reshape(x.raw_shape());
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const variable_list saved = ctx.get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const auto groups = std::any_cast<int64_t>(ctx.saved_data["groups"]);
    const double eps = std::any_cast<double>(ctx.saved_data["eps"]);
    if (!formula::unrecorded()) return through_ops(ctx, {x, weight}, groups, eps, grads[0]);
    variable_list out(5);
    const Tensor factor = weight.defined() ? weight : ones({x.raw_shape()[1]});
    const GroupNormGradAttrs a{groups, eps};
    const Tensor* in[] = {&grads[0], &x, &factor};
    call(OpId::kGroupNormGrad, &a, in, Span<Tensor>(out.data(), 3), Where::current());
    for (size_t i = 0; i < 3; ++i) {
      if (!ctx.needs_input_grad(i)) out[i] = Tensor();
    }
    return out;
  }

  // The gradients of the ops, which can be differentiated again. They do not depend on the bias.
  static variable_list through_ops(AutogradContext& ctx, variable_list in, int64_t groups,
                                   double eps, const Tensor& g) {
    const bool higher = grad_enabled();
    const GradMode on(true);
    in.push_back(ctx.needs_input_grad(2) ? zeros({in[0].raw_shape()[1]}) : Tensor());
    variable_list wanted, out(5);
    for (size_t i = 0; i < 3; ++i) {
      if (!ctx.needs_input_grad(i)) continue;
      // The ops get their own handle: for higher orders a recorded view, so that the history of the
      // results reaches x.
      const bool follow = higher && in[i].requires_grad();
      in[i] = follow ? in[i].reshape(in[i].raw_shape()) : in[i].detach().requires_grad_();
      wanted.push_back(in[i]);
    }
    const At at(Where::current());
    const Tensor y = group_norm_ops(in[0], groups, in[1], in[2], eps, at);
    const variable_list found = grad({y}, wanted, {g}, higher, higher, true);
    for (size_t i = 0, k = 0; i < 3; ++i) {
      if (ctx.needs_input_grad(i)) out[i] = found[k++];
    }
    return out;
  }
};

}  // namespace

bool is_native_group_norm(const Tensor& x, int64_t groups, const Tensor& weight,
                          const Tensor& bias) {
  const auto wide = [](const Tensor& t) {
    return !t.defined() || (t.dtype() == DType::kF32 && !t.is_vulkan());
  };
  if (active_tracer() != nullptr || modes().forward != 0) return false;
  if (!wide(x) || !wide(weight) || !wide(bias) || x.layout().numel() == 0) return false;
  return x.layout().numel() / x.raw_shape()[0] / groups <= kPollWork;
}

Tensor native_group_norm(const Arg& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                         double eps) {
  Composite name("group_norm", x.where);
  return NativeGroupNorm::apply(x, weight, bias, groups, eps);
}

}  // namespace wick::detail

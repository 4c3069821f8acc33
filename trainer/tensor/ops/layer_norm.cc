#include "trainer/tensor/ops/layer_norm.h"

#include "trainer/autograd/function.h"
#include "trainer/autograd/grad/one_pass.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick::detail {
namespace {

struct Parts {
  double eps;

  template <class Rows, class V>
  auto standardized(const Rows& rows, const V& x) const {
    const auto centred = x - rows.mean(x);
    return centred / sqrt(rows.mean(centred * centred) + eps);
  }
  // dL/dx from h = dL/d(standardized), with n the standardized x: (h - mean(h) - n mean(h n)) /
  // root
  template <class Rows, class V>
  auto input_grad(const Rows& rows, const V& x, const V& h) const {
    const auto centred = x - rows.mean(x);
    const auto root = sqrt(rows.mean(centred * centred) + eps);
    const auto n = centred / root;
    return (h - rows.mean(h) - n * rows.mean(h * n)) / root;
  }
};

struct NativeLayerNorm : Function<NativeLayerNorm> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, int row_dims, double eps) {
    ctx.save_for_backward({x, weight});
    ctx.saved_data["rows"] = row_dims;
    ctx.saved_data["eps"] = eps;
    const Parts parts{eps};
    if (weight.defined() && bias.defined()) {
      return formula::rows_in_one_pass(
          [&](const auto& rows, const auto& v, const auto& w, const auto& b) {
            return parts.standardized(rows, v) * w + b;
          },
          row_dims, x, weight, bias);
    }
    if (weight.defined() || bias.defined()) {
      const bool scales = weight.defined();
      const Tensor& other = scales ? weight : bias;
      const auto scaled = [&](const auto& rows, const auto& v, const auto& w) {
        return parts.standardized(rows, v) * w;
      };
      const auto shifted = [&](const auto& rows, const auto& v, const auto& b) {
        return parts.standardized(rows, v) + b;
      };
      return scales ? formula::rows_in_one_pass(scaled, row_dims, x, other)
                    : formula::rows_in_one_pass(shifted, row_dims, x, other);
    }
    return formula::rows_in_one_pass(
        [&](const auto& rows, const auto& v) { return parts.standardized(rows, v); }, row_dims, x);
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const variable_list saved = ctx.get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &g = grads[0];
    const int row_dims = std::any_cast<int>(ctx.saved_data["rows"]);
    const Parts parts{std::any_cast<double>(ctx.saved_data["eps"])};
    variable_list out(5);
    Shape row;
    for (int d = x.rank() - row_dims; d < x.rank(); ++d) row.push_back(x.raw_shape()[d]);
    if (formula::unseen_rows(row_dims, {&x, &g}) && !x.is_vulkan()) {
      // One op with the bits of these formulas.
      const Tensor factor = weight.defined() ? weight : ones(row);
      const LayerNormGradAttrs a{row_dims, parts.eps};
      const Tensor* in[] = {&g, &x, &factor};
      call(OpId::kLayerNormGrad, &a, in, Span<Tensor>(out.data(), 3), Where::current());
      for (size_t i = 0; i < 3; ++i) {
        if (!ctx.needs_input_grad(i)) out[i] = Tensor();
      }
      return out;
    }
    if (ctx.needs_input_grad(0)) {
      if (weight.defined()) {
        out[0] = formula::rows_in_one_pass(
            [&](const auto& rows, const auto& v, const auto& dy, const auto& w) {
              return parts.input_grad(rows, v, dy * w);
            },
            row_dims, x, g, weight);
      } else {
        out[0] =
            formula::rows_in_one_pass([&](const auto& rows, const auto& v,
                                          const auto& dy) { return parts.input_grad(rows, v, dy); },
                                      row_dims, x, g);
      }
    }
    if (weight.defined() && ctx.needs_input_grad(1)) {
      out[1] = sum_to(formula::rows_in_one_pass(
                          [&](const auto& rows, const auto& v, const auto& dy) {
                            return dy * parts.standardized(rows, v);
                          },
                          row_dims, x, g),
                      row);
    }
    if (ctx.needs_input_grad(2)) out[2] = sum_to(g, row);
    return out;
  }
};

}  // namespace

Tensor native_layer_norm(const Arg& x, int row_dims, const Tensor& weight, const Tensor& bias,
                         double eps) {
  Composite name("layer_norm", x.where);
  return NativeLayerNorm::apply(x, weight, bias, row_dims, eps);
}

}  // namespace wick::detail

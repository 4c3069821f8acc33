#include "trainer/course/course.h"

#include <cmath>
#include <numbers>

#include "trainer/autograd/function.h"
#include "trainer/nn/conv.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::course {
namespace {

// The blocks write into parts of the result, which autograd need not follow: the gradient of a
// product is known.
struct TiledMatmul : Function<TiledMatmul> {
  static Tensor forward(AutogradContext& ctx, const Tensor& a, const Tensor& b, int64_t tile) {
    const AutocastScope plain(DType::kBF16, false);  // the inputs were cast already
    ctx.save_for_backward({a, b});
    ctx.saved_data["tile"] = tile;
    // size(): a capture has to know that the number of blocks depends on it.
    const int64_t m = a.size(0), n = b.size(1), depth = a.size(1);
    Tensor c = zeros_beside(a, {m, n}, a.dtype());
    for (int64_t i = 0; i < m; i += tile) {
      const Tensor rows = a.slice(0, i, std::min(i + tile, m));
      for (int64_t j = 0; j < n; j += tile) {
        const Tensor columns = b.slice(1, j, std::min(j + tile, n));
        Tensor block = c.slice(0, i, std::min(i + tile, m)).slice(1, j, std::min(j + tile, n));
        for (int64_t k = 0; k < depth; k += tile) {
          const int64_t end = std::min(k + tile, depth);
          block.add_(matmul(rows.slice(1, k, end), columns.slice(0, k, end)));
        }
      }
    }
    return c;
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const variable_list saved = ctx.get_saved_variables();
    const auto tile = std::any_cast<int64_t>(ctx.saved_data["tile"]);
    variable_list out(3);
    if (ctx.needs_input_grad(0)) out[0] = tiled_matmul(grads[0], saved[1].t(), tile);
    if (ctx.needs_input_grad(1)) out[1] = tiled_matmul(saved[0].t(), grads[0], tile);
    return out;
  }
};

}  // namespace

Tensor vectorized_matmul(const Arg& a, const Arg& b) { return matmul(a, b); }

Tensor tiled_matmul(const Arg& a, const Arg& b, int64_t tile) {
  if (a.tensor.rank() != 2 || b.tensor.rank() != 2 || dim_of(a.tensor, 1) != dim_of(b.tensor, 0)) {
    bad_shape("tiled_matmul",
              "needs a[M, K] and b[K, N], got " + text(a.tensor) + ", " + text(b.tensor), a.where);
  }
  if (tile < 1)
    throw_error("tiled_matmul", "tile must be at least 1, got " + std::to_string(tile), a.where);
  const std::vector<Tensor> in = autocast_tensors(OpId::kMatMul, {a.tensor, b.tensor}, a.where);
  if (in[0].dtype() != in[1].dtype()) {
    throw_error("tiled_matmul",
                std::string("operands must have one dtype, got ") + dtype_name(a.tensor.dtype()) +
                    " and " + dtype_name(b.tensor.dtype()) + ": convert one with to()",
                a.where, Code::kTypeMismatch);
  }
  return TiledMatmul::apply(Arg{in[0], a.where}, in[1], tile);
}

Tensor fused_gelu(const Arg& x) { return gelu(x, true); }

Tensor unfused_gelu(const Arg& x) {
  const At at(x);
  const Tensor cube = pow(x, 3.0);
  const Tensor scaled = at(cube) * 0.044715;
  const Tensor inner = x + at(scaled);
  const Tensor angle = at(inner) * std::sqrt(2 / std::numbers::pi);
  const Tensor curve = tanh(at(angle));
  const Tensor raised = at(curve) + 1.0;
  const Tensor product = x * at(raised);
  return at(product) * 0.5;
}

Tensor fused_mlp(const Arg& x, const Tensor& w1, const Tensor& b1, const Tensor& w2,
                 const Tensor& b2) {
  EpilogueAttrs gelu;
  gelu.activation = static_cast<int64_t>(Activation::kGeluErf);
  const Tensor hidden = call(OpId::kFusedLinear, gelu, {x, w1, b1});
  return linear({hidden, x.where}, w2, b2);
}

Tensor im2col(const Arg& x, Pair kernel_size, Pair stride, Pair padding, Pair dilation) {
  return unfold(x, kernel_size, dilation, padding, stride);
}

Tensor col2im(const Arg& columns, Pair output_size, Pair kernel_size, Pair stride, Pair padding,
              Pair dilation) {
  return fold(columns, output_size, kernel_size, dilation, padding, stride);
}

Im2colConv2d::Im2colConv2d(int64_t in_channels, int64_t out_channels, Pair kernel_size, Pair stride,
                           Pair padding, bool bias)
    : stride_(stride), padding_(padding) {
  const nn::Conv2d like(in_channels, out_channels, kernel_size,
                        {.stride = stride, .padding = padding, .bias = bias});
  weight = register_parameter("weight", like.weight.detach());
  if (bias) this->bias = register_parameter("bias", like.bias.detach());
}

Tensor Im2colConv2d::forward(const Arg& x) {
  const At at(x);
  const Shape& w = weight.raw_shape();
  if (x.tensor.rank() != 4 || dim_of(x.tensor, 1) != w[1]) {
    bad_shape("Im2colConv2d",
              "needs x[N, " + std::to_string(w[1]) + ", H, W], got " + text(x.tensor), x.where);
  }
  const Tensor columns = im2col(x, {w[2], w[3]}, stride_, padding_);
  Tensor y = matmul(at(weight.reshape({w[0], w[1] * w[2] * w[3]})), at(columns));
  // In the product's dtype: under autocast, a bias in float32 would widen the result.
  if (bias.defined()) y = at(y) + at(bias.reshape({w[0], 1}).to(y.dtype(), x.where));
  const auto windows = [](int64_t size, int64_t kernel, int64_t pad, int64_t stride) {
    return (size + 2 * pad - kernel) / stride + 1;
  };
  return y.reshape({dim_of(x.tensor, 0), w[0],
                    windows(dim_of(x.tensor, 2), w[2], padding_.h, stride_.h),
                    windows(dim_of(x.tensor, 3), w[3], padding_.w, stride_.w)});
}

}  // namespace wick::course

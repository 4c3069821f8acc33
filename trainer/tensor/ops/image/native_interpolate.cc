#include "trainer/tensor/ops/image/native_interpolate.h"

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/function.h"
#include "trainer/autograd/grad/one_pass.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick::detail {
namespace {

// x is an input once for each tap along the first resized dim: the ops read it so often, and what
// they contribute to its gradient is added, one after the other, to what other readers of x do.
struct NativeInterpolate : Function<NativeInterpolate> {
  static Tensor forward(AutogradContext& ctx, const variable_list& x, const Tensor& scales,
                        const Tensor& sizes, const ResizeAttrs& a, const InterpolateOps& ops) {
    ctx.saved_data["taps"] = x.size();
    ctx.saved_data["shape"] = x[0].raw_shape();
    ctx.saved_data["scales"] = scales;
    ctx.saved_data["sizes"] = sizes;
    ctx.saved_data["attrs"] = a;
    ctx.saved_data["ops"] = ops;
    return resized({x[0], Where::current()}, scales, sizes, a);
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const auto taps = std::any_cast<size_t>(ctx.saved_data["taps"]);
    const auto shape = std::any_cast<Shape>(ctx.saved_data["shape"]);
    variable_list out(taps + 4);
    if (!formula::unrecorded()) {
      const variable_list parts = through_ops(ctx, taps, shape, grads[0]);
      std::copy(parts.begin(), parts.end(), out.begin());
      return out;
    }
    const auto a = std::any_cast<ResizeAttrs>(ctx.saved_data["attrs"]);
    const auto scales = std::any_cast<Tensor>(ctx.saved_data["scales"]);
    const auto sizes = std::any_cast<Tensor>(ctx.saved_data["sizes"]);
    const Tensor x = full({}, 0, grads[0].dtype()).expand(shape);  // only its shape is read
    const Tensor* in[] = {&x, &grads[0], &scales, &sizes};
    call(OpId::kResizeGrad, &a, in, Span<Tensor>(out.data(), taps), Where::current());
    return out;
  }

  // The gradients of the ops, which can be differentiated again: they do not depend on x. The last
  // tap's is the first, as the newest op comes first.
  static variable_list through_ops(AutogradContext& ctx, size_t taps, const Shape& shape,
                                   const Tensor& g) {
    const bool higher = grad_enabled();
    const GradMode on(true);
    const Tensor any = zeros(shape, g.dtype());
    variable_list read;
    for (size_t k = 0; k < taps; ++k) read.push_back(any.detach().requires_grad_());
    const Tensor y = std::any_cast<InterpolateOps>(ctx.saved_data["ops"])(read);
    return grad({y}, {read.rbegin(), read.rend()}, {g}, higher, higher, true);
  }
};

}  // namespace

Tensor resized(const Arg& x, const Tensor& scales, const Tensor& sizes, const ResizeAttrs& a) {
  const Tensor none;
  const Tensor* in[] = {&x.tensor, &none, &scales, &sizes};
  Tensor y;
  call(OpId::kResize, &a, in, Span<Tensor>(&y, 1), x.where);
  return y;
}

Tensor native_interpolate(const Arg& x, size_t taps, const Tensor& scales, const Tensor& sizes,
                          const ResizeAttrs& a, const InterpolateOps& ops) {
  Composite name("interpolate", x.where);
  return NativeInterpolate::apply(variable_list(taps, x.tensor), scales, sizes, a, ops);
}

}  // namespace wick::detail

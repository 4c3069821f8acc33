#include "trainer/tensor/ops/image/native_interpolate.h"

#include "trainer/autograd/function.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/ops/pointwise.h"

namespace wick::detail {
namespace {

struct NativeInterpolate : Function<NativeInterpolate> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x, const Tensor& scales,
                        const Tensor& sizes, const ResizeAttrs& a) {
    ctx.saved_data["shape"] = x.raw_shape();
    ctx.saved_data["scales"] = scales;
    ctx.saved_data["sizes"] = sizes;
    ctx.saved_data["attrs"] = a;
    return resized({x, Where::current()}, scales, sizes, a);
  }

  static variable_list backward(AutogradContext& ctx, const variable_list& grads) {
    const auto a = std::any_cast<ResizeAttrs>(ctx.saved_data["attrs"]);
    const auto scales = std::any_cast<Tensor>(ctx.saved_data["scales"]);
    const auto sizes = std::any_cast<Tensor>(ctx.saved_data["sizes"]);
    // The op reads no element of x.
    const Tensor x =
        full({}, 0, grads[0].dtype()).expand(std::any_cast<Shape>(ctx.saved_data["shape"]));
    const Tensor* in[] = {&x, &grads[0], &scales, &sizes};
    variable_list out(4);
    call(OpId::kResizeGrad, &a, in, Span<Tensor>(out.data(), 1), Where::current());
    return out;
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

Tensor native_interpolate(const Arg& x, const Tensor& scales, const Tensor& sizes,
                          const ResizeAttrs& a) {
  Composite name("interpolate", x.where);
  return NativeInterpolate::apply(x, scales, sizes, a);
}

}  // namespace wick::detail

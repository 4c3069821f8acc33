// swish(x) = x * sigmoid(beta * x) as a user's own op: kernel, gradient, ONNX name. It links with
// nothing.
#include <wick/custom_op.h>

#include <cmath>

struct SwishAttrs {
  double beta = 1;
};
namespace wick {
WICK_ATTR_FIELDS(SwishAttrs, WICK_FIELD(SwishAttrs, 1, beta));
}

template <class T>
wick::Status swish(const wick::KernelCtx&, wick::Span<const wick::TensorView> in,
                   wick::Span<wick::TensorView> out, const void* attrs) {
  const T beta = static_cast<T>(static_cast<const SwishAttrs*>(attrs)->beta);
  const T* x = in[0].as<T>();
  for (int64_t i = 0; i < in[0].numel(); ++i)
    out[0].as<T>()[i] = x[i] / (1 + std::exp(-beta * x[i]));
  return {};
}
constexpr wick::KernelRow kKernels[] = {wick::kernel_row<float>("swish.f32", swish<float>),
                                        wick::kernel_row<double>("swish.f64", swish<double>)};

void gradient(wick::Gradient& d) {
  wick::Var x = d.in(0), s = wick::sigmoid(x * d.as<SwishAttrs>().beta);
  d.set(0, d.g() * (s + d.as<SwishAttrs>().beta * x * s * (1 - s)));
}
constexpr wick::CustomOp kSwish = {.domain = "example",
                                   .name = "Swish",
                                   .attrs = &wick::AttrFields<SwishAttrs>::kType,
                                   .kernels = kKernels,
                                   .gradient = gradient};
WICK_EXPORT_OPS(&kSwish)

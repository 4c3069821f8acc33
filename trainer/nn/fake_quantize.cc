#include "trainer/nn/fake_quantize.h"

#include "trainer/tensor/call.h"

namespace wick {
namespace {

Tensor fake(const Arg& x, const Tensor& scale, const Tensor& zero_point,
            const FakeQuantizeAttrs& a) {
  const Tensor zero =
      is_float(zero_point.dtype()) ? zero_point : zero_point.to(x.tensor.dtype(), x.where);
  return call(OpId::kFakeQuantize, a, {x, {scale, x.where}, {zero, x.where}});
}

}  // namespace

Tensor fake_quantize_per_tensor_affine(const Arg& x, double scale, int64_t zero_point,
                                       int64_t quant_min, int64_t quant_max) {
  const DType t = x.tensor.dtype();
  return fake(x, full({}, scale, t, x.where), full({}, zero_point, t, x.where),
              {0, quant_min, quant_max});
}
Tensor fake_quantize_per_tensor_affine(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                                       int64_t quant_min, int64_t quant_max) {
  return fake(x, scale, zero_point, {0, quant_min, quant_max});
}
Tensor fake_quantize_per_channel_affine(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                                        int64_t axis, int64_t quant_min, int64_t quant_max) {
  return fake(x, scale, zero_point, {axis, quant_min, quant_max});
}
Tensor fake_quantize_learnable(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                               int64_t axis, int64_t quant_min, int64_t quant_max) {
  return fake(x, scale, zero_point, {axis, quant_min, quant_max, 1});
}

}  // namespace wick

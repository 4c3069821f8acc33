// Rounding to the integers of a quantized model, and back, so that gradients pass: torch's
// functions of these names.
#pragma once

#include "trainer/tensor/ops.h"

namespace wick {

// y = (clamp(rint(x / scale) + zero_point, quant_min, quant_max) - zero_point) * scale, rounded
// half to even: by their bits DequantizeLinear of QuantizeLinear. (PyTorch multiplies by 1 / scale:
// ties and neighbours of ties may fall the other way there.) x float32 or float64. Gradient:
// straight through where the integer is in range, 0 elsewhere; none to scale and zero point. Error:
// a scale that is not finite and above 0, quant_min >= quant_max.
Tensor fake_quantize_per_tensor_affine(const Arg& x, double scale, int64_t zero_point,
                                       int64_t quant_min, int64_t quant_max);
// scale, zero_point: one number each, of x's dtype or integers
Tensor fake_quantize_per_tensor_affine(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                                       int64_t quant_min, int64_t quant_max);
// scale, zero_point: one number an index of the axis
Tensor fake_quantize_per_channel_affine(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                                        int64_t axis, int64_t quant_min, int64_t quant_max);
// The same values; scale (and zero_point, rounded to an integer in range) learn by LSQ's gradients,
// times 1 / sqrt(n quant_max) for n elements that share a scale. Esser et al., "Learned Step Size
// Quantization", 2020; the zero point's: Bhalgat et al., "LSQ+", 2020. torch: the functions
// _fake_quantize_learnable_*, with that grad_factor.
Tensor fake_quantize_learnable(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                               int64_t axis, int64_t quant_min, int64_t quant_max);

}  // namespace wick

// Rounds to the integers of a quantized model and back, in a way that passes gradients: torch's
// functions of these names.
#pragma once

#include "trainer/tensor/ops.h"

namespace wick {

// y = (clamp(rint(x / scale) + zero_point, quant_min, quant_max) - zero_point) * scale, with ties
// rounded to even: bit-identical to DequantizeLinear of QuantizeLinear. (PyTorch multiplies by 1 /
// scale, so that ties and numbers next to them may differ.) x is float32 or float64. The gradient
// is the straight-through estimator where the integer is in range, and 0 elsewhere; scale and zero
// point get none. Throws Error for a scale that is not finite and positive, and for quant_min >=
// quant_max.
Tensor fake_quantize_per_tensor_affine(const Arg& x, double scale, int64_t zero_point,
                                       int64_t quant_min, int64_t quant_max);
// scale, zero_point: one number each; x's dtype or integers.
Tensor fake_quantize_per_tensor_affine(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                                       int64_t quant_min, int64_t quant_max);
// scale, zero_point: one number per index of the axis.
Tensor fake_quantize_per_channel_affine(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                                        int64_t axis, int64_t quant_min, int64_t quant_max);
// Returns the same values, but scale (and zero_point, rounded to an integer in range) is learned by
// LSQ's gradients, times 1 / sqrt(n quant_max) for n elements that share a scale. Esser et al.,
// "Learned Step Size Quantization", 2020; for the zero point: Bhalgat et al., "LSQ+", 2020. In
// torch these are the functions _fake_quantize_learnable_*, with that grad_factor.
Tensor fake_quantize_learnable(const Arg& x, const Tensor& scale, const Tensor& zero_point,
                               int64_t axis, int64_t quant_min, int64_t quant_max);

}  // namespace wick

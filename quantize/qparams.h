// QParams turn reals into integers: real = (q - zero_point) * scale, q = clamp(rint(real / scale) +
// zero_point) in float32, as QuantizeLinear and DequantizeLinear compute.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"

namespace wick::quantize {

// How integers stand for real numbers: real = scale * (q - zero_point).
struct QParams {
  std::vector<float> scale;         // one, or one for each index of `axis`; finite and > 0
  std::vector<int32_t> zero_point;  // as many
  DType dtype = DType::kU8;         // int8, uint8, int4 or uint4; int32 for biases
  int64_t axis = -1;                // -1: one scale for the whole tensor
  bool per_tensor() const { return axis < 0; }  // one scale for the whole tensor
};

// The integers from lo to hi, both included.
struct IntegerRange {
  int32_t lo, hi;
};
// Throws Error for a dtype that QParams cannot have.
IntegerRange integer_range(DType dtype);

// A range of reals; lo <= hi.
struct Range {
  float lo = 0, hi = 0;
};

// The scale and zero point for the range widened to hold 0, which is represented exactly:
//   asymmetric  scale = (hi - lo) / (qmax - qmin) in float32, the zero point the integer nearest to
//               where 0 falls
//   symmetric   scale = max(|lo|, |hi|) / qmax of the signed type; the zero point is 0 (128 of
//   uint8)
// A range of 0 alone has scale 1. A scale is never below the smallest normal float32. Throws Error
// for bounds that are not finite or lo > hi.
QParams params_of(Range range, DType dtype, bool symmetric);
// Does the same for every index of an axis.
QParams params_of(const std::vector<Range>& ranges, DType dtype, bool symmetric, int64_t axis);

// Throws Error, "[quantize] NAME: scale 3 is 0 ...", for a scale that is not finite or not > 0,
// counts that differ, or a zero point outside the dtype.
void check(const QParams& q, const std::string& name);

// Convert float32 to q.dtype and back. Shapes are kept.
HostTensor to_integers(const HostTensor& x, const QParams& q);
HostTensor to_reals(const HostTensor& x, const QParams& q);

// Return inputs 1 and 2 of QuantizeLinear and DequantizeLinear: scalars, or one number per index.
HostTensor scale_tensor(const QParams& q);
HostTensor zero_point_tensor(const QParams& q);

}  // namespace wick::quantize

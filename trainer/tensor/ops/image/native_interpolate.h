// interpolate() as one graph node; not public, unlike interpolate() in ops/image/image.h.
#pragma once

#include <functional>
#include <vector>

#include "runtime/ops/attrs.h"
#include "trainer/tensor/tensor.h"

namespace wick::detail {

// The op Resize with one of scales and sizes; the other is undefined.
Tensor resized(const Arg& x, const Tensor& scales, const Tensor& sizes, const ResizeAttrs& a);

// interpolate() in ops that are seen one by one, of a tensor for each tap along the first resized
// dim.
using InterpolateOps = std::function<Tensor(const std::vector<Tensor>& taps)>;

// resized() for float32 [N, C] and one or two spatial dims, linear or cubic, with `interpolate`
// set. Its gradient has the bits of those ops, where Resize's own is a product with a matrix. It
// saves nothing of x.
Tensor native_interpolate(const Arg& x, size_t taps, const Tensor& scales, const Tensor& sizes,
                          const ResizeAttrs& a, const InterpolateOps& ops);

}  // namespace wick::detail

// What a node computes, as far as it is products: convolutions, matrix products, recurrences.
#pragma once

#include "runtime/core/shape.h"
#include "runtime/core/span.h"
#include "runtime/ops/op_id.h"

namespace wick::tool {

// Two for each multiply-add; 0 for every other op, which memory bounds.
double node_flops(OpId op, Span<const Shape> in, Span<const Shape> out);

}  // namespace wick::tool

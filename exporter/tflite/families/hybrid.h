// Layers of float32 whose weights are bytes ("hybrid"): TensorFlow Lite quantizes what such a layer
// gets when it runs, one batch after the other, and so does the graph.
#pragma once

#include "exporter/tflite/read/read.h"

namespace wick::tflite {

// Returns whether the layer's weight is bytes and its input float32.
bool is_hybrid(const ReadCtx& c, int input, int weight);

// Which bytes stand for a batch's numbers: -127 to 127 for plus and minus the largest, or -128 to
// 127 for the smallest and the largest.
enum class Range { kSymmetric, kAsymmetric };

// The numbers of the bytes less their zero point, as float32, and the scale of each batch, with a
// dim of 1 for each dim but the first.
struct AtRun {
  ValueId whole = kNoValue, scale = kNoValue;
};
AtRun quantized_at_run(ReadCtx& c, ValueId x, Range range);

// Returns the weight's bytes as float32, with its axes permuted.
ValueId whole_weight(ReadCtx& c, int weight, const std::vector<int64_t>& perm);
// Returns numbers of the sums of products of both: times the weight's scale and the batch's. The
// outputs are dim `axis` of `dims`.
ValueId scaled(ReadCtx& c, ValueId sums, const AtRun& x, int weight, int axis, int dims);

}  // namespace wick::tflite

// Inserts Q/DQ pairs into a graph, by a plan and the scales of its values.
#pragma once

#include "graph/passes/byte_sums.h"
#include "quantize/observe/calibrate.h"
#include "quantize/passes/gptq.h"

namespace wick::quantize {

// Returns a copy whose values keep their ids (new ones are appended) and whose nodes are in order;
// dead constants are still there until compact() drops them. give_bias: layers without a bias get
// one of zeros, for bias correction. `inputs`: for GPTQ; null: without.
ir::Graph insert_qdq(const ir::Graph& graph, const Plan& plan, const Calibration& calibration,
                     const Recipe& recipe, bool give_bias, LayerInputs* inputs,
                     std::vector<std::string>* notes);

// Returns the scale of a layer's weight by its own numbers: per output channel, or one for all.
// `node`: the layer's name, which may have a width of its own in the recipe.
QParams weight_params(const HostTensor& weight, const Recipe& recipe, const std::string& node = "");
// Makes weight scales larger where the bias would not fit 32 bits, and chooses those of channels
// whose weights are all 0 by the bias alone. Returns how many it changed.
int fit_bias(const HostTensor& bias, const HostTensor& weight, float input_scale,
             QParams* weight_scale);
// Makes weight scales larger where 32 bits may not hold a sum of products with bytes of `input` and
// the bias (absent: none). If `bias_moves`, the bias may become any that fit_bias() allows. Returns
// how many channels it changed.
int fit_sums(const HostTensor& bias, const HostTensor& weight, const QParams& input,
             bool bias_moves, QParams* weight_scale);
// Returns the largest sum of each channel, with weights quantized by weight_scale, for bytes x
// between -down and up of their zero point.
std::vector<int64_t> largest_sums(const HostTensor& weight, const QParams& weight_scale,
                                  const ir::ByteReach& x);
// Returns int32 parameters in units of input_scale * weight_scale[c].
QParams bias_params(float input_scale, const QParams& weight_scale);

// Moves each int32 bias by the difference between the channel's mean in calibration
// (Calibration::means) and in the quantized graph, layer by layer in order, so that later layers
// see earlier corrections. `graph` was made by insert_qdq(). Returns how many layers were
// corrected.
int correct_biases(ir::Graph& graph, const Calibration& calibration, const Recipe& recipe,
                   const Batches& batches, const CalibrateOptions& options);

}  // namespace wick::quantize

// Recipe says how a model is quantized. Passes, calibration, training and the command line read it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/core/dtype.h"

namespace wick::quantize {

// How activations get their scales: from calibration, from each tensor as it comes, not at all
// (weights alone are integers), or from training. The last two have no integers: weights are
// rounded to 16-bit floats, which a file keeps in half the bytes.
enum class Mode : uint8_t { kStatic, kDynamic, kWeightOnly, kQat, kF16, kBF16 };
const char* mode_name(Mode m);  // "static", "dynamic", "weight-only", "qat", "f16", "bf16"
Mode mode_from(const std::string& name);  // throws Error listing them

// An observer keeps this of the values that it sees.
enum class ObserverKind : uint8_t {
  kMinMax,         // the extremes
  kMovingAverage,  // the moving average of each batch's extremes
  kPercentile,     // the extremes without the outermost values
  kEntropy,        // the clipping with the least Kullback-Leibler divergence (as TensorRT)
  kMse,            // the clipping with the least squared error
};
// "min-max", "moving-average", "percentile", "entropy", "mse"
const char* observer_name(ObserverKind k);
ObserverKind observer_from(const std::string& name);  // throws Error listing them

// An observer and its numbers.
struct ObserverSpec {
  ObserverKind kind = ObserverKind::kMinMax;  // what it keeps
  double averaging = 0.01;    // kMovingAverage: a new batch's share, PyTorch's averaging_constant
  double percentile = 99.99;  // kPercentile: the share inside the range, both ends together
};

// How wide the numbers of one layer's weight are. The wider two keep the layer float: its weight
// has float32 numbers, of which those of kF16 are rounded to float16 (a .wick file stores them so).
enum class Width : uint8_t { kInt4, kInt8, kF16, kF32 };
const char* width_name(Width width);  // "int4", "int8", "f16", "f32"

// Says what is quantized, and how.
struct Recipe {
  Mode mode = Mode::kStatic;  // how activations get their scales
  // The dtype of activations: uint8 or int8.
  DType activation = DType::kU8;
  // These say whether the integer of 0 is the middle of the range instead of what fits the values,
  // and what keeps their ranges.
  bool activation_symmetric = false;
  ObserverSpec activation_observer;
  // The dtype of weights: int8, int4 or uint4.
  DType weight = DType::kI8;
  // The same of weights.
  bool weight_symmetric = true;
  bool per_channel = true;  // one scale for each output channel
  ObserverSpec weight_observer;
  int64_t block_size = 32;  // weight-only: weights per scale in a row, 32, 64 or 128

  bool fold_batch_norm = true;      // batch norms behind a Conv or Linear become part of it first
  bool equalize = false;            // cross-layer equalization (Nagel et al. 2019)
  bool bias_correction = false;     // runs over the first batches again, all at one time:
  int64_t correction_batches = 16;  // how many of them
  bool embeddings = true;           // weight-only: tables of Gather are quantized, too
  // Weights of Linear are rounded by GPTQ instead of to the nearest integer (passes/gptq.h). This
  // needs batches in the dynamic and weight-only modes too.
  bool gptq = false;

  // These say whether the layers (Conv, Linear, MatMul) nearest to the graph's inputs
  // (quantize_first) and outputs (quantize_last) are quantized.
  bool quantize_first = true;
  bool quantize_last = true;
  // A last Linear returns float32 directly from its integers, which loses less than a byte would.
  bool float_output = false;
  // Nodes whose name or module matches stay float: * matches any text, ? one character.
  std::vector<std::string> skip;
  // By a node's name (display_name() in passes/plan.h): the width of its weight, whatever `weight`
  // says, in static, dynamic and weight-only recipes. quantize_within() (choose/mixed.h) finds
  // these.
  std::map<std::string, Width> widths;
};

// Returns the integers of a node's weight: `weight`, or what `widths` says of that node.
DType weight_dtype(const Recipe& recipe, const std::string& node);

// Throws Error for a value that is invalid: a dtype, block size, percentile or average.
void check(const Recipe& recipe);

// Returns whether text matches a pattern of *, ? and other characters.
bool fits_pattern(const std::string& text, const std::string& pattern);

}  // namespace wick::quantize

// Gives each layer the width that it needs: int4, int8, float16 or float32 weights, by what each
// costs the outputs, under a budget of bytes and of accuracy.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quantize/passes/quantize.h"

namespace wick::quantize {

// What a quantized model may take and lose; absent: any amount.
struct Budget {
  std::optional<int64_t> max_bytes = {};  // of the file
  std::optional<double> max_drop = {};    // of the score, against the float graph's
};

// A layer, and what its widths cost.
struct LayerCost {
  std::string node, op;           // the node's name, and its op's
  int64_t elements = 0;           // of its weight
  Width width = Width::kF32;      // the one that was chosen
  std::map<Width, double> alone;  // by width: sqnr_db of the outputs where this layer alone has it
};

// A model that was made, with what it takes and loses.
struct MixedPoint {
  std::map<std::string, Width> widths;  // by the node's name
  int64_t bytes = 0;                    // of the file
  double sqnr_db = 0;                   // of the outputs, the mean over those of real numbers
  std::optional<double> drop;           // of the score
  bool fits = false;                    // within the budget
};

// What quantize_within() found.
struct Mixed {
  Recipe recipe;                   // the one given, with the widths that were chosen
  QuantizeResult result;           // made by it
  std::vector<LayerCost> layers;   // in the graph's order
  std::vector<MixedPoint> points;  // all that were made, the widest first
  size_t best = 0;                 // of the points: the result's
  bool met = false;                // whether it is within the budget
};

// Options of quantize_within().
struct MixedOptions {
  CalibrateOptions calibrate = {};  // of each run over the batches
  int64_t batches = 4;  // on which outputs are compared; the first of them for one layer
  // The bytes of the file that a result would become; without it, those of its constants.
  std::function<int64_t(const QuantizeResult& made)> bytes = {};
  // How good a result is, more is better, and what it gives of the float graph: max_drop needs it.
  std::function<double(const ir::Graph& graph)> score = {};
  double float_score = 0;
  // The ranges of a static recipe, if they are known; null: it calibrates.
  const Calibration* calibration = nullptr;
  // Called after each model with the number made and about how many there will be.
  std::function<void(int64_t done, int64_t all)> progress = {};
};

// Measures each layer alone at each width, narrows layers one after the other in the order of what
// a saved byte costs (error at the outputs, which are taken to add up; a width that saves next to
// nothing is left out), and makes models along that way: some evenly spread, then those around the
// budget's ends. Within a budget of bytes the one with the best score (then sqnr_db) is kept,
// within one of drop alone the smallest. If none fits, the smallest that keeps the drop is, or
// where none does that either, the one that loses least; if bytes alone are limited, the smallest.
// Convolutions and Linear may have any width in static recipes, Linear and (but int4) tables in
// weight-only ones, Linear int8 in dynamic ones, and other weights f16 or f32; nodes that the
// recipe excludes stay f32. `graph` is prepare()'s. Throws Error for a budget of drop without a
// score, and whatever quantization throws.
Mixed quantize_within(const ir::Graph& graph, const Recipe& recipe, const Batches& batches,
                      const Budget& budget, const MixedOptions& options = {});

}  // namespace wick::quantize

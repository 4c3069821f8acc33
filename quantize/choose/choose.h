// Tries the ways there are to choose the ranges of a static recipe, and keeps the best.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quantize/passes/quantize.h"

namespace wick::quantize {

// A way that was tried, and what it reached.
struct Trial {
  ObserverSpec activations;                      // what kept the ranges of activations
  ObserverKind weights = ObserverKind::kMinMax;  // and of weights
  bool bias_correction = false;                  // whether biases were corrected
  bool equalize = false;                         // whether layers were equalized first
  bool gptq = false;                             // whether linear layers were rounded by GPTQ
  // The signal over error of the outputs against the float graph's, in decibels: the mean over
  // those of real numbers.
  double sqnr_db = 0;
  std::optional<double> score;  // what ChooseOptions::score gave

  // Returns "mse, bias correction" and the like.
  std::string text() const;
};

// What choose() kept.
struct Choice {
  ir::Graph graph;           // the float graph that `result` is of: equalized where that is better
  Recipe recipe;             // the one given, with what was chosen
  Calibration calibration;   // by which `result` was made
  QuantizeResult result;     // the graph that was kept
  std::vector<Trial> tried;  // in this order
  size_t best = 0;           // which of them was kept
};

// Options of choose().
struct ChooseOptions {
  CalibrateOptions calibrate = {};  // of each run over the batches
  int64_t batches = 8;  // of the calibration's, spread over it: outputs are compared on them
  // If given, says how good a QDQ graph is, more is better, and decides; equal ones are told apart
  // by sqnr_db.
  std::function<double(const ir::Graph& graph)> score = {};
  // Called after each trial with the number done and about how many there will be.
  std::function<void(int64_t done, int64_t all)> progress = {};
};

// Calibrates once, and quantizes `graph` (prepare()'s) by every observer, without and with bias
// correction (with, if the recipe has it); the best of these with weights by mse; and the best
// three over an equalized graph, unless the recipe equalizes already. Of equal ones the first is
// kept, so that simple ways win. A recipe with GPTQ, which takes far longer than all of this, gets
// it in the end: the best way once more, which then is the one that is kept. The result is that of
// quantize_static() by Choice::recipe. Throws Error for another mode than static, and whatever
// calibration and quantize_static() throw.
Choice choose(const ir::Graph& graph, const Recipe& recipe, const Batches& batches,
              const ChooseOptions& options = {});

}  // namespace wick::quantize

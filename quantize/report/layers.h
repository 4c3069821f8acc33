// Finds the layers that a comparison reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quantize/report/compare.h"
#include "quantize/report/local_run.h"

namespace wick::quantize {

struct Layer {
  std::vector<ir::NodeId> nodes;  // of the float graph; none for an input
  std::vector<ir::ValueId> outputs;
  std::vector<std::optional<Rounding>> rounding;  // for each output
  bool moves = false;  // its result has the integers of its input: nothing is rounded
  LayerReport report;  // everything but the errors
};

// Returns inputs, then nodes in order. Nodes without a counterpart are noted.
std::vector<Layer> find_layers(const ir::Graph& graph, const QuantizeResult& quantized,
                               const Pairs& pairs, LocalRun& local,
                               std::vector<std::string>* notes);

// Returns, by ValueId, the axis of its channels: 1 after convolutions and the like, else the last;
// -1 for none, as after a Reshape.
std::vector<int> channel_axes(const ir::Graph& graph);

}  // namespace wick::quantize

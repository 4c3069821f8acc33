// The layers that a comparison tells of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quantize/report/compare.h"
#include "quantize/report/local_run.h"

namespace wick::quantize {

struct Layer {
  std::vector<ir::NodeId> nodes;  // of the float graph; none: an input
  std::vector<ir::ValueId> outputs;
  std::vector<std::optional<Rounding>> rounding;  // of each output
  bool moves = false;  // its result is the integers of its input: nothing is rounded
  LayerReport report;  // all but errors
};

// Inputs, then nodes in order. Nodes that nothing stands for are noted.
std::vector<Layer> find_layers(const ir::Graph& graph, const QuantizeResult& quantized,
                               const Pairs& pairs, LocalRun& local,
                               std::vector<std::string>* notes);

// By ValueId, the axis of its channels: 1 of what comes from convolutions and their like, else the
// last; -1: none, as behind a Reshape.
std::vector<int> channel_axes(const ir::Graph& graph);

}  // namespace wick::quantize

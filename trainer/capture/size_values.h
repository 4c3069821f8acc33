// Sizes of a graph's inputs, and what is computed of them, as values of the graph.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

class SizeValues {
 public:
  explicit SizeValues(ir::Graph& graph) : g_(graph) {}
  // Of a region: `outside` gives what is computed around it, int64 [1], as a value of the region.
  SizeValues(ir::Graph& region, std::function<ir::ValueId(const SymDim&)> outside)
      : g_(region), outside_(std::move(outside)) {}

  // `symbol` is what dimension `dim` of `input` has; the first that is told counts.
  void source(const std::string& symbol, ir::ValueId input, int dim) {
    sources_.emplace(symbol, Source{input, dim});
  }

  // int64 [n], one element each.
  ir::ValueId list(const std::vector<SymDim>& sizes);
  // Of this dtype, rank 0.
  ir::ValueId scalar(const SymDim& size, DType dtype);
  ir::ValueId one(const SymDim& size);  // int64 [1]

 private:
  struct Source {
    ir::ValueId input;
    int dim;
  };
  ir::ValueId of_atom(const SymAtom& atom);

  ir::Graph& g_;
  std::function<ir::ValueId(const SymDim&)> outside_;
  std::map<std::string, Source> sources_;
  std::map<std::string, ir::ValueId> made_;  // by text
};

}  // namespace wick

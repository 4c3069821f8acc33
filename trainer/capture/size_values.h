// Sizes of a graph's inputs, and what is computed of them, as values of the graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick {

class SizeValues {
 public:
  explicit SizeValues(ir::Graph& graph) : g_(graph) {}

  // `symbol` is what dimension `dim` of `input` has; the first that is told counts.
  void source(const std::string& symbol, ir::ValueId input, int dim) {
    sources_.emplace(symbol, Source{input, dim});
  }

  // int64 [n], one element each.
  ir::ValueId list(const std::vector<SymDim>& sizes);
  // Of this dtype, rank 0.
  ir::ValueId scalar(const SymDim& size, DType dtype);

 private:
  struct Source {
    ir::ValueId input;
    int dim;
  };
  ir::ValueId one(const SymDim& size);  // int64 [1]
  ir::ValueId of_atom(const SymAtom& atom);

  ir::Graph& g_;
  std::map<std::string, Source> sources_;
  std::map<std::string, ir::ValueId> made_;  // by text
};

}  // namespace wick

// SizeValues: emits the sizes of a graph's inputs, and expressions of them, as values of the graph.
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
  // The constructor for a region: `outside` computes a size in the outer graph and returns it as a
  // value of the region, int64 [1].
  SizeValues(ir::Graph& region, std::function<ir::ValueId(const SymDim&)> outside)
      : g_(region), outside_(std::move(outside)) {}

  // Declares that dimension `dim` of `input` has the size `symbol`; the first declaration counts.
  void source(const std::string& symbol, ir::ValueId input, int dim) {
    sources_.emplace(symbol, Source{input, dim});
  }

  // Returns int64 [n], one element for each size.
  ir::ValueId list(const std::vector<SymDim>& sizes);
  // Returns a value of rank 0 and this dtype.
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

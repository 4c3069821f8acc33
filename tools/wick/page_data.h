// A model as the data of an inspection page (tools/wick/page): graph, weights, sizes, times.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/chain.h"
#include "tools/lib/model.h"
#include "tools/lib/node_times.h"

namespace wick::tool {

struct PageSource {
  std::string title;  // the model's path
  const Model* model = nullptr;
  // Of the binding that sizes are told for; empty: `no_sizes` says why there is none.
  std::vector<Shape> inputs;
  std::string no_sizes;
  uint64_t arena_bytes = 0, packed_bytes = 0;
  // What ran, null: nothing. The shapes are told of any run, times where `run_ms` (sorted) has
  // some.
  const NodeTimes* times = nullptr;
  std::vector<double> run_ms;
  int threads = 1;
  bool made_inputs = true;
};

// Strings of the model's file are in it as they are, also such as are no UTF-8.
nlohmann::json page_data(const PageSource& source);

// The module and the line ("net.cc:12") that a node of the program comes from, by region and place
// in it; of programs that were compiled from a graph which knows them.
struct NodeOrigin {
  std::string module, source;
};
using NodeOrigins = std::map<std::pair<size_t, size_t>, NodeOrigin>;
NodeOrigins node_origins(const Model& model);
void add_origin(const NodeOrigins& origins, size_t region, size_t at, nlohmann::json& node);

// What a custom op is called, or the row of ops.def.
std::string op_text(const Program& program, const NodeDef& node);
// The program of a FusedElementwise: "Sigmoid(x0), Mul(x0, s0)"; x inputs, s steps before.
std::vector<std::string> chain_text(const ChainAttrs& attrs);

}  // namespace wick::tool

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
  const EntryDef* entry = nullptr;  // of the program, that is shown; null: the first
  // The binding for which sizes are shown; if empty, `no_sizes` says why there is none.
  std::vector<Shape> inputs;
  std::string no_sizes;
  uint64_t arena_bytes = 0, packed_bytes = 0;
  // The run; null if nothing ran. Shapes are taken from any run, times only if `run_ms` (sorted)
  // has some.
  const NodeTimes* times = nullptr;
  std::vector<double> run_ms;
  int threads = 1;
  bool made_inputs = true;
};

// The strings of the model's file are in it unchanged, even if they are not UTF-8.
nlohmann::json page_data(const PageSource& source);

// The module and the line ("net.cc:12") that a node of the program comes from, by region and index
// in it; for programs compiled from a graph that knows them.
struct NodeOrigin {
  std::string module, source;
};
using NodeOrigins = std::map<std::pair<size_t, size_t>, NodeOrigin>;
NodeOrigins node_origins(const Model& model);
void add_origin(const NodeOrigins& origins, size_t region, size_t at, nlohmann::json& node);

// Returns the attributes that are not the op's defaults, by name.
nlohmann::json attributes_of(const AttrType& type, const void* attrs);

// Returns a custom op's name, or the op's name in ops.def.
std::string op_text(const Program& program, const NodeDef& node);
// Returns the program of a FusedElementwise: "Sigmoid(x0), Mul(x0, s0)"; x are inputs, s earlier
// steps.
std::vector<std::string> chain_text(const ChainAttrs& attrs);

}  // namespace wick::tool

// Returns every value of a graph as a session computes it: its plan, its kernels, its memory.
#pragma once

#include <string>
#include <vector>

#include "graph/interpreter/beside.h"
#include "tools/lib/model.h"

namespace wick::tool {

// Spoiled is a value that had changed when a node read it: its memory was reused too soon.
struct Spoiled {
  std::string value, reader;  // names
  ir::Place place;            // the trip is not known
  HostTensor made, read;
};

struct SessionValues {
  ir::GivenValues values;  // the outputs under their names, and what nodes of regions read and made
  std::vector<Spoiled> spoiled;
};

// `graph` has a name for every value (ir::name_values). On the CPU the program is the graph's own,
// and a value that no step shows (a view that nothing reads) is missing. A device does not expose
// its values, so there all of them become outputs.
SessionValues session_values(const ir::Graph& graph, Span<const HostTensor> inputs,
                             const RunnerOptions& options);

}  // namespace wick::tool

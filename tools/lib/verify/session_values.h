// Every value of a graph as a session makes it: its plan, its kernels, its memory.
#pragma once

#include <string>
#include <vector>

#include "graph/interpreter/beside.h"
#include "tools/lib/model.h"

namespace wick::tool {

// A value that was not the same any more when a node read it: its memory was given away too soon.
struct Spoiled {
  std::string value, reader;  // names
  HostTensor made, read;
};

struct SessionValues {
  ir::GivenValues values;  // by name, the outputs under theirs
  std::vector<Spoiled> spoiled;
};

// `graph` has a name for every value (ir::name_values). On the CPU the program is the graph's own,
// and a value that no step shows (a view that nobody reads) is missing. A device keeps its values
// to itself, so there all of them are outputs.
SessionValues session_values(const ir::Graph& graph, Span<const HostTensor> inputs,
                             const RunnerOptions& options);

}  // namespace wick::tool

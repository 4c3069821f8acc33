// Graph -> .wick (runtime/program/README.md has the format).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "runtime/program/program.h"

namespace wick {

// What the file says of its origin; wick's version and the weights' sha256 are added.
struct ProgramInfo {
  std::string source = "trainer";  // or the imported file's name
  uint64_t seed = 0;
  NumericsClass numerics = NumericsClass::kExact;  // the strongest promise left after the passes
};

// Throws Error when a node belongs to training (all such nodes are listed).
std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info = {});
// Written beside the old file and renamed over it: a failure leaves the old one whole.
void write_program(const ir::Graph& graph, const std::string& path, const ProgramInfo& info = {});

}  // namespace wick

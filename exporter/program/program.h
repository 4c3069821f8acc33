// Graph -> .wick.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"

namespace wick {

struct ProgramOptions {
  uint64_t seed = 0;                        // of the training run
  ir::Numerics numerics = ir::Numerics::kExact;  // what the passes that ran still promise
  std::string source = "trainer";           // or the imported file's name
};

// The bytes of a .wick file. Throws Error listing every node whose op a program cannot hold (training ops).
std::vector<uint8_t> build_program(const ir::Graph& graph, const ProgramOptions& options = {});
// Written beside the old file and renamed over it.
void export_wick(const ir::Graph& graph, const std::string& path, const ProgramOptions& options = {});

}  // namespace wick

// Graph -> .wick (runtime/program/README.md has the format).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "runtime/program/program.h"

namespace wick {

// What the file says of its origin; wick's version and the weights' sha256 are added.
struct ProgramInfo {
  std::string source = "trainer";  // or the imported file's name
  uint64_t seed = 0;
  NumericsClass numerics = NumericsClass::kExact;  // the strongest promise left after the passes
  std::string passes = {};  // those that changed the graph, in order: "fuse, fuse_elementwise"

  // What optimising the graph did.
  void passed(const ir::PassReport& report);
};

// Throws Error when a node belongs to training (all such nodes are listed).
std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info = {});
// The forms into which a session packed constants, by their number in the program: they spare the
// next session the packing, on machines of the same kind.
struct PackedConstant {
  uint32_t constant = 0, layout = 0;
  Span<const uint8_t> bytes;
};
std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info,
                                   Span<const PackedConstant> packed);

// A program to be loaded here and now: the weights stay the graph's tensors, in their file where
// nobody has read them yet. Without their digest.
struct LentProgram {
  std::vector<uint8_t> bytes;
  std::vector<HostTensor> constants;
  std::vector<LentSegment> segments;  // for LoadOptions::lent
};
LentProgram lend_program(ir::Graph graph, const ProgramInfo& info = {});

// Written beside the old file and renamed over it: a failure leaves the old one whole.
void write_program(const ir::Graph& graph, const std::string& path, const ProgramInfo& info = {},
                   Span<const PackedConstant> packed = {});

}  // namespace wick

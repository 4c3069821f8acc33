// Writes a graph as .wick (runtime/program/README.md has the format).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/rewrite/pass.h"
#include "runtime/program/program.h"

namespace wick {

// ProgramInfo is what the file says of its origin; Wick's version and the weights' sha256 are
// added.
struct ProgramInfo {
  std::string source = "trainer";                  // or the imported file's name
  uint64_t seed = 0;                               // of the training run; only recorded
  NumericsClass numerics = NumericsClass::kExact;  // the strongest promise left after the passes
  std::string passes = {};  // those that changed the graph, in order: "fuse, fuse_elementwise"

  // Records what optimising the graph did.
  void passed(const ir::PassReport& report);
};

// Throws Error when a node belongs to training (all such nodes are listed).
std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info = {});
// PackedConstant is the form into which a session packed a constant, by its number in the program:
// it spares the next session the packing, on machines of the same kind.
struct PackedConstant {
  // The constant's id, the layout's id, and the packed bytes.
  uint32_t constant = 0, layout = 0;
  Span<const uint8_t> bytes;
};
// Returns the file with the packed forms too. Throws Error as above.
std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info,
                                   Span<const PackedConstant> packed);

// LentProgram is a program to be loaded at once in this process: the weights stay the graph's
// tensors, in their file if nobody has read them yet. It has no digest of them.
struct LentProgram {
  // The file without its constants, and these.
  std::vector<uint8_t> bytes;
  std::vector<HostTensor> constants;
  std::vector<LentSegment> segments;  // for LoadOptions::lent
};
// Makes a lent program of a graph. Throws Error as program_bytes() does.
LentProgram lend_program(ir::Graph graph, const ProgramInfo& info = {});

// Writes next to the old file and renames it over that: a failure leaves the old one whole.
void write_program(const ir::Graph& graph, const std::string& path, const ProgramInfo& info = {},
                   Span<const PackedConstant> packed = {});

}  // namespace wick

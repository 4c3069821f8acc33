// Writes a graph as .wick (runtime/program/README.md has the format).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/entry.h"
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

// ProgramForm is how the file keeps the program.
struct ProgramForm {
  // Compresses the table and constants of up to 4 KB, and keeps larger float32 constants as float16
  // or bfloat16 where that holds each of their numbers. The program is the same, to the bit, but
  // readers before this form refuse the file, and the table takes memory where a program in place
  // (on a microcontroller, in flash) would take none.
  bool compact = false;
  // Leaves out the names of nodes, of constants and of values that are no inputs or outputs.
  bool strip_names = false;
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
// Returns the file in a form, with the packed forms too. Throws Error as above.
std::vector<uint8_t> program_bytes(const ir::Graph& graph, const ProgramInfo& info,
                                   Span<const PackedConstant> packed, const ProgramForm& form = {});

// Returns a program of several entry points. They share the constants of equal name and bytes, the
// states of equal name, and symbols; labels and metadata are those of the first one. Throws Error
// as above, and if two entry points have one name, a state or a symbol is not the same in all of
// them, or a state names no port of its graph.
std::vector<uint8_t> program_bytes(std::vector<ir::Entry> entries, const ProgramInfo& info = {},
                                   const ProgramForm& form = {});

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
                   Span<const PackedConstant> packed = {}, const ProgramForm& form = {});
void write_program(std::vector<ir::Entry> entries, const std::string& path,
                   const ProgramInfo& info = {}, const ProgramForm& form = {});

}  // namespace wick

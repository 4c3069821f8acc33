// What a program keeps between runs, as the commands make it, read it from a file and write it to
// one (docs/use/kv-cache.md).
#pragma once

#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "runtime/exec/recurrent_state.h"
#include "runtime/exec/session.h"

namespace wick::tool {

// What decides the sizes of a state that the program leaves free, and its values.
struct StateSource {
  Span<const HostTensor> inputs = {};  // of the runs, in the session's order: the sizes they have
  std::vector<std::string> dims = {};  // "NAME=N": sizes that no input has
  std::string file = {};               // of write_state(); "": the program's own initial values
};

// Returns the state of a program that keeps some. Throws Error where two of the sources give one
// size two values, or where the file has other states than the program; UsageError for a size that
// nothing gives.
Owned<RecurrentState> make_state(const Program& program, const Session& session,
                                 const StateSource& source);

// Returns copies of the present values, in the state's order.
std::vector<HostTensor> state_values(const RecurrentState& state);
// Makes these the present values; they have the state's types and sizes. Not during a run.
void set_state(RecurrentState* state, Span<const HostTensor> values);

// Writes the present values as an .npz file, each under its name; bfloat16, which numpy lacks, as
// float32.
void write_state(const std::string& path, const RecurrentState& state);

}  // namespace wick::tool

// Finds inputs that give one symbol two sizes.
#pragma once

#include <string>

#include "graph/ir/graph.h"
#include "runtime/exec/session.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Returns "n is 3 in a and 4 in b" for the first symbol that these inputs give two sizes, else "".
// ONNX files may give different sizes one name; OnnxReadOptions::own_sizes reads them.
std::string two_sizes(const Program& program, const Session& session, Span<const HostTensor> given);
std::string two_sizes(const ir::Graph& graph, Span<const HostTensor> given);

}  // namespace wick::tool

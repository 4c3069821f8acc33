// A program as a graph again: what a .wick says, for the interpreter.
#pragma once

#include "graph/ir/graph.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Of the first entry point. Constants are copied. Throws Error for what no graph says: state, a
// custom op that is not there.
ir::Graph program_graph(const Program& program);

}  // namespace wick::tool

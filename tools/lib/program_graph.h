// Turns a program back into a graph: what a .wick says, for the interpreter.
#pragma once

#include "graph/ir/graph.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Takes the first entry point and copies constants. Throws Error for what a graph cannot express:
// state, or a custom op that is not registered.
ir::Graph program_graph(const Program& program);

}  // namespace wick::tool

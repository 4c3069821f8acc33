// Turns a program back into a graph: what a .wick says, for the interpreter.
#pragma once

#include <string>

#include "graph/ir/graph.h"
#include "runtime/program/program.h"

namespace wick::tool {

// Says on stderr that what a command does is of the first entry point, where a program has several.
void say_first_entry(const Program& program);

// Takes the entry point of this name; for "" the first, and says so where there are several. Copies
// constants. Throws Error for what a graph cannot express: state, or a custom op that is not
// registered.
ir::Graph program_graph(const Program& program, const std::string& entry = "");
// The same of any entry point, to be shown: the states that it reads are inputs, and what becomes
// of them is left out.
ir::Graph shown_graph(const Program& program, const EntryDef& entry);

}  // namespace wick::tool

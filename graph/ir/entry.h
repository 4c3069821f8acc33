// Entry points of one program: graphs that share weights, and state buffers that keep their
// contents between runs (docs/use/kv-cache.md).
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace wick::ir {

// How an entry point uses a state of the program. Those of one name are one buffer for all entry
// points; it starts as zeros.
struct EntryState {
  std::string name;    // of the buffer
  std::string input;   // the input of the graph that is its value when a run begins; "": none
  std::string output;  // the output of the graph that is its value after the run; "": it stays
};

// An entry point of a program. The inputs and outputs that its states name are no longer the
// caller's.
struct Entry {
  std::string name;                // that a session opens: "decode"
  Graph graph;                     // its body; the graph's own name does not count
  std::vector<EntryState> states;  // what it reads and writes of them
};

}  // namespace wick::ir

// Values that constants and known sizes decide before a graph runs, for readers of files: the
// shape that a Reshape gets may be computed from the Shape of another value.
#pragma once

#include <optional>

#include "graph/ir/graph.h"
#include "runtime/core/ledger.h"

namespace wick::ir {

// Returns the value, computed by the interpreter from constants and sizes, or nothing if it is not
// known or too much to compute: over 64 KiB, over a few hundred nodes, or more work than the ledger
// has left. What was spent is taken from the ledger.
std::optional<HostTensor> known_value(const Graph& graph, ValueId id, Ledger& ledger);

}  // namespace wick::ir

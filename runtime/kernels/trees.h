// The tables of TreeEnsemble, which come from a file: nothing in them is followed before it was
// checked.
#pragma once

#include "runtime/core/status.h"
#include "runtime/core/tensor_view.h"

namespace wick {

// TreeTables has the integer tables of a call as they lie, the numbers of their rows, and what the
// entries are compared with.
struct TreeTables {
  // The inputs have passed the rule. Tables that are not there yet are null.
  TreeTables(Span<const TensorView> in, int64_t n_targets);

  const int32_t *nodes, *roots, *starts, *targets;
  int64_t node_count, tree_count, leaf_count, entry_count;
  int64_t features, target_count;

  // Returns an error that names the first entry which is out of range. Then every walk from a root
  // ends at a leaf: children come after their parents, so no node comes twice. Returns ok, too,
  // where the run was ended meanwhile: callers check stopped().
  Status check() const;
};

}  // namespace wick

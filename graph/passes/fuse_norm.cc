// Fuses norms that a model spells out (mean, difference, square, mean, root, quotient ...): what is
// computed of whole rows, reductions included, becomes one FusedElementwise that takes one row at a
// time. Whatever the form, its sums and steps stay those of the parts.
#include <algorithm>
#include <set>

#include "graph/passes/chain.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {
namespace {

// A few buffers of a row each must stay in a cache; short rows have too little work each.
constexpr int64_t kMinRow = 16, kMaxRow = 1 << 14;

bool has_rows(const Graph& g, NodeId id, int row_dims) {
  const SymShape& shape = g.value(g.node(id).outputs[0]).shape;
  if (shape.rank() < row_dims) return false;
  int64_t row = 1;
  for (int d = 1; d <= row_dims; ++d) {
    const SymDim& dim = shape[shape.rank() - d];
    if (!dim.known() || dim.constant() < 1 || dim.constant() > kMaxRow) return false;
    row *= dim.constant();
    if (row > kMaxRow) return false;
  }
  return row >= kMinRow;
}

}  // namespace

bool fuse_norm(Graph& g) {
  ChainFinder finder(g);
  std::set<int> dims;
  for (size_t i = 0; i < g.node_count(); ++i) {
    if (const int d = finder.reduced_dims(static_cast<NodeId>(i)); d > 0) dims.insert(d);
  }
  if (dims.empty()) return false;
  for (size_t i = g.node_count(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    for (int d : dims) {
      if (!finder.may_end(id) || !has_rows(g, id, d)) continue;
      std::vector<NodeId> nodes = finder.grow(id, d);
      const bool reduces = std::any_of(nodes.begin(), nodes.end(),
                                       [&](NodeId n) { return finder.reduced_dims(n) > 0; });
      if (reduces) finder.take(std::move(nodes));
    }
  }
  return finder.finish();
}

}  // namespace wick::ir

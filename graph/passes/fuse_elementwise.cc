// Fuses elementwise ops that only each other read into one FusedElementwise with the arithmetic of
// each, so that intermediate values never leave the cache.
#include "graph/passes/chain.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {

bool fuse_elementwise(Graph& g) {
  ChainFinder finder(g);
  for (size_t i = g.node_count(); i-- > 0;) {
    const auto id = static_cast<NodeId>(i);
    if (!finder.may_end(id)) continue;
    std::vector<NodeId> nodes = finder.grow(id, 0);
    if (nodes.size() > 1) finder.take(std::move(nodes));
  }
  return finder.finish();
}

}  // namespace wick::ir

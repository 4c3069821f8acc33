// The virtual shards of split layers, and what moves activations and gradients between them. A
// layer that is cut into T shards makes T products, and the sums over them by the tree over T, so
// that 1, 2 or T ranks have the same bits. Internal to tensor_parallel().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/autograd/function.h"
#include "trainer/distributed/comm/communicator.h"
#include "trainer/distributed/group.h"

namespace wick::distributed {

// The shards of a group: rank r owns shards_of(r, ranks, shards).
struct SplitGroup {
  SplitGroup(const Group& group, int shards);

  // Returns the tree's sum of all shards' values, on every rank. `mine` are those of this rank's
  // shards, of one shape.
  Tensor sum(const variable_list& mine, const std::string& name, const Where& where) const;
  // The same, of which this rank gets the pieces of its shards along `dim`, whose size T divides.
  variable_list sum_pieces(const variable_list& mine, int dim, const std::string& name,
                           const Where& where) const;
  // Returns all shards' values side by side along `dim`.
  Tensor gather(const variable_list& mine, int dim, const std::string& name,
                const Where& where) const;
  // Returns the pieces of this rank's shards of a whole value along `dim`.
  variable_list pieces_of_own(const Tensor& whole, int dim) const;

  Group group;
  int shards;
  Shards own;
};

// What a layer hands to the functions below, for the graph of a step, which may outlive the layer.
struct SplitSite {
  std::shared_ptr<const SplitGroup> split;
  std::string name;  // of the layer, for reports
  Where where;
};

// One handle of x for each own shard. Backward: the sum over all shards.
variable_list fan_out(const Tensor& x, const SplitSite& site);
// The sum over all shards. Backward: the gradient for each.
Tensor sum_shards(const variable_list& mine, const SplitSite& site);
// All shards side by side. Backward: the own pieces of the gradient, which all ranks have.
Tensor gather_shards(const variable_list& mine, int dim, const SplitSite& site);
// The own pieces of x, which all ranks have. Backward: all of the gradient.
variable_list cut_shards(const Tensor& x, int dim, const SplitSite& site);
// The pieces of the rank's own x, and back, without a message.
variable_list take_apart(const Tensor& x, int dim, size_t pieces);
Tensor put_together(const variable_list& pieces, int dim);
// Sequence parallel: gather_shards() and fan_out() in one, whose backward sends each rank its
// pieces only; and sum_shards() of which each rank gets its pieces only.
variable_list gather_and_fan_out(const variable_list& mine, int dim, const SplitSite& site);
variable_list sum_and_cut(const variable_list& mine, int dim, const SplitSite& site);

}  // namespace wick::distributed

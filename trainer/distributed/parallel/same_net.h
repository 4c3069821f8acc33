// The same net on every rank. Internal to DataParallel.
#pragma once

#include "trainer/distributed/group.h"
#include "trainer/nn/module.h"

namespace wick::distributed {

// Throws Error, on every rank, if the nets differ in the names, shapes or dtypes of parameters and
// buffers, or the ranks in `shards`; then gives every rank the values of rank 0, and its default
// generator.
void make_same(Group& group, nn::Module& net, int shards, const Where& where);

}  // namespace wick::distributed

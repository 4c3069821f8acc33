// Batch norm with the statistics of the whole batch: all parts of all ranks.
#pragma once

#include "trainer/nn/norm.h"

namespace wick::distributed {

// torch.nn.SyncBatchNorm: normalizes x [N, C, ...] by the mean and variance of all parts of a batch
// where DataParallel runs it in training mode, and as the batch norm that it was made of elsewhere.
// Sums over a part are the ops' own; sums over parts are made in float64 by the tree of shards, so
// that the statistics do not depend on the number of ranks.
class SyncBatchNorm : public nn::BatchNormNd {
 public:
  // Takes over the layer's parameters, buffers, mode and arguments: they are the same tensors.
  explicit SyncBatchNorm(const nn::BatchNormNd& layer);
  Tensor forward(const Arg& x) override;
};

// Replaces every batch norm in the net by a SyncBatchNorm, and returns their number. The net itself
// cannot be one. Optimizers made before know the parameters as before.
size_t convert_sync_batchnorm(nn::Module& net, Where where = Where::current());

}  // namespace wick::distributed

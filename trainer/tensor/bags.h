// The parts of embedding_bag() that nn::EmbeddingBag shares; not public.
#pragma once

#include "trainer/tensor/ops/index.h"

namespace wick {

// Throws Error unless indices, offsets and weights fit each other. `op` begins the message.
void need_bags(const char* op, const Arg& indices, const Tensor& offsets, const BagOptions& options,
               const Tensor& per_sample_weights);
// rows[indices..., d] are those that the indices select. padding_idx counts from 0.
Tensor pool_bags(const char* op, const Arg& indices, Tensor rows, const Tensor& offsets,
                 const BagOptions& options, const Tensor& per_sample_weights);

}  // namespace wick

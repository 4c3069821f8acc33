// Parts of a global batch: one for each virtual shard. The number of parts is the run's, not the
// job's, so that a part has the same samples, the same shapes and the same random numbers on any
// number of ranks.
#pragma once

#include <utility>
#include <vector>

#include "trainer/data/collate.h"
#include "trainer/tensor/philox.h"

namespace wick::distributed {

// One part of a batch.
struct Part {
  int index = 0;        // of the virtual shard
  int64_t samples = 0;  // of this part, at least 1
  int64_t total = 0;    // of the whole batch
  data::Batch fields;   // of these samples
  Tensor x, y;          // the first two fields; undefined where there are fewer
  Generator generator;  // of the random numbers of its forward; used where there are several parts
};

// This rank's parts of a batch; parts without samples are left out.
struct Batch {
  int64_t total = 0;  // samples of all ranks
  std::vector<Part> parts;
};

// Returns the samples [begin, end) of part `index` of `shards`: the first total % shards parts have
// one more than the others.
std::pair<int64_t, int64_t> samples_of(int index, int shards, int64_t total);

}  // namespace wick::distributed

// Collectives over plain memory: what Group is made of. Calls return at once; the handle waits.
// Buffers must live until the operation is done, which `keep` may see to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/distributed/comm/engine.h"

namespace wick::distributed {

class Communicator {
 public:
  using Keep = std::shared_ptr<const void>;
  // All ranks of the engine's job.
  explicit Communicator(std::shared_ptr<Engine> engine);

  int rank() const { return group_->rank; }
  int size() const { return static_cast<int>(group_->ranks.size()); }
  const std::string& name() const { return group_->name; }
  const std::vector<int>& world_ranks() const { return group_->ranks; }
  Engine& engine() const { return *engine_; }

  // `call` has the dtype, the count of elements, the function, the name and the line. Counts are
  // those of the whole value: of `in` for a reduce-scatter, of one rank's part for all_gather, of
  // all blocks of `in` for all_to_all.
  Handle barrier(Call call);
  // `inputs` are the values of this rank's nodes of the tree over `shards` (schedule.h), by default
  // one value for each rank.
  struct Sum {
    std::vector<const void*> inputs;
    int shards = 0;  // 0: as many as ranks
    bool bf16_wire = false;
  };
  Handle all_reduce(Call call, const Sum& sum, void* out, Keep keep);
  Handle reduce_scatter(Call call, const Sum& sum, void* out, Keep keep);
  // The same where the ranks do not divide the elements: `out` has those of segment_of().
  Handle reduce_segments(Call call, const Sum& sum, void* out, Keep keep);
  // Completes `data` on every rank with the segments of the others.
  Handle gather_segments(Call call, void* data, Keep keep);
  Handle all_gather(Call call, const void* in, void* out, Keep keep);
  Handle broadcast(Call call, void* data, Keep keep);  // from call.peer
  Handle all_to_all(Call call, const void* in, void* out, Keep keep);
  Handle send(Call call, const void* data, Keep keep);  // to call.peer
  Handle receive(Call call, void* data, Keep keep);     // from call.peer

  // Makes a communicator of the ranks with the same color, ordered by key and then by rank: every
  // rank must call it.
  std::shared_ptr<Communicator> split(int color, int key, const std::string& name,
                                      std::source_location where);

 private:
  Communicator(std::shared_ptr<Engine> engine, std::shared_ptr<CommGroup> group)
      : engine_(std::move(engine)), group_(std::move(group)) {}
  Place place() const { return {rank(), size()}; }
  Handle submit(Call call, Schedule schedule, Keep keep);
  Reduction reduction(const Call& call, const Sum& sum) const;
  void check_peer(const Call& call) const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<CommGroup> group_;
};

}  // namespace wick::distributed

// The state of DataParallel, which FullyShard shares. Internal.
#pragma once

#include <optional>

#include "trainer/distributed/parallel/buckets.h"
#include "trainer/distributed/parallel/checkpoint_files.h"
#include "trainer/distributed/parallel/data_parallel.h"
#include "trainer/distributed/parallel/part_run.h"

namespace wick::distributed {

struct DataParallel::Impl {
  Impl(nn::Module& n, const Group& world, const DataParallelOptions& o, SumsTo to,
       const Where& where);
  // Adds the sums of a batch to the gradients.
  void deliver(const std::vector<bool>& used, const Where& where);

  // Gives up a batch that an exception has ended, so that another one may begin.
  void give_up();
  [[noreturn]] void fail(const std::string& text, const Where& at);  // an error of this rank alone
  std::vector<Part> begin(std::vector<Part> parts, int64_t total, const Where& where);
  Tensor take_gradient(size_t parameter, const Tensor& g);      // the hook of a leaf
  void check_turn(const Part& part, const Where& where) const;  // that its backward may run
  // Runs backward of an output of the part, with its gradient, and returns that of `input`, which
  // may be undefined.
  Tensor backward(const Tensor& output, const Tensor& gradient, const Tensor& input,
                  const Part& part, const Where& where);
  // Takes the loss of a part, and returns the gradient that it starts backward with.
  Tensor take_loss(const Tensor& loss, const Part& part, const Where& where);
  // The parts of a batch that all ranks have.
  std::vector<Part> parts_of(const data::Batch& whole, int64_t* total, const Where& where) const;
  double loss_of_all(const Where& where);
  std::vector<bool> used_by_any(const Where& where);
  void check_buffers(const Where& where);

  nn::Module& net;
  DataParallelOptions options;
  int shards;
  Group group;
  bool synchronized;  // parts of a rank wait for each other: SyncBatchNorms, FullyShard's stage 3
  Group statistics;   // their sums: in a group of their own, they may cross those of the buckets
  nn::NamedTensors parameters;
  SumsTo sums_to;
  std::vector<uint32_t> gathered;  // the segments' versions that the net's parameters have
  DType compute = DType::kNone;    // of the net's parameters, if it is not that of the segments
  std::vector<Tensor> segments;    // kSegments: what the gradients of this rank's segments go to
  std::vector<Tensor> leaves;
  Buckets::Lists lists;  // empty: by size
  std::unique_ptr<Buckets> buckets;
  std::vector<HookHandle> hooks;
  std::vector<size_t> hooks_before;  // of each leaf, this one's included
  Lockstep lockstep;
  nn::NamedTensors watched;  // buffers that a forward must not write
  std::vector<uint32_t> versions;

  std::function<void(size_t parts, const Where&)> before_batch;  // may be empty
  bool sync = true, open = false;
  std::vector<int> pending;    // parts of this rank without a backward
  std::vector<double> losses;  // by part of this rank: loss times weight
  int64_t total = 0;
  Where line;                        // of the backward that runs
  std::optional<Group> checkpoints;  // the writer thread's
  Saving saving;                     // the last one
};

}  // namespace wick::distributed

// What a DataLoader is made of; internal.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "trainer/data/loader.h"

namespace wick::data {

// An epoch that is being read.
struct DataLoader::Epoch {
  uint64_t number = 0;
  int64_t first_batch = 0;  // where reading starts: resuming skips a stream up to there
  // A data set: batch b is order[b * batch_size ...], or batches[b].
  std::vector<int64_t> order;
  std::vector<std::vector<int64_t>> batches;
  // A stream.
  std::unique_ptr<ItemStream> stream;
  int64_t items_read = 0;  // of the stream, on all ranks
  bool skipped = false;
  // The pipeline's.
  int64_t make_next = 0;
  bool claiming = false;  // a worker reads
  bool ended = false;     // nothing is left to claim
};

// What one batch is made of.
struct DataLoader::Work {
  LoaderPosition at;
  std::vector<int64_t> items;    // numbers in the data set, or in the stream
  std::vector<Pending> pending;  // a stream's
};

// Workers take batches in turn and put what they made into a ring; the number of a batch, never the
// worker, decides its content and its place.
struct DataLoader::Pipeline {
  Pipeline(const DataLoader& l, int workers, int prefetch);
  ~Pipeline();  // waits for the batches in progress
  // Drops what was made ahead. Work in progress for the old position is thrown away when it ends.
  void restart(std::shared_ptr<Epoch> new_epoch);
  bool take(LoaderPosition at, Batch& batch);  // false: the stream has ended before `at`

 private:
  struct Slot {
    bool ready = false, end = false;
    Batch batch;
    std::exception_ptr error;
  };
  void work();

  const DataLoader& loader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::shared_ptr<Epoch> epoch_;
  int64_t take_next_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace wick::data

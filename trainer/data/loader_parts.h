// The parts of a DataLoader; internal.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "trainer/data/loader.h"

namespace wick::data {

// An epoch while it is read.
struct DataLoader::Epoch {
  uint64_t number = 0;
  int64_t first_batch = 0;  // where reading starts: when resuming, a stream is skipped up to there
  // For a Dataset: batch b is order[b * batch_size ...], or batches[b].
  std::vector<int64_t> order;
  std::vector<std::vector<int64_t>> batches;
  // For a stream.
  std::unique_ptr<ItemStream> stream;
  int64_t items_read = 0;  // from the stream, counting all ranks
  bool skipped = false;
  // For the pipeline.
  int64_t make_next = 0;
  bool claiming = false;  // a worker is reading
  bool ended = false;     // nothing left to claim
};

// The source of one batch.
struct DataLoader::Work {
  LoaderPosition at;
  std::vector<int64_t> items;    // indices in the data set, or numbers in the stream
  std::vector<Pending> pending;  // for a stream
};

// Workers take batches in turn and put the results into a ring buffer. The number of a batch alone,
// not the worker, decides its content and its slot.
struct DataLoader::Pipeline {
  Pipeline(const DataLoader& l, int workers, int prefetch);
  ~Pipeline();  // waits for the batches in progress
  // Drops batches made ahead. Those in progress for the old position are discarded when they are
  // done.
  void restart(std::shared_ptr<Epoch> new_epoch);
  bool take(LoaderPosition at, Batch& batch);  // returns false if the stream ended before `at`

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

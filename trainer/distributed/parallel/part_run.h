// The part that a thread works on, and the parts of a rank in lockstep. Internal to DataParallel
// and SyncBatchNorm.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "trainer/distributed/comm/communicator.h"
#include "trainer/distributed/parallel/part.h"

namespace wick::distributed {

// Where the parts of a batch wait for each other. Of each rank one thread calls it for each of its
// parts, in the same order.
class Meeting {
 public:
  virtual ~Meeting() = default;
  // Waits until all parts of this rank are here; the last one runs `action`. `what` names the
  // meeting for errors.
  virtual void meet(int part, const char* what, const Where& where,
                    const std::function<void()>& action) = 0;
  // The values of the parts of all ranks are summed by the tree of shards, and each part gets the
  // sum. `value` is contiguous and float64.
  virtual Tensor sum(int part, const Tensor& value, const char* what, const Where& where) = 0;
};

// What a thread's forward and backward belong to, while they run.
struct PartRun {
  const void* owner = nullptr;  // the DataParallel
  const Part* part = nullptr;
  int shards = 1;
  Meeting* meeting = nullptr;  // null: no part waits for another
  bool first_of_rank = false;
  mutable bool in_backward = false;  // gradients that come now are the part's
};
// The one of this thread; null: none.
const PartRun* current_part();
// Sets it and the thread's generator for the life of the scope.
class PartScope {
 public:
  PartScope(const PartRun& run, Generator* generator);
  ~PartScope();
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  PartRun run_;
  const PartRun* before_;
  std::optional<GeneratorScope> generator_;
};

// Runs f(part) for every part of this rank in lockstep: each on a thread of its own, one thread at
// a time, which passes on where it waits for a meeting. The first exception ends all of them and is
// thrown.
class Lockstep final : public Meeting {
 public:
  Lockstep(Communicator& communicator, int shards) : communicator_(communicator), shards_(shards) {}
  void run(std::vector<Part>& parts, const std::function<void(Part&, Meeting&)>& f);
  void meet(int part, const char* what, const Where& where,
            const std::function<void()>& action) override;
  Tensor sum(int part, const Tensor& value, const char* what, const Where& where) override;

 private:
  struct State;
  Tensor sum_of_all(const std::vector<Tensor>& values, const char* what, const Where& where);

  Communicator& communicator_;
  int shards_;
  State* state_ = nullptr;
};

}  // namespace wick::distributed

// Stage 3 of FullyShard: parameters that are whole only while their layer runs. Internal.
#pragma once

#include <memory>
#include <vector>

#include "trainer/distributed/parallel/data_parallel_impl.h"

namespace wick::distributed {

// All elements of a bucket, once the handle is done.
struct GatheredBucket {
  Tensor flat;
  Handle handle;
};
// Gathers the ranks' segments of a bucket of n elements, as `compute` unless that is kNone.
GatheredBucket gather_bucket(const Group& group, const Tensor& segment, int64_t n, DType compute,
                             const std::string& name, const Where& where);
// What take_over() needs to know of a bucket.
struct TakeOver {
  size_t bucket = 0;
  bool changed = false;  // the segment was written since the net's parameters were made of it
  bool whole = true;     // the net's parameters are there
};
// Where the program has written the net's parameters (load_state_dict()) since they were made of
// the segments, takes this rank's elements of them into its segments: every rank does so, and they
// are gathered then. Throws Error, with the segments as they were and what was written forgotten,
// where it is not certain what is meant, digits would be lost, or the ranks have written other
// numbers.
void take_over(Buckets& buckets, const std::vector<TakeOver>& list, const Group& group,
               const std::vector<Tensor>& segments, DType compute, const Where& where);

// A unit is a module with parameters of its own. They are gathered before its forward and before
// the backward of what it returned, and let go behind both; the parts of a rank do that together.
class ParamUnits {
 public:
  // The parameters of each unit, as buckets: the last unit first.
  static Buckets::Lists lists_of(nn::Module& net, const nn::NamedTensors& parameters);
  // `segments` are this rank's, by bucket, and gathered as `compute` if it is one. `gathers` is a
  // group for the gathers alone. Registers hooks with the modules, which must not outlive this.
  ParamUnits(nn::Module& net, Buckets& buckets, const std::vector<Tensor>& segments, DType compute,
             Group gathers, const nn::NamedTensors& parameters, bool prefetch);
  ~ParamUnits();

  // Begins a batch of so many parts of this rank: all parameters are let go.
  void begin(size_t parts);
  // Makes all of them whole until the next batch begins.
  void hold();
  // take_over() of all units.
  void take_over_all(const Where& where);

 private:
  struct Unit {
    std::string path;
    std::vector<size_t> buckets;
    bool whole = false;
    size_t inside = 0;                   // parts whose forward of the unit is not over
    size_t complete = 0;                 // buckets of parts whose gradients have all come
    std::vector<GatheredBucket> coming;  // gathers that were started ahead
    std::vector<uint32_t> versions;      // of the segments, when they were gathered last
  };
  bool current(const Unit& unit) const;  // the segments are as they were gathered
  void start(Unit& unit, const Where& where);
  void gather(Unit& unit, const Where& where);
  void gather_in_batch(Unit& unit);
  void let_go(Unit& unit);
  void add_to(std::vector<TakeOver>* list, const Unit& unit) const;
  void together(const char* what, const std::function<void()>& action);
  void watch(Unit& unit, const std::vector<Tensor>& outputs);

  Buckets& buckets_;
  const std::vector<Tensor>& segments_;
  DType compute_;
  Group gathers_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<Unit*> of_bucket_;
  std::vector<HookHandle> hooks_;
  size_t parts_ = 1;
  bool held_ = false;
  bool prefetch_;
  // Hooks of outputs, which may outlive this, see that it is gone.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::vector<Unit*> order_, before_;  // gathers of this batch and of the one before
};

}  // namespace wick::distributed

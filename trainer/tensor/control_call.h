// Describes a cond(), while_loop() or scan() to a tracer; internal.
#pragma once

#include <functional>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

struct ControlRegion {
  std::vector<Tensor> own;  // stand for the region's inputs inside it (Loop: trip, condition, ...)
  std::function<std::vector<Tensor>()> run;  // run once, with a tracer of the region
};

struct ControlCall {
  OpId op;
  const void* attrs;
  const char* name;        // name of the function: "cond"
  std::vector<Tensor> in;  // the node's own inputs
  std::vector<ControlRegion> regions;
  // Called after the regions, without a tracer: computes the node's present results, as tensors
  // that share no bytes with others.
  std::function<std::vector<Tensor>()> results;
  const Where& where;
};

// While it lives, this thread's while_loop() calls on synthetic data make at most this many trips;
// more throw an Error that says so.
class TripLimitScope {
 public:
  explicit TripLimitScope(int64_t most);
  ~TripLimitScope();
  TripLimitScope(const TripLimitScope&) = delete;
  TripLimitScope& operator=(const TripLimitScope&) = delete;

 private:
  int64_t saved_;
};

}  // namespace wick

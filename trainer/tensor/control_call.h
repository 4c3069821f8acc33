// What cond(), while_loop() and scan() are to a tracer; internal.
#pragma once

#include <functional>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

struct ControlRegion {
  std::vector<Tensor> own;  // stand for the region's own inputs inside (Loop: trip, condition, ...)
  std::function<std::vector<Tensor>()> run;  // once, with a tracer of the region; its results
};

struct ControlCall {
  OpId op;
  const void* attrs;
  const char* name;        // the function: "cond"
  std::vector<Tensor> in;  // the node's own inputs
  std::vector<ControlRegion> regions;
  // Behind them, without a tracer: what the node gives today, as tensors that nobody else has.
  std::function<std::vector<Tensor>()> results;
  const Where& where;
};

// While it lives, this thread's while_loop() calls of data that nobody chose make so many trips at
// most; more is an Error that says so.
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

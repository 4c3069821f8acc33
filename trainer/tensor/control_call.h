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
  const char* name;         // the function: "cond"
  std::vector<Tensor> in;   // the node's own inputs
  std::vector<ControlRegion> regions;
  // Behind them, without a tracer: what the node gives today, as tensors that nobody else has.
  std::function<std::vector<Tensor>()> results;
  const Where& where;
};

}  // namespace wick

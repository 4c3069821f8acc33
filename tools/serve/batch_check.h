// Decides whether requests of a model may run together.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/stop.h"
#include "runtime/program/program.h"

namespace wick::serve {

// What a model allows.
struct Batching {
  int64_t rows = 1;          // most rows of a run that serves several requests; 1: none
  std::string why_not = {};  // rows == 1: the reason
};

// Returns up to `most` rows where each row's answer is its own, to the bit. First by what the
// program says: dim 0 of every input and output is one free size, nothing is kept between runs, no
// branch, loop or size depends on values. Then by trial: made-up rows run alone and together, and
// every value that every step computes has to be made of the single rows' values, or to be the same
// for all of them. So a maximum over the batch is found where it is computed, also when the answer
// hides it. `max_ram` is that of a session. A model may run for ever: a trial that takes longer
// than `trial_ns`, or is cancelled, has failed.
constexpr uint64_t kTrialNs = 10'000'000'000;
Batching batching_of(const Program& program, int64_t most, uint64_t max_ram,
                     const CancelFlag* cancel = nullptr, uint64_t trial_ns = kTrialNs);

}  // namespace wick::serve

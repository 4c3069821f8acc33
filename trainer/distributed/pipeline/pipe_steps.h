// In which order a stage of a pipeline runs its micro-batches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wick::distributed {

// kGpipe: all forwards, then all backwards (Huang et al., 2019). k1F1B: a backward as soon as there
// is one (Narayanan et al., 2021): as many bubbles, but a stage holds at most as many activations
// as there are stages behind it, and its own.
enum class PipeSchedule { kGpipe, k1F1B };
// Returns "1F1B".
const char* to_text(PipeSchedule schedule);

// A forward or a backward of a micro-batch.
struct PipeStep {
  bool forward = true;
  size_t micro_batch = 0;  // which one
  bool operator==(const PipeStep&) const = default;
};
// Returns what stage `stage` of `stages` does with so many micro-batches. Backwards come in their
// order, so that a stage adds their gradients as one process does.
std::vector<PipeStep> pipe_steps(PipeSchedule schedule, int stage, int stages,
                                 size_t micro_batches);
// Returns the largest number of micro-batches that have had their forward and not their backward.
size_t most_in_flight(const std::vector<PipeStep>& steps);
// Returns (stages - 1) / (micro_batches + stages - 1): the part of a step in which a stage has
// nothing to do, where all stages take the same time.
double bubble_of(int stages, size_t micro_batches);

// Returns the first module of each stage but the first: the cut of a list of weights into
// contiguous runs, none empty, whose largest sum is smallest; of several the earliest cuts.
std::vector<size_t> balanced_cuts(const std::vector<double>& weights, int stages);

}  // namespace wick::distributed

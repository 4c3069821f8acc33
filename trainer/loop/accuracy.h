// Counts the correct predictions of a classifier, if the output has classes at all.
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/tensor/tensor.h"

namespace wick::loop {

// The number of predictions and of those that are correct.
struct Correct {
  int64_t correct = 0, predictions = 0;
};

// Counts correct predictions: output [N, C] (or [B, T, C]: any shape whose last dimension is the
// classes) and int64 targets, one per row, with C >= 2. A row is correct if its largest value is at
// the target; of equal values the first counts. Targets below 0 (ignore_index) are not counted.
// Returns nothing for other outputs and targets: regression, probabilities as targets.
std::optional<Correct> correct_of(const Tensor& output, const Tensor& target);

// Returns the number of rows of logits [N, C] whose largest value is at target[n] (int64); of equal
// values the first counts. Throws Error for other shapes.
int64_t count_correct(const Tensor& logits, const Tensor& target);

}  // namespace wick::loop

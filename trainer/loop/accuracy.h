// How many answers of a classifier are right, where there are classes at all.
#pragma once

#include <cstdint>
#include <optional>

#include "trainer/tensor/tensor.h"

namespace wick::loop {

struct Correct {
  int64_t correct = 0, predictions = 0;
};

// Output [N, C] (or [B, T, C]: any shape whose last dimension is the classes') and int64 targets,
// as many as rows, C >= 2: rows whose largest value is at the target; the first of equal ones
// counts. Targets below 0 (ignore_index) are no predictions. Nothing for other outputs and targets:
// regression, probabilities as targets.
std::optional<Correct> correct_of(const Tensor& output, const Tensor& target);

// Rows of logits [N, C] whose largest value is at target[n] (int64); the first of equal ones
// counts. Other shapes are an Error.
int64_t count_correct(const Tensor& logits, const Tensor& target);

}  // namespace wick::loop

// Collate functions: combine items into a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/core/span.h"
#include "trainer/tensor/tensor.h"

namespace wick::data {

// One tensor per field, with the batch as dimension 0. By convention {input, target}.
using Batch = std::vector<Tensor>;
// One tensor per field, without a batch dimension.
using Item = std::vector<Tensor>;

// Called by several workers at once: it must not write to shared data.
using Collate = std::function<Batch(const std::vector<Item>&)>;

// Stacks every field: all items need the same dtype and shape. An error names the first item that
// differs, by its place in the batch.
Batch default_collate(const std::vector<Item>& items);
// The same, with the items' indices in the errors.
Batch stack_items(const std::vector<Item>& items, Span<const int64_t> numbers);

// Options of pad_collate().
struct PadOptions {
  double value = 0;  // what is appended
  // Fields that are padded along dimension 0 to the longest item of the batch; others are stacked.
  std::vector<int> fields = {0};
  bool batch_first = true;  // false: [length, batch, ...], as nn::pad_sequence
};
// Appends the lengths, int64 [batch], as additional last fields, one for each padded field. With
// fields = {0}, items {x[T, ...], y} become {x[B, max T, ...], y[B], lengths[B]}.
Batch pad_collate(const std::vector<Item>& items, const PadOptions& options = {});
// Returns pad_collate() as the collate of a loader.
Collate pad_to_longest(const PadOptions& options = {});

}  // namespace wick::data

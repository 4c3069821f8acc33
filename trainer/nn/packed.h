// Sequences of different lengths in one tensor, as PyTorch's torch.nn.utils.rnn has them.
#pragma once

#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::nn {

// data[sum of lengths, ...]: all first steps, then all second steps ..., longest sequence first;
// batch_sizes (int64): how many sequences reach each step. sorted_indices orders the batch by
// length, unsorted_indices takes it back; both are undefined where the caller had sorted.
struct PackedSequence {
  Tensor data, batch_sizes, sorted_indices, unsorted_indices;

  // How long each sequence is, in the order of data.
  std::vector<int64_t> sorted_lengths(Where where = Where::current()) const;
};

// x[T, B, ...], or [B, T, ...] with batch_first; one length a sequence, from 1 to T.
// enforce_sorted: the lengths must descend already.
PackedSequence pack_padded_sequence(const Arg& x, const std::vector<int64_t>& lengths,
                                    bool batch_first = false, bool enforce_sorted = true);
PackedSequence pack_padded_sequence(const Arg& x, const Arg& lengths, bool batch_first = false,
                                    bool enforce_sorted = true);

struct PaddedSequence {
  Tensor padded, lengths;  // lengths: int64 [B]
};
// In the order from before packing. total_length: at least the longest.
PaddedSequence pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                   double padding_value = 0, int64_t total_length = 0,
                                   Where where = Where::current());

// Sequences [length, ...] that differ in length alone.
PackedSequence pack_sequence(const std::vector<Tensor>& sequences, bool enforce_sorted = true,
                             Where where = Where::current());
Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first = false,
                    double padding_value = 0, Where where = Where::current());

}  // namespace wick::nn

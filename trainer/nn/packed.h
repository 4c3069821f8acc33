// Sequences of different lengths in one tensor, as in PyTorch's torch.nn.utils.rnn.
#pragma once

#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::nn {

// data[sum of lengths, ...] has all first steps, then all second steps and so on, longest sequence
// first. batch_sizes (int64) is the number of sequences at each step. sorted_indices sorts the
// batch by length, unsorted_indices restores the order; both are undefined if the caller had
// sorted.
struct PackedSequence {
  Tensor data, batch_sizes, sorted_indices, unsorted_indices;

  // Returns the length of each sequence, in the order of data.
  std::vector<int64_t> sorted_lengths(Where where = Where::current()) const;
};

// Packs x[T, B, ...], or [B, T, ...] with batch_first, with one length per sequence, from 1 to T.
// enforce_sorted: the lengths must be in descending order.
PackedSequence pack_padded_sequence(const Arg& x, const std::vector<int64_t>& lengths,
                                    bool batch_first = false, bool enforce_sorted = true);
PackedSequence pack_padded_sequence(const Arg& x, const Arg& lengths, bool batch_first = false,
                                    bool enforce_sorted = true);

// The result of pad_packed_sequence().
struct PaddedSequence {
  Tensor padded, lengths;  // lengths: int64 [B]
};
// Returns the sequences in the order before packing. total_length must be at least the longest
// length.
PaddedSequence pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                   double padding_value = 0, int64_t total_length = 0,
                                   Where where = Where::current());

// The sequences are [length, ...] and differ only in length.
PackedSequence pack_sequence(const std::vector<Tensor>& sequences, bool enforce_sorted = true,
                             Where where = Where::current());
Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first = false,
                    double padding_value = 0, Where where = Where::current());

}  // namespace wick::nn

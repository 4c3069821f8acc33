#include "trainer/nn/packed.h"

#include <algorithm>
#include <numeric>

#include "trainer/tensor/compose.h"

namespace wick::nn {
namespace {

using Numbers = std::vector<int64_t>;

int64_t& at_of(Numbers& v, int64_t i) { return v[static_cast<size_t>(i)]; }

// Returns the index in the flattened [T, B] of each packed element: step by step, for the sequences
// that reach it.
Numbers packed_places(const Numbers& batch_sizes, int64_t batch) {
  Numbers places;
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    for (int64_t b = 0; b < batch_sizes[t]; ++b) {
      places.push_back(static_cast<int64_t>(t) * batch + b);
    }
  }
  return places;
}

// Reshapes x[T, B, ...] to [T * B, ...].
Tensor joined(const Tensor& x, const At& at) {
  Shape flat{x.raw_shape()[0] * x.raw_shape()[1]};
  for (int i = 2; i < x.rank(); ++i) flat.push_back(x.raw_shape()[i]);
  return x.reshape(flat, at.where);
}

}  // namespace

std::vector<int64_t> PackedSequence::sorted_lengths(Where where) const {
  const Numbers sizes = batch_sizes.to_vector<int64_t>(where);
  Numbers lengths(static_cast<size_t>(sizes.empty() ? 0 : sizes[0]));
  for (int64_t size : sizes) {
    for (int64_t b = 0; b < size; ++b) ++at_of(lengths, b);
  }
  return lengths;
}

PackedSequence pack_padded_sequence(const Arg& x, const Numbers& lengths, bool batch_first,
                                    bool enforce_sorted) {
  const At at(x);
  const char* name = "pack_padded_sequence";
  if (x.tensor.rank(x.where) < 2) {
    bad_shape(name, "needs two dims for time and batch, got " + text(x.tensor), x.where);
  }
  Tensor in = batch_first ? x.tensor.transpose(0, 1, x.where) : x.tensor;
  const int64_t steps = in.raw_shape()[0], batch = in.raw_shape()[1];
  if (static_cast<int64_t>(lengths.size()) != batch || batch == 0) {
    bad_shape(name,
              std::to_string(lengths.size()) + " lengths for a batch of " + std::to_string(batch),
              x.where);
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] >= 1 && lengths[i] <= steps) continue;
    throw_error(name,
                "length " + std::to_string(lengths[i]) + " at [" + std::to_string(i) +
                    "] must be 1 to " + std::to_string(steps),
                x.where);
  }
  PackedSequence packed;
  Numbers order(lengths.size()), sorted = lengths;
  std::iota(order.begin(), order.end(), 0);
  if (!enforce_sorted) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
    });
    Numbers back(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      at_of(back, order[i]) = static_cast<int64_t>(i);
      sorted[i] = lengths[static_cast<size_t>(order[i])];
    }
    packed.sorted_indices = tensor(order);
    packed.unsorted_indices = tensor(back);
    in = index_select(at(in), 1, at(packed.sorted_indices));
  } else if (!std::is_sorted(lengths.rbegin(), lengths.rend())) {
    throw_error(name, "lengths must descend; enforce_sorted = false sorts them", x.where);
  }
  Numbers sizes(static_cast<size_t>(sorted[0]));
  for (int64_t length : sorted) {
    for (int64_t t = 0; t < length; ++t) ++at_of(sizes, t);
  }
  packed.batch_sizes = tensor(sizes);
  packed.data = index_select(at(joined(in, at)), 0, at(tensor(packed_places(sizes, batch))));
  return packed;
}

PackedSequence pack_padded_sequence(const Arg& x, const Arg& lengths, bool batch_first,
                                    bool enforce_sorted) {
  const Tensor& n = lengths.tensor;
  if (n.rank(lengths.where) != 1 || is_float(n.dtype())) {
    throw_error("pack_padded_sequence", "lengths must be integers [batch], got " + text(n),
                lengths.where, Code::kTypeMismatch);
  }
  return pack_padded_sequence(x, n.to(DType::kI64, lengths.where).to_vector<int64_t>(lengths.where),
                              batch_first, enforce_sorted);
}

PaddedSequence pad_packed_sequence(const PackedSequence& p, bool batch_first, double padding_value,
                                   int64_t total_length, Where where) {
  const At at(where);
  const Numbers sizes = p.batch_sizes.to_vector<int64_t>(where);
  Numbers lengths = p.sorted_lengths(where);
  const auto longest = static_cast<int64_t>(sizes.size());
  const auto batch = static_cast<int64_t>(lengths.size());
  if (total_length != 0 && total_length < longest) {
    throw_error("pad_packed_sequence",
                "total_length " + std::to_string(total_length) +
                    " is shorter than the longest sequence, " + std::to_string(longest),
                where);
  }
  const int64_t steps = std::max(longest, total_length), count = p.data.raw_shape()[0];
  // Elements that belong to no sequence refer to an additional row, the padding.
  Numbers places(static_cast<size_t>(steps * batch), count);
  int64_t next = 0;
  for (int64_t place : packed_places(sizes, batch)) at_of(places, place) = next++;
  Shape row = p.data.raw_shape(), whole{steps, batch};
  row[0] = 1;
  for (int i = 1; i < row.rank(); ++i) whole.push_back(row[i]);
  Tensor all = cat({at(p.data), at(full(row, padding_value, p.data.dtype()))}, 0);
  Tensor y = index_select(at(all), 0, at(tensor(places))).reshape(whole, where);
  Tensor n = tensor(lengths);
  if (p.unsorted_indices.defined()) {
    y = index_select(at(y), 1, at(p.unsorted_indices));
    n = index_select(at(n), 0, at(p.unsorted_indices));
  }
  return {batch_first ? y.transpose(0, 1, where) : y, n};
}

Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first, double padding_value,
                    Where where) {
  const At at(where);
  if (sequences.empty()) throw_error("pad_sequence", "needs at least one sequence", where);
  int64_t longest = 0;
  for (const Tensor& s : sequences) {
    const Shape &shape = s.shape(where), &first = sequences[0].raw_shape();
    bool fits = shape.rank() >= 1 && shape.rank() == first.rank();
    for (int i = 1; fits && i < shape.rank(); ++i) fits = shape[i] == first[i];
    if (!fits) {
      bad_shape("pad_sequence",
                "sequences may differ in their first dim alone: " + text(sequences[0]) + " and " +
                    text(s),
                where);
    }
    longest = std::max(longest, shape[0]);
  }
  std::vector<Tensor> padded;
  for (const Tensor& s : sequences) {
    Shape rest = s.raw_shape();
    rest[0] = longest - rest[0];
    padded.push_back(rest[0] == 0 ? s : cat({at(s), at(full(rest, padding_value, s.dtype()))}, 0));
  }
  return stack(padded, batch_first ? 0 : 1, where);
}

PackedSequence pack_sequence(const std::vector<Tensor>& sequences, bool enforce_sorted,
                             Where where) {
  Numbers lengths;
  Tensor padded = pad_sequence(sequences, false, 0, where);
  for (const Tensor& s : sequences) lengths.push_back(s.raw_shape()[0]);
  return pack_padded_sequence({padded, where}, lengths, false, enforce_sorted);
}

}  // namespace wick::nn

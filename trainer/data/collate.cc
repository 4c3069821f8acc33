#include "trainer/data/collate.h"

#include <algorithm>
#include <cstring>

#include "trainer/tensor/ops/layout.h"

namespace wick::data {
namespace {

Shape with_rows(const Shape& item, int64_t rows) {
  Shape shape{rows};
  for (int64_t d : item) shape.push_back(d);
  return shape;
}

char* bytes_of(const Tensor& t) { return static_cast<char*>(t.raw().data); }

std::string describe(const Tensor& t) {
  return std::string(dtype_name(t.dtype())) + to_text(t.raw_shape()).text;
}

// Returns the shape of a row, without its first dimension.
Shape tail(const Shape& shape) {
  Shape rest;
  for (int d = 1; d < shape.rank(); ++d) rest.push_back(shape[d]);
  return rest;
}

// Pads a field of a batch, whose items [T, ...] differ in their first dim. nn::pad_sequence has a
// gradient, which data does not need.
Tensor pad_field(const std::vector<Tensor>& sequences, bool batch_first, double value) {
  int64_t longest = 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Tensor& s = sequences[i];
    if (s.rank() < 1) {
      throw Error("[collate] item " + std::to_string(i) + " is a single number");
    }
    if (s.dtype() != sequences[0].dtype() ||
        !(tail(s.raw_shape()) == tail(sequences[0].raw_shape()))) {
      throw Error("[collate] item " + std::to_string(i) + " is " + describe(s) + ", the first " +
                  describe(sequences[0]) + ": only lengths may differ");
    }
    longest = std::max(longest, s.raw_shape()[0]);
  }
  Shape shape = with_rows(sequences[0].raw_shape(), static_cast<int64_t>(sequences.size()));
  shape[1] = longest;
  Tensor out = full(shape, value, sequences[0].dtype());
  size_t row_bytes = out.raw().nbytes() / sequences.size();
  for (size_t i = 0; i < sequences.size(); ++i) {
    Tensor s = sequences[i].detach().contiguous();
    if (s.raw().nbytes() > 0) {
      std::memcpy(bytes_of(out) + i * row_bytes, s.raw().data, s.raw().nbytes());
    }
  }
  return batch_first ? out : out.transpose(0, 1).contiguous();
}

}  // namespace

Batch stack_items(const std::vector<Item>& items, Span<const int64_t> numbers) {
  Batch batch;
  for (size_t row = 0; row < items.size(); ++row) {
    const Item& item = items[row];
    auto at = [&] { return "item " + std::to_string(numbers[row]) + ": "; };
    if (row == 0) {
      for (const Tensor& t : item) {
        batch.push_back(
            empty(with_rows(t.raw_shape(), static_cast<int64_t>(items.size())), t.dtype()));
      }
    }
    if (item.size() != batch.size()) {
      throw Error(at() + std::to_string(item.size()) + " fields, the first item of the batch has " +
                  std::to_string(batch.size()));
    }
    for (size_t f = 0; f < item.size(); ++f) {
      Tensor field = item[f].detach().contiguous();
      TensorView to = batch[f].raw();
      if (field.dtype() != to.dtype || !(with_rows(field.raw_shape(), to.shape[0]) == to.shape)) {
        throw Error(at() + "field " + std::to_string(f) + " is " + describe(field) +
                    ", which does not stack with the batch " + dtype_name(to.dtype) +
                    to_text(to.shape).text);
      }
      size_t bytes = field.raw().nbytes();
      if (bytes > 0) std::memcpy(bytes_of(batch[f]) + row * bytes, field.raw().data, bytes);
    }
  }
  return batch;
}

Batch default_collate(const std::vector<Item>& items) {
  if (items.empty()) throw Error("[collate] no items");
  std::vector<int64_t> places(items.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  try {
    return stack_items(items, {places.data(), places.size()});
  } catch (const Error& e) {
    throw Error(std::string("[collate] ") + e.what(), e.code());
  }
}

Batch pad_collate(const std::vector<Item>& items, const PadOptions& options) {
  if (items.empty()) throw Error("[collate] no items");
  size_t fields = items[0].size();
  for (int f : options.fields) {
    if (f < 0 || static_cast<size_t>(f) >= fields) {
      throw Error("[collate] no field " + std::to_string(f) + " to pad: items have " +
                  std::to_string(fields));
    }
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].size() != fields) {
      throw Error("[collate] item " + std::to_string(i) + ": " + std::to_string(items[i].size()) +
                  " fields, the first item of the batch has " + std::to_string(fields));
    }
  }
  Batch batch(fields), lengths;
  for (size_t f = 0; f < fields; ++f) {
    std::vector<Tensor> column;
    for (const Item& item : items) column.push_back(item[f]);
    if (std::find(options.fields.begin(), options.fields.end(), static_cast<int>(f)) ==
        options.fields.end()) {
      std::vector<Item> single;
      for (const Tensor& t : column) single.push_back({t});
      batch[f] = default_collate(single)[0];
      continue;
    }
    batch[f] = pad_field(column, options.batch_first, options.value);
    std::vector<int64_t> n;
    for (const Tensor& t : column) n.push_back(t.raw_shape()[0]);
    lengths.push_back(tensor(n));
  }
  batch.insert(batch.end(), lengths.begin(), lengths.end());
  return batch;
}

Collate pad_to_longest(const PadOptions& options) {
  return [options](const std::vector<Item>& items) { return pad_collate(items, options); };
}

}  // namespace wick::data

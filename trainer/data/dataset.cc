#include "trainer/data/dataset.h"

#include <cstring>

namespace wick::data {
namespace {

thread_local uint64_t thread_epoch = 0;

char* row_bytes_of(const Tensor& t) { return static_cast<char*>(t.raw().data); }

}  // namespace

uint64_t reading_epoch() { return thread_epoch; }
EpochScope::EpochScope(uint64_t epoch) : before_(thread_epoch) { thread_epoch = epoch; }
EpochScope::~EpochScope() { thread_epoch = before_; }

void Dataset::check_index(int64_t index) const {
  if (index < 0 || index >= size()) {
    throw Error("[dataset] no item " + std::to_string(index) + " of " + std::to_string(size()));
  }
}

Batch Dataset::get_batch(Span<const int64_t> indices) const {
  // Named and moved one by one, so that the message is only made when needed.
  std::vector<Item> items;
  items.reserve(indices.size());
  for (int64_t index : indices) items.push_back(get_named(index));
  return stack_items(items, indices);
}

Item Dataset::get_named(int64_t index) const {
  try {
    return get(index);
  } catch (const Error& e) {
    throw Error("item " + std::to_string(index) + ": " + e.what(), e.code());
  } catch (const std::exception& e) {
    throw Error("item " + std::to_string(index) + ": " + e.what());
  } catch (...) {
    throw Error("item " + std::to_string(index) + ": an exception that is no std::exception");
  }
}

TensorDataset::TensorDataset(std::vector<Tensor> tensors, Where where) {
  if (tensors.empty()) throw_error("tensor_dataset", "needs at least one tensor", where);
  for (const Tensor& t : tensors) {
    if (t.rank() < 1) throw_error("tensor_dataset", "a tensor of rank 0 has no rows", where);
    if (t.raw_shape()[0] != tensors[0].raw_shape()[0]) {
      throw_error("tensor_dataset",
                  std::string("numbers of rows differ: ") + to_text(tensors[0].raw_shape()).text +
                      " and " + to_text(t.raw_shape()).text,
                  where);
    }
    tensors_.push_back(t.detach().contiguous());
  }
  size_ = tensors[0].raw_shape()[0];
}

std::vector<Tensor> TensorDataset::get(int64_t index) const {
  Batch batch = get_batch({&index, 1});
  for (Tensor& t : batch) {
    Shape item;
    for (int d = 1; d < t.rank(); ++d) item.push_back(t.raw_shape()[d]);
    t = t.reshape(item);
  }
  return batch;
}

Batch TensorDataset::get_batch(Span<const int64_t> indices) const {
  std::vector<size_t> rows;
  for (int64_t index : indices) {
    int64_t row = index < 0 ? index + size_ : index;
    if (row < 0 || row >= size_) check_index(index);
    rows.push_back(static_cast<size_t>(row));
  }
  Batch batch;
  for (const Tensor& t : tensors_) {
    Shape shape = t.raw_shape();
    size_t row_bytes = size_ == 0 ? 0 : t.raw().nbytes() / static_cast<size_t>(size_);
    shape[0] = static_cast<int64_t>(indices.size());
    Tensor out = empty(shape, t.dtype());
    for (size_t row = 0; row < rows.size(); ++row) {
      std::memcpy(row_bytes_of(out) + row * row_bytes, row_bytes_of(t) + rows[row] * row_bytes,
                  row_bytes);
    }
    batch.push_back(out);
  }
  return batch;
}

}  // namespace wick::data

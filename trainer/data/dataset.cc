#include "trainer/data/dataset.h"

#include <cstring>

namespace wick::data {
namespace {

Shape with_rows(const Shape& item, int64_t rows) {
  Shape shape{rows};
  for (int64_t d : item) shape.push_back(d);
  return shape;
}

char* bytes_of(const Tensor& t) { return static_cast<char*>(t.raw().data); }

}  // namespace

void Dataset::check_index(int64_t index) const {
  if (index < 0 || index >= size()) {
    throw Error("[dataset] item " + std::to_string(index) + " of " + std::to_string(size()));
  }
}

Batch Dataset::get_batch(Span<const int64_t> indices) const {
  Batch batch;
  for (size_t row = 0; row < indices.size(); ++row) {
    std::string at = "item " + std::to_string(indices[row]) + ": ";
    std::vector<Tensor> item;
    try {
      item = get(indices[row]);
    } catch (const Error& e) {
      throw Error(at + e.what(), e.code());
    } catch (const std::exception& e) {
      throw Error(at + e.what());
    }
    if (row == 0) {
      for (const Tensor& t : item) {
        batch.push_back(
            empty(with_rows(t.raw_shape(), static_cast<int64_t>(indices.size())), t.dtype()));
      }
    }
    if (item.size() != batch.size()) {
      throw Error(at + std::to_string(item.size()) + " fields, the first item of the batch has " +
                  std::to_string(batch.size()));
    }
    for (size_t f = 0; f < item.size(); ++f) {
      Tensor field = item[f].contiguous();
      TensorView to = batch[f].raw();
      if (field.dtype() != to.dtype || !(with_rows(field.raw_shape(), to.shape[0]) == to.shape)) {
        throw Error(at + "field " + std::to_string(f) + " is " + dtype_name(field.dtype()) +
                    to_text(field.raw_shape()).text + ", which does not stack with the batch " +
                    dtype_name(to.dtype) + to_text(to.shape).text);
      }
      size_t bytes = field.raw().nbytes();
      std::memcpy(bytes_of(batch[f]) + row * bytes, field.raw().data, bytes);
    }
  }
  return batch;
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
  for (int64_t index : indices) check_index(index);
  Batch batch;
  for (const Tensor& t : tensors_) {
    Shape shape = t.raw_shape();
    size_t row_bytes = size_ == 0 ? 0 : t.raw().nbytes() / static_cast<size_t>(size_);
    shape[0] = static_cast<int64_t>(indices.size());
    Tensor out = empty(shape, t.dtype());
    for (size_t row = 0; row < indices.size(); ++row) {
      std::memcpy(bytes_of(out) + row * row_bytes,
                  bytes_of(t) + static_cast<size_t>(indices[row]) * row_bytes, row_bytes);
    }
    batch.push_back(out);
  }
  return batch;
}

}  // namespace wick::data

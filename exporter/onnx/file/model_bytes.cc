#include "exporter/onnx/file/model_bytes.h"

#include <algorithm>
#include <cstring>

#include "wick/error.h"

namespace wick::onnx {
namespace {

constexpr uint64_t kSmallFile = uint64_t{1} << 22;
// There are few bytes between two weights; a larger window would read parts of the weights twice.
constexpr size_t kWindow = size_t{1} << 14;

}  // namespace

ModelBytes::ModelBytes(std::shared_ptr<const FileBytes> file) : size_(file->size()) {
  if (size_ <= kSmallFile) {
    buffer_.resize(static_cast<size_t>(size_));
    check_status(file->read(0, buffer_.data(), buffer_.size()));
    window_ = {reinterpret_cast<const uint8_t*>(buffer_.data()), buffer_.size()};
  } else {
    file_ = std::move(file);
  }
}

void ModelBytes::slide(uint64_t offset) {
  buffer_.resize(static_cast<size_t>(std::min<uint64_t>(kWindow, size_ - offset)));
  check_status(file_->read(offset, buffer_.data(), buffer_.size()));
  begin_ = offset;
  window_ = {reinterpret_cast<const uint8_t*>(buffer_.data()), buffer_.size()};
}

void ModelBytes::copy(uint64_t offset, void* to, size_t bytes) {
  if (bytes == 0) return;
  if (file_ != nullptr && bytes > kWindow / 2) {
    check_status(file_->read(offset, to, bytes));
    return;
  }
  if (offset < begin_ || offset + bytes > begin_ + window_.size()) slide(offset);
  memcpy(to, window_.data() + (offset - begin_), bytes);
}

void ModelBytes::append(uint64_t begin, uint64_t end, std::string* out) {
  const size_t had = out->size();
  out->resize(had + static_cast<size_t>(end - begin));
  copy(begin, out->data() + had, static_cast<size_t>(end - begin));
}

}  // namespace wick::onnx

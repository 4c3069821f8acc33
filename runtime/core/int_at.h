// How the runtime reads integers that say something about shapes: axes, sizes, pads, indices. A
// rule accepts them in any integer dtype, so every reader must take every integer dtype as well;
// one that does not reads beyond the tensor or reads other numbers than the rule did. tests/layers
// finds readers that do it by themselves.
#pragma once

#include "runtime/core/span.h"
#include "runtime/core/tensor_view.h"

namespace wick {

// int8 to int32, uint8 to uint64; 0 of what is no integer.
inline int64_t narrow_int_at(const TensorView& v, int64_t offset) {
  switch (v.dtype) {
    case DType::kI32: return v.as<int32_t>()[offset];
    case DType::kI16: return v.as<int16_t>()[offset];
    case DType::kI8: return int64_t{v.as<int8_t>()[offset]};
    case DType::kU64: return static_cast<int64_t>(v.as<uint64_t>()[offset]);
    case DType::kU32: return v.as<uint32_t>()[offset];
    case DType::kU16: return v.as<uint16_t>()[offset];
    case DType::kU8: return v.as<uint8_t>()[offset];
    default: return 0;
  }
}

// The integer that lies `offset` elements behind the first of an integer tensor. uint64 wraps, as
// it does for the rules. `offset` must lie within the tensor.
inline int64_t int_at(const TensorView& v, int64_t offset) {
  return v.dtype == DType::kI64 ? v.as<int64_t>()[offset] : narrow_int_at(v, offset);
}

// The integers that an op takes as an optional input of rank 0 or 1, else as an attribute. It says
// the same as rules::read_dims of the same input: an input that is present counts as given, also
// where it is empty. Element i of what holds fewer is 0.
class IntArgs {
 public:
  IntArgs(Span<const TensorView> in, size_t i, Span<const int64_t> attr)
      : input_(i < in.size() && in[i].present() ? &in[i] : nullptr), attr_(attr) {}

  bool given() const { return input_ != nullptr || !attr_.empty(); }
  // False where only a run knows the integers.
  bool known() const { return input_ == nullptr || input_->data != nullptr || count() == 0; }
  int64_t count() const {
    return input_ != nullptr ? input_->numel() : static_cast<int64_t>(attr_.size());
  }
  int64_t operator[](int64_t i) const {
    if (i < 0 || i >= count() || !known()) return 0;
    if (input_ == nullptr) return attr_[static_cast<size_t>(i)];
    return int_at(*input_, input_->rank() == 0 ? 0 : i * input_->strides[input_->rank() - 1]);
  }

 private:
  const TensorView* input_;
  Span<const int64_t> attr_;
};

// An axis of a tensor of `rank` dims; -1: there is none of that number.
constexpr int axis_within(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return -1;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace wick

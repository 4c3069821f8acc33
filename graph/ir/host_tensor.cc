#include "graph/ir/host_tensor.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/core/allocator.h"
#include "runtime/core/half.h"
#include "runtime/core/narrow.h"
#include "wick/error.h"

namespace wick {

namespace {

// Never 0, room for whole vectors; what lies behind the tensor's end is zero.
std::shared_ptr<char> room_for(size_t bytes) {
  const size_t padded = (bytes + kAlignment) / kAlignment * kAlignment;
  auto* p = static_cast<char*>(aligned_alloc(kAlignment, padded));
  if (p == nullptr) throw Error("no memory for a tensor of " + std::to_string(bytes) + " bytes");
  memset(p + bytes, 0, padded - bytes);
  return std::shared_ptr<char>(p, [](char* q) { free(q); });
}

size_t bytes_of(DType dtype, const Shape& shape) {
  auto bytes = checked_bytes(shape, dtype_bits(dtype));
  if (!bytes.ok()) throw Error(bytes.status().message());
  return bytes.value();
}

}  // namespace

HostTensor::HostTensor(DType dtype, const Shape& shape)
    : dtype_(dtype), shape_(shape), bytes_(bytes_of(dtype, shape)), data_(room_for(bytes_)) {
  if (bytes_ != 0) memset(data_.get(), 0, bytes_);
}

HostTensor::HostTensor(DType dtype, const Shape& shape, const void* data, size_t bytes)
    : dtype_(dtype), shape_(shape), bytes_(bytes_of(dtype, shape)) {
  if (bytes != bytes_) {
    throw Error("a tensor of " + std::string(dtype_name(dtype)) + to_text(shape).text + " has " +
                std::to_string(bytes_) + " bytes, not " + std::to_string(bytes));
  }
  data_ = room_for(bytes_);
  if (bytes != 0) memcpy(data_.get(), data, bytes);
}

HostTensor HostTensor::ints(Span<const int64_t> values) {
  return HostTensor(DType::kI64, Shape{static_cast<int64_t>(values.size())}, values.data(),
                    values.size_bytes());
}

HostTensor HostTensor::reshaped(const Shape& shape) const {
  if (wick::numel(shape) != numel()) throw Error("reshaped: element counts differ");
  HostTensor t = *this;
  t.shape_ = shape;
  return t;
}

std::vector<int64_t> int_values(const HostTensor& t) {
  std::vector<int64_t> v(static_cast<size_t>(t.numel()));
  for (size_t i = 0; i < v.size(); ++i) {
    switch (t.dtype()) {
      case DType::kI64:
      case DType::kU64: v[i] = t.as<int64_t>()[i]; break;
      case DType::kI32: v[i] = t.as<int32_t>()[i]; break;
      case DType::kU32: v[i] = t.as<uint32_t>()[i]; break;
      case DType::kI16: v[i] = t.as<int16_t>()[i]; break;
      case DType::kU16: v[i] = t.as<uint16_t>()[i]; break;
      case DType::kI8: v[i] = t.as<int8_t>()[i]; break;
      case DType::kU8: v[i] = t.as<uint8_t>()[i]; break;
      default: throw Error("needs an integer tensor, got " + std::string(dtype_name(t.dtype())));
    }
  }
  return v;
}

double element_as_double(const HostTensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kF32: return t.as<float>()[i];
    case DType::kF64: return t.as<double>()[i];
    case DType::kF16: return static_cast<float>(t.as<Half>()[i]);
    case DType::kBF16: return static_cast<float>(t.as<BFloat16>()[i]);
    case DType::kI8: return t.as<int8_t>()[i];
    case DType::kI16: return t.as<int16_t>()[i];
    case DType::kI32: return t.as<int32_t>()[i];
    case DType::kI64: return static_cast<double>(t.as<int64_t>()[i]);
    case DType::kBool:
    case DType::kU8: return t.as<uint8_t>()[i];
    case DType::kU16: return t.as<uint16_t>()[i];
    case DType::kU32: return t.as<uint32_t>()[i];
    case DType::kU64: return static_cast<double>(t.as<uint64_t>()[i]);
    default:
      if (is_small(t.dtype())) return narrow_at(t.dtype(), t.data(), i);
      throw Error("no number in a tensor of " + std::string(dtype_name(t.dtype())));
  }
}

bool same_bits(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.nbytes() == 0 || memcmp(a.data(), b.data(), a.nbytes()) == 0) return true;
  if (!is_float(a.dtype())) return false;
  size_t size = dtype_size(a.dtype());
  for (int64_t i = 0; i < a.numel(); ++i) {
    bool equal = memcmp(a.as<char>() + static_cast<size_t>(i) * size,
                        b.as<char>() + static_cast<size_t>(i) * size, size) == 0;
    if (!equal && !(std::isnan(element_as_double(a, i)) && std::isnan(element_as_double(b, i)))) {
      return false;
    }
  }
  return true;
}

}  // namespace wick

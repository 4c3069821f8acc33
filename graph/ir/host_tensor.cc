#include "graph/ir/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "runtime/core/allocator.h"
#include "runtime/core/half.h"
#include "runtime/core/int_at.h"
#include "runtime/core/narrow.h"
#include "runtime/core/packed_sequence.h"
#include "wick/error.h"

namespace wick {

namespace {

// Allocates never 0 bytes, with room for whole vectors; what follows the tensor's end is zero.
std::shared_ptr<char> room_for(size_t bytes) {
  const size_t padded = (bytes + kAlignment) / kAlignment * kAlignment;
  auto* p = static_cast<char*>(default_allocator().allocate(padded, kAlignment));
  if (p == nullptr)
    throw Error("no memory for a tensor of " + std::to_string(bytes) + " bytes",
                Code::kOutOfMemory);
  memset(p + bytes, 0, padded - bytes);
  return std::shared_ptr<char>(
      p, [padded](char* q) { default_allocator().deallocate(q, padded, kAlignment); });
}

size_t bytes_of(DType dtype, const Shape& shape) {
  auto bytes = checked_bytes(shape, dtype_bits(dtype));
  if (!bytes.ok()) throw Error(bytes.status().message());
  return bytes.value();
}

}  // namespace

HostTensor::Body::Body(DType type, const Shape& sizes)
    : dtype(type), shape(sizes), bytes(bytes_of(type, sizes)) {}

const HostTensor::Body& HostTensor::none() {
  static const Body kNone;
  return kNone;
}

HostTensor::HostTensor(DType dtype, const Shape& shape)
    : body_(std::make_shared<Body>(dtype, shape)) {
  body_->data = room_for(nbytes());
  if (nbytes() != 0) memset(body_->data.get(), 0, nbytes());
}

HostTensor::HostTensor(DType dtype, const Shape& shape, const void* data, size_t bytes)
    : body_(std::make_shared<Body>(dtype, shape)) {
  if (bytes != nbytes()) {
    throw Error("a tensor of " + std::string(dtype_name(dtype)) + to_text(shape).text + " has " +
                std::to_string(nbytes()) + " bytes, not " + std::to_string(bytes));
  }
  if (dtype == DType::kString) {
    own({static_cast<const StringRef*>(data), static_cast<size_t>(numel())});
    return;
  }
  body_->data = room_for(bytes);
  if (bytes != 0) memcpy(body_->data.get(), data, bytes);
  if (is_container(dtype)) own_packed();
}

HostTensor HostTensor::in_file(DType dtype, const Shape& shape,
                               std::shared_ptr<const FileBytes> file, uint64_t offset) {
  HostTensor t;
  t.body_ = std::make_shared<Body>(dtype, shape);
  if (dtype == DType::kString || is_container(dtype))
    throw Error("a tensor of " + std::string(dtype_name(dtype)) + " cannot lie in a file");
  auto& lazy = t.body_->lazy = std::make_shared<LazyBytes>(std::move(file), offset, t.nbytes());
  t.body_->data = std::shared_ptr<char>(lazy, lazy->address());
  return t;
}

void HostTensor::read_file() const { check_status(body_->lazy->fill()); }

// For a sequence or an optional of strings: copies the text that its elements refer to behind the
// packed bytes, shared text once.
void HostTensor::own_packed() {
  auto packed = PackedSequence::open(view());
  if (!packed.ok() || packed->dtype() != DType::kString) return;
  std::map<std::pair<const char*, uint64_t>, size_t> place;
  size_t size = 0;
  auto each = [](const PackedSequence& s, auto visit) {
    for (int64_t i = 0; i < s.count(); ++i) {
      const TensorView v = s.at(i);
      for (int64_t k = 0; k < v.numel(); ++k) visit(v.as<StringRef>()[k]);
    }
  };
  each(*packed, [&](const StringRef& s) {
    if (s.size != 0 && place.emplace(std::pair(s.data, s.size), size).second) size += s.size;
  });
  std::shared_ptr<char> mine = room_for(nbytes() + size);
  memcpy(mine.get(), body_->data.get(), nbytes());
  char* text = mine.get() + nbytes();
  for (const auto& [s, at] : place) memcpy(text + at, s.first, s.second);
  body_->data = mine;
  body_->string_bytes = size;
  each(PackedSequence::open(view()).value(), [&](StringRef& s) {
    if (s.size != 0) s.data = text + place.at({s.data, s.size});
  });
}

// Copies the text behind the elements; elements that shared text still do (an Expand of one long
// string is not that string many times).
void HostTensor::own(Span<const StringRef> from) {
  std::map<std::pair<const char*, uint64_t>, size_t> place;
  size_t size = 0;
  for (const StringRef& s : from) {
    if (s.size != 0 && place.emplace(std::pair(s.data, s.size), size).second) size += s.size;
  }
  body_->string_bytes = size;
  body_->data = room_for(nbytes() + size);
  char* elements = body_->data.get();
  if (nbytes() != 0) memset(elements, 0, nbytes());
  char* text = elements + nbytes();
  for (const auto& [s, at] : place) memcpy(text + at, s.first, s.second);
  for (size_t i = 0; i < from.size(); ++i) {
    const StringRef& s = from[i];
    if (s.size != 0) as<StringRef>()[i] = {text + place.at({s.data, s.size}), s.size};
  }
}

HostTensor HostTensor::strings(const Shape& shape, const std::vector<std::string>& values) {
  std::vector<StringRef> refs;
  for (const std::string& s : values) refs.push_back({s.data(), s.size()});
  return HostTensor(DType::kString, shape, refs.data(), refs.size() * sizeof(StringRef));
}

std::string HostTensor::string_at(int64_t i) const {
  const StringRef& s = as<StringRef>()[i];
  return s.size == 0 ? std::string() : std::string(s.data, s.size);
}

HostTensor HostTensor::ints(Span<const int64_t> values) {
  return HostTensor(DType::kI64, Shape{static_cast<int64_t>(values.size())}, values.data(),
                    values.size_bytes());
}

HostTensor HostTensor::reshaped(const Shape& shape) const {
  if (wick::numel(shape) != numel()) throw Error("reshaped: element counts differ");
  HostTensor t = *this;
  if (t.present()) t.body_ = std::make_shared<Body>(*body_);
  if (t.present()) t.body_->shape = shape;
  return t;
}

std::vector<int64_t> int_values(const HostTensor& t) {
  if (!is_int(t.dtype()))
    throw Error("needs an integer tensor, got " + std::string(dtype_name(t.dtype())));
  std::vector<int64_t> v(static_cast<size_t>(t.numel()));
  const TensorView view = t.view();
  for (size_t i = 0; i < v.size(); ++i) v[i] = int_at(view, static_cast<int64_t>(i));
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

HostTensor complex_parts(const HostTensor& t) {
  if (t.dtype() != DType::kC64 && t.dtype() != DType::kC128) return t;
  Shape parts{t.numel(), 2};
  return {t.dtype() == DType::kC64 ? DType::kF32 : DType::kF64, parts, t.data(), t.nbytes()};
}

double element_distance(const HostTensor& a, const HostTensor& b, int64_t i) {
  if (a.dtype() == DType::kI64 || a.dtype() == DType::kU64) {
    const int64_t x = int_at(a.view(), i), y = int_at(b.view(), i);
    const auto p = static_cast<uint64_t>(x), q = static_cast<uint64_t>(y);
    const bool above = a.dtype() == DType::kI64 ? x > y : p > q;
    return static_cast<double>(above ? p - q : q - p);
  }
  const double x = element_as_double(a, i), y = element_as_double(b, i);
  return x == y ? 0 : std::fabs(x - y);
}

namespace {

// Compares element by element: the addresses of strings and the bits of NaNs may differ.
bool same_elements(const PackedSequence& a, const PackedSequence& b) {
  if (a.dtype() != b.dtype() || a.count() != b.count() || a.present() != b.present()) return false;
  const auto element = [](const TensorView& v) {
    return HostTensor(v.dtype, v.shape, v.data, v.nbytes());
  };
  for (int64_t i = 0; i < a.count(); ++i) {
    if (!same_bits(element(a.at(i)), element(b.at(i)))) return false;
  }
  return true;
}

}  // namespace

bool same_bits(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (is_container(a.dtype())) {
    auto x = PackedSequence::open(a.view()), y = PackedSequence::open(b.view());
    if (x.ok() && y.ok()) return same_elements(*x, *y);
  }
  if (a.dtype() == DType::kString) {
    return std::equal(a.as<StringRef>(), a.as<StringRef>() + a.numel(), b.as<StringRef>());
  }
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

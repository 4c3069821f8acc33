#include "exporter/onnx/file/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "exporter/onnx/file/external.h"
#include "exporter/onnx/file/lent.h"
#include "runtime/core/narrow.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

template <class To, class List>
HostTensor from_list(const TensorProto& proto, DType dtype, const Shape& shape, const List& list,
                     int64_t expected) {
  if (list.size() != expected) {
    refuse(proto.name(), fmt::format("{} values for shape {}", list.size(), to_text(shape).text));
  }
  HostTensor t(dtype, shape);
  To* out = t.as<To>();
  for (int i = 0; i < list.size(); ++i) out[i] = static_cast<To>(list[i]);
  return t;
}

}  // namespace

DType dtype_of_onnx(int32_t data_type, const std::string& what) {
  if (data_type <= 0 || data_type >= kDTypeCount) {
    throw Error(fmt::format("{} has the unknown ONNX data type {}", what, data_type),
                Code::kUnsupported);
  }
  return static_cast<DType>(data_type);
}

namespace {

// Clears the bits that pad the last byte of packed elements, so that equal tensors have equal
// bytes.
HostTensor clear_padding(HostTensor t) {
  const int64_t used = t.numel() * dtype_bits(t.dtype()) % 8;
  if (used != 0) t.as<uint8_t>()[t.nbytes() - 1] &= static_cast<uint8_t>((1 << used) - 1);
  return t;
}

HostTensor decode_bytes(const TensorProto& proto, const std::string& folder) {
  DType dtype = dtype_of_onnx(proto.data_type(), "ONNX tensor '" + proto.name() + "'");
  if (proto.dims_size() > kMaxRank)
    refuse(proto.name(), fmt::format("rank {} exceeds 8", proto.dims_size()));
  Shape shape;
  for (int64_t d : proto.dims()) shape.push_back(d);
  auto bytes = checked_bytes(shape, dtype_bits(dtype));
  if (!bytes.ok()) refuse(proto.name(), bytes.status().message());

  if (dtype == DType::kString) {
    if (proto.string_data_size() != numel(shape)) {
      refuse(proto.name(),
             fmt::format("{} strings in string_data, where alone strings may be, for shape {}",
                         proto.string_data_size(), to_text(shape).text));
    }
    return HostTensor::strings(shape, {proto.string_data().begin(), proto.string_data().end()});
  }
  if (const Piece* lent = lent_piece(proto); lent != nullptr) {
    if (lent->size != *bytes) {
      refuse(proto.name(), fmt::format("{} bytes of raw_data, shape {} of {} needs {}", lent->size,
                                       to_text(shape).text, dtype_name(dtype), *bytes));
    }
    return lent_tensor(proto.name(), *lent, dtype, shape);
  }
  if (proto.data_location() == TensorProto::EXTERNAL) {
    return read_external(proto, folder, dtype, shape, *bytes);
  }
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != *bytes) {
      refuse(proto.name(),
             fmt::format("{} bytes of raw_data, shape {} of {} needs {}", proto.raw_data().size(),
                         to_text(shape).text, dtype_name(dtype), *bytes));
    }
    return HostTensor(dtype, shape, proto.raw_data().data(), *bytes);
  }
  int64_t n = numel(shape);
  switch (dtype) {
    case DType::kF32: return from_list<float>(proto, dtype, shape, proto.float_data(), n);
    case DType::kC64: return from_list<float>(proto, dtype, shape, proto.float_data(), 2 * n);
    case DType::kF64: return from_list<double>(proto, dtype, shape, proto.double_data(), n);
    case DType::kC128: return from_list<double>(proto, dtype, shape, proto.double_data(), 2 * n);
    case DType::kI64: return from_list<int64_t>(proto, dtype, shape, proto.int64_data(), n);
    case DType::kU64: return from_list<uint64_t>(proto, dtype, shape, proto.uint64_data(), n);
    case DType::kU32: return from_list<uint32_t>(proto, dtype, shape, proto.uint64_data(), n);
    case DType::kI32: return from_list<int32_t>(proto, dtype, shape, proto.int32_data(), n);
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return from_list<uint16_t>(proto, dtype, shape, proto.int32_data(), n);
    case DType::kBool: return from_list<bool>(proto, dtype, shape, proto.int32_data(), n);
    case DType::kI8:
    case DType::kU8:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0: return from_list<uint8_t>(proto, dtype, shape, proto.int32_data(), n);
    case DType::kU4:
    case DType::kI4:
    case DType::kF4E2M1:
    case DType::kU2:
    case DType::kI2:
      return from_list<uint8_t>(proto, dtype, shape, proto.int32_data(),
                                static_cast<int64_t>(*bytes));
    default: refuse(proto.name(), "no data");
  }
}

}  // namespace

HostTensor decode(const TensorProto& proto, const std::string& folder) {
  HostTensor t = clear_padding(decode_bytes(proto, folder));
  if (t.dtype() == DType::kBool) {  // any byte but 0 is true, and equal bools have equal bytes
    for (int64_t i = 0; i < t.numel(); ++i) t.as<uint8_t>()[i] = t.as<uint8_t>()[i] != 0 ? 1 : 0;
  }
  return t;
}

HostTensor decode(const SparseTensorProto& proto, const std::string& folder, Ledger* ledger) {
  const std::string& name = proto.values().name();
  const HostTensor values = decode(proto.values(), folder);
  const HostTensor indices = decode(proto.indices(), folder);
  const int rank = proto.dims_size();
  if (rank > kMaxRank) refuse(name, fmt::format("rank {} exceeds 8", rank));
  Shape shape;
  for (int64_t d : proto.dims()) shape.push_back(d);
  auto bytes = checked_bytes(shape, dtype_bits(values.dtype()));
  if (!bytes.ok()) refuse(name, bytes.status().message());
  const int64_t count = values.numel();
  const bool tuples = indices.shape().rank() == 2;
  if (values.shape().rank() != 1 || indices.dtype() != DType::kI64 ||
      !(tuples ? indices.shape() == Shape{count, rank} : indices.shape() == Shape{count})) {
    refuse(name, fmt::format("sparse values {} need int64 indices [n] or [n,{}], got {} {}",
                             to_text(values.shape()).text, rank, dtype_name(indices.dtype()),
                             to_text(indices.shape()).text));
  }
  if (values.dtype() == DType::kString) refuse(name, "sparse strings are not supported");
  if (!ledger->take(*bytes).ok())
    throw Error(fmt::format("ONNX tensor '{}': {} bytes when dense, and the model's sparse tensors "
                            "may come to {}; OnnxReadOptions::max_ram raises it",
                            name, *bytes, ledger->limits().bytes),
                Code::kBudgetExceeded);
  HostTensor dense(values.dtype(), shape);
  const int64_t total = dense.numel();
  const int64_t* index = indices.as<int64_t>();
  const int bits = dtype_bits(values.dtype());
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = tuples ? 0 : index[i];
    for (int d = 0; tuples && d < rank; ++d) {
      const int64_t k = index[i * rank + d];
      if (k < 0 || k >= shape[d]) refuse(name, "a sparse index lies outside the tensor");
      at = at * shape[d] + k;
    }
    if (at < 0 || at >= total) refuse(name, "a sparse index lies outside the tensor");
    if (bits < 8) {
      set_packed(dense.data(), bits, at, get_packed(values.data(), bits, i));
    } else {
      const auto size = static_cast<size_t>(bits) / 8;
      std::memcpy(dense.as<char>() + static_cast<size_t>(at) * size,
                  values.as<char>() + static_cast<size_t>(i) * size, size);
    }
  }
  return dense;
}

TensorProto encode(const HostTensor& tensor, const std::string& name) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (int64_t d : tensor.shape()) proto.add_dims(d);
  if (tensor.dtype() == DType::kString) {
    for (int64_t i = 0; i < tensor.numel(); ++i) proto.add_string_data(tensor.string_at(i));
  } else {
    proto.set_raw_data(tensor.data(), tensor.nbytes());
  }
  return proto;
}

}  // namespace wick::onnx

#include "exporter/onnx/file/data_file.h"

#include "exporter/onnx/file/tensor.h"
#include "exporter/onnx/onnx.h"
#include "graph/ir/packed.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

enum ElementType { kTensorType = 1, kSequenceType = 3 };  // of onnx-data.proto

[[noreturn]] void not_read(const std::string& what, const char* kind) {
  throw Error(what + " is not " + kind, Code::kUnsupported);
}

// numpy, which wrote the older test data, has no bfloat16: such a tensor is stored as its bits.
HostTensor as_declared(HostTensor t, DType declared) {
  if (t.dtype() != DType::kU16 || declared != DType::kBF16) return t;
  return HostTensor(DType::kBF16, t.shape(), t.data(), t.nbytes());
}

HostTensor decode_sequence(const SequenceProto& s, DType kind, DType element,
                           const std::string& what) {
  if (s.sequence_values_size() + s.optional_values_size() + s.sparse_tensor_values_size() > 0)
    not_read(what, "a sequence of tensors");
  std::vector<HostTensor> elements;
  for (const TensorProto& t : s.tensor_values())
    elements.push_back(as_declared(decode(t, ""), element));
  return pack(kind, element, elements);
}

}  // namespace

HostTensor decode_data(const std::string& bytes, const ir::Value& type, const std::string& what) {
  if (type.dtype == DType::kSequence) {
    SequenceProto s;
    if (!s.ParseFromString(bytes)) not_read(what, "a sequence");
    return decode_sequence(s, type.dtype, type.element, what);
  }
  if (is_container(type.dtype)) {
    OptionalProto o;
    if (!o.ParseFromString(bytes)) not_read(what, "an optional");
    if (type.dtype == DType::kOptionalSequence) {
      if (!o.has_sequence_value()) return pack(type.dtype, type.element, {}, false);
      return decode_sequence(o.sequence_value(), type.dtype, type.element, what);
    }
    if (!o.has_tensor_value()) return pack(type.dtype, type.element, {});
    return pack(type.dtype, type.element,
                {as_declared(decode(o.tensor_value(), ""), type.element)});
  }
  TensorProto t;
  if (!t.ParseFromString(bytes)) not_read(what, "a tensor");
  return as_declared(decode(t, ""), type.dtype);
}

std::string encode_data(const HostTensor& value, const std::string& name) {
  if (!is_container(value.dtype())) return encode(value, name).SerializeAsString();
  const Unpacked u = unpack(value);
  SequenceProto s;
  s.set_name(name);
  s.set_elem_type(kTensorType);
  for (const HostTensor& t : u.elements) *s.add_tensor_values() = encode(t, "");
  if (value.dtype() == DType::kSequence) return s.SerializeAsString();
  OptionalProto o;
  o.set_name(name);
  const bool sequence = value.dtype() == DType::kOptionalSequence;
  o.set_elem_type(sequence ? kSequenceType : kTensorType);
  if (sequence && u.present) *o.mutable_sequence_value() = s;
  if (!sequence && !u.elements.empty()) *o.mutable_tensor_value() = s.tensor_values(0);
  return o.SerializeAsString();
}

}  // namespace wick::onnx

namespace wick {

HostTensor read_onnx_data(const std::string& bytes, DType dtype, DType element,
                          const std::string& what) {
  ir::Value type;
  type.dtype = dtype;
  type.element = element;
  return onnx::decode_data(bytes, type, what);
}
std::string write_onnx_data(const HostTensor& value, const std::string& name) {
  return onnx::encode_data(value, name);
}

}  // namespace wick

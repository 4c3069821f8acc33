#include "exporter/onnx/file/types.h"

#include <fmt/core.h>

#include "exporter/onnx/file/tensor.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

using ir::Graph;
using ir::Value;

// If `element`, sizes that are not numbers may differ from one element to the next.
void read_tensor(const TypeProto::Tensor& type, Graph& g, const std::string& what, bool element,
                 Value* v) {
  (element ? v->element : v->dtype) = dtype_of_onnx(type.elem_type(), what);
  v->ranked = type.has_shape();
  if (type.shape().dim_size() > kMaxRank)
    throw Error(fmt::format("ONNX model: {} has a rank over 8", what), Code::kInvalidProgram);
  for (const auto& dim : type.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {  // -1: what older converters call any size
      v->shape.push_back(SymDim(dim.dim_value()));
    } else if (element) {
      v->shape.push_back(dim_open(SymDim()));
    } else if (is_named(dim)) {
      v->shape.push_back(g.symbol(dim.dim_param(), 0));
    } else {
      v->shape.push_back(g.fresh_symbol(0));
    }
  }
  // The programs' loader checks the same: a size that is not known yet may be 1.
  Shape least;
  for (const SymDim& d : v->shape) least.push_back(d.known() ? d.constant() : 1);
  const Result<size_t> bytes = checked_bytes(least, dtype_bits(element ? v->element : v->dtype));
  if (!bytes.ok())
    throw Error(fmt::format("ONNX model: {}: {}", what, bytes.status().message()),
                Code::kInvalidProgram);
}

void set_tensor(TypeProto::Tensor& type, DType dtype, const Value& value) {
  type.set_elem_type(static_cast<int32_t>(dtype));
  if (!value.ranked || value.no_elements) return;
  auto& shape = *type.mutable_shape();
  for (const SymDim& d : value.shape) {
    auto& dim = *shape.add_dim();
    if (d.known())
      dim.set_dim_value(d.constant());
    else if (!is_open(d))
      dim.set_dim_param(d.text());
  }
}

}  // namespace

bool is_named(const TensorShapeProto::Dimension& dim) {
  const std::string& name = dim.dim_param();
  return !dim.has_dim_value() && !name.empty() && name[0] != '?' && name != "None" &&
         name != "unk" && name != "*" && name != "-1";
}

Value type_of(const TypeProto& type, Graph& g, const std::string& what) {
  Value v;
  const TypeProto* at = &type;
  if (at->has_optional_type()) {
    v.dtype = DType::kOptional;
    at = &at->optional_type().elem_type();
  }
  if (at->has_sequence_type()) {
    v.dtype = v.dtype == DType::kOptional ? DType::kOptionalSequence : DType::kSequence;
    at = &at->sequence_type().elem_type();
  }
  if (at->has_tensor_type()) {
    read_tensor(at->tensor_type(), g, what, v.dtype != DType::kNone, &v);
    return v;
  }
  if (at == &type && at->value_case() == TypeProto::VALUE_NOT_SET) return v;
  throw Error(fmt::format("ONNX model: {} is no tensor, sequence of tensors, or optional of either "
                          "(maps, sparse tensors and sequences of sequences are not supported)",
                          what),
              Code::kUnsupported);
}

void set_type(TypeProto& type, const Value& value) {
  TypeProto* to = &type;
  if (value.dtype == DType::kOptional || value.dtype == DType::kOptionalSequence)
    to = to->mutable_optional_type()->mutable_elem_type();
  if (value.dtype == DType::kSequence || value.dtype == DType::kOptionalSequence)
    to = to->mutable_sequence_type()->mutable_elem_type();
  set_tensor(*to->mutable_tensor_type(), is_container(value.dtype) ? value.element : value.dtype,
             value);
}

}  // namespace wick::onnx

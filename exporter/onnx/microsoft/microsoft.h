// Operators of the domain com.microsoft (ONNX Runtime's own, which quantized and language models
// use): formulas over our ops, or operators of the default domain by another name.
#pragma once

#include "exporter/onnx/read/compose.h"

namespace wick::onnx {

// An operator of the default domain, read as it is at an opset, in the place of this node.
class Standard {
 public:
  Standard(ReadCtx& c, const char* op_type, int64_t opset);
  Standard& set(const char* name, int64_t v);
  Standard& set(const char* name, double v);
  Standard& set(const char* name, const std::string& v);
  // The node's own attributes of these names, where it has them.
  Standard& keep(std::initializer_list<const char*> names);
  std::vector<ValueId> all(const std::vector<ValueId>& inputs, int outputs);
  ValueId one(const std::vector<ValueId>& inputs) { return all(inputs, 1)[0]; }

 private:
  AttributeProto* add(const char* name, AttributeProto::AttributeType type);
  ReadCtx& c_;
  NodeProto node_;
  int64_t opset_;
};

// Arithmetic.
inline ValueId plus(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kAdd, {a, b}); }
inline ValueId minus(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kSub, {a, b}); }
inline ValueId times(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kMul, {a, b}); }
inline ValueId over(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kDiv, {a, b}); }
inline ValueId matmul(ReadCtx& c, ValueId a, ValueId b) { return c.emit(OpId::kMatMul, {a, b}); }
// Sums with what may be absent.
inline ValueId plus_if(ReadCtx& c, ValueId a, ValueId b) {
  return b == kNoValue ? a : plus(c, a, b);
}
// The first of an axis, as many as the vector of one number says.
inline ValueId first_of(ReadCtx& c, ValueId v, int axis, ValueId count) {
  return cut(c, v, axis, count).first;
}
std::vector<ValueId> split(ReadCtx& c, ValueId v, int axis, ValueId sizes, int parts);
// A required input of this rank; `what` names it.
ValueId ranked_input(ReadCtx& c, int i, int rank, const char* what);
// A required attribute that is at least `least`.
int64_t needed_int(ReadCtx& c, const char* name, int64_t least);
// An attribute that only has a meaning here as `only`.
void refuse_unless(ReadCtx& c, const char* name, int64_t only, const char* why);
void refuse_input(ReadCtx& c, int i, const char* why);
// From channels last to channels first, and back.
ValueId channels_first(ReadCtx& c, ValueId v);
ValueId channels_last(ReadCtx& c, ValueId v);
// The activation that a fused operator names. Its numbers, where they are not the default.
ValueId activate(ReadCtx& c, ValueId x, const std::string& name, const std::vector<double>& params);

// n_bits.cc: [..., n] bytes as [..., n * 8 / bits] numbers, the lowest bits first.
ValueId unpack_bits(ReadCtx& c, ValueId bytes, int64_t bits);

// norm.cc: x / sqrt(mean of squares over the last axes + epsilon), and what it is divided by.
struct RmsNorm {
  ValueId y, root;
};
RmsNorm rms_norm(ReadCtx& c, ValueId x, int64_t axis, double epsilon);

}  // namespace wick::onnx

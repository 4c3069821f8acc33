// Operators of the domain com.microsoft (ONNX Runtime's own, which quantized and language models
// use): formulas over our ops, or operators of the default domain by another name.
#pragma once

#include "exporter/onnx/read/compose.h"

namespace wick::onnx {

// Standard reads an operator of the default domain, as it is at an opset, in place of this node.
class Standard {
 public:
  Standard(ReadCtx& c, const char* op_type, int64_t opset);
  Standard& set(const char* name, int64_t v);
  Standard& set(const char* name, double v);
  Standard& set(const char* name, const std::string& v);
  // Copies the node's own attributes of these names, if it has them.
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
// Adds a and b, of which b may be absent.
inline ValueId plus_if(ReadCtx& c, ValueId a, ValueId b) {
  return b == kNoValue ? a : plus(c, a, b);
}
// Returns the first elements along an axis, as many as `count`, a vector of one number, says.
inline ValueId first_of(ReadCtx& c, ValueId v, int axis, ValueId count) {
  return cut(c, v, axis, count).first;
}
std::vector<ValueId> split(ReadCtx& c, ValueId v, int axis, ValueId sizes, int parts);
// Returns a required input of this rank; `what` names it.
ValueId ranked_input(ReadCtx& c, int i, int rank, const char* what);
// Returns a required attribute that is at least `least`.
int64_t needed_int(ReadCtx& c, const char* name, int64_t least);
// Refuses an attribute, or an input, that has a meaning here only as `only`, or not at all.
void refuse_unless(ReadCtx& c, const char* name, int64_t only, const char* why);
void refuse_input(ReadCtx& c, int i, const char* why);
// Transpose from channels last to channels first, and back.
ValueId channels_first(ReadCtx& c, ValueId v);
ValueId channels_last(ReadCtx& c, ValueId v);
// Applies the activation that a fused operator names, with its numbers if they are not the default.
ValueId activate(ReadCtx& c, ValueId x, const std::string& name, const std::vector<double>& params);

// n_bits.cc: unpacks [..., n] bytes into [..., n * 8 / bits] numbers, the lowest bits first.
ValueId unpack_bits(ReadCtx& c, ValueId bytes, int64_t bits);

// norm.cc: y is x / sqrt(mean of squares over the last axes + epsilon), and root its divisor.
struct RmsNorm {
  ValueId y, root;
};
RmsNorm rms_norm(ReadCtx& c, ValueId x, int64_t axis, double epsilon);

}  // namespace wick::onnx

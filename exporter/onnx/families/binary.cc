#include "exporter/onnx/read/read.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

template <OpId op>
void read_binary(ReadCtx& c) {
  ValueId a = c.in(0), b = c.in(1);
  // Before opset 7 broadcasting was an attribute: b's dims line up with a's from `axis` on.
  if (c.opset < 7 && c.attr_int("broadcast", 0) != 0 && c.attr("axis") != nullptr) {
    int64_t axis = c.attr_int("axis", 0), rank_a = c.rank(a), rank_b = c.rank(b);
    if (axis < 0) axis += rank_a;
    std::vector<int64_t> axes;
    for (int64_t i = axis + rank_b; i < rank_a; ++i) axes.push_back(i - axis);
    if (!axes.empty()) {
      AxesAttrs attrs;
      c.fill(attrs.axes, axes, "axis");
      b = c.emit(OpId::kUnsqueeze, attrs, {b});
    }
  }
  c.set(0, c.emit(op, {a, b}));
}

// Reads Max, Min or Sum of any number of inputs as a chain from left to right.
template <OpId op>
ValueId fold(ReadCtx& c) {
  ValueId total = c.in(0);
  for (int i = 1; i < c.inputs(); ++i) total = c.emit(op, {total, c.in(i)});
  return c.inputs() == 1 ? c.emit(OpId::kIdentity, {total}) : total;
}
template <OpId op>
void read_fold(ReadCtx& c) {
  c.set(0, fold<op>(c));
}
void read_mean(ReadCtx& c) {
  ValueId total = fold<OpId::kAdd>(c);
  c.set(0, c.emit(OpId::kDiv, {total, c.scalar(total, c.inputs())}));
}
void read_where(ReadCtx& c) { c.set(0, c.emit(OpId::kWhere, {c.in(0), c.in(1), c.in(2)})); }

}  // namespace

WICK_READ(Add, read_binary<OpId::kAdd>);
WICK_READ(Sub, read_binary<OpId::kSub>);
WICK_READ(Mul, read_binary<OpId::kMul>);
WICK_READ(Div, read_binary<OpId::kDiv>);
WICK_READ(Pow, read_binary<OpId::kPow>);
WICK_READ(Max, read_fold<OpId::kMax>);
WICK_READ(Min, read_fold<OpId::kMin>);
WICK_READ(Sum, read_fold<OpId::kAdd>);
WICK_READ(Mean, read_mean);
WICK_READ(Equal, read_binary<OpId::kEqual>);
WICK_READ(Less, read_binary<OpId::kLess>);
WICK_READ(LessOrEqual, read_binary<OpId::kLessOrEqual>);
WICK_READ(Greater, read_binary<OpId::kGreater>);
WICK_READ(GreaterOrEqual, read_binary<OpId::kGreaterOrEqual>);
WICK_READ(And, read_binary<OpId::kAnd>);
WICK_READ(Or, read_binary<OpId::kOr>);
WICK_READ(Xor, read_binary<OpId::kXor>);
WICK_READ(Where, read_where);

WICK_ONNX_PLAIN(Add);
WICK_ONNX_PLAIN(Sub);
WICK_ONNX_PLAIN(Mul);
WICK_ONNX_PLAIN(Div);
WICK_ONNX_PLAIN(Pow);
WICK_ONNX_PLAIN(Max);
WICK_ONNX_PLAIN(Min);
WICK_ONNX_PLAIN(Equal);
WICK_ONNX_PLAIN(Less);
WICK_ONNX_PLAIN(LessOrEqual);
WICK_ONNX_PLAIN(Greater);
WICK_ONNX_PLAIN(GreaterOrEqual);
WICK_ONNX_PLAIN(And);
WICK_ONNX_PLAIN(Or);
WICK_ONNX_PLAIN(Xor);
WICK_ONNX_PLAIN(Where);

}  // namespace wick::onnx

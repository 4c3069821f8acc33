#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

void read_gather_nd(ReadCtx& c) {
  GatherNDAttrs a{c.attr_int("batch_dims", 0)};
  c.set(0, c.emit(OpId::kGatherND, a, {c.in(0), c.in(1)}));
}
constexpr const char* kHow[] = {"none", "add", "mul", "max", "min"};
void read_scatter_nd(ReadCtx& c) {
  std::string how = c.attr_string("reduction", "none");
  for (int64_t i = 0; i < 5; ++i) {
    if (how != kHow[i]) continue;
    return c.set(0, c.emit(OpId::kScatterND, ScatterNDAttrs{i}, {c.in(0), c.in(1), c.in(2)}));
  }
  c.fail("unknown reduction '" + how + "'");
}
void read_nonzero(ReadCtx& c) { c.set(0, c.emit(OpId::kNonZero, {c.in(0)})); }
void read_topk(ReadCtx& c) {
  TopKAttrs a{c.attr_int("k", 1), c.attr_int("axis", -1), c.attr_int("largest", 1),
              c.attr_int("sorted", 1)};
  ValueId x = c.in(0), k = c.int_or_input(1, &a.k);
  c.emit_all(OpId::kTopK, a, {x, k}, 2);
}
void read_unique(ReadCtx& c) {
  UniqueAttrs a;
  if (c.attr("axis") != nullptr) a.axis = {c.attr_int("axis", 0)};
  a.sorted = c.attr_int("sorted", 1);
  c.emit_all(OpId::kUnique, a, {c.in(0)}, 4);
}
template <OpId op>
void read_cumulate(ReadCtx& c) {
  CumulateAttrs a{0, c.attr_int("exclusive", 0), c.attr_int("reverse", 0)};
  ValueId x = c.in(0), axis = c.int_or_input(1, &a.axis);
  c.set(0, c.emit(op, a, {x, axis}));
}
void read_trilu(ReadCtx& c) {
  TriluAttrs a{c.attr_int("upper", 1), 0};
  ValueId x = c.in(0), k = c.int_or_input(1, &a.k);
  c.set(0, c.emit(OpId::kTrilu, a, {x, k}));
}

}  // namespace

WICK_READ(GatherND, read_gather_nd);
WICK_READ(ScatterND, read_scatter_nd);
WICK_READ(NonZero, read_nonzero);
WICK_READ(TopK, read_topk);
WICK_READ(Unique, read_unique);
WICK_READ(CumSum, read_cumulate<OpId::kCumSum>);
WICK_READ(CumProd, read_cumulate<OpId::kCumProd>);
WICK_READ(Trilu, read_trilu);

namespace {

// ONNX takes int64 indices here.
std::string wide_indices(WriteCtx& c) {
  const bool wide = c.g.value(c.node.inputs[1]).dtype == DType::kI64;
  return wide ? c.in(1) : c.cast(c.in(1), DType::kI64);
}

}  // namespace

WICK_ONNX_ROW(GatherND, [](WriteCtx& c) {
  NodeProto& n = c.add("GatherND", {c.in(0), wide_indices(c)}, {c.out(0)});
  set_int(n, "batch_dims", c.as<GatherNDAttrs>().batch_dims);
});
WICK_ONNX_ROW(ScatterND, [](WriteCtx& c) {
  int64_t how = c.as<ScatterNDAttrs>().reduction;
  if (how > 2) c.need(18);
  NodeProto& n = c.add("ScatterND", {c.in(0), wide_indices(c), c.in(2)}, {c.out(0)});
  set_string(n, "reduction", kHow[how]);
});
WICK_ONNX_PLAIN(NonZero);
WICK_ONNX_ROW(TopK, [](WriteCtx& c) {
  const auto& a = c.as<TopKAttrs>();
  int64_t k[] = {a.k};
  NodeProto& n = c.add("TopK", {c.in(0), c.ints_input(1, k)}, {c.out(0), c.out(1)});
  set_int(n, "axis", a.axis);
  set_int(n, "largest", a.largest);
  set_int(n, "sorted", a.sorted);
});
WICK_ONNX_ROW(Unique, [](WriteCtx& c) {
  const auto& a = c.as<UniqueAttrs>();
  NodeProto& n = c.same("Unique");
  if (!a.axis.empty()) set_int(n, "axis", a.axis[0]);
  set_int(n, "sorted", a.sorted);
});
namespace {
void write_cumulate(WriteCtx& c, const char* op) {
  const auto& a = c.as<CumulateAttrs>();
  std::string axis = c.has(1) ? c.in(1) : c.int_scalar(a.axis);
  // ONNX does not define the operator for narrower integers: the final cast cuts off what overflows
  // in them.
  const DType dtype = c.g.value(c.node.inputs[0]).dtype;
  const bool narrow = is_int(dtype) && dtype_bits(dtype) < 32;
  const std::string x = narrow ? c.cast(c.in(0), DType::kI32) : c.in(0);
  const std::string y = narrow ? c.fresh() : c.out(0);
  NodeProto& n = c.add(op, {x, axis}, {y});
  set_int(n, "exclusive", a.exclusive);
  set_int(n, "reverse", a.reverse);
  if (narrow) set_int(c.add("Cast", {y}, {c.out(0)}), "to", static_cast<int64_t>(dtype));
}
}  // namespace
WICK_ONNX_ROW(CumSum, [](WriteCtx& c) { write_cumulate(c, "CumSum"); });
WICK_ONNX_ROW(CumProd, [](WriteCtx& c) { write_cumulate(c, "CumProd"); });
WICK_ONNX_ROW(Trilu, [](WriteCtx& c) {
  const auto& a = c.as<TriluAttrs>();
  std::string k = c.has(1) ? c.in(1) : a.k != 0 ? c.int_scalar(a.k) : std::string();
  set_int(c.add("Trilu", {c.in(0), k}, {c.out(0)}), "upper", a.upper);
});

}  // namespace wick::onnx
